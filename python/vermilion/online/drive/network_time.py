"""Accounting of search time in network time.

While the controller computes, the network goes on under the old setting. A controller of a
real router computes beside the passing time; a controller of a simulated network must be
charged for it, or it would look quicker than it is. So the driver does the work at once, and
hands its finding over only when the network's time has reached the end of it.

Driving a controller on a network's own time: a simulated one, or a kernel in virtual time.

The network stands still while the controller thinks, and is charged for it (see
:class:`Pace`), so that a run repeats exactly where searches try a fixed
number of settings.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from vermilion.online.drive.driver import Driver
from vermilion.online.events import Began, Command, Found, SearchFailed
from vermilion.online.plan.solve import solve as solve_task
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S
from vermilion.routers.base import RouterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.online.decide.controller import Controller
    from vermilion.online.events import Propose, Search
    from vermilion.online.plan.task import Finding, Task
    from vermilion.online.record.journal import Log
    from vermilion.routers.base import ManagedQueue

    Solve = Callable[[Task], Finding]
    """Does the work; :func:`vermilion.online.plan.solve.solve` outside of tests."""


class Pace(ABC):
    """Network time charged for a piece of work."""

    @abstractmethod
    def work(self, task: Task, solve: Solve) -> tuple[Finding, float]:
        """Do the work; the finding, and the seconds that it is charged."""


class MeasuredPace(Pace):
    """Charges the wall time the work really took."""

    def work(self, task: Task, solve: Solve) -> tuple[Finding, float]:
        """Do the work and charge what it took, even beyond the deadline."""
        begun = time.perf_counter()
        finding = solve(task)
        return finding, time.perf_counter() - begun


class FixedPace(Pace):
    """Charges the whole deadline whatever the machine: runs repeat exactly."""

    def work(self, task: Task, solve: Solve) -> tuple[Finding, float]:
        """Do the work and charge the deadline."""
        return solve(task), task.deadline_s


_EPSILON_S = 1e-9
_LONGEST_END_S = 30
_MOST_LOOKS = 10


class NetworkTimeDriver(Driver):
    """Lets the network's time pass in tenths of a second, or in the router's own longer steps."""

    def __init__(
        self,
        router: ManagedQueue,
        controller: Controller,
        log: Log,
        pace: Pace,
        *,
        solve: Solve = solve_task,
        answer_proposal: Callable[[Propose], Command | None] = lambda _: None,
    ) -> None:
        """Prepare.

        Args:
            router: the queue under control.
            controller: that has seen nothing yet, or what a journal remembers.
            log: where everything is kept.
            pace: charges the network for the time that searches take.
            solve: does the searches.
            answer_proposal: what a person says to a proposal; ``None`` for nothing.
        """
        super().__init__(router, controller, log)
        self._pace = pace
        self._solve = solve
        self._answer_proposal = answer_proposal
        self._searches: dict[int, tuple[float, Found]] = {}
        self._now_s = 0.0
        self._interval_s = max(SAMPLE_INTERVAL_S, router.reading_interval_s)

    @property
    def now_s(self) -> float:
        """The network's time at the last observation."""
        return self._now_s

    def run(self, until_s: float, progress: Callable[[float], object] = lambda _: None) -> None:
        """Keep the queue tuned until the network's time reaches ``until_s``.

        Args:
            until_s: when to stop.
            progress: told the network's time, again and again.
        """
        begun_s = self._now_s = self._first_time_s()
        self.give(Began(self._router.parameters()))
        self.give(self._observe())
        for tick in range(1, round((until_s - begun_s) / self._interval_s) + 1):
            self._now_s = begun_s + tick * self._interval_s
            self._router.wait(self._now_s)
            self.give(self._observe())
            self._give_findings()
            progress(self._now_s)
            if self._ended:
                return
        self.give(Command("stop"))
        self._wait_for_end(until_s)

    def _first_time_s(self) -> float:
        """The network's time now. A counter that tells none for a moment is asked again."""
        for _ in range(_MOST_LOOKS):
            now_s = self._router.read().time_s
            if math.isfinite(now_s):
                return now_s
        message = f"the network says that it is {now_s} s; expected a number of seconds"
        raise RouterError(message)

    def _wait_for_end(self, from_s: float) -> None:
        """Let the time pass that it takes to put the first setting back over a bad line."""
        for tick in range(1, round(_LONGEST_END_S / self._interval_s)):
            if self._ended:
                return
            self._now_s = from_s + tick * self._interval_s
            self._router.wait(self._now_s)
            self.give(self._observe())

    def _give_findings(self) -> None:
        """The findings of all searches that have ended by now."""
        due = [
            number
            for number, (due_s, _) in self._searches.items()
            if self._now_s >= due_s - _EPSILON_S
        ]
        for number in due:
            if number in self._searches:  # it may be cancelled by what another one found
                self.give(self._searches.pop(number)[1])

    def _search(self, search: Search) -> None:
        try:
            finding, took_s = self._pace.work(search.task, self._solve)
        except Exception as error:  # noqa: BLE001 - as with a process that dies: the queue goes on
            self._events.append(SearchFailed(search.number, f"{type(error).__name__}: {error}"))
            return
        found = Found(search.number, finding, took_s)
        self._searches[search.number] = (self._now_s + took_s, found)

    def _cancel(self, number: int) -> None:
        self._searches.pop(number, None)

    def _propose(self, proposal: Propose) -> None:
        command = self._answer_proposal(proposal)
        if command is not None:
            self._events.append(command)
