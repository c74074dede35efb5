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
from vermilion.tuning.candidates import Candidates
from vermilion.tuning.evaluation import Evaluation, outcome_of
from vermilion.tuning.memory import KEPT_WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from vermilion.objectives import Constraint, Objective
    from vermilion.simulate.result_data import ResultData
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.evaluation import Watched
    from vermilion.tuning.memory import KeptSimulation, Runner, SimulatedFor, SimulationMemory

    _Piece = tuple[int, Evaluation]
    """The number of a condition, and what is evaluated in it."""

_BUSY: Final = 0.9
"""The share of the cores that should be at work, on average."""

_MOST_LOST: Final = 10.0
"""Seconds of simulation that are lost at most when somebody interrupts what is kept."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A network in which settings are measured, and what is made of its runs.

    Attributes:
        text: the network as the core reads it.
        in_force: the setting there, a value for each path that may be changed.
        candidates: writes it with a setting.
        objective: what is evaluated.
        constraints: whose metrics are kept with it.
        standing: the network with what is in force, where that is no setting of these paths but
            another discipline.
        added: groups of flows that belong to the conditions, and of which nothing is measured.
        besides: what is kept after the constraints, and asks for nothing.
        key: a stable name, of one that is not given but around; "" for none.
        label: the same in words, to follow "with".
        weight: beside others.
    """

    text: str
    in_force: Setting
    candidates: Candidates
    objective: Objective
    constraints: Sequence[Constraint]
    standing: str | None = None
    added: tuple[str, ...] = ()
    besides: tuple[Watched, ...] = ()
    key: str = ""
    label: str = ""
    weight: float = 1.0

    @classmethod
    def of(
        cls,
        text: str,
        in_force: Setting,
        objective: Objective,
        constraints: Sequence[Constraint],
        standing: str | None = None,
    ) -> Self:
        """A network with other values at the paths of a setting."""
        candidates = Candidates(text, in_force)
        return cls(text, in_force, candidates, objective, constraints, standing)

    def standing_evaluation(self) -> Evaluation:
        """Evaluation of what is in force, on no seeds yet."""
        if self.standing is None:
            return Evaluation(self.in_force)
        # It has no values of the paths.
        return Evaluation(dict.fromkeys(self.in_force), text=self.standing)

    @property
    def watched(self) -> tuple[Watched, ...]:
        """What is kept of each run beside the objective."""
        return (*self.constraints, *self.besides)

    @property
    def needs_flow_delays(self) -> bool:
        """True if an objective, or something that is watched, is about packets' delay or loss."""
        return any(needs_flow_delays(each) for each in (self.objective, *self.watched))

    def outcome(self, seed: int, result: Result, *, whole: bool) -> KeptSimulation:
        """What is made of a run.

        Args:
            seed: of the run.
            result: all that was measured.
            whole: whether that is kept too.
        """
        seen = result
        if self.added:
            flows = result.data["flows"].items()
            own = {name: each for name, each in flows if name not in self.added}
            seen = Result({**result.data, "flows": own})
        return outcome_of(seed, seen, self.objective, self.watched, result.data if whole else None)

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


