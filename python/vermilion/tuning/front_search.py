"""The search for a front: settings with two objectives, question after question.

See :mod:`vermilion.tuning.pareto` for what is asked.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vermilion.objectives import NotMeasuredError, feasible_first
from vermilion.tuning.alternatives import gaps, non_dominated
from vermilion.tuning.engine import LEAST_SEARCH, RESERVE, complete
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.memory import Used
from vermilion.tuning.search_loop import new_search
from vermilion.tuning.state import TuningProgress
from vermilion.tuning.verdict import judge, mean_violation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.search import Point
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.memory import SimulatedFor
    from vermilion.tuning.preparation import PreparedTuning
    from vermilion.tuning.session import TuningSession
    from vermilion.tuning.simulations import Simulations
    from vermilion.tuning.state import End, Stage

_ENDS: Final = 2
_QUESTIONS: Final = 8
"""Searches that share the budget: two for the ends and six for gaps."""

_MOST_TOLD: Final = 4
"""Points that a search may be told per setting that it may simulate: what it asks for is often
in the archive already."""

_FEWEST_TOLD: Final = 12
"""Even of a share of one or two settings: the points that a search asks for first are known."""

_AT_ONCE: Final = 2
"""Settings that are asked for at a time, on any number of processors."""

_FEWEST_SEEDS: Final = 2
"""Of the comparison, that are simulated at a time: between them it can be stopped."""


@dataclass(frozen=True, slots=True)
class Second:
    """The second objective of a front, kept beside the first like the metric of a constraint."""

    objective: Objective

    def values(self, result: Result) -> list[float | None]:
        """Second objective, to be minimised; ``None`` if not measured."""
        try:
            return [self.objective.evaluate(result)]
        except NotMeasuredError:
            return [None]


@dataclass(eq=False, slots=True)
class FrontEntry:
    """A setting with both objectives, each as it is to be minimised.

    Attributes:
        evaluation: of the first objective, the constraints, and last the second objective.
    """

    evaluation: Evaluation

    @property
    def setting(self) -> Setting:
        """Values by path."""
        return self.evaluation.setting

    @property
    def both(self) -> tuple[list[float], list[float]]:
        """Both objectives with each seed; infinite where not measured."""
        kept = self.evaluation.constrained
        seconds = [math.inf if value is None else value for [value] in kept[-1]] if kept else []
        return self.evaluation.objectives, seconds

    @property
    def means(self) -> tuple[float, float]:
        """Means of both objectives over the seeds; infinite where one was not measured."""
        first, second = (math.fsum(row) / len(row) if row else math.inf for row in self.both)
        return first, second

    @property
    def is_measured(self) -> bool:
        """True if both objectives are known with every seed."""
        return all(map(math.isfinite, self.means))


@dataclass(slots=True)
class Archive:
    """Archive of evaluated settings, the incumbent first.

    Attributes:
        simulations: runs them; keeps the second objective after the constraints.
        second: the second objective.
        constraints: that settings have to keep.
        seeds: that they meet.
        incumbent: the setting in force.
        entries: those that have met the seeds.
    """

    simulations: Simulations
    second: Objective
    constraints: Sequence[Constraint]
    seeds: Sequence[int]
    incumbent: FrontEntry
    entries: list[FrontEntry] = field(default_factory=list)
    _by_values: dict[tuple[float | None, ...], FrontEntry] = field(default_factory=dict)

    def known(self, setting: Setting) -> FrontEntry | None:
        """The entry of a setting that has been simulated."""
        return self._by_values.get(tuple(setting.values()))

    def begin(self, until: float | None) -> bool:
        """Simulates the incumbent; whether there was time for it.

        Raises:
            ScenarioError: the core refuses it.
            NotMeasuredError: it lacks one of the objectives.
        """
        [results] = self._run([self.incumbent], until, "incumbent")
        evaluation = self.incumbent.evaluation
        if evaluation.refusal is not None:
            raise evaluation.refusal
        if evaluation.not_measured is not None:
            raise evaluation.not_measured
        for result in results:
            if result is not None:
                self.second.evaluate(result)
        return self._resume_entries([self.incumbent])

    def recognise(self, setting: Setting) -> None:
        """Takes a setting that differs from the incumbent by rounding alone for the incumbent."""
        own = self.incumbent.setting
        pairs = [(own[name], value) for name, value in setting.items()]
        if all(
            known is not None and value is not None and math.isclose(known, value, rel_tol=1e-9)
            for known, value in pairs
        ):
            self._by_values[tuple(setting.values())] = self.incumbent

    def simulate(self, entries: Sequence[FrontEntry], until: float | None) -> bool:
        """Takes up new settings; those that there was no time for are left out.

        Returns:
            Whether there was time for all.
        """
        self._run(entries, until, "search")
        return self._resume_entries(entries)

    def _run(
        self, entries: Sequence[FrontEntry], until: float | None, made_for: SimulatedFor
    ) -> list[list[Result | None]]:
        evaluations = [entry.evaluation for entry in entries]
        return self.simulations.run(evaluations, self.seeds, until=until, made_for=made_for)

    def _resume_entries(self, entries: Sequence[FrontEntry]) -> bool:
        done = [entry for entry in entries if entry.evaluation.is_complete(self.seeds)]
        for entry in done:
            self.entries.append(entry)
            self._by_values[tuple(entry.setting.values())] = entry
        return len(done) == len(entries)

    @property
    def sizes(self) -> tuple[float, float]:
        """A typical size of each objective, the incumbent's."""
        first, second = self.incumbent.means
        of_first = self.simulations.conditions[0].objective
        return of_first.size_of(first) or 1.0, self.second.size_of(second) or 1.0

    def violation(self, entry: FrontEntry) -> float:
        """Relative violation of the constraints, 0 if it keeps them."""
        if entry.evaluation.refusal is not None:
            return math.inf
        return mean_violation(self.constraints, entry.evaluation, self.incumbent.evaluation)

    def feasible(self) -> list[FrontEntry]:
        """The settings besides the incumbent that can be on the front."""
        return [
            entry
            for entry in self.entries
            if entry is not self.incumbent and entry.is_measured and not self.violation(entry)
        ]


