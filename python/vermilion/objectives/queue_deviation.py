"""Deviation of the queue from its target length.

The mean over time of (queue - target)^2, of the instantaneous queue: packets waiting, the one
in transmission not counted. Both a wrong level and swings around the right level make it
larger, in the same unit: a standing queue 3 packets off costs as much as a standard deviation
of 3 packets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from vermilion.objectives.fields import TARGET, QueueDelay
from vermilion.objectives.interface import LinkObjective, mean_squared_distance
from vermilion.scenario.checked import in_both_units, packets_sent_in
from vermilion.scenario.errors import errors_under
from vermilion.scenario.quantities import PACKETS, TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario import Scenario
    from vermilion.simulate.result_data import LinkMetrics


@dataclass(frozen=True)
class QueueTargetObjective(LinkObjective):
    """An objective that holds a queue against a length.

    Attributes:
        target: the length, packets.
        target_delay_s: the time as which it was given, s; ``None`` where it was in packets.
    """

    measures: ClassVar[tuple[str, ...]] = ("queue_packets.mean",)

    target: float = field(metadata=TARGET)
    target_delay_s: float | None = field(default=None, kw_only=True)

    @classmethod
    def from_values(cls, values: Mapping[str, Any], scenario: Scenario) -> Self:
        """The objective, with a target that is a time turned into packets of the link."""
        target = values["target"]
        if not isinstance(target, QueueDelay):
            return super().from_values(values, scenario)
        with errors_under("target"):
            packets = packets_sent_in(scenario, values["link"], target.time_s)
        more = {"target": packets, "target_delay_s": target.time_s}
        return super().from_values({**values, **more}, scenario)

    @property
    def label(self) -> str:
        """The name, and the target where it was given as a time.

        Not the packets: they differ between links for which the same is wanted.
        """
        if self.target_delay_s is None:
            return self.name
        return f"{self.name} from {format_quantity(self.target_delay_s, TIME)}"

    @property
    def target_text(self) -> str:
        """The target in words: "30 packets", or "20 ms, about 25 packets"."""
        if self.target_delay_s is None:
            return format_quantity(self.target, PACKETS)
        return in_both_units(self.target_delay_s, self.target)


@dataclass(frozen=True)
class QueueDeviation(QueueTargetObjective):
    """Mean squared distance of the instantaneous queue from the target, packets^2."""

    name: ClassVar[str] = "queue-deviation"
    summary: ClassVar[str] = "mean squared distance of the queue itself from the target"
    unit: ClassVar[str] = "packets^2"
    noticeable: ClassVar[float] = 1.0

    def value(self, window: LinkMetrics) -> float:
        """mean((queue - target)^2) over the window, packets^2."""
        return mean_squared_distance(self.name, window, "queue_packets", self.target)
