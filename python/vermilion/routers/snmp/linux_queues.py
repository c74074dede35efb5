"""The queues of a Linux machine, for an agent to serve: read and changed by netlink.

A change goes through :class:`vermilion.routers.linux.router.LinuxRouter`: checked, one message,
read back, put back where the kernel took something else. Monitors beside the agent listen to whole
interfaces: queues below one shaper are each told the traffic of all of them.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol

from vermilion.routers.base import RouterError
from vermilion.routers.linux.change import plan_change
from vermilion.routers.linux.discovery import QueueAddress, discover, parse_address
from vermilion.routers.linux.router import LinuxRouter
from vermilion.routers.linux.state import Unwrapped, reading_of
from vermilion.routers.snmp.mib import TABLE_OF

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from vermilion.monitor import InterfaceWatch
    from vermilion.routers.base import ParameterValue, Reading
    from vermilion.routers.linux.discovery import FoundQueue, QueueAddress
    from vermilion.routers.linux.route_socket import Kernel


@dataclass(frozen=True, slots=True, order=True)
class QueuePlace:
    """Place of a queue.

    Attributes:
        interface: the number of its interface (``ifIndex``).
        parent: the class that it is below, as one number of 32 bits.
    """

    interface: int
    parent: int


@dataclass(frozen=True, slots=True)
class TrafficSeen:
    """Traffic of one queue as a passive monitor knows it; ``None``: not known.

    Attributes:
        flows: that have begun and not ended.
        mean_round_trip_s: of the last seconds.
        least_round_trip_s: likewise.
    """

    flows: int | None = None
    mean_round_trip_s: float | None = None
    least_round_trip_s: float | None = None


@dataclass(frozen=True, slots=True)
class ServedQueue:
    """One queue at one moment.

    Attributes:
        place: where it is.
        interface: the name of its interface.
        kind: the kernel's word, like "red".
        discipline: Vermilion's name for what it does.
        parameters: in force, by their names in the discipline's table.
        settable: the names of those that can be changed.
        reading: its counters.
        may_change: whether the agent lets it be changed.
        early_drops: of ``reading.drops`` those by the coin; ``None`` where that is not counted.
        full_drops: those for want of room; likewise.
        changes: made through this agent.
        last_refusal: why a change was last refused; empty for never.
        traffic: what is known of it.
    """

    place: QueuePlace
    interface: str
    kind: str
    discipline: str
    parameters: Mapping[str, ParameterValue]
    settable: Sequence[str]
    reading: Reading
    may_change: bool = False
    early_drops: int | None = None
    full_drops: int | None = None
    changes: int = 0
    last_refusal: str = ""
    traffic: TrafficSeen = field(default_factory=TrafficSeen)


class QueueRegistry(Protocol):
    """Queues that can be read, and some of which can be changed."""

    def queues(self) -> Sequence[ServedQueue]:
        """Current state of all queues.

        Raises:
            RouterError: they cannot be read.
        """

    def check(self, place: QueuePlace, parameters: Mapping[str, ParameterValue]) -> None:
        """Check that these could be put in force over the present ones.

        Raises:
            RouterError: not; the message says which and why.
        """

    def apply(self, place: QueuePlace, parameters: Mapping[str, ParameterValue]) -> None:
        """Put these in force over the present ones: all of them or none.

        Raises:
            RouterError: it was refused, and what was there is in force.
            RouterSilent: it is not known what is in force.
        """


LATE_S: Final = 10.0
"""Round trips of so many seconds are told."""

TAKE_IN_S: Final = 0.1
"""Between two looks at what has come."""


@dataclass(slots=True)
class _InterfaceTraffic:
    """Traffic heard on one interface.

    Attributes:
        watch: its monitor.
        is_gone: whether the interface cannot be listened to now.
        flows: that have begun and not ended.
        trips: when they were taken in, how many round trips, their sum and the least, seconds.
    """

    watch: InterfaceWatch
    is_gone: bool = False
    flows: int | None = None
    trips: deque[tuple[float, int, float, float]] = field(default_factory=deque)


class SeenTraffic:
    """Monitors of some interfaces.

    Args:
        watches: the monitors.
        clock: seconds, never going back.
        say: is told when an interface can no longer be listened to, and when it can again.
    """

    def __init__(
        self,
        watches: Iterable[InterfaceWatch],
        *,
        clock: Callable[[], float] = time.monotonic,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._heard = {each.interface: _InterfaceTraffic(each) for each in watches}
        self._clock = clock
        self._say = say
        self._lock = Lock()

    def take_in(self) -> None:
        """Hand over what has come since the last call."""
        with self._lock:
            for heard in self._heard.values():
                self._add_traffic(heard)

    def of(self, queue: QueueAddress) -> TrafficSeen:
        """Traffic of a queue; nothing where nobody listens."""
        with self._lock:
            heard = self._heard.get(queue.interface)
            if heard is None or heard.is_gone:
                return TrafficSeen()
            oldest_s = self._clock() - LATE_S
            late = [each for each in heard.trips if each[0] >= oldest_s]
            count = sum(number for _, number, _, _ in late)
            return TrafficSeen(
                flows=heard.flows,
                mean_round_trip_s=sum(whole for _, _, whole, _ in late) / count if count else None,
                least_round_trip_s=min((least for *_, least in late), default=None),
            )

    def _add_traffic(self, heard: _InterfaceTraffic) -> None:
        from vermilion.monitor import InterfaceError

        watch = heard.watch
        try:
            watch.take_in()
        except InterfaceError as error:
            if not heard.is_gone:
                self._say(f"{error}: its traffic is not known until it is back")
            heard.is_gone, heard.flows = True, None
            heard.trips.clear()
            return
        if heard.is_gone:
            heard.is_gone = False
            self._say(f'"{watch.interface}" is back, and its traffic is known again')
        now_s = self._clock()
        flows = watch.open_flows()
        if flows is not None:  # else what was known before is still the best word on it
            heard.flows = flows
        watch.departing()  # nobody asks the agent what each flow sends
        _, nanoseconds = watch.round_trips()
        if len(nanoseconds) > 0:
            whole, least = float(nanoseconds.sum()) / 1e9, float(nanoseconds.min()) / 1e9
            heard.trips.append((now_s, len(nanoseconds), whole, least))
        while heard.trips and heard.trips[0][0] < now_s - LATE_S:
            heard.trips.popleft()


ALL: Final = "all"
"""Instead of addresses: every queue may be changed."""

_EARLY: Final = "early"
_FULL: Final = "pdrop"


@dataclass(slots=True)
class _QueueMemory:
    """Memory of one queue.

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
        self._known: dict[tuple[QueuePlace, str], _QueueMemory] = {}

    def queues(self) -> Sequence[ServedQueue]:
        """Current state of all queues.

        Raises:
            RouterError: the kernel does not say them.
        """
        now_s = self._clock()
        found = self._controllable_queues()
        there = {(_place(each), each.state.kind) for each in found}
        self._known = {key: each for key, each in self._known.items() if key in there}
        return [self._served_queue(each, now_s) for each in found]

    def check(self, place: QueuePlace, parameters: Mapping[str, ParameterValue]) -> None:
        """Check that the kernel would take these.

        Raises:
            RouterError: not; the message names the parameter and what is accepted.
        """
        found = self._queue_at(place)
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
        found = self._queue_at(place)
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

    def _controllable_queues(self) -> list[FoundQueue]:
        interfaces = discover(self._kernel.interfaces(), self._kernel.queues())
        return [
            queue
            for each in interfaces
            for queue in each.queues
            if queue.why_not is None and queue.state.kind in TABLE_OF
        ]

    def _queue_at(self, place: QueuePlace) -> FoundQueue:
        for each in self._controllable_queues():
            if _place(each) == place:
                return each
        message = "the queue is gone"
        raise RouterError(message)

    def _of(self, found: FoundQueue) -> _QueueMemory:
        return self._known.setdefault((_place(found), found.state.kind), _QueueMemory())

    def _refused(self, found: FoundQueue, why: str) -> None:
        self._of(found).last_refusal = why

    def _served_queue(self, found: FoundQueue, now_s: float) -> ServedQueue:
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
