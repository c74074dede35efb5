"""Queues that hold other queues (htb, tbf, mq...), and kinds that are not known: names only.

They matter for finding what is below them. What they say is kept as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from vermilion.routers.linux.options import QueueOptions

if TYPE_CHECKING:
    from collections.abc import Sequence


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


@dataclass(frozen=True, kw_only=True)
class HtbOptions(UnreadOptions):
    """``htb``: classes with rates, a queue below each."""

    kind: ClassVar[str] = "htb"
    container: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class TbfOptions(UnreadOptions):
    """``tbf``: one rate, one queue below it."""

    kind: ClassVar[str] = "tbf"
    container: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class HfscOptions(UnreadOptions):
    """``hfsc``: classes with service curves, a queue below each."""

    kind: ClassVar[str] = "hfsc"
    container: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class MqOptions(UnreadOptions):
    """``mq``: one queue for each transmit queue of the interface."""

    kind: ClassVar[str] = "mq"
    container: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class MqprioOptions(UnreadOptions):
    """``mqprio``: as ``mq``, with priorities."""

    kind: ClassVar[str] = "mqprio"
    container: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class PrioOptions(UnreadOptions):
    """``prio``: bands, the first always before the next."""

    kind: ClassVar[str] = "prio"
    container: ClassVar[bool] = True
