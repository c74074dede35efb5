"""Common parts of ``red`` and ``choke`` of Linux: one block, a table of decay, a probability.

Source: net/sched/sch_red.c, sch_choke.c, include/net/red.h and include/uapi/linux/pkt_sched.h
(``tc_red_qopt``; Linux 6.12), tc/q_red.c, q_choke.c and tc_red.c (iproute2 6.1,
``tc_red_eval_idle_damping``). ``red`` counts bytes, ``choke`` packets. A change is no patch: all
arguments and the table are told every time.

The table has 256 shifts: entry i is the number of bits by which an idle average shrinks in
i * 2^Scell_log units of time, (1 - 2^-Wlog) to the number of packets that could have been sent in
it. The kernel keeps it and never says it back. tc computes it in scheduler ticks of 64 ns; the
kernel looks times up in microseconds, so that with tc's table an idle average decays 15.625 times
too slowly. Which of the two is in force cannot be read; but ``Scell_log`` says, within a factor of
two, how long a packet was taken to last, whatever the unit. A queue that is changed keeps that.
"""

from __future__ import annotations

import math
import struct
from abc import abstractmethod
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from vermilion.routers.linux.message import (
    attribute_bytes,
    check_length,
    number_of,
    parse_attributes,
    u32_bytes,
)
from vermilion.routers.linux.options import (
    Parameters,
    QueueOptions,
    number,
    whole,
)
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue
    from vermilion.routers.linux.message import Attribute

ENTRIES: Final = 256
_LARGEST_SHIFT: Final = 31
_LARGEST_CELL_LOG: Final = 31
_WIDTH: Final = 512
_TICKS_PER_US: Final = 15.625
_BITS_PER_BYTE: Final = 8.0
_US_PER_S: Final = 1e6

_TC_RATE_BIT_PER_S: Final = 10e6
"""What tc takes where it is not told a bandwidth."""

_TC_PACKET: Final = 1000.0


def packet_time(packet_bytes: float, rate_bit_per_s: float, *, unit: str = "tc") -> float:
    """Time of a packet in the unit of a table: "tc" (ticks) or "microseconds"."""
    microseconds = _US_PER_S * _BITS_PER_BYTE * packet_bytes / rate_bit_per_s
    if unit == "tc":
        # tc cuts off twice: to whole microseconds, and to whole ticks.
        return max(int(int(microseconds) * _TICKS_PER_US), 1)
    return microseconds


def idle_table(weight_log: int, packet_units: float) -> tuple[int, bytes]:
    """``Scell_log`` and the table.

    Args:
        weight_log: the average's weight is 2 to the minus this.
        packet_units: how long a packet takes, in the table's unit of time.
    """
    decay = -math.log(1.0 - 0.5**weight_log) / packet_units
    longest = _LARGEST_SHIFT / decay
    cell_log = 0
    while cell_log < _LARGEST_CELL_LOG and longest / 2**cell_log >= _WIDTH:
        cell_log += 1
    shifts = [min(int((index << cell_log) * decay), _LARGEST_SHIFT) for index in range(ENTRIES)]
    shifts[0], shifts[-1] = 0, _LARGEST_SHIFT
    return cell_log, bytes(shifts)


def implied_packet_time(weight_log: int, cell_log: int) -> float:
    """Packet time that was assumed by whoever wrote a table with this ``Scell_log``.

    tc's own usual packet and rate, where they lead to it; else the middle of what does.
    """
    usual = packet_time(_TC_PACKET, _TC_RATE_BIT_PER_S)
    if idle_table(weight_log, usual)[0] == cell_log:
        return usual
    longest = float(2**cell_log) * _WIDTH * math.sqrt(0.5)
    return longest / _LARGEST_SHIFT * -1.0 * math.log(1.0 - 0.5**weight_log)


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

_BLOCK_FORM: Final = struct.Struct("=IIIBBBB")
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
        return _BLOCK_FORM.pack(*astuple(self))


def decode_block(payload: bytes, kind: str) -> RedBlock:
    """The block in some bytes; newer kernels may add to its end.

    Raises:
        AnswerError: it is cut off.
    """
    check_length(payload, _BLOCK_FORM.size, f"{kind} parameters")
    return RedBlock(*_BLOCK_FORM.unpack_from(payload))


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


_BLOCK: Final = 1
_TABLE: Final = 2
_MAX_P: Final = 3
_THRESHOLDS: Final = {"min_threshold": "low", "max_threshold": "high"}
FORGETS: Final = "the average queue, which starts again at 0"
"""What a change of either costs besides packets."""


