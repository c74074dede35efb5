"""Kinds of queues, one line each, and those that are only read: ``sfq`` and containers.

SFQ's source: net/sched/sch_sfq.c, include/uapi/linux/pkt_sched.h (``tc_sfq_qopt_v1``; Linux 6.12),
tried on a Linux 6.12 kernel. Its options are one block, older kernels have its first part only; the
marks of its RED are in the options. Containers (htb, tbf, mq...) matter for what is below them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from vermilion.routers.linux.cake import CakeOptions
from vermilion.routers.linux.choke import ChokeOptions
from vermilion.routers.linux.codel import CodelOptions, FqCodelOptions
from vermilion.routers.linux.fifo import (
    ByteFifoOptions,
    FastFifoOptions,
    HeadDropFifoOptions,
    PacketFifoOptions,
)
from vermilion.routers.linux.fq import FqOptions
from vermilion.routers.linux.message import check_length
from vermilion.routers.linux.options import QueueOptions
from vermilion.routers.linux.pie import FqPieOptions, PieOptions
from vermilion.routers.linux.red import RedOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_FIRST: Final = struct.Struct("=IiIII")
_SECOND: Final = struct.Struct("=IIIIIBBBBI6I")


@dataclass(frozen=True, kw_only=True)
class SfqOptions(QueueOptions):
    """The options of one ``sfq``.

    Attributes:
        quantum: bytes that a flow may send in a turn.
        perturb_s: seconds after which the hash changes; 0: never.
        limit: packets the buffer holds.
        divisor: size of the hash table.
        flows: flows that are kept apart.
        depth: packets of one flow.
        head_drop: whether the first packet of a flow is dropped.
        red_min: bytes of the average flow queue below which its RED drops nothing.
        red_max: bytes from which it drops all; 0: there is no RED.
        red_weight_log: of its average.
        red_marks: packets that it has marked.
    """

    kind: ClassVar[str] = "sfq"

    quantum: int | None = None
    perturb_s: int | None = None
    limit: int | None = None
    divisor: int | None = None
    flows: int | None = None
    depth: int | None = None
    head_drop: int | None = None
    red_min: int | None = None
    red_max: int | None = None
    red_weight_log: int | None = None
    red_marks: int | None = None

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The options that the kernel has said."""
        check_length(payload, _FIRST.size, "sfq options")
        names = ("quantum", "perturb_s", "limit", "divisor", "flows")
        known: dict[str, Any] = dict(zip(names, _FIRST.unpack_from(payload), strict=True))
        if len(payload) >= _FIRST.size + _SECOND.size:
            later = _SECOND.unpack_from(payload, _FIRST.size)
            more = ("depth", "head_drop", "", "red_min", "red_max", "red_weight_log")
            known |= {name: value for name, value in zip(more, later, strict=False) if name}
            # Marked by chance and above the maximum, at the tail and at the head.
            known["red_marks"] = sum(later[12:16])
        return cls(**known)

    def marked(self, counters: Mapping[str, int]) -> int | None:  # noqa: ARG002 - in the options
        """Packets that its RED has marked."""
        return self.red_marks

    def words(self) -> str:
        """The settings in plain words."""
        parts = [f"{self.flows} flows", f"at most {self.limit} packets"]
        if self.depth is not None:
            parts.append(f"{self.depth} of one flow")
        parts.append(f"{self.quantum} bytes in a turn")
        if self.red_max:
            parts.append(f"RED between {self.red_min} and {self.red_max} bytes of one flow")
        return ", ".join(parts)


@dataclass(frozen=True, kw_only=True)
class UnreadOptions(QueueOptions):
    """Options that are not looked into.

    Attributes:
        payload: as the kernel has said them.
    """

    kind: ClassVar[str] = "?"
    marks: ClassVar[Sequence[str] | None] = None

    payload: bytes = b""

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The options that the kernel has said."""
        return cls(payload=payload)

    def numbers(self) -> dict[str, object]:
        """None is known."""
        return {}


def _container(kind: str) -> type[UnreadOptions]:
    return type("ContainerOptions", (UnreadOptions,), {"kind": kind, "container": True})


_KINDS: Final[tuple[type[QueueOptions], ...]] = (
    RedOptions,
    PieOptions,
    FqPieOptions,
    CodelOptions,
    FqCodelOptions,
    FqOptions,
    ChokeOptions,
    PacketFifoOptions,
    ByteFifoOptions,
    HeadDropFifoOptions,
    FastFifoOptions,
    CakeOptions,
    SfqOptions,
    *map(_container, ("htb", "tbf", "hfsc", "mq", "mqprio", "prio")),
)

KINDS: Final[Mapping[str, type[QueueOptions]]] = {kind.kind: kind for kind in _KINDS}
"""The options of each kind, by the kernel's word."""

SHAPERS: Final = frozenset({"htb", "tbf", "hfsc", "cake"})
"""Kinds that hold packets back to a rate."""


def options_of(kind: str) -> type[QueueOptions]:
    """The options of a kind; of one that is not known, what keeps them unread."""
    return KINDS.get(kind, UnreadOptions)
