"""The engine of every tuning: search, re-evaluate, compare, within a budget and a deadline.

:func:`vermilion.tuning.model_search.search_best` serves both the tuner with its minutes
(:func:`vermilion.tuning.tune`) and a controller that calls it again and again with a deadline of
half a second. What is searched may also be one setting for several scenarios
(:mod:`vermilion.tuning.robust`): then :class:`Tuning` is given a horizon whose evaluations are of
all of them (:mod:`vermilion.tuning.evaluation`).

1. *Search.* Every candidate meets the same few seeds (common random numbers), so that
   candidates differ by their settings and not by their luck; those that the first seed shows to
   be hopeless meet no other (:mod:`vermilion.tuning.screening`). Where short simulations rank
   settings like long ones, the search uses short ones, and its best climb to the whole length
   (:mod:`vermilion.tuning.horizon`).
2. *Re-evaluation.* The few best settings race on more seeds, so that the likely best wins and
   not the luckiest (:mod:`vermilion.tuning.race`).
3. *Comparison* of the winner with the incumbent on fresh seeds: what is reported, and what
   decides (:mod:`vermilion.tuning.comparison`). Doubt buys more seeds, and where the winner
   cannot be proven to keep the constraints, the best that can is looked for on the way inward
   (:mod:`vermilion.tuning.proof`).

Where a horizon has further conditions, the search and its leaders meet them, and what is
recommended is compared under each (:mod:`vermilion.tuning.around`).

With a deadline, the search stops early enough for the two later stages, going by how long
the simulations have taken so far. At Ctrl-C, all stops and the best so far is returned,
unproven and therefore not accepted.
"""

from __future__ import annotations

import math
import time
from heapq import heappush
from typing import TYPE_CHECKING, Final

from vermilion.tuning.around import AROUND_SEEDS, Neighbourhood
from vermilion.tuning.horizon import SEARCHED_CONDITIONS, MarginNoise
from vermilion.tuning.memory import Used
from vermilion.tuning.proof import Proof
from vermilion.tuning.race import LeadersOfSearch, Race
from vermilion.tuning.state import TuningState
from vermilion.tuning.verdict import mean_violation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.search import Point
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.evaluation import Evaluation
    from vermilion.tuning.fidelity import FidelityReport

RESERVE = 1.2
"""Seconds set aside for the later stages per second that they are expected to take: they
simulate good settings, whose full queues and busy links cost a little more than the average."""

LEAST_SEARCH = 0.25
"""The fraction of the time that the search gets in any case: what the first simulations say
about the later ones' duration is rough."""

CAUTIOUS = 2.0
"""Times the usual distance from the bounds that a third of the leaders keeps."""

_MOST_RACE = 0.15
"""The fraction of the time that is set aside for the race at most; it ends whenever it must. On the
example networks a race of half the simulations chooses no worse a setting, and a search has better
use for the time."""

_TURNS = 8
"""Settings for each core that are simulated together, where none depends on another's value. At the
end of every batch the cores wait for the last of them, and for what is made of it."""

_FAR: Final = 0.25
"""Part of the best by which a setting is worse that meets no further conditions in the search."""


def complete(setting: Setting) -> list[dict[str, float]]:
    """The setting in a list, as a point to start from; none if some of its values are automatic."""
    numbers = {name: value for name, value in setting.items() if value is not None}
    return [numbers] if len(numbers) == len(setting) else []


def _setting_progress(
    progress: Callable[[int], object] | None, settings: int, simulations: int, before: int = 0
) -> Callable[[int], object] | None:
    """Reports simulations of a batch as so many of its settings, once there is one.

    Args:
        progress: is told the number of settings; ``None`` if nobody listens.
        settings: of the batch.
        simulations: that these take in all.
        before: those that have been done.
    """
    if progress is None:
        return None

    def report(done: int) -> None:
        if some := settings * (before + done) // simulations:
            progress(some)

    return report


