"""Page and figure of an answer: queueing delay in each condition, before and after.

A bar from the median to the 95th percentile, a dot at the latter; the bound is a line. The axis is
logarithmic where the longest delay is more than eight times the bound.
"""

from __future__ import annotations

import textwrap
from functools import partial
from typing import TYPE_CHECKING, Final

from vermilion.advise.commands import commands
from vermilion.advise.judgement import worst_p95_ms
from vermilion.advise.number_words import milliseconds, percent_of_possible
from vermilion.advise.wording import headline, limits, price_lines, reason, warnings
from vermilion.report import drawing
from vermilion.report.drawing import plain_numbers
from vermilion.report.templates_of import templates_of
from vermilion.scenario import RATE, TIME, format_quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vermilion.advise.advice import Advice
    from vermilion.advise.measuring import Measured
    from vermilion.advise.question import Question


def advice_page(advice: Advice) -> str:
    """One self-contained HTML page. The same answer gives the same bytes."""
    from vermilion import _core

    template = templates_of("vermilion.advise").get_template("advice.html.j2")
    question = advice.question
    own = commands(question, advice.present, advice.chosen, keep=advice.keep)
    figure = drawing.svg_for_both_widths(
        partial(advice_figure, advice),
        name="delay",
        description="Queueing delays in each condition, now and recommended",
    )
    measured = advice.shown
    return template.render(
        keep=advice.keep,
        headline=headline(advice),
        reason=_arrows(reason(advice)),
        asked=_describe(question),
        worst=[milliseconds(worst_p95_ms(each)) for each in measured],
        goodput=[f"{percent_of_possible(advice, each):.1f} %" for each in measured],
        price=[] if advice.keep else [_arrows(each) for each in price_lines(advice)],
        limits=[_arrows(each) for each in limits(advice)],
        warnings=[_arrows(each) for each in warnings(advice)],
        commands=own,
        figure=figure,
        tried=sum(advice.tried.values()),
        kinds=", ".join(advice.tried),
        seeds=len(advice.seeds),
        seed=question.seed,
        version=_core.VERSION,
    )


def _arrows(text: str) -> str:
    """Text with arrows that no browser breaks, in place of ->."""
    return text.replace("->", "\u2192")


def _describe(question: Question) -> str:
    """The question in a line."""
    trips = [format_quantity(end, TIME) for end in dict.fromkeys(question.round_trip_s)]
    flows = [str(end) for end in dict.fromkeys(question.flows)]
    return (
        f"{format_quantity(question.rate_bit_per_s, RATE)}, round trips of {' to '.join(trips)}, "
        f"{' to '.join(flows)} long transfers; 95 % of the packets to wait at most "
        f"{format_quantity(question.bound_s, TIME)}"
    )


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
