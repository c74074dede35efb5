"""Percentile of the queueing delay: what interactive traffic feels of a queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from vermilion.objectives.fields import PERCENTILE
from vermilion.objectives.interface import LinkObjective, waiting_ms
from vermilion.objectives.noticeable import NoticesDelay

if TYPE_CHECKING:
    from vermilion.simulate.result_data import LinkMetrics


@dataclass(frozen=True)
class SojournPercentile(NoticesDelay, LinkObjective):
    """Percentile of the queueing delay of packets sent, ms.

    Attributes:
        percentile: "p5", "p50", "p95" or "p99"; a table has the number alone.
    """

    name: ClassVar[str] = "sojourn-percentile"
    summary: ClassVar[str] = "a percentile of the queueing delay in the queue"
    unit: ClassVar[str] = "ms"
    measures: ClassVar[tuple[str, ...]] = ("sojourn_ms.p95",)

    percentile: str = field(default="p99", metadata=PERCENTILE)

    @property
    def label(self) -> str:
        """Name with the percentile, like "sojourn-percentile p99"."""
        return f"{self.name} {self.percentile}"

    def value(self, window: LinkMetrics) -> float:
        """The percentile of the queueing delay over the window, ms."""
        return waiting_ms(self.name, window, self.percentile)
