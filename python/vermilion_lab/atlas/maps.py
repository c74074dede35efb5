"""The pictures of an atlas: maps of the best settings, and how far each rule is from them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

from vermilion.report import drawing
from vermilion.report.numbers import significant
from vermilion.scenario import RATE, format_quantity
from vermilion.scenario.quantities import shown_unit, with_shown_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from vermilion_lab.atlas.build import Atlas

_COLOURS: Final = (
    "Blues"  # one hue that rises in lightness alone, for every kind of colour blindness
)
_DARK: Final = 0.6  # the share of a scale from which on letters are white
_LETTERS_PER_IN: Final = 9.0
_SHORT_AXIS: Final = 4.0  # times; one that spans less has steps like a linear one
_SMALL: Final = 1e-3
_LONGEST_GOAL: Final = 80
"""Characters; an objective of one's own may be a whole statement."""


def maps_figure(atlas: Atlas) -> Figure:
    """The best value of each parameter: a row of maps for each, with one scale.

    A map is of one rate, with ECN on or off: round trips across, numbers of flows up. A star stands
    where the setting is the discipline's default, because nothing better was proven. Above stands
    what was asked for.
    """
    import numpy as np
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.figure import Figure

    plan = atlas.plan
    columns = [(ecn, rate) for ecn in plan.ecn for rate in plan.rates]
    table = _table(atlas)
    width = 1.4 + len(columns) * (0.55 + 0.62 * len(plan.round_trips))
    height = 1.1 + len(atlas.parameters) * (0.75 + 0.42 * len(plan.flows))
    with drawing.style():
        figure = Figure(figsize=(max(width, 6.0), height), layout="constrained")
        axes = figure.subplots(
            len(atlas.parameters), len(columns), squeeze=False, sharex=True, sharey=True
        )
        for row, name in enumerate(atlas.parameters):
            unit = table[name].unit
            _, factor = shown_unit(unit)
            known = [
                factor * cell.setting[name]
                for cell in atlas.cells
                if cell.setting.get(name) is not None
            ]
            low, high = min(known, default=1.0), max(known, default=1.0)
            log = low > 0.0 and (table[name].scale == "log" or high > 10.0 * low)
            if high <= low:
                high = 1.01 * low + (low == 0.0)
            norm = LogNorm(low, high) if log else Normalize(low, high)
            image: Any = None
            for column, (ecn, rate) in enumerate(columns):
                values = np.full((len(plan.flows), len(plan.round_trips)), np.nan)
                here = axes[row, column]
                for cell in atlas.cells:
                    own = cell.condition
                    value = cell.setting.get(name)
                    if (own.ecn, own.rate_bit_per_s) != (ecn, rate) or value is None:
                        continue
                    y, x = plan.flows.index(own.flows), plan.round_trips.index(own.round_trip_s)
                    value *= factor
                    values[y, x] = value
                    here.text(
                        x,
                        y,
                        f"{_two_digits(value)}{'' if cell.accepted else '*'}",
                        ha="center",
                        va="center",
                        fontsize=8.5,
                        color="white" if norm(value) > _DARK else drawing.INK,
                    )
                image = here.imshow(values, norm=norm, cmap=_COLOURS, origin="lower", aspect="auto")
                _label(here, atlas, row, column, ecn=ecn, rate=rate)
            label = with_shown_unit(name.replace("_", " "), unit)
            bar = figure.colorbar(image, ax=axes[row, :].tolist(), pad=0.01, aspect=12)
            bar.set_label(label.replace(" (", "\n("), fontsize=9.5)
            _format_ticks(bar.ax.yaxis, log=log and high > _SHORT_AXIS * low)
        title = (
            f"The best settings of {plan.discipline.partition(':')[0]} for: {_goal_title(atlas)}"
        )
        figure.suptitle(
            textwrap.fill(title, round(_LETTERS_PER_IN * figure.get_figwidth())),
            fontsize=12,
            fontweight="bold",
            x=0.01,
            ha="left",
        )
        figure.supxlabel("base round trip (ms)", fontsize=10.5)
        figure.supylabel("flows", fontsize=10.5)
    return figure


