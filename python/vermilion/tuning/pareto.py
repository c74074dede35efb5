"""The front of two objectives: what each gives up for the other.

A front is searched by epsilon-constraint (Y. Y. Haimes, L. S. Lasdon, D. A. Wismer, "On a
bicriterion formulation of the problems of integrated system identification and system
optimization", IEEE Transactions on Systems, Man, and Cybernetics 1, 1971): the first objective is
minimised under a bound on the second, for one bound after the other. That also finds points where
the front is not convex, which no weighted sum does.

1. *Ends.* Each objective is minimised alone.
2. *Gaps.* Again and again, a bound halves the widest gap between neighbours on the front so far,
   both objectives being measured by their ranges on it. Every setting that was ever simulated is
   in one archive, and each search begins with the archive's best for its question. All searches
   have the same seed, so what they explore at random is the same and is simulated once.
3. *Fresh seeds.* The settings of the archive that none other dominates, thinned to as many as are
   asked for, meet seeds that nothing was chosen by, together with the setting in force. What is
   reported are these means with their intervals, and those settings that are still not
   dominated by another's.

Only constraints that are asked for hold: the usual one on utilisation would cut off the front.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from vermilion.objectives import Constraint, NotMeasuredError, feasible_first
from vermilion.objectives.registry import objective_from_text
from vermilion.profiles import Device, SettableSpace
from vermilion.scenario.errors import ScenarioError
from vermilion.search import SEARCHES, Space, search_named
from vermilion.simulate.runs import run_many
from vermilion.simulate.statistics import mean_interval
from vermilion.tuning.candidates import Candidates
from vermilion.tuning.engine import DEFAULT_SEARCH
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.front import Front, FrontPoint
from vermilion.tuning.progress import TuningProgress
from vermilion.tuning.seeds import Seeds
from vermilion.tuning.verdict import judge, mean_violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vermilion.objectives import Objective
    from vermilion.profiles import Place
    from vermilion.scenario import Scenario
    from vermilion.search import Point
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.progress import ProgressReport, Stage

DEFAULT_PAIR: Final = ("links.{link}.sojourn_ms.mean", "links.{link}.utilization")
"""The objectives unless others are named: the delay of a queue against the use of its link."""

MOST_POINTS: Final = 12
"""Settings of the front that meet fresh seeds, unless told otherwise."""

_QUESTIONS: Final = 8
"""Searches that share the budget: two for the ends and six for gaps."""

_MOST_TOLD: Final = 4
"""Points that a search may be told per setting that it may simulate: what it asks for is often
in the archive already."""


def tune_front(
    scenario: Scenario,
    objectives: Sequence[Objective | str] | None = None,
    *,
    parameters: Iterable[str] | None = None,
    constraints: Iterable[str] = (),
    boxes: Mapping[str, tuple[float, float]] | None = None,
    profile: str | None = None,
    place: Place | None = None,
    search: str = DEFAULT_SEARCH,
    budget: int = 400,
    seeds: Seeds | None = None,
    seed: int = 1,
    points: int = MOST_POINTS,
    threads: int | None = None,
    progress: ProgressReport | None = None,
) -> Front:
    """Searches the settings of which none is better in both of two objectives.

    Ctrl-C ends the search early; what it has found still meets fresh seeds.

    Args:
        scenario: gives the parameters that may change, in its ``[tuning]``, unless they are given.
        objectives: two, as for :func:`vermilion.tuning.tune`; by default the mean waiting time
            and the utilisation of the first link whose queue is tuned.
        parameters: paths like ``links.bottleneck.queue.weight``.
        constraints: what every setting of the front must keep; none unless given.
        boxes: lower and upper ends of some parameters.
        profile: the name of a device profile: only what the device has is proposed.
        place: what the device's commands are to name.
        search: the name of the search.
        budget: settings to simulate, in all searches together.
        seeds: of the simulations: those of the search and those of the comparison are used.
        seed: of the searches' random points, and the first one of the simulations.
        points: settings that meet fresh seeds.
        threads: simulations at a time; ``None`` for one on each core.
        progress: called now and then.

    Raises:
        ScenarioError: a part of it that is not accepted.
    """
    from vermilion import _core

    if search not in SEARCHES:
        accepted = f"one of: {', '.join(SEARCHES)}"
        raise ScenarioError("search", search, accepted, scenario.origin)
    if budget < 1:
        raise ScenarioError("budget", budget, "at least 1 setting", scenario.origin)
    space = Space.from_scenario(scenario, parameters, boxes)
    device = None if profile is None else Device(profile, scenario, space.names)
    if device is not None:
        space = SettableSpace(space, device)
    chosen, stated = _objectives(scenario, space, objectives)
    held = tuple(
        Constraint.parse(text, field=f"tuning.constraints.{index}", scenario=scenario)
        for index, text in enumerate((*constraints, *stated))
    )
    incumbent: Setting = {name: scenario.get(name) for name in space.names}
    numbers = seeds or Seeds.counted(seed)
    archive = _Archive(
        Candidates(scenario, space.names), chosen, held, numbers.search, incumbent, threads
    )
    hunt = _Hunt(archive, space, search, seed, budget, progress)
    try:
        archive.simulate([archive.incumbent])
        interrupted = hunt.run()
    except NotMeasuredError as error:
        raise ScenarioError(
            "tuning.objective", str(chosen[0].label), f"another objective: {error}", scenario.origin
        ) from None
    leaders = thinned(non_dominated(archive.feasible()), points)
    fresh = _Archive(
        Candidates(scenario, space.names), chosen, held, numbers.comparison, incumbent, threads
    )
    entries = [_Entry(entry.setting) for entry in leaders]
    fresh.simulate([fresh.incumbent, *entries], hunt.report("comparison", len(leaders) + 1))
    confirmed = [entry for entry in entries if fresh.keeps(entry)]
    kept = non_dominated(confirmed)
    return Front(
        scenario=scenario.origin,
        objectives=tuple(objective.label for objective in chosen),
        units=tuple(_unit(objective) for objective in chosen),
        maximised=tuple(objective.maximised for objective in chosen),
        constraints=tuple(constraint.text for constraint in held),
        points=tuple(
            _front_point(entry, chosen, fresh, device, place)
            for entry in sorted(kept, key=lambda entry: entry.means)
        ),
        incumbent=_front_point(fresh.incumbent, chosen, fresh, None, None),
        dropped=len(leaders) - len(kept),
        tried=tuple(
            _natural(entry.means, chosen) for entry in archive.entries if entry.is_measured
        ),
        evaluations=len(archive.entries) - 1,
        simulations=archive.simulations + fresh.simulations,
        seeds=numbers,
        search=search,
        interrupted=interrupted,
        version=_core.VERSION,
    )


@dataclass(eq=False, slots=True)
class _Entry:
    """A setting with both objectives, each as it is to be minimised.

    Attributes:
        setting: values by path.
        first: the first objective on each seed, and the constraints.
        second: the second objective on each seed.
    """

    setting: Setting
    first: Evaluation = field(init=False)
    second: Evaluation = field(init=False)

    def __post_init__(self) -> None:
        self.first, self.second = Evaluation(self.setting), Evaluation(self.setting)

    @property
    def means(self) -> tuple[float, float]:
        """Of both objectives over the seeds; infinite where one was not measured."""
        return self.first.objective, self.second.objective

    @property
    def is_measured(self) -> bool:
        """Whether both objectives are known with every seed."""
        return all(map(math.isfinite, self.means))


class _Archive:
    """Every setting that was simulated on some seeds, the incumbent first."""

    def __init__(
        self,
        candidates: Candidates,
        objectives: Sequence[Objective],
        constraints: Sequence[Constraint],
        seeds: Sequence[int],
        incumbent: Setting,
        threads: int | None,
    ) -> None:
        self._candidates = candidates
        self._objectives = objectives
        self._constraints = constraints
        self._seeds = seeds
        self._threads = threads
        self._by_values: dict[tuple[float | None, ...], _Entry] = {}
        self.incumbent = _Entry(incumbent)
        self.entries: list[_Entry] = []
        self.simulations = 0

    def known(self, setting: Setting) -> _Entry | None:
        """The entry of a setting that has been simulated."""
        return self._by_values.get(tuple(setting.values()))

    def entry(self, setting: Setting) -> _Entry:
        """The same of one that surely has been."""
        return self._by_values[tuple(setting.values())]

    def simulate(
        self, entries: Sequence[_Entry], progress: Callable[[int], object] | None = None
    ) -> None:
        """Takes up new settings.

        Raises:
            ScenarioError: the core refuses the incumbent.
            NotMeasuredError: the incumbent lacks one of the objectives.
        """
        texts = [self._candidates.text(entry.setting) for entry in entries]
        try:
            rows = run_many(texts, self._seeds, threads=self._threads, progress=progress)
        except ScenarioError as refusal:
            if len(entries) > 1:
                for entry in entries:
                    self.simulate([entry])
                return
            if entries[0] is self.incumbent:
                raise
            entries[0].first.refusal = refusal
            rows = [[]]
        for entry, row in zip(entries, rows, strict=True):
            for seed, result in zip(self._seeds, row, strict=False):
                if result is not None:
                    entry.first.add(seed, result, self._objectives[0], self._constraints)
                    entry.second.add(seed, result, self._objectives[1], ())
                    self.simulations += 1
            self.entries.append(entry)
            self._by_values[tuple(entry.setting.values())] = entry
            absent = entry.first.not_measured or entry.second.not_measured
            if entry is self.incumbent and absent is not None:
                raise absent

    def violation(self, entry: _Entry) -> float:
        """How badly a setting breaks the constraints, 0 if it keeps them."""
        if entry.first.refusal is not None:
            return math.inf
        return mean_violation(self._constraints, entry.first, self.incumbent.first)

    def keeps(self, entry: _Entry) -> bool:
        """Whether a setting keeps the constraints beyond doubt and has both numbers."""
        if entry.first.refusal is not None or not entry.is_measured:
            return False
        verdicts = judge(self._constraints, entry.first, self.incumbent.first)
        return all(verdict.holds == "met" for verdict in verdicts)

    def feasible(self) -> list[_Entry]:
        """The settings besides the incumbent that can be on the front."""
        return [
            entry
            for entry in self.entries
            if entry is not self.incumbent and entry.is_measured and not self.violation(entry)
        ]


class _Hunt:
    """The searches, one question after the other, until the budget is spent."""

    def __init__(
        self,
        archive: _Archive,
        space: Space,
        search: str,
        seed: int,
        budget: int,
        progress: ProgressReport | None,
    ) -> None:
        self._archive = archive
        self._space = space
        self._search = search
        self._seed = seed
        self._budget = budget
        self._progress = progress
        self._asked: set[float] = set()

    def run(self) -> bool:
        """All questions; whether Ctrl-C has ended them."""
        try:
            for question in range(_QUESTIONS):
                share = -(-(self._budget - self._spent) // (_QUESTIONS - question))
                if question == 0:
                    self._ask(0, None, share)
                elif question == 1:
                    self._ask(1, None, share)
                else:
                    bound = self._widest_gap()
                    if bound is None:
                        break
                    self._asked.add(bound)
                    self._ask(0, bound, share)
        except KeyboardInterrupt:
            return True
        return False

    def report(self, stage: Stage, total: int) -> Callable[[int], object] | None:
        """What turns a number of settings done into a report of progress."""
        progress = self._progress
        if progress is None:
            return None
        return lambda done: progress(TuningProgress(stage, min(done, total), total, math.inf))

    @property
    def _spent(self) -> int:
        return max(len(self._archive.entries) - 1, 0)

    def _ask(self, which: int, bound: float | None, share: int) -> None:
        """Minimises one objective, perhaps with a bound on the second."""
        archive, space = self._archive, self._space
        known = [entry for entry in archive.entries if None not in entry.setting.values()]
        known.sort(key=lambda entry: self._value(entry, which, bound))
        starts = [space.point(_numbers(entry.setting)) for entry in known[:2]]
        searcher = search_named(self._search)(
            len(space), seed=self._seed, start_points=dict.fromkeys(starts)
        )
        end, told = self._spent + share, 0
        report = self.report("search", self._budget)
        while self._spent < end and told < _MOST_TOLD * share:
            points = searcher.ask(min(2, end - self._spent))
            self._simulate_new(points)
            values = [self._value(self._entry(point), which, bound) for point in points]
            searcher.tell(points, values)
            told += len(points)
            if report is not None:
                report(self._spent)

    def _simulate_new(self, points: Sequence[Point]) -> None:
        new: dict[tuple[float, ...], _Entry] = {}
        for point in points:
            setting = self._space.values(point)
            if self._archive.known(setting) is None:
                new.setdefault(tuple(setting.values()), _Entry(setting))
        if new:
            self._archive.simulate(list(new.values()))

    def _entry(self, point: Point) -> _Entry:
        return self._archive.entry(self._space.values(point))

    def _value(self, entry: _Entry, which: int, bound: float | None) -> float:
        """What a search is told of a setting."""
        violation = self._archive.violation(entry)
        means, typical = entry.means, self._archive.incumbent.means
        if bound is not None:
            violation += max(0.0, means[1] - bound) / (abs(typical[1]) or 1.0)
        return feasible_first(means[which], violation, abs(typical[which]) or 1.0)

    def _widest_gap(self) -> float | None:
        """The bound on the second objective that halves the front's widest gap."""
        front = non_dominated(self._archive.feasible())
        if len(front) < 2:  # noqa: PLR2004 - a gap has two ends
            return None
        front.sort(key=lambda entry: entry.means)
        scales = _ranges(front)
        gaps = sorted(
            (
                (_distance(before.means, after.means, scales), before.means[1], after.means[1])
                for before, after in pairwise(front)
            ),
            reverse=True,
        )
        for _, high, low in gaps:
            if (high + low) / 2 not in self._asked:
                return (high + low) / 2
        return None


