"""Interfaces and queues as the kernel describes them, and counters that never go back. Pure.

Source of the counters (``TCA_STATS2``): include/uapi/linux/gen_stats.h, net/core/gen_stats.c
(Linux 6.12). Bytes have 64 bits, packets 32; since Linux 5.5 the kernel adds an attribute with 64
as soon as they do not suffice. Drops and what a kind of queue counts by itself have 32 and begin
again at 0 (:class:`Unwrapped`). What the kernel does not say is absent.
"""

from __future__ import annotations

import struct
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Final

from vermilion.routers.base import Reading
from vermilion.routers.linux.fifo import ByteFifoOptions
from vermilion.routers.linux.kinds import options_of
from vermilion.routers.linux.message import (
    INTERFACE_NAME,
    KIND,
    OPTIONS,
    STATISTICS,
    AnswerError,
    QueueMessage,
    by_type,
    check_length,
    number_of,
    parse_attributes,
    parse_link,
    text_of,
)
from vermilion.routers.linux.red import RedOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.linux.options import QueueOptions

_RANGE: Final = 2**32


@dataclass(slots=True)
class Unwrapped:
    """Counters that never go back while their queue lives.

    A counter that is smaller than before has either wrapped or been set back with its queue. What
    tells the two apart is the number of bytes, which has 64 bits: if it went back, or the queue
    got another handle, all have begun anew. Between two readings a counter must wrap no more than
    once: at a million packets a second it takes 71 minutes.
    """

    _raw: dict[str, int] = field(default_factory=dict)
    _added: dict[str, int] = field(default_factory=dict)
    _bytes: int = 0
    _life: int | None = None

    def take(self, counters: dict[str, int], sent_bytes: int, life: int) -> dict[str, int]:
        """The counters without wraps.

        Args:
            counters: as the kernel says them.
            sent_bytes: at the same moment.
            life: what differs from one queue at this place to the next (its handle).
        """
        if life != self._life or sent_bytes < self._bytes:
            self._raw.clear()
            self._added.clear()
        self._life, self._bytes = life, sent_bytes
        for name, value in counters.items():
            if value < self._raw.get(name, 0):
                self._added[name] = self._added.get(name, 0) + _RANGE
            self._raw[name] = value
        return {name: value + self._added.get(name, 0) for name, value in counters.items()}

    @property
    def now(self) -> dict[str, int]:
        """The counters as they were last taken, without wraps."""
        return {name: value + self._added.get(name, 0) for name, value in self._raw.items()}


_BASIC: Final = 1
_QUEUE: Final = 3
_OWN: Final = 4
_PACKETS_64: Final = 8
_BASIC_BLOCK: Final = struct.Struct("=QI")
_QUEUE_BLOCK: Final = struct.Struct("=5I")


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """Counters of a queue.

    Attributes:
        sent_bytes: sent since its counters began.
        packets: sent likewise.
        packets_wrap: whether ``packets`` has 32 bits only.
        backlog_packets: waiting now.
        backlog_bytes: waiting now.
        drops: packets dropped, for whatever reason; 32 bits.
        overlimits: 32 bits.
        requeues: 32 bits.
        own: the part that is of the queue's kind, not yet read.
    """

    sent_bytes: int | None = None
    packets: int | None = None
    packets_wrap: bool = True
    backlog_packets: int | None = None
    backlog_bytes: int | None = None
    drops: int | None = None
    overlimits: int | None = None
    requeues: int | None = None
    own: bytes = b""

    def numbers(self) -> Mapping[str, int]:
        """The counters by name; what the kernel has not said stays away."""
        counters = {**asdict(self), "packets_wrap": None, "own": None}
        known = {name: value for name, value in counters.items() if value is not None}
        return {name.removeprefix("sent_"): value for name, value in known.items()}


def parse_statistics(payload: bytes) -> QueueStatistics:
    """The counters in the attribute ``TCA_STATS2``.

    Raises:
        AnswerError: a part is cut off.
    """
    told = by_type(parse_attributes(payload, "statistics"))
    sent_bytes: int | None = None
    packets: int | None = None
    queue: tuple[int | None, ...] = (None,) * 5
    if _BASIC in told:
        sent_bytes, packets = _unpack(_BASIC_BLOCK, told[_BASIC])
    if _QUEUE in told:
        queue = _unpack(_QUEUE_BLOCK, told[_QUEUE])
    has_64 = _PACKETS_64 in told
    if has_64:
        packets = number_of(told[_PACKETS_64], "packets")
    waiting, waiting_bytes, drops, requeues, overlimits = queue
    return QueueStatistics(
        sent_bytes=sent_bytes,
        packets=packets,
        packets_wrap=not has_64,
        backlog_packets=waiting,
        backlog_bytes=waiting_bytes,
        drops=drops,
        overlimits=overlimits,
        requeues=requeues,
        own=told.get(_OWN, b""),
    )