def rules_figure(atlas: Atlas) -> Figure:
    """Draw how many times worse than the tuned setting each rule is, a point for each cell.

    Hollow points do not keep the constraints beyond doubt. A bar stands at each rule's median.
    """
    from statistics import median

    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    names = atlas.compared()
    looks = {False: (drawing.BLUE, "o", 0.14), True: (drawing.VERMILION, "s", -0.14)}
    with drawing.style():
        figure = Figure(figsize=(8.6, 1.3 + 0.5 * len(names)), layout="constrained")
        axes = figure.subplots()
        for place, name in enumerate(reversed(names)):
            ratios = []
            for cell in atlas.cells:
                judged = cell.judged.get(name)
                if judged is None or judged.times_worse is None or judged.times_worse <= 0.0:
                    continue
                colour, marker, shift = looks[cell.condition.ecn]
                ratios.append(judged.times_worse)
                axes.plot(
                    judged.times_worse,
                    place + (shift if len(atlas.plan.ecn) > 1 else 0.0),
                    marker,
                    markersize=6,
                    color=colour,
                    markerfacecolor=colour if judged.constraints == "met" else "white",
                    alpha=0.75,
                )
            if ratios:
                axes.plot(
                    [median(ratios)] * 2, [place - 0.34, place + 0.34], color=drawing.INK, lw=2
                )
        axes.axvline(1.0, color=drawing.GREY, linestyle=(0, (4, 3)), linewidth=1.2)
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        _format_ticks(axes.xaxis, log=high > _SHORT_AXIS * low)
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        axes.set_yticks(range(len(names)), list(reversed(names)))
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.set_xlabel(
            f"times worse than the tuned setting (1: as good)\nwanted: {_goal_title(atlas)}"
        )
        handles: list[Any] = [
            Line2D([], [], linestyle="", marker=looks[ecn][1], color=looks[ecn][0], label=label)
            for ecn, label in ((False, "without ECN"), (True, "with ECN"))
            if ecn in atlas.plan.ecn
        ]
        handles += [
            Line2D([], [], linestyle="", marker="o", color=drawing.GREY, markerfacecolor="white",
                   label="constraint not surely kept"),
            Line2D([], [], color=drawing.INK, lw=2, label="median"),
        ]  # fmt: skip
        figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def _format_ticks(axis: Axis, *, log: bool) -> None:
    """A few numbers beside an axis, written out: 0.02 and not a power of ten.

    Args:
        axis: which.
        log: whether it is a logarithmic one that is long enough for such steps.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)) if log else MaxNLocator(5))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    # Else matplotlib labels the small ticks of a short axis too, over one another.
    axis.set_minor_formatter(NullFormatter())


def _label(axes: Axes, atlas: Atlas, row: int, column: int, *, ecn: bool, rate: float) -> None:
    """Ticks and titles; a map's neighbours share them."""
    plan = atlas.plan
    axes.grid(visible=False)
    axes.set_xticks(
        range(len(plan.round_trips)), [significant(1e3 * trip) for trip in plan.round_trips]
    )
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_yticks(range(len(plan.flows)), [str(count) for count in plan.flows])
    if row == 0:
        mark = "" if len(plan.ecn) == 1 and not ecn else f"\nECN {'on' if ecn else 'off'}"
        axes.set_title(f"{format_quantity(rate, RATE)}{mark}", fontsize=10.5)
    del column


def _goal_title(atlas: Atlas) -> str:
    """Short description of the goal, for a line above or below a figure."""
    goal = atlas.plan.goal
    return goal if len(goal) <= _LONGEST_GOAL else f"{goal[:_LONGEST_GOAL]}..."


def _table(atlas: Atlas) -> Any:  # noqa: ANN401 - parameters by name
    from vermilion.scenario import disciplines

    return disciplines()[atlas.plan.discipline.partition(":")[0]].parameters


def _two_digits(value: float) -> str:
    """Format with two digits; with a power of ten below a thousandth."""
    text = significant(float(f"{value:.2g}"))
    if not 0.0 < abs(value) < _SMALL:
        return text
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
