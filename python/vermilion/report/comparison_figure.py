"""Figure of a comparison: delay and goodput of each variant.

Left the trade-off, as RFC 7928 asks for it and Winstein and Balakrishnan drew it (TCP ex
Machina, SIGCOMM 2013): every run is a faint point, a large sign stands at a variant's mean, and the
ellipse is the one-sigma contour of the two-dimensional Gaussian that explains its points best
(maximum likelihood). The delay axis is logarithmic; the Gaussian is fitted on the logarithm, so
that the ellipse is one on paper. Unlike theirs the axis is not reversed: less delay is on the left,
as in the panel beside it, and better is up and to the left.

Right the distribution over single packets. For each percentage the line is at the mean over the
seeds of that percentile, and the shade is its 95 % interval, as in the tables.

Both panels show the queueing delay of the one link, and each row is a phase; all rows have the same
scales. For a narrow screen the panels stand one below the other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from vermilion.report import drawing
from vermilion.report.drawing import plain_numbers
from vermilion.simulate.compared_runs import GOODPUT
from vermilion.simulate.notebook import stretch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vermilion.simulate.comparison import Comparison
    from vermilion.simulate.statistics import Interval

    Points = list[tuple[float, float]]

MOST_ROWS: Final = 6
"""Phases that are drawn one below the other; of more only the whole run is."""

_ROW_IN = 3.0
_LINE_IN = 0.24  # of the legend
_REST_IN = 0.7

_PURPLE = "#CC79A7"  # the last of Okabe and Ito's colours that is dark enough for a line
_COLOURS = (
    drawing.BLUE,
    drawing.VERMILION,
    drawing.GREEN,
    drawing.ORANGE,
    _PURPLE,
    drawing.SKY_BLUE,
    drawing.INK,
)
_LINES: Final[Sequence[Any]] = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1.2, 1.2)))
_MARKERS = ("o", "s", "^", "D", "v")

_TRADE_OFF_CAPTION: Final = (
    "The trade-off: each point is one run (seed), its mean queueing delay and total "
    "goodput; the large sign is the variant's mean. Better is up and to the left."
)
_LETTERS_IN_A_LINE = 105  # of a legend
_LETTERS_OF_A_SIGN = 9
_FEWEST_FOR_AN_ELLIPSE = 3
_WIDE = 10.0  # a factor between tails: beyond it a linear axis shows one of them only
_MOST_DECADES = 1e4
_LEAST_FACTOR = 1.6  # between the ends of a logarithmic axis
_LEAST_SHARE = 0.06  # of the largest goodput: what the goodput axis spans at least
_MARGIN = 0.08


def comparison_figure(
    comparison: Comparison,
    link: str,
    windows: Sequence[int],
    *,
    narrow: bool = False,
    look: str = "page",
) -> Figure:
    """Draw a comparison whose runs were made with ``distributions``.

    Args:
        comparison: what to draw.
        link: whose queueing delay, and the goodput of the flows across it.
        windows: numbers of the windows, one row each.
        narrow: for a screen that is not as wide as a page: one panel below the other.
        look: what it is drawn for, of :data:`vermilion.report.drawing.LOOKS`.
    """
    narrow = narrow or drawing.look_named(look).narrow
    with drawing.style(look):
        figure, grid = _sheet(comparison.names, len(windows), narrow=narrow, look=look)
        points = [
            [_points(comparison, variant, link, window) for variant in _variants(comparison)]
            for window in windows
        ]
        # An idle queue has no place on a logarithmic axis.
        logarithmic = all(delay > 0 for row in points for cloud in row for delay, _ in cloud)
        measured = comparison.windows(link)
        for row, window in enumerate(windows):
            left, right = grid[row]
            last = window == len(measured) - 1
            name = "Whole run" if last else f"Phase {window + 1}"
            for axes in (left, right) if narrow else (left,):
                axes.set_title(f"{name}: {stretch(measured[window])}")
            for variant, cloud in enumerate(points[row]):
                draw_points(left, cloud, variant, logarithmic=logarithmic)
            for variant in _variants(comparison):
                _draw_distribution(right, comparison, variant, link, window)
            left.set_ylabel("goodput (Mbit/s)")
            right.set_ylabel("packets that wait no longer (%)")
        clouds = [cloud for row in points for cloud in row if cloud]
        drawn = [
            point
            for cloud in clouds
            for point in (*cloud, *trade_off_shape(cloud, logarithmic=logarithmic))
        ]
        scale_trade_off(grid[0][0], drawn, logarithmic=logarithmic)
        _scale_distribution(grid[0][1], comparison, link, windows)
        grid[-1][0].set_xlabel(
            f"mean queueing delay (ms{', log' if logarithmic else ''}); better: left and up"
        )
        scale = ", log" if grid[0][1].get_xscale() == "log" else ""
        grid[-1][1].set_xlabel(f"queueing delay of a packet (ms{scale})")
        _add_legend(figure, comparison.names, _columns(comparison.names, narrow=narrow, look=look))
    return figure


def _sheet(
    names: Sequence[str], rows: int, *, narrow: bool, look: str
) -> tuple[Figure, list[list[Axes]]]:
    """An empty figure, and its panels: a row of two for each window."""
    lines = -(-len(names) // _columns(names, narrow=narrow, look=look))
    panels = 2 * rows if narrow else rows
    height = _REST_IN + _LINE_IN * lines + _ROW_IN * panels
    figure = drawing.sheet(height, narrow=narrow, look=look)
    if not narrow:
        wide = figure.subplots(rows, 2, sharex="col", sharey="col", squeeze=False)
        return figure, [[*row] for row in wide]
    column = [axes for (axes,) in figure.subplots(panels, 1, squeeze=False)]
    left, right = column[:rows], column[rows:]
    for kind in (left, right):
        for axes in kind[1:]:
            axes.sharex(kind[0])
            axes.sharey(kind[0])
    return figure, [[*pair] for pair in zip(left, right, strict=True)]


def comparison_caption(comparison: Comparison, windows: Sequence[int]) -> str:
    """Caption of :func:`comparison_figure`."""
    seeds = len(comparison.seeds)
    sentences = [_TRADE_OFF_CAPTION]
    if seeds >= _FEWEST_FOR_AN_ELLIPSE:
        sentences.append(
            "The ellipse is the one-sigma contour of a Gaussian fitted to a variant's points."
        )
    shade = "; the shade is the 95 % confidence interval over the seeds" if seeds > 1 else ""
    sentences.append(
        "The distribution: the share of packets that wait no longer than the delay on the "
        f"axis{shade}."
    )
    if len(windows) > 1:
        sentences.append("All phases have the same scales.")
    return " ".join(sentences)


def one_sigma_ellipse(points: Sequence[tuple[float, float]]) -> Points:
    """The one-sigma contour of the Gaussian with the greatest likelihood, as a closed line.

    Its centre is the points' mean, its shape their covariance (divided by their number). A
    Gaussian has 39 % of its weight within. Fewer than three points have no contour.
    """
    import numpy as np

    if len(points) < _FEWEST_FOR_AN_ELLIPSE:
        return []
    cloud = np.asarray(points, dtype=float)
    centre = cloud.mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov(cloud, rowvar=False, bias=True))
    angles = np.linspace(0.0, 2.0 * np.pi, 121)
    circle = np.stack((np.cos(angles), np.sin(angles)))
    line = centre[:, None] + axes @ (np.sqrt(np.maximum(variances, 0.0))[:, None] * circle)
    return [(float(x), float(y)) for x, y in line.T]


def _variants(comparison: Comparison) -> range:
    return range(len(comparison.names))


def _points(comparison: Comparison, variant: int, link: str, window: int) -> Points:
    """Delay (ms) and goodput (Mbit/s) of each run; none if any of them is unknown."""
    delays = comparison.values(variant, link, window, "sojourn_ms.mean")
    goodputs = comparison.values(variant, link, window, GOODPUT)
    if delays is None or goodputs is None:
        return []
    return [(delay, goodput / 1e6) for delay, goodput in zip(delays, goodputs, strict=True)]


def trade_off_shape(points: Points, *, logarithmic: bool) -> Points:
    """The ellipse around the points of a variant, an ellipse on the axes that are drawn."""
    if not logarithmic:
        return one_sigma_ellipse(points)
    line = one_sigma_ellipse([(math.log(delay), goodput) for delay, goodput in points])
    return [(math.exp(delay), goodput) for delay, goodput in line]


def _centre(points: Points, *, logarithmic: bool) -> tuple[float, float]:
    """Position of a variant's sign: the centre of its ellipse."""
    from statistics import fmean, geometric_mean

    delays = [delay for delay, _ in points]
    middle = geometric_mean(delays) if logarithmic else fmean(delays)
    return middle, fmean(goodput for _, goodput in points)


