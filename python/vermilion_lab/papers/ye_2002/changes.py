"""Figures 5 and 6: the load or the round trips change; RED left alone, and tuned on line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from vermilion.report import drawing
from vermilion.scenario import load_scenario
from vermilion_lab.papers import plots
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import cell, interval, of_phases
from vermilion_lab.papers.verdict import Check, Expected
from vermilion_lab.papers.ye_2002.network import (
    BUFFER,
    LINK,
    QUEUE,
    RATES_MBIT,
    REDS,
    ROUND_TRIP,
    SENDERS,
    TARGET,
    at_rate,
    varying_load,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from vermilion.online.entries import OnlineRun
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench

EVALUATIONS = 44
"""Settings that each search of the controller may try, so that its runs repeat exactly: after so
many, one of the best tenth has been met with a probability of 0.99."""

RE_EVALUATIONS, COMPARISONS = 2, 8
"""Seeds that the best few of them then meet, and seeds on which the best meets the old one."""

EFFORT = 10
"""A network kept tuned, and searched for, takes about as long as so many that are only run."""

AS_SHIPPED = ("RED of ns-2", "Reno")
"""What the scenarios have; it is among the readings that are tuned, too."""

LOAD_PHASES = ("16 flows", "64 flows")
TRIP_PHASES = ("28 ms", "being replaced", "180 ms")

LOAD_READINGS: Final = {
    "10 Mbit/s, change at 20 s": (10, 20),
    "10 Mbit/s, change at 40 s": (10, 40),
    "20 Mbit/s, change at 20 s": (20, 20),
    "45 Mbit/s, change at 20 s": (45, 20),
}
TRIP_READINGS: Final = {f"{rate} Mbit/s": rate for rate in RATES_MBIT}


def measure_load(bench: Workbench) -> Numbers:
    """The load quadruples: each reading of rate and time, alone and tuned."""
    readings = {name: varying_load(*reading) for name, reading in LOAD_READINGS.items()}
    variants = {
        f"{rate} Mbit/s, {dialect}, {sender}": varying_load(rate, 20).with_values(
            {QUEUE: queue} | {f"flows.{group}.sender": kind for group in ("early", "late")}
        )
        for rate in RATES_MBIT
        for dialect, queue in REDS.items()
        for sender, kind in SENDERS.items()
        if (dialect, sender) != AS_SHIPPED
    }
    return _measure_changes(bench, readings, variants)


def measure_trip(bench: Workbench) -> Numbers:
    """The round trips grow: each reading of the rate, alone and tuned."""
    base = load_scenario(ROUND_TRIP)
    readings = {name: at_rate(base, rate) for name, rate in TRIP_READINGS.items()}
    variants = {
        f"{rate} Mbit/s, {dialect}, {sender}": at_rate(base, rate).with_values(
            {QUEUE: queue} | {f"flows.{group}.sender": kind for group in ("near", "far")}
        )
        for rate in RATES_MBIT
        for dialect, queue in REDS.items()
        for sender, kind in SENDERS.items()
        if (dialect, sender) != AS_SHIPPED
    }
    return _measure_changes(bench, readings, variants)


def _measure_changes(
    bench: Workbench, readings: dict[str, Scenario], variants: dict[str, Scenario]
) -> Numbers:
    """Measure each reading untuned and tuned, and standard RED in more readings."""
    bench.expect((EFFORT * len(readings) + len(variants)) * len(bench.seeds))
    alone = bench.run_many(variants)
    measured = {}
    drawn: Numbers | None = None
    # All readings at once: no process waits for the last seed of a reading.
    jobs = [(scenario, seed) for scenario in readings.values() for seed in bench.seeds]
    every = bench.each_in_processes(_online, jobs, weight=EFFORT)
    for place, name in enumerate(readings):
        runs = every[place * len(bench.seeds) : (place + 1) * len(bench.seeds)]
        measured[name] = {
            "standard": _phases([run.reference for run in runs]),
            "tuned": _phases([run.tuned for run in runs]),
        }
        if drawn is None:
            drawn = {
                "standard": _over_time(runs[0].reference),
                "tuned": _over_time(runs[0].tuned),
                "settings": [time_s for time_s, _ in runs[0].settings],
            }
    return {
        "readings": measured,
        "variants": {name: _phases(found) for name, found in alone.items()},
        "traces": drawn,
    }


def _online(job: tuple[Scenario, int]) -> OnlineRun:
    """A network kept tuned, with one seed, beside the same network left alone."""
    from vermilion.online import run_online

    scenario, seed = job
    return run_online(
        scenario,
        seed=seed,
        clock="fixed",
        evaluations=EVALUATIONS,
        re_evaluations=RE_EVALUATIONS,
        comparisons=COMPARISONS,
    )


def _phases(results: Sequence[Result]) -> Numbers:
    """Utilisation, queue and RED's average in each phase, seed by seed."""
    found: Numbers = {
        "utilization": of_phases(results, LINK, "utilization"),
        "queue": of_phases(results, LINK, "queue_packets.mean"),
        "average": of_phases(results, LINK, "average_queue_packets.mean"),
    }
    for key in ("queue", "average"):
        spread = of_phases(results, LINK, f"{_METRIC[key]}.sd")
        found[f"{key}_deviation"] = [
            [sd**2 + (mean - TARGET) ** 2 for mean, sd in zip(means, sds, strict=True)]
            for means, sds in zip(found[key], spread, strict=True)
        ]
    return found