class _Judged(Protocol):
    @property
    def means(self) -> tuple[float, float]:
        """Two numbers to be minimised."""


_AnyJudged = TypeVar("_AnyJudged", bound=_Judged)


def non_dominated(entries: Sequence[_AnyJudged]) -> list[_AnyJudged]:
    """Those of which none other is at least as good in both and better in one.

    Args:
        entries: each with ``means``, two numbers to be minimised.
    """
    kept: list[_AnyJudged] = []
    lowest = math.inf
    for entry in sorted(entries, key=lambda entry: entry.means):
        if entry.means[1] < lowest:
            kept.append(entry)
            lowest = entry.means[1]
    return kept


def thinned(front: Sequence[_AnyJudged], most: int) -> list[_AnyJudged]:
    """At most so many of a front, evenly spread, its ends among them.

    The one that is nearest to its neighbours goes first.
    """
    kept = sorted(front, key=lambda entry: entry.means)
    scales = _ranges(kept)
    while len(kept) > max(most, 2):
        spans = [
            _distance(kept[place - 1].means, kept[place + 1].means, scales)
            for place in range(1, len(kept) - 1)
        ]
        del kept[1 + spans.index(min(spans))]
    return kept


def _ranges(front: Sequence[_Judged]) -> tuple[float, float]:
    if not front:
        return 1.0, 1.0
    first, second = zip(*(entry.means for entry in front), strict=True)
    return (max(first) - min(first)) or 1.0, (max(second) - min(second)) or 1.0


