"""The figure of a front: what one objective costs in the other.

Grey points are settings that were tried; where one would need a larger scale to be seen, it is
left out, and the caption of the page says how many. Blue points with a line are the front on fresh
seeds, with 95 % intervals in both directions, and the cross is the setting in force. The line is
a staircase, because between two settings nothing is known but that none was found that is better
than both in both. Where the front spans orders of magnitude, its axis is logarithmic.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from vermilion.report import drawing
from vermilion.report.figure_file import picture
from vermilion.report.front_parameters_figure import front_parameters_figure
from vermilion.report.logarithmic_axis import plain_numbers
from vermilion.report.numbers import typeset
from vermilion.report.study_figures import is_wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vermilion.tuning.front import Front, FrontPoint

_SIZE_IN: Final = (8.2, 5.2)
_NARROW_IN: Final = (drawing.NARROW_IN, 4.6)
_MARGIN: Final = 0.08
"""Of the range that the front and the incumbent span, on each side."""

_NEAR_PIXELS: Final = 18.0
"""Numbers of settings that lie closer than that would cover each other."""

_ROOM: Final = 0.6
"""The same where tried settings may still be shown."""


def front_figure(front: Front, *, narrow: bool = False) -> Figure:
    """Draws a front, for a page or for a screen that is not as wide."""
    from matplotlib.figure import Figure

    with drawing.style():
        figure = Figure(figsize=_NARROW_IN if narrow else _SIZE_IN, layout="constrained")
        axes = figure.add_subplot()
        axes.grid(visible=True, axis="both")
        _set_scales_and_limits(axes, front)
        axes.scatter(
            [first for first, _ in front.tried],
            [second for _, second in front.tried],
            s=11,
            color=drawing.GREY,
            alpha=0.45,
            linewidths=0,
            label="tried in the search",
        )
        if front.points:
            means = [(point.values[0].mean, point.values[1].mean) for point in front.points]
            axes.plot(
                *_staircase(means, front.maximised), color=drawing.BLUE, linewidth=1.3, zorder=3
            )
            seeds = "fresh" if front.fresh else "the search's"
            _with_intervals(axes, front.points, drawing.BLUE, "o", f"front, on {seeds} seeds")
            _number(axes, means)
        if front.incumbent is not None:
            now = [front.incumbent]
            _with_intervals(axes, now, drawing.VERMILION, "X", "now, on the same seeds")
        labels = [
            f"{name}{f', {typeset(unit)}' if unit else ''}  ({_better(index, high)})"
            for index, (name, unit, high) in enumerate(
                zip(front.objectives, front.units, front.maximised, strict=True)
            )
        ]
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        axes.set_title(front.scenario)
        if front.incumbent is not None:
            axes.legend(loc="best")
    return figure


def _number(axes: Axes, places: Sequence[tuple[float, float]]) -> None:
    """Numbers the settings of a front; of two that lie together, one above and one below."""
    last, below = None, False
    for number, place in enumerate(places, 1):
        x, y = axes.transData.transform(place)
        near = last is not None and math.hypot(x - last[0], y - last[1]) < _NEAR_PIXELS
        last, below = (x, y), near and not below
        axes.annotate(
            str(number),
            place,
            xytext=(5, -12) if below else (5, 5),
            textcoords="offset points",
            color=drawing.BLUE,
            fontsize="small",
            zorder=5,
        )


def rendered(front: Front, kind: str) -> bytes:
    """The figure as ``svg`` or ``png``, or with its numbers as a page, ``html``.

    The same front gives the same bytes.
    """
    front = front.shown()
    if kind == "html":
        return _page(front).encode()
    return picture(front_figure(front), kind)


def _page(front: Front) -> str:
    from vermilion.report.templates_of import templates_of

    environment = templates_of("vermilion.report")
    figure = drawing.svg_for_both_widths(
        partial(front_figure, front),
        name="front",
        description=f"The front of {front.objectives[0]} against {front.objectives[1]}",
    )
    parameters = ""
    if len(front.points) > 1:
        parameters = drawing.svg_for_both_widths(
            partial(front_parameters_figure, front),
            name="parameters",
            description="The parameters along the front",
        )
    return environment.get_template("front.html.j2").render(
        front=front,
        figure=figure,
        hidden=hidden_settings(front),
        parameters=parameters,
        rows=front_rows(front),
    )


def hidden_settings(front: Front) -> int:
    """How many of the tried settings lie outside the picture."""
    (left, right), (bottom, top) = _limits(front)
    return sum(
        not (left <= first <= right and bottom <= second <= top) for first, second in front.tried
    )


def front_rows(front: Front) -> list[tuple[str, FrontPoint]]:
    """The settings of a front and the one in force, as a table names them."""
    rows = [(str(number), point) for number, point in enumerate(front.points, 1)]
    return rows if front.incumbent is None else [*rows, ("now", front.incumbent)]


def _limits(front: Front) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ends of both axes: what is reported, and of what was tried that which lies near."""
    ends = []
    for axis in (0, 1):
        values = _reported(front, axis)
        if not values:  # nothing was simulated in time
            return (0.0, 1.0), (0.0, 1.0)
        if _is_logarithmic(front, axis):
            tried = [math.log10(each[axis]) for each in front.tried if each[axis] > 0.0]
            low, high = _with_room([math.log10(value) for value in values], tried)
            ends.append((10.0**low, 10.0**high))
        else:
            ends.append(_with_room(values, [each[axis] for each in front.tried]))
    return ends[0], ends[1]


