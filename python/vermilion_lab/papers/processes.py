"""Work shared out among processes, where threads would wait for each other's Python.

Processes are started afresh, not forked: a fork of a process with threads may inherit a lock that
nobody will ever open. They end with the call, whatever ends it.
"""

from __future__ import annotations

import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def in_processes(
    work: Callable[[Item], Outcome],
    items: Sequence[Item],
    workers: int,
    progress: Callable[[int], object],
) -> list[Outcome]:
    """The work done on each item, in so many processes; outcomes are in the order of the items.

    Args:
        work: a function of a module, or a ``partial`` of one.
        items: may be done in any order.
        workers: how many processes, at least 1.
        progress: told how many items are done.

    Raises:
        ChildProcessError: a process has ended before its work was done.
        Exception: the first that ``work`` raised; what had not begun is not done.
        KeyboardInterrupt: at Ctrl-C; the processes have been ended.
    """
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_ignore_interrupts
    )
    try:
        futures = [pool.submit(work, item) for item in items]
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()
            progress(done)
    except BaseException as failure:
        pool.shutdown(wait=False, cancel_futures=True)
        # What is under way would go on for seconds, and the interpreter would wait for it.
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        if isinstance(failure, BrokenProcessPool):
            message = "a worker process has ended before its work was done"
            raise ChildProcessError(message) from failure
        raise
    pool.shutdown()
    return [future.result() for future in futures]


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; the one that has started the others acts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
