"""The lengths of simulation that a tuning uses: the whole scenario, and shorter versions of it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from vermilion.objectives import WindowObjective, feasible_first
from vermilion.tuning.judge.verdict import mean_violation
from vermilion.tuning.measure.candidates import Candidates
from vermilion.tuning.measure.fidelity import PILOT, RUNGS, full_length, judged, rank_agreement
from vermilion.tuning.measure.shortening import CannotShortenError, shortened
from vermilion.tuning.measure.simulations import Simulations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Constraint
    from vermilion.search import Point, Space
    from vermilion.simulate import Result
    from vermilion.tuning.judge.noise import MarginNoise
    from vermilion.tuning.measure.candidates import Setting
    from vermilion.tuning.measure.evaluation import Evaluation
    from vermilion.tuning.measure.fidelity import FidelityReport
    from vermilion.tuning.measure.remembered_runs import Runner

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
        """Whether the search may use the shortest horizon, by a pilot set of settings.

        Args:
            results: of the incumbent in the whole of each scenario.
            seeds: of the search.
            search_seed: of the pilot set.
            until: the moment when the tuning must be over.
        """
        seconds = self._full.simulations.seconds_each * PILOT * (1.0 + RUNGS[0])
        if until is not None and seconds > _PILOT_SHARE * (until - time.monotonic()):
            return full_length("there is no time to measure whether short runs would do")
        try:
            self.rungs = [self._rung(results, fraction) for fraction in RUNGS]
            self._run_incumbent(results, seeds, until)
        except CannotShortenError as reason:
            return full_length(f"the scenario cannot be shortened: {reason}")
        settings = [self._space.values(point) for point in _pilot(len(self._space), search_seed)]
        values = []
        for horizon in (self.rungs[0], self._full):
            evaluations = [horizon.incumbent.another(setting) for setting in settings]
            horizon.simulations.run(evaluations, seeds[:1], until=until, made_for="pilot")
            if not all(each.is_complete(seeds[:1]) for each in evaluations):
                return full_length("time was up before it was measured whether short runs would do")
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
                message = "the objective is over all phases and what lies between them"
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
                message = "the incumbent could not be simulated with less time"
                raise CannotShortenError(message)
            for row, result in zip(rows, results, strict=True):
                phases = len(_windows(result))
                if any(each is None or len(_windows(each)) != phases for each in row):
                    message = "a phase would be lost"
                    raise CannotShortenError(message)
            if rung.incumbent.not_measured is not None:
                raise CannotShortenError(str(rung.incumbent.not_measured))


def _windows(result: Result) -> list[tuple[float, float]]:
    """What was measured of each phase, seconds; of a run without phases, of the whole."""
    link = result.link(result.links[0])
    return [(window["start_s"], window["end_s"]) for window in link.phases or [link.total]]


def _pilot(dimensions: int, seed: int) -> list[Point]:
    """Points of the whole cube, from a random stream of their own."""
    import numpy as np

    sequence = np.random.SeedSequence([seed, *PILOT_STREAM.encode()])
    generator = np.random.Generator(np.random.PCG64(sequence))
    return [tuple(row) for row in generator.random((PILOT, dimensions)).tolist()]
