"""The figure of an on-line run: the untouched network's queue above that of the tuned one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.report import drawing
from vermilion.report.events import events_of
from vermilion.scenario.queue_target import mean_packet_bytes
from vermilion.scenario.wire import nominal_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vermilion.online.record.entries import OnlineRun
    from vermilion.report.braille import Panel
    from vermilion.report.phases import Phase
    from vermilion.simulate import Result

_WIDTH_IN = 9.6
_HEIGHT_IN = 6.8

_SHARE_OF_A_LETTER = 0.0105
"""How much of the time axis one letter of a phase's label takes."""

_FEW_EVENTS = 12
"""So many lines through the tuned panel may be drawn boldly."""

# Each kind of event has its own lane, colour and shape below the tuned queue, so that any
# number of them stays legible.
_LANES = (
    ("detected", "change detected", drawing.ORANGE, "v"),
    ("applied", "new setting", drawing.GREEN, "D"),
    ("rolled_back", "rolled back", drawing.VERMILION, "X"),
)


def queue_figure(run: OnlineRun, phases: Sequence[Phase], *, name: str, description: str) -> str:
    """The figure as an SVG element.

    Args:
        run: what to draw.
        phases: the measured stretches, shaded and numbered.
        name: unique in the page.
        description: what a reader who cannot see it is told.
    """
    return drawing.svg(drawn_queues(run, phases), name=name, description=description)


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


def drawn_queues(run: OnlineRun, phases: Sequence[Phase]) -> Figure:
    """Instantaneous and average queue of both networks, on the same axes.

    Args:
        run: what to draw.
        phases: the measured stretches, shaded and numbered.
    """
    from matplotlib.figure import Figure

    with drawing.style():
        figure = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN), layout="constrained")
        standard, tuned, lanes = figure.subplots(
            3, 1, sharex=True, gridspec_kw={"height_ratios": (1.0, 1.0, 0.2)}
        )
        tuned.sharey(standard)
        _draw_queue(standard, run.reference, run, phases)
        _draw_queue(tuned, run.tuned, run, phases)
        discipline = run.scenario.links[run.link].queue.discipline
        standard.set_title(f"Left alone: the setting of {discipline} never changes")
        tuned.set_title("Kept tuned: the same network, its setting kept up to date")
        for phase in phases:
            _number(standard, phase, run)
        _mark_events(tuned, lanes, run)

        top = max(_largest(run.reference, run.link), _largest(run.tuned, run.link))
        standard.set_ylim(0, 1.12 * max(top, 1.25 * (run.target_packets or 0.0), 1.0))
        standard.set_xlim(0, run.scenario.duration)
        for axes in (standard, tuned):
            _add_milliseconds(axes, run)
        lanes.set_xlabel("time (s)")
        handles, labels = standard.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=len(labels))
        handles, labels = lanes.get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside lower right", ncols=len(labels))
    return figure


def _draw_queue(axes: Axes, result: Result, run: OnlineRun, phases: Sequence[Phase]) -> None:
    import numpy as np

    for phase in phases:
        axes.axvspan(phase.start_s, phase.end_s, color=drawing.SHADE, linewidth=0, zorder=0)
    series = result.series(run.link)
    time = series["time_s"]
    axes.plot(
        *drawing.thinned(time, series["queue_packets"]),
        color=drawing.SKY_BLUE,
        linewidth=0.8,
        label="queue",
    )
    average = series["average_queue_packets"]
    if not np.all(np.isnan(average)):
        axes.plot(
            *drawing.thinned(time, average),
            color=drawing.BLUE,
            linewidth=1.6,
            label="its average, as the discipline computes it",
        )
    if run.target_packets is not None:
        each = milliseconds_per_packet(run)
        time_to_send = "" if each is None else f" ({run.target_packets * each:.3g} ms)"
        axes.axhline(
            run.target_packets,
            color=drawing.INK,
            linewidth=1.3,
            linestyle=(0, (5, 3)),
            zorder=3,
            label=f"target: {run.target_packets:g} packets{time_to_send}",
        )
    axes.set_ylabel("queue (packets)")


def milliseconds_per_packet(run: OnlineRun) -> float | None:
    """How long the link under control takes to send one packet that waits.

    At the mean size of the packets; ``None`` where the rate varies, or no data cross the link.
    """
    link = run.scenario.links[run.link]
    varies = link.rate_schedule is not None or link.trace is not None
    if varies or any(
        change.link == run.link and change.rate is not None for change in run.scenario.changes
    ):
        return None
    size = mean_packet_bytes(run.scenario, run.link)
    rate = nominal_rate(run.scenario, run.link)
    return None if size is None or rate <= 0.0 else 8e3 * size / rate


def _add_milliseconds(axes: Axes, run: OnlineRun) -> None:
    """The same scale in the time that the link takes to send what waits, on the right."""
    each = milliseconds_per_packet(run)
    if each is None:
        return
    import numpy as np

    scale = axes.secondary_yaxis(
        "right",
        functions=(
            lambda packets: np.multiply(packets, each),
            lambda times: np.divide(times, each),
        ),
    )
    scale.set_ylabel("waiting (ms)")
    scale.spines["right"].set_visible(True)


def _number(axes: Axes, phase: Phase, run: OnlineRun) -> None:
    """The phase's number above its shade, and its traffic where there is room for it."""
    share = (phase.end_s - phase.start_s) / run.scenario.duration
    words = f"{phase.number}: {phase.traffic}"
    axes.annotate(
        words if share > _SHARE_OF_A_LETTER * len(words) else str(phase.number),
        xy=((phase.start_s + phase.end_s) / 2, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, -4),
        textcoords="offset points",
        ha="center",
        va="top",
        color=drawing.INK,
        fontsize=9.5,
    )


def _mark_events(tuned: Axes, lanes: Axes, run: OnlineRun) -> None:
    """Every event as a line through the queue and a marker in its kind's lane."""
    events = events_of(run)
    rows = 0
    for attribute, words, colour, marker in _LANES:
        times: tuple[float, ...] = getattr(events, attribute)
        if not times:
            continue
        opacity = 0.9 if len(times) <= _FEW_EVENTS else 0.35
        for time in times:
            tuned.axvline(time, color=colour, linewidth=1.0, alpha=opacity, zorder=1)
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
