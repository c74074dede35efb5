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

import math
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.routers.linux.message import NESTED, OPTIONS, AnswerError
from vermilion.routers.linux.options import (
    SWITCH,
    Encoding,
    NumberOptions,
    Parameters,
    Surroundings,
    interval_said_back,
    microseconds,
    number,
    packet_size,
    sent,
    target_said_back,
    target_to_tell,
)
from vermilion.scenario.errors import FieldError
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vermilion.routers.base import ParameterValue

BUILT_IN: Final[Parameters] = {"burst_allowance": 0.15}
"""Parameters without an option in the kernel."""

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

_GAIN_UNIT: Final = 16
_EXACT: Final = 1e-9


def _steps(size: int, most: float, word: str) -> Encoding:
    def told(name: str, value: ParameterValue) -> int:
        exact = number(name, value)
        nearest = min(max(round(size * exact), 0), most)
        if abs(nearest / size - exact) > _EXACT:
            raise FieldError(
                name, exact, f"a whole number of {word}; the nearest is {nearest / size}"
            )
        return int(nearest)

    return Encoding(told, lambda said: said / size)


_GAIN: Final = _steps(_GAIN_UNIT, 2 * _GAIN_UNIT, "sixteenths up to 2")
_PERCENTS: Final = _steps(100, math.inf, "percents")
_TARGET: Final = Encoding(
    microseconds,
    lambda said: target_to_tell(said) * 1e-6,
    lambda told, _: target_said_back(told),
    target_to_tell,
)
_INTERVAL: Final = Encoding(microseconds, lambda said: said * 1e-6, interval_said_back)
_WORDS: Final = {
    "ecn": "ECN marks",
    "bytemode": "probability by size",
    "dq_rate_estimator": "delay from the departure rate",
}


@dataclass(frozen=True, kw_only=True)
class PieFamilyOptions(NumberOptions):
    """Common options of ``pie`` and ``fq_pie``.

    Attributes:
        built_in: parameters that the kernel has fixed.
    """

    settable: ClassVar[Sequence[str]] = SETTABLE
    marks: ClassVar[Sequence[str] | None] = ("ecn_mark",)
    built_in: ClassVar[Parameters] = BUILT_IN

    def fixed(self, around: Surroundings) -> Parameters:
        """Built-in values, and the largest packet."""
        return {**self.built_in, **packet_size(around)}

    def refused(self, around: Surroundings) -> Iterator[tuple[Parameters, str]]:
        """Fixed parameters."""
        yield self.fixed(around), "the kernel has no option for it"

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
    """The options of one ``pie``.

    Attributes:
        limit: packets the buffer holds, of all flows together.
        tupdate_us: time between two updates.
        target_us: queueing delay to hold.
        alpha: gain for the distance from the target, in sixteenths.
        beta: gain for the growth of the delay, likewise.
        ecn: whether packets are marked.
        bytemode: whether the probability follows the packet's size.
        dq_rate_estimator: whether the delay is estimated from the departure rate.
    """

    kind: ClassVar[str] = "pie"
    discipline: ClassVar[str | None] = "pie"
    built_in: ClassVar[Parameters] = {**BUILT_IN, "mark_probability": 0.1}

    limit: int | None = field(default=None, metadata=sent(2, "limit"))
    tupdate_us: int | None = field(default=None, metadata=sent(3, "interval", _INTERVAL))
    target_us: int | None = field(default=None, metadata=sent(1, "target", _TARGET))
    alpha: int | None = field(default=None, metadata=sent(4, "alpha", _GAIN))
    beta: int | None = field(default=None, metadata=sent(5, "beta", _GAIN))
    ecn: int | None = field(default=None, metadata=sent(6, "ecn", SWITCH))
    bytemode: int | None = field(default=None, metadata=sent(7, "byte_mode", SWITCH))
    dq_rate_estimator: int | None = field(default=None, metadata=sent(8, "estimate_rate", SWITCH))

    def refused(self, around: Surroundings) -> Iterator[tuple[Parameters, str]]:
        """The dialect too."""
        yield {"dialect": "linux"}, "it is Linux"
        yield from super().refused(around)

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The probability (in units of 2^-64) and the counters; none of kernels before 5.0."""
        if len(told) % 4:
            what, wrong = "statistics of pie", f"{len(told)} bytes, which is no multiple of 4"
            raise AnswerError(what, wrong)
        if len(told) < _STATISTICS.size:
            return {}
        return dict(zip(_COUNTERS, _STATISTICS.unpack_from(told), strict=True))


@dataclass(frozen=True, kw_only=True)
class FqPieOptions(PieFamilyOptions):
    """The options of one ``fq_pie``: as ``pie``, and those of its flows.

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
    counter_names: ClassVar[Sequence[str]] = (
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

    limit: int | None = field(default=None, metadata=sent(1, "limit"))
    flows: int | None = field(default=None, metadata=sent(2, "flows"))
    target_us: int | None = field(default=None, metadata=sent(3, "target", _TARGET))
    tupdate_us: int | None = field(default=None, metadata=sent(4, "interval", _INTERVAL))
    alpha: int | None = field(default=None, metadata=sent(5, "alpha", _GAIN))
    beta: int | None = field(default=None, metadata=sent(6, "beta", _GAIN))
    quantum: int | None = field(default=None, metadata=sent(7, "quantum"))
    memory_limit: int | None = field(default=None, metadata=sent(8))
    ecn_prob: int | None = field(default=None, metadata=sent(9, "mark_probability", _PERCENTS))
    ecn: int | None = field(default=None, metadata=sent(10, "ecn", SWITCH))
    bytemode: int | None = field(default=None, metadata=sent(11, "byte_mode", SWITCH))
    dq_rate_estimator: int | None = field(default=None, metadata=sent(12, "estimate_rate", SWITCH))

    def refused(self, around: Surroundings) -> Iterator[tuple[Parameters, str]]:
        """The number of flows too."""
        yield {"flows": self.flows}, "it is fixed once the queue is there"
        yield from super().refused(around)

    def words(self) -> str:
        """The settings in plain words."""
        flows = "" if self.flows is None else f"{self.flows} flow queues, "
        turn = "" if self.quantum is None else f", {self.quantum} bytes in a turn"
        return f"{flows}{super().words()}{turn}"
