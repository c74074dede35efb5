"""Simulating settings in batches, on all cores, against a deadline."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from vermilion.objectives import MetricPath, NotMeasuredError
from vermilion.scenario.errors import ScenarioError
from vermilion.simulate import Result
from vermilion.simulate.batches import cores
from vermilion.simulate.runs import run_many
from vermilion.tuning.memory import KEPT_WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.objectives import Objective
    from vermilion.simulate.result_data import ResultData
    from vermilion.tuning.candidates import Candidates
    from vermilion.tuning.evaluation import Evaluation, Watched
    from vermilion.tuning.memory import KeptSimulation, Runner, SimulatedFor, SimulationMemory

_BUSY: Final = 0.9
"""The share of the cores that should be at work, on average."""

_MOST_LOST: Final = 10.0
"""Seconds of simulation that are lost at most when somebody interrupts what is kept."""


@dataclass(frozen=True, slots=True)
class MeasuredScenario:
    """A scenario, and what is made of its simulations.

    Attributes:
        candidates: writes the scenario with a setting.
        objective: what is evaluated.
        constraints: whose metrics are kept with it.
        memory: what is known already, and keeps what is simulated; ``None`` for none.
        added: groups of flows that belong to the conditions, and of which nothing is measured.
    """

    candidates: Candidates
    objective: Objective
    constraints: Sequence[Watched]
    memory: SimulationMemory | None = None
    added: tuple[str, ...] = ()

    @property
    def needs_flow_delays(self) -> bool:
        """True if an objective, or something that is watched, is about packets' delay or loss."""
        return any(needs_flow_delays(each) for each in (self.objective, *self.constraints))

    def without_added(self, result: Result) -> Result:
        """Return a result without the flows that belong to the conditions."""
        if not self.added:
            return result
        flows = result.data["flows"].items()
        own = {name: each for name, each in flows if name not in self.added}
        return Result({**result.data, "flows": own})

    def is_whole(self, outcome: KeptSimulation) -> bool:
        """True if all that was measured is remembered, and fits what was made of it."""
        if outcome.data is None:
            return False
        try:
            return self.objective.evaluate(Result(outcome.data)) == outcome.objective
        except NotMeasuredError:
            return math.isinf(outcome.objective)
        except (KeyError, TypeError, ValueError, AttributeError):
            return False  # of a file that something else has written to


