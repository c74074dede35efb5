"""The engine of every tuning: search, re-evaluate, compare, within a budget and a deadline.

:func:`search_best` serves both the tuner with its minutes (:func:`vermilion.tuning.tune`) and
a controller that calls it again and again with a deadline of half a second. What is searched may
also be one setting for several scenarios (:mod:`vermilion.tuning.robust`): then :class:`Tuning` is
given a horizon whose evaluations are of all of them (:mod:`vermilion.tuning.joint`).

1. *Search.* Every candidate meets the same few seeds (common random numbers), so that
   candidates differ by their settings and not by their luck; those that the first seed shows to
   be hopeless meet no other (:mod:`vermilion.tuning.screening`). Where short simulations rank
   settings like long ones, the search uses short ones, and its best climb to the whole length
   (:mod:`vermilion.tuning.fidelity`).
2. *Re-evaluation.* The few best settings race on more seeds, so that the likely best wins and
   not the luckiest (:mod:`vermilion.tuning.race`).
3. *Comparison* of the winner with the incumbent on fresh seeds: what is reported, and what
   decides (:mod:`vermilion.tuning.comparison`). Doubt buys more seeds, and where the winner cannot
   be proven to keep the constraints, the best that can is looked for on the way inward
   (:mod:`vermilion.tuning.proof`).

With a deadline, the search stops early enough for the two later stages, going by how long
the simulations have taken so far. At Ctrl-C, all stops and the best so far is returned,
unproven and therefore not accepted.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from heapq import heappush
from typing import TYPE_CHECKING, Any, Literal

from vermilion.objectives.feasible_first import BROKEN
from vermilion.search import AUTOMATIC, chosen_search, search_from_state, search_named
from vermilion.simulate.runs import check_seed
from vermilion.simulate.statistics import mean_interval
from vermilion.tuning.candidates import Candidates, Setting
from vermilion.tuning.comparison import Comparison, compare
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.horizon import Horizon, Shorter
from vermilion.tuning.memory import Used
from vermilion.tuning.noise import MarginNoise
from vermilion.tuning.progress import TuningProgress
from vermilion.tuning.proof import Proof
from vermilion.tuning.race import Race
from vermilion.tuning.screening import Screening
from vermilion.tuning.simulations import Simulations
from vermilion.tuning.verdict import mean_violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario
    from vermilion.search import Point, Search, Space
    from vermilion.simulate import Result
    from vermilion.simulate.batches import BatchRunner
    from vermilion.tuning.fidelity import Fidelity, FidelityReport
    from vermilion.tuning.memory import Memory
    from vermilion.tuning.progress import ProgressReport, Stage
    from vermilion.tuning.proof import Compare
    from vermilion.tuning.race import RaceReport
    from vermilion.tuning.seeds import Seeds

End = Literal["budget", "deadline", "interrupted"]
"""What ended a tuning."""

RESERVE = 1.2
"""Seconds set aside for the later stages per second that they are expected to take: they
simulate good settings, whose full queues and busy links cost a little more than the average."""

RACE_SEEDS = 6
"""Seeds that each of the shortlist can meet on average, if the race may use as many."""

LEAST_SEARCH = 0.25
"""The fraction of the time that the search gets in any case: what the first simulations say
about the later ones' duration is rough."""

CAUTIOUS = 2.0
"""Times the usual distance from the bounds that a third of the leaders keeps."""

