"""The figure of a comparison of many variants: one line for each of them.

Clouds and curves of more than a handful of variants cannot be told apart, so each gets a line of
its own. For each phase: how long packets wait (the median with the stretch from the 5th to the 95th
percentile, means over the seeds), the goodput of the flows across the link, and the share of
arrivals dropped, the last two with their 95 % intervals. All phases have the same scales.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vermilion.report import drawing
from vermilion.simulate.compared_runs import GOODPUT
from vermilion.simulate.notebook import stretch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vermilion.simulate.comparison import Comparison
    from vermilion.simulate.statistics import Interval

FEWEST: Final = 8
"""Variants from which on the figure has lines instead of clouds."""

_WIDTH_IN = 10.5
_LINE_IN = 0.26
_REST_IN = 1.0

_PANELS: Final = (
    ("queueing delay (ms): 5, 50, 95 %", drawing.BLUE),
    ("goodput (Mbit/s)", drawing.GREEN),
    ("dropped (%)", drawing.VERMILION),
)


def many_variants_figure(
    comparison: Comparison, link: str, windows: Sequence[int], *, narrow: bool = False
) -> Figure:
    """Draws a comparison with a line for each variant, a block of lines for each window.

    Args:
        comparison: what to draw.
        link: whose queueing delay and drops, and the goodput of the flows across it.
        windows: numbers of the windows, one block each.
        narrow: for a screen that is not as wide as a page: one panel below the other.
    """
    with drawing.style():
        lines = len(comparison.names)
        figure, grid = _sheet(lines, len(windows), narrow=narrow)
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


def _sheet(lines: int, rows: int, *, narrow: bool) -> tuple[Figure, list[list[Axes]]]:
    """An empty figure, and its panels: a row of three for each window."""
    from matplotlib.figure import Figure

    panels = len(_PANELS)
    height = (_REST_IN + _LINE_IN * lines) * rows
    if not narrow:
        figure = Figure(figsize=(_WIDTH_IN, height), layout="constrained")
        wide = figure.subplots(
            rows,
            panels,
            sharex="col",
            sharey=True,
            squeeze=False,
            gridspec_kw={"width_ratios": (1.5, 1, 1)},
        )
        return figure, [[*row] for row in wide]
    figure = Figure(figsize=(drawing.NARROW_IN, panels * height), layout="constrained")
    column = [axes for (axes,) in figure.subplots(panels * rows, 1, sharey=True, squeeze=False)]
    grid = [column[first : first + panels] for first in range(0, panels * rows, panels)]
    for row in grid[1:]:
        for axes, above in zip(row, grid[0], strict=True):
            axes.sharex(above)
    return figure, grid


def many_variants_caption(comparison: Comparison, windows: Sequence[int]) -> str:
    """What :func:`many_variants_figure` shows of a comparison, in sentences."""
    several = len(comparison.seeds) > 1
    means = ", each the mean over the seeds" if several else ""
    bar = f"the point is the median, the bar reaches from the 5th to the 95th percentile{means}"
    sentences = [
        f"Each variant has a line. First, how long packets wait: {bar}.",
        "Second: the goodput of all flows across the link.",
        "Third: the share of arriving packets that are dropped.",
    ]
    if several:
        sentences.append(
            "There the points are means over the seeds, with their 95 % confidence intervals."
        )
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
