"""FQ-PIE of Linux (``fq_pie``): the discipline ``fq-pie`` of Vermilion.

Source: net/sched/sch_fq_pie.c (Linux 6.12), tc/q_fq_pie.c (iproute2 6.1), tried on a Linux 6.12
kernel. As :mod:`.pie_family`, and: the number of flows is fixed once the queue is there; a request
that names it is refused only after the limit has been changed, so that none does. The memory limit
is not simulated and stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from vermilion.routers.linux.attributes import NESTED
from vermilion.routers.linux.message import OPTIONS
from vermilion.routers.linux.options import (
    Parameters,
    Surroundings,
    number,
    refuse_fixed,
    u32_counters,
    whole,
)
from vermilion.routers.linux.pie_family import EXACT, SETTABLE, PieFamilyOptions
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue

_PERCENT: Final = 100
_COUNTERS: Final = (
    "packets_in",
    "dropped",
    "overlimit",
    "overmemory",
    "ecn_mark",
    "new_flow_count",
    "new_flows",
    "old_flows",
    "memory_usage",
)


@dataclass(frozen=True, kw_only=True)
class FqPieOptions(PieFamilyOptions):
    """The options of one ``fq_pie``.

    Attributes:
        flows: queues into which flows are hashed.
        quantum: bytes that a flow may send in a turn.
        memory_limit: bytes of memory the buffer holds.
        ecn_prob: percents of probability above which ECN-capable packets are dropped too.
    """

    kind: ClassVar[str] = "fq_pie"
    discipline: ClassVar[str | None] = "fq-pie"
    settable: ClassVar[Sequence[str]] = (*SETTABLE, "quantum", "mark_probability")
    attribute: ClassVar[int] = OPTIONS | NESTED
    numbers_sent: ClassVar[Mapping[str, int]] = {
        "limit": 1,
        "flows": 2,
        "target_us": 3,
        "tupdate_us": 4,
        "alpha": 5,
        "beta": 6,
        "quantum": 7,
        "memory_limit": 8,
        "ecn_prob": 9,
        "ecn": 10,
        "bytemode": 11,
        "dq_rate_estimator": 12,
    }

    flows: int | None = None
    quantum: int | None = None
    memory_limit: int | None = None
    ecn_prob: int | None = None

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The counters."""
        return u32_counters(told, _COUNTERS, cls.kind)

    def parameters(self, around: Surroundings) -> Parameters:
        """As Vermilion's ``fq-pie`` has them."""
        found = super().parameters(around)
        if self.flows is not None:
            found["flows"] = self.flows
        if self.quantum is not None:
            found["quantum"] = self.quantum
        if self.ecn_prob is not None:
            found["mark_probability"] = self.ecn_prob / _PERCENT
        return found

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """The options that have to be told."""
        own = refuse_fixed(changes, {"flows": self.flows}, "it is fixed once the queue is there")
        return super().request(own, around)

    def _option(self, name: str, value: ParameterValue) -> tuple[str, int]:
        if name == "quantum":
            return "quantum", whole(name, value)
        if name == "mark_probability":
            return "ecn_prob", _percents(number(name, value))
        return super()._option(name, value)

    def words(self) -> str:
        """The settings in plain words."""
        flows = "" if self.flows is None else f"{self.flows} flow queues, "
        turn = "" if self.quantum is None else f", {self.quantum} bytes in a turn"
        return f"{flows}{super().words()}{turn}"


def _percents(value: float) -> int:
    nearest = round(_PERCENT * value)
    if abs(nearest / _PERCENT - value) > EXACT:
        accepted = f"a whole number of percents; the nearest is {nearest / _PERCENT}"
        raise FieldError("mark_probability", value, accepted)
    return nearest