_MOST_RACE = 0.25
"""The fraction of the time that is set aside for the race at most; it ends whenever it must."""


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
        race: how the re-evaluation went; ``None`` if it did not come to that.
        fidelity: whether short simulations were used; ``None`` if that was not asked for.
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
    race: RaceReport | None = None
    fidelity: FidelityReport | None = None


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
    search: str = AUTOMATIC,
    search_seed: int = 1,
    search_settings: Mapping[str, Any] | None = None,
    search_state: Mapping[str, Any] | None = None,
    shortlist: int = 5,
    race_budget: int | None = None,
    fidelity: Fidelity = "full",
    required_improvement: float = 0.0,
    least_gain: Callable[[float], float] | None = None,
    threads: int | None = None,
    workers: BatchRunner | None = None,
    progress: ProgressReport | None = None,
    memory: Memory | None = None,
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
        race_budget: simulations of the re-evaluation; by default so many that all of the
            shortlist and the incumbent could meet :data:`RACE_SEEDS` of its seeds.
        fidelity: "auto" lets the search use short simulations where they rank settings alike;
            then the outcome without a deadline does not depend on more than it does otherwise.
        required_improvement: fraction of the incumbent's objective that must be gained beyond
            doubt.
        least_gain: from what the incumbent reaches to the gain that anyone would notice; ``None``
            where any gain is welcome.
        threads: simulations at a time; ``None`` for one on each core.
        workers: simulate what is worth the way, with the same outcome; ``None`` for this machine.
        progress: called now and then.
        memory: what an earlier call with the same arguments has simulated (another budget or
            deadline apart), and keeps what this one does.

    Raises:
        ValueError: a model, space, incumbent or search that do not fit each other.
        NotMeasuredError: the model's discipline does not have what the objective measures.
        ScenarioError: the core refuses the incumbent or a seed.
    """
    start = time.monotonic()
    for seed in (*seeds.search, *seeds.re_evaluation, *seeds.comparison):
        check_seed(seed)
    text = model if isinstance(model, str) else model.core_json()
    simulations = Simulations(
        Candidates(text, space.names), objective, constraints, threads, workers, memory=memory
    )
    full = Horizon([text], 1.0, simulations, constraints, Evaluation(incumbent))
    if search_state is not None:
        searcher = search_from_state(search_state)
    else:
        starts = [*complete(incumbent), *warm_starts]
        searcher = search_named(chosen_search(search, len(space)))(
            len(space),
            seed=search_seed,
            start_points=[space.point(setting) for setting in starts],
            **(search_settings or {}),
        )

    def compared(best: Evaluation, other: Evaluation, confidence: float) -> Comparison:
        least = 0.0 if least_gain is None else least_gain(abs(other.objective))
        return compare(
            objective,
            constraints,
            best,
            other,
            required_improvement,
            least_gain=least,
            confidence=confidence,
        )

    tuning = Tuning(
        full=full,
        space=space,
        maximised=objective.maximised,
        seeds=seeds,
        search=searcher,
        shortlist=shortlist,
        race_budget=race_budget_of(shortlist, seeds) if race_budget is None else race_budget,
        progress=progress,
        start=start,
        until=None if deadline_s is None else start + deadline_s,
        shorter=Shorter(full, space, threads, workers),
        memory=memory,
        compare=compared,
    )
    tuning.run(budget, search_seed if fidelity == "auto" else None)
    accepted, reason, comparison = _decision(tuning)
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
        simulations=tuning.simulations,
        seconds=time.monotonic() - start,
        search_state=searcher.state(),
        race=tuning.race,
        fidelity=tuning.fidelity,
    )


def complete(setting: Setting) -> list[dict[str, float]]:
    """The setting in a list, as a point to start from; none if some of its values are automatic."""
    numbers = {name: value for name, value in setting.items() if value is not None}
    return [numbers] if len(numbers) == len(setting) else []


def race_budget_of(shortlist: int, seeds: Seeds) -> int:
    """Simulations of the race by default: see :data:`RACE_SEEDS`."""
    return (shortlist + 1) * min(RACE_SEEDS, len(seeds.re_evaluation))


def _decision(tuning: Tuning) -> tuple[bool, str, Comparison | None]:
    """Whether the best replaces the incumbent, why, and the comparison behind it."""
    if tuning.compared is None or len(tuning.compared[0].seeds) < 2:  # noqa: PLR2004 - an interval
        return False, tuning.why_not_compared, None
    best, incumbent = tuning.compared
    absent = best.not_measured or incumbent.not_measured
    if absent is not None:
        return False, f"kept the incumbent, because {absent} (on the fresh seeds)", None
    if tuning.comparison is None:
        return False, tuning.why_not_compared, None
    return tuning.comparison.accepted, tuning.comparison.reason, tuning.comparison


@dataclass(slots=True, kw_only=True)
class Tuning:
    """One tuning, from the incumbent's first simulation to the comparison.

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
        comparison: what it has come to.
        unsaved: settings whose values the search has used since the memory was last told.
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
    comparison: Comparison | None = None
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

    def run(self, budget: int, pilot_seed: int | None = None) -> None:
        """All stages, until all is done, the time is up, or somebody presses Ctrl-C.

        Args:
            budget: settings of the search.
            pilot_seed: of the settings that tell whether short simulations would do; ``None``
                for the full length without asking.

        Raises:
            NotMeasuredError: the incumbent lacks what the objective measures.
            ScenarioError: the core refuses the incumbent.
        """
        try:
            self._run(budget, pilot_seed)
        except KeyboardInterrupt:
            self.end = "interrupted"

    def _run(self, budget: int, pilot_seed: int | None) -> None:
        seeds = self.seeds
        incumbent = self.full.incumbent
        met = self.full.meet(seeds.search, self.until)
        if incumbent.refusal is not None:
            raise incumbent.refusal
        if incumbent.not_measured is not None:
            raise incumbent.not_measured
        first = [row[0] for row in met if row[0] is not None]
        if len(first) < len(met) or len(incumbent.seeds) < len(seeds.search):
            self.end = "deadline"
            return
        if pilot_seed is not None:
            self.fidelity = self._fidelity(first, pilot_seed)
            if self.fidelity.used:
                self.horizon = self.shorter.rungs[0]
        self._listen_to_noise()
        self.search_start = time.monotonic()
        self._search(budget)
        if self.best is None:
            return
        self._re_evaluate(self._leaders())
        self.compared = (self.best.fresh(), incumbent.fresh())
        self.results = self.meet(seeds.comparison, self.compared)
        if len(self.compared[0].seeds) < len(seeds.comparison):
            self.end = "deadline"
        if self.compare is not None and len(self.compared[0].seeds) > 1:
            Proof(self, self.compare).run()

    def meet(self, seeds: Sequence[int], evaluations: Sequence[Evaluation]) -> list[list[Result]]:
        """Lets settings meet the seeds of the comparison, those that there is time for."""
        return self.full.simulations.run_in_step(
            evaluations,
            seeds,
            until=self.until,
            progress=self._report("comparison", len(evaluations) * len(seeds)),
            made_for="comparison",
        )

    def _listen_to_noise(self) -> None:
        """Lets the search keep its distance from bounds, if it has the seeds to know how much."""
        if len(self.seeds.search) > 1:
            comparison, length = len(self.seeds.comparison), self.horizon.fraction
            noise = MarginNoise(self.full.constraints, comparison, length)
            for horizon in (self.full, *self.shorter.rungs):
                horizon.noise = noise

    def _fidelity(self, first: Sequence[Result], pilot_seed: int) -> FidelityReport:
        """Whether the search may use short simulations, as it was decided at first."""
        report = self.shorter.measure(first, self.seeds.search, pilot_seed, self.until)
        known = None if self.memory is None else self.memory.fidelity()
        if known is not None and not known.used:
            return known  # there may have been no time to measure it, and there is now
        if self.memory is not None and known is None:
            self.memory.keep_fidelity(report)
        return report

    def _search(self, budget: int) -> None:
        """Asks, simulates and tells until the budget or the time is spent.

        Args:
            budget: settings.
        """
        seeds = self.seeds.search
        simulations = self.horizon.simulations
        first = seeds[:1] if len(seeds) > 1 else seeds
        at_once = simulations.batch_size(len(first))
        own = self._own_setting()
        waiting: dict[Point, tuple[Evaluation, float]] = {}
        # Several points may mean one setting, of whole numbers or of what a device has.
        known: dict[tuple[float, ...], Evaluation] = {}
        # Of a search that is gone on with, the first points have been asked for already.
        points = self.search.outstanding()
        while points or self.evaluations < budget:
            points = points or self.search.ask(min(at_once, budget - self.evaluations))
            until = self._search_until()
            # Something is tried in any case: the first simulations may have met a busy machine.
            each = 0.0 if self.best is None else simulations.least_seconds_each
            expected = each * len(points) * len(seeds)
            if until is not None and time.monotonic() + expected > until:
                self.end = "deadline"
                return
            batch: dict[Point, Evaluation] = {}
            for point in points:
                setting = self.space.values(point)
                batch[point] = (
                    self.horizon.incumbent
                    if setting == own
                    else known.setdefault(
                        tuple(setting.values()), self.horizon.incumbent.another(setting)
                    )
                )
            asked = list({id(each): each for each in batch.values()}.values())
            progress = self._report("search", budget, self.evaluations)
            simulations.run(
                [each for each in asked if not each.is_complete(first)], first, until=until
            )
            promising = [
                each
                for each in asked
                if not each.is_complete(seeds) and not self.screening.is_hopeless(each)
            ]
            simulations.run(promising, seeds[len(first) :], until=until)
            if not all(each.is_complete(first) for each in asked) or not all(
                each.is_complete(seeds) for each in promising
            ):
                # Not told: who goes on with this search simulates them anew.
                self.end = "deadline"
                return
            # What has been simulated ahead may be out of date: each is judged by those before it.
            for point in points:
                evaluation = batch[point]
                hopeless = self.screening.is_hopeless(evaluation)
                if not hopeless and not evaluation.is_complete(seeds):
                    simulations.run([evaluation], seeds[len(first) :], until=until)
                    if not evaluation.is_complete(seeds):
                        self.end = "deadline"
                        return
                waiting[point] = evaluation, self._told(evaluation, hopeless=hopeless)
                for used in self.search.tell([point], [waiting[point][1]]):
                    self._rank(*waiting.pop(used))
            self._save()
            if progress is not None:
                progress(len(points))
            points = []

    def _told(self, evaluation: Evaluation, *, hopeless: bool) -> float:
        """What the search is told about a setting."""
        if not hopeless or evaluation.refusal is not None:
            return self.horizon.value(evaluation)
        first = evaluation.only_first()
        return self.horizon.value(first, self.screening.expected(first))

    def _search_until(self) -> float | None:
        """The moment when the search must end for the later stages to fit in."""
        if self.until is None:
            return None
        earliest = self.search_start + LEAST_SEARCH * (self.until - self.search_start)
        return max(earliest, self.until - self._climb_seconds() - self._race_seconds())

    def _race_seconds(self) -> float:
        """Wall seconds set aside for the race and the comparison."""
        race = RESERVE * self.full.simulations.seconds_each * self.race_budget
        if self.until is not None:
            race = min(race, _MOST_RACE * (self.until - self.start))
        return race + self._comparison_seconds()

    def _comparison_seconds(self) -> float:
        """Wall seconds set aside for the comparison alone."""
        return RESERVE * self.full.simulations.seconds_each * 2 * len(self.seeds.comparison)

    def _climb_seconds(self) -> float:
        """Wall seconds set aside for the climb from short simulations to full ones."""
        if self.horizon is self.full:
            return 0.0
        rungs = self.shorter.rungs[1:]
        runs = math.fsum(rung.fraction * 2.0 ** (len(rungs) - n) for n, rung in enumerate(rungs))
        each = self.full.simulations.seconds_each
        return RESERVE * each * runs * self.shortlist * len(self.seeds.search)

    def _leaders(self) -> list[Evaluation]:
        """The best of the search, to be raced in the whole scenario."""
        ranked = self._with_cautious(self.ranked_by(1.0))
        if self.horizon is self.full:
            return ranked[: self.shortlist]
        until = None if self.until is None else self.until - self._race_seconds()
        settings = self.shorter.climb(ranked, self.shortlist, self.seeds.search, until)
        return [self.full.incumbent.another(setting) for setting in settings]

    def _with_cautious(self, ranked: list[Evaluation]) -> list[Evaluation]:
        """The same, with the best at twice the usual distance from the bounds among the leaders.

        Where seeds differ much, those that look best at the edge are the lucky ones, of which the
        race may leave none.
        """
        if all(constraint.of_harm for constraint in self.full.constraints):
            return ranked
        usual = -(-2 * self.shortlist // 3)
        leaders = ranked[:usual]
        known = {id(each) for each in leaders}
        leaders += [each for each in self.ranked_by(CAUTIOUS) if id(each) not in known][
            : self.shortlist - usual
        ]
        known = {id(each) for each in leaders}
        return leaders + [each for each in ranked if id(each) not in known]

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

    def _rank(self, evaluation: Evaluation, value: float) -> None:
        """Takes up a setting whose value the search has used.

        Those that it has taken back are left out, so that the outcome does not depend on how
        many processors there are. Those that the core refused are left out too, and those that
        one seed has shown to be hopeless.
        """
        self.evaluations += 1
        self._note(evaluation, value)
        if evaluation.refusal is not None or self.screening.is_hopeless(evaluation):
            return
        self.screening.learn(value, evaluation)
        if self.horizon.noise is not None:
            self.horizon.noise.learn(evaluation, self.horizon.incumbent)
        if evaluation is not self.horizon.incumbent and id(evaluation) not in self.ranked:
            self.ranked.add(id(evaluation))
            heappush(self.ranking, (value, len(self.ranking), evaluation))
            self.best = self.ranking[0][2]

    def _note(self, evaluation: Evaluation, value: float) -> None:
        """Puts down what the search was told, for the memory."""
        if self.memory is None or evaluation.refusal is not None:
            return
        horizon = self.horizon
        if self.screening.is_hopeless(evaluation):
            evaluation = evaluation.only_first()
        self.unsaved.append(
            Used(
                number=self.evaluations,
                setting=evaluation.setting,
                length=horizon.fraction,
                seeds=len(evaluation.seeds),
                told=value,
                objective=evaluation.objective,
                violation=mean_violation(horizon.constraints, evaluation, horizon.incumbent),
                simulations=self.simulations,
            )
        )

    def _save(self) -> None:
        """Gives the memory what was put down."""
        if self.memory is not None and self.unsaved:
            self.memory.use(self.unsaved)
            self.unsaved = []

    def _own_setting(self) -> dict[str, float] | None:
        """What the space makes of the incumbent, whose value is known; ``None`` if it has none."""
        setting = {
            name: value for name, value in self.full.incumbent.setting.items() if value is not None
        }
        if len(setting) < len(self.space):
            return None
        nearest = self.space.values(self.space.point(setting))
        same = all(math.isclose(nearest[name], setting[name], rel_tol=1e-9) for name in nearest)
        return nearest if same else None

    def _re_evaluate(self, leaders: Sequence[Evaluation]) -> None:
        """Lets the best settings race on more seeds and chooses the likely best."""
        comparison = RESERVE * self.full.simulations.seconds_each * 2 * len(self.seeds.comparison)
        race = Race(
            self.full.simulations,
            self.full.constraints,
            self.full.incumbent,
            leaders,
            self.full.scale,
        )
        race.run(
            self.seeds.re_evaluation,
            self.race_budget,
            until=None if self.until is None else self.until - comparison,
            progress=self._report("re-evaluation", self.race_budget),
        )
        self.best, self.race = race.winner, race.report

    def _report(self, stage: Stage, total: int, before: int = 0) -> Callable[[int], object] | None:
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
