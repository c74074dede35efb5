"""Utilisation of a link's capacity.

Alone it asks for a queue that is never empty, however long: bound the queueing delay, or look at
the front of both (``vermilion tune --pareto``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from vermilion.objectives.interface import LinkObjective
from vermilion.objectives.noticeable import SHARE_OF_GOODPUT


@dataclass(frozen=True)
class Utilization(LinkObjective):
    """Bits sent over bits that could have been sent, 0 to 1; maximised."""

    name: ClassVar[str] = "utilization"
    summary: ClassVar[str] = "share of the link's capacity that is used; maximised"
    goal: ClassVar[Literal["minimise", "maximise", "either"]] = "maximise"
    noticeable: ClassVar[float] = 0.005
    noticeable_share: ClassVar[float] = SHARE_OF_GOODPUT
    metric: ClassVar[str] = "utilization"
