"""A passive monitor beside a queue of the guest.

What passes the router is given to the core's monitor: every packet that comes into the router's
namespace is copied into a ring (packet(7), TPACKET_V2), to its first 128 bytes, and emptied from
there as a capture that never ends. Packets are not looked at one by one here: the core does that.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import socket
import struct
from typing import Final

import numpy as np

from vermilion._core import CaptureMonitor
from vermilion.kernel_plant.namespaces import inside

_PACKET_LEVEL: Final = 263
_VERSION: Final = 10
_IGNORE_OUTGOING: Final = 23
_RING: Final = 5
_STATISTICS: Final = 6
_ATTACH_FILTER: Final = 26
_EVERYTHING: Final = 3
_FRAME_BYTES: Final = 256
_FRAMES: Final = 1 << 15
_BLOCK_BYTES: Final = 1 << 16
_KEPT_BYTES: Final = 128
_RECORD_BYTES: Final = 16
_READY: Final = 1
_MAGIC_NANOSECONDS: Final = 0xA1B23C4D
_ETHERNET: Final = 1
_FILTER: Final = ((0x28, 0, 0, 12), (0x15, 0, 1, 0x0800), (6, 0, 0, _KEPT_BYTES), (6, 0, 0, 0))
"""Of every packet of IPv4 its first bytes, of others nothing."""


class Tap:
    """A monitor of the packets that come into a namespace.

    Args:
        namespace: its name.
    """

    def __init__(self, namespace: str) -> None:
        with inside(namespace):
            self._socket = socket.socket(
                socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_EVERYTHING)
            )
        code = ctypes.create_string_buffer(
            b"".join(struct.pack("=HBBI", *each) for each in _FILTER)
        )
        program = struct.pack("HL", len(_FILTER), ctypes.addressof(code))
        self._socket.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
        self._socket.setsockopt(_PACKET_LEVEL, _VERSION, struct.pack("=i", 1))
        self._socket.setsockopt(_PACKET_LEVEL, _IGNORE_OUTGOING, struct.pack("=i", 1))
        size = _FRAME_BYTES * _FRAMES
        ring = struct.pack("=IIII", _BLOCK_BYTES, size // _BLOCK_BYTES, _FRAME_BYTES, _FRAMES)
        self._socket.setsockopt(_PACKET_LEVEL, _RING, ring)
        memory = mmap.mmap(self._socket.fileno(), size)
        self._frames = np.frombuffer(memory, np.uint8).reshape(_FRAMES, _FRAME_BYTES)
        self._words = self._frames.view(np.uint32)
        self._at = 0
        self._lost = 0
        self._monitor = CaptureMonitor(kept_flows=0, round_trips=True)
        head = struct.pack("=IHHiIII", _MAGIC_NANOSECONDS, 2, 4, 0, 0, _KEPT_BYTES, _ETHERNET)
        self._monitor.feed(head)

    def empty(self) -> None:
        """Give the monitor what has come since the last call."""
        while True:
            states = self._words[self._at :, 0]
            waiting = np.flatnonzero(states & _READY == 0)
            count = len(states) if len(waiting) == 0 else int(waiting[0])
            if count == 0:
                return
            self._feed(self._at, self._at + count)
            self._at = (self._at + count) % _FRAMES
            if self._at != 0:
                return

    def active_flows(self) -> int:
        """Flows that have begun and not ended."""
        summary = json.loads(self._monitor.summary())
        ended: int = sum(summary["ended"].values())
        return int(summary["flows_seen"]) - ended

    def round_trips(self) -> tuple[list[int], list[int]]:
        """Whole round trips of data since the last call: numbers of flows, and nanoseconds."""
        taken = self._monitor.take_round_trips()
        chosen = np.asarray(taken["whole"], dtype=bool) & np.asarray(taken["from_initiator"], bool)
        flows = np.asarray(taken["flow"])[chosen]
        nanoseconds = np.asarray(taken["round_trip_ns"])[chosen]
        return flows.tolist(), nanoseconds.tolist()

    def lost(self) -> int:
        """Packets for which the ring had no room, since the beginning."""
        _, lost = struct.unpack("=II", self._socket.getsockopt(_PACKET_LEVEL, _STATISTICS, 8))
        self._lost += int(lost)
        return self._lost

    def _feed(self, first: int, last: int) -> None:
        frames, words = self._frames[first:last], self._words[first:last]
        # struct tpacket2_hdr: state, length, kept, then where the packet begins, seconds, ns.
        original, kept = words[:, 1], words[:, 2]
        begin = int(self._frames[first, 12:14].view(np.uint16)[0])
        records = np.empty((last - first, _RECORD_BYTES + _KEPT_BYTES), np.uint8)
        heads = records[:, :_RECORD_BYTES].copy().view(np.uint32)
        heads[:, 0], heads[:, 1], heads[:, 2], heads[:, 3] = (
            words[:, 4],
            words[:, 5],
            kept,
            original,
        )
        records[:, :_RECORD_BYTES] = heads.view(np.uint8)
        records[:, _RECORD_BYTES:] = frames[:, begin : begin + _KEPT_BYTES]
        wanted = np.arange(_RECORD_BYTES + _KEPT_BYTES) < (_RECORD_BYTES + kept)[:, None]
        self._monitor.feed(records[wanted].tobytes())
        words[:, 0] = 0