def keeps(constraints: Sequence[Constraint], entry: FrontEntry, incumbent: FrontEntry) -> bool:
    """True if a setting keeps the constraints beyond doubt and has both numbers."""
    if entry.evaluation.refusal is not None or not entry.is_measured:
        return False
    verdicts = judge(constraints, entry.evaluation, incumbent.evaluation)
    return all(verdict.holds == "met" for verdict in verdicts)


@dataclass(slots=True)
class Hunt:
    """The searches, one question after the other, and the comparison of what they have found.

    Attributes:
        archive: of all that is simulated on the seeds of the search.
        tuning: what is asked for.
        session: how it is done.
        end: what has ended it.
    """

    archive: Archive
    tuning: PreparedTuning
    session: TuningSession
    end: End = "budget"
    _search_until: float | None = None
    _asked: set[float] = field(default_factory=set)

    def run(self) -> None:
        """Run all searches until the budget or the time is spent, or Ctrl-C.

        Raises:
            ScenarioError: the core refuses the incumbent.
            NotMeasuredError: it lacks one of the objectives.
        """
        try:
            if not self.archive.begin(self._until) or not self._search_all():
                self.end = "deadline"
        except KeyboardInterrupt:
            self.end = "interrupted"

    def compare(self, entries: Sequence[FrontEntry]) -> None:
        """Lets settings meet the fresh seeds, all the same ones, as many as there is time for."""
        simulations, seeds = self.archive.simulations, self.tuning.seeds.comparison
        total = len(entries) * len(seeds)
        evaluations = [entry.evaluation for entry in entries]
        at_once = max(_FEWEST_SEEDS, simulations.batch_size(len(entries)))
        try:
            for first in range(0, len(seeds), at_once):
                some = seeds[first : first + at_once]
                simulations.run_in_step(
                    evaluations,
                    some,
                    until=self._until,
                    progress=self._report("comparison", total, first * len(entries)),
                    made_for="comparison",
                )
                if len(evaluations[0].seeds) < first + len(some):
                    self.end = "deadline"
                    return
        except KeyboardInterrupt:
            self.end = "interrupted"

    def _search_all(self) -> bool:
        """Asks all; whether there was time for them."""
        begun = time.monotonic()
        for question in range(_QUESTIONS):
            if (until := self._until) is not None:
                earliest = begun + LEAST_SEARCH * (until - begun)
                self._search_until = max(earliest, until - self._comparison_seconds())
            share = -(-(self.tuning.plan.budget - self._evaluations) // (_QUESTIONS - question))
            bound = None if question < _ENDS else self._widest_gap()
            if bound is None:
                which = question % _ENDS  # without a gap, the ends deserve another look
            else:
                which = 0
                self._asked.add(bound)
            if not self._minimise(which, bound, share):
                return False
        return True

    @property
    def _until(self) -> float | None:
        """The moment, on the clock of ``time.monotonic``, when all must be over."""
        return self.tuning.until(self.session.deadline_s)

    def _comparison_seconds(self) -> float:
        """Wall seconds set aside for the comparison."""
        each = self.archive.simulations.seconds_each
        return RESERVE * each * (self.tuning.plan.points + 1) * len(self.tuning.seeds.comparison)

    def _report(self, stage: Stage, total: int, before: int = 0) -> Callable[[int], object] | None:
        """Return a callback that reports progress."""
        progress = self.session.progress
        if progress is None:
            return None
        return lambda done: progress(
            TuningProgress(stage, min(before + done, total), total, math.inf)
        )

    @property
    def _evaluations(self) -> int:
        return max(len(self.archive.entries) - 1, 0)

    def _minimise(self, which: int, bound: float | None, share: int) -> bool:
        """Minimises one objective, perhaps with a bound on the second; whether there was time."""
        archive, space, plan = self.archive, self.tuning.space, self.tuning.plan
        known = [entry for entry in archive.entries if None not in entry.setting.values()]
        known.sort(key=lambda entry: self._value(entry, which, bound))
        starts = [space.point(each) for entry in known[:2] for each in complete(entry.setting)]
        for each in complete(archive.incumbent.setting):
            archive.recognise(space.values(space.point(each)))
        searcher = new_search(
            self.tuning.search, space, plan.seed, dict.fromkeys(starts), plan.search_settings
        )
        end, told = self._evaluations + share, 0
        report = self._report("search", plan.budget)
        while self._evaluations < end and told < max(_MOST_TOLD * share, _FEWEST_TOLD):
            points = searcher.ask(min(_AT_ONCE, end - self._evaluations))
            if not self._simulate_new(points):
                return False
            found = [archive.known(space.values(point)) for point in points]
            values = [self._value(each, which, bound) for each in found if each is not None]
            searcher.tell(points, values)
            told += len(points)
            if report is not None:
                report(self._evaluations)
        return True

    def _simulate_new(self, points: Sequence[Point]) -> bool:
        """Simulates those settings that are new; whether there was time."""
        new: dict[tuple[float, ...], FrontEntry] = {}
        for point in points:
            setting = self.tuning.space.values(point)
            if self.archive.known(setting) is None:
                new.setdefault(tuple(setting.values()), FrontEntry(Evaluation(setting)))
        if not new:
            return True
        # What the incumbent took says little: it may have met a busy machine.
        until = self._search_until
        seconds = self.archive.simulations.least_seconds_each if self._evaluations else 0.0
        runs = len(new) * len(self.archive.seeds)
        if until is not None and time.monotonic() + seconds * runs > until:
            return False
        first = len(self.archive.entries)
        in_time = self.archive.simulate(list(new.values()), until)
        if self.session.study is not None:
            self.session.study.use(
                [
                    self._as_used(number, entry)
                    for number, entry in enumerate(self.archive.entries[first:], start=first)
                    if entry.evaluation.refusal is None
                ]
            )
        return in_time

    def _as_used(self, number: int, entry: FrontEntry) -> Used:
        """A setting for the memory: told as to a search of the first objective alone."""
        return Used(
            number=number,
            setting=entry.setting,
            length=1.0,
            seeds=len(entry.evaluation.seeds),
            told=self._value(entry, 0, None),
            objective=entry.means[0],
            violation=self.archive.violation(entry),
            simulations=self.archive.simulations.count,
        )

    def _value(self, entry: FrontEntry, which: int, bound: float | None) -> float:
        """Value of a setting for the search."""
        violation = self.archive.violation(entry)
        means, sizes = entry.means, self.archive.sizes
        if bound is not None:
            violation += max(0.0, means[1] - bound) / sizes[1]
        return feasible_first(means[which], violation, sizes[which])

    def _widest_gap(self) -> float | None:
        """The bound on the second objective that halves the front's widest gap."""
        for high, low in gaps(non_dominated(self.archive.feasible())):
            if (high + low) / 2 not in self._asked:
                return (high + low) / 2
        return None
