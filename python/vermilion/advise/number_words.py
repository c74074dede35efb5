"""Figures of an answer, written as somebody who runs a network would write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.advise.judgement import goodput_share

if TYPE_CHECKING:
    from vermilion.advise.advice import Advice
    from vermilion.advise.measuring import Measured

_MEGABIT: Final = 1e6


def milliseconds(value: float) -> str:
    """A time for people: "18.8 ms", "242 ms", "1.2 s", "36 µs"."""
    if 0.0 < value < 1.0:
        return f"{1000.0 * value:.0f} µs"
    if value >= 1000.0:  # noqa: PLR2004 - a second
        return f"{value / 1000.0:.2g} s"
    return f"{value:.0f} ms" if value >= 100.0 else f"{value:.1f} ms"  # noqa: PLR2004 - 3 digits


def megabits(bit_per_s: float, *, unit: bool = True) -> str:
    """A rate for people: "47.8 Mbit/s", "61.1 kbit/s"; in a column of Mbit/s without a unit."""
    if unit and 0.0 < bit_per_s < 0.1 * _MEGABIT:
        return f"{1e-3 * bit_per_s:.3g} kbit/s"
    rate = bit_per_s / _MEGABIT
    digits = f"{rate:.0f}" if rate >= 100.0 else f"{rate:#.3g}"  # noqa: PLR2004 - 3 digits
    return f"{digits} Mbit/s" if unit else digits


def percent(share: float) -> str:
    """A part of all for people, with two digits: "0.46", "14", "100"."""
    return rounded(100.0 * share, ".2g")


def rounded(value: float, digits: str) -> str:
    """A number with so many digits, and never as a power of ten: "100", not "1e+02"."""
    text = f"{value:{digits}}"
    return f"{float(text):g}" if "e+" in text else text


def percent_of_possible(advice: Advice, measured: Measured) -> float:
    """The mean goodput as part of the most that there can be, in percent.

    At most 100, though a little more can arrive in a window: what had waited for a lost packet.
    """
    return min(100.0 * goodput_share(advice.question, measured), 100.0)


def capital(text: str) -> str:
    """A sentence begins like that."""
    return text[:1].upper() + text[1:]
