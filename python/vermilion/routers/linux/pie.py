"""PIE and FQ-PIE of Linux: the disciplines ``pie`` (dialect ``linux``) and ``fq-pie``.

Source: net/sched/sch_pie.c, sch_fq_pie.c and include/net/pie.h (Linux 6.12), tc/q_pie.c and
q_fq_pie.c (iproute2 6.1), tried on a Linux 6.12 kernel. A change leaves what is not told as it is,
drops nothing but what a lower limit has no room for, and keeps the controller's state.

- The target comes back rounded down to scheduler ticks; above 4.29 s it comes back wrong.
- The update interval comes back rounded up to ticks of the timer: 15 ms are 20 ms where it has
  100 a second.
- The gains are sixteenths of those of RFC 8033. Fixed: 150 ms of burst allowance.
- ``fq_pie``: the number of flows is fixed once the queue is there; a request that names it is
  refused only after the limit has been changed, so that none does. The memory limit is not
  simulated and stays as it is.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from vermilion.routers.linux.message import NESTED, OPTIONS, AnswerError
from vermilion.routers.linux.options import (
    NumberOptions,
    Parameters,
    Price,
    Surroundings,
    interval_said_back,
    limit_price,
    microseconds,
    number,
    refuse_fixed,
    target_said_back,
    target_to_tell,
    u32_counters,
    whole,
)
from vermilion.scenario.errors import FieldError
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue
    from vermilion.routers.linux.options import Parameters, Surroundings

BUILT_IN: Final[Parameters] = {"burst_allowance": 0.15}
"""Parameters without an option in the kernel."""

EXACT: Final = 1e-9
"""By so much a number may miss one that the kernel has."""

SETTABLE: Final = (
    "limit",
    "target",
    "interval",
    "alpha",
    "beta",
    "ecn",
    "byte_mode",
    "estimate_rate",
)
"""Parameters that both can be set to."""

_MICROSECOND: Final = 1e-6
_GAIN_UNIT: Final = 16
_LARGEST_GAIN: Final = 32
_SWITCHES: Final = {"byte_mode": "bytemode", "ecn": "ecn", "estimate_rate": "dq_rate_estimator"}
_WORDS: Final = {
    "ecn": "ECN marks",
    "bytemode": "probability by size",
    "dq_rate_estimator": "delay from the departure rate",
}


@dataclass(frozen=True, kw_only=True)
class PieFamilyOptions(NumberOptions):
    """The options that both have.

    Attributes:
        built_in: parameters that the kernel has fixed.
        target_us: queueing delay to hold.
        limit: packets the buffer holds, of all flows together.
        tupdate_us: time between two updates.
        alpha: gain for the distance from the target, in sixteenths.
        beta: gain for the growth of the delay, likewise.
        ecn: whether packets are marked.
        bytemode: whether the probability follows the packet's size.
        dq_rate_estimator: whether the delay is estimated from the departure rate.
    """

    settable: ClassVar[Sequence[str]] = SETTABLE
    marks: ClassVar[Sequence[str] | None] = ("ecn_mark",)
    built_in: ClassVar[Parameters] = BUILT_IN

    target_us: int | None = None
    limit: int | None = None
    tupdate_us: int | None = None
    alpha: int | None = None
    beta: int | None = None
    ecn: int | None = None
    bytemode: int | None = None
    dq_rate_estimator: int | None = None

    def said_back(self, name: str, told: int, timer_hz: int) -> int | None:
        """The target in scheduler ticks, the interval in ticks of the timer."""
        if name == "target_us":
            return target_said_back(told)
        return interval_said_back(told, timer_hz) if name == "tupdate_us" else told

    def to_tell(self, name: str, said: int) -> int:
        """Inverse of the above."""
        return target_to_tell(said) if name == "target_us" else said

    def parameters(self, around: Surroundings) -> Parameters:
        """Parameters of PIE's controller that the kernel says."""
        own = self.numbers()
        found: Parameters = {}
        if "limit" in own:
            found["limit"] = own["limit"]
        if "target_us" in own:
            found["target"] = target_to_tell(own["target_us"]) * _MICROSECOND
        if "tupdate_us" in own:
            found["interval"] = own["tupdate_us"] * _MICROSECOND
        found.update({name: own[name] / _GAIN_UNIT for name in ("alpha", "beta") if name in own})
        found.update({name: bool(own[word]) for name, word in _SWITCHES.items() if word in own})
        return {**found, **self._fixed_parameters(around)}

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """The options that have to be told."""
        own = refuse_fixed(
            changes, self._fixed_parameters(around), "the kernel has no option for it"
        )
        told: dict[str, int | None] = {}
        for name, value in own.items():
            option, number_told = self._option(name, value)
            told[option] = number_told
        return self.changed_only(told)

    def _option(self, name: str, value: ParameterValue) -> tuple[str, int]:
        """The option for a parameter, and what to tell the kernel.

        Raises:
            FieldError: a value that the kernel does not have, or a parameter that it does not.
        """
        if name == "limit":
            return "limit", whole(name, value)
        if name == "target":
            return "target_us", microseconds(name, value)
        if name == "interval":
            return "tupdate_us", microseconds(name, value)
        if name in {"alpha", "beta"}:
            return name, _sixteenths(name, number(name, value))
        if name in _SWITCHES:
            return _SWITCHES[name], int(bool(value))
        raise FieldError(name, value, "nothing: the kernel has no such option")

    def price(self, request: Self, waiting: int) -> Price:
        """A lower limit drops what it has no room for."""
        return limit_price(request.limit, waiting)

    def words(self) -> str:
        """The settings in plain words."""
        own = self.numbers()
        parts = []
        if "target_us" in own:
            parts.append(f"target {target_to_tell(own['target_us']) / 1000:g} ms")
        if "tupdate_us" in own:
            parts.append(f"update every {own['tupdate_us'] / 1000:g} ms")
        gains = (name for name in ("alpha", "beta") if name in own)
        parts += [f"{name} {own[name] / _GAIN_UNIT:g}" for name in gains]
        if "limit" in own:
            parts.append(f"at most {how_many(own['limit'], 'packet')}")
        parts += [text for name, text in _WORDS.items() if own.get(name)]
        if own.get("ecn") == 0:
            parts.append("no ECN marks")
        return ", ".join(parts)

    def _fixed_parameters(self, around: Surroundings) -> Parameters:
        """Parameters that the kernel, or the interface, decides."""
        if around.maximum_packet_bytes is None:
            return dict(self.built_in)
        return {**self.built_in, "maximum_packet_size": around.maximum_packet_bytes}


