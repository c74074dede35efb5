"""Base of all drivers: pass events to a controller and carry out its effects.

A driver owns what the controller must not touch: the router, the clock, the searches, the journal.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide.ownership import stands
from vermilion.online.decide.step import step
from vermilion.online.events import (
    Apply,
    Cancel,
    Done,
    End,
    Lost,
    Observed,
    Overtaken,
    Propose,
    ReadBack,
    Record,
    Refused,
    Search,
    Silent,
)
from vermilion.online.record.journal import JournalError
from vermilion.routers.base import RouterError, RouterSilent

if TYPE_CHECKING:
    from vermilion.online.decide.controller import Controller
    from vermilion.online.events import Effect, Event
    from vermilion.online.record.journal import Log
    from vermilion.routers.base import ManagedQueue, Observation

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
