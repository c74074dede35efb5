"""How one parameter of a queue moved while the network was kept tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.report import drawing
from vermilion.report.logarithmic_axis import plain_numbers
from vermilion.report.numbers import significant
from vermilion.scenario.how_many import how_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.scenario import Parameter

_WIDTH_IN = 4.7
_HEIGHT_IN = 2.2
_MARGIN = 1.8  # a factor beyond the extremes of a logarithmic axis


def parameter_figure(
    parameter: Parameter,
    steps: Sequence[tuple[float, float]],
    end_s: float,
    *,
    name: str,
) -> str:
    """One parameter over time, beside the value it had at first, as an SVG element.

    Args:
        parameter: its row in the discipline's table: unit and scale.
        steps: (from when, which value), in order of time; the first is the standard value.
        end_s: where the time axis ends.
        name: unique in the page.
    """
    from matplotlib.figure import Figure

    times = [time for time, _ in steps] + [end_s]
    values = [value for _, value in steps] + [steps[-1][1]]
    title = parameter.name.replace("_", " ")
    with drawing.style():
        figure = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN), layout="constrained")
        axes = figure.subplots()
        axes.axhline(values[0], color=drawing.GREY, linewidth=1.2, linestyle=(0, (5, 3)))
        axes.step(times, values, where="post", color=drawing.GREEN, linewidth=2.0)
        axes.plot(times[1:-1], values[1:-1], "D", color=drawing.GREEN, markersize=4.5)
        if parameter.scale == "log" and min(values) > 0:
            axes.set_yscale("log")
            axes.set_ylim(min(values) / _MARGIN, max(values) * _MARGIN)
            plain_numbers(axes.yaxis)
        elif parameter.kind == "switch":
            axes.set_yticks([0, 1], ["off", "on"])
            axes.set_ylim(-0.15, 1.15)
        else:
            axes.set_ylim(0, 1.15 * max(values) or 1.0)
        axes.set_xlim(0, end_s)
        axes.set_title(title)
        axes.set_ylabel("" if parameter.unit == "1" else parameter.unit)
        axes.set_xlabel("time (s)")
    shown = _on_or_off if parameter.kind == "switch" else significant
    description = (
        f"{title} over time: {shown(values[0])} at first, "
        f"{shown(values[-1])} at the end, {how_many(len(steps) - 1, 'change')}."
    )
    return drawing.svg(figure, name=name, description=description)


def _on_or_off(value: float) -> str:
    return "on" if value else "off"
