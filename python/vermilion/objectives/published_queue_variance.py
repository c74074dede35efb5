"""Equation (1) of the source paper, to the letter, for comparison with it.

T. Ye and S. Kalyanaraman, "Adaptive Tuning of RED Using On-line Simulation", IEEE GLOBECOM
2002: m = mean over samples of (average queue - target)^2, the average being RED's own. The
averaging weight is one of the parameters they tune, so the search can also win by making the
average stand still near the target, whatever the queue does: see docs/tuning-goals.md. So it comes
with a constraint on the queue itself, which may not swing more than it does now. Use
``queue-deviation`` for anything but comparison.

The paper samples the average periodically; here the mean is the exact one over time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from vermilion.objectives.interface import mean_squared_distance
from vermilion.objectives.metrics import STEADY_QUEUE
from vermilion.objectives.queue_deviation import QueueTargetObjective

if TYPE_CHECKING:
    from vermilion.simulate.result_data import LinkMetrics


@dataclass(frozen=True)
class PublishedQueueVariance(QueueTargetObjective):
    """Mean squared distance of the discipline's own average from the target, packets^2."""

    name: ClassVar[str] = "published-queue-variance"
    summary: ClassVar[str] = "the source paper's equation (1), of RED's own average; gameable"
    unit: ClassVar[str] = "packets^2"
    noticeable: ClassVar[float] = 1.0
    guards: ClassVar[tuple[str, ...]] = (STEADY_QUEUE,)

    def value(self, window: LinkMetrics) -> float:
        """mean((average queue - target)^2) over the window, packets^2."""
        return mean_squared_distance(self.name, window, "average_queue_packets", self.target)
