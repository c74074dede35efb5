"""The counters of a queue (``TCA_STATS2``).

Source: include/uapi/linux/gen_stats.h, net/core/gen_stats.c (Linux 6.12). Bytes have 64 bits,
packets 32; since Linux 5.5 the kernel adds an attribute with 64 as soon as they do not suffice.
Drops and what a kind of queue counts by itself have 32 and begin again at 0 (:mod:`.wrapping`).
What the kernel does not say is absent.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.routers.linux.attributes import by_type, check_length, number_of, parse_attributes

if TYPE_CHECKING:
    from collections.abc import Mapping

_BASIC: Final = 1
_QUEUE: Final = 3
_OWN: Final = 4
_PACKETS_64: Final = 8
_BASIC_BLOCK: Final = struct.Struct("=QI")
_QUEUE_BLOCK: Final = struct.Struct("=5I")


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """What a queue has counted.

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
        known = {
            "bytes": self.sent_bytes,
            "packets": self.packets,
            "backlog_packets": self.backlog_packets,
            "backlog_bytes": self.backlog_bytes,
            "drops": self.drops,
            "overlimits": self.overlimits,
            "requeues": self.requeues,
        }
        return {name: value for name, value in known.items() if value is not None}


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
