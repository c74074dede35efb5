"""What passive monitors beside an agent know of the traffic of its queues.

A monitor listens to a whole interface: where several queues are below one shaper, each is told the
traffic of all of them. Somebody has to call :meth:`SeenTraffic.take_in` ten times in a second; who
asks for what was seen may be another thread.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final

from vermilion.routers.snmp.registry import TrafficSeen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from vermilion.monitor import InterfaceWatch
    from vermilion.routers.linux.address import QueueAddress

LATE_S: Final = 10.0
"""Round trips of so many seconds are told."""

TAKE_IN_S: Final = 0.1
"""Between two looks at what has come."""


@dataclass(slots=True)
class _Heard:
    """Of one interface.

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
        self._heard = {each.interface: _Heard(each) for each in watches}
        self._clock = clock
        self._say = say
        self._lock = Lock()

    def take_in(self) -> None:
        """Hand over what has come since the last call."""
        with self._lock:
            for heard in self._heard.values():
                self._take_in(heard)

    def of(self, queue: QueueAddress) -> TrafficSeen:
        """What is known of the traffic of a queue; nothing where nobody listens."""
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

    def _take_in(self, heard: _Heard) -> None:
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
