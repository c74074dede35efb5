"""The figure of the settings on a front: how each parameter changes from one end to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.report import drawing
from vermilion.report.logarithmic_axis import plain_numbers
from vermilion.report.numbers import typeset
from vermilion.report.study_figures import is_wide
from vermilion.report.study_parts import parameter_names
from vermilion.scenario.shown_units import shown_unit, with_shown_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from vermilion.tuning.front import Front

_WIDTH_IN: Final = 9.6
_FEW: Final = 6
"""Parameters that get half a page each."""


def front_parameters_figure(front: Front, *, narrow: bool = False) -> Figure:
    """Each parameter against the first objective, all along the front.

    Args:
        front: with at least one point. What is automatic in the incumbent is not drawn.
        narrow: for a screen that is not as wide as a page.
    """
    from matplotlib.figure import Figure

    columns = 1 if narrow else 2 if len(front.parameters) <= _FEW else 3
    rows = -(-len(front.parameters) // columns)
    unit = typeset(front.units[0])
    names = parameter_names(front.parameters)
    reached = [point.values[0].mean for point in front.points]
    with drawing.style():
        figure = Figure(
            figsize=(drawing.NARROW_IN if narrow else _WIDTH_IN, 0.8 + 2.5 * rows),
            layout="constrained",
        )
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
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside upper right", ncols=1 if narrow else len(labels)
        )
    return figure


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