def _unpack(block: struct.Struct, payload: bytes) -> tuple[int, ...]:
    check_length(payload, block.size, "statistics")
    return block.unpack_from(payload)


_MTU: Final = 4
_UP: Final = 0x1
_WITH_ETHERNET_HEADERS: Final = {1, 772}
"""ARPHRD_ETHER and ARPHRD_LOOPBACK: both put 14 bytes before a packet."""

_HEADER_BYTES: Final = 14


@dataclass(frozen=True, slots=True)
class Interface:
    """One network interface.

    Attributes:
        index: its number.
        name: its name, which may hold anything but a slash and blanks.
        up: whether it is switched on.
        mtu: bytes of the largest packet without its link header; ``None``: not told.
        maximum_packet_bytes: the same with the header; ``None`` where its size is not known.
    """

    index: int
    name: str
    up: bool
    mtu: int | None
    maximum_packet_bytes: int | None


@dataclass(frozen=True, slots=True)
class QueueState:
    """One queue: where it is, what it is set to, what it has counted.

    Attributes:
        interface: the number of its interface.
        handle: its own number; 0 for one that the kernel has put there by itself.
        parent: the class that it is below, or ``ROOT``.
        kind: the kernel's word, like "fq_codel".
        options: what it is set to.
        statistics: what it has counted.
        counters: what its kind counts beside that.
    """

    interface: int
    handle: int
    parent: int
    kind: str
    options: QueueOptions
    statistics: QueueStatistics
    counters: dict[str, int]


def parse_interface(payload: bytes) -> Interface:
    """The interface that a message describes.

    Raises:
        AnswerError: it cannot be read.
    """
    told = parse_link(payload)
    if INTERFACE_NAME not in told.attributes:
        raise AnswerError("interface", "it has no name")
    mtu = number_of(told.attributes[_MTU], "mtu") if _MTU in told.attributes else None
    known = mtu is not None and told.hardware in _WITH_ETHERNET_HEADERS
    return Interface(
        index=told.interface,
        name=text_of(told.attributes[INTERFACE_NAME], "interface"),
        up=bool(told.flags & _UP),
        mtu=mtu,
        maximum_packet_bytes=mtu + _HEADER_BYTES if known and mtu is not None else None,
    )


def queue_state(told: QueueMessage) -> QueueState:
    """The queue that a message describes.

    Raises:
        AnswerError: it cannot be read.
    """
    if KIND not in told.attributes:
        raise AnswerError("queue", "it has no kind")
    kind = text_of(told.attributes[KIND], "queue")
    form = options_of(kind)
    options = form.decode(told.attributes.get(OPTIONS, b""))
    statistics = QueueStatistics()
    if STATISTICS in told.attributes:
        statistics = parse_statistics(told.attributes[STATISTICS])
    return QueueState(
        told.interface,
        told.handle,
        told.parent,
        kind,
        options,
        statistics,
        form.counters(statistics.own),
    )


def with_inner_limit(queue: QueueState, all_queues: Sequence[QueueMessage]) -> QueueState:
    """A queue with what the queue inside of it knows.

    RED says a limit of 0 after a change that has kept the packets; the bfifo that it keeps them in
    has the limit in force.

    Args:
        queue: any.
        all_queues: those of the machine, with those that are not shown by themselves.

    Raises:
        AnswerError: the queue inside cannot be read.
    """
    options = queue.options
    if not isinstance(options, RedOptions) or options.block is None or options.block.limit:
        return queue
    for each in all_queues:
        if each.interface == queue.interface and each.parent == queue.handle | 1:
            inner = queue_state(each).options
            if isinstance(inner, ByteFifoOptions):
                return replace(queue, options=replace(options, inner_limit=inner.limit))
    return queue


def reading_of(now: QueueState, unwrapped: Unwrapped, time_s: float) -> Reading:
    """The counters of a queue; those of 32 bits go on where the kernel's begin again at 0.

    Args:
        now: the queue.
        unwrapped: its counters so far; they are taken further.
        time_s: when it was read.
    """
    told = now.statistics
    raw = {"drops": told.drops or 0, **now.counters}
    if told.packets_wrap:
        raw["packets"] = told.packets or 0
    whole = unwrapped.take(raw, told.sent_bytes or 0, now.handle)
    return Reading(
        time_s=time_s,
        backlog_packets=told.backlog_packets or 0,
        backlog_bytes=told.backlog_bytes or 0,
        forwarded_packets=whole.get("packets", told.packets or 0),
        forwarded_bytes=told.sent_bytes or 0,
        drops=whole["drops"],
        marks=now.options.marked(whole) or 0,
    )
