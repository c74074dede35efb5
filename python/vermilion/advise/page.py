"""The page of an answer: one screen, one figure, and the commands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from vermilion.advise.commands import commands
from vermilion.advise.figure import advice_figure
from vermilion.advise.judgement import worst_p95_ms
from vermilion.advise.limit_words import limits
from vermilion.advise.number_words import milliseconds, percent_of_possible
from vermilion.advise.wording import (
    headline,
    price_lines,
    reason,
    warnings,
)
from vermilion.report import drawing
from vermilion.report.templates_of import templates_of
from vermilion.scenario import RATE, TIME, format_quantity

if TYPE_CHECKING:
    from vermilion.advise.advice import Advice
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
        description="Queueing delays in each condition, now and with what is recommended",
    )
    measured = advice.shown
    return template.render(
        keep=advice.keep,
        headline=headline(advice),
        reason=_arrows(reason(advice)),
        asked=_asked(question),
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
    """With arrows that no browser breaks, in place of the two letters of a terminal."""
    return text.replace("->", "\u2192")


def _asked(question: Question) -> str:
    """The question in a line."""
    trips = [format_quantity(end, TIME) for end in dict.fromkeys(question.round_trip_s)]
    flows = [str(end) for end in dict.fromkeys(question.flows)]
    return (
        f"{format_quantity(question.rate_bit_per_s, RATE)}, round trips of {' to '.join(trips)}, "
        f"{' to '.join(flows)} long transfers; 95 % of the packets to wait at most "
        f"{format_quantity(question.bound_s, TIME)}"
    )