def line_style(variant: int) -> dict[str, Any]:
    """Colour, dashes and width of a variant's line."""
    return {
        "color": _COLOURS[variant % len(_COLOURS)],
        "linestyle": _LINES[variant % len(_LINES)],
        "linewidth": 2.0,
    }


def marker(variant: int) -> str:
    """Sign of a variant."""
    return _MARKERS[variant % len(_MARKERS)]


def draw_points(axes: Axes, points: Points, variant: int, *, logarithmic: bool) -> None:
    """Draw the runs of a variant, their mean and their ellipse."""
    if not points:
        return
    look = line_style(variant)
    line = trade_off_shape(points, logarithmic=logarithmic)
    if line:
        delays, goodputs = zip(*line, strict=True)
        axes.fill(delays, goodputs, color=look["color"], alpha=0.2, linewidth=0)
        axes.plot(delays, goodputs, color=look["color"], linewidth=1.6)
    axes.plot(
        [delay for delay, _ in points],
        [goodput for _, goodput in points],
        marker(variant),
        color=look["color"],
        markersize=drawing.letters(3.5),
        markeredgewidth=0,
        alpha=0.45,
    )
    delay, goodput = _centre(points, logarithmic=logarithmic)
    axes.plot(
        delay,
        goodput,
        marker(variant),
        color=look["color"],
        markersize=drawing.letters(9),
        markeredgecolor="white",
        markeredgewidth=1.0,
        zorder=4,
    )


