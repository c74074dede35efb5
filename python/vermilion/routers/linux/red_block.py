"""The numbers that ``red`` and ``choke`` are told in one block (``struct tc_red_qopt``).

Source: include/uapi/linux/pkt_sched.h, include/net/red.h (Linux 6.12), tc/tc_red.c (iproute2 6.1).
``red`` counts bytes, ``choke`` packets.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.routers.linux.attributes import check_length
from vermilion.routers.linux.idle_table import ENTRIES
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from vermilion.routers.base import ParameterValue

ECN: Final = 1
HARD_DROP: Final = 2
ADAPTIVE: Final = 4
NO_DROP: Final = 8
BLOCK_FLAGS: Final = ECN | HARD_DROP | ADAPTIVE
"""Flags that the block itself may carry; newer ones have an attribute of their own."""

ONE: Final = 2**32
"""The kernel's unit of probability is 1 / this."""

BITS: Final = 31
"""fls(threshold) + Wlog may not exceed it."""

_BLOCK: Final = struct.Struct("=IIIBBBB")
_LARGEST: Final = 31
_U32: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class RedBlock:
    """The block.

    Attributes:
        limit: what the buffer holds.
        low: average from which packets are dropped.
        high: average from which all are.
        weight_log: the weight of one arrival in the average is 2 to the minus this (Wlog).
        probability_log: tc's word for the slope (Plog); only kernels without ``MAX_P`` use it.
        cell_log: of the table of decay (Scell_log).
        flags: those of ``BLOCK_FLAGS`` that are on.
    """

    limit: int
    low: int
    high: int
    weight_log: int
    probability_log: int
    cell_log: int
    flags: int

    def encode(self) -> bytes:
        """The block's bytes."""
        return _BLOCK.pack(
            self.limit,
            self.low,
            self.high,
            self.weight_log,
            self.probability_log,
            self.cell_log,
            self.flags,
        )


def decode_block(payload: bytes, kind: str) -> RedBlock:
    """The block in some bytes; newer kernels may add to its end.

    Raises:
        AnswerError: it is cut off.
    """
    check_length(payload, _BLOCK.size, f"{kind} parameters")
    return RedBlock(*_BLOCK.unpack_from(payload))


def decode_table(payload: bytes, kind: str) -> bytes:
    """A table of decay; only requests have one.

    Raises:
        AnswerError: it is cut off.
    """
    check_length(payload, ENTRIES, f"{kind} table")
    return payload[:ENTRIES]


def probability_said_back(told: int | None, block: RedBlock) -> int:
    """The maximum probability in force; from Plog where it is 0 or not told."""
    if told:
        return told
    slope = _U32 >> block.probability_log if block.probability_log <= _LARGEST else _U32
    return slope * max(block.high - block.low, 1) & _U32


def probability_log(low: int, high: int, probability: float) -> int:
    """The Plog of tc: the least i with probability * 2^i > high - low, at most 31."""
    if high <= low:
        return 0
    slope = probability / (high - low)
    return next((log for log in range(_LARGEST) if slope * 2**log > 1.0), _LARGEST)


def probability_steps(name: str, value: float) -> int:
    """A probability in the kernel's unit.

    Raises:
        FieldError: it has none: 0, or 1 and more.
    """
    steps = round(value * ONE)
    if not 0 < steps < ONE:
        raise FieldError(name, value, "a probability above 0 and below 1, in steps of 2^-32")
    return steps


def check_average(
    weight_name: str, weight: ParameterValue, weight_log: int, low: int, high: int
) -> None:
    """Refuses thresholds and weights that the kernel would refuse.

    Raises:
        FieldError: naming what is wrong.
    """
    if low > high:
        raise FieldError("min_threshold", low, f"no more than max_threshold, which is {high}")
    most = BITS - max(high.bit_length(), 1)
    if weight_log > most:
        accepted = (
            f"no weight below 2^-{most}: the kernel has no room for less at a threshold of {high}"
        )
        raise FieldError(weight_name, weight, accepted)
