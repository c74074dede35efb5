"""Numbers as a person reads them in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.simulate.result_data import Stretch

ABSENT = "-"
"""Shown for what could not be computed."""


def fixed(value: float | None, decimals: int) -> str:
    """With a number of decimals."""
    return ABSENT if value is None else f"{value:.{decimals}f}"


def percent(value: float | None, decimals: int = 2) -> str:
    """A ratio in percent."""
    return ABSENT if value is None else f"{100 * value:.{decimals}f} %"


def megabits(value: float | None) -> str:
    """A rate in Mbit/s with four significant digits."""
    return ABSENT if value is None else f"{value / 1e6:.4g}"


def whole(value: float | None) -> str:
    """A count."""
    return ABSENT if value is None else f"{value:,.0f}"


def stretch(window: Stretch) -> str:
    """What a window covers: "25 .. 80 s"."""
    return f"{window['start_s']:g} .. {window['end_s']:g} s"
