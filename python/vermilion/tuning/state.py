"""State of a tuning under way, and its progress."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from vermilion.objectives.constraint import BROKEN
from vermilion.simulate.statistics import mean_interval
from vermilion.tuning.horizon import Shorter
from vermilion.tuning.screening import Screening

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate.statistics import Interval
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.comparison import Comparison
    from vermilion.tuning.evaluation import Evaluation
    from vermilion.tuning.fidelity import FidelityReport
    from vermilion.tuning.horizon import Horizon
    from vermilion.tuning.memory import Memory, Used
    from vermilion.tuning.neighbourhood import Around
    from vermilion.tuning.question import Question
    from vermilion.tuning.race import RaceReport

Stage = Literal[
    "search",
    "re-evaluation",
    "comparison",
    "rivals",
    "neighbourhood",
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


End = Literal["budget", "deadline", "interrupted"]
"""What ended a tuning."""


@dataclass(slots=True, kw_only=True)
class TuningState:
    """A tuning at a moment, and what every stage of it needs.

    Attributes:
        question: that it answers.
        full: its conditions at full length.
        progress: called now and then.
        start: the moment when it began, on the clock of ``time.monotonic``.
        until: the moment when all must be over, on the same clock.
        search_start: the moment when the search began.
        horizon: what the search simulates.
        shorter: the shorter horizons, if there are any.
        memory: of what has been simulated; ``None`` for none.
        end: what has ended it.
        evaluations: settings that the search has used.
        ranking: the settings of the search, each after the number that it told the search and
            the order in which they came, as a heap; the incumbent is not among them.
        ranked: the identities of those in it: several points may mean one setting.
        best: the first of them, and later the winner of the race.
        compared: the best and the incumbent on fresh seeds.
        comparison: what it has come to.
        unsaved: settings whose values the search has used since the memory was last told.
        leaders: the settings that raced; none before that.
        raced: the same, the likely best first.
        around: the best under the conditions around; ``None`` where it has met none.
    """

    question: Question
    full: Horizon
    start: float
    until: float | None
    progress: ProgressReport | None = None
    memory: Memory | None = None
    shorter: Shorter = field(init=False)
    comparison: Comparison | None = None
    horizon: Horizon = field(init=False)
    search_start: float = 0.0
    end: End = "budget"
    evaluations: int = 0
    ranking: list[tuple[float, int, Evaluation]] = field(default_factory=list)
    ranked: set[int] = field(default_factory=set)
    screening: Screening = field(init=False)
    best: Evaluation | None = None
    race: RaceReport | None = None
    fidelity: FidelityReport | None = None
    compared: tuple[Evaluation, Evaluation] | None = None
    unsaved: list[Used] = field(default_factory=list)
    leaders: list[Setting] = field(default_factory=list)
    raced: list[Evaluation] = field(default_factory=list)
    around: Around | None = None

    def __post_init__(self) -> None:
        self.horizon = self.full
        self.shorter = Shorter(self.full, self.question.space)
        self.screening = Screening(crosses_zero=self.full.least_size > 0.0)

    @property
    def simulations(self) -> int:
        """Runs of the simulator so far."""
        around = sum(each.simulations.count for each in self.full.around)
        return self.full.simulations.count + around + self.shorter.count

    @property
    def why_not_compared(self) -> str:
        """Reason why there was no comparison, and so no verdict on the best setting."""
        why = {
            "interrupted": "it was interrupted",
            "deadline": "time was up",
            "budget": "the budget was spent",
        }[self.end]
        if self.best is None:
            return f"{why} before any other setting had been simulated"
        return f"{why} before the best setting had been compared on fresh seeds"

    def meet(self, seeds: Sequence[int], evaluations: Sequence[Evaluation]) -> None:
        """Lets settings meet the seeds of the comparison, those that there is time for."""
        self.full.simulations.run_in_step(
            evaluations,
            seeds,
            until=self.until,
            progress=self.report("comparison", len(evaluations) * len(seeds)),
            made_for="comparison",
        )

    def ranked_by(self, inside: float) -> list[Evaluation]:
        """The settings of the search, the best first, as all of it has shown them.

        Args:
            inside: how many times the usual distance to keep from the constraints' bounds.
        """
        order = [
            (self.horizon.value(evaluation, inside=inside), number, evaluation)
            for _, number, evaluation in self.ranking
        ]
        return [evaluation for _, _, evaluation in sorted(order)]

    def report(self, stage: Stage, total: int, before: int = 0) -> Callable[[int], object] | None:
        """Return a callback that reports progress."""
        progress = self.progress
        if progress is None:
            return None
        horizon = self.horizon if stage != "comparison" else self.full
        sign = -1.0 if self.question.maximised else 1.0
        feasible = self.best is not None and self.ranking[0][0] < BROKEN
        best, interval = math.inf, None
        if self.best is not None and feasible:
            best = sign * self.best.objective
            if math.isfinite(best) and len(self.best.objectives) > 1:
                interval = mean_interval(sign * value for value in self.best.objectives)
        incumbent = sign * horizon.incumbent.objective
        return lambda done: progress(
            TuningProgress(
                stage,
                min(before + done, total),
                total,
                best,
                interval,
                incumbent,
                feasible=feasible,
            )
        )
