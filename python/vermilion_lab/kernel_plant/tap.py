"""A passive monitor beside a queue of the guest, at its exit.

It is the monitor of a real router (:class:`vermilion._core.InterfaceMonitor`), fed by the same ring
(:mod:`vermilion.monitor.packet_ring`): it sees data when the queue has let it go, and the
acknowledgements that come back. A router of the guest has its acknowledgements come in at other
interfaces than the one with the queue, so that all of them are listened to, and a filter in the
kernel keeps what a monitor at the exit would have: what leaves there, and what comes in from the
far side. What comes in from the senders' own host is seen too, before the queue: no other queue
comes before that.
"""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any, Final

from vermilion._core import InterfaceMonitor
from vermilion.monitor.packet_filter import filter_program, passing
from vermilion.monitor.packet_ring import CLOSED_AFTER_MS, PacketRing
from vermilion_lab.kernel_plant.namespaces import inside
from vermilion_lab.kernel_plant.topology import IN, MANAGEMENT, NEAR, OUT

_ACTIVE_NS: Final = 60_000_000_000
_BEHIND_NS: Final = 5_000_000 * CLOSED_AFTER_MS
_LARGEST_PACKET_BYTES: Final = 1500
_FLOWS: Final = 4096

_LEFT_OUT: Final = ("lo", IN, OUT, MANAGEMENT)  # but that the exit is listened to both ways


class Tap:
    """A monitor at the exit of one router's queue.

    Args:
        namespace: the router's.
        secret: what the numbers of flows follow from besides their addresses and ports, so that
            monitors with the same one give a flow the same number.
    """

    def __init__(self, namespace: str, secret: int) -> None:
        with inside(namespace):
            numbers = {name: number for number, name in socket.if_nameindex()}
            others = [number for name, number in numbers.items() if name not in _LEFT_OUT]
            entrances = [numbers[NEAR]] if NEAR in numbers else []
            self._ring = PacketRing(None, passing(numbers[OUT], others, filter_program()))
        self._monitor = InterfaceMonitor(
            _FLOWS,
            _LARGEST_PACKET_BYTES,
            _FLOWS,
            secret,
            shared_numbers=True,
            entrances=entrances,
        )

    def empty(self) -> None:
        """Give the monitor what has come since the last call."""
        for block in self._ring.blocks():
            self._monitor.feed(block)
        self._monitor.advance(max(0, time.time_ns() - _BEHIND_NS))

    def active_flows(self) -> int:
        """Flows that have sent data through the queue in the last minute, and have not ended."""
        return self._monitor.active_flows(max(0, time.time_ns() - _ACTIVE_NS))

    def round_trips(self) -> tuple[list[int], list[int]]:
        """Whole round trips of data since the last call: numbers of flows, and nanoseconds."""
        taken = self._monitor.take_round_trips()
        return taken["flow"].tolist(), taken["round_trip_ns"].tolist()

    def traffic(self) -> list[list[Any]]:
        """Return each flow's traffic through the queue since the last call.

        Columns: numbers of flows, packets, bytes, whether data is among them, whether the sender
        slows down when packets are lost, whether the receiver acknowledges selectively, and whether
        packets are ECN-capable.
        """
        taken = self._monitor.take_volumes()
        names = ("flow", "packets", "bytes", "data", "responsive", "selective", "ecn_capable")
        return [taken[name].tolist() for name in names]

    def flows(self) -> list[tuple[int, str]]:
        """End it; numbers of the flows that it followed, and "address:port" of their initiators."""
        self.empty()
        self._monitor.finish()
        told = [(each, each["initiator"]) for each in json.loads(self._monitor.summary())["flows"]]
        return [(each["number"], f"{own['address']}:{own['port']}") for each, own in told]

    def lost(self) -> int:
        """Packets for which the ring had no room, since the beginning."""
        self._ring.count_losses()
        return self._ring.lost


def new_secret() -> int:
    """Secret of one network's monitors; it follows from the guest's seed."""
    return int.from_bytes(os.urandom(8), "big")
