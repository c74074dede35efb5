"""How a parameter of a queue is said in SNMP, which has whole numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.agentx.protocol import ValueType

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.routers.base import ParameterValue

LARGEST_32: Final = 2**32 - 1
OFF: Final = LARGEST_32
"""Says of a threshold that there is none."""

_MICROSECOND: Final = 1e-6
_PROBABILITY_STEPS: Final = 2**32
_GAIN_STEPS: Final = 16
_PERCENT: Final = 100
_TRUE, _FALSE = 1, 2
"""Of TruthValue (RFC 2579)."""

_MOST_SHIFT: Final = 31
_WEIGHT_STEPS: Final = 65_536
_PER_THOUSAND: Final = 1000


@dataclass(frozen=True, slots=True)
class Scale:
    """Whole numbers that stand for the values of a parameter.

    Attributes:
        type: of the value in SNMP.
        lowest: of the numbers.
        highest: likewise.
        said: the number for a value.
        meant: the value of a number; raises ``ValueError`` for one that stands for none.
        exact: whether a value between two numbers is a mistake; otherwise the nearer is taken.
    """

    type: ValueType
    lowest: int
    highest: int
    said: Callable[[ParameterValue], int]
    meant: Callable[[int], ParameterValue]
    exact: bool = True


def _number(value: ParameterValue) -> float:
    if isinstance(value, int | float):
        return value
    message = f"{value!r} is no number"
    raise ValueError(message)


def _counted(steps: float) -> Callable[[ParameterValue], int]:
    return lambda value: round(_number(value) * steps)


def _log_of(weight: float) -> int:
    if weight <= 0.0:
        message = f"{weight!r} is no weight"
        raise ValueError(message)
    return round(-math.log2(weight))


def _meant_weight(said: int) -> ParameterValue:
    if said <= 0 or said & (said - 1):
        message = "no power of two, and the kernel has no other weights"
        raise ValueError(message)
    return round(math.log2(_WEIGHT_STEPS / said))


COUNT: Final = Scale(
    ValueType.GAUGE32, 0, LARGEST_32, lambda value: round(_number(value)), lambda said: said
)
"""Bytes, packets, or anything else that is counted."""

MICROSECONDS: Final = Scale(
    ValueType.GAUGE32,
    0,
    LARGEST_32 - 1,
    _counted(1e6),
    lambda said: said * _MICROSECOND,
    exact=False,
)
"""A time; in seconds as a parameter."""

MICROSECONDS_OR_OFF: Final = Scale(
    ValueType.GAUGE32,
    0,
    OFF,
    lambda value: OFF if value is None else round(_number(value) * 1e6),
    lambda said: None if said == OFF else said * _MICROSECOND,
    exact=False,
)
"""A time, or none."""

PROBABILITY: Final = Scale(
    ValueType.GAUGE32,
    0,
    LARGEST_32,
    _counted(_PROBABILITY_STEPS),
    lambda said: said / _PROBABILITY_STEPS,
    exact=False,
)
"""A probability below 1 in steps of 2^-32, as the kernel keeps it."""

PER_THOUSAND: Final = Scale(
    ValueType.GAUGE32,
    0,
    _PER_THOUSAND,
    _counted(_PER_THOUSAND),
    lambda said: said / _PER_THOUSAND,
    exact=False,
)
"""A probability as DIFFSERV-MIB has it."""

SHIFT: Final = Scale(ValueType.GAUGE32, 0, _MOST_SHIFT, COUNT.said, COUNT.meant)
"""A weight 2^-n, by its n."""

LOG_OF_WEIGHT: Final = Scale(
    ValueType.GAUGE32,
    1,
    _MOST_SHIFT,
    lambda value: _log_of(_number(value)),
    lambda said: 0.5**said,
)
"""A weight that is a power of two, by the n of 2^-n."""

WEIGHT: Final = Scale(
    ValueType.GAUGE32,
    0,
    _WEIGHT_STEPS,
    lambda value: round(_WEIGHT_STEPS * 0.5 ** _number(value)),
    _meant_weight,
)
"""The n of a weight 2^-n as DIFFSERV-MIB has the weight: in parts of 65536."""

SIXTEENTHS: Final = Scale(
    ValueType.GAUGE32, 0, 32, _counted(_GAIN_STEPS), lambda said: said / _GAIN_STEPS
)
"""A gain of PIE."""

PERCENTS: Final = Scale(
    ValueType.GAUGE32, 0, _PERCENT, _counted(_PERCENT), lambda said: said / _PERCENT
)
"""A probability in whole percents."""

TRUTH: Final = Scale(
    ValueType.INTEGER,
    _TRUE,
    _FALSE,
    lambda value: _TRUE if value else _FALSE,
    lambda said: said == _TRUE,
)
"""A switch."""
