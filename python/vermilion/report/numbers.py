"""Formats of numbers in reports: no more digits than are known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.simulate.statistics import Interval

ABSENT = "\N{EN DASH}"
"""Sign for a number that could not be computed."""

_MOST_DECIMALS = 6
_SMALLEST_PLAIN = 1e-4
_LARGEST_PLAIN = 1e9
_NEAR_AN_END = 1.0  # per cent
_ROUNDING = 1e-12  # relative: what equal numbers may differ by after being averaged


def significant(value: float, digits: int = 3) -> str:
    """Format ``value`` to ``digits`` significant digits, without an exponent where possible.

    >>> significant(0.002), significant(14.93), significant(10000000.0)
    ('0.002', '14.9', '10000000')
    """
    if value == 0:
        return "0"
    if not _SMALLEST_PLAIN <= abs(value) < _LARGEST_PLAIN:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        shortened = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{shortened}e{int(exponent)}"
    text = f"{value:.{_decimals(value, digits)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def typeset(text: str) -> str:
    """Units and intervals as a page has them, of a text that was made for a terminal.

    >>> typeset("38.98 +- 0.81 packets^2")
    '38.98 ± 0.81 packets²'
    """
    return text.replace("^2", "\N{SUPERSCRIPT TWO}").replace("+-", "\N{PLUS-MINUS SIGN}")


def with_interval(interval: Interval | None, scale: float = 1.0) -> str:
    """A mean and the half width of its interval, with as many decimals as that justifies.

    That is two significant digits of the half width, but no more than two decimals for
    numbers above 1. A mean without an interval (one replication) has three digits.

    Args:
        interval: the mean over replications; ``None`` if there is nothing to average.
        scale: a factor for both, such as 100 for per cent.
    """
    if interval is None:
        return ABSENT
    mean = interval.mean * scale
    if interval.half_width is None:
        return significant(mean)
    half_width = interval.half_width * scale
    if half_width < _ROUNDING * abs(mean):
        half_width = 0.0
    decimals = _decimals(half_width or mean, 2)
    if abs(mean) >= 1:
        decimals = min(decimals, 2)
    # An interval too narrow to show is shown as one unit of the last digit, not as certainty.
    shown = max(half_width, 10.0**-decimals) if half_width else 0.0
    return f"{_unsigned_zero(mean, decimals)} ± {shown:.{decimals}f}"


def percent(fraction: float) -> str:
    """A fraction as per cent with one decimal, or two where it is within 1 % of either end."""
    value = 100 * fraction
    decimals = 2 if 0 < min(value, 100 - value) < _NEAR_AN_END else 1
    return f"{value:.{decimals}f}\N{NO-BREAK SPACE}%"


def seconds(value: float) -> str:
    """A moment or a duration in seconds, to a hundredth at most."""
    return f"{significant_decimals(value, 2)}\N{NO-BREAK SPACE}s"


def significant_decimals(value: float, decimals: int) -> str:
    """``value`` with at most so many decimals and no trailing zeros."""
    text = _unsigned_zero(value, decimals)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _decimals(value: float, digits: int) -> int:
    """Number of decimals for ``digits`` significant digits of ``value``."""
    if value == 0:
        return 0
    return min(_MOST_DECIMALS, max(0, digits - 1 - math.floor(math.log10(abs(value)))))


def _unsigned_zero(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text
