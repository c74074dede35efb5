"""A queue as the simulator has it: a discipline and those of its parameters that are given."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from vermilion.scenario import disciplines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario.algorithms import ParameterValue


@dataclass(frozen=True, slots=True)
class QueueSetting:
    """What stands, or might stand, at the bottleneck.

    Attributes:
        label: what it is called: the device's word for its kind, and where it comes from.
        kind: the device's word alone, like "fq_codel" or "wred".
        discipline: the simulator's name.
        parameters: in their tables' units; those left out have their defaults.
        tuned: names of those that a search has chosen.
        each_flow: packets that may wait of one flow; ``None`` for as many as the buffer holds.
    """

    label: str
    kind: str
    discipline: str
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    tuned: tuple[str, ...] = ()
    each_flow: float | None = None

    def document(self) -> dict[str, Any]:
        """As a scenario has it, reading back as the same numbers."""
        table = disciplines()[self.discipline].parameters
        own = {name: table[name].exact_text(value) for name, value in self.parameters.items()}
        return {"discipline": self.discipline, **own}

    def readable(self) -> dict[str, str]:
        """The parameters given, as a person would write them: fractions with four digits."""
        table = disciplines()[self.discipline].parameters
        return {
            name: table[name].readable(_short(value)) for name, value in self.parameters.items()
        }

    @property
    def keeps_apart(self) -> bool:
        """Whether each flow has a queue of its own."""
        return self.discipline.split("-")[0] == "fq"

    @property
    def same_as(self) -> tuple[str, tuple[tuple[str, ParameterValue], ...], float | None]:
        """What two settings have in common that behave alike, whatever they are called."""
        table = disciplines()[self.discipline].complete(self.parameters)
        return self.discipline, tuple(table.items()), self.each_flow

    def among(self, flows: int) -> QueueSetting:
        """The same with so many flows: a limit of each bounds what all of them can fill.

        A fair queue that is full drops from the flow with most packets. So flows that all fill
        their parts have equal ones, as if each had that limit.
        """
        if self.each_flow is None:
            return self
        most = self.each_flow * flows
        limit = self.parameters.get("limit")
        fewest = most if limit is None else min(float(limit), most)
        return replace(self, parameters={**self.parameters, "limit": fewest})


def _short(value: ParameterValue) -> ParameterValue:
    return float(f"{value:.4g}") if isinstance(value, float) and value % 1.0 else value
