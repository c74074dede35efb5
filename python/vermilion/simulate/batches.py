"""Batches of simulations on an executor, such as the workers of a cluster.

:func:`run_many` of :mod:`vermilion.simulate.runs` keeps the cores of this machine busy. A
:class:`BatchRunner` stands in its place where there is more than this machine: it hands batches to
a :class:`concurrent.futures.Executor`, which may be of threads, processes or a cluster
(:mod:`vermilion.simulate.batches`). What comes back does not depend on where it was simulated,
for a simulation depends on its text and its seed alone.

- A batch is about a second of work (``least_s``), so that the way there and back costs little.
  What is less than that in all is simulated here.
- A batch that the executor loses, refuses or cannot do is simulated here, and counted
  (``rescued``).
- A worker of another version could give other numbers, so it is refused.
"""

from __future__ import annotations

import logging
import math
import os
import time
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario.errors import ScenarioError
from vermilion.simulate.accepted import check_seeds
from vermilion.simulate.extras import MissingPackageError, optional
from vermilion.simulate.runs import run_jobs, run_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor

    from vermilion.simulate.result import Result


def cores() -> int:
    """The processors that this process may use; where the system does not say, all there are."""
    if hasattr(os, "sched_getaffinity"):  # Linux; not macOS, not Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


Jobs = list[tuple[int, int]]
"""Numbers of the text and the seed of each simulation."""

Outcome = tuple[list["Result | None"] | ScenarioError, float]
"""The results in the order of the jobs, or why one was refused; and the seconds that it took."""

LEAST_S: Final = 1.0
"""Seconds of work in a batch, about."""

_LOOK_S: Final = 0.2
"""Seconds between two looks at the executor's health."""

_FORGET: Final = 0.5
"""Weight of the latest duration in the moving average."""


class ClusterError(Exception):
    """Workers that cannot be used; ``str()`` is the one message a user sees."""


def run_batch(
    texts: Sequence[str], jobs: Jobs, version: str, *, flow_delays: bool = False
) -> Outcome:
    """Simulate one batch in a worker, on one core.

    Args:
        texts: scenarios as the core reads them.
        jobs: which of them with which seed.
        version: of whoever asks.
        flow_delays: as for :func:`vermilion.simulate.run_many`.

    Raises:
        ClusterError: this worker has another version.
    """
    check_version(version)
    begin = time.perf_counter()
    try:
        results: list[Result | None] | ScenarioError = run_jobs(
            texts, jobs, threads=1, flow_delays=flow_delays
        )
    except ScenarioError as refusal:
        results = refusal  # a value, because what is raised may be tried again
    return results, time.perf_counter() - begin


def check_version(version: str) -> None:
    """Refuse another version of the package.

    Raises:
        ClusterError: this one has another version.
    """
    from vermilion import _core

    if version != _core.VERSION:
        message = f"a worker has vermilion {_core.VERSION}; expected {version}, as here"
        raise ClusterError(message)


def _run_task(version: str, task: Callable[..., Any], arguments: Sequence[Any]) -> Any:  # noqa: ANN401 - whatever it returns
    """Run a task of :meth:`BatchRunner.each` in a worker of the same version."""
    check_version(version)
    return task(*arguments, threads=1)


@dataclass(slots=True)
class _Round:
    """The batches of one call.

    Attributes:
        jobs: how many simulations there are.
        progress: told how many are done.
        flow_delays: whether delay, jitter and loss of flows' packets are asked for.
        waiting: batches that have been sent: the first simulation of each, and how many there are.
        lost: those that did not come back.
        refusals: why a batch was refused, by its first simulation.
        found: the results, in order.
        done: how many there are of them.
    """

    jobs: int
    progress: Callable[[int], object]
    flow_delays: bool = False
    waiting: dict[Future[Outcome], tuple[int, int]] = field(default_factory=dict)
    lost: list[tuple[int, int]] = field(default_factory=list)
    refusals: dict[int, ScenarioError] = field(default_factory=dict)
    found: list[Result | None] = field(init=False)
    done: int = 0

    def __post_init__(self) -> None:
        self.found = [None] * self.jobs

    def add(self, first: int, results: Sequence[Result | None]) -> None:
        """Take the results of a batch."""
        self.found[first : first + len(results)] = results
        self.done += len(results)
        self.progress(self.done)