def _reported(front: Front, axis: int) -> list[float]:
    """The means of an objective that are reported, and the ends of their intervals."""
    shown = [point.values[axis] for _, point in front_rows(front)]
    return [end for each in shown for end in (each.low, each.mean, each.high) if end is not None]


def _is_logarithmic(front: Front, axis: int) -> bool:
    return is_wide(_reported(front, axis))


def _with_room(reported: Sequence[float], tried: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis, in what it is even in."""
    low, high = min(reported), max(reported)
    span = (high - low) or abs(high) or 1.0
    near = [value for value in tried if low - _ROOM * span <= value <= high + _ROOM * span]
    return min([low, *near]) - _MARGIN * span, max([high, *near]) + _MARGIN * span


def _set_scales_and_limits(axes: Axes, front: Front) -> None:
    horizontal, vertical = _limits(front)
    for index, (axis, set_scale) in enumerate(
        ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale))
    ):
        if _is_logarithmic(front, index):
            set_scale("log")
            plain_numbers(axis)
        else:
            # "0.9998", and not "-0.0002" beside "+1"
            axes.ticklabel_format(axis=("x", "y")[index], useOffset=False)
    axes.set_xlim(*horizontal)
    axes.set_ylim(*vertical)


def _with_intervals(
    axes: Axes, points: Sequence[FrontPoint], colour: str, marker: str, label: str
) -> None:
    halves = [[each.half_width or 0.0 for each in point.values] for point in points]
    axes.errorbar(
        [point.values[0].mean for point in points],
        [point.values[1].mean for point in points],
        xerr=[half[0] for half in halves],
        yerr=[half[1] for half in halves],
        fmt=marker,
        color=colour,
        markersize=6 if marker == "o" else 9,
        elinewidth=1.0,
        capsize=2.0,
        label=label,
        zorder=4,
    )


def _staircase(
    means: Sequence[tuple[float, float]], maximised: Sequence[bool]
) -> tuple[list[float], list[float]]:
    """The border of what is dominated by the front.

    From one point to the next, the worse of the first objective is met with the worse of the
    second, so the corner lies on the side of what both would rather not have.
    """
    # The points begin with the best in the first objective, whichever way that is.
    ordered = sorted(means, reverse=maximised[0])
    horizontal, vertical = [ordered[0][0]], [ordered[0][1]]
    for (_, before), (first, second) in pairwise(ordered):
        horizontal += [first, first]
        vertical += [before, second]
    return horizontal, vertical


def _better(axis: int, maximised: bool) -> str:  # noqa: FBT001 - read next to its call
    directions = (("left", "right"), ("down", "up"))
    return f"better: {directions[axis][maximised]}"
