"""What a passive monitor beside the queue of one way has seen: flows, round trips, volumes.

It sees a packet of its way when its transmission begins, and one of the other way when it arrives:
as a monitor at an interface sees what leaves and what comes in.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any, Final

from vermilion._core import InterfaceMonitor
from vermilion.monitor.interface import ACTIVE_S

MOST_AT_ONCE: Final = 500
"""Round trips, and flows, in one answer; who asks again gets the rest."""

MOST_WAITING: Final = 200_000
_FLOWS: Final = 16_384
_NS_PER_S: Final = 1_000_000_000


class Witness:
    """A monitor of one way.

    Args:
        way: its number.
        largest_packet: bytes of the largest packet that the link carries.
    """

    def __init__(self, way: int, largest_packet: int) -> None:
        self.way = way
        secret = int.from_bytes(os.urandom(8), "big")
        self._monitor = InterfaceMonitor(_FLOWS, largest_packet, 0, secret)
        self._now_ns = 0
        self._round_trips: deque[tuple[int, int]] = deque(maxlen=MOST_WAITING)
        self._volumes: deque[tuple[int, int, int, bool, bool, bool]] = deque(maxlen=MOST_WAITING)

    def see(self, leaving: bytes, arriving: bytes, now_ns: int) -> None:
        """Takes notes of packets that have left this way, and that have come the other way."""
        self._monitor.feed_sightings(leaving, arriving)
        self._monitor.advance(now_ns)
        self._now_ns = now_ns

    def told(self) -> dict[str, Any]:
        """What has been seen since the last answer: a part of it, and whether there is more."""
        if not (self._round_trips or self._volumes):
            # In one observation a flow has one volume, in however many answers it is told.
            self._take()
        since_ns = max(0, self._now_ns - round(ACTIVE_S * _NS_PER_S))
        return {
            "active_flows": self._monitor.active_flows(since_ns),
            "round_trips": _part(self._round_trips),
            "traffic": _part(self._volumes),
            "more": bool(self._round_trips or self._volumes),
        }

    def _take(self) -> None:
        trips = self._monitor.take_round_trips()
        self._round_trips.extend(
            zip(trips["flow"].tolist(), trips["round_trip_ns"].tolist(), strict=True)
        )
        volumes = self._monitor.take_volumes()
        names = ("flow", "packets", "bytes", "data", "responsive", "selective", "ecn_capable")
        self._volumes.extend(zip(*(volumes[name].tolist() for name in names), strict=True))


def _part(waiting: deque[Any]) -> list[Any]:
    return [waiting.popleft() for _ in range(min(MOST_AT_ONCE, len(waiting)))]
