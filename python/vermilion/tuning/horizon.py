"""Lengths of simulation, and the distance from bounds at which a search has to aim.

The best setting often lies on a constraint. There the mean over a few seeds keeps the bound, and
the interval over fresh ones straddles it, so that nothing could be recommended. Therefore the
search keeps a distance: half of what the comparison's interval will be wide, as far as is known
from how much the margins of the settings tried so far differ between seeds. (A chance constraint:
the bound is to hold with 97.5 %, one side of the 95 % interval. A. Charnes and W. W. Cooper,
"Chance-constrained programming", Management Science 6(1), 1959.)

Settings differ in their noise, and those that fail are the noisiest. The median over settings is
that of an ordinary one.
"""

from __future__ import annotations

import math
import time
from bisect import insort
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from vermilion.objectives import WindowObjective, feasible_first
from vermilion.scenario.core_scenario import CannotShortenError, CoreScenario
from vermilion.simulate.statistics import t_quantile
from vermilion.tuning.candidates import Candidates
from vermilion.tuning.fidelity import (
    PILOT,
    RUNGS,
    FidelityReport,
    full_length,
    judged,
    rank_agreement,
)
from vermilion.tuning.simulations import Simulations
from vermilion.tuning.verdict import mean_violation, paired_margins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Constraint
    from vermilion.search import Point, Space
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.evaluation import Evaluation
    from vermilion.tuning.memory import Runner
    from vermilion.tuning.verdict import Allowances


_FEWEST_KNOWN: Final = 8
"""Settings that have to be known before anything is made of them."""

_CONFIDENCE: Final = 0.95


class MarginNoise:
    """Noise of the constraints' margins over seeds.

    Args:
        constraints: of the tuning.
        seeds: of the comparison that has to prove them.
        fraction: of the comparison's measured time that the settings are simulated for; what is
            measured for a quarter of the time differs twice as much.
    """

    def __init__(
        self, constraints: Sequence[Constraint], seeds: int, fraction: float = 1.0
    ) -> None:
        self._constraints = constraints
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
        return [
            [
                0.0
                if constraint.of_harm or len(each) < _FEWEST_KNOWN
                else times * self._factor * each[len(each) // 2]
                for each in phases
            ]
            if phases
            else None
            for constraint, phases in zip(self._constraints, self._deviations, strict=True)
        ]


def half_width_per_deviation(seeds: int) -> float:
    """Half the width of the interval over so many seeds, for a standard deviation of 1."""
    return t_quantile(_CONFIDENCE, seeds - 1) / math.sqrt(seeds)


def _deviation(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / (len(values) - 1))


PILOT_STREAM: Final = "vermilion.tuning.pilot.1"
"""Name and version of the random stream of the pilot set."""

_PILOT_SHARE: Final = 0.15
"""Of the time left, what the pilot set may take."""


@dataclass(slots=True)
class Horizon:
    """One length of simulation, and what the incumbent reaches in it.

    Attributes:
        texts: the scenarios of this length, as the core reads them; usually one.
        fraction: of the scenario's measured time.
        simulations: runs settings with it.
        constraints: that its evaluations are made with.
        incumbent: what constraints refer to.
        noise: how far inside its bounds a search has to aim; ``None`` for not at all.
        least_size: of the objective (:attr:`vermilion.objectives.Objective.least_size`).
        scale: a typical size of the objective, the incumbent's.
    """

    texts: Sequence[str]
    fraction: float
    simulations: Simulations
    constraints: Sequence[Constraint]
    incumbent: Evaluation
    noise: MarginNoise | None = None
    least_size: float = 0.0
    scale: float = field(init=False, default=1.0)

    def meet(self, seeds: Sequence[int], until: float | None) -> list[list[Result | None]]:
        """Lets the incumbent meet the seeds of the search, which every setting will meet.

        Returns:
            Its results, a list for each scenario.
        """
        results = self.simulations.run_each(
            [self.incumbent], seeds, until=until, made_for="incumbent"
        )
        self.incumbent.become_reference()
        self.scale = max(abs(self.incumbent.objective), self.least_size) or 1.0
        return results

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
        violation = mean_violation(self.constraints, evaluation, self.incumbent, allowances)
        reached = evaluation.objective if objective is None else objective
        return feasible_first(reached, violation, self.scale)


class Shorter:
    """The shorter horizons of a tuning, and whether its search may use the shortest of them.

    Args:
        full: the whole scenario; its incumbent has met the seeds of the search.
        space: that is searched.
        threads: simulations at a time.
        workers: that simulate; ``None`` for this machine alone.
    """

    def __init__(
        self,
        full: Horizon,
        space: Space,
        threads: int | None,
        workers: Runner | None = None,
    ) -> None:
        self._full = full
        self._space = space
        self._threads = threads
        self._workers = workers
        self.rungs: list[Horizon] = []

    @property
    def count(self) -> int:
        """Simulations of shortened scenarios so far."""
        return sum(rung.simulations.count for rung in self.rungs)

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
            self.rungs = [self._rung(results, fraction) for fraction in RUNGS]
            self._run_incumbent(results, seeds, until)
        except CannotShortenError as reason:
            return full_length(f"the scenario cannot be shortened: {reason}")
        settings = [
            self._space.values(point) for point in _pilot_points(len(self._space), search_seed)
        ]
        values = []
        for horizon in (self.rungs[0], self._full):
            evaluations = [horizon.incumbent.another(setting) for setting in settings]
            horizon.simulations.run(evaluations, seeds[:1], until=until, made_for="pilot")
            if not all(each.is_complete(seeds[:1]) for each in evaluations):
                return full_length("time was up before short runs were tested")
            values.append([horizon.value(evaluation) for evaluation in evaluations])
        return judged(rank_agreement(*values), RUNGS[0])

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
            order = sorted(range(len(left)), key=lambda index: rung.value(evaluations[index]))
            left = [left[index] for index in order]
        return left[:keep]

    def _rung(self, results: Sequence[Result], fraction: float) -> Horizon:
        """A shorter version of the scenario, or of all of them.

        Raises:
            CannotShortenError: one cannot be shortened.
        """
        full = self._full
        texts, measured = [], []
        for text, each, result in zip(full.texts, full.simulations.measured, results, strict=True):
            windows = _windows(result)
            objective = each.objective
            total = isinstance(objective, WindowObjective) and objective.over == "total"
            if total and len(windows) > 1:
                message = "the objective covers all phases and the time between them"
                raise CannotShortenError(message)
            texts.append(shortened(text, windows, fraction))
            measured.append(replace(each, candidates=Candidates(texts[-1], self._space.names)))
        first, *further = measured
        simulations = Simulations(
            first.candidates,
            first.objective,
            first.constraints,
            self._threads,
            self._workers,
            memory=first.memory,
            length=fraction,
            further=further,
        )
        incumbent = full.incumbent.apart()
        for piece, result in zip(incumbent.pieces, results, strict=True):
            if piece.text is not None:
                piece.text = shortened(piece.text, _windows(result), fraction)
        return Horizon(
            texts,
            fraction,
            simulations,
            full.constraints,
            incumbent,
            least_size=full.least_size,
        )

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
