"""Colours, type, axes, scales of a queue, and the ways into a file or page."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion.report.numbers import significant
from vermilion.scenario.checked import mean_packet_bytes
from vermilion.scenario.errors import ScenarioError, one_of
from vermilion.scenario.quantities import how_many
from vermilion.scenario.wire import nominal_rate

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Protocol

    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from vermilion.scenario import Scenario

    class Drawn(Protocol):
        """Function that draws a figure for either kind of page."""

        def __call__(self, *, narrow: bool) -> Figure:
            """Draw it for a phone, or for a page."""


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

WIDE_IN: Final = 9.6
"""The width of a figure for a page."""

_LETTERS_PT: Final = 10.5


@dataclass(frozen=True, slots=True)
class Look:
    """Size and type of figures for one use.

    Attributes:
        width_in: of a figure, inches.
        letters_pt: size of its letters, points.
        narrow: whether panels stand one below the other, with the legend below them.
        titled: whether a panel has a title; else its axis says what it shows.
    """

    width_in: float
    letters_pt: float
    narrow: bool = False
    titled: bool = True

    @property
    def letters_in_a_line(self) -> float:
        """Letters that fit beside each other, in proportion to those of a page."""
        return self.width_in / WIDE_IN * _LETTERS_PT / self.letters_pt

    def high(self, height_in: float, *, narrow: bool) -> float:
        """Height of what is so high on a page (or a phone), inches."""
        height = height_in * self.width_in / (NARROW_IN if narrow else WIDE_IN)
        return min(height, self.width_in * 9 / 16) if self is LOOKS["slides"] else height


LOOKS: Final = {
    "page": Look(WIDE_IN, _LETTERS_PT),
    "paper": Look(3.3, 7.5, narrow=True, titled=False),
    "paper-wide": Look(7.0, 8.0, titled=False),
    "slides": Look(12.0, 16.0),
}
"""Looks by name: "paper" is as wide as a column, "paper-wide" as two."""


def look_named(name: str) -> Look:
    """The look of this name.

    Raises:
        ScenarioError: there is none.
    """
    if name not in LOOKS:
        raise ScenarioError("style", name, one_of(LOOKS))
    return LOOKS[name]


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


def style(look: str = "page") -> AbstractContextManager[None]:
    """The settings under which a figure of this look is drawn.

    Beside a page's, letters are text that a reader can search and an editor can change.

    Raises:
        ScenarioError: there is no such look.
    """
    import matplotlib as mpl

    chosen = look_named(look)
    if look == "page":
        return mpl.rc_context(_STYLE)
    factor = chosen.letters_pt / _LETTERS_PT
    sizes = {
        "axes.titlesize": 11.5,
        "font.size": _LETTERS_PT,
        "legend.fontsize": 10.0,
        "lines.markersize": 6.0,
        "xtick.major.size": 3.5,
        "ytick.major.size": 3.5,
        "axes.labelpad": 4.0,
    }
    changed: Any = {name: factor * size for name, size in sizes.items()}
    return mpl.rc_context(_STYLE | changed | {"svg.fonttype": "none", "pdf.fonttype": 42})


def fine(width: float, look: str) -> float:
    """Width of a line that is so wide on a page, in points."""
    return width * (0.75 if look.startswith("paper") else 1.6 if look == "slides" else 1.0)


def letters(points: float) -> float:
    """Size of letters that have so many points on a page, in the look that is being drawn."""
    import matplotlib as mpl

    return points * float(mpl.rcParams["font.size"]) / _LETTERS_PT


def sheet(
    height_in: float, *, narrow: bool = False, wide_in: float = WIDE_IN, look: str = "page"
) -> Figure:
    """An empty figure for a page, or for a screen that is not as wide.

    Args:
        height_in: of it on a page.
        narrow: for a screen that is not as wide.
        wide_in: width on a page.
        look: for another use than a page.
    """
    from matplotlib.figure import Figure

    if look != "page":
        chosen = look_named(look)
        size = (chosen.width_in, chosen.high(height_in, narrow=narrow))
    else:
        size = (NARROW_IN if narrow else wide_in, height_in)
    return Figure(figsize=size, layout="constrained")


def legend_above(figure: Figure, axes: Axes, *, narrow: bool) -> None:
    """Explain the lines of one panel above all of them."""
    handles, labels = axes.get_legend_handles_labels()
    columns = 1 if narrow else len(labels)
    figure.legend(handles, labels, loc="outside upper right", ncols=columns)


def legend_on_top(figure: Figure, panels: Sequence[Axes], columns: int = 0) -> None:
    """One line of names above all panels, each name once; none where there is one name."""
    named: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    if len(named) > 1:
        room = int(figure.get_figwidth() * 72 / float(letters(5.5)))
        wide = max(map(len, named)) + 7
        figure.legend(
            [*named.values()],
            [*named],
            loc="outside upper center",
            ncols=columns or max(1, min(len(named), room // wide)),
            handlelength=1.6,
            columnspacing=1.2,
            borderpad=0.1,
        )


def draw_target(axes: Axes, level: float, label: str) -> None:
    """A dashed line at a target."""
    dashes = (0, (5, 3))
    axes.axhline(level, color=INK, linewidth=1.3, linestyle=dashes, zorder=3, label=label)


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


_LONG: Final = 200.0
"""Ratio, a little more than two decades, above which powers of ten are enough."""

_SHORT: Final = 6.0
"""Up to here, less than a decade, 1, 2 and 5 would leave the axis almost bare."""


def plain_numbers(axis: Axis) -> None:
    """A logarithmic axis with numbers like 0.02 and 500, and not with powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    class Steps(LogLocator):
        """Ticks that fit the range shown."""

        def tick_values(self, vmin: float, vmax: float) -> Any:  # noqa: ANN401 - as matplotlib has it
            self.set_params(subs=_steps(vmax / vmin))
            return super().tick_values(vmin, vmax)

    axis.set_major_locator(Steps())
    axis.set_major_formatter(FuncFormatter(lambda value, _: significant(value)))
    # Else matplotlib labels the small ticks of a short axis too, over one another.
    axis.set_minor_formatter(NullFormatter())


