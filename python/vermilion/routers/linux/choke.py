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
from typing import TYPE_CHECKING, ClassVar, Final, Self

from vermilion.routers.linux.options import (
    Parameters,
    Price,
    Surroundings,
    number,
    refuse_fixed,
)
from vermilion.routers.linux.red_family import (
    ECN,
    FORGETS,
    HARD_DROP,
    ONE,
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

_LARGEST_LIMIT: Final = 128 * 1024 - 1
_LARGEST_LOG: Final = 31
_USUAL_PACKET: Final = 1000
_SWITCHES: Final = {"ecn": ECN, "drop_above_maximum": HARD_DROP}


@dataclass(frozen=True, kw_only=True)
class ChokeOptions(RedFamilyOptions):
    """The options of one ``choke``; the block counts packets."""

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
    switches: ClassVar[Mapping[str, int]] = _SWITCHES
    weight: ClassVar[str] = "weight"
    counted: ClassVar[str] = "packets"
    counter_names: ClassVar[Sequence[str]] = ("early", "pdrop", "other", "marked", "matched")

    def parameters(self, around: Surroundings) -> Parameters:  # noqa: ARG002 - none matters
        """Parameters of Vermilion's ``choke``."""
        if self.block is None:
            return {}
        return {**self.common_parameters(), "candidates": 1}

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """Return the whole request, if anything is to change."""
        before = self.told_block()
        own = refuse_fixed(changes, {"candidates": 1}, "Linux compares with one packet")
        units = None
        if "mean_packet_size" in own:
            size = own.pop("mean_packet_size")
            if around.rate_bit_per_s is None:
                accepted = "nothing: without the link's rate, no table can be computed"
                raise FieldError("mean_packet_size", size, accepted)
            units = packet_time(number("mean_packet_size", size), around.rate_bit_per_s)
        told, max_p, flags = self.wanted(own, before)
        told = replace(told, flags=flags)
        if told.limit > _LARGEST_LIMIT:
            raise FieldError("limit", told.limit, f"no more than {_LARGEST_LIMIT} packets")
        if told == before and max_p == self.max_p and units is None:
            return None
        if units is None:
            units = implied_packet_time(before.weight_log, before.cell_log)
        cell_log, table = idle_table(told.weight_log, units)
        # tc takes the slope in bytes; no kernel that is told the probability looks at it.
        span = _USUAL_PACKET * told.low, _USUAL_PACKET * told.high
        plog = probability_log(*span, max_p / ONE)
        block = replace(told, probability_log=plog, cell_log=cell_log)
        return type(self)(block=block, table=table, max_p=max_p)

    @classmethod
    def _weight_log(cls, value: ParameterValue) -> int:
        return _log_of_weight(number("weight", value))

    @classmethod
    def _weight_of(cls, log: int) -> ParameterValue:
        return 0.5**log

    def restoring(self, changed: Self) -> Self:
        """Return the request that restores everything, its table included."""
        if self.block is None:
            raise NotImplementedError(changed.kind)
        return replace(self, table=self.table_in_force(self.block), unknown=())

    def after(self, request: Self, timer_hz: int) -> Self:  # noqa: ARG002 - no time in it
        """The block that was told."""
        if request.block is None:
            return self
        max_p = probability_said_back(request.max_p, request.block)
        return replace(self, block=request.block, max_p=max_p)

    def price(self, request: Self, waiting: int) -> Price:
        """Packets dropped for lack of room in a smaller buffer, and the average."""
        room = waiting if request.block is None else request.block.limit
        # The array is a power of two with one place free: it is cut only below that.
        places = 2 ** room.bit_length() - 1
        return Price(packets=max(waiting - places, 0), forgets=FORGETS)


def _log_of_weight(weight: float) -> int:
    """The n of a weight of 2^-n.

    Raises:
        FieldError: it is no power of two.
    """
    nearest = min(max(round(-math.log2(weight)), 1), _LARGEST_LOG)
    if not math.isclose(weight, 0.5**nearest, rel_tol=1e-9):
        raise FieldError("weight", weight, f"a power of two; the nearest is {0.5**nearest!r}")
    return nearest
