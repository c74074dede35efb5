"""The load alternates: what static settings do, and the gateway that configures itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario import load_scenario
from vermilion_lab.papers import plots
from vermilion_lab.papers.feng_1999.static import LINK, QUEUE, ROUND_TRIPS
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import cell, interval, of_phases
from vermilion_lab.papers.verdict import Check, Expected

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench

SCENARIO = "papers/feng-1999-alternating"
GROUPS = ("steady", "first-wave", "second-wave")
PHASES = ("8", "32", "8", "32", "8")
MIN_THRESHOLD, MAX_THRESHOLD = 20.0, 80.0
_SAME = 1e-3  # relative: what one max_p may seem to differ by when it is worked out

STATIC: Final[dict[str, object]] = {"discipline": "ns2-red", "gentle": False}
GATEWAYS: Final[dict[str, dict[str, object]]] = {
    "aggressive": STATIC | {"max_probability": 0.25},
    "conservative": STATIC | {"max_probability": 0.016},
    "self-configuring": {"max_probability": 0.1},
    "self-configuring from 0.02": {"max_probability": 0.02},
}
DRAWN = ("aggressive", "conservative", "self-configuring")
DRAWN_TRIPS = ("32 ms", "14 to 212 ms")


def _scenario(trip: str, gateway: str) -> Scenario:
    values: dict[str, object] = {f"flows.{group}.rtt": ROUND_TRIPS[trip] for group in GROUPS}
    values |= {f"{QUEUE}.{name}": value for name, value in GATEWAYS[gateway].items()}
    return load_scenario(SCENARIO).with_values(values)


def measure_alternating(bench: Workbench) -> Numbers:
    """Measure each gateway over each reading of the path, phase by phase."""
    scenarios = {
        f"{trip}/{gateway}": _scenario(trip, gateway)
        for trip in ROUND_TRIPS
        for gateway in GATEWAYS
    }
    bench.expect(
        (len(scenarios) + len(ROUND_TRIPS)) * len(bench.seeds) + len(DRAWN) * len(DRAWN_TRIPS)
    )
    results = bench.run_many(scenarios)
    return {
        "max_p": {
            trip: _final_max_p(bench, _scenario(trip, "self-configuring")) for trip in ROUND_TRIPS
        },
        "readings": {
            name: {
                "loss": of_phases(found, LINK, "drop_rate"),
                "utilization": of_phases(found, LINK, "utilization"),
                "queue": of_phases(found, LINK, "queue_packets.mean"),
            }
            for name, found in results.items()
        },
        "traces": {
            f"{trip}/{gateway}": _trace(bench.first_trace(_scenario(trip, gateway), 0.02))
            for trip in DRAWN_TRIPS
            for gateway in DRAWN
        },
    }


def _final_max_p(bench: Workbench, scenario: Scenario) -> dict[str, list[float]]:
    """max_p at the ends of the stretches with 8 and with 32 sources: geometric means by seed."""
    ends: dict[str, list[float]] = {"8": [], "32": []}
    for result in bench.traces(scenario, 0.02):
        seen = _max_p(result)
        at_end = {
            end_s: [value for time_s, value in seen if time_s <= end_s][-1]
            for end_s in (40.0, 60.0, 80.0, 100.0)
        }
        ends["32"].append(math.sqrt(at_end[40.0] * at_end[80.0]))
        ends["8"].append(math.sqrt(at_end[60.0] * at_end[100.0]))
    return ends


def _max_p(result: Result) -> list[tuple[float, float]]:
    """Times at which max_p changed, and its new values.

    The probability in force at an average between the thresholds tells max_p; outside them, and
    while ns-2's RED spares a nearly empty queue, the last value is kept.
    """
    series = result.series(LINK)
    seen: list[tuple[float, float]] = []
    for time_s, mean, chance in zip(
        series["time_s"].tolist(),
        series["average_queue_packets"].tolist(),
        series["drop_probability"].tolist(),
        strict=True,
    ):
        if MIN_THRESHOLD + 1 < mean < MAX_THRESHOLD and chance > 0:
            most = chance * (MAX_THRESHOLD - MIN_THRESHOLD) / (mean - MIN_THRESHOLD)
            if not seen or abs(most / seen[-1][1] - 1) > _SAME:
                seen.append((round(time_s, 3), most))
    return seen


def _trace(result: Result) -> dict[str, Any]:
    """Queue and max_p over time."""
    series = result.series(LINK)
    every = slice(None, None, 3)
    return {
        "time_s": series["time_s"][every].round(6).tolist(),
        "queue": series["queue_packets"][every].tolist(),
        "max_p": _max_p(result),
    }


def draw_alternating(numbers: Numbers) -> Drawing:
    """The queue under each gateway, and below them max_p; a column for each of two paths."""
    figure, panels = plots.sheet(4, 2, 9.2, sharex=True, sharey="row")
    for column, trip in enumerate(DRAWN_TRIPS):
        for number, gateway in enumerate(DRAWN):
            trace = numbers["traces"][f"{trip}/{gateway}"]
            axes = panels[number][column]
            plots.trace(axes, trace["time_s"], trace["queue"], "queue", 0, 0.6)
            axes.set_title(f"{gateway}, {trip}", fontsize=10.5)
            axes.set_ylim(-2, 124)
            _draw_max_p(panels[3][column], trace["max_p"], gateway, number)
        below = panels[3][column]
        below.set_yscale("log")
        below.set_ylim(1e-3, 3)
        below.set_xlabel("time (s)")
        below.set_xlim(0, 100)
        for row in panels:
            for at in (20, 40, 60, 80):
                row[column].axvline(at, color="#767676", linewidth=0.9, linestyle=(0, (2, 2)))
    for row in panels[:3]:
        row[0].set_ylabel("queue (KB)")
    panels[3][0].set_ylabel("max_p")
    panels[3][0].legend(loc="upper left", ncols=3, fontsize=8.5, columnspacing=0.8)
    return figure


def _draw_max_p(axes: Axes, seen: list[list[float]], label: str, number: int) -> None:
    times = [time_s for time_s, _ in seen]
    values = [value for _, value in seen]
    axes.step(
        [*times, 100.0],
        [*values, values[-1]],
        where="post",
        color=plots.COLOURS[number],
        linewidth=1.5,
        label=label,
    )


def alternating_tables(numbers: Numbers) -> list[FigureTable]:
    """Loss and utilisation, phase by phase."""
    return [
        FigureTable(
            f"{caption} in each phase, by the number of sources",
            ("path, gateway", *(f"{count} sources" for count in PHASES)),
            tuple(
                (name.replace("/", ", "), *(cell(values, scale) for values in found[key]))
                for name, found in numbers["readings"].items()
            ),
        )
        for key, scale, caption in (
            ("loss", 100.0, "Dropped (%)"),
            ("utilization", 100.0, "Utilisation (%)"),
            ("queue", 1.0, "Mean queue (KB)"),
        )
    ]


def _mean_of_phases(samples: list[list[float]], count: str) -> list[float]:
    """Mean over the phases with so many sources but the first, seed by seed."""
    chosen = [
        values for place, values in enumerate(samples) if PHASES[place] == count and place > 0
    ]
    return [sum(of_seed) / len(of_seed) for of_seed in zip(*chosen, strict=True)]


def static_fail(evidence: Evidence) -> list[Check]:
    """Aggressive: the link is not full with 8. Conservative: packets are lost with 32."""
    readings = evidence["alternating"]["readings"]
    checks = []
    for trip in ROUND_TRIPS:
        checks += [
            Check(
                quantity="utilisation with 8 sources, aggressive",
                interval=interval(
                    _mean_of_phases(readings[f"{trip}/aggressive"]["utilization"], "8")
                ),
                expected=Expected(high=0.98),
                reading=trip,
                unit="%",
                scale=100.0,
            ),
            Check(
                quantity="dropped with 32 sources, conservative",
                interval=interval(_mean_of_phases(readings[f"{trip}/conservative"]["loss"], "32")),
                expected=Expected(low=0.001),
                reading=trip,
                unit="%",
                scale=100.0,
            ),
        ]
    return checks


def self_configuring_avoids(evidence: Evidence) -> list[Check]:
    """Neither: a fuller link than the aggressive one, less loss than the conservative one."""
    readings = evidence["alternating"]["readings"]
    checks = []
    for trip in ROUND_TRIPS:
        for gateway in ("self-configuring", "self-configuring from 0.02"):
            found = readings[f"{trip}/{gateway}"]
            use = _mean_of_phases(found["utilization"], "8")
            use_of_aggressive = _mean_of_phases(readings[f"{trip}/aggressive"]["utilization"], "8")
            loss = _mean_of_phases(found["loss"], "32")
            loss_of_conservative = _mean_of_phases(readings[f"{trip}/conservative"]["loss"], "32")
            checks += [
                Check(
                    quantity=f"utilisation with 8 sources, {gateway} less aggressive",
                    interval=interval([a - b for a, b in zip(use, use_of_aggressive, strict=True)]),
                    expected=Expected(low=0.0),
                    reading=trip,
                    unit="%",
                    scale=100.0,
                ),
                Check(
                    quantity=f"dropped with 32 sources, conservative less {gateway}",
                    interval=interval(
                        [a - b for a, b in zip(loss_of_conservative, loss, strict=True)]
                    ),
                    expected=Expected(low=0.0),
                    reading=trip,
                    unit="%",
                    scale=100.0,
                ),
                Check(
                    quantity=f"dropped with 32 sources, {gateway}",
                    interval=interval(loss),
                    expected=Expected(high=0.001),
                    reading=trip,
                    unit="%",
                    scale=100.0,
                ),
                Check(
                    quantity=f"utilisation with 8 sources, {gateway}",
                    interval=interval(use),
                    expected=Expected(low=0.98),
                    reading=trip,
                    unit="%",
                    scale=100.0,
                ),
            ]
    return checks


def max_p_follows(evidence: Evidence) -> list[Check]:
    """Check that max_p is higher at the end of a stretch with 32 sources than with 8."""
    found = evidence["alternating"]["max_p"]
    return [
        Check(
            quantity="max_p at the end of 32 sources over that of 8 sources, log2",
            interval=interval(
                [math.log2(many / few) for many, few in zip(of["32"], of["8"], strict=True)]
            ),
            expected=Expected(low=1.0),
            reading=trip,
        )
        for trip, of in found.items()
    ]
