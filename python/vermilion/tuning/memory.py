"""Memory of a tuning's simulations, so that it can be stopped and gone on with.

Without a deadline a tuning is a function of its arguments: search, screening, race and comparison
follow from what the simulations say. So none of their states has to be saved. Who keeps the
outcome of every simulation can begin the same tuning again: what is known is taken from the
memory, what is not is simulated, and the outcome is that of a tuning that was never stopped. The
memory is a file in :mod:`vermilion.tuning.study`.

Checks of a recommendation (baselines, and the conditions around it) are simulated after the tuning,
of scenarios that are no settings of it. Each run is remembered by what it was: the text that the
core reads, the seed, and the version. A study that is gone on with repeats none of them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, cast

from vermilion.simulate import Result
from vermilion.simulate.batches import cores
from vermilion.simulate.runs import run_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from vermilion.simulate.result_data import ResultData
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.fidelity import FidelityReport

SimulatedFor = Literal[
    "incumbent", "pilot", "search", "refinement", "climb", "re-evaluation", "comparison"
]
"""What a simulation was made for."""

KEPT_WHOLE: frozenset[SimulatedFor] = frozenset({"incumbent", "comparison"})
"""Of these, all that was measured is remembered: more than objective and constraints is used."""


@dataclass(frozen=True, slots=True)
class KeptSimulation:
    """One remembered simulation.

    Attributes:
        objective: what the objective asks to be minimised; infinite if not measured.
        constrained: for each constraint, its metric's values in each phase.
        not_measured: why the objective is infinite, if so.
        data: all that was measured (``Result.data``), where it was kept.
    """

    objective: float
    constrained: Sequence[Sequence[float | None]]
    not_measured: str | None
    data: ResultData | None = None


@dataclass(frozen=True, slots=True)
class Used:
    """A setting whose value the search has used.

    Attributes:
        number: its place in the order of use, from 1.
        setting: values of the tuned parameters, by path.
        length: the fraction of the measured time that was simulated.
        seeds: how many it has met; fewer than the others if one showed it to be hopeless.
        told: what the search was told, which orders settings: below 1 for those that keep the
            constraints.
        objective: the mean over its seeds, to be minimised; infinite if not measured.
        violation: how badly it breaks the constraints; 0 if it keeps them.
        simulations: of the whole tuning by then. It depends on how many run at a time.
    """

    number: int
    setting: Setting
    length: float
    seeds: int
    told: float
    objective: float
    violation: float
    simulations: int


class SimulationMemory(Protocol):
    """Keeps the simulations of a tuning's scenarios."""

    def recall(
        self, length: float, setting: Setting, seeds: Sequence[int], scenario: int = 0
    ) -> Mapping[int, KeptSimulation]:
        """Return the known simulations of a setting, by seed.

        Args:
            length: the fraction of the scenario's measured time.
            setting: values of the tuned parameters, by path.
            seeds: those that are asked about.
            scenario: its place among several.
        """

    def keep(
        self,
        length: float,
        made_for: SimulatedFor,
        outcomes: Iterable[tuple[Setting, int, KeptSimulation]],
        scenario: int = 0,
    ) -> None:
        """Remembers simulations, all or none of them: setting, seed, outcome."""


class Memory(SimulationMemory, Protocol):
    """Keeps a tuning: its simulations, and what its search has made of them."""

    def use(self, used: Sequence[Used]) -> None:
        """Remembers settings whose values the search has used, all or none of them."""

    def fidelity(self) -> FidelityReport | None:
        """Earlier decision on short simulations, which a deadline may have made."""

    def keep_fidelity(self, report: FidelityReport) -> None:
        """Remembers what was found about short simulations."""


class Runner(Protocol):
    """Whatever simulates many: the workers of a cluster, or this machine with a memory."""

    cores: int

    def run_many(
        self,
        texts: Sequence[str],
        seeds: Sequence[int],
        *,
        threads: int | None = None,
        progress: Callable[[int], object] | None = None,
        deadline_s: float | None = None,
        flow_delays: bool = False,
    ) -> list[list[Result | None]]:
        """The same as :func:`vermilion.simulate.run_many`, of texts that the core reads."""


class RunMemory(Protocol):
    """Keeps runs by a text that says what they were."""

    def recall_run(self, key: str) -> Mapping[str, Any] | None:
        """Stored measurements; ``None`` if there are none."""

    def keep_runs(self, runs: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Remembers runs, all or none of them."""


class RememberedRuns:
    """Simulates what is not known yet.

    Args:
        memory: what is known.
        workers: that simulate; ``None`` for this machine.
        threads: simulations at a time; ``None`` for one on each core.

    Attributes:
        cores: how many simulations run at a time.
    """

    def __init__(self, memory: RunMemory, workers: Runner | None, threads: int | None) -> None:
        self._memory = memory
        self._workers = workers
        self.cores = (threads or cores()) if workers is None else workers.cores

    def run_many(
        self,
        texts: Sequence[str],
        seeds: Sequence[int],
        *,
        threads: int | None = None,
        progress: Callable[[int], object] | None = None,
        deadline_s: float | None = None,
        flow_delays: bool = False,
    ) -> list[list[Result | None]]:
        """The same as :func:`vermilion.simulate.run_many`, of texts that the core reads."""
        keys = [[_key(text, seed, flow_delays=flow_delays) for seed in seeds] for text in texts]
        rows = [[self._stored_result(key) for key in row] for row in keys]
        missing = [number for number, row in enumerate(rows) if None in row]
        done = (len(texts) - len(missing)) * len(seeds)
        if not missing:
            if progress is not None:
                progress(done)
            return rows
        run = run_many if self._workers is None else self._workers.run_many
        new = run(
            [texts[number] for number in missing],
            seeds,
            threads=threads,
            progress=None if progress is None else lambda count: progress(done + count),
            deadline_s=deadline_s,
            flow_delays=flow_delays,
        )
        self._memory.keep_runs(
            (key, result.data)
            for number, row in zip(missing, new, strict=True)
            for key, result in zip(keys[number], row, strict=True)
            if result is not None
        )
        for number, row in zip(missing, new, strict=True):
            # Time may be up before what was known of a text has been simulated again.
            pairs = zip(row, rows[number], strict=True)
            rows[number] = [known if fresh is None else fresh for fresh, known in pairs]
        return rows

    def _stored_result(self, key: str) -> Result | None:
        data = self._memory.recall_run(key)
        return None if data is None else Result(cast("ResultData", dict(data)))


def _key(text: str, seed: int, *, flow_delays: bool) -> str:
    """Digest of a run."""
    from vermilion import _core

    said = "\0".join([_core.VERSION, str(seed), str(flow_delays), text])
    return hashlib.sha256(said.encode()).hexdigest()