def _distance(
    one: tuple[float, float], other: tuple[float, float], scales: tuple[float, float]
) -> float:
    return math.hypot((one[0] - other[0]) / scales[0], (one[1] - other[1]) / scales[1])


def _objectives(
    scenario: Scenario, space: Space, given: Sequence[Objective | str] | None
) -> tuple[tuple[Objective, Objective], tuple[str, ...]]:
    """Both objectives, and the constraints that their texts state."""
    from vermilion.tuning.tune import tuned_links

    if given is None:
        link = tuned_links(scenario, space.names)[0]
        given = [text.format(link=link) for text in DEFAULT_PAIR]
    if len(given) != 2:  # noqa: PLR2004 - a front of two
        raise ScenarioError("objectives", f"{len(given)} of them", "two", scenario.origin)
    chosen: list[Objective] = []
    stated: list[str] = []
    for objective in given:
        if isinstance(objective, str):
            read, texts = objective_from_text(objective, scenario)
            chosen.append(read)
            stated += texts
        else:
            chosen.append(objective)
    for objective in chosen:
        if objective.needs_incumbent:
            accepted = "an objective of its own, or a sum whose parts all state a scale"
            raise ScenarioError("objectives", objective.label, accepted, scenario.origin)
    return (chosen[0], chosen[1]), tuple(stated)


