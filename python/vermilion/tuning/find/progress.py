"""How far a tuning has come, for a progress bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from vermilion.simulate.statistics import Interval

Stage = Literal[
    "search",
    "refinement",
    "re-evaluation",
    "comparison",
    "rivals",
    "neighbourhood",
    "alternatives",
]


@dataclass(frozen=True, slots=True)
class TuningProgress:
    """A moment of a tuning.

    Attributes:
        stage: what it is doing.
        done: settings tried in the search, simulations done in the other stages.
        total: how many they will be at most.
        best: the best value of the objective so far among settings that keep the
            constraints; ``math.inf`` before there is one, and
            while what stands beside an answer is measured.
        interval: its 95 % interval, over the seeds that it has met; ``None`` for less than two.
        incumbent: the value of the setting in force, on the seeds that it has met; ``None`` where
            there is not one value.
        feasible: whether the best setting so far keeps the constraints.
    """

    stage: Stage
    done: int
    total: int
    best: float
    interval: Interval | None = None
    incumbent: float | None = None
    feasible: bool = False


ProgressReport = Callable[[TuningProgress], object]
