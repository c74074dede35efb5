"""The engine of every tuning: search, re-evaluate, compare, within a budget and a deadline.

:func:`search_best` serves both the tuner with its minutes (:func:`vermilion.tuning.tune`) and
a controller that calls it again and again with a deadline of half a second.

1. *Search.* Every candidate meets the same few seeds (common random numbers), so that
   candidates differ by their settings and not by their luck.
2. *Re-evaluation.* The few best settings meet more seeds, so that the likely best wins and
   not the luckiest. All their seeds count for the choice; a constraint must be kept by the
   worse end of its interval.
3. *Comparison* of the winner with the incumbent on fresh seeds: what is reported, and what
   decides (:mod:`vermilion.tuning.comparison`).

With a deadline, the search stops early enough for the two later stages, going by how long
the simulations have taken so far. At Ctrl-C, all stops and the best so far is returned,
unproven and therefore not accepted.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from vermilion.objectives import feasible_first
from vermilion.search import search_from_state, search_named
from vermilion.simulate.runs import check_seed
from vermilion.tuning.candidates import Candidates, Setting
from vermilion.tuning.comparison import Comparison, compare
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.progress import TuningProgress
from vermilion.tuning.simulations import Simulations
from vermilion.tuning.verdict import judge, mean_violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario
    from vermilion.search import Point, Search, Space
    from vermilion.simulate import Result
    from vermilion.tuning.progress import ProgressReport, Stage
    from vermilion.tuning.seeds import Seeds

End = Literal["budget", "deadline", "interrupted"]
"""What ended a tuning."""

DEFAULT_SEARCH = "recursive-random-search"

_RESERVE = 1.2
"""Seconds set aside for the later stages per second that they are expected to take: they
simulate good settings, whose full queues and busy links cost a little more than the average."""

_LEAST_SEARCH = 0.25
"""The fraction of the time that the search gets in any case: what the first simulations say
about the later ones' duration is rough."""


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What a search has found, and how it compares with what is in force.

    Attributes:
        best: the best setting found besides the incumbent; ``None`` if none was simulated.
        incumbent: the setting in force.
        accepted: whether the best should replace the incumbent.
        reason: why, in one sentence.
        comparison: of the two on fresh seeds; ``None`` if it did not come to that.
        best_results: the best setting's simulations with the fresh seeds.
        incumbent_results: the incumbent's, with the same seeds in the same order.
        end: what ended the search.
        evaluations: settings that the search has used; those that it simulated ahead of its
            time and took back are not counted.
        simulations: runs of the simulator, in all stages.
        seconds: of wall time, in all stages.
        search_state: of the search, to go on from.
    """

    best: Setting | None
    incumbent: Setting
    accepted: bool
    reason: str
    comparison: Comparison | None
    best_results: tuple[Result, ...]
    incumbent_results: tuple[Result, ...]
    end: End
    evaluations: int
    simulations: int
    seconds: float
    search_state: Mapping[str, Any]


def search_best(
    model: Scenario | str,
    space: Space,
    objective: Objective,
    constraints: Sequence[Constraint] = (),
    *,
    incumbent: Setting,
    seeds: Seeds,
    budget: int,
    deadline_s: float | None = None,
    warm_starts: Iterable[Mapping[str, float]] = (),
    search: str = DEFAULT_SEARCH,
    search_seed: int = 1,
    search_settings: Mapping[str, Any] | None = None,
    search_state: Mapping[str, Any] | None = None,
    shortlist: int = 5,
    required_improvement: float = 0.0,
    threads: int | None = None,
    progress: ProgressReport | None = None,
) -> SearchOutcome:
    """Searches the best setting of a model and compares it with the incumbent.

    Args:
        model: the scenario that is simulated, as loaded or as the core reads it.
        space: the parameters and the box in which they are searched.
        objective: what to minimise.
        constraints: what must hold; "of reference" refers to the incumbent.
        incumbent: the setting in force, a value for each parameter of the space (``None``:
            automatic). It need not lie in the box.
        seeds: of the simulations.
        budget: settings that the search may use, start points included. Without a deadline
            the outcome depends on it, on the seeds, and on nothing else.
        deadline_s: wall seconds for all stages together.
        warm_starts: settings to try first, after the incumbent.
        search: the name of the search.
        search_seed: of the search's own random points.
        search_settings: further arguments of the search, such as ``stop_side``.
        search_state: a search to go on with instead of a new one; then the four arguments
            before this do not matter.
        shortlist: how many of the best settings are re-evaluated.
        required_improvement: fraction of the incumbent's objective that must be gained.
        threads: simulations at a time; ``None`` for one on each core.
        progress: called now and then.

    Raises:
        ValueError: a model, space, incumbent or search that do not fit each other.
        NotMeasuredError: the model's discipline does not have what the objective measures.
        ScenarioError: the core refuses the incumbent or a seed.
    """
    start = time.monotonic()
    for seed in (*seeds.search, *seeds.re_evaluation, *seeds.comparison):
        check_seed(seed)
    candidates = Candidates(model, space.names)
    simulations = Simulations(candidates, objective, constraints, threads)
    if search_state is not None:
        searcher = search_from_state(search_state)
    else:
        numbers = {name: value for name, value in incumbent.items() if value is not None}
        known = [numbers] if len(numbers) == len(incumbent) else []
        searcher = search_named(search)(
            len(space),
            seed=search_seed,
            start_points=[space.point(setting) for setting in (*known, *warm_starts)],
            **(search_settings or {}),
        )
    tuning = _Tuning(
        simulations,
        space,
        objective,
        constraints,
        seeds,
        searcher,
        Evaluation(incumbent),
        progress,
        start,
        None if deadline_s is None else start + deadline_s,
    )
    try:
        tuning.run(budget, shortlist)
    except KeyboardInterrupt:
        tuning.end = "interrupted"
    accepted, reason, comparison = tuning.decision(required_improvement)
    return SearchOutcome(
        best=None if tuning.best is None else tuning.best.setting,
        incumbent=incumbent,
        accepted=accepted,
        reason=reason,
        comparison=comparison,
        best_results=tuple(tuning.results[0]),
        incumbent_results=tuple(tuning.results[1]),
        end=tuning.end,
        evaluations=tuning.evaluations,
        simulations=simulations.count,
        seconds=time.monotonic() - start,
        search_state=searcher.state(),
    )


@dataclass(slots=True)
class _Tuning:
    """One tuning, from the incumbent's first simulation to the comparison.

    Attributes:
        start: the moment when it began, on the clock of ``time.monotonic``.
        until: the moment when all must be over, on the same clock.
        scale: the size of the objective, from the incumbent's.
        ranking: the settings of the search, each after the number that it told the search and
            the order in which they came; the incumbent is not among them.
        best: the first of them, and later the winner of the re-evaluation.
        compared: the best and the incumbent on fresh seeds, and their ``results``.
    """

    simulations: Simulations
    space: Space
    objective: Objective
    constraints: Sequence[Constraint]
    seeds: Seeds
    search: Search
    incumbent: Evaluation
    progress: ProgressReport | None
    start: float
    until: float | None
    scale: float = 1.0
    end: End = "budget"
    evaluations: int = 0
    ranking: list[tuple[float, int, Evaluation]] = field(default_factory=list)
    best: Evaluation | None = None
    compared: tuple[Evaluation, Evaluation] | None = None
    results: list[list[Result]] = field(default_factory=lambda: [[], []])

    def run(self, budget: int, shortlist: int) -> None:
        """All stages, until all is done or the time is up."""
        seeds = self.seeds
        self.simulations.run([self.incumbent], seeds.search, until=self.until)
        if self.incumbent.refusal is not None:
            raise self.incumbent.refusal
        if self.incumbent.not_measured is not None:
            raise self.incumbent.not_measured
        if len(self.incumbent.seeds) < len(seeds.search):
            self.end = "deadline"
            return
        self.scale = abs(self.incumbent.objective) or 1.0
        self._search(budget, (shortlist + 1) * len(seeds.re_evaluation) + 2 * len(seeds.comparison))
        if self.best is None:
            return
        self._re_evaluate(sorted(self.ranking)[:shortlist])
        self.compared = (Evaluation(self.best.setting), Evaluation(self.incumbent.setting))
        self.results = self.simulations.run_in_step(
            self.compared,
            seeds.comparison,
            until=self.until,
            progress=self._report("comparison", 2 * len(seeds.comparison)),
        )
        if len(self.compared[0].seeds) < len(seeds.comparison):
            self.end = "deadline"

    def decision(self, required_improvement: float) -> tuple[bool, str, Comparison | None]:
        """Whether the best replaces the incumbent, why, and the comparison behind it."""
        if self.compared is not None and len(self.compared[0].seeds) > 1:
            best, incumbent = self.compared
            absent = best.not_measured or incumbent.not_measured
            if absent is not None:
                return False, f"kept the incumbent, because {absent} (on the fresh seeds)", None
            comparison = compare(
                self.objective, self.constraints, best, incumbent, required_improvement
            )
            return comparison.accepted, comparison.reason, comparison
        why = {
            "interrupted": "it was interrupted",
            "deadline": "time was up",
            "budget": "the budget was spent",
        }[self.end]
        if self.best is None:
            return False, f"{why} before any other setting had been simulated", None
        return False, f"{why} before the best setting had been compared on fresh seeds", None

    def _search(self, budget: int, later: int) -> None:
        """Asks, simulates and tells until the budget or the time is spent.

        Args:
            budget: settings.
            later: simulations for which time must be left.
        """
        seeds = self.seeds.search
        at_once = self.simulations.batch_size(len(seeds))
        own = self._own_point()
        own_value = self._value(self.incumbent)
        waiting: dict[Point, Evaluation] = {}
        # Of a search that is gone on with, the first points have been asked for already.
        points = self.search.outstanding()
        while points or self.evaluations < budget:
            points = points or self.search.ask(min(at_once, budget - self.evaluations))
            each = self.simulations.seconds_each
            until = self._search_until(later)
            if until is not None and time.monotonic() + each * len(points) * len(seeds) > until:
                self.end = "deadline"
                return
            batch = {p: Evaluation(self.space.values(p)) for p in points if p != own}
            self.simulations.run(
                list(batch.values()),
                seeds,
                until=until,
                progress=self._report("search", budget * len(seeds), self.evaluations * len(seeds)),
            )
            if not all(each.is_complete(seeds) for each in batch.values()):
                # Not told: who goes on with this search simulates them anew.
                self.end = "deadline"
                return
            values = {point: self._value(evaluation) for point, evaluation in batch.items()}
            waiting.update(batch)
            used = self.search.tell(points, [values.get(point, own_value) for point in points])
            self.evaluations += len(used)
            self._rank(waiting.pop(point) for point in used if point in waiting)
            points = []

    def _search_until(self, later: int) -> float | None:
        """The moment when the search must end for so many later simulations to fit in."""
        if self.until is None:
            return None
        earliest = self.start + _LEAST_SEARCH * (self.until - self.start)
        return max(earliest, self.until - _RESERVE * self.simulations.seconds_each * later)

    def _rank(self, evaluations: Iterable[Evaluation]) -> None:
        """Takes up the settings whose values the search has used.

        Those that it has taken back are left out, so that the outcome does not depend on how
        many processors there are. Those that the core refused are left out too.
        """
        for evaluation in evaluations:
            if evaluation.refusal is None:
                self.ranking.append((self._value(evaluation), len(self.ranking), evaluation))
        self.best = min(self.ranking)[2] if self.ranking else None

    def _own_point(self) -> Point | None:
        """The point that means the incumbent, whose value is known; ``None`` if none does."""
        setting = {
            name: value for name, value in self.incumbent.setting.items() if value is not None
        }
        if len(setting) < len(self.space):
            return None
        point = self.space.point(setting)
        nearest = self.space.values(point)
        same = all(math.isclose(nearest[name], setting[name], rel_tol=1e-9) for name in nearest)
        return point if same else None

    def _re_evaluate(self, ranked: Sequence[tuple[float, int, Evaluation]]) -> None:
        """Lets the best settings meet more seeds and chooses the likely best."""
        comparison = _RESERVE * self.simulations.seconds_each * 2 * len(self.seeds.comparison)
        shortlist = [evaluation for _, _, evaluation in ranked]
        self.simulations.run_in_step(
            [self.incumbent, *shortlist],
            self.seeds.re_evaluation,
            until=None if self.until is None else self.until - comparison,
            progress=self._report(
                "re-evaluation", (len(shortlist) + 1) * len(self.seeds.re_evaluation)
            ),
        )
        self.best = min(shortlist, key=lambda evaluation: self._value(evaluation, cautious=True))

    def _value(self, evaluation: Evaluation, *, cautious: bool = False) -> float:
        """The number that orders settings: see :func:`feasible_first`."""
        if evaluation.refusal is not None:
            return math.inf
        if cautious:
            verdicts = judge(self.constraints, evaluation, self.incumbent)
            violation = math.fsum(verdict.cautious_violation for verdict in verdicts)
        else:
            violation = mean_violation(self.constraints, evaluation, self.incumbent)
        return feasible_first(evaluation.objective, violation, self.scale)

    def _report(self, stage: Stage, total: int, before: int = 0) -> Callable[[int], object] | None:
        """What turns a number of simulations done into a report of progress."""
        progress = self.progress
        if progress is None:
            return None
        best = math.inf
        if self.best is not None and min(self.ranking)[0] < 1.0:
            best = self.best.objective
            best = -best if self.objective.maximised else best
        return lambda done: progress(TuningProgress(stage, min(before + done, total), total, best))
