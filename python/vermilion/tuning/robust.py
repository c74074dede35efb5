"""One setting for several scenarios: tuned for the worst of them, or for their weighted mean.

A queue is set once and meets many conditions. Each scenario's objective is divided by what its own
incumbent reaches there, so that scenarios of different size can be compared: 1 is "as now", 0.8 is
a fifth better in a quantity that is minimised. (Of a quantity that is maximised the negative
counts, -1 being "as now".)

1. *Search.* Every candidate meets the same few seeds in every scenario. Its value is the largest
   of the scenarios' means ("worst"), or their weighted mean ("mean"). Constraints count in every
   scenario, each with its own.
2. *Re-evaluation.* The few best settings meet more seeds in every scenario.
3. *Comparison* with the incumbents on fresh seeds. "worst": the setting is accepted if it is
   significantly better in every scenario, for then and only then it surely is in the worst; no
   correction for several tests is needed, because all of them have to be passed
   (intersection-union test, R. L. Berger 1982). "mean": it is accepted if the interval of the
   weighted mean of the differences, seed by seed, lies on the right side of zero. With either, all
   constraints must be kept beyond doubt in all scenarios.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from vermilion.objectives import NotMeasuredError, constraints_of, feasible_first, objective_of
from vermilion.objectives.registry import objective_from_text
from vermilion.profiles import Device, SettableSpace
from vermilion.scenario.errors import ScenarioError
from vermilion.search import SEARCHES, Space, search_named
from vermilion.simulate.runs import run_many
from vermilion.simulate.statistics import Interval, mean_interval
from vermilion.tuning.candidates import Candidates
from vermilion.tuning.comparison import Comparison, compare
from vermilion.tuning.engine import DEFAULT_SEARCH
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.progress import TuningProgress
from vermilion.tuning.recommendation import OnDevice
from vermilion.tuning.robust_recommendation import RobustCase, RobustRecommendation
from vermilion.tuning.seeds import Seeds
from vermilion.tuning.tune import tuned_links
from vermilion.tuning.verdict import judge, mean_violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.profiles import Place
    from vermilion.scenario import Scenario
    from vermilion.search import Point
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.progress import ProgressReport, Stage

Over = Literal["worst", "mean"]
"""How the scenarios make one number."""

KINDS: Final[tuple[Over, ...]] = ("worst", "mean")

_AT_ONCE: Final = 2
"""Settings that are asked for at a time; each is as many simulations as scenarios times seeds."""


def tune_robust(
    scenarios: Sequence[Scenario],
    over: Over = "worst",
    *,
    weights: Sequence[float] | None = None,
    parameters: Iterable[str] | None = None,
    objective: str | None = None,
    constraints: Iterable[str] | None = None,
    boxes: Mapping[str, tuple[float, float]] | None = None,
    profile: str | None = None,
    place: Place | None = None,
    search: str = DEFAULT_SEARCH,
    budget: int = 400,
    seeds: Seeds | None = None,
    seed: int = 1,
    shortlist: int = 5,
    threads: int | None = None,
    progress: ProgressReport | None = None,
) -> RobustRecommendation:
    """Searches one setting for several scenarios and compares it with each one's own.

    Ctrl-C ends it early with the best so far, which is then not accepted.

    Args:
        scenarios: at least two. Each has, in its ``[tuning]``, its own objective and constraints;
            the parameters and the box are those of the first.
        over: "worst" or "mean".
        weights: of the scenarios in the mean; equal unless given.
        parameters: paths like ``links.bottleneck.queue.weight``, which all scenarios must have.
        objective: the same for all, instead of their own, as a text.
        constraints: the same for all, instead of their own; an empty list means none.
        boxes: lower and upper ends of some parameters.
        profile: the name of a device profile; packet sizes are those of the first scenario.
        place: what the device's command is to name.
        search: the name of the search.
        budget: settings that the search may use; each is simulated in every scenario.
        seeds: of the simulations.
        seed: of the search's random points, and the first one of the simulations.
        shortlist: how many of the best settings are re-evaluated.
        threads: simulations at a time; ``None`` for one on each core.
        progress: called now and then.

    Raises:
        ScenarioError: a part of it that is not accepted.
    """
    from vermilion import _core

    _check(scenarios, over, search, budget)
    shares = _shares(scenarios, over, weights)
    first = scenarios[0]
    space = Space.from_scenario(first, parameters, boxes)
    device = None if profile is None else Device(profile, first, space.names)
    if device is not None:
        space = SettableSpace(space, device)
    held = None if constraints is None else tuple(constraints)
    numbers = seeds or Seeds.counted(seed)
    _check_units(scenarios, space)
    cases = [
        _case(scenario, label, space, objective, held, numbers.search, threads)
        for scenario, label in zip(scenarios, _labels(scenarios), strict=True)
    ]
    tuning = _Robust(cases, space, over, shares, numbers, threads, progress)
    try:
        tuning.run(search, seed, budget, shortlist)
    except KeyboardInterrupt:
        tuning.interrupted = True
    except NotMeasuredError as error:
        raise ScenarioError("tuning.objective", "it", f"another objective: {error}") from None
    accepted, reason, compared, change = tuning.decision()
    best = None if tuning.best is None else tuning.best.setting
    on_device = None
    if device is not None and best is not None and accepted:
        known = {name: value for name, value in best.items() if value is not None}
        on_device = OnDevice(device.name, device.command(known, place), tuple(device.notes(known)))
    return RobustRecommendation(
        over=over,
        parameters=best or {},
        accepted=accepted,
        reason=reason,
        cases=tuple(
            RobustCase(case.label, case.objective.label, case.incumbent.setting, weight, each)
            for case, weight, each in zip(cases, shares, compared, strict=True)
        ),
        change=change,
        evaluations=tuning.evaluations,
        simulations=tuning.simulations,
        interrupted=tuning.interrupted,
        seeds=numbers,
        search=search,
        version=_core.VERSION,
        readable={
            path: first.parameter(path).readable(value) for path, value in (best or {}).items()
        },
        device=on_device,
    )


@dataclass(slots=True)
class _Case:
    """One of the scenarios.

    Attributes:
        label: its name, made unique.
        candidates: writes it with a setting.
        objective: its own.
        constraints: its own.
        incumbent: its own setting, on the seeds so far.
        scale: what its objective is divided by.
    """

    label: str
    candidates: Candidates
    objective: Objective
    constraints: tuple[Constraint, ...]
    incumbent: Evaluation
    scale: float = 1.0


@dataclass(eq=False, slots=True)
class _Trial:
    """A setting in all scenarios."""

    setting: Setting
    evaluations: list[Evaluation] = field(default_factory=list)


class _Robust:
    """One tuning, from the incumbents' first simulations to the comparison."""

    def __init__(
        self,
        cases: Sequence[_Case],
        space: Space,
        over: Over,
        shares: Sequence[float],
        seeds: Seeds,
        threads: int | None,
        progress: ProgressReport | None,
    ) -> None:
        self._cases = cases
        self._space = space
        self._over = over
        self._shares = shares
        self._seeds = seeds
        self._threads = threads
        self._progress = progress
        self.best: _Trial | None = None
        self.compared: tuple[_Trial, _Trial] | None = None
        self.evaluations = 0
        self.simulations = 0
        self.interrupted = False

    def run(self, search: str, seed: int, budget: int, shortlist: int) -> None:
        """All stages.

        Raises:
            NotMeasuredError: an incumbent lacks what its objective measures.
            ScenarioError: the core refuses an incumbent.
        """
        own = _Trial({}, [case.incumbent for case in self._cases])
        self._simulate([own], self._seeds.search)
        for case in self._cases:
            if case.incumbent.refusal is not None:
                raise case.incumbent.refusal
            if case.incumbent.not_measured is not None:
                raise case.incumbent.not_measured
            case.scale = abs(case.incumbent.objective) or 1.0
        ranking = self._search(search, seed, budget)
        if not ranking:
            return
        leaders = [trial for _, _, trial in sorted(ranking)[:shortlist]]
        self._simulate(
            [own, *leaders], self._seeds.re_evaluation, self._report("re-evaluation", shortlist + 1)
        )
        self.best = min(leaders, key=lambda trial: self._value(trial, cautious=True))
        trial = self._new(self.best.setting)
        fresh = _Trial({}, [Evaluation(case.incumbent.setting) for case in self._cases])
        self._simulate([trial, fresh], self._seeds.comparison, self._report("comparison", 2))
        self.compared = (trial, fresh)

    def decision(
        self,
    ) -> tuple[bool, str, Sequence[Comparison | None], Interval | None]:
        """Whether to accept, why, the comparisons, and for "mean" the mean relative change."""
        nothing: list[Comparison | None] = [None] * len(self._cases)
        if self.compared is None:
            why = "it was interrupted" if self.interrupted else "nothing could be simulated"
            return False, f"{why} before the best setting had been compared", nothing, None
        best, now = self.compared
        pairs = list(zip(self._cases, best.evaluations, now.evaluations, strict=True))
        for case, mine, other in pairs:
            absent = mine.not_measured or other.not_measured
            if mine.refusal is not None or absent is not None:
                return False, f"refused in {case.label}: {mine.refusal or absent}", nothing, None
        compared = [
            compare(case.objective, case.constraints, mine, other) for case, mine, other in pairs
        ]
        missed = [
            (case.label, verdict)
            for (case, _, _), each in zip(pairs, compared, strict=True)
            for verdict in each.best_verdicts
            if verdict.holds != "met"
        ]
        changes = [
            [
                (new - old) / abs(math.fsum(other.objectives) / len(other.objectives) or 1.0)
                for new, old in zip(mine.objectives, other.objectives, strict=True)
            ]
            for _, mine, other in pairs
        ]
        overall = mean_interval(
            math.fsum(share * change for share, change in zip(self._shares, row, strict=True))
            for row in zip(*changes, strict=True)
        )
        if missed:
            return False, f"refused, because in {missed[0][0]} {missed[0][1]}", compared, overall
        if self._over == "mean":
            return *_by_mean(overall), compared, overall
        highs = [mean_interval(row).high for row in changes]
        return *_by_worst([case.label for case in self._cases], highs), compared, overall

    def _search(self, name: str, seed: int, budget: int) -> list[tuple[float, int, _Trial]]:
        """Asks, simulates and tells until the budget is spent; the settings with their values."""
        space = self._space
        starts = [
            space.point({path: value for path, value in setting.items() if value is not None})
            for setting in (case.incumbent.setting for case in self._cases)
            if None not in setting.values()
        ]
        searcher = search_named(name)(len(space), seed=seed, start_points=dict.fromkeys(starts))
        known: dict[tuple[float | None, ...], _Trial] = {}
        ranking: dict[int, tuple[float, int, _Trial]] = {}
        report = self._report("search", budget)
        while self.evaluations < budget:
            points = searcher.ask(min(_AT_ONCE, budget - self.evaluations))
            trials = self._trials(points, known)
            values = {point: self._value(trial) for point, trial in trials.items()}
            used = searcher.tell(points, [values[point] for point in points])
            self.evaluations += len(used)
            for point in used:
                trial = known[tuple(space.values(point).values())]
                if math.isfinite(value := self._value(trial)):
                    ranking.setdefault(id(trial), (value, len(ranking), trial))
                    self.best = min(ranking.values())[2]
            if report is not None:
                report(self.evaluations)
        return list(ranking.values())

    def _trials(
        self, points: Sequence[Point], known: dict[tuple[float | None, ...], _Trial]
    ) -> dict[Point, _Trial]:
        """The points' settings, those that are new simulated."""
        trials, new = {}, []
        for point in points:
            setting = self._space.values(point)
            key = tuple(setting.values())
            if key not in known:
                known[key] = self._new(setting)
                new.append(known[key])
            trials[point] = known[key]
        self._simulate(new, self._seeds.search)
        return trials

    def _new(self, setting: Setting) -> _Trial:
        return _Trial(setting, [Evaluation(setting) for _ in self._cases])

    def _simulate(
        self,
        trials: Sequence[_Trial],
        seeds: Sequence[int],
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Lets settings meet seeds in every scenario; a refusal stays with its setting."""
        pairs = [
            (case, evaluation)
            for trial in trials
            for case, evaluation in zip(self._cases, trial.evaluations, strict=True)
        ]
        if not pairs:
            return
        texts = [case.candidates.text(evaluation.setting) for case, evaluation in pairs]
        try:
            rows = run_many(texts, seeds, threads=self._threads)
        except ScenarioError as refusal:
            if len(trials) > 1:
                for trial in trials:
                    self._simulate([trial], seeds)
            else:
                for _, evaluation in pairs:
                    evaluation.refusal = refusal
            return
        for (case, evaluation), row in zip(pairs, rows, strict=True):
            for seed, result in zip(seeds, row, strict=True):
                if result is not None:
                    evaluation.add(seed, result, case.objective, case.constraints)
                    self.simulations += 1
        if progress is not None:
            progress(len(trials))

    def _value(self, trial: _Trial, *, cautious: bool = False) -> float:
        """What a search is told of a setting: all scenarios in one number."""
        ratios, violation = [], 0.0
        for case, evaluation in zip(self._cases, trial.evaluations, strict=True):
            if evaluation.refusal is not None:
                return math.inf
            ratios.append(evaluation.objective / case.scale)
            if cautious:
                verdicts = judge(case.constraints, evaluation, case.incumbent)
                violation += math.fsum(verdict.cautious_violation for verdict in verdicts)
            else:
                violation += mean_violation(case.constraints, evaluation, case.incumbent)
        if self._over == "worst":
            value = max(ratios)
        else:
            pairs = zip(self._shares, ratios, strict=True)
            value = math.fsum(share * ratio for share, ratio in pairs)
        return feasible_first(value, violation, 1.0)

    def _report(self, stage: Stage, total: int) -> Callable[[int], object] | None:
        progress = self._progress
        if progress is None:
            return None
        return lambda done: progress(TuningProgress(stage, min(done, total), total, math.inf))


def _by_worst(labels: Sequence[str], highs: Sequence[float | None]) -> tuple[bool, str]:
    """The decision by the upper ends of the scenarios' relative changes."""
    unsure = [
        label for label, high in zip(labels, highs, strict=True) if high is None or high >= 0.0
    ]
    if not unsure:
        return True, "significantly better in every scenario, and every constraint is met"
    return False, (
        f"kept the incumbents, because it is not surely better in {' and '.join(unsure)}"
    )


def _by_mean(change: Interval) -> tuple[bool, str]:
    """The decision by the weighted mean of the scenarios' relative changes."""
    said = f"{100 * change.mean:+.3g} %"
    if change.half_width is not None:
        said += f" +- {100 * change.half_width:.2g} %"
    if change.high is not None and change.high < 0.0:
        return True, (
            f"significantly better in the weighted mean ({said}; negative is better), and every "
            "constraint is met"
        )
    return False, f"kept the incumbents, because the weighted mean may be no better ({said})"


def _case(
    scenario: Scenario,
    label: str,
    space: Space,
    text: str | None,
    constraints: Sequence[str] | None,
    seeds: Sequence[int],
    threads: int | None,
) -> _Case:
    stated: tuple[str, ...] = ()
    if text is None:
        objective = objective_of(scenario)
    else:
        objective, stated = objective_from_text(text, scenario)
    texts = constraints if not stated else (*(constraints or ()), *stated)
    held = constraints_of(scenario, objective, texts, links=tuned_links(scenario, space.names))
    incumbent: Setting = {name: scenario.get(name) for name in space.names}
    if objective.needs_incumbent:
        [now] = run_many([scenario], seeds, threads=threads)
        objective = objective.relative_to([result for result in now if result is not None])
    candidates = Candidates(scenario, space.names)
    return _Case(label, candidates, objective, held, Evaluation(incumbent))


def _labels(scenarios: Sequence[Scenario]) -> list[str]:
    """Each scenario's name, numbered where several have the same."""
    names = [scenario.origin for scenario in scenarios]
    return [
        name if names.count(name) == 1 else f"{name} #{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def _shares(
    scenarios: Sequence[Scenario], over: Over, weights: Sequence[float] | None
) -> tuple[float, ...]:
    """The weights, which add up to 1."""
    if weights is None:
        return tuple(1.0 / len(scenarios) for _ in scenarios)
    right = len(weights) == len(scenarios) and all(
        math.isfinite(weight) and weight > 0.0 for weight in weights
    )
    if not right or over != "mean":
        accepted = 'one number above 0 for each scenario, with "mean"'
        raise ScenarioError("weights", ", ".join(map(str, weights)), accepted)
    return tuple(weight / math.fsum(weights) for weight in weights)


def _check_units(scenarios: Sequence[Scenario], space: Space) -> None:
    """Refuses parameters that mean something else in another of the scenarios."""
    for name in space.names:
        unit = scenarios[0].parameter(name).dimension.unit
        for scenario in scenarios[1:]:
            if scenario.parameter(name).dimension.unit != unit:
                accepted = f"a parameter in {unit or 'the same unit'}, as in {scenarios[0].origin}"
                raise ScenarioError("tuning.parameters", name, accepted, scenario.origin)


def _check(scenarios: Sequence[Scenario], over: str, search: str, budget: int) -> None:
    if len(scenarios) < 2:  # noqa: PLR2004 - one is not several
        raise ScenarioError("scenarios", f"{len(scenarios)} of them", "at least two")
    if over not in KINDS:
        raise ScenarioError("robust", over, f"one of: {', '.join(KINDS)}")
    if search not in SEARCHES:
        raise ScenarioError("search", search, f"one of: {', '.join(SEARCHES)}")
    if budget < 1:
        raise ScenarioError("budget", budget, "at least 1 setting")
