"""Driving a controller on the wall clock: a router that does not wait.

Observations are taken ten times a second, or as often as the router lets itself be asked, whatever
a search is doing, because it runs in a process of its own. Nothing that a router or a search does
ends the controller; what ends it is a person.
"""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from vermilion.online.drive.driver import Driver
from vermilion.online.drive.worker import LEAST_PATIENCE_S, SearchWorker
from vermilion.online.events import Began, Command
from vermilion.online.plan.solve import solve as solve_task
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.online.decide.controller import Controller
    from vermilion.online.drive.pacing import Solve
    from vermilion.online.effects import Propose, Search
    from vermilion.online.record.log import Log
    from vermilion.routers.base import ManagedQueue


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
