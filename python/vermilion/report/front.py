"""Figures and pages of a Pareto front, of a tuning and of a study."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from vermilion.report import drawing
from vermilion.report.drawing import picture, plain_numbers
from vermilion.report.numbers import typeset
from vermilion.report.study_figures import is_wide
from vermilion.report.study_parts import how_to_repeat, parameter_names, queue_figures, study_values
from vermilion.scenario.quantities import shown_unit, with_shown_unit
from vermilion.scenario.toml_text import toml_text
from vermilion.tuning.front import Front

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vermilion.report.drawing import Drawn
    from vermilion.scenario import Scenario
    from vermilion.tuning import StudyRecord
    from vermilion.tuning.front import FrontPoint

_LARGE_FIGURES: Final = 6
"""Parameters that get half a page each."""


def front_parameters_figure(front: Front, *, narrow: bool = False) -> Figure:
    """Each parameter against the first objective, all along the front.

    Args:
        front: with at least one point. What is automatic in the incumbent is not drawn.
        narrow: for a screen that is not as wide as a page.
    """
    columns = 1 if narrow else 2 if len(front.parameters) <= _LARGE_FIGURES else 3
    rows = -(-len(front.parameters) // columns)
    unit = typeset(front.units[0])
    names = parameter_names(front.parameters)
    reached = [point.values[0].mean for point in front.points]
    with drawing.style():
        figure = drawing.sheet(0.8 + 2.5 * rows, narrow=narrow)
        panels = figure.subplots(rows, columns, sharex=True, squeeze=False)
        for index, path in enumerate(front.parameters):
            axes = panels[index // columns][index % columns]
            unit_of = front.parameter_units[index]
            _, factor = shown_unit(unit_of)
            values = [_scaled(point.parameters[path], factor) for point in front.points]
            known = [value for value in values if value is not None]
            axes.grid(visible=True, axis="both")
            axes.plot(
                reached,
                [float("nan") if value is None else value for value in values],
                color=drawing.BLUE,
                marker="o",
                markersize=5.5,
                linewidth=1.0,
                label="front, from one end to the other",
            )
            incumbent = front.incumbent
            now = None if incumbent is None else _scaled(incumbent.parameters.get(path), factor)
            if now is not None:
                known.append(now)
                axes.axhline(
                    now,
                    color=drawing.VERMILION,
                    linewidth=1.6,
                    linestyle=(0, (5, 3)),
                    label="now",
                )
            if is_wide(known):
                axes.set_yscale("log")
                plain_numbers(axes.yaxis)
            if is_wide(reached):
                axes.set_xscale("log")
                plain_numbers(axes.xaxis)
            axes.set_ylabel(with_shown_unit(names[index], unit_of))
        for index in range(len(front.parameters), rows * columns):
            panels[index // columns][index % columns].set_visible(False)
        figure.supxlabel(f"{front.objectives[0]}{f', {unit}' if unit else ''}", fontsize="medium")
        drawing.legend_above(figure, panels[0][0], narrow=narrow)
    return figure


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


_MARGIN: Final = 0.08
"""Margin on each side, as a share of the range of the front and the incumbent."""

_NEAR_PIXELS: Final = 18.0
"""Numbers of settings that lie closer than that would cover each other."""

_ROOM: Final = 0.6
"""The same where tried settings may still be shown."""


def front_figure(front: Front, *, narrow: bool = False) -> Figure:
    """Draw a front, for a page or a narrow screen."""
    with drawing.style():
        figure = drawing.sheet(4.6 if narrow else 5.2, narrow=narrow, wide_in=8.2)
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
            f"{name}{f', {typeset(unit)}' if unit else ''}  ({_direction_label(index, high)})"
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
    """Number the settings of a front; of two that lie together, one above and one below."""
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
    from vermilion.report.templates_of import render_page

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
    return render_page(
        "front.html.j2",
        front=front,
        figure=figure,
        hidden=hidden_settings(front),
        parameters=parameters,
        rows=front_rows(front),
    )


def hidden_settings(front: Front) -> int:
    """Number of evaluated settings outside the figure."""
    (left, right), (bottom, top) = _limits(front)
    return sum(
        not (left <= first <= right and bottom <= second <= top) for first, second in front.tried
    )


def front_rows(front: Front) -> list[tuple[str, FrontPoint]]:
    """The settings of a front and the one in force, as a table names them."""
    rows = [(str(number), point) for number, point in enumerate(front.points, 1)]
    return rows if front.incumbent is None else [*rows, ("now", front.incumbent)]


def _limits(front: Front) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ends of both axes: all reported values, and evaluated ones near them."""
    ends = []
    for axis in (0, 1):
        values = _reported_values(front, axis)
        if not values:  # nothing was simulated in time
            return (0.0, 1.0), (0.0, 1.0)
        if _is_logarithmic(front, axis):
            tried = [math.log10(each[axis]) for each in front.tried if each[axis] > 0.0]
            low, high = _with_room([math.log10(value) for value in values], tried)
            ends.append((10.0**low, 10.0**high))
        else:
            ends.append(_with_room(values, [each[axis] for each in front.tried]))
    return ends[0], ends[1]


