"""How far the queue is from where it should be.

The mean over time of (queue - target)^2, of the instantaneous queue: packets waiting, the one
in transmission not counted. Both a wrong level and swings around the right level make it
larger, in the same unit: a standing queue 3 packets off costs as much as a standard deviation
of 3 packets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from vermilion.objectives.interface import mean_squared_distance
from vermilion.objectives.queue_target import QueueTargetObjective

if TYPE_CHECKING:
    from vermilion.simulate.result_data import LinkMetrics


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
