"""Numbers as a person reads them in a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vermilion.simulate.result_data import Stretch

ABSENT = "-"
"""Shown for what could not be computed."""

_MOST_DECIMALS: Final = 6


def fixed(value: float | None, decimals: int) -> str:
    """With a number of decimals."""
    return ABSENT if value is None else f"{value:.{decimals}f}"


def percent(value: float | None, decimals: int = 2) -> str:
    """A ratio in percent."""
    return ABSENT if value is None else f"{100 * value:.{decimals}f} %"


def at_least(value: float | None, decimals: int, digits: int) -> str:
    """With a number of decimals, or more where fewer digits than that would be left of it.

    A wait of 0.0 ms says nothing of a data centre, where 0.0734 ms are much.
    """
    if value is None or value == 0.0:
        return fixed(value, decimals)
    needed = digits - 1 - math.floor(math.log10(abs(value)))
    return fixed(value, max(decimals, min(needed, _MOST_DECIMALS)))


def megabits(value: float | None) -> str:
    """A rate in Mbit/s with four significant digits, all of those before the point included."""
    if value is None:
        return ABSENT
    shown = f"{value / 1e6:.4g}"
    return f"{value / 1e6:.0f}" if "e+" in shown else shown


def whole(value: float | None) -> str:
    """A count."""
    return ABSENT if value is None else f"{value:,.0f}"


def stretch(window: Stretch) -> str:
    """What a window covers: "25 .. 80 s"."""
    return f"{window['start_s']:g} .. {window['end_s']:g} s"