class BatchRunner:
    """Runner of the longer simulations on an executor's workers.

    Args:
        executor: that has the package's version on all its workers.
        cores: how many batches it does at a time.
        least_s: seconds of work in a batch; 0 sends each simulation alone.
        alive: asked now and then whether the executor still has workers; those that wait are
            simulated here when it has none.

    Attributes:
        cores: as given.
        sent: simulations, or tasks, that were done elsewhere.
        rescued: those that were sent, were lost, and were done here.
    """

    def __init__(
        self,
        executor: Executor,
        cores: int,
        *,
        least_s: float = LEAST_S,
        alive: Callable[[], bool] | None = None,
    ) -> None:
        self._executor = executor
        self._least_s = least_s
        self._alive = alive or (lambda: True)
        self._each_s: float | None = None
        self.cores = cores
        self.sent = 0
        self.rescued = 0

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
        """The same as :func:`vermilion.simulate.run_many`, with the same results.

        Args:
            texts: scenarios as the core reads them.
            seeds: common to all.
            threads: how many at a time of those that are simulated here.
            progress: called with the number of simulations done.
            deadline_s: wall seconds after which no further result is waited for.
            flow_delays: as there.

        Raises:
            ScenarioError: a scenario or a seed that is not accepted.
            ClusterError: the workers have another version, or lack the package.
            KeyboardInterrupt: at Ctrl-C.
        """
        seeds = check_seeds(seeds)
        jobs = [(index, seed) for index in range(len(texts)) for seed in seeds]
        size = self._batch_size(len(jobs))
        if size is None:
            begin = time.perf_counter()
            rows = run_many(
                texts,
                seeds,
                threads=threads,
                progress=progress,
                deadline_s=deadline_s,
                flow_delays=flow_delays,
            )
            if all(result is not None for row in rows for result in row):
                at_once = min(len(jobs), threads or cores())
                self._update_duration((time.perf_counter() - begin) * at_once, len(jobs))
            return rows
        round_ = _Round(len(jobs), progress or (lambda _: None), flow_delays)
        flat = self._run_remotely(texts, jobs, size, threads, round_, deadline_s)
        return [flat[index * len(seeds) : (index + 1) * len(seeds)] for index in range(len(texts))]

    def each(
        self, task: Callable[..., Any], arguments: Sequence[Sequence[Any]]
    ) -> Iterator[tuple[int, Any]]:
        """Tasks that are larger than a batch, each on one core of a worker.

        Args:
            task: a function of a module, with an argument ``threads`` besides the others; its
                outcome depends on its arguments alone.
            arguments: of each task.

        Yields:
            The number of a task and its outcome, as they come. Tasks that are lost are done here.

        Raises:
            ClusterError: the workers have another version, or lack the package.
        """
        from vermilion import _core

        waiting: dict[Future[Any], int] = {}
        lost: list[int] = []
        try:
            for number, some in enumerate(arguments):
                waiting[self._submit_task(_run_task, _core.VERSION, task, some)] = number
            while waiting:
                ready, _ = wait(waiting, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
                for future in ready:
                    number = waiting.pop(future)
                    try:
                        outcome = _result_of(future)
                    except LostError:
                        lost.append(number)
                    else:
                        self.sent += 1
                        yield number, outcome
                if not ready and not self._alive():
                    break
        finally:
            for future in waiting:
                future.cancel()
        for number in sorted([*lost, *waiting.values()]):
            yield number, task(*arguments[number], threads=None)
            self.rescued += 1

    def _batch_size(self, jobs: int) -> int | None:
        """Number of simulations in a batch; ``None`` if all together are not worth sending."""
        if self._each_s is None or self._each_s <= 0.0 or self._least_s == 0.0:
            return 1
        batches = int(jobs * self._each_s / self._least_s)
        return None if batches < 1 else math.ceil(jobs / batches)

    def _update_duration(self, seconds: float, simulations: int) -> None:
        each = seconds / simulations
        known = each if self._each_s is None else self._each_s
        self._each_s = (1.0 - _FORGET) * known + _FORGET * each

    def _run_remotely(
        self,
        texts: Sequence[str],
        jobs: Jobs,
        size: int,
        threads: int | None,
        round_: _Round,
        deadline_s: float | None,
    ) -> list[Result | None]:
        until = math.inf if deadline_s is None else time.monotonic() + deadline_s
        try:
            for first in range(0, len(jobs), size):
                some = jobs[first : first + size]
                round_.waiting[self._submit(texts, some, round_)] = (first, len(some))
            while round_.waiting and time.monotonic() < until:
                patience = max(0.0, min(_LOOK_S, until - time.monotonic()))
                ready, _ = wait(round_.waiting, timeout=patience, return_when=FIRST_COMPLETED)
                for future in ready:
                    self._receive(future, round_)
                if not ready and not self._alive():
                    break
        finally:
            for future in round_.waiting:
                future.cancel()
        if round_.refusals:
            raise round_.refusals[min(round_.refusals)]
        lost = round_.lost + list(round_.waiting.values())
        for first, count in sorted(lost):
            left = None if deadline_s is None else until - time.monotonic()
            if left is not None and left <= 0.0:
                break
            some = jobs[first : first + count]
            done = run_jobs(
                texts,
                some,
                threads=threads,
                deadline_s=left,
                flow_delays=round_.flow_delays,
            )
            round_.add(first, done)
            self.rescued += count
        return round_.found

    def _receive(self, future: Future[Outcome], round_: _Round) -> None:
        """Take the results of a batch, or count it as lost."""
        first, count = round_.waiting.pop(future)
        try:
            results, seconds = _result_of(future)
        except LostError:
            round_.lost.append((first, count))
            return
        self._update_duration(seconds, count)
        if isinstance(results, ScenarioError):
            round_.refusals[first] = results
            return
        self.sent += count
        round_.add(first, results)

    def _submit(self, texts: Sequence[str], jobs: Jobs, round_: _Round) -> Future[Outcome]:
        """Submit a batch with the scenarios that it needs."""
        from vermilion import _core

        needed = {index: place for place, index in enumerate(dict.fromkeys(j for j, _ in jobs))}
        task = partial(run_batch, flow_delays=True) if round_.flow_delays else run_batch
        return self._submit_task(
            task,
            [texts[index] for index in needed],
            [(needed[index], seed) for index, seed in jobs],
            _core.VERSION,
        )

    def _submit_task(self, task: Callable[..., Any], *arguments: Any) -> Future[Any]:  # noqa: ANN401 - a task's own
        """Submit a task; one that the executor refuses is lost, like one that does not come back.

        A pool whose worker has died refuses everything from then on.
        """
        try:
            return self._executor.submit(task, *arguments)
        except Exception as error:  # noqa: BLE001 - whatever an executor may raise
            refused: Future[Any] = Future()
            refused.set_exception(LostError(str(error)))
            return refused


class LostError(Exception):
    """A batch or a task that did not come back; it can be done here."""


def _result_of(future: Future[Any]) -> Any:  # noqa: ANN401 - of a batch or a task
    """Result of a batch or a task.

    Raises:
        ClusterError: the workers cannot do it at all.
        LostError: whatever else ended it.
    """
    try:
        return future.result()
    except ClusterError:
        raise
    except ImportError as error:
        message = f"a worker cannot import vermilion ({error}); expected the same version as here"
        raise ClusterError(message) from None
    except (Exception, CancelledError) as error:
        raise LostError from error


_CONNECT_S: Final = 10.0
"""Seconds within which a scheduler has to answer, and to have a worker."""

_PATIENCE_S: Final = 15.0
"""Seconds without any worker after which waiting is given up; one that is restarted needs a few."""

_RETRIES: Final = 2
"""Number of retries of a batch that fails on a worker."""


@contextmanager
def dask_workers(
    address: str, *, least_s: float = LEAST_S, connect_s: float | None = None
) -> Iterator[BatchRunner]:
    """The workers that a Dask scheduler has, for as long as the context lasts.

    Args:
        address: of the scheduler, like ``tcp://10.0.0.1:8786``.
        least_s: seconds of work in a batch.
        connect_s: within which the scheduler has to answer; ten by default.

    Raises:
        ClusterError: there is no Dask, no scheduler, or no worker.
    """
    try:
        distributed = optional("distributed", "--dask", "dask")
    except MissingPackageError as error:
        raise ClusterError(str(error)) from None
    connect_s = connect_s or _CONNECT_S
    # What Dask would log about workers that go is in the outcome's count of rescued batches.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=connect_s, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        message = (
            f'"{address}" is not reached ({reason}); expected a Dask scheduler, like '
            "tcp://10.0.0.1:8786"
        )
        raise ClusterError(message) from None
    try:
        yield _runner(client, address, least_s, connect_s)
    finally:
        client.close()


def _runner(client: Any, address: str, least_s: float, connect_s: float) -> BatchRunner:  # noqa: ANN401 - an optional package has no types here
    try:
        client.wait_for_workers(1, timeout=connect_s)
    except TimeoutError:
        message = f'the scheduler "{address}" has no worker; expected at least one'
        raise ClusterError(message) from None
    cores = sum(client.nthreads().values())
    executor = client.get_executor(pure=False, retries=_RETRIES)
    return BatchRunner(executor, max(1, cores), least_s=least_s, alive=_Pulse(client).beats)


class _Pulse:
    """Heartbeat of a cluster, asked while nothing comes back."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - dask has no types
        self._client = client
        self._last = time.monotonic()

    def beats(self) -> bool:
        """Return whether it has workers, or had some a moment ago."""
        now = time.monotonic()
        try:
            if self._client.status == "running" and self._client.nthreads():
                self._last = now
        except (OSError, TimeoutError):
            pass
        return now - self._last < _PATIENCE_S