def _reported_values(front: Front, axis: int) -> list[float]:
    shown = [point.values[axis] for _, point in front_rows(front)]
    return [end for each in shown for end in (each.low, each.mean, each.high) if end is not None]


def _is_logarithmic(front: Front, axis: int) -> bool:
    return is_wide(_reported_values(front, axis))


def _with_room(reported: Sequence[float], tried: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis with a margin, on its scale."""
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
    """Border of the region dominated by the front.

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


def _direction_label(axis: int, maximised: bool) -> str:  # noqa: FBT001 - read next to its call
    directions = (("left", "right"), ("down", "up"))
    return f"better: {directions[axis][maximised]}"


def front_study(anchor: str, record: StudyRecord, scenario: Scenario) -> dict[str, object]:
    """Template values of one study.

    Args:
        anchor: for links within the page, and for identifiers.
        record: of the study.
        scenario: that it is of.

    Raises:
        KeyError: the file holds what no study holds; also ValueError or TypeError.
    """
    plan = record.plan
    data = record.recommendation
    front = None if data is None else Front.from_data(data).shown()
    figures: dict[str, str] = {}

    def draw(name: str, make: Drawn, description: str) -> None:
        figures[name] = drawing.svg_for_both_widths(
            make, name=f"{anchor}-{name}", description=description
        )

    queues: list[tuple[str, Drawn]] = []
    if front is not None and front.incumbent is not None:
        draw(
            "front",
            partial(front_figure, front),
            f"The front of {plan.objective} of {plan.scenario}.",
        )
        if len(front.points) > 1:
            drawn = partial(front_parameters_figure, front)
            draw("parameters", drawn, "The parameters along the front.")
        if front.points:
            queues = _queues(record, scenario, front)
    for index, (link, figure) in enumerate(queues):
        draw(f"queue-{index}", figure, f"The queue of {link} at the ends of the front.")
    return {
        **study_values(anchor, record, figures, queues),
        "aims": [
            (aim.objective, "maximised" if aim.maximised else "minimised") for aim in plan.aims
        ],
        "front": front,
        "hidden": 0 if front is None else hidden_settings(front),
        "rows": [] if front is None else front_rows(front),
        "seed": plan.seeds.comparison[0],
        "repeat": how_to_repeat(record, [scenario]),
        "texts": [(scenario.origin, toml_text(plan.document))],
    }


def _queues(record: StudyRecord, scenario: Scenario, front: Front) -> list[tuple[str, Drawn]]:
    """The tuned queues at both ends of the front; of a single setting, before and after."""
    seed = record.plan.seeds.comparison[0]
    first, last = front.points[0].parameters, front.points[-1].parameters
    settings = (first, last) if len(front.points) > 1 else ({}, last)
    names = (
        (
            f"with setting 1: the best in {front.objectives[0]}",
            f"with setting {len(front.points)}: the best in {front.objectives[1]}",
        )
        if len(front.points) > 1
        else ("now", "with setting 1")
    )
    return queue_figures(record, scenario, seed, settings, names)
