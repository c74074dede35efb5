"""Records of a link while it carries packets: series, packets, round trips.

The data path only notes. A thread of its own does the rest: it writes the capture file, and feeds
the monitor and answers what is asked of it. Notes have a room of fixed size; what has none is
counted, and packets never wait for it. A job that fails ends neither the thread nor the link; the
failure is raised at the end.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np

from vermilion import _core
from vermilion._core import InterfaceMonitor
from vermilion.link.plan import WAYS
from vermilion.monitor.interface import ACTIVE_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

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
        """Take notes of packets that left in this direction, and that arrived from the other."""
        self._monitor.feed_sightings(leaving, arriving)
        self._monitor.advance(now_ns)
        self._now_ns = now_ns

    def told(self) -> dict[str, Any]:
        """Return records since the last answer: a part, and whether there is more."""
        if not (self._round_trips or self._volumes):
            # In one observation a flow has one volume, in however many answers it is told.
            self._take()
        since_ns = max(0, self._now_ns - round(ACTIVE_S * _NS_PER_S))
        return {
            "active_flows": self._monitor.active_flows(since_ns),
            "round_trips": _take_batch(self._round_trips),
            "traffic": _take_batch(self._volumes),
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


def _take_batch(waiting: deque[Any]) -> list[Any]:
    return [waiting.popleft() for _ in range(min(MOST_AT_ONCE, len(waiting)))]


KEPT_BYTES: Final = 128
"""Bytes kept of each packet: IP and TCP headers with all options."""

MOST_PACKETS: Final = 1_000_000
MOST_POINTS: Final = 1_000_000
"""Maximum samples of a time series."""

_ROOM_BYTES: Final = 16 << 20
_WAITING_JOBS: Final = 64


class Recorder:
    """Records of a link.

    Args:
        interval_s: between the points of the time series; ``None`` for none.
        packets: an open file to which packets are written as pcapng.
        most_packets: after so many no more are written.
    """

    def __init__(
        self,
        interval_s: float | None = None,
        packets: BinaryIO | None = None,
        most_packets: int = MOST_PACKETS,
    ) -> None:
        self._interval_s = interval_s
        self._file = packets
        self._left = most_packets
        self._columns: list[list[dict[str, NDArray[np.float64]]]] = [[], []]
        self._points = 0
        self._end_s = float("inf")
        self._witnesses: dict[int, Witness] = {}
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue(_WAITING_JOBS)
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._lost_jobs = 0

    def begin(self, link: _core.Link, end_ns: int) -> None:
        """Start recording.

        Args:
            link: that begins.
            end_ns: after this time of the link no reading counts. A program that is woken late
                still takes all that were due since.
        """
        self._end_s = end_ns / 1e9
        if self._interval_s is not None:
            link.read_every(round(self._interval_s * 1e9))
        if self._file is not None:
            self._file.write(_core.capture_head(list(WAYS)))
        self._watch(link)

    def look(self, link: _core.Link) -> None:
        """Take the records; called about every 100 ms, and at the end."""
        if self._interval_s is not None and self._points < MOST_POINTS:
            for way in range(len(WAYS)):
                taken = link.take_readings(way)
                self._columns[way].append(taken)
                self._points += len(taken["time_s"]) if way == 0 else 0
        self.look_at_packets(link)

    def look_at_packets(self, link: _core.Link) -> None:
        """Take only the noted packets: the link's time stays."""
        if self._file is None and not self._witnesses:
            return
        notes = [link.take_sightings(way) for way in range(len(WAYS))]
        now_ns = link.now_ns
        self._enqueue(lambda: self._take(notes, now_ns))

    def witness(
        self, link: _core.Link, way: int, largest_packet: int, answer: Callable[[Witness], None]
    ) -> None:
        """Answer with the observations of the monitor beside the queue of a direction.

        The first who asks has the monitor begin.
        """
        if way not in self._witnesses:
            self._witnesses[way] = Witness(way, largest_packet)
            self._watch(link)
        witness = self._witnesses[way]
        self.look(link)
        self._enqueue(lambda: answer(witness))

    def series(self) -> dict[str, dict[str, NDArray[np.float64]]]:
        """The time series of both ways."""
        if self._interval_s is None:
            return {}
        return {
            name: _join_columns(pieces, self._end_s)
            for name, pieces in zip(WAYS, self._columns, strict=True)
            if pieces
        }

    def end(self) -> None:
        """Wait until everything has been written.

        Raises:
            OSError: the file of packets could not be written.
            BaseException: whatever else went wrong first in what was to be done.
        """
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None
        if self._failure is not None:
            raise self._failure

    @property
    def jobs_lost(self) -> int:
        """Number of notes thrown away because writing took too long."""
        return self._lost_jobs

    def _watch(self, link: _core.Link) -> None:
        if self._file is not None or self._witnesses:
            link.watch(self._file is not None, bool(self._witnesses), KEPT_BYTES, _ROOM_BYTES)

    def _enqueue(self, job: Callable[[], None]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run_jobs, daemon=True)
            self._thread.start()
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            self._lost_jobs += 1

    def _run_jobs(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except BaseException as error:  # noqa: BLE001 - a panic of the core, too, is told by `end`
                # The thread goes on: nobody else empties the queue, and `end` waits for that.
                self._failure = self._failure or error

    def _take(self, notes: list[bytes], now_ns: int) -> None:
        for way, witness in self._witnesses.items():
            witness.see(notes[way], notes[1 - way], now_ns)
        if self._file is None or self._failure is not None or self._left == 0:
            return
        text, count = _core.capture_packets(notes, self._left)
        self._left -= count
        self._file.write(text)


def _join_columns(
    pieces: list[dict[str, NDArray[np.float64]]], end_s: float
) -> dict[str, NDArray[np.float64]]:
    columns = {name: np.concatenate([each[name] for each in pieces]) for name in pieces[0]}
    counted = columns["time_s"] <= end_s
    return {name: values[counted] for name, values in columns.items()}
