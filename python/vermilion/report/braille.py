"""Curves for a terminal: a line of text is four dots high, a letter of it two dots wide.

Braille letters (U+2800 and what follows) have eight dots each, in two columns of four. Where a
terminal cannot show them, stars stand for letters with any dot. Nothing is told by colour alone:
each panel has one curve, and its target is a row of dashes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

LEAST_WIDTH: Final = 24
"""Columns without which no curve can be seen; a narrower terminal breaks the lines."""

MOST_WIDTH: Final = 110
"""More columns make a curve no clearer."""

_ROWS: Final = 8
_BLANK: Final = 0x2800
_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of the dot in each row and column of a letter."""

_CURVE: Final = "\x1b[36m"
_TARGET: Final = "\x1b[33m"
_PLAIN: Final = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Panel:
    """A curve over time.

    Attributes:
        title: what it is of, with its unit.
        time_s: of each value, ascending.
        values: NaN where there is none.
        target: a level to compare it with; ``None`` for none.
        top: the upper end of its axis, so that several panels can be compared; ``None`` for that of
            its own values.
    """

    title: str
    time_s: Values
    values: Values
    target: float | None = None
    top: float | None = None

    def highest(self) -> float:
        """The largest value, or the target where that is larger; 0 where there is neither."""
        import numpy as np

        known = self.values[~np.isnan(self.values)]
        return max([0.0, self.target or 0.0, *([float(known.max())] if len(known) else [])])


def plot(panels: Sequence[Panel], width: int, *, colour: bool = False, braille: bool = True) -> str:
    """The panels one below the other, with one axis of time.

    Args:
        panels: all over the same time; at least one.
        width: columns of the terminal.
        colour: whether the terminal shows colours and its user wants them.
        braille: whether it shows braille letters.
    """
    width = min(max(width, LEAST_WIDTH), MOST_WIDTH)
    labels = [number_of(_top(panel)) for panel in panels] + ["0"]
    margin = max(map(len, labels)) + 1
    lines: list[str] = []
    for panel in panels:
        lines += _lines(panel, width - margin - 1, margin, colour=colour, braille=braille)
    lines += _time_axis(panels[0], width - margin - 1, margin)
    return "\n".join(line.rstrip() for line in lines)


def number_of(value: float) -> str:
    """An axis' end: three digits, and no zeros that say nothing."""
    return f"{value:.3g}"


def _top(panel: Panel) -> float:
    """A round number that nothing in the panel exceeds."""
    highest = panel.highest() if panel.top is None else panel.top
    if not highest > 0.0:
        return 1.0
    step = 10.0 ** math.floor(math.log10(highest))
    return next(
        step * each
        for each in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0)
        if step * each >= highest * (1.0 - 1e-9)
    )


def _lines(
    panel: Panel, columns: int, margin: int, *, colour: bool, braille: bool
) -> Iterator[str]:
    target = "" if panel.target is None else f", target {number_of(panel.target)}"
    yield f"{panel.title}{target}"
    top = _top(panel)
    cells = _cells(panel, columns, top)
    target_row = None
    if panel.target is not None and panel.target <= top:
        target_row = _ROWS - 1 - min(_ROWS - 1, int(panel.target / top * _ROWS))
    for row in range(_ROWS):
        label = {0: number_of(top), _ROWS - 1: "0"}.get(row, "")
        text = "".join(
            _letter(cells[row][column], dash=row == target_row, colour=colour, braille=braille)
            for column in range(columns)
        )
        yield f"{label:>{margin - 1}} {'|' if not braille else chr(0x2502)}{text}"


def _letter(dots: int, *, dash: bool, colour: bool, braille: bool) -> str:
    if dots:
        letter = chr(_BLANK + dots) if braille else "*"
        return f"{_CURVE}{letter}{_PLAIN}" if colour else letter
    if dash:
        letter = chr(0x2504) if braille else "-"
        return f"{_TARGET}{letter}{_PLAIN}" if colour else letter
    return " "


def _cells(panel: Panel, columns: int, top: float) -> list[list[int]]:
    """The dots of each letter: of every column of dots, all from the least to the most there."""
    import numpy as np

    cells = [[0] * columns for _ in range(_ROWS)]
    start, end = float(panel.time_s[0]), float(panel.time_s[-1])
    span = max(end - start, 1e-9)
    place = np.clip(((panel.time_s - start) / span * 2 * columns).astype(int), 0, 2 * columns - 1)
    known = ~np.isnan(panel.values)
    before: int | None = None
    for column in range(2 * columns):
        here = panel.values[known & (place == column)]
        if len(here) == 0:
            before = None
            continue
        low, high = (_height(float(value), top) for value in (here.min(), here.max()))
        last = _height(float(here[-1]), top)
        if before is not None:  # so that a steep curve is not torn
            low, high = min(low, before), max(high, before)
        before = last
        for height in range(low, high + 1):
            row = 4 * _ROWS - 1 - height
            cells[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
    return cells


def _height(value: float, top: float) -> int:
    return min(4 * _ROWS - 1, max(0, int(value / top * 4 * _ROWS)))


def _time_axis(panel: Panel, columns: int, margin: int) -> Iterator[str]:
    start, end = number_of(float(panel.time_s[0])), f"{number_of(float(panel.time_s[-1]))} s"
    yield f"{'':{margin + 1}}{start}{end:>{max(1, columns - len(start))}}"
