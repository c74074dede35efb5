"""How far a tuning has come, for a progress bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Stage = Literal["search", "re-evaluation", "comparison"]


@dataclass(frozen=True, slots=True)
class TuningProgress:
    """A moment of a tuning.

    Attributes:
        stage: what it is doing.
        done: settings tried in the search, simulations done in the other stages.
        total: how many they will be at most.
        best: the best value of the objective so far among settings that keep the
            constraints; ``math.inf`` before there is one.
    """

    stage: Stage
    done: int
    total: int
    best: float


ProgressReport = Callable[[TuningProgress], object]
