"""Live monitor, which feeds the packets of an interface to the core's.

Nothing is sent and nothing is changed. What is asked for leaves through the interface: its queue
has forwarded it, and its round trips contain the wait in that queue.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from vermilion._core import CaptureError, InterfaceMonitor, ParameterError
from vermilion.files.document import document
from vermilion.monitor.packet_filter import Sampling, filter_program, passing
from vermilion.monitor.packet_ring import (
    CLOSED_AFTER_MS,
    InterfaceError,
    PacketRing,
    number_of,
)
from vermilion.monitor.summary import CaptureSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray

ACTIVE_S: Final = 60.0
"""A flow is active that has sent within so many seconds and has not been closed."""

RESAMPLED_S: Final = 10.0
"""After so long every active flow that is looked at since then has sent something."""

_CLOCK_DELAY_NS: Final = 5_000_000 * CLOSED_AFTER_MS
"""Packets may come so much after their time: the monitor's clock stays behind by that."""


@dataclass(frozen=True, slots=True)
class Departing:
    """Traffic sent by flows through an interface since the last call; columns of one length.

    Attributes:
        flow: the flow's number.
        packets: packets, as many as the link carried at least.
        bytes: their bytes from the IP header on.
        data: whether it sends data; else nothing of it but acknowledgements leaves here.
        responsive: whether its sender slows down when packets are lost, as far as is known.
        selective: whether its receiver has been seen to acknowledge selectively, or both ends to
            agree to that.
        ecn_capable: whether any of its packets was ECN-capable.
    """

    flow: NDArray[np.int64]
    packets: NDArray[np.int64]
    bytes: NDArray[np.int64]
    data: NDArray[np.bool_]
    responsive: NDArray[np.bool_]
    selective: NDArray[np.bool_]
    ecn_capable: NDArray[np.bool_]


@document()
@dataclass(frozen=True, slots=True)
class Listening:
    """Statistics of listening on an interface.

    Attributes:
        packets: packets that the kernel had for the ring.
        lost_packets: of those, how many it had no room for.
        one_in: one flow in so many is looked at now.
        coarsest_one_in: the most that ever was.
        unreadable_blocks: blocks of the ring that made no sense.
        cpu_s: CPU time of emptying it, seconds.
    """

    packets: int
    lost_packets: int
    one_in: int
    coarsest_one_in: int
    unreadable_blocks: int
    cpu_s: float


