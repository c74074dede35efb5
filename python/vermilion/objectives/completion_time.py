"""Completion time of transfers: what a user of short flows feels.

Of the transfers that completed in the window. One that has not completed has no time, so a
setting that lets the long ones starve shortens the mean: bound ``flows.GROUP.completed`` with it.
Percentiles are known of a single group only, not of several together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from vermilion.objectives.fields import PERCENTILE
from vermilion.objectives.interface import FlowsObjective, measured
from vermilion.objectives.noticeable import KnowsRoundTrip, Noticeable, of_transfers

if TYPE_CHECKING:
    from vermilion.objectives.windows import FlowsWindow


@dataclass(frozen=True)
class CompletionTime(KnowsRoundTrip, FlowsObjective):
    """Completion time of the transfers of a group, s.

    Attributes:
        percentile: "mean", "p5", "p50", "p95" or "p99"; a table has the number alone, or nothing
            for the mean.
    """

    name: ClassVar[str] = "completion-time"
    summary: ClassVar[str] = "mean or percentile of the transfers' completion times"
    unit: ClassVar[str] = "s"
    noticeable: ClassVar[float] = 0.01

    percentile: str = field(default="mean", metadata=PERCENTILE)

    @property
    def label(self) -> str:
        """Name with the statistic, like "completion-time p95"."""
        return f"{self.name} {self.percentile}"

    @property
    def noticed(self) -> Noticeable:
        """10 ms, or the shortest base round trip."""
        return of_transfers(self.noticeable).with_round_trip(self.shortest_round_trip_s)

    def value(self, window: FlowsWindow) -> float:
        """The mean or percentile over the transfers that completed in the window, s."""
        return measured(self.name, window, "completion_time_s", self.percentile)
