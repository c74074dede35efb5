"""RED's average and RED Light's filter on the same queue: who follows it?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from vermilion_lab.papers import plots
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import cell, differences, interval
from vermilion_lab.papers.nichols_1998.network import (
    LINK,
    PACKET_BITS,
    RED,
    ROUND_TRIP_S,
    load,
    one_transfer,
)
from vermilion_lab.papers.verdict import Check, Expected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure as Drawing

    from vermilion.scenario import Scenario
    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench

THRESHOLD: Final = 5
"""RED's lower one, in packets."""

PROBE_S: Final = 0.001
_SHOWN_S: Final = 10.0
_ONES: Final = {
    "31 ms, 11 packets": (31, 11),
    "31 ms, 25 packets": (31, 25),
    "100 ms, 12 packets": (100, 12),
}
"""Round trip and buffer of the one transfer."""

_MIXED_RATE: Final = 10.0
_MIXED_TRANSFERS: Final = (5, 25)


def light_filter(samples: Sequence[float], gain: float) -> list[float]:
    """RED Light's filter on a sampled queue.

    It follows the queue down at once, and is an exponential average while the queue is above it.
    """
    value, followed = 0.0, []
    for sample in samples:
        value = sample if sample < value else value + gain * (sample - value)
        followed.append(value)
    return followed


def gain_for(interval_s: float, round_trip_s: float) -> float:
    """The inverse of the samples in a round trip, rounded down to a power of two."""
    return float(2.0 ** -math.floor(math.log2(max(2.0, round_trip_s / interval_s))))


def _talk_gains(round_trip_ms: int) -> dict[str, tuple[int, float]]:
    """Samples (ms) and gain at 1.5 Mbit/s: the talk's, and by its rule for slow links."""
    return {
        "samples of 1 ms, gain 1/16": (1, 1 / 16),
        "samples of 8 ms, gain by the rule": (8, gain_for(0.008, round_trip_ms / 1e3)),
    }


def _tracking_errors(
    scenario: Scenario, bench: Workbench, gains: dict[str, tuple[int, float]]
) -> Numbers:
    """Error of the filter and of the average, for each reading of the filter and each seed.

    Also the first seed's first seconds, thinned for drawing, with the first reading's filter.
    """
    found: Numbers = {
        "late_s": [],
        "idle": [],
        "average": [],
        "filter": {name: [] for name in gains},
    }
    for result in bench.traces(scenario, PROBE_S):
        series = result.series(LINK)
        queue = series["queue_packets"]
        average = series["average_queue_packets"]
        found["late_s"].append(
            _first_crossing(average, series["time_s"]) - _first_crossing(queue, series["time_s"])
        )
        low = queue <= 1
        found["idle"].append(float((average - queue)[low].mean()))
        found["average"].append(float(abs(average - queue).mean()))
        shown: list[float] = []
        for name, (step, gain) in gains.items():
            samples = queue[::step]
            filtered = light_filter(samples.tolist(), gain)
            found["filter"][name].append(float(abs(samples - filtered).mean()))
            shown = shown or filtered
        if "trace" not in found:
            points = slice(0, round(_SHOWN_S / PROBE_S), 5)
            found["trace"] = {
                "time_s": series["time_s"][points].round(6).tolist(),
                "queue": queue[points].tolist(),
                "average": average[points].round(4).tolist(),
                "filter": [round(value, 4) for value in shown[points]],
            }
    return found


def _first_crossing(values: Any, times: Any) -> float:  # noqa: ANN401 - arrays
    """Time when a queue first reaches the lower threshold; the end of the run if never."""
    reached = (values >= THRESHOLD).nonzero()[0]
    return float(times[reached[0]] if len(reached) else times[-1])


def measure_ramp(bench: Workbench) -> Numbers:
    """Measure one transfer from its start, at several round trips and buffers."""
    bench.expect(len(_ONES) * len(bench.seeds))
    return {
        name: _tracking_errors(
            one_transfer(RED, trip, limit).with_values({"duration": "30 s", "warm_up": "0 s"}),
            bench,
            _talk_gains(trip),
        )
        for name, (trip, limit) in _ONES.items()
    }


