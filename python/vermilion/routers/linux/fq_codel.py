"""FQ-CoDel of Linux (``fq_codel``): the discipline ``fq-codel`` in the dialect ``linux``.

Source: net/sched/sch_fq_codel.c (Linux 6.12), tc/q_fq_codel.c (iproute2 6.1), tried on a Linux 6.12
kernel. As :mod:`.codel`, and:

- The number of flows is fixed once the queue is there.
- A quantum below 256 bytes becomes 256; one above 2^20 is refused.
- A memory limit above 2^31 becomes that; lowering it drops what it has no room for.
- Kernels older than spring 2020 take any drop batch for 1.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from vermilion.routers.linux.codel import (
    CODEL_TIMES,
    codel_options,
    codel_parameters,
    codel_words,
    refuse_built_in,
)
from vermilion.routers.linux.kernel_clock import CODEL_OFF_US, codel_said_back, codel_to_tell
from vermilion.routers.linux.options import (
    NumberOptions,
    Parameters,
    Price,
    Surroundings,
    limit_price,
    refuse_fixed,
    u32_counters,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LEAST_QUANTUM: Final = 256
_MOST_MEMORY: Final = 2**31
_TURNS: Final = ("flows", "quantum", "memory_limit", "drop_batch")
_COUNTERS: Final = (
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
class FqCodelOptions(NumberOptions):
    """The options of one ``fq_codel``.

    Attributes:
        target_us: sojourn time that a flow's queue may keep up.
        limit: packets the buffer holds, of all flows together.
        interval_us: how long the sojourn must exceed the target.
        ecn: whether packets are marked.
        flows: queues into which flows are hashed.
        quantum: bytes that a flow may send in a turn.
        ce_threshold_us: sojourn time above which every ECN-capable packet is marked; absent: off.
        drop_batch: at most so many packets are dropped at a time when the buffer is full.
        memory_limit: bytes of memory the buffer holds.
    """

    kind: ClassVar[str] = "fq_codel"
    discipline: ClassVar[str | None] = "fq-codel"
    settable: ClassVar[Sequence[str]] = (
        "limit",
        *CODEL_TIMES,
        "ecn",
        "quantum",
        "memory_limit",
        "drop_batch",
    )
    marks: ClassVar[Sequence[str] | None] = ("ecn_mark", "ce_mark")
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

    target_us: int | None = None
    limit: int | None = None
    interval_us: int | None = None
    ecn: int | None = None
    flows: int | None = None
    quantum: int | None = None
    ce_threshold_us: int | None = None
    drop_batch: int | None = None
    memory_limit: int | None = None

    def said_back(self, name: str, told: int, timer_hz: int) -> int | None:  # noqa: ARG002 - of all queues
        """Times in units of 1024 ns; a least quantum and a largest memory limit."""
        if name in CODEL_TIMES.values():
            return codel_said_back(told)
        if name == "quantum":
            return max(told, _LEAST_QUANTUM)
        return min(told, _MOST_MEMORY) if name == "memory_limit" else told

    def to_tell(self, name: str, said: int) -> int:
        """The way back."""
        return codel_to_tell(said) if name in CODEL_TIMES.values() else said

    def to_tell_absent(self, name: str) -> int | None:
        """Only the CE threshold can be absent."""
        return CODEL_OFF_US if name == "ce_threshold_us" else None

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The counters of the queue; its statistics begin with their kind, which is 0."""
        if len(told) >= 4 and struct.unpack_from("=I", told) != (0,):  # noqa: PLR2004 - bytes of a number of the kernel
            return {}
        return u32_counters(told[4:], _COUNTERS, cls.kind)

    def parameters(self, around: Surroundings) -> Parameters:
        """As Vermilion's ``fq-codel`` has them."""
        own = self.numbers()
        turns: Parameters = {name: own[name] for name in _TURNS if name in own}
        return {**codel_parameters(self, around), **turns}

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """The options that have to be told."""
        own = refuse_fixed(changes, {"flows": self.flows}, "it is fixed once the queue is there")
        own = refuse_built_in(own, around)
        turns: dict[str, int | None] = {
            name: whole(name, own.pop(name)) for name in _TURNS if name in own
        }
        return self.changed_only({**codel_options(own), **turns})

    def price(self, request: Self, waiting: int) -> Price:
        """A lower limit drops what it has no room for."""
        return limit_price(request.limit, waiting)

    def words(self) -> str:
        """The settings in plain words."""
        parts = [] if self.flows is None else [f"{self.flows} flow queues"]
        parts.append(codel_words(self))
        if self.quantum is not None:
            parts.append(f"{self.quantum} bytes in a turn")
        return ", ".join(parts)
