"""What every figure shares: colours, type, and the way to an SVG inside a page."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import Protocol

    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    class Drawn(Protocol):
        """Draws a figure for either kind of page."""

        def __call__(self, *, narrow: bool) -> Figure:
            """For a phone, or for a page."""


# Okabe and Ito's palette: distinct to colour-blind readers, and in grey by their lightness.
# https://jfly.uni-koeln.de/color/
ORANGE: Final = "#E69F00"
SKY_BLUE: Final = "#56B4E9"
GREEN: Final = "#009E73"
BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
INK: Final = "#222222"
GREY: Final = "#767676"
SHADE: Final = "#EEF1F4"

NARROW_IN: Final = 4.6
"""The width of a figure for a phone: letters stay legible where a wide one would be shrunk."""

_STYLE: Final[Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same outlines everywhere
    "font.size": 10.5,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "lines.solid_joinstyle": "round",
    "path.simplify": True,
    "svg.fonttype": "path",
    "svg.hashsalt": "vermilion",  # identifiers in the SVG are the same in every process
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}

_MOST_POINTS: Final = 2400
"""More points than a page's width has pixels at twice its resolution cannot be told apart."""


def style() -> AbstractContextManager[None]:
    """The settings under which a report's figures are drawn."""
    import matplotlib as mpl

    return mpl.rc_context(_STYLE)


def svg(figure: Figure, *, name: str, description: str) -> str:
    """The figure as an ``<svg>`` element to be put into a page.

    Args:
        figure: what to draw.
        name: unique in the page; keeps the identifiers of several figures apart.
        description: what a reader who cannot see it is told.
    """
    from html import escape

    target = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with style():
        figure.savefig(target, format="svg", metadata=nothing)
    text = target.getvalue()
    text = text[text.index("<svg") :]  # a page needs no XML declaration
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", text)
    # The page's style sheet decides how wide it is; the view box keeps its shape.
    opening = text[: text.index(">")]
    sized = re.sub(r'\s(?:width|height)="[^"]*"', "", opening)
    label = escape(description, quote=True)
    return f'{sized} role="img" aria-label="{label}"{text[len(opening) :]}'


def svg_for_both_widths(make: Drawn, *, name: str, description: str) -> str:
    """Two drawings of the same, of which a page shows one: the narrow one on a phone alone.

    The style sheet of the pages (``page.css``) chooses; paper gets the wide one.

    Args:
        make: draws the figure, for a narrow page or for a wide one.
        name: as of :func:`svg`.
        description: likewise.
    """
    wide = svg(make(narrow=False), name=name, description=description)
    narrow = svg(make(narrow=True), name=f"{name}-narrow", description=description)
    return f'<div class="on-wide">{wide}</div>\n<div class="on-narrow">{narrow}</div>'


def thinned(
    time: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A series with no more points than a page can show, and every extreme still in it.

    Of each stretch of neighbouring samples the smallest and the largest remain, in the order
    in which they occurred.
    """
    import numpy as np

    if len(time) <= _MOST_POINTS:
        return time, values
    kept = np.fromiter(_extremes(values), dtype=np.int64)
    return time[kept], values[kept]


def _extremes(values: NDArray[np.float64]) -> Iterator[int]:
    import numpy as np

    stretches = np.array_split(np.arange(len(values)), _MOST_POINTS // 2)
    for stretch in stretches:
        within = values[stretch]
        if np.all(np.isnan(within)):
            yield int(stretch[0])
            continue
        yield from sorted({int(stretch[np.nanargmin(within)]), int(stretch[np.nanargmax(within)])})
