"""Figures of an on-line run: the queues, and the parameters beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from vermilion.report import drawing
from vermilion.report.drawing import (
    add_packets,
    by_stretches,
    draw_band,
    milliseconds_per_packet,
    plain_numbers,
    target_label,
)
from vermilion.report.numbers import significant
from vermilion.report.phases import events_of
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vermilion.online.entries import OnlineRun
    from vermilion.report.braille import Panel
    from vermilion.report.phases import Phase
    from vermilion.scenario import Parameter
    from vermilion.simulate import Result

_SMALL_WIDTH_IN = 4.7
_SMALL_HEIGHT_IN = 2.2
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
    times = [time for time, _ in steps] + [end_s]
    values = [value for _, value in steps] + [steps[-1][1]]
    title = parameter.name.replace("_", " ")
    with drawing.style():
        figure = drawing.sheet(_SMALL_HEIGHT_IN, wide_in=_SMALL_WIDTH_IN)
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
    shown = _format_switch if parameter.kind == "switch" else significant
    description = (
        f"{title} over time: {shown(values[0])} at first, "
        f"{shown(values[-1])} at the end, {how_many(len(steps) - 1, 'change')}."
    )
    return drawing.svg(figure, name=name, description=description)


def _format_switch(value: float) -> str:
    return "on" if value else "off"


_HEIGHT_IN = 6.8

_LETTER_IN: Final = 0.085
"""Width of one letter of a phase's label, inches."""

# Each kind of event has its own lane, colour and shape below the tuned queue, so that any
# number of them stays legible.
_LANES = (
    ("detected", "change detected", drawing.ORANGE, "v"),
    ("applied", "new setting", drawing.GREEN, "D"),
    ("rolled_back", "rolled back", drawing.VERMILION, "X"),
)


def queue_panels(run: OnlineRun) -> list[Panel]:
    """The queues of both networks, for a terminal."""
    from vermilion.report.braille import Panel

    panels = []
    for title, result in (("Left alone", run.reference), ("Kept tuned", run.tuned)):
        series = result.series(run.link)
        panels.append(
            Panel(
                f"{title}: queue (packets)",
                series["time_s"],
                series["queue_packets"],
                target=run.target_packets,
            )
        )
    top = max(panel.highest() for panel in panels)
    return [replace(panel, top=top) for panel in panels]


def drawn_queues(run: OnlineRun, phases: Sequence[Phase], *, narrow: bool = False) -> Figure:
    """Queue and average of both networks, on the same axes.

    Args:
        run: what to draw.
        phases: the measured stretches, shaded and numbered.
        narrow: whether it is for a narrow page.
    """
    with drawing.style():
        figure = drawing.sheet(_HEIGHT_IN, narrow=narrow)
        standard, tuned, lanes = figure.subplots(
            3, 1, sharex=True, gridspec_kw={"height_ratios": (1.0, 1.0, 0.2)}
        )
        tuned.sharey(standard)
        _draw_queue(standard, run.reference, run, phases)
        _draw_queue(tuned, run.tuned, run, phases)
        discipline = run.scenario.links[run.link].queue.discipline
        if narrow:
            standard.set_title(f"Left alone ({discipline})")
            tuned.set_title("Kept tuned")
        else:
            standard.set_title(f"Left alone: the setting of {discipline} never changes")
            tuned.set_title("Kept tuned: the same network, its setting kept up to date")
        for phase in phases:
            _number(standard, phase, run, figure.get_figwidth())
        _mark_events(lanes, run)

        each_ms = milliseconds_per_packet(run.scenario, run.link)
        top = max(_largest(run.reference, run.link), _largest(run.tuned, run.link))
        top = max(top, 1.25 * (run.target_packets or 0.0), 1.0)
        standard.set_ylim(0, 1.12 * (each_ms or 1.0) * top)
        standard.set_xlim(0, run.scenario.duration)
        for axes in (standard, tuned):
            add_packets(axes, each_ms)
        lanes.set_xlabel("time (s)")
        drawing.legend_above(figure, standard, narrow=narrow)
        handles, labels = lanes.get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside lower right", ncols=len(labels))
    return figure


def _draw_queue(axes: Axes, result: Result, run: OnlineRun, phases: Sequence[Phase]) -> None:
    import numpy as np

    for phase in phases:
        axes.axvspan(phase.start_s, phase.end_s, color=drawing.SHADE, linewidth=0, zorder=0)
    series = result.series(run.link)
    each_ms = milliseconds_per_packet(run.scenario, run.link)
    draw_band(axes, series["time_s"], series["queue_packets"], each_ms)
    average = series["average_queue_packets"]
    if not np.all(np.isnan(average)):
        time, _, middle, _ = by_stretches(series["time_s"], average * (each_ms or 1.0))
        axes.plot(
            time,
            middle,
            color=drawing.BLUE,
            linewidth=1.1,
            label="its average, as the discipline computes it",
        )
    if run.target_packets is not None:
        level = (each_ms or 1.0) * run.target_packets
        drawing.draw_target(axes, level, target_label(run.target_packets, each_ms))


def _number(axes: Axes, phase: Phase, run: OnlineRun, width_in: float) -> None:
    """The phase's number above its shade, and its traffic where there is room for it."""
    share = (phase.end_s - phase.start_s) / run.scenario.duration
    words = f"{phase.number}: {phase.traffic}"
    axes.annotate(
        words if share * width_in > _LETTER_IN * len(words) + 0.1 else str(phase.number),
        xy=((phase.start_s + phase.end_s) / 2, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, -4),
        textcoords="offset points",
        ha="center",
        va="top",
        color=drawing.INK,
        fontsize=9.5,
    )


def _mark_events(lanes: Axes, run: OnlineRun) -> None:
    """Every event as a marker in its kind's lane, where it hides no data."""
    events = events_of(run)
    rows = 0
    for attribute, words, colour, marker in _LANES:
        times: tuple[float, ...] = getattr(events, attribute)
        if not times:
            continue
        height = [-rows] * len(times)
        lanes.plot(times, height, marker, color=colour, markersize=7, clip_on=False, label=words)
        rows += 1
    lanes.set_ylim(0.4 - max(rows, 1), 0.6)
    lanes.set_yticks([-row for row in range(rows)], [""] * rows)
    lanes.tick_params(axis="y", length=0)
    lanes.spines["left"].set_visible(False)


def _largest(result: Result, link: str) -> float:
    import numpy as np

    return float(np.nanmax(result.series(link)["queue_packets"]))