class Tuning(TuningState):
    """One tuning, from the incumbent's first simulation to the comparison."""

    __slots__ = ()

    def run(self) -> None:
        """Run all stages until done, out of time, or interrupted by Ctrl-C.

        Raises:
            NotMeasuredError: the incumbent lacks what the objective measures.
            ScenarioError: the core refuses the incumbent.
        """
        try:
            self._run()
        except KeyboardInterrupt:
            self.end = "interrupted"

    def _run(self) -> None:
        seeds, pilot_seed = self.question.seeds, self.question.pilot_seed
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
        self._use_noise_estimate()
        self.horizon.meet_conditions([], seeds.search[:1], self.until, SEARCHED_CONDITIONS)
        self.search_start = time.monotonic()
        self._try_earlier()
        self._search()
        if self.best is None:
            return
        leaders = self._leaders()
        self.full.meet_conditions(leaders, seeds.search[:1], self.until)
        self._re_evaluate(leaders)
        self.compared = (self.best.fresh(), incumbent.fresh())
        self.meet(seeds.comparison, self.compared)
        if len(self.compared[0].seeds) < len(seeds.comparison):
            self.end = "deadline"
        compare = self.question.compare
        if compare is not None and len(self.compared[0].seeds) > 1:
            Proof(self, compare).run()
            Neighbourhood(self, compare).run()

    def _try_earlier(self) -> None:
        """Simulates the leaders of the search that is gone on with: its values are not known here.

        They are ranked with what is found from here on, so that what was good is not forgotten.
        """
        own = self._incumbent_setting()
        again = [
            self.horizon.incumbent.another(setting)
            for setting in self.question.earlier
            if setting != own
        ]
        self._rank_extra(self._meet_search(again, self.until))

    def _use_noise_estimate(self) -> None:
        """Lets the search keep its distance from bounds, if it has the seeds to know how much."""
        if len(self.question.seeds.search) > 1:
            comparison, length = (
                len(self.question.seeds.comparison),
                self.horizon.simulations.length,
            )
            noise = MarginNoise(
                self.full.constraints, comparison, length, len(self.question.seeds.search)
            )
            for horizon in (self.full, *self.shorter.rungs):
                horizon.noise = noise

    def _fidelity(self, first: Sequence[Result], pilot_seed: int) -> FidelityReport:
        """Decide if the search may use short simulations; a study keeps its first decision."""
        report = self.shorter.measure(first, self.question.seeds.search, pilot_seed, self.until)
        known = None if self.memory is None else self.memory.fidelity()
        if known is not None and not known.used:
            return known  # there may have been no time to measure it, and there is now
        if self.memory is not None and known is None:
            self.memory.keep_fidelity(report)
        return report

    def _search(self) -> None:
        """Asks, simulates and tells until the budget or the time is spent."""
        seeds, budget = self.question.seeds.search, self.question.budget
        simulations = self.horizon.simulations
        first = seeds[:1] if len(seeds) > 1 else seeds
        fewest = simulations.batch_size(len(first))
        most = _TURNS * simulations.threads
        own = self._incumbent_setting()
        waiting: dict[Point, tuple[Evaluation, float]] = {}
        # Several points may mean one setting, of whole numbers or of what a device has.
        known: dict[tuple[float | None, ...], Evaluation] = {
            tuple(each.setting.values()): each
            for _, _, each in self.ranking
            if any(each.setting == setting for setting in self.question.earlier)
        }
        # Of a search that is gone on with, the first points have been asked for already.
        points = self.question.search.outstanding()
        while points or self.evaluations < budget:
            until = self._search_deadline()
            # Something is tried in any case: the first simulations may have met a busy machine.
            runs = len(seeds) + min(len(self.horizon.around), SEARCHED_CONDITIONS)
            each = 0.0 if self.best is None else simulations.least_seconds_each * runs
            left = math.inf if until is None else until - time.monotonic()
            affordable = most if each == 0.0 else min(most, left / each)
            together = min(affordable, self.question.search.independent())
            at_once = min(max(fewest, int(together)), budget - self.evaluations)
            points = points or self.question.search.ask(at_once)
            if each * len(points) > left:
                self.end = "deadline"
                return
            batch: dict[Point, Evaluation] = {}
            for point in points:
                setting = self.question.space.values(point)
                batch[point] = (
                    self.horizon.incumbent
                    if setting == own
                    else known.setdefault(
                        tuple(setting.values()), self.horizon.incumbent.another(setting)
                    )
                )
            asked = list({id(each): each for each in batch.values()}.values())
            progress = self.report("search", budget, self.evaluations)
            new = [each for each in asked if not each.is_complete(first)]
            begun = len(new) * len(first)
            told = _setting_progress(progress, len(points), len(points) * len(seeds))
            simulations.run(new, first, until=until, progress=told)
            promising = [
                each
                for each in asked
                if not each.is_complete(seeds) and not self.screening.is_hopeless(each)
            ]
            rest = seeds[len(first) :]
            told = _setting_progress(
                progress, len(points), begun + len(promising) * len(rest), begun
            )
            simulations.run(promising, rest, until=until, progress=told)
            met = self._meet_search(promising, until)
            if not all(each.is_complete(first) for each in asked) or len(met) < len(promising):
                # Not told: who goes on with this search simulates them anew.
                self.end = "deadline"
                return
            # What has been simulated ahead may be out of date: each is judged by those before it.
            for point in points:
                evaluation = batch[point]
                hopeless = self.screening.is_hopeless(evaluation)
                if not hopeless and not self._meet_search([evaluation], until):
                    self.end = "deadline"
                    return
                waiting[point] = evaluation, self._search_value(evaluation, hopeless=hopeless)
                for used in self.question.search.tell([point], [waiting[point][1]]):
                    self._rank(*waiting.pop(used))
            self._save()
            if progress is not None:
                progress(len(points))
            points = []

    def _meet_search(
        self, evaluations: Sequence[Evaluation], until: float | None
    ) -> list[Evaluation]:
        """Lets settings meet all that a search simulates; returns those that have."""
        horizon, seeds = self.horizon, self.question.seeds.search
        for each in evaluations:
            left = [seed for seed in seeds if seed not in each.seeds]
            if each.refusal is None and left:
                horizon.simulations.run([each], left, until=until)
        met = [each for each in evaluations if each.is_complete(seeds)]
        near = [each for each in met if not self._is_far(each)]
        horizon.meet_conditions(near, seeds[:1], until, SEARCHED_CONDITIONS)
        return [
            each
            for each in met
            if self._is_far(each) or horizon.has_met(each, seeds[:1], SEARCHED_CONDITIONS)
        ]

    def _is_far(self, evaluation: Evaluation) -> bool:
        """True if a setting is so much worse than the best that no condition would change it."""
        if self.best is None or evaluation.refusal is not None:
            return False
        best = self.best.objective
        return evaluation.objective - best > _FAR * max(abs(best), self.horizon.least_size)

    def _search_value(self, evaluation: Evaluation, *, hopeless: bool) -> float:
        """Value of a setting for the search."""
        best = self.best
        if evaluation.refusal is not None or not (hopeless or self._is_far(evaluation)):
            return self.horizon.value(evaluation)
        first = evaluation.first(1) if hopeless else evaluation
        expected = self.screening.expected(first) if hopeless else first.objective
        if best is not None:
            # It has met no other conditions: as much worse than the best there as it is here.
            expected += self.horizon.joined(best, best.objective) - best.objective
        return self.horizon.value(first, expected)

    def _search_deadline(self) -> float | None:
        """The moment when the search must end for the later stages to fit in."""
        if self.until is None:
            return None
        earliest = self.search_start + LEAST_SEARCH * (self.until - self.search_start)
        later = self._climb_seconds() + self._race_seconds()
        return max(earliest, self.until - later)

    def _race_seconds(self) -> float:
        """Wall seconds set aside for the race and the comparison."""
        race = RESERVE * self.full.simulations.seconds_each * self.question.race_budget
        if self.until is not None:
            race = min(race, _MOST_RACE * (self.until - self.start))
        return race + self._comparison_seconds()

    def _comparison_seconds(self) -> float:
        """Wall seconds set aside for the comparison alone."""
        runs = len(self.question.seeds.comparison) + AROUND_SEEDS * len(self.full.around)
        return RESERVE * self.full.simulations.seconds_each * 2 * runs

    def _climb_seconds(self) -> float:
        """Wall seconds set aside for the climb from short simulations to full ones."""
        if self.horizon is self.full:
            return 0.0
        rungs = self.shorter.rungs[1:]
        runs = math.fsum(
            rung.simulations.length * 2.0 ** (len(rungs) - n) for n, rung in enumerate(rungs)
        )
        each = self.full.simulations.seconds_each
        return RESERVE * each * runs * self.question.shortlist * len(self.question.seeds.search)

    def _rank_extra(self, evaluations: Sequence[Evaluation]) -> None:
        """Ranks settings that no search has asked for."""
        for evaluation in evaluations:
            if evaluation.refusal is None:
                value = self.horizon.value(evaluation)
                self.ranked.add(id(evaluation))
                heappush(self.ranking, (value, len(self.ranking), evaluation))
        if self.ranking:
            self.best = self.ranking[0][2]

    def _leaders(self) -> list[Evaluation]:
        """The best of the search, to be raced in the whole scenario."""
        ranked = self._add_cautious(self._add_fair(self.ranked_by(1.0)))
        if self.horizon is self.full:
            return ranked[: self.question.shortlist]
        until = None if self.until is None else self.until - self._race_seconds()
        settings = self.shorter.climb(
            ranked, self.question.shortlist, self.question.seeds.search, until
        )
        return [self.full.incumbent.another(setting) for setting in settings]

    def _add_fair(self, ranked: list[Evaluation]) -> list[Evaluation]:
        """Put the fairest of those that are nearly as good among the leaders."""
        best = self.horizon.fairest(ranked)
        usual = ranked[: self.question.shortlist // 2]
        if best is None or best in usual:
            return ranked
        return [*usual, best, *(each for each in ranked if each not in (*usual, best))]

    def _add_cautious(self, ranked: list[Evaluation]) -> list[Evaluation]:
        """Add the best at twice the usual distance from the bounds to the leaders.

        Where seeds differ much, those that look best at the edge are the lucky ones, of which the
        race may leave none.
        """
        if not self.full.constraints:
            return ranked
        usual = -(-2 * self.question.shortlist // 3)
        leaders = ranked[:usual]
        known = {id(each) for each in leaders}
        leaders += [each for each in self.ranked_by(CAUTIOUS) if id(each) not in known][
            : self.question.shortlist - usual
        ]
        known = {id(each) for each in leaders}
        return leaders + [each for each in ranked if id(each) not in known]

    def _rank(self, evaluation: Evaluation, value: float) -> None:
        """Takes up a setting whose value the search has used.

        Those that it has taken back are left out, so that the outcome does not depend on how
        many processors there are. Those that the core refused are left out too, and those that
        one seed has shown to be hopeless.
        """
        self.evaluations += 1
        self._remember_value(evaluation, value)
        if evaluation.refusal is not None or self.screening.is_hopeless(evaluation):
            return
        self.screening.learn(value, evaluation)
        if self.horizon.noise is not None:
            self.horizon.noise.learn(evaluation, self.horizon.incumbent)
        if evaluation is not self.horizon.incumbent and id(evaluation) not in self.ranked:
            self.ranked.add(id(evaluation))
            heappush(self.ranking, (value, len(self.ranking), evaluation))
            self.best = self.ranking[0][2]

    def _remember_value(self, evaluation: Evaluation, value: float) -> None:
        """Puts down what the search was told, for the memory."""
        if self.memory is None or evaluation.refusal is not None:
            return
        horizon = self.horizon
        if self.screening.is_hopeless(evaluation):
            evaluation = evaluation.first(1)
        self.unsaved.append(
            Used(
                number=self.evaluations,
                setting=evaluation.setting,
                length=horizon.simulations.length,
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

    def _incumbent_setting(self) -> dict[str, float] | None:
        """Incumbent in the coordinates of the space; ``None`` if it is not in the box."""
        setting = {
            name: value for name, value in self.full.incumbent.setting.items() if value is not None
        }
        if len(setting) < len(self.question.space):
            return None
        inside = self.question.space.nearest(setting) == setting
        return self.question.space.values(self.question.space.point(setting)) if inside else None

    def _re_evaluate(self, leaders: Sequence[Evaluation]) -> None:
        """Lets the best settings race on more seeds and chooses the likely best."""
        until = None if self.until is None else self.until - self._comparison_seconds()
        contest = LeadersOfSearch(self.full, until)
        race = Race(contest, leaders)
        progress = self.report("re-evaluation", self.question.race_budget)
        race.run(self.question.seeds.re_evaluation, self.question.race_budget, progress=progress)
        self.best, self.race = contest.fairest(leaders, race.winner), race.report
        self.raced = contest.ranked(leaders)
        self.leaders = [each.setting for each in leaders]
