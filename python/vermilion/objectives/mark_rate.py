"""Fraction of the packets that reach a queue and are marked (ECN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vermilion.objectives.interface import LinkObjective


@dataclass(frozen=True)
class MarkRate(LinkObjective):
    """Marks per arrival, 0 to 1."""

    name: ClassVar[str] = "mark-rate"
    summary: ClassVar[str] = "marks per arrival at the queue"
    noticeable: ClassVar[float] = 0.001
    metric: ClassVar[str] = "mark_rate"
