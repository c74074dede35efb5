"""Plotting shared by the papers' figures: a sheet, and means with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vermilion.report import drawing
from vermilion.simulate import mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PURPLE: Final = "#CC79A7"
COLOURS: Final = (
    drawing.BLUE,
    drawing.VERMILION,
    drawing.GREEN,
    drawing.ORANGE,
    drawing.SKY_BLUE,
    PURPLE,
    drawing.INK,
    drawing.GREY,
)
"""Told apart by readers who see few colours, in this order."""

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
"""One for each colour."""

WIDTH_IN: Final = 9.6
"""Of every figure."""


def sheet(rows: int, columns: int, height_in: float, **options: Any) -> tuple[Figure, Any]:  # noqa: ANN401 - matplotlib's own
    """An empty figure with so many panels, as an array of rows and columns."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def line(
    axes: Axes,
    places: Sequence[float],
    samples: Sequence[Sequence[float]],
    label: str,
    number: int,
    *,
    scale: float = 1.0,
    dashed: bool = False,
    joined: bool = True,
) -> None:
    """Means over seeds at some places, each with the bar of its 95 % interval.

    Args:
        axes: where.
        places: on the horizontal axis.
        samples: one list of values for each place, a value for each seed.
        label: for the legend.
        number: which colour and marker.
        scale: a factor for the values.
        dashed: for a second family of lines.
        joined: by a line; not where the places are in no order.
    """
    intervals = [mean_interval(values) for values in samples]
    style: Any = (0, (4, 2)) if dashed else "-"
    axes.errorbar(
        list(places),
        [scale * interval.mean for interval in intervals],
        yerr=[scale * (interval.half_width or 0.0) for interval in intervals],
        color=COLOURS[number % len(COLOURS)],
        marker=MARKERS[number % len(MARKERS)],
        markersize=5,
        markerfacecolor="white" if dashed else None,
        linewidth=1.3,
        linestyle=style if joined else "none",
        capsize=3,
        label=label,
    )


def trace(
    axes: Axes,
    times: Sequence[float],
    values: Sequence[float],
    label: str,
    number: int,
    width: float = 0.8,
) -> None:
    """Plot one run over time."""
    axes.plot(times, values, color=COLOURS[number % len(COLOURS)], linewidth=width, label=label)


def panels(
    names: Sequence[str],
    height_in: float = 4.2,
    **options: Any,  # noqa: ANN401 - matplotlib's own
) -> tuple[Figure, dict[str, Axes]]:
    """An empty figure with panels side by side, by their titles."""
    figure, found = sheet(1, len(names), height_in, **options)
    for axes, name in zip(found[0], names, strict=True):
        axes.set_title(name, fontsize=10.5)
    return figure, dict(zip(names, found[0], strict=True))


def legend_below(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """One legend for all panels, below them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=9)
