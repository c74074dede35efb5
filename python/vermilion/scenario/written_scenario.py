"""Scenario as written: its fields, their values and their source.

What can be done with a scenario is :class:`vermilion.scenario.model.Scenario`'s. The functions by
which it does that know only what stands here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, PrivateAttr, StrictStr, model_validator

from vermilion.scenario.errors import FieldError
from vermilion.scenario.scripted_losses import ScriptedLoss
from vermilion.scenario.table import Table
from vermilion.scenario.tables import (
    Change,
    Duration,
    FlowGroup,
    Link,
    Seconds,
    names_are_plain,
    one_line,
)
from vermilion.scenario.traces import read_traces
from vermilion.scenario.tuning_table import Tuning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario.algorithms import ParameterValue


@dataclass(frozen=True, slots=True)
class Source:
    """Source of a scenario.

    Attributes:
        document: what the user wrote, overrides included.
        origin: the file, or the name in the library.
    """

    document: Mapping[str, Any]
    origin: str


class WrittenScenario(Table):
    """A network, its traffic, what changes in it, and optionally what to tune."""

    title: Annotated[StrictStr, AfterValidator(one_line)] = ""
    description: StrictStr = ""
    duration: Duration = Field(description="s")
    warm_up: Seconds = 0.0
    settle: Seconds = 0.0
    links: Annotated[dict[str, Link], AfterValidator(names_are_plain)] = Field(
        description="a table [links.NAME] for each link"
    )
    flows: Annotated[dict[str, FlowGroup], AfterValidator(names_are_plain)] = Field(
        description="a table [flows.NAME] for each group of flows"
    )
    changes: tuple[Change, ...] = ()
    scripted_losses: tuple[ScriptedLoss, ...] = ()
    tuning: Tuning | None = None

    _source: Source = PrivateAttr(default_factory=lambda: Source({}, "scenario"))
    _transfers: dict[str, dict[str, list[int]]] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _default_settle(cls, value: object) -> object:
        if isinstance(value, dict) and "settle" not in value and "warm_up" in value:
            return {**value, "settle": value["warm_up"]}
        return value

    def model_post_init(self, context: object, /) -> None:
        """Remember the source: the context of its validation, if that is one."""
        if isinstance(context, Source):
            self._source = context

    def read_transfers(self) -> None:
        """Read the files of groups whose traffic is a trace.

        Raises:
            FieldError: a file that cannot be read or holds something else.
        """
        files = {
            name: group.traffic.file
            for name, group in self.flows.items()
            if group.traffic.file is not None
        }
        self._transfers = read_traces(files, self.origin)

    def transfers_of(self, group: str) -> Mapping[str, list[int]]:
        """Transfers in the file of a group's traffic, for the core; empty without a file."""
        return self._transfers.get(group, {})

    def flow_counts(self) -> dict[str, int]:
        """The flows of each group, in order."""
        return {name: group.count for name, group in self.flows.items()}

    @property
    def document(self) -> Mapping[str, Any]:
        """Document of the user, overrides included: TOML as nested dictionaries."""
        return self._source.document

    @property
    def origin(self) -> str:
        """The file, or the name in the library, for messages."""
        return self._source.origin

    def change_parameters(self, index: int) -> dict[str, ParameterValue] | None:
        """The discipline parameters that a change sets, in the table's units.

        Raises:
            FieldError: a parameter that the link's discipline does not have or accept.
        """
        change = self.changes[index]
        if change.queue is None:
            return None
        if "discipline" in change.queue:
            accepted = "parameters of the link's discipline, which itself stays"
            raise FieldError("discipline", change.queue["discipline"], accepted)
        algorithm = self.links[change.link].queue.algorithm
        return {name: algorithm.parse_one(name, value) for name, value in change.queue.items()}


AnyScenario = TypeVar("AnyScenario", bound=WrittenScenario)
"""Of a function that gives back what it was given: changed, and checked anew."""
