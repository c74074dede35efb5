"""CHOKe of Linux (``choke``): the discipline ``choke`` of Vermilion.

Source: net/sched/sch_choke.c (Linux 6.12), tc/q_choke.c (iproute2 6.1), tried on a Linux 6.12
kernel. The block and the table are RED's, counted in packets, and flags are in the block only. A
change sets the average to 0 and keeps the packets, but for those that a smaller buffer has no
room for. The limit may not exceed 131071 packets. It compares an arriving packet with one other,
and its weights are powers of two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from vermilion.routers.linux.attributes import (
    attribute_bytes,
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
    ECN,
    HARD_DROP,
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
_LARGEST_LIMIT: Final = 128 * 1024 - 1
_LARGEST_LOG: Final = 31
_USUAL_PACKET: Final = 1000
_COUNTERS: Final = ("early", "pdrop", "other", "marked", "matched")
_SWITCHES: Final = {"ecn": ECN, "drop_above_maximum": HARD_DROP}


@dataclass(frozen=True, kw_only=True)
class ChokeOptions(QueueOptions):
    """The options of one ``choke``.

    Attributes:
        block: limit, thresholds, weight and flags; in packets.
        table: of decay; only in requests.
        max_p: maximum probability in units of 2^-32.
    """

    kind: ClassVar[str] = "choke"
    discipline: ClassVar[str | None] = "choke"
    settable: ClassVar[Sequence[str]] = (
        "limit",
        "min_threshold",
        "max_threshold",
        "max_probability",
        "weight",
        *_SWITCHES,
    )
    marks: ClassVar[Sequence[str] | None] = ("marked",)

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
                known["max_p"] = number_of(attribute.payload, "choke max_p")
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
        return told + b"".join(attribute_bytes(each.type, each.payload) for each in self.unknown)

    def numbers(self) -> dict[str, Any]:
        """What is said of the queue; the table never is."""
        if self.block is None:
            return {}
        own = {
            "limit": self.block.limit,
            "min": self.block.low,
            "max": self.block.high,
            "weight_log": self.block.weight_log,
            "plog": self.block.probability_log,
            "scell_log": self.block.cell_log,
            "max_p": self.max_p,
            "flags": self.block.flags,
        }
        return {name: value for name, value in own.items() if value is not None}

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """Those of RED, and drops of two packets of one flow."""
        return u32_counters(told, _COUNTERS, cls.kind)

    def parameters(self, around: Surroundings) -> Parameters:  # noqa: ARG002 - none matters
        """As Vermilion's ``choke`` has them."""
        if self.block is None:
            return {}
        found: Parameters = {
            "limit": self.block.limit,
            "min_threshold": self.block.low,
            "max_threshold": self.block.high,
            "weight": 0.5**self.block.weight_log,
            "candidates": 1,
            **{name: bool(self.block.flags & flag) for name, flag in _SWITCHES.items()},
        }
        if self.max_p is not None:
            found["max_probability"] = self.max_p / ONE
        return found

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """Everything, if anything is to change."""
        if self.block is None:
            raise FieldError("queue", self.kind, "a kernel that says the parameters of choke")
        own = refuse_fixed(changes, {"candidates": 1}, "Linux compares with one packet")
        units = None
        if "mean_packet_size" in own:
            size = own.pop("mean_packet_size")
            if around.rate_bit_per_s is None:
                accepted = "nothing: without the link's rate, no table can be computed"
                raise FieldError("mean_packet_size", size, accepted)
            units = packet_time(number("mean_packet_size", size), around.rate_bit_per_s)
        told, max_p = self._wanted(own, self.block)
        if told == self.block and max_p == self.max_p and units is None:
            return None
        if units is None:
            units = implied_packet_time(self.block.weight_log, self.block.cell_log)
        cell_log, table = idle_table(told.weight_log, units)
        # tc takes the slope in bytes; no kernel that is told the probability looks at it.
        span = _USUAL_PACKET * told.low, _USUAL_PACKET * told.high
        plog = probability_log(*span, max_p / ONE)
        block = replace(told, probability_log=plog, cell_log=cell_log)
        return type(self)(block=block, table=table, max_p=max_p)

    def _wanted(self, changes: Parameters, block: RedBlock) -> tuple[RedBlock, int]:
        """The block and the probability that are to be in force."""
        max_p = self.max_p or probability_said_back(None, block)
        told, weight = block, changes.get("weight")
        for name, value in changes.items():
            if name == "limit":
                told = replace(told, limit=whole(name, value))
            elif name in {"min_threshold", "max_threshold"}:
                exact = whole(name, number(name, value))
                told = replace(told, **{"low" if name == "min_threshold" else "high": exact})
            elif name == "weight":
                told = replace(told, weight_log=_log_of_weight(number(name, value)))
            elif name == "max_probability":
                max_p = probability_steps(name, number(name, value))
            elif name in _SWITCHES:
                flag = _SWITCHES[name]
                told = replace(told, flags=told.flags | flag if value else told.flags & ~flag)
            else:
                raise FieldError(name, value, "nothing: the kernel has no such option")
        check_average("weight", weight, told.weight_log, told.low, told.high)
        if told.limit > _LARGEST_LIMIT:
            raise FieldError("limit", told.limit, f"no more than {_LARGEST_LIMIT} packets")
        return told, max_p

    def restoring(self, changed: Self) -> Self:
        """Everything as it was, with the table that goes with it."""
        block = self.block
        if block is None:
            raise NotImplementedError(changed.kind)
        units = implied_packet_time(block.weight_log, block.cell_log)
        return replace(self, table=idle_table(block.weight_log, units)[1], unknown=())

    def after(self, request: Self, timer_hz: int) -> Self:  # noqa: ARG002 - no time in it
        """What was told."""
        if request.block is None:
            return self
        max_p = probability_said_back(request.max_p, request.block)
        return replace(self, block=request.block, max_p=max_p)

    def price(self, request: Self, waiting: int) -> Price:
        """Those that a smaller buffer has no room for, and the average."""
        room = waiting if request.block is None else request.block.limit
        # The array is a power of two with one place free: it is cut only below that.
        places = 2 ** room.bit_length() - 1
        forgets = "the average queue, which starts again at 0"
        return Price(packets=max(waiting - places, 0), forgets=forgets)

    def words(self) -> str:
        """The settings in plain words."""
        block = self.block
        if block is None:
            return ""
        parts = [
            f"drops between {block.low} and {block.high} packets on average",
            f"weight 2^-{block.weight_log}",
            f"at most {block.limit} packets",
            "ECN marks" if block.flags & ECN else "no ECN marks",
        ]
        if self.max_p is not None:
            parts.insert(1, f"up to {100 * self.max_p / ONE:.4g} %")
        return ", ".join(parts)


def _log_of_weight(weight: float) -> int:
    """The n of a weight of 2^-n.

    Raises:
        FieldError: it is no power of two.
    """
    nearest = min(max(round(-math.log2(weight)), 1), _LARGEST_LOG)
    if not math.isclose(weight, 0.5**nearest, rel_tol=1e-9):
        raise FieldError("weight", weight, f"a power of two; the nearest is {0.5**nearest!r}")
    return nearest
