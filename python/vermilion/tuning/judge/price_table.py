"""The price of settings and what they keep, as lines of text below a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.objectives.constraint import path_in
from vermilion.objectives.price import PRICE, PriceRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vermilion.simulate.statistics import Interval
    from vermilion.tuning.judge.verdict import ConstraintVerdict

_ROUNDING: Final = 1e-9

ABSENT: Final = "-"
"""What stands where a number was not measured."""


def price_text(interval: Interval | None, row: PriceRow, plus_minus: str = " +- ") -> str:
    """A number of the price in the unit and with the decimals of its row.

    Args:
        interval: of it, in the metric's unit; ``None`` where it was not measured.
        row: of the price.
        plus_minus: between the mean and the half width of its interval.
    """
    if interval is None:
        return ABSENT
    text = f"{interval.mean * row.factor:.{row.decimals}f}"
    if interval.half_width is not None:
        half = interval.half_width * row.factor
        # What is far below the last decimal is the rounding of equal numbers.
        text += f"{plus_minus}{half if half > _ROUNDING else 0.0:.2g}"
    return text


def shown_rows(prices: Sequence[Mapping[str, Interval]]) -> Iterator[PriceRow]:
    """The rows of the price that say something of these settings, in their order.

    Those that none has measured are left out, and marks where nothing is marked.
    """
    for row in PRICE:
        known = [price[row.metric] for price in prices if row.metric in price]
        unmarked = row.metric == "mark_rate" and all(each.mean == 0.0 for each in known)
        if known and not unmarked:
            yield row


def price_rows(prices: Sequence[Mapping[str, Interval]]) -> list[tuple[str, ...]]:
    """The heading and the cells of each row of the price.

    Args:
        prices: by metric, one for each column.
    """
    return [
        (row.heading, *(price_text(price.get(row.metric), row) for price in prices))
        for row in shown_rows(prices)
    ]


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of a table as indented lines, labels to the left and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(["", row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]


def kept_lines(verdicts: Sequence[ConstraintVerdict]) -> list[str]:
    """What is kept: each constraint; of harm what is done, or that there is none, in a line."""
    lines = [str(each) for each in verdicts if not each.of_harm]
    harm = [each for each in verdicts if each.of_harm]
    done = [f"harm: {each}" for each in harm if each.holds != "met"]
    if harm and not done:
        paths = ", ".join(path_in(each.constraint) for each in harm)
        done = [f"no harm; within their margins: {paths}"]
    return lines + done
