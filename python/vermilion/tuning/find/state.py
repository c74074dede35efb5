"""What is known of a tuning while it goes: its settings, its best, what has been compared."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from vermilion.objectives.feasible_first import BROKEN
from vermilion.simulate.statistics import mean_interval
from vermilion.tuning.find.progress import TuningProgress
from vermilion.tuning.find.screening import Screening

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.search import Search, Space
    from vermilion.simulate import Result
    from vermilion.tuning.find.horizon import Horizon, Shorter
    from vermilion.tuning.find.progress import ProgressReport, Stage
    from vermilion.tuning.find.race import RaceReport
    from vermilion.tuning.judge.comparison import Comparison
    from vermilion.tuning.measure.candidates import Setting
    from vermilion.tuning.measure.evaluation import Evaluation
    from vermilion.tuning.measure.fidelity import FidelityReport
    from vermilion.tuning.measure.memory import Memory, Used
    from vermilion.tuning.measure.seeds import Seeds

    Compare = Callable[[Evaluation, Evaluation, float], Comparison]

End = Literal["budget", "deadline", "interrupted"]
"""What ended a tuning."""


@dataclass(slots=True, kw_only=True)
class TuningState:
    """A tuning at a moment, and what every stage of it needs.

    Attributes:
        full: the whole scenario, or all the scenarios.
        space: the parameters and the box in which they are searched.
        maximised: whether high values of the objective are wanted, for reports of progress.
        seeds: of the simulations.
        search: that is asked and told.
        shortlist: how many settings race.
        race_budget: simulations of the race.
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
        compared: the best and the incumbent on fresh seeds, and their ``results``.
        compare: decides between two settings at a confidence; without it the fresh seeds are met
            and nothing is decided.
        refines: whether further settings are tried along the constraints' edge, if the best
            lies there.
        comparison: what it has come to.
        refinement: how many settings those were.
        unsaved: settings whose values the search has used since the memory was last told.
        leaders: the settings that raced; none before that.
        earlier: those of the search that this one goes on with: they are tried again.
    """

    full: Horizon
    space: Space
    maximised: bool
    seeds: Seeds
    search: Search
    shortlist: int
    race_budget: int
    progress: ProgressReport | None
    start: float
    until: float | None
    shorter: Shorter
    memory: Memory | None
    compare: Compare | None = None
    refines: bool = False
    comparison: Comparison | None = None
    refinement: int = 0
    horizon: Horizon = field(init=False)
    search_start: float = 0.0
    end: End = "budget"
    evaluations: int = 0
    ranking: list[tuple[float, int, Evaluation]] = field(default_factory=list)
    ranked: set[int] = field(default_factory=set)
    screening: Screening = field(default_factory=Screening)
    best: Evaluation | None = None
    race: RaceReport | None = None
    fidelity: FidelityReport | None = None
    compared: tuple[Evaluation, Evaluation] | None = None
    results: list[list[Result]] = field(default_factory=lambda: [[], []])
    unsaved: list[Used] = field(default_factory=list)
    leaders: list[Setting] = field(default_factory=list)
    earlier: Sequence[Setting] = ()

    def __post_init__(self) -> None:
        self.horizon = self.full

    @property
    def simulations(self) -> int:
        """Runs of the simulator so far."""
        return self.full.simulations.count + self.shorter.count

    @property
    def why_not_compared(self) -> str:
        """Why nothing can be said about the best, where the comparison was not reached."""
        why = {
            "interrupted": "it was interrupted",
            "deadline": "time was up",
            "budget": "the budget was spent",
        }[self.end]
        if self.best is None:
            return f"{why} before any other setting had been simulated"
        return f"{why} before the best setting had been compared on fresh seeds"

    def meet(self, seeds: Sequence[int], evaluations: Sequence[Evaluation]) -> list[list[Result]]:
        """Lets settings meet the seeds of the comparison, those that there is time for."""
        return self.full.simulations.run_in_step(
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
        """What turns a number of simulations done into a report of progress."""
        progress = self.progress
        if progress is None:
            return None
        horizon = self.horizon if stage != "comparison" else self.full
        sign = -1.0 if self.maximised else 1.0
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
