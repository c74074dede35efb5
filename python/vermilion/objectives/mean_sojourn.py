"""Mean time that packets wait in the queue.

Of the packets that were sent: a queue that drops much makes those wait less, so a bound on the
utilisation or the drop rate belongs to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from vermilion.objectives.interface import LinkObjective, waiting_ms
from vermilion.objectives.noticeable import NoticesDelay

if TYPE_CHECKING:
    from vermilion.simulate.result_data import LinkMetrics


@dataclass(frozen=True)
class MeanSojourn(NoticesDelay, LinkObjective):
    """Mean queueing delay of the packets that were sent, ms."""

    name: ClassVar[str] = "mean-sojourn"
    summary: ClassVar[str] = "mean queueing delay in the queue"
    unit: ClassVar[str] = "ms"
    measures: ClassVar[tuple[str, ...]] = ("sojourn_ms.mean",)

    def value(self, window: LinkMetrics) -> float:
        """The mean queueing delay over the window, ms."""
        return waiting_ms(self.name, window, "mean")
