"""The queues of a Linux machine, for an agent to serve: read and changed by netlink.

A change goes through :class:`vermilion.routers.linux.router.LinuxRouter`: checked, one message,
read back, put back where the kernel took something else.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vermilion.routers.base import RouterError
from vermilion.routers.linux.address import QueueAddress, parse_address
from vermilion.routers.linux.change import plan_change
from vermilion.routers.linux.discovery import discover
from vermilion.routers.linux.reading import reading_of
from vermilion.routers.linux.router import LinuxRouter
from vermilion.routers.linux.wrapping import Unwrapped
from vermilion.routers.snmp.mib import TABLE_OF
from vermilion.routers.snmp.registry import QueuePlace, ServedQueue, TrafficSeen

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from vermilion.routers.base import ParameterValue
    from vermilion.routers.linux.discovery import FoundQueue
    from vermilion.routers.linux.route_socket import Kernel

ALL: Final = "all"
"""Instead of addresses: every queue may be changed."""

_EARLY: Final = "early"
_FULL: Final = "pdrop"


@dataclass(slots=True)
class _Known:
    """What is remembered of one queue.

    Attributes:
        unwrapped: its counters.
        changes: made here.
        last_refusal: why a change was last refused.
    """

    unwrapped: Unwrapped = field(default_factory=Unwrapped)
    changes: int = 0
    last_refusal: str = ""


class LinuxQueues:
    """Every queue of this machine that Vermilion knows the parameters of.

    Args:
        kernel: whom to ask.
        may_change: addresses like "linux:eth0/1:10" of the queues that may be changed, or "all".
        traffic: what a monitor knows of the traffic of a queue.
        clock: seconds, never going back.
        say: is told of every change.

    Raises:
        RouterError: an address that is none.
    """

    def __init__(
        self,
        kernel: Kernel,
        may_change: Collection[str] = (),
        *,
        traffic: Callable[[QueueAddress], TrafficSeen] = lambda _: TrafficSeen(),
        clock: Callable[[], float] = time.monotonic,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._kernel = kernel
        self._may_change_all = ALL in may_change
        self._may_change = {parse_address(each) for each in may_change if each != ALL}
        self._traffic = traffic
        self._clock = clock
        self._say = say
        self._known: dict[tuple[QueuePlace, str], _Known] = {}

    def queues(self) -> Sequence[ServedQueue]:
        """All of them, now.

        Raises:
            RouterError: the kernel does not say them.
        """
        now_s = self._clock()
        found = self._found()
        there = {(_place(each), each.state.kind) for each in found}
        self._known = {key: each for key, each in self._known.items() if key in there}
        return [self._served(each, now_s) for each in found]

    def check(self, place: QueuePlace, parameters: Mapping[str, ParameterValue]) -> None:
        """Whether the kernel would take these.

        Raises:
            RouterError: not; the message names the parameter and what is accepted.
        """
        found = self._at(place)
        try:
            plan_change(found.state, parameters, found.around)
        except RouterError as error:
            self._refused(found, str(error))
            raise

    def apply(self, place: QueuePlace, parameters: Mapping[str, ParameterValue]) -> None:
        """Put these in force: one message to the kernel, or none if they are already.

        Raises:
            RouterError: it was refused, and what was there is in force.
            RouterSilent: it is not known what is in force.
        """
        found = self._at(place)
        sent: list[object] = []
        router = LinuxRouter(str(found.address), kernel=self._kernel, before_change=sent.append)
        try:
            router.apply(parameters)
        except RouterError as error:
            self._refused(found, str(error))
            raise
        if sent:
            self._of(found).changes += 1
            shown = ", ".join(f"{name} {value}" for name, value in parameters.items())
            self._say(f"{found.address}: changed: {shown}")

    def _found(self) -> list[FoundQueue]:
        interfaces = discover(self._kernel.interfaces(), self._kernel.queues())
        return [
            queue
            for each in interfaces
            for queue in each.queues
            if queue.why_not is None and queue.state.kind in TABLE_OF
        ]

    def _at(self, place: QueuePlace) -> FoundQueue:
        for each in self._found():
            if _place(each) == place:
                return each
        message = "the queue is gone"
        raise RouterError(message)

    def _of(self, found: FoundQueue) -> _Known:
        return self._known.setdefault((_place(found), found.state.kind), _Known())

    def _refused(self, found: FoundQueue, why: str) -> None:
        self._of(found).last_refusal = why

    def _served(self, found: FoundQueue, now_s: float) -> ServedQueue:
        state, known = found.state, self._of(found)
        options = state.options
        reading = reading_of(state, known.unwrapped, now_s)
        counters = known.unwrapped.now
        return ServedQueue(
            place=_place(found),
            interface=found.interface.name,
            kind=state.kind,
            discipline=options.discipline or "",
            parameters=found.parameters,
            settable=tuple(options.settable),
            reading=reading,
            may_change=self._may_change_all or found.address in self._may_change,
            early_drops=counters.get(_EARLY),
            full_drops=counters.get(_FULL),
            changes=known.changes,
            last_refusal=known.last_refusal,
            traffic=self._traffic(found.address),
        )


def _place(found: FoundQueue) -> QueuePlace:
    return QueuePlace(found.state.interface, found.state.parent)
