"""Figures that papers have, from plain data: each function returns a matplotlib figure.

    >>> from vermilion.report import figures
    >>> figures.delays({"mine": mine.distribution, "cubic": ...}, look="paper").savefig("cdf.pdf")

``look`` is one of :data:`vermilion.report.drawing.LOOKS`: "paper" is as wide as a column (3.3 in),
"paper-wide" as a page. Curves over time are those of :func:`vermilion.run_figure`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from vermilion.report import drawing
from vermilion.report.comparison_figure import (
    draw_points,
    line_style,
    marker,
    scale_trade_off,
    trade_off_shape,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vermilion.simulate.statistics import Interval

_PANEL_IN: Final = 3.2
_MOST_TICKS: Final = 8


def duel(
    names: Sequence[str],
    shares: Mapping[tuple[str, str], float],
    *,
    rows: Sequence[str] = (),
    label: str = "share of the goodput",
    look: str = "paper",
) -> Figure:
    """Heat map of duels: the share that the sender of a row takes from that of a column.

    Args:
        names: of the columns.
        shares: 0 to 1, by row and column; a duel that was not held is left white.
        rows: names of the rows, if not those of the columns.
        label: of the scale.
        look: of the figure.

    Raises:
        ScenarioError: there is no such look.
    """
    import numpy as np

    rows = rows or names
    cells = np.array([[shares.get((row, name), math.nan) for name in names] for row in rows])
    with drawing.style(look):
        chosen = drawing.look_named(look)
        cell = 0.5
        figure = drawing.sheet(1.5 + cell * len(rows), narrow=chosen.narrow, look=look)
        axes = figure.subplots()
        image = axes.imshow(cells, vmin=0.0, vmax=1.0, cmap="PuOr", aspect="auto")
        axes.grid(visible=False)
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        long = len(names) * max(map(len, names)) > (36 if chosen.narrow else 90)
        axes.set_xticks(
            range(len(names)), names, rotation=35 if long else 0, ha="right" if long else "center"
        )
        axes.set_yticks(range(len(rows)), rows)
        for row in range(len(rows)):
            for column in range(len(names)):
                share = cells[row][column]
                if not math.isnan(share):
                    far = abs(share - 0.5) > 0.3  # noqa: PLR2004 - where the map is dark
                    axes.text(
                        column,
                        row,
                        f"{share:.2f}",
                        ha="center",
                        va="center",
                        color="white" if far else drawing.INK,
                        fontsize=drawing.letters(9),
                    )
        axes.set_xlabel("against")
        bar = figure.colorbar(image, ax=axes, shrink=0.9)
        bar.set_label(label)
        bar.outline.set_visible(False)
    return figure


def delays(
    distributions: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    label: str = "queueing delay (ms)",
    logarithmic: bool | None = None,
    look: str = "paper",
) -> Figure:
    """Cumulative distribution of delays, a line for each name.

    Args:
        distributions: percents from 0 to 100 and the delay at each, by name.
        label: of the delay.
        logarithmic: the delay's axis; ``None`` where the largest are far apart.
        look: of the figure.

    Raises:
        ScenarioError: there is no such look.
    """
    with drawing.style(look):
        figure, axes = _panel(look)
        for number, (name, (percent, values)) in enumerate(distributions.items()):
            axes.plot(values, percent, label=name, **_line(number, look))
        longest = [float(values[-1]) for _, values in distributions.values()]
        wide = min(longest, default=1.0) * 10 < max(longest, default=1.0)
        if wide if logarithmic is None else logarithmic:
            axes.set_xscale("log")
            drawing.plain_numbers(axes.xaxis)
            axes.set_xlim(left=max(longest) / 1e4)
        else:
            axes.set_xlim(left=0)
        axes.set_ylim(0, 100)
        axes.set_xlabel(label)
        axes.set_ylabel("packets (%)")
        axes.grid(visible=True, axis="both")
        drawing.legend_on_top(figure, [axes])
    return figure


def completion(
    classes: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    statistics: Sequence[str] = ("p50", "p99"),
    look: str = "paper",
) -> Figure:
    """Completion times and slowdowns of transfers by size, a line for each name and statistic.

    Args:
        classes: of each name, what ``result.transfers.by_size()`` has.
        statistics: of "mean", "p50", "p95" and "p99".
        look: of the figure.

    Raises:
        ScenarioError: there is no such look.
    """
    chosen = drawing.look_named(look)
    with drawing.style(look):
        height = 2 * _PANEL_IN if chosen.narrow else 1.25 * _PANEL_IN
        figure = drawing.sheet(height, narrow=chosen.narrow, look=look)
        panels = [*figure.subplots(*((2, 1) if chosen.narrow else (1, 2)), sharex=True)]
        for axes, quantity, words, factor in (
            (panels[0], "completion_time_s", "completion time (ms)", 1e3),
            (panels[1], "slowdown", "slowdown", 1.0),
        ):
            for number, (name, found) in enumerate(classes.items()):
                for part, statistic in enumerate(statistics):
                    values = [
                        math.nan if each[quantity] is None else factor * each[quantity][statistic]
                        for each in found
                    ]
                    look_of_line = {**_line(number, look), "linestyle": ("-", "--", ":")[part % 3]}
                    axes.plot(
                        range(len(values)),
                        values,
                        marker=marker(number),
                        markersize=drawing.letters(4.5),
                        label=f"{name}, {statistic}",
                        **look_of_line,
                    )
            axes.set_yscale("log")
            drawing.plain_numbers(axes.yaxis)
            axes.set_ylabel(words)
        sizes = [_size_words(each) for each in next(iter(classes.values()), ())]
        for axes in panels if not chosen.narrow else panels[1:]:
            axes.set_xticks(range(len(sizes)), sizes)
            axes.set_xlabel("size of the transfer")
        drawing.legend_on_top(figure, panels)
    return figure


def plane(
    clouds: Mapping[str, Sequence[tuple[float, float]]],
    *,
    labels: tuple[str, str] = ("queueing delay (ms)", "goodput (Mbit/s)"),
    look: str = "paper",
) -> Figure:
    """Delay-throughput plane: a point for each run, the mean, and the one-sigma ellipse.

    Args:
        clouds: delay and goodput of each run, by name.
        labels: of the axes.
        look: of the figure.

    Raises:
        ScenarioError: there is no such look.
    """
    with drawing.style(look):
        figure, axes = _panel(look)
        points = [list(each) for each in clouds.values()]
        logarithmic = all(delay > 0 for each in points for delay, _ in each)
        drawn = []
        for number, cloud in enumerate(points):
            draw_points(axes, cloud, number, logarithmic=logarithmic)
            drawn += [*cloud, *trade_off_shape(cloud, logarithmic=logarithmic)]
        scale_trade_off(axes, drawn, logarithmic=logarithmic)
        for number, name in enumerate(clouds):
            style = line_style(number)
            axes.plot([], [], marker(number), color=style["color"], label=name, ls="none")
        axes.set_xlabel(f"{labels[0]}; better: left and up")
        axes.set_ylabel(labels[1])
        drawing.legend_on_top(figure, [axes])
    return figure


def fairness(
    indices: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    level: float = 0.9,
    reached: Mapping[str, float | None] | None = None,
    look: str = "paper",
) -> Figure:
    """Jain's index over time, and the level at which it counts as fair.

    Args:
        indices: instants and the index at each, by name.
        level: drawn as a dashed line.
        reached: instant at which each is fair, marked; ``None`` for never.
        look: of the figure.

    Raises:
        ScenarioError: there is no such look.
    """
    with drawing.style(look):
        figure, axes = _panel(look)
        for number, (name, (time, values)) in enumerate(indices.items()):
            axes.plot(time, values, label=name, **_line(number, look))
            at = (reached or {}).get(name)
            if at is not None:
                colour = line_style(number)["color"]
                axes.plot(at, level, marker(number), color=colour, markeredgecolor="white")
        axes.axhline(level, color=drawing.GREY, lw=0.8, ls=(0, (5, 3)))
        axes.set_ylim(0, 1.03)
        axes.set_xlim(left=0)
        axes.set_xlabel("time (s)")
        axes.set_ylabel("Jain's index")
        drawing.legend_on_top(figure, [axes])
    return figure


def lines(
    curves: Mapping[str, Sequence[tuple[float, Interval]]],
    *,
    labels: tuple[str, str],
    logarithmic: tuple[bool, bool] = (False, False),
    look: str = "paper",
) -> Figure:
    """A metric over a condition, such as the size of the buffer: means with 95 % intervals.

    Args:
        curves: value of the condition and the metric's mean over seeds, by name.
        labels: of the condition and of the metric.
        logarithmic: of the two axes.
        look: of the figure.

    Raises:
        ScenarioError: there is no such look.
    """
    with drawing.style(look):
        figure, axes = _panel(look)
        for number, (name, found) in enumerate(curves.items()):
            axes.errorbar(
                [x for x, _ in found],
                [each.mean for _, each in found],
                yerr=[each.half_width or 0.0 for _, each in found],
                marker=marker(number),
                markersize=drawing.letters(5),
                capsize=2,
                label=name,
                **_line(number, look),
            )
        for axis, log in zip((axes.xaxis, axes.yaxis), logarithmic, strict=True):
            if log:
                (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
                drawing.plain_numbers(axis)
        if not logarithmic[1]:
            axes.set_ylim(bottom=0)
        places = sorted({x for found in curves.values() for x, _ in found})
        if len(places) <= _MOST_TICKS:
            axes.set_xticks(places, [f"{each:g}" for each in places])
            axes.tick_params(axis="x", which="minor", length=0)
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        drawing.legend_on_top(figure, [axes])
    return figure


def bars(
    groups: Sequence[str],
    values: Mapping[str, Sequence[Interval | None]],
    *,
    label: str,
    look: str = "paper",
) -> Figure:
    """A metric in several situations: a bar for each name in each, with its 95 % interval.

    Args:
        groups: names of the situations.
        values: one for each situation, by name.
        label: of the metric.
        look: of the figure.

    Raises:
        ScenarioError: there is no such look.
    """
    with drawing.style(look):
        figure, axes = _panel(look)
        width = 0.8 / max(1, len(values))
        for number, (name, found) in enumerate(values.items()):
            at = [place - 0.4 + width * (number + 0.5) for place in range(len(groups))]
            axes.bar(
                at,
                [math.nan if each is None else each.mean for each in found],
                width * 0.92,
                yerr=[0.0 if each is None else each.half_width or 0.0 for each in found],
                color=line_style(number)["color"],
                error_kw={"elinewidth": 0.8},
                label=name,
            )
        axes.set_xticks(range(len(groups)), groups)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(label)
        drawing.legend_on_top(figure, [axes])
    return figure


def _panel(look: str) -> tuple[Figure, Axes]:
    """An empty figure with one panel."""
    chosen = drawing.look_named(look)
    high = _PANEL_IN if chosen.narrow else 1.25 * _PANEL_IN
    figure = drawing.sheet(high, narrow=chosen.narrow, look=look)
    return figure, figure.subplots()


def _line(number: int, look: str) -> dict[str, Any]:
    style = line_style(number)
    return {**style, "linewidth": drawing.fine(style["linewidth"], look)}


def _size_words(size_class: Mapping[str, Any]) -> str:
    """Return "10-100 kB" for a class of sizes."""

    def short(size: float) -> str:
        for unit, factor in (("MB", 1e6), ("kB", 1e3)):
            if size >= factor:
                return f"{size / factor:g} {unit}"
        return f"{size:g} B"

    low, high = size_class["above_bytes"], size_class["up_to_bytes"]
    if high is None:
        return f"> {short(low)}"
    return f"< {short(high)}" if low == 0 else f"to {short(high)}"
