"""Fraction of the packets that reach a queue and are marked (ECN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from vermilion.objectives.interface import LinkObjective, measured

if TYPE_CHECKING:
    from vermilion.simulate.result_data import LinkMetrics


@dataclass(frozen=True)
class MarkRate(LinkObjective):
    """Marks per arrival, 0 to 1."""

    name: ClassVar[str] = "mark-rate"
    summary: ClassVar[str] = "marks per arrival at the queue"
    unit: ClassVar[str] = ""
    noticeable: ClassVar[float] = 0.001

    def value(self, window: LinkMetrics) -> float:
        """Marks per arrival in the window, 0 to 1."""
        return measured(self.name, window, "mark_rate")
