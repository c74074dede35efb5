"""RED of Linux (``red``): the discipline ``linux-red`` of Vermilion.

Source: net/sched/sch_red.c and include/net/red.h (Linux 6.12), tc/q_red.c (iproute2 6.1), tried
on a Linux 6.12 kernel. As :mod:`.red_family`, and:

- A change drops all packets that wait and sets the average to 0. A limit of 0 in the message
  keeps the packets and the limit; the kernel then says a limit of 0.
- The flags that there were first are told in the block, or all in an attribute of their own. The
  timer of "adaptive" is only started by the block, "no_drop" only exists in the attribute.
- The maximum probability is a multiple of 2^-32 below 1; 0 makes the kernel take Plog.
- Refused: min above max, fls(threshold) + Wlog >= 32, no_drop without ECN.
- With "adaptive" the kernel moves the probability by itself, which a comparison leaves out.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final, Self

from vermilion.routers.linux.message import attribute_bytes, check_length
from vermilion.routers.linux.options import (
    Parameters,
    Price,
    Surroundings,
    number,
    refuse_fixed,
    whole,
)
from vermilion.routers.linux.red_family import (
    ADAPTIVE,
    BLOCK_FLAGS,
    ECN,
    FORGETS,
    HARD_DROP,
    NO_DROP,
    ONE,
    RedBlock,
    RedFamilyOptions,
    idle_table,
    implied_packet_time,
    packet_time,
    probability_log,
    probability_said_back,
)
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue
    from vermilion.routers.linux.message import Attribute

_FLAGS: Final = 4
_BITS: Final = struct.Struct("=II")
_ALL_FLAGS: Final = BLOCK_FLAGS | NO_DROP
_SWITCHES: Final = {
    "ecn": ECN,
    "drop_above_maximum": HARD_DROP,
    "no_drop": NO_DROP,
    "adaptive": ADAPTIVE,
}
_USUAL_PACKET: Final = 1000.0


@dataclass(frozen=True, kw_only=True)
class RedOptions(RedFamilyOptions):
    """The options of one ``red``; the block counts bytes.

    Attributes:
        flag_values: all flags that are on, where they have an attribute of their own.
        flag_selector: which of them a request sets.
        inner_limit: of the queue inside, which is the limit in force where the block says 0.
    """

    kind: ClassVar[str] = "red"
    discipline: ClassVar[str | None] = "linux-red"
    settable: ClassVar[Sequence[str]] = (
        "limit",
        "min_threshold",
        "max_threshold",
        "max_probability",
        "weight_log",
        *_SWITCHES,
    )
    moved: ClassVar[Mapping[str, str]] = {"max_probability": "adaptive"}
    switches: ClassVar[Mapping[str, int]] = _SWITCHES
    weight: ClassVar[str] = "weight_log"
    counted: ClassVar[str] = "bytes"
    counter_names: ClassVar[Sequence[str]] = ("early", "pdrop", "other", "marked")

    flag_values: int | None = None
    flag_selector: int | None = None
    inner_limit: int | None = field(default=None, compare=False)

    @classmethod
    def _decode_own(cls, attribute: Attribute) -> dict[str, int] | None:
        if attribute.type != _FLAGS:
            return None
        check_length(attribute.payload, _BITS.size, "red flags")
        values, selector = _BITS.unpack_from(attribute.payload)
        return {"flag_values": values, "flag_selector": selector}

    def _encode_own(self) -> bytes:
        if self.flag_values is None:
            return b""
        return attribute_bytes(_FLAGS, _BITS.pack(self.flag_values, self.flag_selector or 0))

    @property
    def flags(self) -> int:
        """Flags that are on, from every attribute that carries them."""
        if self.flag_values is not None:
            return self.flag_values & _ALL_FLAGS
        return 0 if self.block is None else self.block.flags & BLOCK_FLAGS

    @property
    def limit(self) -> int | None:
        """Bytes the buffer holds; ``None`` where nothing says them."""
        if self.block is None:
            return None
        return self.block.limit or self.inner_limit

    def parameters(self, around: Surroundings) -> Parameters:
        """Parameters of Vermilion's ``linux-red``."""
        if self.block is None:
            return {}
        return {**self.common_parameters(), "burst": None, "shaped": around.shaped}

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """Return the whole request, if anything is to change."""
        before = self.told_block()
        own = refuse_fixed(changes, {"shaped": around.shaped}, "the place of the queue decides")
        own = refuse_fixed(own, {"burst": None}, "the kernel has no burst; give weight_log")
        # How to change, not what: the kernel keeps no such thing.
        keep = own.pop("keep_packets", before.limit == 0) is True
        units = self._packet_units(own, around)
        in_force = replace(before, limit=self.limit or 0)
        told, max_p, flags = self.wanted(own, in_force)
        self._check_flags(flags)
        same = max_p == self.max_p and flags == self.flags and told == in_force
        if same and units is None:
            return None
        limit = self._limit_argument(changes, told, keep=keep)
        if units is None:
            units = implied_packet_time(before.weight_log, before.cell_log)
        cell_log, table = idle_table(told.weight_log, units)
        in_attribute = bool(flags & NO_DROP or self.flags & NO_DROP)
        block = replace(
            told,
            limit=limit,
            probability_log=probability_log(told.low, told.high, max_p / ONE),
            cell_log=cell_log,
            flags=0 if in_attribute else flags,
        )
        return type(self)(
            block=block,
            table=table,
            max_p=max_p,
            flag_values=flags if in_attribute else None,
            flag_selector=_ALL_FLAGS if in_attribute else None,
        )

    @classmethod
    def _weight_log(cls, value: ParameterValue) -> int:
        return whole("weight_log", number("weight_log", value))

    @classmethod
    def _weight_of(cls, log: int) -> ParameterValue:
        return log

    def _check_flags(self, flags: int) -> None:
        """Refuses flags that the kernel would refuse, or that no message sets.

        Raises:
            FieldError: naming what is wrong.
        """
        if flags & NO_DROP and not flags & ECN:
            raise FieldError("no_drop", "true", "false, or ecn to be on")
        if flags & NO_DROP and flags & ADAPTIVE and flags != self.flags:
            accepted = "false while adaptive is on: no message of the kernel sets both"
            raise FieldError("no_drop", "true", accepted)

    def _limit_argument(self, changes: Parameters, told: RedBlock, *, keep: bool) -> int:
        """0 keeps what waits; otherwise the limit, which has to be known."""
        if keep and "limit" in changes and told.limit != self.limit:
            accepted = "no other limit: keep_packets keeps it"
            raise FieldError("limit", told.limit, accepted)
        if keep:
            return 0
        if told.limit == 0:
            accepted = "a number of bytes: this kernel does not report it after keep_packets"
            raise FieldError("limit", "unknown", accepted)
        return told.limit

    def _packet_units(self, changes: Parameters, around: Surroundings) -> float | None:
        """Packet time in the table's unit, where somebody says it.

        The two parameters are taken out of the changes.
        """
        given = {name: changes.pop(name) for name in _OF_TABLE if name in changes}
        if not given:
            return None
        if around.rate_bit_per_s is None:
            name, value = next(iter(given.items()))
            accepted = "nothing: without the link's rate, no table can be computed"
            raise FieldError(name, value, accepted)
        size = number("mean_packet_size", given.get("mean_packet_size", _USUAL_PACKET))
        return packet_time(size, around.rate_bit_per_s, unit=str(given.get("idle_table", "tc")))

    def restoring(self, changed: Self) -> Self:
        """Return the request that restores everything, its table included."""
        block = self.block
        if block is None:
            raise NotImplementedError(changed.kind)
        in_attribute = bool((self.flags | changed.flags) & NO_DROP)
        # Where the packets have been kept all along, the limit has too.
        kept = block.limit == 0 and changed.block is not None and changed.block.limit == 0
        limit = 0 if kept else self.limit or 0
        return type(self)(
            block=replace(block, limit=limit, flags=0 if in_attribute else self.flags),
            table=self.table_in_force(block),
            max_p=self.max_p,
            flag_values=self.flags if in_attribute else None,
            flag_selector=_ALL_FLAGS if in_attribute else None,
        )

    def after(self, request: Self, timer_hz: int) -> Self:  # noqa: ARG002 - no time in it
        """The request; flags that it does not name stay."""
        block = request.block
        if block is None:
            return self
        if request.flag_values is not None:
            selector = request.flag_selector or 0
            flags = self.flags & ~selector | request.flag_values & selector
        else:
            flags = self.flags & ~BLOCK_FLAGS | block.flags & BLOCK_FLAGS
        attribute = self.flag_values is not None
        return replace(
            self,
            block=replace(block, flags=flags & BLOCK_FLAGS),
            max_p=probability_said_back(request.max_p, block),
            flag_values=flags if attribute else None,
            flag_selector=self.flag_selector,
            inner_limit=block.limit or self.limit,
        )

    def differences(self, expected: Self) -> list[str]:
        """Return differences but for a probability that moves by itself and an unset limit."""
        found = super().differences(expected)
        left_out = ["max_p "] if self.flags & ADAPTIVE else []
        left_out += ["limit "] if self.limit is None else []
        return [each for each in found if not each.startswith(tuple(left_out))]

    def price(self, request: Self, waiting: int) -> Price:
        """Loss of all waiting packets, unless the limit is unchanged, and of the average."""
        dropped = waiting if request.block is not None and request.block.limit else 0
        return Price(packets=dropped, forgets=FORGETS)

    def _flag_words(self) -> Sequence[str]:
        parts = [text for flag, text in _WORDS.items() if self.flags & flag]
        return parts if self.flags & ECN else [*parts, "no ECN marks"]


_OF_TABLE: Final = ("mean_packet_size", "idle_table")
_WORDS: Final = {
    ECN: "ECN marks",
    HARD_DROP: "drops above the maximum",
    NO_DROP: "never drops early",
    ADAPTIVE: "adaptive",
}
