"""Interfaces and queues as the kernel describes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from vermilion.routers.linux.attributes import AnswerError, number_of, text_of
from vermilion.routers.linux.fifo import ByteFifoOptions
from vermilion.routers.linux.kinds import options_of
from vermilion.routers.linux.message import (
    INTERFACE_NAME,
    KIND,
    OPTIONS,
    STATISTICS,
    QueueMessage,
    parse_link,
)
from vermilion.routers.linux.red import RedOptions
from vermilion.routers.linux.statistics import QueueStatistics, parse_statistics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.routers.linux.options import QueueOptions

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
