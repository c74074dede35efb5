"""CoDel and FQ-CoDel of Linux: the disciplines ``codel`` and ``fq-codel``, dialect ``linux``.

Source: net/sched/sch_codel.c, sch_fq_codel.c and include/net/codel.h (Linux 6.12), tc/q_codel.c and
q_fq_codel.c (iproute2 6.1), tried on a Linux 6.12 kernel. A change leaves what is not told as it
is, drops nothing but what a lower limit has no room for, and keeps the state.

- Times are kept in units of 1024 ns: 5000 us come back as 4999.
- A CE threshold that is off is absent. tc cannot turn it off again; the one number that does is
  :data:`.options.CODEL_OFF_US`.
- ``fq_codel``: the number of flows is fixed once the queue is there. A quantum below 256 bytes
  becomes 256; one above 2^20 is refused. A memory limit above 2^31 becomes that; lowering it drops
  what it has no room for. Kernels older than spring 2020 take any drop batch for 1.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.routers.linux.options import (
    CODEL_OFF_US,
    COUNT,
    SWITCH,
    Encoding,
    NumberOptions,
    Parameters,
    Surroundings,
    codel_said_back,
    codel_to_tell,
    microseconds,
    packet_size,
    sent,
)
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TIMES: Final = {
    "target": "target_us",
    "interval": "interval_us",
    "every packet marked above": "ce_threshold_us",
}
_TIME: Final = Encoding(
    microseconds,
    lambda said: codel_to_tell(said) * 1e-6,
    lambda told, _: codel_said_back(told),
    codel_to_tell,
)
_CE_THRESHOLD: Final = replace(
    _TIME,
    told=lambda name, value: None if value is None else microseconds(name, value),
    off=CODEL_OFF_US,
)


@dataclass(frozen=True, kw_only=True)
class _CodelFamilyOptions(NumberOptions):
    """Common options of ``codel`` and ``fq_codel``."""

    settable: ClassVar[Sequence[str]] = ("limit", "target", "interval", "ce_threshold", "ecn")
    marks: ClassVar[Sequence[str] | None] = ("ecn_mark", "ce_mark")
    usual: ClassVar[Parameters] = {"dialect": "linux", "ce_threshold": None}

    def fixed(self, around: Surroundings) -> Parameters:
        """The largest packet."""
        return packet_size(around)

    def refused(self, around: Surroundings) -> Iterator[tuple[Parameters, str]]:
        """The dialect and the largest packet."""
        yield {"dialect": "linux"}, "it is Linux"
        yield packet_size(around), "the kernel takes it from the interface's MTU"

    def words(self) -> str:
        """The settings in plain words."""
        own = self.numbers()
        parts = []
        for title, word in _TIMES.items():
            if word in own:
                parts.append(f"{title} {codel_to_tell(own[word]) / 1000:g} ms")
        if "limit" in own:
            parts.append(f"at most {how_many(own['limit'], 'packet')}")
        if "ecn" in own:
            parts.append("ECN marks" if own["ecn"] else "no ECN marks")
        return ", ".join(parts)


@dataclass(frozen=True, kw_only=True)
class CodelOptions(_CodelFamilyOptions):
    """The options of one ``codel``.

    Attributes:
        limit: packets the buffer holds.
        interval_us: how long the sojourn must exceed the target.
        target_us: sojourn time that the queue may keep up.
        ecn: whether packets are marked.
        ce_threshold_us: sojourn time above which every ECN-capable packet is marked; absent: off.
    """

    kind: ClassVar[str] = "codel"
    discipline: ClassVar[str | None] = "codel"
    counter_names: ClassVar[Sequence[str]] = (
        "largest_packet",
        "count",
        "last_count",
        "delay_us",
        "drop_next_us",
        "drop_overlimit",
        "ecn_mark",
        "dropping",
        "ce_mark",
    )

    limit: int | None = field(default=None, metadata=sent(2, "limit"))
    interval_us: int | None = field(default=None, metadata=sent(3, "interval", _TIME))
    target_us: int | None = field(default=None, metadata=sent(1, "target", _TIME))
    ecn: int | None = field(default=None, metadata=sent(4, "ecn", SWITCH))
    ce_threshold_us: int | None = field(
        default=None, metadata=sent(5, "ce_threshold", _CE_THRESHOLD)
    )


_LEAST_QUANTUM: Final = 256
_MOST_MEMORY: Final = 2**31
_QUANTUM: Final = replace(COUNT, said_back=lambda told, _: max(told, _LEAST_QUANTUM))
_MEMORY: Final = replace(COUNT, said_back=lambda told, _: min(told, _MOST_MEMORY))


@dataclass(frozen=True, kw_only=True)
class FqCodelOptions(_CodelFamilyOptions):
    """The options of one ``fq_codel``: as ``codel``, and those of its flows.

    Attributes:
        flows: queues into which flows are hashed.
        quantum: bytes that a flow may send in a turn.
        memory_limit: bytes of memory the buffer holds.
        drop_batch: at most so many packets are dropped at a time when the buffer is full.
    """

    kind: ClassVar[str] = "fq_codel"
    discipline: ClassVar[str | None] = "fq-codel"
    settable: ClassVar[Sequence[str]] = (
        *_CodelFamilyOptions.settable,
        "quantum",
        "memory_limit",
        "drop_batch",
    )
    counter_names: ClassVar[Sequence[str]] = (
        "largest_packet",
        "drop_overlimit",
        "ecn_mark",
        "new_flow_count",
        "new_flows",
        "old_flows",
        "ce_mark",
        "memory_usage",
        "drop_overmemory",
    )

    limit: int | None = field(default=None, metadata=sent(2, "limit"))
    flows: int | None = field(default=None, metadata=sent(5, "flows"))
    quantum: int | None = field(default=None, metadata=sent(6, "quantum", _QUANTUM))
    interval_us: int | None = field(default=None, metadata=sent(3, "interval", _TIME))
    target_us: int | None = field(default=None, metadata=sent(1, "target", _TIME))
    ecn: int | None = field(default=None, metadata=sent(4, "ecn", SWITCH))
    ce_threshold_us: int | None = field(
        default=None, metadata=sent(7, "ce_threshold", _CE_THRESHOLD)
    )
    memory_limit: int | None = field(default=None, metadata=sent(9, "memory_limit", _MEMORY))
    drop_batch: int | None = field(default=None, metadata=sent(8, "drop_batch"))

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The counters of the queue; its statistics begin with their kind, which is 0."""
        if len(told) >= 4 and struct.unpack_from("=I", told) != (0,):  # noqa: PLR2004 - bytes of a number of the kernel
            return {}
        return super().counters(told[4:])

    def refused(self, around: Surroundings) -> Iterator[tuple[Parameters, str]]:
        """The number of flows too."""
        yield {"flows": self.flows}, "it is fixed once the queue is there"
        yield from super().refused(around)

    def words(self) -> str:
        """The settings in plain words."""
        parts = [] if self.flows is None else [f"{self.flows} flow queues"]
        parts.append(super().words())
        if self.quantum is not None:
            parts.append(f"{self.quantum} bytes in a turn")
        return ", ".join(parts)
