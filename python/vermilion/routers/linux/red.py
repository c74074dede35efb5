"""RED of Linux (``red``): the discipline ``linux-red`` of Vermilion.

Source: net/sched/sch_red.c and include/net/red.h (Linux 6.12), tc/q_red.c (iproute2 6.1), tried
on a Linux 6.12 kernel.

- A change is no patch: all arguments and the table of decay are told every time. The kernel never
  says the table back, so that it is computed anew (:mod:`.idle_table`).
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
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from vermilion.routers.linux.attributes import (
    attribute_bytes,
    check_length,
    number_of,
    parse_attributes,
    u32_bytes,
)
from vermilion.routers.linux.idle_table import idle_table, implied_packet_time, packet_time
from vermilion.routers.linux.options import (
    Parameters,
    Price,
    QueueOptions,
    Surroundings,
    number,
    refuse_fixed,
    u32_counters,
    whole,
)
from vermilion.routers.linux.red_block import (
    ADAPTIVE,
    BLOCK_FLAGS,
    ECN,
    HARD_DROP,
    NO_DROP,
    ONE,
    RedBlock,
    check_average,
    decode_block,
    decode_table,
    probability_log,
    probability_said_back,
    probability_steps,
)
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLOCK: Final = 1
_TABLE: Final = 2
_MAX_P: Final = 3
_FLAGS: Final = 4
_BITS: Final = struct.Struct("=II")
_ALL_FLAGS: Final = BLOCK_FLAGS | NO_DROP
_COUNTERS: Final = ("early", "pdrop", "other", "marked")
_SWITCHES: Final = {
    "ecn": ECN,
    "drop_above_maximum": HARD_DROP,
    "no_drop": NO_DROP,
    "adaptive": ADAPTIVE,
}
_USUAL_PACKET: Final = 1000.0


@dataclass(frozen=True, kw_only=True)
class RedOptions(QueueOptions):
    """The options of one ``red``.

    Attributes:
        block: limit, thresholds, weight; in bytes.
        table: of decay; only in requests.
        max_p: maximum probability in units of 2^-32.
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
    marks: ClassVar[Sequence[str] | None] = ("marked",)

    block: RedBlock | None = None
    table: bytes | None = None
    max_p: int | None = None
    flag_values: int | None = None
    flag_selector: int | None = None
    inner_limit: int | None = field(default=None, compare=False)

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
                known["max_p"] = number_of(attribute.payload, "red max_p")
            elif attribute.type == _FLAGS:
                check_length(attribute.payload, _BITS.size, "red flags")
                pair = _BITS.unpack_from(attribute.payload)
                known["flag_values"], known["flag_selector"] = pair
            else:
                unknown.append(attribute)
        return cls(**known, unknown=tuple(unknown))

    def encode(self) -> bytes:
        """The attributes in tc's order."""
        told = b""
        if self.block is not None:
            told += attribute_bytes(_BLOCK, self.block.encode())
        if self.table is not None:
            told += attribute_bytes(_TABLE, self.table)
        if self.max_p is not None:
            told += u32_bytes(_MAX_P, self.max_p)
        if self.flag_values is not None:
            pair = _BITS.pack(self.flag_values, self.flag_selector or 0)
            told += attribute_bytes(_FLAGS, pair)
        return told + b"".join(attribute_bytes(each.type, each.payload) for each in self.unknown)

    @property
    def flags(self) -> int:
        """All flags that are on, wherever they are said."""
        if self.flag_values is not None:
            return self.flag_values & _ALL_FLAGS
        return 0 if self.block is None else self.block.flags & BLOCK_FLAGS

    @property
    def limit(self) -> int | None:
        """Bytes the buffer holds; ``None`` where nothing says them."""
        if self.block is None:
            return None
        return self.block.limit or self.inner_limit

    def numbers(self) -> dict[str, Any]:
        """What is said of the queue; the table never is."""
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

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """Early drops, those of a full buffer, others, marks."""
        return u32_counters(told, _COUNTERS, cls.kind)

    def parameters(self, around: Surroundings) -> Parameters:
        """As Vermilion's ``linux-red`` has them."""
        if self.block is None:
            return {}
        found: Parameters = {
            "min_threshold": self.block.low,
            "max_threshold": self.block.high,
            "weight_log": self.block.weight_log,
            "burst": None,
            "shaped": around.shaped,
            **{name: bool(self.flags & flag) for name, flag in _SWITCHES.items()},
        }
        if self.limit:
            found["limit"] = self.limit
        if self.max_p is not None:
            found["max_probability"] = self.max_p / ONE
        return found

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """Everything, if anything is to change."""
        if self.block is None:
            raise FieldError("queue", self.kind, "a kernel that says the parameters of red")
        own = refuse_fixed(changes, {"shaped": around.shaped}, "the place of the queue decides")
        own = refuse_fixed(own, {"burst": None}, "the kernel has no burst; give weight_log")
        # How to change, not what: the kernel keeps no such thing.
        keep = own.pop("keep_packets", self.block.limit == 0) is True
        units = self._packet_units(own, around)
        told, max_p, flags = self._wanted(own)
        same = max_p == self.max_p and flags == self.flags and told == self._in_force()
        if same and units is None:
            return None
        limit = self._limit_to_tell(changes, told, keep=keep)
        if units is None:
            units = implied_packet_time(self.block.weight_log, self.block.cell_log)
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

    def _in_force(self) -> RedBlock:
        """The block with the limit that is in force, wherever it is said."""
        assert self.block is not None  # noqa: S101 - request() has looked
        return replace(self.block, limit=self.limit or 0)

    def _wanted(self, changes: Parameters) -> tuple[RedBlock, int, int]:
        """The block, the probability and the flags that are to be in force."""
        block, flags = self.block, self.flags
        assert block is not None  # noqa: S101 - request() has looked
        max_p = self.max_p or probability_said_back(None, block)
        told = self._in_force()
        for name, value in changes.items():
            if name == "limit":
                told = replace(told, limit=whole(name, value))
            elif name in {"min_threshold", "max_threshold"}:
                exact = whole(name, number(name, value))
                told = replace(told, **{"low" if name == "min_threshold" else "high": exact})
            elif name == "weight_log":
                told = replace(told, weight_log=whole(name, number(name, value)))
            elif name == "max_probability":
                max_p = probability_steps(name, number(name, value))
            elif name in _SWITCHES:
                flags = flags | _SWITCHES[name] if value else flags & ~_SWITCHES[name]
            else:
                raise FieldError(name, value, "nothing: the kernel has no such option")
        check_average("weight_log", told.weight_log, told.weight_log, told.low, told.high)
        if flags & NO_DROP and not flags & ECN:
            raise FieldError("no_drop", "true", "false, or ecn to be on")
        if flags & NO_DROP and flags & ADAPTIVE and flags != self.flags:
            accepted = "false while adaptive is on: no one message of the kernel sets both"
            raise FieldError("no_drop", "true", accepted)
        return told, max_p, flags

    def _limit_to_tell(self, changes: Parameters, told: RedBlock, *, keep: bool) -> int:
        """0 keeps what waits; otherwise the limit, which has to be known."""
        if keep and "limit" in changes and told.limit != self.limit:
            accepted = "no other limit: a change that keeps the packets keeps the limit too"
            raise FieldError("limit", told.limit, accepted)
        if keep:
            return 0
        if told.limit == 0:
            accepted = "a number of bytes: this kernel does not say it after keep_packets"
            raise FieldError("limit", "unknown", accepted)
        return told.limit

    def _packet_units(self, changes: Parameters, around: Surroundings) -> float | None:
        """How long a packet takes in the table's unit, where somebody says it.

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
        """Everything as it was, with the table that goes with it."""
        block = self.block
        if block is None:
            raise NotImplementedError(changed.kind)
        _, table = idle_table(
            block.weight_log, implied_packet_time(block.weight_log, block.cell_log)
        )
        in_attribute = bool((self.flags | changed.flags) & NO_DROP)
        # Where the packets have been kept all along, the limit has too.
        kept = block.limit == 0 and changed.block is not None and changed.block.limit == 0
        limit = 0 if kept else self.limit or 0
        return type(self)(
            block=replace(block, limit=limit, flags=0 if in_attribute else self.flags),
            table=table,
            max_p=self.max_p,
            flag_values=self.flags if in_attribute else None,
            flag_selector=_ALL_FLAGS if in_attribute else None,
        )

    def after(self, request: Self, timer_hz: int) -> Self:  # noqa: ARG002 - no time in it
        """What was told; flags that the request does not name stay."""
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
        """As of any kind, but for a probability that moves by itself and a limit not told."""
        found = super().differences(expected)
        left_out = ["max_p "] if self.flags & ADAPTIVE else []
        left_out += ["limit "] if self.limit is None else []
        return [each for each in found if not each.startswith(tuple(left_out))]

    def price(self, request: Self, waiting: int) -> Price:
        """All packets that wait, unless the limit is left away; and the average."""
        dropped = waiting if request.block is not None and request.block.limit else 0
        return Price(packets=dropped, forgets="the average queue, which starts again at 0")

    def words(self) -> str:
        """The settings in plain words."""
        block = self.block
        if block is None:
            return ""
        limit = f"at most {self.limit} bytes" if self.limit else "limit not told"
        parts = [
            f"drops between {block.low} and {block.high} bytes on average",
            f"weight 2^-{block.weight_log}",
            limit,
        ]
        if self.max_p is not None:
            parts.insert(1, f"up to {100 * self.max_p / ONE:.4g} %")
        parts += [text for flag, text in _WORDS.items() if self.flags & flag]
        return ", ".join(parts if self.flags & ECN else [*parts, "no ECN marks"])


_OF_TABLE: Final = ("mean_packet_size", "idle_table")
_WORDS: Final = {
    ECN: "ECN marks",
    HARD_DROP: "drops above the maximum",
    NO_DROP: "never drops early",
    ADAPTIVE: "adaptive",
}