def _draw_distribution(
    axes: Axes, comparison: Comparison, variant: int, link: str, window: int
) -> None:
    distribution = comparison.distribution(variant, link, window)
    if distribution is None:
        return
    percent, quantiles = distribution
    look = line_style(variant)
    axes.plot([interval.mean for interval in quantiles], percent, **look)
    low = [interval.mean if interval.low is None else interval.low for interval in quantiles]
    high = [interval.mean if interval.high is None else interval.high for interval in quantiles]
    axes.fill_betweenx(percent, low, high, color=look["color"], alpha=0.16, linewidth=0)


def scale_trade_off(axes: Axes, points: Points, *, logarithmic: bool) -> None:
    """Scale the plane so that differences nobody would notice look like none."""
    if not points:
        return
    delays = [delay for delay, _ in points]
    goodputs = [goodput for _, goodput in points]
    if logarithmic:
        axes.set_xscale("log")
        factor = max(max(delays) / min(delays), _LEAST_FACTOR) ** 0.5
        middle = math.sqrt(min(delays) * max(delays))
        factor **= 1.0 + 2.0 * _MARGIN
        axes.set_xlim(middle / factor, middle * factor)
        plain_numbers(axes.xaxis)
    else:
        largest = max(delays) or 1.0
        axes.set_xlim(-_MARGIN * largest, largest * (1 + _MARGIN))
    # Differences of less than this are none, and must not look as if they were.
    least = _LEAST_SHARE * max(goodputs)
    span = max(max(goodputs) - min(goodputs), least) * (1 + 2 * _MARGIN)
    middle = (max(goodputs) + min(goodputs)) / 2
    if span > 0:
        axes.set_ylim(max(0.0, middle - span / 2), middle + span / 2)
    axes.grid(visible=True, axis="x")


def _scale_distribution(
    axes: Axes, comparison: Comparison, link: str, windows: Iterable[int]
) -> None:
    found = [
        [interval.mean for interval in distribution[1]]
        for window in windows
        for variant in _variants(comparison)
        if (distribution := comparison.distribution(variant, link, window)) is not None
    ]
    axes.set_ylim(0, 100)
    axes.grid(visible=True, axis="x")
    positive = [[value for value in quantiles if value > 0] for quantiles in found]
    positive = [quantiles for quantiles in positive if quantiles]
    if not positive:
        axes.set_xlim(-_MARGIN, 1.0)
        return
    longest = [quantiles[-1] for quantiles in positive]
    if max(longest) > _WIDE * min(longest):
        shortest = max(min(map(min, positive)), max(longest) / _MOST_DECADES)
        axes.set_xscale("log")
        axes.set_xlim(shortest, 1.1 * max(longest))
        plain_numbers(axes.xaxis)
    else:
        axes.set_xlim(0, 1.03 * max(longest))


def _add_legend(figure: Figure, names: Sequence[str], columns: int) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker=marker(variant), markersize=5, label=name, **line_style(variant))
        for variant, name in enumerate(names)
    ]
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=columns,
        handlelength=3.2,
        fontsize=drawing.letters(11),
    )


