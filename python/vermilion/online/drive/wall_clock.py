"""Searching in a process of its own, so that sampling goes on to the tenth of a second.

A search may die or hang; neither may take the controller along. The worker is one process that is
started before it is needed (the first use of numpy and scipy takes a second), does one task at a
time, and is killed and started anew where it does not answer.

Driving a controller on the wall clock: a router that does not wait.

Observations are taken ten times a second, or as often as the router lets itself be asked, whatever
a search is doing, because it runs in a process of its own. Nothing that a router or a search does
ends the controller; what ends it is a person.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Self

from vermilion.online.drive.driver import Driver
from vermilion.online.events import Began, Command, Found, SearchFailed
from vermilion.online.plan.solve import solve as solve_task
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S
from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.plugins import load_plugins, loaded_files
from vermilion.simulate import mean_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from vermilion.online.decide.controller import Controller
    from vermilion.online.drive.driver import Solve
    from vermilion.online.events import Propose, Search
    from vermilion.online.plan.task import Task
    from vermilion.online.record.journal import Log
    from vermilion.routers.base import ManagedQueue


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
        """Result of the task, if it has ended."""
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
    mean_interval((0.0, 1.0))  # which imports what the first search would otherwise wait for
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


class WallClockDriver(Driver):
    """Looks at the router ten times a second, where it has no longer interval of its own.

    Attributes:
        commands: what a person says; any thread may put something in.
        missed: observations that came too late to be taken.
    """

    def __init__(
        self,
        router: ManagedQueue,
        controller: Controller,
        log: Log,
        *,
        solve: Solve = solve_task,
        on_proposal: Callable[[Propose], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        least_patience_s: float = LEAST_PATIENCE_S,
    ) -> None:
        """Prepare, and start the process that searches.

        Args:
            router: the queue under control; its readings' time is ``clock``'s.
            controller: that has seen nothing yet, or what a journal remembers.
            log: where everything is kept.
            solve: does the searches, in another process: a function of a module.
            on_proposal: told of every proposal; the answer comes as a command.
            clock: seconds, never set back.
            sleep: passes the time.
            least_patience_s: before which no search counts as hung.
        """
        super().__init__(router, controller, log)
        self.commands: SimpleQueue[Command] = SimpleQueue()
        self.missed = 0
        self._on_proposal = on_proposal
        self._clock = clock
        self._sleep = sleep
        self._interval_s = max(SAMPLE_INTERVAL_S, router.reading_interval_s)
        self._worker = SearchWorker(solve, clock, least_patience_s=least_patience_s)

    @property
    def now_s(self) -> float:
        """The clock's time."""
        return self._clock()

    def run(
        self, for_s: float | None = None, progress: Callable[[float], object] = lambda _: None
    ) -> None:
        """Keep the queue tuned, for so long or until a person says stop.

        Args:
            for_s: how long; ``None`` until somebody says stop.
            progress: told how many seconds have passed, again and again.

        Raises:
            RouterError: the router does not answer at the very beginning.
        """
        with self._worker:
            begun_s = self._clock()
            self.give(Began(self._router.parameters()))
            self.give(self._observe())
            tick = 0
            while not self._ended:
                tick = self._wait_for_next(begun_s, tick)
                self.give(self._observe())
                found = self._worker.poll()
                if found is not None:
                    self.give(found)
                self._give_commands()
                progress(self._clock() - begun_s)
                if for_s is not None and self._clock() - begun_s >= for_s:
                    self.give(Command("stop"))
                    for_s = None

    def _wait_for_next(self, begun_s: float, tick: int) -> int:
        """Wait for the next interval to end; those that have passed already are missed."""
        passed = int((self._clock() - begun_s) / self._interval_s)
        following = max(tick + 1, passed)
        self.missed += following - tick - 1
        self._sleep(max(0.0, begun_s + following * self._interval_s - self._clock()))
        return following

    def _give_commands(self) -> None:
        while not self._ended:
            try:
                self.give(self.commands.get_nowait())
            except Empty:
                return

    def _search(self, search: Search) -> None:
        self._worker.begin(search.number, search.task)

    def _cancel(self, number: int) -> None:
        self._worker.cancel(number)

    def _propose(self, proposal: Propose) -> None:
        if self._on_proposal is not None:
            self._on_proposal(proposal)