def _sixteenths(name: str, value: float) -> int:
    nearest = min(max(round(_GAIN_UNIT * value), 0), _LARGEST_GAIN)
    if abs(nearest / _GAIN_UNIT - value) > EXACT:
        accepted = f"a whole number of sixteenths up to 2; the nearest is {nearest / _GAIN_UNIT}"
        raise FieldError(name, value, accepted)
    return nearest


_STATISTICS: Final = struct.Struct("=Q8I")
_COUNTERS: Final = (
    "probability",
    "delay_us",
    "departure_rate",
    "departure_rate_is_estimated",
    "packets_in",
    "dropped",
    "overlimit",
    "longest_queue",
    "ecn_mark",
)


@dataclass(frozen=True, kw_only=True)
class PieOptions(PieFamilyOptions):
    """The options of one ``pie``."""

    kind: ClassVar[str] = "pie"
    discipline: ClassVar[str | None] = "pie"
    built_in: ClassVar[Parameters] = {**BUILT_IN, "mark_probability": 0.1}
    numbers_sent: ClassVar[Mapping[str, int]] = {
        "limit": 2,
        "tupdate_us": 3,
        "target_us": 1,
        "alpha": 4,
        "beta": 5,
        "ecn": 6,
        "bytemode": 7,
        "dq_rate_estimator": 8,
    }

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """The options that have to be told."""
        return super().request(refuse_fixed(changes, {"dialect": "linux"}, "it is Linux"), around)

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The probability (in units of 2^-64) and the counters; none of kernels before 5.0."""
        if len(told) % 4:
            what, wrong = "statistics of pie", f"{len(told)} bytes, which is no multiple of 4"
            raise AnswerError(what, wrong)
        if len(told) < _STATISTICS.size:
            return {}
        return dict(zip(_COUNTERS, _STATISTICS.unpack_from(told), strict=True))


_PERCENT: Final = 100
_FQ_COUNTERS: Final = (
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
        return u32_counters(told, _FQ_COUNTERS, cls.kind)

    def parameters(self, around: Surroundings) -> Parameters:
        """Parameters of Vermilion's ``fq-pie``."""
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
