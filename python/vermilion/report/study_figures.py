"""Figures of a study: search, important parameters, queue before and after."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Final

from vermilion.report import drawing
from vermilion.report.drawing import add_packets, draw_band, plain_numbers, target_label
from vermilion.report.numbers import typeset, with_interval
from vermilion.simulate.statistics import mean_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vermilion.objectives.queue_deviation import QueueTargetObjective
    from vermilion.report.study_outcome import Share
    from vermilion.simulate import Result
    from vermilion.simulate.statistics import Interval
    from vermilion.tuning import StudyRecord
    from vermilion.tuning.memory import Used

_SCALE_FACTOR: Final = 3.0
"""Times: a scale that would become longer than that for one setting more leaves it out."""

_RACE_MARGIN: Final = 0.06
_WIDE: Final = 20.0
"""The largest value per smallest from which on an axis is logarithmic."""

_TITLE: Final = 42
"""Letters of a title that a narrow figure has room for in a line."""

MOST_POINTS: Final = 1500
"""Settings that a figure shows; more would make the page slow and no clearer."""


def shown_settings(record: StudyRecord) -> list[Used]:
    """The settings that figures show: all with a value, or as many as they can."""
    known = [each for each in record.evaluations if math.isfinite(each.objective)]
    step = -(-len(known) // MOST_POINTS) or 1
    best = record.best
    return [each for index, each in enumerate(known) if index % step == 0 or each is best]


def convergence_figure(
    record: StudyRecord, incumbent: float | None, *, narrow: bool = False
) -> Figure:
    """The best so far against the settings tried, and against the simulations of all stages.

    Args:
        record: with at least one setting that has a value.
        incumbent: its value as the search measured it, in the objective's own direction.
        narrow: for a screen that is not as wide as a page: one panel below the other.
    """
    with drawing.style():
        figure = drawing.sheet(7.2 if narrow else 4.2, narrow=narrow)
        settings, simulations = figure.subplots(*((2, 1) if narrow else (1, 2)), sharey=True)
        _scatter(settings, record, lambda each: each.number)
        steps = _best_so_far(record)
        last = record.evaluations[-1]
        for axes, places, end in (
            (settings, [each.number for each in steps], last.number),
            (simulations, [each.simulations for each in steps], last.simulations),
        ):
            if incumbent is not None:
                axes.axhline(
                    incumbent,
                    color=drawing.VERMILION,
                    linewidth=1.3,
                    linestyle=(0, (5, 3)),
                    label="the incumbent, as the search measured it",
                )
            if steps:
                values = [record.shown(each.objective) for each in steps]
                axes.step(
                    [*places, end],
                    [*values, values[-1]],
                    where="post",
                    color=drawing.BLUE,
                    linewidth=2.0,
                    label="best so far",
                )
        _later_stages(simulations, record)
        settings.set_xlim(left=0)
        simulations.set_xlim(left=0)
        settings.set_xlabel("settings tried")
        simulations.set_xlabel("simulations")
        for axes in (settings, simulations) if narrow else (settings,):
            axes.set_ylabel(_objective(record))
        _choose_scale(settings, [record.shown(each.objective) for each in shown_settings(record)])
        _legend_below(figure, settings, simulations, columns=1 if narrow else 3)
    return figure


def race_figure(
    record: StudyRecord, raced: Sequence[tuple[str, Interval]], *, narrow: bool = False
) -> Figure:
    """The settings that raced, each with its mean over the seeds that it met.

    The scale is that of the settings which are near the best one. What is far away, as the setting
    in force often is, stands as an arrow at the edge with its value: it would leave the others no
    room to differ.

    Args:
        record: the study.
        raced: label and mean of each, the best first.
        narrow: for a screen that is not as wide as a page.
    """
    near, low, high = _near_the_best([interval for _, interval in raced])
    with drawing.style():
        figure = drawing.sheet(0.9 + 0.34 * len(raced), narrow=narrow)
        axes = figure.subplots()
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        for row, (_, interval) in enumerate(raced):
            if not near[row]:
                _arrow_out(axes, -row, interval, to_the_right=interval.mean > high)
                continue
            axes.errorbar(
                interval.mean,
                -row,
                xerr=interval.half_width or 0.0,
                fmt="o",
                color=drawing.BLUE if row == 0 else drawing.GREY,
                markersize=6,
                capsize=2.5,
            )
        axes.set_xlim(low, high)
        axes.set_yticks([-row for row in range(len(raced))], [label for label, _ in raced])
        axes.set_ylim(0.6 - len(raced), 0.6)
        axes.set_xlabel(_objective(record))
    return figure


def _near_the_best(intervals: Sequence[Interval]) -> tuple[list[bool], float, float]:
    """Select those near enough to the first to be drawn to scale, and the ends of that scale.

    From the best on, a further setting is left out if the scale would be more than three times as
    long with it. The best two are always shown.
    """
    ends = [
        (each.mean - (each.half_width or 0.0), each.mean + (each.half_width or 0.0))
        for each in intervals
    ]
    low, high = ends[0]
    near = [True] * len(ends)
    for row, (left, right) in enumerate(ends[1:], start=1):
        wider_low, wider_high = min(low, left), max(high, right)
        if row > 1 and wider_high - wider_low > _SCALE_FACTOR * (high - low) > 0.0:
            near[row] = False
            continue
        low, high = wider_low, wider_high
    room = _RACE_MARGIN * ((high - low) or abs(high) or 1.0)
    return near, low - room, high + room


def _arrow_out(axes: Axes, row: float, interval: Interval, *, to_the_right: bool) -> None:
    """An arrow at the edge towards a value that lies beyond it, and the value."""
    edge, inwards = (1.0, -1) if to_the_right else (0.0, 1)
    axes.annotate(
        with_interval(interval),
        xy=(edge, row),
        xycoords=("axes fraction", "data"),
        xytext=(34 * inwards, 0),
        textcoords="offset points",
        ha="right" if to_the_right else "left",
        va="center",
        color=drawing.VERMILION,
        arrowprops={"arrowstyle": "->", "color": drawing.VERMILION},
    )


def importance_figure(
    names: Sequence[str], found: Sequence[Share], *, narrow: bool = False
) -> Figure:
    """The share of each parameter with its interval, the largest first.

    Args:
        names: of the parameters.
        found: the share of each.
        narrow: for a screen that is not as wide as a page.
    """
    order = sorted(range(len(names)), key=lambda index: -found[index].share)
    with drawing.style():
        figure = drawing.sheet(0.9 + 0.36 * len(names), narrow=narrow)
        axes = figure.subplots()
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        for row, index in enumerate(order):
            each = found[index]
            axes.barh(-row, 100 * each.share, height=0.6, color=drawing.SKY_BLUE)
            axes.plot([100 * each.low, 100 * each.high], [-row, -row], color=drawing.INK)
        axes.set_yticks([-row for row in range(len(order))], [names[index] for index in order])
        axes.set_xlim(0, 100)
        axes.set_ylim(0.5 - len(order), 0.5)
        axes.set_xlabel("share of the ranks' variance that the parameter alone explains (%)")
    return figure


def slices_figure(
    record: StudyRecord,
    names: Sequence[str],
    incumbent: Mapping[str, float | None],
    *,
    narrow: bool = False,
) -> Figure:
    """The objective against each parameter.

    Args:
        record: the study.
        names: of the parameters, as axes have them.
        incumbent: the setting in force, by path.
        narrow: for a screen that is not as wide as a page: one panel below the other.
    """
    columns = 2 if len(names) <= 6 else 3  # noqa: PLR2004 - half a page
    if narrow:
        columns = 1
    rows = -(-len(names) // columns)
    found = {} if record.recommendation is None else record.recommendation["parameters"]
    with drawing.style():
        figure = drawing.sheet(0.6 + 2.7 * rows, narrow=narrow)
        panels = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for index, (path, name) in enumerate(zip(record.plan.parameters, names, strict=True)):
            axes = panels[index // columns][index % columns]
            _scatter(axes, record, _value_of(path))
            for setting, colour, label in (
                (incumbent, drawing.VERMILION, "incumbent"),
                (found, drawing.GREEN, "best found"),
            ):
                if setting.get(path) is not None:
                    line = (0, (5, 3)) if setting is incumbent else "solid"
                    axes.axvline(
                        setting[path], color=colour, linewidth=1.6, linestyle=line, label=label
                    )
            dimension = record.plan.space[index]
            if dimension["log"]:
                axes.set_xscale("log")
                plain_numbers(axes.xaxis)
            axes.set_xlabel(name)
        for index in range(len(names), rows * columns):
            panels[index // columns][index % columns].set_visible(False)
        values = [record.shown(each.objective) for each in shown_settings(record)]
        _choose_scale(panels[0][0], values)
        figure.supylabel(_objective(record), fontsize="medium")
        _legend_below(figure, panels[0][0], columns=1 if narrow else 3)
    return figure


def before_after_figure(
    link: str,
    before: Result,
    after: Result,
    titles: tuple[str, str],
    target: QueueTargetObjective | None,
    each_ms: float | None,
    *,
    narrow: bool = False,
) -> Figure:
    """A link's queue under both settings, on the same seed and the same axes.

    Args:
        link: whose queue.
        before: a run with the incumbent that has series.
        after: the same with the best setting found.
        titles: of the two panels.
        target: what is to hold the queue at a length; ``None`` where nothing is.
        each_ms: how long the link takes to send a packet that waits, if that is known.
        narrow: for a screen that is not as wide as a page.
    """
    import numpy as np

    with drawing.style():
        figure = drawing.sheet(5.6, narrow=narrow)
        panels = figure.subplots(2, 1, sharex=True, sharey=True)
        top = 1.0
        for axes, result, title in zip(panels, (before, after), titles, strict=True):
            for phase in result.link(link).phases:
                axes.axvspan(
                    phase["start_s"], phase["end_s"], color=drawing.SHADE, linewidth=0, zorder=0
                )
            series = result.series(link)
            draw_band(axes, series["time_s"], series["queue_packets"], each_ms)
            if target is not None:
                level = (each_ms or 1.0) * target.target
                drawing.draw_target(axes, level, _target_label(target, each_ms))
            axes.set_title("\n".join(textwrap.wrap(title, _TITLE)) if narrow else title)
            top = max(top, float(np.nanmax(series["queue_packets"])))
        panels[0].set_ylim(0, 1.08 * (each_ms or 1.0) * top)
        panels[0].set_xlim(0, float(series["time_s"][-1]))
        for axes in panels:
            add_packets(axes, each_ms)
        panels[1].set_xlabel("time (s)")
        drawing.legend_above(figure, panels[0], narrow=narrow)
    return figure


def _target_label(target: QueueTargetObjective, each_ms: float | None) -> str:
    """Label of the line at the target: as given, if that is a time."""
    if target.target_delay_s is None:
        return target_label(target.target, each_ms)
    return f"target: {target.target_text}"


def _value_of(path: str) -> Callable[[Used], float | None]:
    return lambda each: each.setting[path]


def _best_so_far(record: StudyRecord) -> list[Used]:
    """Each setting that was better than all before it and kept the constraints."""
    steps: list[Used] = []
    for each in record.evaluations:
        if each.told < (steps[-1].told if steps else 1.0) and math.isfinite(each.objective):
            steps.append(each)
    return steps


def _scatter(axes: Axes, record: StudyRecord, at: Callable[[Used], float | None]) -> None:
    settings = shown_settings(record)
    for feasible, marker, colour, label in (
        (False, "x", drawing.INK, "breaks a constraint"),
        (True, "o", drawing.SKY_BLUE, "keeps the constraints"),
    ):
        some = [
            (place, record.shown(each.objective))
            for each in settings
            if (each.told < 1.0) == feasible and (place := at(each)) is not None
        ]
        if some:
            axes.scatter(
                [place for place, _ in some],
                [value for _, value in some],
                s=14 if feasible else 20,
                marker=marker,
                color=colour,
                alpha=0.75,
                linewidths=0.0 if feasible else 1.1,
                label=label,
            )


def _later_stages(axes: Axes, record: StudyRecord) -> None:
    """The race and the comparison after the search, the latter with what it found."""
    outcome = record.recommendation
    if outcome is None or record.state == "unfinished":
        return
    start, end = record.evaluations[-1].simulations, outcome["simulations"]
    found = outcome.get("objective", {})
    best, incumbent = (found.get(key) for key in ("best", "incumbent"))
    if best is None or incumbent is None:
        return
    scenarios = len(record.plan.scenarios)
    comparison = end - scenarios * (best["count"] + incumbent["count"])
    axes.axvspan(start, comparison, color=drawing.SHADE, linewidth=0, zorder=0, label="race")
    for each, colour, marker, label in (
        (best, drawing.GREEN, "D", "the best found, on fresh seeds"),
        (incumbent, drawing.VERMILION, "X", "the incumbent, on fresh seeds"),
    ):
        half = 0.0 if each.get("high") is None else each["high"] - each["mean"]
        axes.errorbar(
            (comparison + end) / 2.0,
            each["mean"],
            yerr=half,
            fmt=marker,
            color=colour,
            markersize=7,
            capsize=3,
            zorder=4,
            label=label,
        )


def _objective(record: StudyRecord) -> str:
    plan = record.plan
    unit = typeset(plan.unit).replace("the metric's", "")
    return f"{plan.objective} ({unit})" if unit else plan.objective


def is_wide(values: Sequence[float]) -> bool:
    """Return whether an axis with these values should be logarithmic."""
    return bool(values) and min(values) > 0 and max(values) > _WIDE * min(values)


def _choose_scale(axes: Axes, values: Sequence[float]) -> None:
    if is_wide(values):
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)


def _legend_below(figure: Figure, *panels: Axes, columns: int) -> None:
    known: dict[str, Artist] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            known.setdefault(label, handle)
    figure.legend(list(known.values()), list(known), loc="outside lower center", ncols=columns)


def interval_of(values: Sequence[float]) -> Interval | None:
    """The mean of these values with its interval; ``None`` if there is none, or one is infinite."""
    if not values or not all(map(math.isfinite, values)):
        return None
    return mean_interval(values)
