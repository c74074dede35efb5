"""Simulations of a figure: many at a time, on common seeds, with progress."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, TypeVar

from vermilion import simulate
from vermilion.simulate.batches import cores
from vermilion_lab.papers.processes import in_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Workbench:
    """Runs what a figure needs.

    A figure announces with :meth:`expect` how many runs it will make, so that somebody who waits
    can be told how far it is.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        *,
        threads: int | None = None,
        progress: Callable[[float], object] | None = None,
    ) -> None:
        """Prepares.

        Args:
            seeds: the replications behind every number.
            threads: runs at a time; ``None`` for one on each core.
            progress: told the part of the announced runs that is done, 0 to 1.
        """
        self.seeds = tuple(seeds)
        self._threads = threads
        self._progress = progress
        self._expected = 0
        self._done = 0

    def expect(self, runs: int) -> None:
        """Announces so many runs."""
        self._expected += runs

    def run_many(
        self, scenarios: Mapping[str, Scenario], *, flow_delays: bool = False
    ) -> dict[str, list[Result]]:
        """Run every scenario with every seed; results have no time series."""
        before = self._done
        outcome = simulate.run_many(
            scenarios,
            self.seeds,
            threads=self._threads,
            progress=None if self._progress is None else lambda done: self._tell(before + done),
            flow_delays=flow_delays,
        )
        self._tell(before + len(scenarios) * len(self.seeds))
        return {
            name: [result for result in results if result is not None]
            for name, results in outcome.items()
        }

    def first_trace(self, scenario: Scenario, probe_interval_s: float) -> Result:
        """A scenario with the first seed, with time series, to be drawn."""
        result = simulate.run(scenario, self.seeds[0], probe_interval_s)
        self._tell(self._done + 1)
        return result

    def traces(self, scenario: Scenario, probe_interval_s: float) -> list[Result]:
        """A scenario with every seed, with time series."""
        return self.each(
            lambda seed: simulate.run(scenario, seed, probe_interval_s), list(self.seeds)
        )

    def each(
        self, work: Callable[[Item], Outcome], items: Iterable[Item], weight: int = 1
    ) -> list[Outcome]:
        """The work done on each item, several at a time; each counts as ``weight`` runs.

        ``work`` must not depend on the order in which items are done. It is done in threads,
        which suits simulations: they run without Python's lock.
        """
        workers = self._threads or cores()
        pool = ThreadPoolExecutor(max_workers=workers)
        try:
            futures = [pool.submit(work, item) for item in items]
            for future in as_completed(futures):
                future.result()
                self._tell(self._done + weight)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()
        return [future.result() for future in futures]

    def each_in_processes(
        self, work: Callable[[Item], Outcome], items: Sequence[Item], weight: int = 1
    ) -> list[Outcome]:
        """The same in processes of their own, for work that is largely Python, such as control.

        ``work`` must be known by its module and name (a function, or a ``partial`` of one), and
        items and outcomes must be copyable to another process. With one thread, or one item,
        everything is done in this process.

        Raises:
            ChildProcessError: a process has ended before its work was done.
        """
        workers = min(self._threads or cores(), len(items))
        if workers <= 1:
            outcomes = []
            for item in items:
                outcomes.append(work(item))
                self._tell(self._done + weight)
            return outcomes
        before = self._done
        return in_processes(work, items, workers, lambda done: self._tell(before + done * weight))

    def _tell(self, done: int) -> None:
        self._done = done
        if self._progress is not None and self._expected > 0:
            self._progress(min(1.0, done / self._expected))
