"""Base of all drivers: pass events to a controller and carry out its effects.

A driver owns what the controller must not touch: the router, the clock, the searches, the journal.

Accounting of search time in network time.

While the controller computes, the network goes on under the old setting. A controller of a
real router computes beside the passing time; a controller of a simulated network must be
charged for it, or it would look quicker than it is. So the driver does the work at once, and
hands its finding over only when the network's time has reached the end of it.

Driving a controller on a network's own time: a simulated one, or a kernel in virtual time.

The network stands still while the controller thinks, and is charged for it (see
``Pace``), so that a run repeats exactly where searches try a fixed
number of settings.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide.ownership import stands
from vermilion.online.decide.step import step
from vermilion.online.events import (
    Apply,
    Began,
    Cancel,
    Command,
    Done,
    End,
    Found,
    Lost,
    Observed,
    Overtaken,
    Propose,
    ReadBack,
    Record,
    Refused,
    Search,
    SearchFailed,
    Silent,
)
from vermilion.online.plan.solve import solve as solve_task
from vermilion.online.record.journal import JournalError
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S
from vermilion.routers.base import RouterError, RouterSilent

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.online.decide.controller import Controller
    from vermilion.online.events import Effect, Event
    from vermilion.online.plan.task import Finding, Task
    from vermilion.online.record.journal import Log
    from vermilion.routers.base import ManagedQueue, Observation

    Solve = Callable[[Task], Finding]

    """Does the work; :func:`vermilion.online.plan.solve.solve` outside of tests."""

    Pace = Callable[[Task, Solve], tuple[Finding, float]]

    """Does a piece of work; the finding, and the network's time that it is charged, s."""


_OVERTAKEN = "it was not sent, because somebody else has changed the queue"
_LARGEST_STEP_S = 2.0  # by which a router's clock may be off before it counts as another clock


class Driver(ABC):
    """Carries out what a controller asks for.

    Attributes:
        controller: as it is now.
    """

    def __init__(self, router: ManagedQueue, controller: Controller, log: Log) -> None:
        """Prepare.

        Args:
            router: the queue under control.
            controller: that has seen nothing yet, or what a journal remembers.
            log: where everything is kept.
        """
        self.controller = controller
        self._router = router
        self._log = log
        self._events: deque[Event] = deque()
        self._read_back = False
        self._ahead_s: dict[str, float] = {}  # of the clock of the router, or of each
        self._ended = False

    @property
    @abstractmethod
    def now_s(self) -> float:
        """The time of whatever happens now."""

    @abstractmethod
    def _search(self, search: Search) -> None:
        """Begin a search; its finding is given to the controller when it is due."""

    @abstractmethod
    def _cancel(self, number: int) -> None:
        """Give a search up."""

    @abstractmethod
    def _propose(self, proposal: Propose) -> None:
        """Ask a person; the answer is given to the controller when it comes."""

    def give(self, event: Event) -> None:
        """Give the controller an event, carry out what it asks for, and give it the answers."""
        self._events.append(event)
        while self._events:
            self.controller, effects = step(self.controller, self._events.popleft(), self.now_s)
            for effect in effects:
                self._carry_out(effect)

    def _observe(self) -> Observed | Silent:
        """Look at the router once."""
        with_parameters, self._read_back = self._read_back, False
        try:
            observation = self._on_our_clock(self._router.observe())
            return Observed(observation, self._router.parameters() if with_parameters else None)
        except RouterError as error:
            self._read_back = with_parameters
            return Silent(str(error))

    def _on_our_clock(self, observation: Observation, queue: str = "") -> Observation:
        """The observation as of this driver's time, whatever has become of the router's clock."""
        if observation.queues:
            queues = {
                name: self._on_our_clock(each, name) for name, each in observation.queues.items()
            }
            observation = replace(observation, queues=queues)
        read_s = observation.reading.time_s
        if not math.isfinite(read_s):
            return observation
        ahead_s = self._ahead_s.get(queue, 0.0)
        if abs(read_s - ahead_s - self.now_s) > _LARGEST_STEP_S:
            ahead_s = self._ahead_s[queue] = read_s - self.now_s
        if ahead_s == 0.0:
            return observation
        reading = replace(observation.reading, time_s=read_s - ahead_s)
        return replace(observation, reading=reading)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Record(entry):
                self._log.keep(entry)
            case Apply():
                self._events.append(self._apply(effect))
            case Search():
                self._search(effect)
            case Cancel(number):
                self._cancel(number)
            case Propose():
                self._propose(effect)
            case ReadBack():
                self._read_back = True
            case End():
                self._ended = True

    def _apply(self, effect: Apply) -> Done | Refused | Lost | Overtaken:
        """Change the router; unless it takes something back, not before that is written down."""
        unwritten = ""
        if effect.takes_back:
            unwritten = self._log.intend_anyway(self.now_s, effect)
        else:
            try:
                self._log.intend(self.now_s, effect)
            except JournalError as error:
                return Refused(effect.number, str(error), was_sent=False)
        answer = self._change_router(effect)
        if isinstance(answer, Overtaken):
            self._log.answered(self.now_s, Refused(effect.number, _OVERTAKEN, was_sent=False))
        else:
            self._log.answered(self.now_s, answer)
        if unwritten and isinstance(answer, Done):
            return replace(answer, unwritten=unwritten)
        return answer

    def _change_router(self, effect: Apply) -> Done | Refused | Lost | Overtaken:
        """Change the router if nobody else has, and read back what is in force then."""
        try:
            if effect.believed:
                found = self._router.parameters()
                if not stands(self._router.held, found, effect.believed, effect.unanswered):
                    return Overtaken(effect.number, found)
            self._router.apply(effect.parameters)
        except RouterSilent as error:
            return Lost(effect.number, str(error))
        except RouterError as error:
            return Refused(effect.number, str(error))
        try:
            return Done(effect.number, self._router.parameters())
        except RouterError as error:
            return Lost(effect.number, str(error))


def measured_pace(task: Task, solve: Solve) -> tuple[Finding, float]:
    """Charge the wall time that the work really took, even beyond the deadline."""
    begun = time.perf_counter()
    finding = solve(task)
    return finding, time.perf_counter() - begun


def fixed_pace(task: Task, solve: Solve) -> tuple[Finding, float]:
    """Charge the whole deadline whatever the machine: runs repeat exactly."""
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
            self._look_at(begun_s + tick * self._interval_s)
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
            self._look_at(from_s + tick * self._interval_s)

    def _look_at(self, now_s: float) -> None:
        """Let the network's time pass until then, and look at the router."""
        self._now_s = now_s
        self._router.wait(now_s)
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
            finding, took_s = self._pace(search.task, self._solve)
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
