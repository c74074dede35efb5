"""Page and figure of an answer: how long packets wait in each condition, before and after.

A dot is how long 95 % of a call's packets wait, a bar the same of all packets, from their median
on; the bound is a line. The axis is logarithmic.
"""

from __future__ import annotations

import textwrap
from functools import partial
from typing import TYPE_CHECKING, Final

from vermilion.advise.commands import commands
from vermilion.advise.judgement import worst_sparse_ms
from vermilion.advise.metrics import CALL_DELAY
from vermilion.advise.number_words import milliseconds, percent_of_possible
from vermilion.advise.wording import (
    comparison_rows,
    headline,
    limits,
    price_lines,
    reason,
    warnings,
)
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
    figure = ""
    if advice.conditions:
        figure = drawing.svg_for_both_widths(
            partial(advice_figure, advice),
            name="delay",
            description="Waiting times in each condition, now and recommended",
        )
    measured = advice.shown
    return template.render(
        keep=advice.keep,
        headline=headline(advice),
        reason=_arrows(reason(advice)),
        compared=[[_arrows(cell) for cell in row] for row in comparison_rows(advice)],
        asked=_describe(question),
        worst=[milliseconds(worst_sparse_ms(each)) for each in measured if each.runs],
        goodput=[f"{percent_of_possible(advice, each):.1f} %" for each in measured if each.runs],
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
        f"{' to '.join(flows)} long transfers; 95 % of the packets of a call or game to wait "
        f"at most {format_quantity(question.bound_s, TIME)}"
    )


_WIDTH_IN: Final = 6.6
_HEAD_IN: Final = 1.15
_ROW_IN: Final = 0.4
_OFFSET: Final = 0.17
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
        waits = [
            value
            for measured in advice.shown
            for at in places
            for name in (CALL_DELAY, "delay_p95_ms", "delay_p50_ms")
            if (value := measured.mean(at, name))
        ]
        axes.set_xscale("log")
        axes.set_xlim(max(0.7 * min([*waits, bound]), 1e-3), 1.6 * max([*waits, bound]))
        plain_numbers(axes.xaxis)
        axes.set_yticks(range(len(places)), [_named(each.name, narrow=narrow) for each in places])
        axes.set_ylim(len(places) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("ms: 95 % of a call wait at most (dot);\nall packets, median to 95 % (bar)")
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
        [max(low, 1e-3) for _, low, _ in known],
        [high for _, _, high in known],
        color=colour,
        linewidth=4.0,
        alpha=0.45,
    )
    calls = [(row + offset, measured.mean(at, CALL_DELAY)) for row, at in enumerate(measured.runs)]
    axes.scatter(
        [max(wait, 1e-3) for _, wait in calls if wait is not None],
        [row for row, wait in calls if wait is not None],
        s=34,
        color=colour,
        zorder=3,
        label=label,
    )
