"""Fraction of the packets that reach a queue and are dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vermilion.objectives.interface import LinkObjective


@dataclass(frozen=True)
class DropRate(LinkObjective):
    """Drops per arrival, 0 to 1."""

    name: ClassVar[str] = "drop-rate"
    summary: ClassVar[str] = "drops per arrival at the queue"
    noticeable: ClassVar[float] = 0.001
    metric: ClassVar[str] = "drop_rate"