class Batches:
    """Simulates in batches, on all cores, against a deadline, and keeps the account.

    Args:
        threads: simulations at a time; ``None`` for one on each core.
        workers: do the longer simulations; ``None`` for this machine alone.
        flow_delays: whether runs measure packets' delay and loss.
        together: networks that belong to one setting.
        clock: by which deadlines pass; ``None`` for ``time.monotonic``.

    Attributes:
        count: simulations so far.
        least_seconds_each: wall seconds per setting and seed of the fastest batch, all cores
            working; 0 before the first.
        threads: as given or found; with workers, as many as they have cores.
    """

    def __init__(
        self,
        threads: int | None = None,
        workers: Runner | None = None,
        *,
        flow_delays: bool = False,
        together: int = 1,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._flow_delays = flow_delays
        self._together = together
        self._clock = clock or time.monotonic
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
        return self._together * self._seconds / self._timed if self._timed else 0.0

    def batch_size(self, seeds: int) -> int:
        """The fewest settings that, with so many seeds each, keep the cores busy.

        More at a time would keep them no busier, and a search that learns from each value
        would learn later.
        """
        for size in range(1, self.threads):
            simulations = size * seeds * self._together
            turns = math.ceil(simulations / self.threads)
            if simulations >= _BUSY * turns * self.threads:
                return size
        return self.threads

    def portions(self, seeds: Sequence[int], settings: int, until: float | None) -> list[list[int]]:
        """Split seeds so that, when time is up, so many settings have met the same ones."""
        at_once = len(seeds) if until is None else self.batch_size(settings)
        firsts = range(0, len(seeds), at_once or 1)
        return [list(seeds[first : first + at_once]) for first in firsts]

    def simulate(
        self,
        texts: Sequence[str],
        seeds: Sequence[int],
        *,
        until: float | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> list[list[Result | None]]:
        """Simulate networks with every seed, as :func:`vermilion.simulate.run_many` does.

        Args:
            texts: as the core reads them.
            seeds: for each of them.
            until: the moment, on the clock, after which no result is waited for.
            progress: called with the number of simulations done.

        Raises:
            ScenarioError: the core refuses one of them.
        """
        run = run_many if self._workers is None else self._workers.run_many
        return run(
            texts,
            seeds,
            threads=self._local_threads,
            progress=progress,
            deadline_s=None if until is None else max(0.0, until - self._clock()),
            flow_delays=self._flow_delays,
        )

    def simulate_in_step(
        self,
        texts: Sequence[str],
        seeds: Sequence[int],
        *,
        until: float | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> list[list[Result]]:
        """Simulate networks with as many seeds as all of them have time for.

        Returns:
            A list for each network, all as long: of the first seeds.
        """
        kept: list[list[Result]] = [[] for _ in texts]
        for some in self.portions(seeds, len(texts), until):
            start = self._clock()

            def report(done: int, before: int = sum(map(len, kept))) -> None:
                if progress is not None:
                    progress(before + done)

            rows = self.simulate(texts, some, until=until, progress=report)
            known = [[result for result in row if result is not None] for row in rows]
            self.account(start, len(texts) * len(some), sum(map(len, known)))
            if any(len(row) < len(some) for row in known):
                break
            for row, more in zip(kept, known, strict=True):
                row.extend(more)
        return kept

    def account(self, start: float, asked: int, done: int) -> None:
        """Takes a batch into account.

        Args:
            start: when it began, on the clock.
            asked: simulations that it was to have.
            done: those that it had.
        """
        # A batch too small for all cores says how long one core takes.
        seconds = min(1.0, asked / self.threads) * (self._clock() - start)
        self.count += done
        self._timed += done
        self._seconds += seconds
        if done:
            each = self._together * seconds / done
            self.least_seconds_each = min(self.least_seconds_each or each, each)


class Simulations(Batches):
    """Runs evaluations' settings and adds what they show.

    Args:
        conditions: in which each setting is simulated; of several, every evaluation has a piece
            for each, in this order.
        threads: simulations at a time; ``None`` for one on each core.
        workers: do the longer simulations; ``None`` for this machine alone.
        memory: what is known already, and keeps what is simulated; ``None`` for none.
        length: the fraction of the conditions' measured time that is simulated.
    """

    def __init__(
        self,
        conditions: Sequence[Condition],
        threads: int | None = None,
        workers: Runner | None = None,
        memory: SimulationMemory | None = None,
        *,
        length: float = 1.0,
    ) -> None:
        needed = any(each.needs_flow_delays for each in conditions)
        super().__init__(threads, workers, flow_delays=needed, together=len(conditions))
        self.conditions = conditions
        self.memory = memory
        self.length = length

    def shorter(
        self, conditions: Sequence[Condition], memory: SimulationMemory | None, length: float
    ) -> Simulations:
        """Simulations of a part of the measured time, by the same machines."""
        return Simulations(conditions, self._local_threads, self._workers, memory, length=length)

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
            The results, a list for each evaluation in each condition; ``None`` where time was up.
        """
        scenarios = self._together
        if not evaluations or not seeds:
            return [[] for _ in range(scenarios * len(evaluations))]
        pieces = [
            (number, piece)
            for each in evaluations
            for number, piece in zip(range(scenarios), each.pieces, strict=True)
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

    def _batches(self, pieces: Sequence[_Piece], seeds: int) -> list[Sequence[_Piece]]:
        """Split evaluations into portions that are simulated and then kept."""
        each = self._seconds / self._timed * seeds if self._timed else 0.0
        if self.memory is None or each * len(pieces) <= _MOST_LOST:
            return [pieces]
        size = max(self.batch_size(seeds), int(_MOST_LOST / each))
        return [pieces[first : first + size] for first in range(0, len(pieces), size)]

    def _stored_results(
        self,
        number: int,
        evaluation: Evaluation,
        seeds: Sequence[int],
        made_for: SimulatedFor,
    ) -> list[Result | None] | None:
        """Adds what is remembered of a setting; ``None`` if that is not all that is asked for."""
        if self.memory is None:
            return None
        outcomes = self.memory.recall(self.length, evaluation.setting, seeds, number)
        whole = made_for in KEPT_WHOLE
        if not all(
            seed in outcomes and (not whole or self.conditions[number].is_whole(outcomes[seed]))
            for seed in seeds
        ):
            return None
        for seed in seeds:
            evaluation.add(seed, outcomes[seed])
        self.count += len(seeds)
        known = (outcomes[seed].data for seed in seeds)
        # What is not known whole is not asked for either.
        return [Result(cast("ResultData", {}) if data is None else data) for data in known]

    def _simulate(
        self,
        pieces: Sequence[_Piece],
        seeds: Sequence[int],
        until: float | None,
        progress: Callable[[int], object] | None,
        made_for: SimulatedFor,
    ) -> list[list[Result | None]]:
        """Simulate what is not remembered."""
        if not pieces:
            return []
        start = self._clock()
        texts = [
            self.conditions[number].candidates.text(piece.setting)
            if piece.text is None
            else piece.text
            for number, piece in pieces
        ]
        try:
            results = self.simulate(texts, seeds, until=until, progress=progress)
        except ScenarioError as refusal:
            if len(pieces) == 1:
                pieces[0][1].refusal = refusal
                return [[None] * len(seeds)]
            # One of them is at fault, which is rare; the others go on without it.
            alone = (self._simulate([each], seeds, until, None, made_for) for each in pieces)
            return [results for [results] in alone]
        done = 0
        for number, condition in enumerate(self.conditions):
            outcomes = []
            for (own, evaluation), row in zip(pieces, results, strict=True):
                for seed, result in zip(seeds, row if own == number else (), strict=False):
                    if result is not None:
                        outcome = condition.outcome(seed, result, whole=made_for in KEPT_WHOLE)
                        evaluation.add(seed, outcome)
                        outcomes.append((evaluation.setting, seed, outcome))
            done += len(outcomes)
            if self.memory is not None:
                self.memory.keep(self.length, made_for, outcomes, number)
        self.account(start, len(texts) * len(seeds), done)
        return results

    def run_in_step(
        self,
        evaluations: Sequence[Evaluation],
        seeds: Sequence[int],
        *,
        until: float | None = None,
        progress: Callable[[int], object] | None = None,
        made_for: SimulatedFor = "search",
    ) -> int:
        """Run so that at any moment all evaluations have met the same seeds.

        When time is up, the seeds that not all of them have met are left out.

        Returns:
            How many they have met.
        """
        met = 0
        for some in self.portions(seeds, len(evaluations), until):
            trial = [each.fresh() for each in evaluations]

            def report(done: int, before: int = met * len(evaluations)) -> None:
                if progress is not None:
                    progress(before + done)

            rows = self.run(trial, some, until=until, progress=report, made_for=made_for)
            if any(None in row for row in rows):
                break
            for each, extra in zip(evaluations, trial, strict=True):
                each.extend(extra)
            met += len(some)
        return met


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