class Simulations:
    """Runs evaluations' settings and adds what they show.

    Args:
        candidates: writes the scenario with a setting.
        objective: what is evaluated.
        constraints: whose metrics are kept with it.
        threads: simulations at a time; ``None`` for one on each core.
        workers: do the longer simulations; ``None`` for this machine alone.
        memory: what is known already, and keeps what is simulated; ``None`` for none.
        length: the fraction of the scenario's measured time that the candidates simulate.
        further: other scenarios in which each setting is simulated too; then every evaluation has
            a piece for each scenario, in this order.
        added: groups of flows of which nothing is measured.

    Attributes:
        measured: all scenarios.
        count: simulations so far, those that were remembered included.
        least_seconds_each: wall seconds per setting and seed of the fastest batch, all cores
            working; 0 before the first.
        threads: as given or found; with workers, as many as they have cores.
    """

    def __init__(
        self,
        candidates: Candidates,
        objective: Objective,
        constraints: Sequence[Watched],
        threads: int | None = None,
        workers: Runner | None = None,
        *,
        memory: SimulationMemory | None = None,
        length: float = 1.0,
        further: Sequence[MeasuredScenario] = (),
        added: tuple[str, ...] = (),
    ) -> None:
        first = MeasuredScenario(candidates, objective, constraints, memory, added)
        self.measured = [first, *further]
        self._flow_delays = any(measured.needs_flow_delays for measured in self.measured)
        self._length = length
        self._seconds = 0.0
        self._timed = 0
        self.least_seconds_each = 0.0
        self.count = 0
        self._workers = workers
        self._local_threads = threads or cores()
        self.threads = self._local_threads if workers is None else workers.cores

    @property
    def seconds_each(self) -> float:
        """Wall seconds per setting and seed so far, all cores working; 0 before the first."""
        return len(self.measured) * self._seconds / self._timed if self._timed else 0.0

    def batch_size(self, seeds: int) -> int:
        """The fewest settings that, with so many seeds each, keep the cores busy.

        More at a time would keep them no busier, and a search that learns from each value
        would learn later.
        """
        for size in range(1, self.threads):
            simulations = size * seeds * len(self.measured)
            turns = math.ceil(simulations / self.threads)
            if simulations >= _BUSY * turns * self.threads:
                return size
        return self.threads

    def run(
        self,
        evaluations: Sequence[Evaluation],
        seeds: Sequence[int],
        *,
        until: float | None = None,
        progress: Callable[[int], object] | None = None,
        made_for: SimulatedFor = "search",
    ) -> list[list[Result | None]]:
        """Simulates every setting with every seed and adds the results to the evaluations.

        Args:
            evaluations: whose settings are simulated; one that the core refuses gets the
                reason and no results.
            seeds: for each of them.
            until: the moment, on the clock of ``time.monotonic``, after which no result is
                waited for.
            progress: called with the number of simulations done of this call; those of one
                setting and seed in several scenarios count as one.
            made_for: what they are for; results are complete only where :data:`KEPT_WHOLE` has it.

        Returns:
            The results, one list for each evaluation; ``None`` where time was up. Of several
            scenarios those of the first, ``None`` where one of them is missing.
        """
        rows = self.run_each(evaluations, seeds, until=until, progress=progress, made_for=made_for)
        scenarios = len(self.measured)
        return [
            _first_if_all(rows[first : first + scenarios])
            for first in range(0, len(rows), scenarios)
        ]

    def run_each(
        self,
        evaluations: Sequence[Evaluation],
        seeds: Sequence[int],
        *,
        until: float | None = None,
        progress: Callable[[int], object] | None = None,
        made_for: SimulatedFor = "search",
    ) -> list[list[Result | None]]:
        """Run as :meth:`run` does, with a list of results for each evaluation in each scenario."""
        scenarios = len(self.measured)
        if not evaluations or not seeds:
            return [[] for _ in range(scenarios * len(evaluations))]
        pieces = [
            (measured, piece)
            for each in evaluations
            for measured, piece in zip(self.measured, each.pieces, strict=True)
        ]
        known = [self._stored_results(*each, seeds, made_for) for each in pieces]
        missing = [each for each, row in zip(pieces, known, strict=True) if row is None]
        done = (len(pieces) - len(missing)) * len(seeds)

        simulated: list[list[Result | None]] = []
        for portion in self._batches(missing, len(seeds)):

            def report(more: int, before: int = done + len(simulated) * len(seeds)) -> None:
                if progress is not None:
                    progress((before + more) // scenarios)

            told = None if progress is None else report
            simulated += self._simulate(portion, seeds, until, told, made_for)
        new = iter(simulated)
        rows = [next(new) if row is None else row for row in known]
        if made_for == "comparison":
            for (_, piece), row in zip(pieces, rows, strict=True):
                piece.results += [result for result in row if result is not None]
        for each in evaluations:
            each.gather()
        return rows

    def _batches(
        self, pieces: Sequence[tuple[MeasuredScenario, Evaluation]], seeds: int
    ) -> list[Sequence[tuple[MeasuredScenario, Evaluation]]]:
        """Split evaluations into portions that are simulated and then kept."""
        each = self._seconds / self._timed * seeds if self._timed else 0.0
        is_kept = any(measured.memory is not None for measured, _ in pieces)
        if not is_kept or each * len(pieces) <= _MOST_LOST:
            return [pieces]
        size = max(self.batch_size(seeds), int(_MOST_LOST / each))
        return [pieces[first : first + size] for first in range(0, len(pieces), size)]

    def _stored_results(
        self,
        measured: MeasuredScenario,
        evaluation: Evaluation,
        seeds: Sequence[int],
        made_for: SimulatedFor,
    ) -> list[Result | None] | None:
        """Adds what is remembered of a setting; ``None`` if that is not all that is asked for."""
        if measured.memory is None:
            return None
        outcomes = measured.memory.recall(self._length, evaluation.setting, seeds)
        whole = made_for in KEPT_WHOLE
        if not all(
            seed in outcomes and (not whole or measured.is_whole(outcomes[seed])) for seed in seeds
        ):
            return None
        for seed in seeds:
            evaluation.add_outcome(seed, outcomes[seed])
        self.count += len(seeds)
        known = (outcomes[seed].data for seed in seeds)
        # What is not known whole is not asked for either.
        return [Result(cast("ResultData", {}) if data is None else data) for data in known]

    def _simulate(
        self,
        pieces: Sequence[tuple[MeasuredScenario, Evaluation]],
        seeds: Sequence[int],
        until: float | None,
        progress: Callable[[int], object] | None,
        made_for: SimulatedFor,
    ) -> list[list[Result | None]]:
        """Simulate what is not remembered."""
        if not pieces:
            return []
        start = time.monotonic()
        texts = [
            measured.candidates.text(piece.setting) if piece.text is None else piece.text
            for measured, piece in pieces
        ]
        deadline = None if until is None else max(0.0, until - start)
        try:
            run = run_many if self._workers is None else self._workers.run_many
            results = run(
                texts,
                seeds,
                threads=self._local_threads,
                progress=progress,
                deadline_s=deadline,
                flow_delays=self._flow_delays,
            )
        except ScenarioError as refusal:
            if len(pieces) == 1:
                pieces[0][1].refusal = refusal
                return [[None] * len(seeds)]
            # One of them is at fault, which is rare; the others go on without it.
            alone = (self._simulate([each], seeds, until, None, made_for) for each in pieces)
            return [results for [results] in alone]
        before = self._timed
        for measured in self.measured:
            outcomes = []
            for (own, evaluation), row in zip(pieces, results, strict=True):
                for seed, result in zip(seeds, row if own is measured else (), strict=False):
                    if result is not None:
                        seen = measured.without_added(result)
                        evaluation.add(seed, seen, measured.objective, measured.constraints)
                        self.count += 1
                        self._timed += 1
                        data = result.data if made_for in KEPT_WHOLE else None
                        outcomes.append((evaluation.setting, seed, evaluation.last_outcome(data)))
            if measured.memory is not None:
                measured.memory.keep(self._length, made_for, outcomes)
        # A batch too small for all cores says how long one core takes.
        busy = min(1.0, len(texts) * len(seeds) / self.threads)
        seconds = busy * (time.monotonic() - start)
        self._seconds += seconds
        if self._timed > before:
            each = len(self.measured) * seconds / (self._timed - before)
            self.least_seconds_each = min(self.least_seconds_each or each, each)
        return results

    def run_in_step(
        self,
        evaluations: Sequence[Evaluation],
        seeds: Sequence[int],
        *,
        until: float | None = None,
        progress: Callable[[int], object] | None = None,
        made_for: SimulatedFor = "search",
    ) -> list[list[Result]]:
        """Run so that at any moment all evaluations have met the same seeds.

        When time is up, the seeds that not all of them have met are left out.
        """
        kept: list[list[Result]] = [[] for _ in evaluations]
        at_once = len(seeds) if until is None else self.batch_size(len(evaluations))
        for first in range(0, len(seeds), at_once or 1):
            some = seeds[first : first + at_once]
            trial = [each.fresh() for each in evaluations]

            def report(done: int, before: int = first * len(evaluations)) -> None:
                if progress is not None:
                    progress(before + done)

            rows = self.run(trial, some, until=until, progress=report, made_for=made_for)
            if any(result is None for row in rows for result in row):
                break
            for each, extra, row, results in zip(evaluations, trial, rows, kept, strict=True):
                each.extend(extra)
                results.extend(result for result in row if result is not None)
        return kept


def needs_flow_delays(judged: object) -> bool:
    """True if an objective, or something that is watched, is about packets' delay or loss.

    Runs measure that only where they are asked for it, because it takes time. What is made of
    others, as a weighted sum of its parts and a front of its objectives, needs what one of them
    needs.
    """
    if isinstance(judged, MetricPath):
        return judged.needs_flow_delays
    if getattr(judged, "needs_flow_delays", False):
        return True
    inner = [getattr(judged, name, None) for name in ("path", "objective")]
    inner += getattr(judged, "parts", ())
    return any(needs_flow_delays(each) for each in inner if each is not None)


def _first_if_all(rows: Sequence[list[Result | None]]) -> list[Result | None]:
    """Results of the first of several scenarios, seed by seed, where all are there."""
    return [row[0] if None not in row else None for row in zip(*rows, strict=True)]