@dataclass(frozen=True, kw_only=True)
class RedFamilyOptions(QueueOptions):
    """The options that both have.

    Attributes:
        switches: flags of the kernel by parameter.
        weight: the parameter that is the weight of one arrival in the average.
        counted: what the block counts, in words.
        counter_names: of the kind's part of the statistics.
        block: limit, thresholds, weight, flags.
        table: of decay; only in requests.
        max_p: maximum probability in units of 2^-32.
    """

    marks: ClassVar[Sequence[str] | None] = ("marked",)
    switches: ClassVar[Mapping[str, int]]
    weight: ClassVar[str]
    counted: ClassVar[str]

    block: RedBlock | None = None
    table: bytes | None = None
    max_p: int | None = None

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The options that the kernel has said."""
        known: dict[str, Any] = {}
        unknown = []
        for attribute in parse_attributes(payload, cls.kind):
            if attribute.type == _BLOCK:
                known["block"] = decode_block(attribute.payload, cls.kind)
            elif attribute.type == _TABLE:
                known["table"] = decode_table(attribute.payload, cls.kind)
            elif attribute.type == _MAX_P:
                known["max_p"] = number_of(attribute.payload, f"{cls.kind} max_p")
            elif (own := cls._decode_own(attribute)) is not None:
                known.update(own)
            else:
                unknown.append(attribute)
        return cls(**known, unknown=tuple(unknown))

    @classmethod
    def _decode_own(cls, attribute: Attribute) -> dict[str, int] | None:  # noqa: ARG003 - for red
        """Options in an attribute that only this kind has; ``None`` if it is not known."""
        return None

    def encode(self) -> bytes:
        """The attributes in tc's order."""
        told = b""
        if self.block is not None:
            told += attribute_bytes(_BLOCK, self.block.encode())
        if self.table is not None:
            told += attribute_bytes(_TABLE, self.table)
        if self.max_p is not None:
            told += u32_bytes(_MAX_P, self.max_p)
        told += self._encode_own()
        return told + b"".join(attribute_bytes(each.type, each.payload) for each in self.unknown)

    def _encode_own(self) -> bytes:
        """The attributes that only this kind has."""
        return b""

    @property
    def flags(self) -> int:
        """Flags that are on."""
        return 0 if self.block is None else self.block.flags

    @property
    def limit(self) -> int | None:
        """Limit of the buffer; ``None`` where nothing says it."""
        return None if self.block is None else self.block.limit

    def numbers(self) -> dict[str, Any]:
        """Numbers that the kernel says; never the table."""
        if self.block is None:
            return {}
        own = {
            "limit": self.limit,
            "min": self.block.low,
            "max": self.block.high,
            "weight_log": self.block.weight_log,
            "plog": self.block.probability_log,
            "scell_log": self.block.cell_log,
            "max_p": self.max_p,
            "flags": self.flags,
        }
        return {name: value for name, value in own.items() if value is not None}

    def common_parameters(self) -> Parameters:
        """The parameters that both have under one name."""
        if self.block is None:
            return {}
        found: Parameters = {
            "min_threshold": self.block.low,
            "max_threshold": self.block.high,
            self.weight: self._weight_of(self.block.weight_log),
            **{name: bool(self.flags & flag) for name, flag in self.switches.items()},
        }
        if self.limit:
            found["limit"] = self.limit
        if self.max_p is not None:
            found["max_probability"] = self.max_p / ONE
        return found

    def told_block(self) -> RedBlock:
        """The kernel's block, which a request begins with.

        Raises:
            FieldError: it says nothing.
        """
        if self.block is None:
            accepted = f"a kernel that says the parameters of {self.kind}"
            raise FieldError("queue", self.kind, accepted)
        return self.block

    def wanted(self, changes: Parameters, told: RedBlock) -> tuple[RedBlock, int, int]:
        """The block, the probability and the flags that are to be in force.

        Args:
            changes: parameters.
            told: the block that is in force; its own flags are not looked at.

        Raises:
            FieldError: the kernel does not have one of them, or not such a value.
        """
        max_p, flags = self.max_p or probability_said_back(None, told), self.flags
        for name, value in changes.items():
            if name == "limit":
                told = replace(told, limit=whole(name, value))
            elif name in _THRESHOLDS:
                exact = whole(name, number(name, value))
                told = replace(told, **{_THRESHOLDS[name]: exact})
            elif name == self.weight:
                told = replace(told, weight_log=self._weight_log(value))
            elif name == "max_probability":
                max_p = probability_steps(name, number(name, value))
            elif name in self.switches:
                flag = self.switches[name]
                flags = flags | flag if value else flags & ~flag
            else:
                raise FieldError(name, value, "nothing: the kernel has no such option")
        weight = changes.get(self.weight, self._weight_of(told.weight_log))
        check_average(self.weight, weight, told.weight_log, told.low, told.high)
        return told, max_p, flags

    @classmethod
    @abstractmethod
    def _weight_log(cls, value: ParameterValue) -> int:
        """The n of the kernel's weight of 2^-n for the weight's parameter.

        Raises:
            FieldError: there is none.
        """

    @classmethod
    @abstractmethod
    def _weight_of(cls, log: int) -> ParameterValue:
        """Return the weight of a logarithm."""

    @staticmethod
    def table_in_force(block: RedBlock) -> bytes:
        """The table of decay that goes with a block."""
        units = implied_packet_time(block.weight_log, block.cell_log)
        return idle_table(block.weight_log, units)[1]

    def words(self) -> str:
        """The settings in plain words."""
        block = self.block
        if block is None:
            return ""
        parts = [
            f"drops between {block.low} and {block.high} {self.counted} on average",
            f"weight 2^-{block.weight_log}",
            f"at most {self.limit} {self.counted}" if self.limit else "limit not told",
        ]
        if self.max_p is not None:
            parts.insert(1, f"up to {100 * self.max_p / ONE:.4g} %")
        return ", ".join([*parts, *self._flag_words()])

    def _flag_words(self) -> Sequence[str]:
        """Format the flags."""
        return ["ECN marks" if self.flags & ECN else "no ECN marks"]
