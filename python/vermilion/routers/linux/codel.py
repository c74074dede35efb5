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
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from vermilion.routers.linux.options import (
    CODEL_OFF_US,
    NumberOptions,
    Parameters,
    Price,
    Surroundings,
    codel_said_back,
    codel_to_tell,
    limit_price,
    microseconds,
    refuse_fixed,
    u32_counters,
    whole,
)
from vermilion.scenario.errors import FieldError
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CODEL_TIMES: Final = {
    "target": "target_us",
    "interval": "interval_us",
    "ce_threshold": "ce_threshold_us",
}
"""The parameters that are times, and the options that hold them."""

_MICROSECOND: Final = 1e-6
_COUNTERS: Final = (
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


@dataclass(frozen=True, kw_only=True)
class CodelOptions(NumberOptions):
    """The options of one ``codel``.

    Attributes:
        target_us: sojourn time that the queue may keep up.
        limit: packets the buffer holds.
        interval_us: how long the sojourn must exceed the target.
        ecn: whether packets are marked.
        ce_threshold_us: sojourn time above which every ECN-capable packet is marked; absent: off.
    """

    kind: ClassVar[str] = "codel"
    discipline: ClassVar[str | None] = "codel"
    settable: ClassVar[Sequence[str]] = ("limit", *CODEL_TIMES, "ecn")
    counts: ClassVar[Sequence[str]] = ("limit",)
    marks: ClassVar[Sequence[str] | None] = ("ecn_mark", "ce_mark")
    numbers_sent: ClassVar[Mapping[str, int]] = {
        "limit": 2,
        "interval_us": 3,
        "target_us": 1,
        "ecn": 4,
        "ce_threshold_us": 5,
    }

    target_us: int | None = None
    limit: int | None = None
    interval_us: int | None = None
    ecn: int | None = None
    ce_threshold_us: int | None = None

    def said_back(self, name: str, told: int, timer_hz: int) -> int | None:  # noqa: ARG002 - of all queues
        """Times in units of 1024 ns."""
        return codel_said_back(told) if name in CODEL_TIMES.values() else told

    def to_tell(self, name: str, said: int) -> int:
        """Inverse of the above."""
        return codel_to_tell(said) if name in CODEL_TIMES.values() else said

    def to_tell_absent(self, name: str) -> int | None:
        """Return the off value of the CE threshold; other parameters cannot be absent."""
        return CODEL_OFF_US if name == "ce_threshold_us" else None

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The state and the counters."""
        return u32_counters(told, _COUNTERS, cls.kind)

    def parameters(self, around: Surroundings) -> Parameters:
        """Parameters of Vermilion's discipline."""
        own = self.numbers()
        found: Parameters = {"dialect": "linux", "ce_threshold": None}
        if "limit" in own:
            found["limit"] = own["limit"]
        for name, word in CODEL_TIMES.items():
            if word in own:
                found[name] = codel_to_tell(own[word]) * _MICROSECOND
        if "ecn" in own:
            found["ecn"] = bool(own["ecn"])
        if around.maximum_packet_bytes is not None:
            found["maximum_packet_size"] = around.maximum_packet_bytes
        return found

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """The options that have to be told."""
        own = refuse_fixed(changes, {"dialect": "linux"}, "it is Linux")
        if around.maximum_packet_bytes is not None:
            packet: Parameters = {"maximum_packet_size": around.maximum_packet_bytes}
            own = refuse_fixed(own, packet, "the kernel takes it from the interface's MTU")
        told: dict[str, int | None] = {}
        for name, value in own.items():
            if name in self.counts:
                told[name] = whole(name, value)
            elif name == "ce_threshold" and value is None:
                told["ce_threshold_us"] = None
            elif name in CODEL_TIMES:
                told[CODEL_TIMES[name]] = microseconds(name, value)
            elif name == "ecn":
                told["ecn"] = int(bool(value))
            else:
                raise FieldError(name, value, "nothing: the kernel has no such option")
        return self.changed_only(told)

    def price(self, request: Self, waiting: int) -> Price:
        """A lower limit drops what it has no room for."""
        return limit_price(request.limit, waiting)

    def words(self) -> str:
        """The settings in plain words."""
        own = self.numbers()
        parts = []
        for name, word in CODEL_TIMES.items():
            if word in own:
                title = "every packet marked above" if name == "ce_threshold" else name
                parts.append(f"{title} {codel_to_tell(own[word]) / 1000:g} ms")
        if "limit" in own:
            parts.append(f"at most {how_many(own['limit'], 'packet')}")
        if "ecn" in own:
            parts.append("ECN marks" if own["ecn"] else "no ECN marks")
        return ", ".join(parts)


_LEAST_QUANTUM: Final = 256
_MOST_MEMORY: Final = 2**31
_TURNS: Final = ("flows", "quantum", "memory_limit", "drop_batch")
_FQ_COUNTERS: Final = (
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


@dataclass(frozen=True, kw_only=True)
class FqCodelOptions(CodelOptions):
    """The options of one ``fq_codel``.

    Attributes:
        flows: queues into which flows are hashed.
        quantum: bytes that a flow may send in a turn.
        drop_batch: at most so many packets are dropped at a time when the buffer is full.
        memory_limit: bytes of memory the buffer holds.
    """

    kind: ClassVar[str] = "fq_codel"
    discipline: ClassVar[str | None] = "fq-codel"
    counts: ClassVar[Sequence[str]] = ("limit", *_TURNS)
    settable: ClassVar[Sequence[str]] = (*CodelOptions.settable, *_TURNS[1:])
    numbers_sent: ClassVar[Mapping[str, int]] = {
        "limit": 2,
        "flows": 5,
        "quantum": 6,
        "interval_us": 3,
        "target_us": 1,
        "ecn": 4,
        "ce_threshold_us": 7,
        "memory_limit": 9,
        "drop_batch": 8,
    }

    flows: int | None = None
    quantum: int | None = None
    drop_batch: int | None = None
    memory_limit: int | None = None

    def said_back(self, name: str, told: int, timer_hz: int) -> int | None:
        """Times in units of 1024 ns; a least quantum and a largest memory limit."""
        if name == "quantum":
            return max(told, _LEAST_QUANTUM)
        if name == "memory_limit":
            return min(told, _MOST_MEMORY)
        return super().said_back(name, told, timer_hz)

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The counters of the queue; its statistics begin with their kind, which is 0."""
        if len(told) >= 4 and struct.unpack_from("=I", told) != (0,):  # noqa: PLR2004 - bytes of a number of the kernel
            return {}
        return u32_counters(told[4:], _FQ_COUNTERS, cls.kind)

    def parameters(self, around: Surroundings) -> Parameters:
        """Parameters of Vermilion's ``fq-codel``."""
        own = self.numbers()
        turns: Parameters = {name: own[name] for name in _TURNS if name in own}
        return {**super().parameters(around), **turns}

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """The options that have to be told."""
        own = refuse_fixed(changes, {"flows": self.flows}, "it is fixed once the queue is there")
        return super().request(own, around)

    def words(self) -> str:
        """The settings in plain words."""
        parts = [] if self.flows is None else [f"{self.flows} flow queues"]
        parts.append(super().words())
        if self.quantum is not None:
            parts.append(f"{self.quantum} bytes in a turn")
        return ", ".join(parts)
