"""Fraction of the packets that reach a queue and are dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from vermilion.objectives.interface import LinkObjective, measured

if TYPE_CHECKING:
    from vermilion.simulate.result_data import LinkMetrics


@dataclass(frozen=True)
class DropRate(LinkObjective):
    """Drops per arrival, 0 to 1."""

    name: ClassVar[str] = "drop-rate"
    summary: ClassVar[str] = "drops per arrival at the queue"
    unit: ClassVar[str] = ""
    noticeable: ClassVar[float] = 0.001

    def value(self, window: LinkMetrics) -> float:
        """Drops per arrival in the window, 0 to 1."""
        return measured(self.name, window, "drop_rate")
