"""The figure of an answer: how long packets wait in each condition, before and after.

A bar from the median to the 95th percentile, a dot at the latter; the bound is a line. The scale is
logarithmic where the longest wait is more than eight times the bound.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from vermilion.report import drawing
from vermilion.report.drawing import plain_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vermilion.advise.advice import Advice
    from vermilion.advise.measuring import Measured

_WIDTH_IN: Final = 6.6
_HEAD_IN: Final = 1.15
_ROW_IN: Final = 0.4
_OFFSET: Final = 0.17
_LOGARITHMIC: Final = 8.0
_NARROW_NAME: Final = 18  # letters


def advice_figure(advice: Advice, *, narrow: bool = False) -> Figure:
    """Draws an answer.

    Args:
        advice: which.
        narrow: for a phone.
    """
    from matplotlib.figure import Figure

    places = advice.conditions
    with drawing.style():
        size = drawing.NARROW_IN if narrow else _WIDTH_IN, _HEAD_IN + _ROW_IN * len(places)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        bound = advice.question.bound_ms
        axes.axvspan(0.0, bound, color=drawing.SHADE, zorder=0)
        axes.axvline(
            bound, color=drawing.INK, linewidth=1.2, linestyle="--", label=f"at most {bound:g} ms"
        )
        if advice.keep:
            _draw(axes, advice.before, drawing.BLUE, 0.0, "what you have")
        else:
            if advice.present.known:
                _draw(axes, advice.before, drawing.VERMILION, -_OFFSET, "now")
            _draw(axes, advice.after, drawing.BLUE, _OFFSET, "then")
        longest = max(measured.p95_ms(at) for measured in advice.shown for at in places)
        shortest = min(
            measured.mean(at, "delay_p50_ms") or bound for measured in advice.shown for at in places
        )
        if longest > _LOGARITHMIC * bound:
            axes.set_xscale("log")
            axes.set_xlim(max(0.8 * min(shortest, bound), 1e-3), 1.6 * longest)
            plain_numbers(axes.xaxis)
        else:
            axes.set_xlim(0.0, 1.12 * max(longest, bound))
        axes.set_yticks(range(len(places)), [_named(each.name, narrow=narrow) for each in places])
        axes.set_ylim(len(places) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        between = "\n" if narrow else " "
        axes.set_xlabel(f"queueing delay, ms:{between}median to 95th percentile (dot)")
        figure.legend(loc="outside upper left", ncols=3)
    return figure


def _named(name: str, *, narrow: bool) -> str:
    """A condition beside its bars, in lines where there is little room."""
    return textwrap.fill(name, _NARROW_NAME) if narrow else name


def _draw(axes: Axes, measured: Measured, colour: str, offset: float, label: str) -> None:
    rows = [
        (row + offset, measured.mean(at, "delay_p50_ms"), measured.mean(at, "delay_p95_ms"))
        for row, at in enumerate(measured.runs)
    ]
    known = [(row, low, high) for row, low, high in rows if low is not None and high is not None]
    axes.hlines(
        [row for row, _, _ in known],
        [low for _, low, _ in known],
        [high for _, _, high in known],
        color=colour,
        linewidth=4.0,
        alpha=0.45,
    )
    axes.scatter(
        [high for _, _, high in known],
        [row for row, _, _ in known],
        s=34,
        color=colour,
        zorder=3,
        label=label,
    )