def _columns(names: Sequence[str], *, narrow: bool, look: str = "page") -> int:
    """Number of columns in which the legend's names fit above the panels."""
    share = drawing.NARROW_IN / drawing.WIDE_IN if narrow else 1.0
    if look != "page":
        share = drawing.look_named(look).letters_in_a_line
    letters = int(_LETTERS_IN_A_LINE * share)
    if sum(len(name) + _LETTERS_OF_A_SIGN for name in names) <= letters:
        return len(names)
    longest = max(len(name) for name in names)
    return max(1, letters // (longest + _LETTERS_OF_A_SIGN))


FEWEST: Final = 8
"""Variants from which on the figure has lines instead of clouds."""

_LINES_WIDTH_IN = 10.5
_VARIANT_IN = 0.26
_BLOCK_REST_IN = 1.0

_PANELS: Final = (
    ("queueing delay (ms): 5, 50, 95 %", drawing.BLUE),
    ("goodput (Mbit/s)", drawing.GREEN),
    ("dropped (%)", drawing.VERMILION),
)


def many_variants_figure(
    comparison: Comparison,
    link: str,
    windows: Sequence[int],
    *,
    narrow: bool = False,
    look: str = "page",
) -> Figure:
    """Draw a comparison with a line for each variant, a block of lines for each window.

    Args:
        comparison: what to draw.
        link: whose queueing delay and drops, and the goodput of the flows across it.
        windows: numbers of the windows, one block each.
        narrow: for a screen that is not as wide as a page: one panel below the other.
        look: as of :func:`comparison_figure`.
    """
    narrow = narrow or drawing.look_named(look).narrow
    with drawing.style(look):
        lines = len(comparison.names)
        figure, grid = _lines_sheet(lines, len(windows), narrow=narrow, look=look)
        measured = comparison.windows(link)
        for row, window in zip(grid, windows, strict=True):
            last = window == len(measured) - 1
            name = "Whole run" if last else f"Phase {window + 1}"
            for axes in row if narrow else row[:1]:
                axes.set_title(f"{name}: {stretch(measured[window])}")
            for variant in range(lines):
                _draw_delay(row[0], comparison, variant, link, window)
                for axes, metric, factor, colour in (
                    (row[1], GOODPUT, 1e-6, _PANELS[1][1]),
                    (row[2], "drop_rate", 100.0, _PANELS[2][1]),
                ):
                    interval = comparison.interval(variant, link, window, metric)
                    _draw_interval(axes, variant, interval, factor, colour)
            for axes in row if narrow else row[:1]:
                axes.set_yticks(range(lines), comparison.names)
            for axes, (label, _) in zip(row, _PANELS, strict=True):
                axes.set_xlabel(label)
                axes.tick_params(labelbottom=True)
                axes.grid(visible=True, axis="both")
        grid[0][0].set_ylim(lines - 0.4, -0.6)
        for axes in (grid[0][0], grid[0][2]):
            axes.set_xlim(left=0)
    return figure


def _lines_sheet(
    lines: int, rows: int, *, narrow: bool, look: str
) -> tuple[Figure, list[list[Axes]]]:
    """An empty figure, and its panels: a row of three for each window."""
    panels = len(_PANELS)
    height = (_BLOCK_REST_IN + _VARIANT_IN * lines) * rows
    if not narrow:
        figure = drawing.sheet(height, wide_in=_LINES_WIDTH_IN, look=look)
        wide = figure.subplots(
            rows,
            panels,
            sharex="col",
            sharey=True,
            squeeze=False,
            gridspec_kw={"width_ratios": (1.5, 1, 1)},
        )
        return figure, [[*row] for row in wide]
    figure = drawing.sheet(panels * height, narrow=True, look=look)
    column = [axes for (axes,) in figure.subplots(panels * rows, 1, sharey=True, squeeze=False)]
    grid = [column[first : first + panels] for first in range(0, panels * rows, panels)]
    for row in grid[1:]:
        for axes, above in zip(row, grid[0], strict=True):
            axes.sharex(above)
    return figure, grid


def many_variants_caption(comparison: Comparison, windows: Sequence[int]) -> str:
    """Caption of :func:`many_variants_figure`."""
    several = len(comparison.seeds) > 1
    means = ", each the mean over the seeds" if several else ""
    bar = f"the point is the median, the bar reaches from the 5th to the 95th percentile{means}"
    sentences = [
        f"Each variant has a line. First, queueing delay: {bar}.",
        "Second: goodput of all flows.",
        "Third: share of packets dropped.",
    ]
    if several:
        sentences.append("Points are means over the seeds, with 95 % confidence intervals.")
    if len(windows) > 1:
        sentences.append("All phases have the same scales.")
    return " ".join(sentences)


def _draw_delay(axes: Axes, comparison: Comparison, variant: int, link: str, window: int) -> None:
    found = [
        comparison.interval(variant, link, window, f"sojourn_ms.{name}")
        for name in ("p5", "p50", "p95")
    ]
    means = [interval.mean for interval in found if interval is not None]
    if len(means) < len(found):
        return
    low, middle, high = means
    colour = _PANELS[0][1]
    axes.plot((low, high), (variant, variant), color=colour, alpha=0.45, linewidth=4.5)
    axes.plot(middle, variant, marker="o", markersize=5.5, color=colour)


def _draw_interval(
    axes: Axes, variant: int, interval: Interval | None, factor: float, colour: str
) -> None:
    if interval is None:
        return
    look: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 5.5}
    half = None if interval.half_width is None else factor * interval.half_width
    axes.errorbar(factor * interval.mean, variant, xerr=half, linewidth=1.6, **look)
