"""Lengths of simulation, and the distance from bounds at which a search has to aim.

The best setting often lies on a constraint. There the mean over a few seeds keeps the bound, and
the interval over fresh ones straddles it, so that nothing could be recommended. Therefore the
search keeps a distance: half of what the comparison's interval will be wide, as far as is known
from how much the margins of the settings tried so far differ between seeds. (A chance constraint:
the bound is to hold with 97.5 %, one side of the 95 % interval. A. Charnes and W. W. Cooper,
"Chance-constrained programming", Management Science 6(1), 1959.)

Settings differ in their noise, and those that fail are the noisiest. The median over settings is
that of an ordinary one.

A horizon may have further conditions (:mod:`vermilion.tuning.neighbourhood`), each a horizon of its
own. What a setting reaches under each is divided by what the setting in force reaches there, and
the value of a setting is the weighted geometric mean, or the arithmetic one of what may be
negative. A search meets the two that ask most of a queue; what it has found meets all of them.
"""

from __future__ import annotations

import math
import time
from bisect import insort
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from vermilion.objectives import WindowObjective, feasible_first
from vermilion.objectives.constraint import BROKEN
from vermilion.scenario.core_scenario import CannotShortenError, CoreScenario
from vermilion.simulate.statistics import t_quantile
from vermilion.tuning.candidates import Candidates
from vermilion.tuning.fidelity import (
    PILOT,
    RUNGS,
    FidelityReport,
    RankAgreement,
    full_length,
    judged,
    rank_agreement,
)
from vermilion.tuning.neighbourhood import GIVEN_WEIGHT
from vermilion.tuning.simulations import Simulations
from vermilion.tuning.verdict import mean_margins, mean_violation, paired_margins

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from vermilion.objectives import Constraint
    from vermilion.search import Point, Space
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.evaluation import Evaluation
    from vermilion.tuning.memory import Runner, SimulationMemory
    from vermilion.tuning.simulations import Condition
    from vermilion.tuning.verdict import Allowances


_FEWEST_KNOWN: Final = 8
"""Settings that have to be known before anything is made of them."""

_CONFIDENCE: Final = 0.95

_DOUBT_AROUND: Final = 2.5
"""The same of a single run under another condition."""

_DOUBT_OF_HARM: Final = 1.5
"""Standard errors by which a search lets a bound of harm be broken: longer runs will tell."""