_METRIC = {"queue": "queue_packets", "average": "average_queue_packets"}


def _over_time(result: Result) -> dict[str, list[float]]:
    series = result.series(LINK)
    every = slice(None, None, 2)
    return {
        "time_s": series["time_s"][every].round(6).tolist(),
        "queue": series["queue_packets"][every].tolist(),
        "average": series["average_queue_packets"][every].round(4).tolist(),
    }


def draw_changes(phases: Sequence[str], numbers: Numbers) -> Drawing:
    """Draw both networks over time, and their utilisation in all readings."""
    figure, panels = plots.sheet(3, 1, 9.0, gridspec_kw={"height_ratios": (1.0, 1.0, 0.9)})
    standard, tuned, below = (row[0] for row in panels)
    for axes, key, head in (
        (standard, "standard", "Standard RED"),
        (tuned, "tuned", "The same network, RED tuned on line"),
    ):
        trace = numbers["traces"][key]
        plots.trace(axes, trace["time_s"], trace["queue"], "queue", 4)
        plots.trace(axes, trace["time_s"], trace["average"], "RED’s average", 0, 1.6)
        axes.axhline(
            TARGET, color=drawing.INK, linewidth=1.2, linestyle=(0, (5, 3)), label="target"
        )
        axes.set_ylim(0, BUFFER * 1.03)
        axes.set_xlim(0, trace["time_s"][-1])
        axes.set_ylabel("queue (packets)")
        axes.set_title(head)
    for at in numbers["traces"]["settings"][1:]:
        tuned.axvline(at, color=drawing.GREEN, linewidth=1.0, label="_")
    tuned.set_xlabel("time (s); green lines: a new setting")
    standard.legend(loc="upper right", ncols=3)
    _draw_utilization(below, numbers, phases)
    return figure


def _draw_utilization(axes: Axes, numbers: Numbers, phases: Sequence[str]) -> None:
    """Utilisation by reading: the last phase, standard beside tuned."""
    readings = list(numbers["readings"])
    for offset, key, number in ((-0.1, "standard", 1), (0.1, "tuned", 2)):
        intervals = [
            interval(numbers["readings"][name][key]["utilization"][-1]) for name in readings
        ]
        axes.errorbar(
            [place + offset for place in range(len(readings))],
            [100 * found.mean for found in intervals if found],
            yerr=[100 * (found.half_width or 0.0) for found in intervals if found],
            linestyle="none",
            marker=plots.MARKERS[number],
            color=plots.COLOURS[number],
            capsize=4,
            markersize=7,
            label=f"{key}",
        )
    axes.axhline(93, color=drawing.GREY, linewidth=1.0, linestyle=(0, (2, 2)))
    axes.annotate(
        "the paper: 93 % or lower", (len(readings) - 0.98, 93.4), fontsize=8.5, ha="right"
    )
    axes.set_xticks(range(len(readings)), [name.replace(", ", "\n") for name in readings])
    axes.set_xlim(-0.5, len(readings) - 0.5)
    axes.set_ylabel("utilisation (%)")
    axes.set_title(f"Utilisation with {phases[-1]}")
    axes.legend(loc="lower left", ncols=2)