def _steps(factor: float) -> Sequence[float]:
    """The numbers of a decade beside an axis whose ends differ by a factor."""
    if factor > _LONG:
        return (1.0,)
    if factor < _SHORT:
        return (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
    return (1.0, 2.0, 5.0)


FORMATS: Final = ("html", "svg", "png", "pdf")
"""Formats of a figure, by the end of its file's name."""

_DOTS_PER_INCH: Final = 200
_DOTS_PER_INCH_OF_PAPER: Final = 300


def figure_format(path: str | os.PathLike[str]) -> str:
    """The format that a file's name asks for: one of :data:`FORMATS`.

    Raises:
        ValueError: another ending.
    """
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        accepted = "a name ending in .html, .svg, .png or .pdf"
        message = f'"{Path(path).name}" is not accepted; expected {accepted}'
        raise ValueError(message)
    return suffix


def picture(figure: Figure, kind: str, look: str = "page") -> bytes:
    """The bytes of a figure as "svg", "pdf" or "png"; the same figure gives the same bytes.

    Raises:
        ScenarioError: there is no such look.
    """
    target = io.BytesIO()
    undated: dict[str, dict[str, Any]] = {
        "svg": {"Date": None},
        "pdf": {"CreationDate": None},
        "png": {},
    }
    with style(look):
        dots = _DOTS_PER_INCH if look == "page" else _DOTS_PER_INCH_OF_PAPER
        figure.savefig(target, format=kind, dpi=dots, metadata=undated[kind])
    return target.getvalue()


def check_link(scenario: Scenario, link: str) -> None:
    """Refuse an unknown link.

    Raises:
        ScenarioError: naming those that are.
    """
    if link not in scenario.links:
        raise ScenarioError("link", link, one_of(scenario.links), scenario.origin)


_STRETCHES: Final = 480
"""Into how many a run is cut; more than a page has pixels for cannot be told apart."""


def milliseconds_per_packet(scenario: Scenario, name: str) -> float | None:
    """Transmission time of one waiting packet, milliseconds.

    At the mean size of the packets; ``None`` where the rate varies, or no data cross the link.
    """
    size, rate = mean_packet_bytes(scenario, name), constant_rate(scenario, name)
    return None if size is None or rate is None else 8e3 * size / rate


def constant_rate(scenario: Scenario, name: str) -> float | None:
    """Rate of a link, bit/s; ``None`` where it varies, so that no length is a time."""
    link = scenario.links[name]
    if link.varies:
        return None
    if any(change.link == name and change.rate is not None for change in scenario.changes):
        return None
    rate = nominal_rate(scenario, name)
    return rate if rate > 0.0 else None


def by_stretches(
    time: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """The middle of each stretch of time, and its least, mean and greatest value.

    Samples without a value are left out.
    """
    import numpy as np

    known = ~np.isnan(values)
    time, values = time[known], values[known]
    count = min(_STRETCHES, len(time))
    begins = np.linspace(0, len(time), count, endpoint=False).astype(int)
    lengths = np.diff(np.append(begins, len(time)))
    return (
        np.add.reduceat(time, begins) / lengths,
        np.minimum.reduceat(values, begins),
        np.add.reduceat(values, begins) / lengths,
        np.maximum.reduceat(values, begins),
    )


def draw_band(
    axes: Axes, time: NDArray[np.float64], queue: NDArray[np.float64], each_ms: float | None
) -> None:
    """The queue as the band between its least and its greatest length of each moment.

    Args:
        axes: where.
        time: of the samples, in seconds.
        queue: packets that wait.
        each_ms: how long the link takes to send one of them, if that is known.
    """
    middle, low, _, high = by_stretches(time, queue * (each_ms or 1.0))
    axes.fill_between(
        middle, low, high, color=SKY_BLUE, linewidth=0.7, label="queue, least to greatest"
    )
    axes.set_ylabel("queue (packets)" if each_ms is None else "queueing delay (ms)")


def target_label(packets: float, each_ms: float | None) -> str:
    """Label of the line at a target."""
    waiting = "" if each_ms is None else f"{packets * each_ms:.3g} ms, "
    return f"target: {waiting}{how_many(packets, 'packet')}"


def add_packets(axes: Axes, each_ms: float | None) -> None:
    """The same scale in packets, on the right, where the left one is in milliseconds."""
    if each_ms is None:
        return
    import numpy as np

    scale = axes.secondary_yaxis(
        "right",
        functions=(
            lambda times: np.divide(times, each_ms),
            lambda packets: np.multiply(packets, each_ms),
        ),
    )
    scale.set_ylabel("packets", color=GREY)
    scale.tick_params(colors=GREY)
    scale.spines["right"].set_visible(True)
