"""Every kind of queue that is known: one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.routers.linux.cake import CakeOptions
from vermilion.routers.linux.choke import ChokeOptions
from vermilion.routers.linux.codel import CodelOptions
from vermilion.routers.linux.containers import (
    HfscOptions,
    HtbOptions,
    MqOptions,
    MqprioOptions,
    PrioOptions,
    TbfOptions,
    UnreadOptions,
)
from vermilion.routers.linux.fifo import (
    ByteFifoOptions,
    FastFifoOptions,
    HeadDropFifoOptions,
    PacketFifoOptions,
)
from vermilion.routers.linux.fq import FqOptions
from vermilion.routers.linux.fq_codel import FqCodelOptions
from vermilion.routers.linux.fq_pie import FqPieOptions
from vermilion.routers.linux.pie import PieOptions
from vermilion.routers.linux.red import RedOptions
from vermilion.routers.linux.sfq import SfqOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.routers.linux.options import QueueOptions

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
    HtbOptions,
    TbfOptions,
    HfscOptions,
    MqOptions,
    MqprioOptions,
    PrioOptions,
)

KINDS: Final[Mapping[str, type[QueueOptions]]] = {kind.kind: kind for kind in _KINDS}
"""The options of each kind, by the kernel's word."""

SHAPERS: Final = frozenset({"htb", "tbf", "hfsc", "cake"})
"""Kinds that hold packets back to a rate."""


def options_of(kind: str) -> type[QueueOptions]:
    """The options of a kind; of one that is not known, what keeps them unread."""
    return KINDS.get(kind, UnreadOptions)
