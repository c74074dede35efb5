"""PIE of Linux (``pie``): the discipline ``pie`` of Vermilion.

Source: net/sched/sch_pie.c and include/net/pie.h (Linux 6.12), tc/q_pie.c (iproute2 6.1), tried
on a Linux 6.12 kernel. A change leaves what is not told as it is, drops nothing but what a lower
limit has no room for, and keeps the controller's state.

- The target comes back rounded down to scheduler ticks; above 4.29 s it comes back wrong.
- The update interval comes back rounded up to ticks of the timer: 15 ms are 20 ms where it has
  100 a second.
- The gains are sixteenths of those of RFC 8033.
- Fixed: 150 ms of burst allowance, marks only up to a probability of 0.1.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from vermilion.routers.linux.attributes import AnswerError
from vermilion.routers.linux.kernel_clock import (
    interval_said_back,
    target_said_back,
    target_to_tell,
)
from vermilion.routers.linux.options import (
    NumberOptions,
    Parameters,
    Price,
    Surroundings,
    microseconds,
    number,
    refuse_fixed,
    whole,
)
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BUILT_IN: Final[Parameters] = {"burst_allowance": 0.15}
"""What the kernel has no option for."""

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
"""Parameters that ``pie`` and ``fq_pie`` can be set to."""

_MICROSECOND: Final = 1e-6
_GAIN_UNIT: Final = 16
_LARGEST_GAIN: Final = 32
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
class PieOptions(NumberOptions):
    """The options of one ``pie``.

    Attributes:
        target_us: queueing delay to hold.
        limit: packets the buffer holds.
        tupdate_us: time between two updates.
        alpha: gain for the distance from the target, in sixteenths.
        beta: gain for the growth of the delay, likewise.
        ecn: whether packets are marked.
        bytemode: whether the probability follows the packet's size.
        dq_rate_estimator: whether the delay is estimated from the departure rate.
    """

    kind: ClassVar[str] = "pie"
    discipline: ClassVar[str | None] = "pie"
    settable: ClassVar[Sequence[str]] = SETTABLE
    marks: ClassVar[Sequence[str] | None] = ("ecn_mark",)
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
        return pie_said_back(name, told, timer_hz)

    def to_tell(self, name: str, said: int) -> int:
        """The way back."""
        return target_to_tell(said) if name == "target_us" else said

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The probability (in units of 2^-64) and the counters; none of kernels before 5.0."""
        if len(told) % 4:
            what, wrong = "statistics of pie", f"{len(told)} bytes, which is no multiple of 4"
            raise AnswerError(what, wrong)
        if len(told) < _STATISTICS.size:
            return {}
        return dict(zip(_COUNTERS, _STATISTICS.unpack_from(told), strict=True))

    def parameters(self, around: Surroundings) -> Parameters:
        """As Vermilion's ``pie`` has them."""
        found: Parameters = {**pie_parameters(self), **BUILT_IN, "mark_probability": 0.1}
        if around.maximum_packet_bytes is not None:
            found["maximum_packet_size"] = around.maximum_packet_bytes
        return found

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """The options that have to be told."""
        fixed = {**BUILT_IN, "mark_probability": 0.1}
        if around.maximum_packet_bytes is not None:
            fixed["maximum_packet_size"] = around.maximum_packet_bytes
        own = refuse_fixed(changes, fixed, "the kernel has no option for it")
        return self.changed_only(pie_options(own))

    def price(self, request: Self, waiting: int) -> Price:
        """A lower limit drops what it has no room for."""
        return limit_price(request.limit, waiting)

    def words(self) -> str:
        """The settings in plain words."""
        return pie_words(self)


def pie_said_back(name: str, told: int, timer_hz: int) -> int:
    """What the kernel says back of one of PIE's options."""
    if name == "target_us":
        return target_said_back(told)
    return interval_said_back(told, timer_hz) if name == "tupdate_us" else told


def pie_parameters(options: NumberOptions) -> Parameters:
    """What ``pie`` and ``fq_pie`` have in common, as parameters; what is absent stays away."""
    own = options.numbers()
    found: Parameters = {}
    if "limit" in own:
        found["limit"] = own["limit"]
    if "target_us" in own:
        found["target"] = target_to_tell(own["target_us"]) * _MICROSECOND
    if "tupdate_us" in own:
        found["interval"] = own["tupdate_us"] * _MICROSECOND
    found.update({name: own[name] / _GAIN_UNIT for name in ("alpha", "beta") if name in own})
    for name, word in _SWITCHES.items():
        if word in own:
            found[name] = bool(own[word])
    return found


_SWITCHES: Final = {"byte_mode": "bytemode", "ecn": "ecn", "estimate_rate": "dq_rate_estimator"}


def pie_options(changes: Parameters) -> dict[str, int | None]:
    """Options to tell the kernel for parameters that ``pie`` and ``fq_pie`` have in common.

    Raises:
        FieldError: a value that the kernel does not have, or a parameter that it does not.
    """
    told: dict[str, int | None] = {}
    for name, value in changes.items():
        if name == "limit":
            told["limit"] = whole(name, value)
        elif name == "target":
            told["target_us"] = microseconds(name, value)
        elif name == "interval":
            told["tupdate_us"] = microseconds(name, value)
        elif name in {"alpha", "beta"}:
            told[name] = _sixteenths(name, number(name, value))
        elif name in _SWITCHES:
            told[_SWITCHES[name]] = int(bool(value))
        else:
            raise FieldError(name, value, "nothing: the kernel has no such option")
    return told


def _sixteenths(name: str, value: float) -> int:
    nearest = min(max(round(_GAIN_UNIT * value), 0), _LARGEST_GAIN)
    if abs(nearest / _GAIN_UNIT - value) > EXACT:
        accepted = f"a whole number of sixteenths up to 2; the nearest is {nearest / _GAIN_UNIT}"
        raise FieldError(name, value, accepted)
    return nearest


def limit_price(limit: int | None, waiting: int) -> Price:
    """What a limit in packets costs: those that it has no room for."""
    return Price() if limit is None else Price(packets=max(waiting - limit, 0))


def pie_words(options: NumberOptions) -> str:
    """The settings of ``pie`` and ``fq_pie`` in plain words."""
    own = options.numbers()
    parts = []
    if "target_us" in own:
        parts.append(f"target {target_to_tell(own['target_us']) / 1000:g} ms")
    if "tupdate_us" in own:
        parts.append(f"update every {own['tupdate_us'] / 1000:g} ms")
    parts += [f"{each} {own[each] / _GAIN_UNIT:g}" for each in ("alpha", "beta") if each in own]
    if "limit" in own:
        parts.append(f"at most {own['limit']} packets")
    parts += [text for name, text in _WORDS.items() if own.get(name)]
    if own.get("ecn") == 0:
        parts.append("no ECN marks")
    return ", ".join(parts)


_WORDS: Final = {
    "ecn": "ECN marks",
    "bytemode": "probability by size",
    "dq_rate_estimator": "delay from the departure rate",
}
