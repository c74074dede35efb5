"""FQ of Linux (``fq``): the discipline ``fq`` of Vermilion.

Source: net/sched/sch_fq.c, include/uapi/linux/pkt_sched.h (``tc_fq_qd_stats``; Linux 6.12),
tc/q_fq.c (iproute2 6.1), tried on a Linux 6.12 kernel.

- The kernel takes any limit and refuses a quantum of 0 or above 2^20.
- It says a CE threshold of 2^32 - 1 us where there is none, and takes that for "none".
- How many values the hash has (``orphan_mask``) and how long a flow must be silent for a new
  quantum are read, and stay as they are.
- Pacing, maxrate, horizon, bands and their weights are not simulated and stay as they are.
- A lower limit drops what it has no room for; a lower limit of one flow drops nothing.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Self

from vermilion.routers.linux.options import (
    Encoding,
    NumberOptions,
    Parameters,
    Surroundings,
    microseconds,
    sent,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FQ_OFF_US: Final = 2**32 - 1
"""The CE threshold, and the rate, that stand for none."""

_CE_THRESHOLD: Final = Encoding(
    lambda name, value: FQ_OFF_US if value is None else microseconds(name, value),
    lambda said: None if said == FQ_OFF_US else said / 1e6,
)
_COUNTERS: Final[Mapping[str, tuple[str, int]]] = {
    "fast_path_packets": ("Q", 8),
    "flow_limit_drops": ("Q", 32),
    "flows": ("I", 64),
    "inactive_flows": ("I", 68),
    "throttled_flows": ("I", 72),
    "ce_mark": ("Q", 80),
}
"""Each with its form and its place in the statistics; older kernels have fewer."""


@dataclass(frozen=True, kw_only=True)
class FqOptions(NumberOptions):
    """The options of one ``fq``.

    Attributes:
        limit: packets that the queues of all flows hold.
        flow_limit: packets that the queue of one flow holds.
        quantum: bytes that a flow may send in a turn.
        initial_quantum: bytes that a flow may send at first.
        rate_enable: whether packets are held back to the pacing rates of their sockets.
        maximum_rate: bytes a second that a flow is held to; 2^32 - 1: it is not.
        refill_delay_us: after so long without a packet a flow has a whole quantum again.
        orphan_mask: of the hash by which flows of others than this machine are told apart.
        ce_threshold_us: sojourn time above which every ECN-capable packet is marked.
    """

    kind: ClassVar[str] = "fq"
    discipline: ClassVar[str | None] = "fq"
    settable: ClassVar[Sequence[str]] = (
        "limit",
        "flow_limit",
        "quantum",
        "initial_quantum",
        "ce_threshold",
    )
    marks: ClassVar[Sequence[str] | None] = ("ce_mark",)

    limit: int | None = field(default=None, metadata=sent(1, "limit"))
    flow_limit: int | None = field(default=None, metadata=sent(2, "flow_limit"))
    quantum: int | None = field(default=None, metadata=sent(3, "quantum"))
    initial_quantum: int | None = field(default=None, metadata=sent(4, "initial_quantum"))
    rate_enable: int | None = field(default=None, metadata=sent(5))
    maximum_rate: int | None = field(default=None, metadata=sent(7))
    refill_delay_us: int | None = field(default=None, metadata=sent(9))
    orphan_mask: int | None = field(default=None, metadata=sent(10))
    ce_threshold_us: int | None = field(
        default=None, metadata=sent(12, "ce_threshold", _CE_THRESHOLD)
    )

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The counters of the queue."""
        return {
            name: struct.unpack_from(f"={form}", told, at)[0]
            for name, (form, at) in _COUNTERS.items()
            if at + struct.calcsize(form) <= len(told)
        }

    def fixed(self, around: Surroundings) -> Parameters:  # noqa: ARG002 - of all queues
        """Parameters that stay as the queue was made."""
        found: Parameters = {}
        if self.orphan_mask is not None:
            found["flows"] = self.orphan_mask + 1
        if self.refill_delay_us is not None:
            found["refill_delay"] = self.refill_delay_us / 1e6
        return found

    def refused(self, around: Surroundings) -> Iterator[tuple[Parameters, str]]:
        """Flows and the delay of a new quantum."""
        none: Parameters = {"flows": None, "refill_delay": None}
        yield {**none, **self.fixed(around)}, "it stays as the queue was made"

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """The options that have to be told; how flows are hashed is none of them."""
        own = {name: value for name, value in changes.items() if name != "perturbation"}
        return super().request(own, around)

    def words(self) -> str:
        """The settings in plain words."""
        parts = [] if self.limit is None else [f"at most {self.limit} packets"]
        if self.flow_limit is not None:
            parts.append(f"{self.flow_limit} of one flow")
        if self.quantum is not None:
            parts.append(f"{self.quantum} bytes in a turn")
        if self.maximum_rate not in {None, FQ_OFF_US}:
            parts.append(f"each flow held to {8 * (self.maximum_rate or 0)} bit/s")
        return ", ".join(parts)
