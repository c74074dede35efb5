"""What ``red`` and ``choke`` of Linux have in common: one block, a table of decay, a probability.

Source: net/sched/sch_red.c, sch_choke.c and include/net/red.h (Linux 6.12), tc/q_red.c and
q_choke.c (iproute2 6.1). ``red`` counts bytes, ``choke`` packets. A change is no patch: all
arguments and the table are told every time. The kernel never says the table back, so that it is
computed anew (:mod:`.idle_table`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from vermilion.routers.linux.attributes import (
    attribute_bytes,
    number_of,
    parse_attributes,
    u32_bytes,
)
from vermilion.routers.linux.idle_table import idle_table, implied_packet_time
from vermilion.routers.linux.options import (
    Parameters,
    QueueOptions,
    number,
    u32_counters,
    whole,
)
from vermilion.routers.linux.red_block import (
    ECN,
    ONE,
    RedBlock,
    check_average,
    decode_block,
    decode_table,
    probability_said_back,
    probability_steps,
)
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue
    from vermilion.routers.linux.attributes import Attribute

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
    counter_names: ClassVar[Sequence[str]]

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
        """What an attribute says that only this kind has; ``None`` if it is not known."""
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
        """All flags that are on."""
        return 0 if self.block is None else self.block.flags

    @property
    def limit(self) -> int | None:
        """What the buffer holds; ``None`` where nothing says it."""
        return None if self.block is None else self.block.limit

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
        """Early drops, those of a full buffer, others, marks, and what the kind has besides."""
        return u32_counters(told, cls.counter_names, cls.kind)

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
        """What the kernel says, which a request begins with.

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
        """The way back."""

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
        """The flags in plain words."""
        return ["ECN marks" if self.flags & ECN else "no ECN marks"]