def measure_mixed(bench: Workbench) -> Numbers:
    """Few and more long transfers among mice."""
    bench.expect(len(_MIXED_TRANSFERS) * len(bench.seeds))
    sample_s = PACKET_BITS / (_MIXED_RATE * 1e6)
    gains = {"samples of 1 ms, gain by the rule": (1, gain_for(sample_s, ROUND_TRIP_S))}
    return {
        f"{transfers} transfers and mice": _tracking_errors(
            load("with mice", _MIXED_RATE, transfers, RED), bench, gains
        )
        for transfers in _MIXED_TRANSFERS
    }


def draw_filters(numbers: Numbers) -> Drawing:
    """A panel for each place: the queue, and what both filters make of it."""
    figure, panels = plots.sheet(
        len(numbers), 1, 0.7 + 2.1 * len(numbers), sharex=True, sharey=True
    )
    for axes, (name, found) in zip(panels[:, 0], numbers.items(), strict=True):
        trace = found["trace"]
        axes.plot(trace["time_s"], trace["queue"], color="#B8BEC6", linewidth=0.7, label="queue")
        plots.trace(axes, trace["time_s"], trace["average"], "average of 1993", 1, 1.8)
        plots.trace(axes, trace["time_s"], trace["filter"], "RED Light’s filter", 0, 1.0)
        axes.axhline(THRESHOLD, color="#767676", linewidth=0.8, linestyle=(0, (2, 2)))
        axes.set_title(name, fontsize=10.5)
        axes.set_ylabel("packets")
        axes.set_xlim(0, _SHOWN_S)
    highest = max(max(found["trace"]["queue"]) for found in numbers.values())
    panels[0][0].set_ylim(0, 1.04 * highest)
    panels[-1][0].set_xlabel("time (s)")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return figure


def filter_tables(numbers: Numbers) -> list[FigureTable]:
    """Tables of the filter's delay, staleness and error."""
    return [
        FigureTable(
            caption="How well the average and the filter follow the queue; packets unless said",
            heads=(
                "",
                "average reaches 5 packets later than the queue (s)",
                "average above a queue of 0 or 1",
                "distance from the queue: average",
                "filter, each reading",
            ),
            rows=tuple(
                (
                    name,
                    cell(found["late_s"]),
                    cell(found["idle"]),
                    cell(found["average"]),
                    "; ".join(
                        f"{reading}: {cell(values)}" for reading, values in found["filter"].items()
                    ),
                )
                for name, found in numbers.items()
            ),
        )
    ]


def average_late(evidence: Evidence) -> list[Check]:
    """Check that the average lags by over ten round trips in the ramp-up."""
    return [
        Check(
            quantity="time from the queue’s first 5 packets to the average’s",
            interval=interval(found["late_s"]),
            expected=Expected(low=10 * _ONES[name][0] / 1e3),
            reading=name,
            unit="s",
        )
        for name, found in evidence["ramp"].items()
    ]


def average_stale(evidence: Evidence) -> list[Check]:
    """High above a queue that has drained."""
    return [
        Check(
            quantity="average less queue while at most one packet waits",
            interval=interval(found["idle"]),
            expected=Expected(low=1.0),
            reading=name,
            unit="packets",
        )
        for figure in ("ramp", "mixed")
        for name, found in evidence[figure].items()
    ]


def filter_closer(evidence: Evidence, figure: str) -> list[Check]:
    """Nearer to the queue than the average."""
    return [
        Check(
            quantity="mean distance from the queue, filter less average",
            interval=interval(differences(values, found["average"])),
            expected=Expected(high=0.0),
            reading=f"{name}; {reading}",
            unit="packets",
        )
        for name, found in evidence[figure].items()
        for reading, values in found["filter"].items()
    ]