def change_tables(phases: Sequence[str], numbers: Numbers) -> list[FigureTable]:
    """Measurements of both networks, and of standard RED in more readings."""
    both = tuple(
        (
            f"{name}, {key}",
            *(cell(values, 100.0) for values in found[key]["utilization"]),
            *(cell(values) for values in found[key]["average"]),
            *(cell(values) for values in found[key]["queue_deviation"]),
        )
        for name, found in numbers["readings"].items()
        for key in ("standard", "tuned")
    )
    alone = tuple(
        (
            name,
            *(cell(values, 100.0) for values in found["utilization"]),
            *(cell(values) for values in found["average"]),
            *(cell(values) for values in found["queue_deviation"]),
        )
        for name, found in numbers["variants"].items()
    )
    heads = tuple(
        f"{quantity}, {phase}"
        for quantity in ("utilisation (%)", "average (packets)", "deviation (packets²)")
        for phase in phases
    )
    return [
        FigureTable("Standard and tuned, by phase", ("network", *heads), both),
        FigureTable("Standard RED in more readings", ("network", *heads), alone),
    ]


def standard_misses(figure: str, phase: str, evidence: Evidence) -> list[Check]:
    """Check that after the change standard RED's average misses the target by over a tenth."""
    found = evidence[figure]
    networks = {name: both["standard"] for name, both in found["readings"].items()}
    networks |= found["variants"]
    return [
        Check(
            quantity=f"distance of RED’s average from the target, {phase}",
            interval=_distance(network["average"][-1]),
            expected=Expected(low=0.1 * TARGET),
            reading=name,
            unit="packets",
        )
        for name, network in networks.items()
    ]


def _distance(values: Sequence[float]) -> Any:  # noqa: ANN401 - an interval or none
    """Distance of the mean over seeds from the target."""
    side = 1.0 if math.fsum(values) >= TARGET * len(values) else -1.0
    return interval([side * (value - TARGET) for value in values])


def tuned_holds(figure: str, phases: Sequence[str], evidence: Evidence) -> list[Check]:
    """Tuned, the mean of RED’s average is within a tenth of the target."""
    return [
        Check(
            quantity=f"RED’s average, {phase}",
            interval=interval(values),
            expected=Expected(0.9 * TARGET, 1.1 * TARGET),
            reading=name,
            unit="packets",
        )
        for name, both in evidence[figure]["readings"].items()
        for phase, values in zip(phases, both["tuned"]["average"], strict=True)
        if phase != "being replaced"
    ]


def tuned_steadier(figure: str, phases: Sequence[str], evidence: Evidence) -> list[Check]:
    """Ratios of squared deviations multiply, so their logarithms are averaged."""
    return [
        Check(
            quantity=f"log2 of the deviations’ ratio, standard over tuned, {phase}",
            interval=interval(
                [
                    math.log2(standard / tuned)
                    for standard, tuned in zip(
                        both["standard"]["queue_deviation"][place],
                        both["tuned"]["queue_deviation"][place],
                        strict=True,
                    )
                ]
            ),
            expected=Expected(low=1.0),
            reading=name,
        )
        for name, both in evidence[figure]["readings"].items()
        for place, phase in enumerate(phases)
        if phase != "being replaced"
    ]


def standard_wastes(figure: str, phase: str, evidence: Evidence) -> list[Check]:
    """Check that after the change the link is at most 93 % used."""
    found = evidence[figure]
    networks = {name: both["standard"] for name, both in found["readings"].items()}
    networks |= found["variants"]
    return [
        Check(
            quantity=f"utilisation, {phase}",
            interval=interval(network["utilization"][-1]),
            expected=Expected(high=0.93),
            reading=name,
            unit="%",
            scale=100.0,
        )
        for name, network in networks.items()
    ]


def tuned_fills(figure: str, phases: Sequence[str], evidence: Evidence) -> list[Check]:
    """Tuned, the link is at least 98 % used."""
    return [
        Check(
            quantity=f"utilisation, {phase}",
            interval=interval(values),
            expected=Expected(low=0.98),
            reading=name,
            unit="%",
            scale=100.0,
        )
        for name, both in evidence[figure]["readings"].items()
        for phase, values in zip(phases, both["tuned"]["utilization"], strict=True)
        if phase != "being replaced"
    ]