class MarginNoise:
    """Noise of the constraints' margins over seeds.

    Args:
        constraints: of the tuning.
        seeds: of the comparison that has to prove them.
        fraction: of the comparison's measured time that the settings are simulated for; what is
            measured for a quarter of the time differs twice as much.
        search_seeds: that a setting has met when it is ranked.
    """

    def __init__(
        self,
        constraints: Sequence[Constraint],
        seeds: int,
        fraction: float = 1.0,
        search_seeds: int = 1,
    ) -> None:
        self._constraints = constraints
        self._search_seeds = search_seeds
        self._factor = math.sqrt(fraction) * half_width_per_deviation(seeds)
        # For each constraint and phase the deviations of the settings' margins, rising.
        self._deviations: list[list[list[float]]] = [[] for _ in constraints]

    def learn(self, evaluation: Evaluation, reference: Evaluation) -> None:
        """Takes in a setting that has met several seeds."""
        if len(evaluation.seeds) < 2:  # noqa: PLR2004 - a deviation needs two
            return
        margins = paired_margins(self._constraints, evaluation, reference)
        for known, phases in zip(self._deviations, margins, strict=True):
            if not known:
                known.extend([] for _ in phases)
            for deviations, (row, _) in zip(known, phases, strict=True):
                finite = [value for value in row if value is not None and math.isfinite(value)]
                if len(finite) == len(row):
                    insort(deviations, _deviation(finite))

    def allowances(self, times: float = 1.0) -> Allowances:
        """The distances to be kept, in each constraint's unit; ``None`` where none is known.

        Args:
            times: so many times what one interval needs.
        """
        harm = -_DOUBT_OF_HARM / math.sqrt(self._search_seeds) if times <= 1.0 else 0.0
        return self._distances(times * self._factor, harm)

    def allowances_around(self) -> Allowances:
        """The same under other conditions, of a setting that has met one seed."""
        return self._distances(0.0, -_DOUBT_AROUND)

    def _distances(self, asked: float, harm: float) -> Allowances:
        return [
            [
                0.0
                if len(each) < _FEWEST_KNOWN
                else harm * _root_mean_square(each)
                if constraint.of_harm
                else asked * each[len(each) // 2]
                for each in phases
            ]
            if phases
            else None
            for constraint, phases in zip(self._constraints, self._deviations, strict=True)
        ]


def half_width_per_deviation(seeds: int) -> float:
    """Half the width of the interval over so many seeds, for a standard deviation of 1."""
    return t_quantile(_CONFIDENCE, seeds - 1) / math.sqrt(seeds)


def _root_mean_square(values: Sequence[float]) -> float:
    """Typical deviation: of counts most are 0, and those that are not matter."""
    return math.sqrt(math.fsum(each * each for each in values) / len(values))


def _deviation(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / (len(values) - 1))


PILOT_STREAM: Final = "vermilion.tuning.pilot.1"
"""Name and version of the random stream of the pilot set."""

_IN_DOUBT: Final = PILOT // 4
"""Settings of the pilot that have to lie on either side of a bound for it to matter."""

_HARM_IN_DOUBT: Final = PILOT // 10
"""The same of a bound of harm, which answers lie on more often than settings of the whole box."""

_PILOT_SHARE: Final = 0.15
"""Of the time left, what the pilot set may take."""


SEARCHED_CONDITIONS: Final = 2
"""Conditions besides the given ones that a search meets."""

NEARLY: Final = 0.1
"""Part of the goal that may be given up for fairness."""

_PER_JAIN: Final = 2.0

_PROVEN_FAILURE: Final = 0.25
"""How badly a bound is broken, relative to it, by a setting that meets no further conditions."""


@dataclass(slots=True)
class Horizon:
    """Conditions at one length of simulation, and what the incumbent reaches in them.

    Attributes:
        simulations: run settings in the conditions, usually one, that are given.
        constraints: that its evaluations are made with.
        incumbent: what constraints refer to.
        noise: how far inside its bounds a search has to aim; ``None`` for not at all.
        least_size: of the objective (:attr:`vermilion.objectives.Objective.least_size`).
        around: further conditions, in the order in which settings meet them.
        scale: a typical size of the objective, the incumbent's.
    """

    simulations: Simulations
    constraints: Sequence[Constraint]
    incumbent: Evaluation
    noise: MarginNoise | None = None
    least_size: float = 0.0
    around: list[Horizon] = field(default_factory=list)
    scale: float = field(init=False, default=1.0)

    @classmethod
    def of(
        cls,
        conditions: Sequence[Condition],
        incumbent: Evaluation,
        threads: int | None = None,
        workers: Runner | None = None,
        memory: SimulationMemory | None = None,
        *,
        least_size: float = 0.0,
    ) -> Self:
        """Conditions that are simulated together at full length, with the constraints of all.

        Args:
            conditions: as many as the evaluations have pieces.
            incumbent: what is in force.
            threads: simulations at a time; ``None`` for one on each core.
            workers: do the longer simulations; ``None`` for this machine.
            memory: of what has been simulated; ``None`` for none.
            least_size: of the objective.
        """
        constraints = [each for condition in conditions for each in condition.constraints]
        simulations = Simulations(conditions, threads, workers, memory)
        return cls(simulations, constraints, incumbent, least_size=least_size)

    @property
    def condition(self) -> Condition:
        """The first condition."""
        return self.simulations.conditions[0]

    def meet(self, seeds: Sequence[int], until: float | None) -> list[list[Result | None]]:
        """Lets the incumbent meet the seeds of the search, which every setting will meet.

        Returns:
            Its results, a list for each scenario.
        """
        results = self.simulations.run([self.incumbent], seeds, until=until, made_for="incumbent")
        self.incumbent.become_reference()
        self.scale = max(abs(self.incumbent.objective), self.least_size) or 1.0
        self.incumbent.around = {each.condition.key: each.incumbent for each in self.around}
        return results

    def meet_conditions(
        self,
        evaluations: Sequence[Evaluation],
        seeds: Sequence[int],
        until: float | None,
        most: int | None = None,
    ) -> None:
        """Lets settings meet conditions, each until it is proven to fail.

        Args:
            evaluations: that have met seeds under the given conditions.
            seeds: under each.
            until: the moment when it must be over.
            most: so many conditions, the first; ``None`` for all.
        """
        for own in self.around[:most]:
            if not own.incumbent.is_complete(seeds):
                own.meet([each for each in seeds if each not in own.incumbent.seeds], until)
            left = [
                each.around.setdefault(own.condition.key, own.incumbent.another(each.setting))
                for each in evaluations
                if not self.has_failed(each)
            ]
            new = [each for each in left if not each.is_complete(seeds)]
            own.simulations.run(new, seeds, until=until)

    def has_met(
        self, evaluation: Evaluation, seeds: Sequence[int], most: int | None = None
    ) -> bool:
        """True if there is nothing left to meet of so many conditions."""
        return self.has_failed(evaluation) or all(
            (own := evaluation.around.get(each.condition.key)) is not None
            and own.is_complete(seeds)
            for each in self.around[:most]
        )

    def has_failed(self, evaluation: Evaluation) -> bool:
        """True if a bound is broken by far."""
        return self.value(evaluation, 0.0) > BROKEN + _PROVEN_FAILURE

    def joined(self, evaluation: Evaluation, given: float) -> float:
        """The weighted mean of the objective under all conditions that were met.

        Args:
            evaluation: of the setting.
            given: what it reaches under the given conditions.
        """
        met = self._met_conditions(evaluation)
        if not met:
            return given
        # Those that were met stand for all.
        around = (1.0 - GIVEN_WEIGHT) / math.fsum(each.condition.weight for each, _ in met)
        rows = [(GIVEN_WEIGHT, given / self.scale)]
        rows += [(around * each.condition.weight, own.objective / each.scale) for each, own in met]
        if self.least_size == 0.0 and all(ratio > 0.0 for _, ratio in rows):
            return self.scale * math.exp(math.fsum(share * math.log(each) for share, each in rows))
        return self.scale * math.fsum(share * each for share, each in rows)

    def violation_around(self, evaluation: Evaluation) -> float:
        """How badly bounds are broken under the conditions that were met; 0 if they are kept."""
        inside = None if self.noise is None else self.noise.allowances_around()
        return math.fsum(
            mean_violation(each.constraints, own, each.incumbent, inside)
            for each, own in self._met_conditions(evaluation)
        )

    def fairest(
        self,
        ranked: Sequence[Evaluation],
        joined: Callable[[Evaluation], float] | None = None,
    ) -> Evaluation | None:
        """The first, or one that gives up a little of the goal and shares more fairly.

        Nothing on a cliff is recommended where a fairer setting is within :data:`NEARLY` of the
        goal: 0.05 of Jain's index counts as a tenth of it.

        Args:
            ranked: settings, the best first.
            joined: what each reaches; by default the mean over the seeds that it has met.
        """
        place = next(
            (
                number
                for number, each in enumerate(self.constraints)
                if each.of_harm and each.path.metric == "jain_index"
            ),
            None,
        )
        if place is None or not ranked:
            return None
        reached = joined or (lambda each: self.joined(each, each.objective))
        least = reached(ranked[0])
        near = [
            each
            for each in ranked
            if reached(each) - least <= NEARLY * abs(least) and self._violation(each) == 0.0
        ]

        def score(each: Evaluation) -> float:
            known = chain.from_iterable(each.constrained[place])
            fair = min((value for value in known if value is not None), default=1.0)
            return (reached(each) - least) / (abs(least) or 1.0) - _PER_JAIN * min(fair, 1.0)

        return min(near, key=score, default=None)

    def _met_conditions(self, evaluation: Evaluation) -> list[tuple[Horizon, Evaluation]]:
        return [
            (each, own)
            for each in self.around
            if (own := evaluation.around.get(each.condition.key)) is not None
            and own.seeds
            and each.incumbent.is_complete(own.seeds)
        ]

    def _violation(self, evaluation: Evaluation, allowances: Allowances | None = None) -> float:
        around = self.violation_around(evaluation)
        if not evaluation.seeds:
            return around
        return around + mean_violation(self.constraints, evaluation, self.incumbent, allowances)

    def value(
        self, evaluation: Evaluation, objective: float | None = None, *, inside: float = 1.0
    ) -> float:
        """The number that orders settings in a search: see :func:`feasible_first`.

        Args:
            evaluation: on seeds that the incumbent has met.
            objective: another one than its mean.
            inside: how many times the usual distance to keep from the constraints' bounds.
        """
        if evaluation.refusal is not None:
            return math.inf
        allowances = None if self.noise is None else self.noise.allowances(inside)
        violation = self._violation(evaluation, allowances)
        reached = self.joined(evaluation, evaluation.objective) if objective is None else objective
        return feasible_first(reached, violation, self.scale)


class Shorter:
    """The shorter horizons of a tuning, and whether its search may use the shortest of them.

    Args:
        full: the whole scenario; its incumbent has met the seeds of the search.
        space: that is searched.
    """

    def __init__(self, full: Horizon, space: Space) -> None:
        self._full = full
        self._space = space
        self.rungs: list[Horizon] = []

    @property
    def count(self) -> int:
        """Simulations of shortened scenarios so far."""
        return sum(each.simulations.count for rung in self.rungs for each in (rung, *rung.around))

    def measure(
        self, results: Sequence[Result], seeds: Sequence[int], search_seed: int, until: float | None
    ) -> FidelityReport:
        """Decide if the search may use the shortest horizon, by a pilot set of settings.

        Args:
            results: of the incumbent in the whole of each scenario.
            seeds: of the search.
            search_seed: of the pilot set.
            until: the moment when the tuning must be over.
        """
        seconds = self._full.simulations.seconds_each * PILOT * (1.0 + RUNGS[0])
        if until is not None and seconds > _PILOT_SHARE * (until - time.monotonic()):
            return full_length("there is no time to test short runs")
        try:
            self.rungs = [self._rung(self._full, results, fraction) for fraction in RUNGS]
            self._run_incumbent(results, seeds, until)
        except CannotShortenError as reason:
            return full_length(f"the scenario cannot be shortened: {reason}")
        settings = [
            self._space.values(point) for point in _pilot_points(len(self._space), search_seed)
        ]
        found = []
        for horizon in (self.rungs[0], self._full):
            evaluations = [horizon.incumbent.another(setting) for setting in settings]
            horizon.simulations.run(evaluations, seeds[:1], until=until, made_for="pilot")
            if not all(each.is_complete(seeds[:1]) for each in evaluations):
                return full_length("time was up before short runs were tested")
            found.append(evaluations)
        now = self.rungs[0].incumbent, self._full.incumbent
        return judged(_agreement(self._full.constraints, found, now), RUNGS[0])

    def climb(
        self,
        leaders: Sequence[Evaluation],
        keep: int,
        seeds: Sequence[int],
        until: float | None,
    ) -> list[Setting]:
        """The settings that the whole scenario is worth simulating for, the likely best first.

        Args:
            leaders: of the search on the shortest horizon, the best first; at each longer one
                half of them go on.
            keep: how many go on to the whole scenario.
            seeds: of the search.
            until: the moment when the climb must be over; those that lead then go on.
        """
        left = [leader.setting for leader in leaders]
        for number, rung in enumerate(self.rungs[1:], start=1):
            wanted = keep * 2 ** (len(self.rungs) - number)
            left = left[:wanted]
            if len(left) <= keep:
                break
            evaluations = [rung.incumbent.another(setting) for setting in left]
            rung.simulations.run(evaluations, seeds, until=until, made_for="climb")
            if not all(each.is_complete(seeds) for each in evaluations):
                break
            rung.meet_conditions(evaluations, seeds[:1], until)
            order = sorted(range(len(left)), key=lambda index: rung.value(evaluations[index]))
            left = [left[index] for index in order]
        return left[:keep]

    def _rung(self, full: Horizon, results: Sequence[Result], fraction: float) -> Horizon:
        """A shorter version of the scenario, or of all of them, and of its conditions.

        Raises:
            CannotShortenError: one cannot be shortened.
        """
        conditions = []
        for each, result in zip(full.simulations.conditions, results, strict=True):
            windows = _windows(result)
            objective = each.objective
            total = isinstance(objective, WindowObjective) and objective.over == "total"
            if total and len(windows) > 1:
                message = "the objective covers all phases and the time between them"
                raise CannotShortenError(message)
            text = shortened(each.text, windows, fraction)
            candidates = Candidates(text, self._space.names)
            conditions.append(replace(each, text=text, candidates=candidates))
        incumbent = full.incumbent.apart()
        for piece, result in zip(incumbent.pieces, results, strict=True):
            if piece.text is not None:
                piece.text = shortened(piece.text, _windows(result), fraction)
        shorter = replace(
            full,
            simulations=self._full.simulations.shorter(
                conditions, full.simulations.memory, fraction
            ),
            incumbent=incumbent,
            around=[],
        )
        for condition in full.around:
            try:
                shorter.around.append(self._rung(condition, results, fraction))
            except CannotShortenError:
                continue
        return shorter

    def _run_incumbent(
        self, results: Sequence[Result], seeds: Sequence[int], until: float | None
    ) -> None:
        """Lets the incumbent meet the seeds on every rung, and looks whether no phase was lost.

        Raises:
            CannotShortenError: one was, or what is minimised cannot be measured any more.
        """
        for rung in self.rungs:
            rows = rung.meet(seeds, until)
            if rung.incumbent.refusal is not None or any(None in row for row in rows):
                message = "there is no time to simulate the incumbent"
                raise CannotShortenError(message)
            for row, result in zip(rows, results, strict=True):
                phases = len(_windows(result))
                if any(each is None or len(_windows(each)) != phases for each in row):
                    message = "a phase would be lost"
                    raise CannotShortenError(message)
            if rung.incumbent.not_measured is not None:
                raise CannotShortenError(str(rung.incumbent.not_measured))


def _agreement(
    constraints: Sequence[Constraint],
    pilots: Sequence[Sequence[Evaluation]],
    incumbents: Sequence[Evaluation],
) -> RankAgreement | None:
    """The least rank correlation of two lengths: of the goal, and of each bound in doubt."""
    found = [rank_agreement(*([each.objective for each in row] for row in pilots))]
    rows = [
        [
            [min(phases, default=math.inf) for phases in mean_margins(constraints, each, incumbent)]
            for each in evaluations
        ]
        for evaluations, incumbent in zip(pilots, incumbents, strict=True)
    ]
    for number, constraint in enumerate(constraints):
        margins = [[row[number] for row in length] for length in rows]
        broken = sum(margin < 0.0 for margin in margins[1])
        fewest = _HARM_IN_DOUBT if constraint.of_harm else _IN_DOUBT
        if fewest <= broken <= len(margins[1]) - fewest:
            found.append(rank_agreement(*margins))
    known = [each for each in found if each is not None]
    return min(known, key=lambda each: each.low) if len(known) == len(found) else None


def shortened(core_json: str, windows: Sequence[tuple[float, float]], fraction: float) -> str:
    """A scenario as the core reads it, with less time (:meth:`CoreScenario.shortened`).

    Raises:
        CannotShortenError: it would not be the same scenario with less time.
    """
    return CoreScenario.from_json(core_json).shortened(windows, fraction).to_json()


def _windows(result: Result) -> list[tuple[float, float]]:
    """Measured stretch of each phase, seconds; of a run without phases, of the whole."""
    link = result.link(result.links[0])
    return [(window["start_s"], window["end_s"]) for window in link.phases or [link.total]]


def _pilot_points(dimensions: int, seed: int) -> list[Point]:
    """Points of the whole cube, from a random stream of their own."""
    import numpy as np

    sequence = np.random.SeedSequence([seed, *PILOT_STREAM.encode()])
    generator = np.random.Generator(np.random.PCG64(sequence))
    return [tuple(row) for row in generator.random((PILOT, dimensions)).tolist()]
