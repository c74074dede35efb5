"""Searching in a process of its own, so that sampling goes on to the tenth of a second.

A search may die or hang; neither may take the controller along. The worker is one process that is
started before it is needed (the first use of numpy and scipy takes a second), does one task at a
time, and is killed and started anew where it does not answer.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
from typing import TYPE_CHECKING, Self

from vermilion.online.events import Found, SearchFailed
from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.plugins import load_plugins, loaded_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from vermilion.online.drive.pacing import Solve
    from vermilion.online.plan.task import Task

PATIENCE = 5.0
"""A search counts as hung after so many of its deadlines, and :data:`LEAST_PATIENCE_S`."""

LEAST_PATIENCE_S = 10.0


class SearchWorker:
    """One process that does searches.

    Use as a context manager, or call :meth:`close`.
    """

    def __init__(
        self,
        solve: Solve,
        clock: Callable[[], float] = time.monotonic,
        *,
        least_patience_s: float = LEAST_PATIENCE_S,
    ) -> None:
        """Start the process.

        Args:
            solve: a function of a module, to be called there.
            clock: seconds.
            least_patience_s: before which no search counts as hung.
        """
        self._solve = solve
        self._least_patience_s = least_patience_s
        self._clock = clock
        self._busy: tuple[int, float, float] | None = None  # number, begun, patience
        self._start()

    def begin(self, number: int, task: Task) -> None:
        """Begin a task; one that is still being done is given up."""
        if self._busy is not None:
            self._restart()
        patience_s = max(PATIENCE * task.deadline_s, self._least_patience_s)
        self._busy = (number, self._clock(), patience_s)
        try:
            self._connection.send(task)
        except OSError:  # it has died since; noticed at the next poll
            return

    def cancel(self, number: int) -> None:
        """Nobody waits for this task any more."""
        if self._busy is not None and self._busy[0] == number:
            self._restart()

    def poll(self) -> Found | SearchFailed | None:
        """What the task came to, if it has ended."""
        if self._busy is None:
            return None
        number, begun_s, patience_s = self._busy
        took_s = self._clock() - begun_s
        try:
            if self._connection.poll():
                finding, error = self._connection.recv()
                self._busy = None
                return SearchFailed(number, error) if error else Found(number, finding, took_s)
            alive = self._process.is_alive()
        except (EOFError, OSError):
            alive = False
        if alive and took_s <= patience_s:
            return None
        self._restart()
        hung = f"it has not ended after {took_s:.0f} s"
        return SearchFailed(number, hung if alive else "the process that searches has died")

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    @property
    def process_id(self) -> int | None:
        """Of the process, for whoever wants to know what it costs."""
        return self._process.pid

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        given = (theirs, self._solve, loaded_files())
        self._process = context.Process(target=_work, args=given, daemon=True)
        self._process.start()
        theirs.close()

    def _restart(self) -> None:
        self._busy = None
        self.close()
        self._start()


def _work(connection: Connection, solve: Solve, plugins: Sequence[Path]) -> None:
    """Do tasks until nobody sends any."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the controller's to answer
    _warm_up()
    for each in plugins:
        # A file that has gone since is missed only by a search that needs it, which then says so.
        with contextlib.suppress(ScenarioError):
            load_plugins([each])
    with contextlib.suppress(EOFError, OSError):
        while True:
            task = connection.recv()
            try:
                connection.send((solve(task), ""))
            except Exception as error:  # noqa: BLE001 - whatever it is, the controller goes on
                connection.send((None, f"{type(error).__name__}: {error}"))


def _warm_up() -> None:
    """Import what the first search would otherwise wait for."""
    from vermilion.simulate import mean_interval

    mean_interval((0.0, 1.0))
