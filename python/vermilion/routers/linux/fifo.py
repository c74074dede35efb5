"""Drop-tail of Linux (``pfifo``, ``bfifo``, ``pfifo_head_drop``, ``pfifo_fast``).

Source: net/sched/sch_fifo.c and net/sched/sch_generic.c (Linux 6.12), tc/q_fifo.c (iproute2 6.1),
tried on a Linux 6.12 kernel. The only option is the limit, in packets or bytes; it is not in an
attribute of its own. A change drops nothing: a queue above a smaller limit drains to it.
``pfifo_fast`` takes its limit from the interface (``txqueuelen``) and has three bands; it is only
read.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, Self

from vermilion.routers.linux.message import check_length
from vermilion.routers.linux.options import (
    Parameters,
    QueueOptions,
    Surroundings,
    number,
    refuse_fixed,
    whole,
)
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Sequence

_LIMIT: Final = struct.Struct("=I")


@dataclass(frozen=True, kw_only=True)
class PacketFifoOptions(QueueOptions):
    """The options of one ``pfifo``.

    Attributes:
        limit: packets (of ``bfifo``, bytes) the buffer holds.
    """

    kind: ClassVar[str] = "pfifo"
    discipline: ClassVar[str | None] = "drop-tail"
    settable: ClassVar[Sequence[str]] = ("limit",)
    parameter: ClassVar[str] = "limit"
    """Which parameter of Vermilion's ``drop-tail`` the limit is."""

    drops: ClassVar[str] = "tail"

    limit: int | None = None

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The options that the kernel has said."""
        if not payload:
            return cls()
        check_length(payload, _LIMIT.size, f"{cls.kind} limit")
        return cls(limit=_LIMIT.unpack_from(payload)[0])

    def encode(self) -> bytes:
        """The limit, if it is known."""
        return b"" if self.limit is None else _LIMIT.pack(self.limit)

    def parameters(self, around: Surroundings) -> Parameters:  # noqa: ARG002 - none matters
        """Parameters of Vermilion's ``drop-tail``."""
        found: Parameters = {"drop": self.drops}
        if self.limit is not None:
            found[self.parameter] = self.limit
        return found

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:  # noqa: ARG002 - of all queues
        """The limit, if it is another."""
        own = refuse_fixed(changes, {"drop": self.drops}, f"it is fixed for {self.kind}")
        if self.parameter != "limit_bytes":
            own = refuse_fixed(own, {"limit_bytes": None}, f"{self.kind} counts packets")
        limit = self.limit
        for name, value in own.items():
            if name != self.parameter:
                raise FieldError(name, value, f"nothing: {self.kind} has only {self.parameter}")
            limit = whole(name, number(name, value))
        return None if limit == self.limit else type(self)(limit=limit)

    def restoring(self, changed: Self) -> Self:  # noqa: ARG002 - there is one option
        """The limit as it was."""
        return self

    def after(self, request: Self, timer_hz: int) -> Self:  # noqa: ARG002 - no time in it
        """The limit that was told."""
        return replace(self, limit=request.limit)

    def words(self) -> str:
        """The settings in plain words."""
        unit = "bytes" if self.parameter == "limit_bytes" else "packets"
        return "" if self.limit is None else f"at most {self.limit} {unit}"


@dataclass(frozen=True, kw_only=True)
class ByteFifoOptions(PacketFifoOptions):
    """The options of one ``bfifo``."""

    kind: ClassVar[str] = "bfifo"
    settable: ClassVar[Sequence[str]] = ("limit_bytes",)
    parameter: ClassVar[str] = "limit_bytes"


@dataclass(frozen=True, kw_only=True)
class HeadDropFifoOptions(PacketFifoOptions):
    """The options of one ``pfifo_head_drop``, which drops the first packet of a full buffer."""

    kind: ClassVar[str] = "pfifo_head_drop"
    drops: ClassVar[str] = "head"


@dataclass(frozen=True, kw_only=True)
class FastFifoOptions(QueueOptions):
    """``pfifo_fast``, the usual queue of many interfaces: nothing in it can be set."""

    kind: ClassVar[str] = "pfifo_fast"

    @classmethod
    def decode(cls, payload: bytes) -> Self:  # noqa: ARG003 - its bands are always the same
        """The options that the kernel has said."""
        return cls()

    def words(self) -> str:
        """The fixed settings."""
        return "three bands, the limit is the interface's txqueuelen"