def _numbers(setting: Setting) -> dict[str, float]:
    return {name: value for name, value in setting.items() if value is not None}


def _unit(objective: Objective) -> str:
    path = getattr(objective, "path", None)
    return objective.unit if path is None else str(path.unit)


def _natural(
    means: tuple[float, float], objectives: tuple[Objective, Objective]
) -> tuple[float, float]:
    first, second = (
        -mean if objective.maximised else mean
        for mean, objective in zip(means, objectives, strict=True)
    )
    return first, second


def _front_point(
    entry: _Entry,
    objectives: tuple[Objective, Objective],
    fresh: _Archive,
    device: Device | None,
    place: Place | None,
) -> FrontPoint:
    intervals = []
    for objective, evaluation in zip(objectives, (entry.first, entry.second), strict=True):
        sign = -1.0 if objective.maximised else 1.0
        intervals.append(mean_interval(sign * value for value in evaluation.objectives))
    better = []
    for own, now in ((entry.first, fresh.incumbent.first), (entry.second, fresh.incumbent.second)):
        pairs = zip(own.objectives, now.objectives, strict=True)
        high = mean_interval(mine - other for mine, other in pairs).high
        better.append(high is not None and high < 0.0)
    command = "" if device is None else device.command(_numbers(entry.setting), place)
    return FrontPoint(entry.setting, (intervals[0], intervals[1]), (better[0], better[1]), command)
