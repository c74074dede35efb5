"""CAKE of Linux (``cake``), to be read.

Source: net/sched/sch_cake.c, include/uapi/linux/pkt_sched.h (Linux 6.12), tc/q_cake.c (iproute2
6.1), tried on a Linux 6.12 kernel. Its statistics are attributes, those of each class of service
("tin") nested in them. Its interval is what it is told as ``rtt``, its target a twentieth of
that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vermilion.routers.linux.message import by_type, number_of, parse_attributes
from vermilion.routers.linux.options import NumberOptions, sent

if TYPE_CHECKING:
    from collections.abc import Sequence

DIFFSERV: Final = ("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence")
FLOW_MODES: Final = (
    "flowblind",
    "srchost",
    "dsthost",
    "hosts",
    "flows",
    "dual-srchost",
    "dual-dsthost",
    "triple-isolate",
)
"""tc's words, by the kernel's numbers."""

_TINS: Final = 10
_TIN_COUNTERS: Final = {
    2: "sent_packets",
    4: "dropped_packets",
    6: "acks_dropped",
    8: "ecn_marked",
    10: "tin_backlog_packets",
    11: "tin_backlog_bytes",
}
_QUEUE_COUNTERS: Final = {2: "capacity_estimate", 3: "memory_limit", 4: "memory_used"}


@dataclass(frozen=True, kw_only=True)
class CakeOptions(NumberOptions):
    """The options of one ``cake``.

    Attributes:
        base_rate: of its shaper, bytes a second; 0: it does not shape.
        diffserv_mode: which classes of service, an index of ``DIFFSERV``.
        atm: how cells of the link are counted.
        flow_mode: what a flow is, an index of ``FLOW_MODES``.
        overhead: bytes added to each packet.
        rtt_us: the interval.
        target_us: the target.
        autorate: whether it follows the rate of arrivals.
        memory: bytes of memory the buffer holds; 0: by its own rule.
        nat: whether addresses before translation count.
        raw: whether no overhead counts.
        wash: whether marks of service are cleared.
        mpu: bytes that a packet counts at least.
        ingress: whether drops count for the shaper.
        ack_filter: whether acknowledgements are thinned out.
        split_gso: whether large segments are cut up.
        fwmark: the mask of the mark that chooses the tin.
    """

    kind: ClassVar[str] = "cake"
    marks: ClassVar[Sequence[str] | None] = ("ecn_marked",)

    base_rate: int | None = field(default=None, metadata=sent(2))
    diffserv_mode: int | None = field(default=None, metadata=sent(3))
    atm: int | None = field(default=None, metadata=sent(4))
    flow_mode: int | None = field(default=None, metadata=sent(5))
    overhead: int | None = field(default=None, metadata=sent(6))
    rtt_us: int | None = field(default=None, metadata=sent(7))
    target_us: int | None = field(default=None, metadata=sent(8))
    autorate: int | None = field(default=None, metadata=sent(9))
    memory: int | None = field(default=None, metadata=sent(10))
    nat: int | None = field(default=None, metadata=sent(11))
    raw: int | None = field(default=None, metadata=sent(12))
    wash: int | None = field(default=None, metadata=sent(13))
    mpu: int | None = field(default=None, metadata=sent(14))
    ingress: int | None = field(default=None, metadata=sent(15))
    ack_filter: int | None = field(default=None, metadata=sent(16))
    split_gso: int | None = field(default=None, metadata=sent(17))
    fwmark: int | None = field(default=None, metadata=sent(18))

    def encode(self) -> bytes:
        """Refuse: this qdisc is only read."""
        message = "options of cake are only read"
        raise NotImplementedError(message)

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The counters of all tins together, and the memory in use."""
        own = by_type(parse_attributes(told, "statistics of cake"))
        found: dict[str, int] = {
            name: number_of(own[number], f"cake {name}")
            for number, name in _QUEUE_COUNTERS.items()
            if number in own
        }
        for tin in parse_attributes(own.get(_TINS, b""), "tins of cake"):
            counted: dict[int, Any] = by_type(parse_attributes(tin.payload, "tin of cake"))
            for number, name in _TIN_COUNTERS.items():
                if number in counted:
                    more = number_of(counted[number], f"cake {name}")
                    found[name] = found.get(name, 0) + more
        return found

    def words(self) -> str:
        """The settings in plain words."""
        parts = []
        if self.base_rate is not None:
            rate = f"{8e-6 * self.base_rate:g} Mbit/s" if self.base_rate else "nothing"
            parts.append(f"shapes to {rate}")
        if self.diffserv_mode is not None and self.diffserv_mode < len(DIFFSERV):
            parts.append(DIFFSERV[self.diffserv_mode])
        if self.flow_mode is not None and self.flow_mode < len(FLOW_MODES):
            parts.append(FLOW_MODES[self.flow_mode])
        if self.rtt_us is not None:
            parts.append(f"interval {self.rtt_us / 1000:g} ms")
        if self.target_us is not None:
            parts.append(f"target {self.target_us / 1000:g} ms")
        return ", ".join(parts)