class InterfaceWatch:
    """A monitor of one interface. Use as a context manager, or call :meth:`close`.

    The ring holds 16 MiB and the table of flows 1.7 KiB for each flow; neither grows. With
    entrances a flow takes 1.5 KiB more once it was seen to come in. Somebody has to call
    :meth:`take_in` at least ten times in a second where there is much traffic.

    An interface that is removed and comes back is listened to again. Where an entrance comes back
    under another number, the flows are counted from none again.

    Args:
        interface: its name, like "eth0".
        entrances: the names of interfaces through which packets come that go on into the queue of
            this one, and before which nothing queues. With them, round trips of senders that pace
            are told without their own wait for a turn.
        flows: how many flows are followed at once.
        largest_packet: the largest IP packet that the link carries, in bytes; by default what the
            interface says.
        kept_flows: how many of the largest flows the summary has one by one.
        sampling: which share of the flows is looked at in the beginning.
        wall_ns: the clock that packets are stamped with, in nanoseconds.
        clock: seconds, never set back.

    Raises:
        InterfaceError: it cannot be listened to; the message says what is missing.
    """

    def __init__(
        self,
        interface: str,
        *,
        entrances: Sequence[str] = (),
        flows: int = 65_536,
        largest_packet: int | None = None,
        kept_flows: int = 1000,
        sampling: Sampling | None = None,
        wall_ns: Callable[[], int] = time.time_ns,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall_ns, self._clock = wall_ns, clock
        secret = int.from_bytes(os.urandom(8), "big")
        self._secret = secret & 0xFFFFFFFF
        self._sampling = Sampling() if sampling is None else sampling
        self._coarsest = self._sampling.one_in
        self._sampled_since_ns = 0
        self._resampled_s: float | None = None
        self._emptied = False
        self._unreadable = 0
        self._cpu_s = 0.0
        self._entrance_names = tuple(entrances)
        self._entrances = [number_of(each) for each in entrances]
        self._number = number_of(interface) if entrances else 0
        if self._number in self._entrances:
            message = f'"{interface}" has the queue; expected other interfaces as its entrances'
            raise InterfaceError(message)
        self._ring = PacketRing(interface, self._program(), everywhere=bool(entrances))
        try:
            largest = self._ring.largest_packet() if largest_packet is None else largest_packet
            self._new_monitor = partial(InterfaceMonitor, flows, largest, kept_flows, secret)
            self._monitor = self._new_monitor(entrances=self._entrances)
        except ParameterError as error:
            self._ring.close()
            field, value, accepted = error.args
            message = f"{field}: {value} cannot be used; expected {accepted}"
            raise InterfaceError(message) from None

    @property
    def interface(self) -> str:
        """Its name."""
        return self._ring.interface

    @property
    def one_in(self) -> int:
        """Sampling ratio: one flow in so many is monitored."""
        return self._sampling.one_in

    def wait(self, seconds: float) -> None:
        """Return when there is something to take in, or after so many seconds."""
        self._ring.wait(seconds)

    def take_in(self) -> None:
        """Hand everything that has come to the monitor.

        Raises:
            InterfaceError: the interface has been removed or put down, and is not back yet.
        """
        begun_s = time.thread_time()
        blocks = 0
        for block in self._ring.blocks():
            blocks += 1
            try:
                self._monitor.feed(block)
            except CaptureError:
                self._unreadable += 1
        self._monitor.advance(max(0, self._wall_ns() - _CLOCK_DELAY_NS))
        lost = self._ring.count_losses()
        if self._emptied:
            self._adapt_sampling(lost, blocks)
        # What came before the first call had to wait for whoever was still getting ready.
        self._emptied = True
        self._cpu_s += time.thread_time() - begun_s
        is_there = self._follow()
        if not is_there or (blocks == 0 and not self._ring.is_up()):
            message = f'"{self.interface}" has been removed or put down'
            raise InterfaceError(message)

    def active_flows(self) -> int:
        """Number of sampled flows with data to send through the interface."""
        since = max(self._sampled_since_ns, self._wall_ns() - int(ACTIVE_S * 1e9), 0)
        return self._monitor.active_flows(since)

    def open_flows(self) -> int | None:
        """Estimate the number of flows with data to send, from the sample.

        ``None`` for :data:`RESAMPLED_S` after another share of the flows is looked at: which of
        them are active is not known yet.
        """
        since_s = self._resampled_s
        if since_s is not None and self._clock() < since_s + RESAMPLED_S:
            return None
        return self.active_flows() * self.one_in

    def round_trips(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Round trips of departing flows since the last call: flow numbers, and nanoseconds."""
        columns = self._monitor.take_round_trips()
        return columns["flow"], columns["round_trip_ns"]

    def departing(self) -> Departing:
        """Return traffic sent by flows through the interface since the last call."""
        columns: dict[str, Any] = self._monitor.take_volumes()
        return Departing(**columns)

    def listening(self) -> Listening:
        """Statistics of listening so far."""
        return Listening(
            packets=self._ring.packets,
            lost_packets=self._ring.lost,
            one_in=self.one_in,
            coarsest_one_in=self._coarsest,
            unreadable_blocks=self._unreadable,
            cpu_s=self._cpu_s,
        )

    def finish(self) -> CaptureSummary:
        """End every flow, and return the summary."""
        self._monitor.finish()
        return CaptureSummary.from_json(self._monitor.summary())

    def close(self) -> None:
        """Stop listening."""
        self._ring.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _follow(self) -> bool:
        """Listen on the present interfaces; return whether the one with the queue is there."""
        if not self._entrances:
            return self._ring.follow()
        number = self._ring.number(self.interface)
        if number is None:
            return False
        entrances = [
            self._ring.number(name) or known
            for name, known in zip(self._entrance_names, self._entrances, strict=True)
        ]
        if (number, entrances) == (self._number, self._entrances):
            return True
        if entrances != self._entrances:
            self._monitor = self._new_monitor(entrances=entrances)
            self._sampled_since_ns = self._wall_ns()
        self._number, self._entrances = number, entrances
        self._ring.apply_filter(self._program())
        return True

    def _adapt_sampling(self, lost: int, blocks: int) -> None:
        before = self._sampling
        self._sampling = before.after(self._clock(), lost, self._ring.filled(blocks))
        if self._sampling.one_in != before.one_in:
            self._coarsest = max(self._coarsest, self._sampling.one_in)
            # Flows that are not looked at any more are not to be taken for silent ones.
            self._sampled_since_ns = self._wall_ns()
            self._resampled_s = self._clock()
            self._ring.apply_filter(self._program())

    def _program(self) -> list[tuple[int, int, int, int]]:
        chosen = filter_program(self._sampling.one_in, secret=self._secret)
        return passing(self._number, self._entrances, chosen) if self._entrances else chosen
