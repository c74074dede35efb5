"""FQ-PIE of Linux (``fq_pie``): the discipline ``fq-pie`` of Vermilion.

Source: net/sched/sch_fq_pie.c (Linux 6.12), tc/q_fq_pie.c (iproute2 6.1), tried on a Linux 6.12
kernel. As :mod:`.pie`, and: the number of flows is fixed once the queue is there; a request that
names it is refused only after the limit has been changed, so that none does. The memory limit is
not simulated and stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from vermilion.routers.linux.attributes import NESTED
from vermilion.routers.linux.kernel_clock import target_to_tell
from vermilion.routers.linux.message import OPTIONS
from vermilion.routers.linux.options import (
    NumberOptions,
    Parameters,
    Price,
    Surroundings,
    number,
    refuse_fixed,
    u32_counters,
    whole,
)
from vermilion.routers.linux.pie import (
    BUILT_IN,
    EXACT,
    SETTABLE,
    limit_price,
    pie_options,
    pie_parameters,
    pie_said_back,
    pie_words,
)
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
class FqPieOptions(NumberOptions):
    """The options of one ``fq_pie``.

    Attributes:
        limit: packets the buffer holds, of all flows together.
        flows: queues into which flows are hashed.
        target_us: queueing delay to hold in each flow's queue.
        tupdate_us: time between two updates.
        alpha: gain for the distance from the target, in sixteenths.
        beta: gain for the growth of the delay, likewise.
        quantum: bytes that a flow may send in a turn.
        memory_limit: bytes of memory the buffer holds.
        ecn_prob: percents of probability above which ECN-capable packets are dropped too.
        ecn: whether packets are marked.
        bytemode: whether the probability follows the packet's size.
        dq_rate_estimator: whether the delay is estimated from the departure rate.
    """

    kind: ClassVar[str] = "fq_pie"
    discipline: ClassVar[str | None] = "fq-pie"
    settable: ClassVar[Sequence[str]] = (*SETTABLE, "quantum", "mark_probability")
    attribute: ClassVar[int] = OPTIONS | NESTED
    marks: ClassVar[Sequence[str] | None] = ("ecn_mark",)
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

    limit: int | None = None
    flows: int | None = None
    target_us: int | None = None
    tupdate_us: int | None = None
    alpha: int | None = None
    beta: int | None = None
    quantum: int | None = None
    memory_limit: int | None = None
    ecn_prob: int | None = None
    ecn: int | None = None
    bytemode: int | None = None
    dq_rate_estimator: int | None = None

    def said_back(self, name: str, told: int, timer_hz: int) -> int | None:
        """The target in scheduler ticks, the interval in ticks of the timer."""
        return pie_said_back(name, told, timer_hz)

    def to_tell(self, name: str, said: int) -> int:
        """The way back."""
        return target_to_tell(said) if name == "target_us" else said

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The counters."""
        return u32_counters(told, _COUNTERS, cls.kind)

    def parameters(self, around: Surroundings) -> Parameters:
        """As Vermilion's ``fq-pie`` has them."""
        found: Parameters = {**pie_parameters(self), **BUILT_IN}
        if self.flows is not None:
            found["flows"] = self.flows
        if self.quantum is not None:
            found["quantum"] = self.quantum
        if self.ecn_prob is not None:
            found["mark_probability"] = self.ecn_prob / _PERCENT
        if around.maximum_packet_bytes is not None:
            found["maximum_packet_size"] = around.maximum_packet_bytes
        return found

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """The options that have to be told."""
        own = refuse_fixed(changes, {"flows": self.flows}, "it is fixed once the queue is there")
        fixed = dict(BUILT_IN)
        if around.maximum_packet_bytes is not None:
            fixed["maximum_packet_size"] = around.maximum_packet_bytes
        own = refuse_fixed(own, fixed, "the kernel has no option for it")
        told: dict[str, int | None] = {}
        if "quantum" in own:
            told["quantum"] = whole("quantum", own.pop("quantum"))
        if "mark_probability" in own:
            told["ecn_prob"] = _percents(number("mark_probability", own.pop("mark_probability")))
        return self.changed_only({**pie_options(own), **told})

    def price(self, request: Self, waiting: int) -> Price:
        """A lower limit drops what it has no room for."""
        return limit_price(request.limit, waiting)

    def words(self) -> str:
        """The settings in plain words."""
        flows = "" if self.flows is None else f"{self.flows} flow queues, "
        turn = "" if self.quantum is None else f", {self.quantum} bytes in a turn"
        return f"{flows}{pie_words(self)}{turn}"


def _percents(value: float) -> int:
    nearest = round(_PERCENT * value)
    if abs(nearest / _PERCENT - value) > EXACT:
        accepted = f"a whole number of percents; the nearest is {nearest / _PERCENT}"
        raise FieldError("mark_probability", value, accepted)
    return nearest
