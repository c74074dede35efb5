"""Scenario: a checked document and its operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from vermilion.scenario.lowering import lowered
from vermilion.scenario.other_values import with_values
from vermilion.scenario.structure import notes, parameter_at, value_at
from vermilion.scenario.toml_text import toml_text
from vermilion.scenario.written_scenario import WrittenScenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario.algorithms import Parameter
    from vermilion.scenario.core_scenario import CoreScenario


class Scenario(WrittenScenario):
    """A network, its traffic, what changes in it, and optionally what to tune.

    Made by :func:`vermilion.load_scenario` or :func:`vermilion.parse_scenario`, which also
    check the rules between fields; a scenario made in another way has not been checked.
    """

    @property
    def notes(self) -> list[str]:
        """Warnings about accepted values that are probably not meant, a sentence each."""
        return notes(self)

    def core(self, probe_interval_s: float | None = None) -> CoreScenario:
        """The scenario as the core reads it: whole nanoseconds, bit/s and bytes.

        Args:
            probe_interval_s: seconds between the points of the time series; ``None`` for none.

        Raises:
            ScenarioError: the interval is not accepted.
        """
        return lowered(self, probe_interval_s)

    def core_json(self, probe_interval_s: float | None = None) -> str:
        """Return the scenario as JSON for the core.

        Args:
            probe_interval_s: seconds between the points of the time series; ``None`` for none.

        Raises:
            ScenarioError: the interval is not accepted.
        """
        return self.core(probe_interval_s).to_json()

    def to_toml(self) -> str:
        """Return the scenario as TOML, overrides included; :func:`parse_scenario` reads it."""
        return toml_text(self.document)

    def get(self, path: str) -> Any:  # noqa: ANN401 - as many types as there are fields
        """The value at a path like ``links.bottleneck.queue.weight``, in SI units.

        A parameter that the scenario does not set has its default; ``None`` is "automatic".

        Raises:
            ScenarioError: there is no such path.
        """
        return value_at(self, path)

    def parameter(self, path: str) -> Parameter:
        """The table row of a discipline's or sender's parameter.

        Args:
            path: like ``links.bottleneck.queue.weight`` or ``flows.early.sender.ecn``.

        Raises:
            ScenarioError: the path names no such parameter.
        """
        return parameter_at(self, path)

    def with_values(self, values: Mapping[str, object]) -> Self:
        """A checked copy with other values.

        Args:
            values: by path; numbers are in SI units, texts as in a scenario ("8 Mbit/s"), and
                ``None`` is "automatic". A discipline, at ``links.NAME.queue.discipline``, replaces
                the one there is: of its parameters those stay that the new one has too, with the
                same unit; parameters of its own follow a colon ("codel:target=10 ms") or stand
                beside it under their own paths. A ``[tuning]`` table is then left out.

        Raises:
            ScenarioError: an unknown path or a value that is not accepted.
        """
        return with_values(self, values)
