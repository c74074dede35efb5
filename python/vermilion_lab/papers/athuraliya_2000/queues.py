"""Figures 4 and 5: the queues of RED and of REM with 10 to 40 sources."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from vermilion.scenario import load_scenario
from vermilion_lab.papers import plots
from vermilion_lab.papers.athuraliya_2000.network import (
    BUFFER,
    COUNTS,
    JOINS_S,
    LINK,
    MIDDLE_PHIS,
    PACKETS_PER_MS,
    PROBE_S,
    REDS,
    REM_SOURCES,
    ROUND_TRIPS,
    SIGNALS,
    SOURCES,
    SPIKE_S,
    at_distance,
    red,
    rem,
    rem_sender,
    replaced,
)
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import cell, differences, interval, of_phases
from vermilion_lab.papers.verdict import Check, Expected

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion.scenario import Scenario
    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench


def _red_readings() -> dict[str, Scenario]:
    return {
        f"{dialect}, {signal}, {trip}": replaced(
            at_distance(load_scenario(SOURCES), round_trip),
            red(dialect),
            {"congestion_control": "reno", "ecn": ecn},
        )
        for trip, round_trip in ROUND_TRIPS.items()
        for dialect in REDS
        for signal, ecn in SIGNALS.items()
    }


def measure_red(bench: Workbench) -> Numbers:
    """RED in each reading with 10 to 40 Reno sources, and two traces."""
    readings = _red_readings()
    bench.expect(len(readings) * len(bench.seeds) + 2)
    results = bench.run_many(readings)
    return {
        "readings": {name: _settled_means(found) for name, found in results.items()},
        "traces": {
            name: _trace(bench, readings[name])
            for name in (
                "RED of 1993, drops, 20 ms round trip",
                "RED of ns-2, marks, 20 ms round trip",
            )
        },
    }


def _settled_means(results: list[Any]) -> dict[str, list[list[float]]]:
    return {
        "queue": of_phases(results, LINK, "queue_packets.mean"),
        "utilization": of_phases(results, LINK, "utilization"),
        "loss": of_phases(results, LINK, "drop_rate"),
    }


def _trace(bench: Workbench, scenario: Scenario) -> dict[str, list[float]]:
    """The queue over time under the first seed, thinned for drawing."""
    series = bench.first_trace(scenario, 0.1).series(LINK)
    return {
        "time_s": series["time_s"].round(6).tolist(),
        "queue": series["queue_packets"].tolist(),
    }


def _draw_counts(numbers: Numbers, heads: tuple[str, str], highest: float) -> Drawing:
    """Above, queues over time; below, the mean queue and the utilisation by number of sources."""
    figure, panels = plots.sheet(2, 2, 7.2, gridspec_kw={"height_ratios": (1.0, 1.25)})
    for axes, (name, trace) in zip(panels[0], numbers["traces"].items(), strict=True):
        plots.trace(axes, trace["time_s"], trace["queue"], "queue", 0, 0.6)
        for at in JOINS_S:
            axes.axvline(at, color="#767676", linewidth=0.8, linestyle=(0, (2, 2)))
        axes.set_title(name, fontsize=10.5)
        axes.set_xlabel("time (s)")
        axes.set_ylabel("queue (packets)")
        axes.set_ylim(0, BUFFER * 1.03)
        axes.set_xlim(0, 200)
    for axes, key, scale, head in zip(
        panels[1], ("queue", "utilization"), (1.0, 100.0), heads, strict=True
    ):
        for number, (name, found) in enumerate(numbers["readings"].items()):
            second = "one way" in name
            plots.line(
                axes,
                COUNTS,
                found[key],
                name,
                number % (len(numbers["readings"]) // 2),
                scale=scale,
                dashed=second,
            )
        axes.set_xlabel("sources")
        axes.set_ylabel(head)
        axes.set_xticks(COUNTS)
    panels[1][0].set_ylim(0, highest)
    handles, labels = panels[1][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9)
    return figure


def draw_red(numbers: Numbers) -> Drawing:
    """Traces above, means below."""
    return _draw_counts(numbers, ("mean queue (packets)", "utilisation (%)"), 85.0)


def tables(numbers: Numbers) -> list[FigureTable]:
    """Queue, utilisation and drops by reading."""
    rows = dict(numbers["readings"])
    rows |= {
        f"phi 1.04, immediate, {trip}, with a target of 20 packets": found
        for trip, found in numbers.get("with_target", {}).items()
    }
    return [
        FigureTable(
            caption=f"{caption}, by the number of sources",
            heads=("reading", *(f"{count} sources" for count in COUNTS)),
            rows=tuple(
                (name, *(cell(values, scale) for values in found[key]))
                for name, found in rows.items()
            ),
        )
        for key, scale, caption in (
            ("queue", 1.0, "Mean queue (packets)"),
            ("utilization", 100.0, "Utilisation (%)"),
            ("loss", 100.0, "Dropped (%)"),
        )
    ]


def red_grows(evidence: Evidence) -> list[Check]:
    """Check that every ten sources make the queue longer."""
    return [
        Check(
            quantity=f"mean queue with {after} sources less that with {before}",
            interval=interval(differences(found["queue"][place + 1], found["queue"][place])),
            expected=Expected(low=0.0),
            reading=name,
            unit="packets",
        )
        for name, found in evidence["figure-4"]["readings"].items()
        for place, (before, after) in enumerate(itertools.pairwise(COUNTS))
    ]


def red_delays(evidence: Evidence) -> list[Check]:
    """About 20 ms of queue with 40 sources."""
    return [
        Check(
            quantity="queueing delay with 40 sources",
            interval=interval([queue / PACKETS_PER_MS for queue in found["queue"][-1]]),
            expected=Expected(15.0, 25.0),
            reading=name,
            unit="ms",
        )
        for name, found in evidence["figure-4"]["readings"].items()
    ]


def _rem_readings() -> dict[str, Scenario]:
    return {
        f"phi {phi:g}, {adjustment}, {trip}": replaced(
            at_distance(load_scenario(SOURCES), round_trip), rem(phi), rem_sender(phi, adjustment)
        )
        for trip, round_trip in ROUND_TRIPS.items()
        for phi, adjustment in REM_SOURCES
    }


def _target_scenario(trip: str) -> Scenario:
    """The reading in the middle with ns-2's target of 20 packets, for comparison."""
    scenario = _rem_readings()[f"phi 1.04, immediate, {trip}"]
    return scenario.with_values({f"links.{LINK}.queue.target_queue": "20 packets"})


def measure_rem(bench: Workbench) -> Numbers:
    """REM in each reading, what happens at joins, and two traces."""
    readings = _rem_readings()
    spiked = [name for name in readings if name.startswith("phi 1.04,")]
    bench.expect((len(readings) + len(spiked) + len(ROUND_TRIPS)) * len(bench.seeds) + 2)
    results = bench.run_many(readings)
    targets = bench.run_many({trip: _target_scenario(trip) for trip in ROUND_TRIPS})
    return {
        "with_target": {trip: _settled_means(found) for trip, found in targets.items()},
        "readings": {name: _settled_means(found) for name, found in results.items()},
        "spikes": {name: _join_peaks(bench, readings[name]) for name in spiked},
        "traces": {
            name: _trace(bench, readings[name])
            for name in (
                "phi 1.04, immediate, 20 ms round trip",
                "phi 1.04, smoothed, 20 ms round trip",
            )
        },
    }


def _join_peaks(bench: Workbench, scenario: Scenario) -> dict[str, list[float]]:
    """The largest queue in the seconds after joins, and in as many seconds when all is settled."""
    joined, settled = [], []
    for result in bench.traces(scenario, PROBE_S):
        series = result.series(LINK)
        queue = series["queue_packets"]
        points = round(SPIKE_S / PROBE_S)

        def largest(start_s: float, queue: Any = queue, points: int = points) -> float:  # noqa: ANN401 - an array
            begin = round(start_s / PROBE_S)
            return float(queue[begin : begin + points].max())

        joined.append(sum(largest(at) for at in JOINS_S) / len(JOINS_S))
        quiet = [at + SPIKE_S * k for at in JOINS_S for k in range(2, 10)]
        settled.append(sum(map(largest, quiet)) / len(quiet))
    return {"joined": joined, "settled": settled}


def draw_rem(numbers: Numbers) -> Drawing:
    """Draw REM as RED is drawn, on a quarter of its scale."""
    shown = {
        name: found
        for name, found in numbers["readings"].items()
        if "immediate" in name and not name.startswith("phi 1.03")
    }
    return _draw_counts(
        numbers | {"readings": shown}, ("mean queue (packets)", "utilisation (%)"), 20.0
    )


def rem_queue(evidence: Evidence) -> list[Check]:
    """The queue hardly grows, and is a tenth of the buffer at most."""
    checks = []
    for name, found in evidence["figure-5"]["readings"].items():
        if not _has_middle_phi(name):
            continue
        growth = differences(found["queue"][-1], found["queue"][0])
        least_of_red = _least_growth_of_red(evidence, name.rpartition(", ")[2])
        checks += [
            Check(
                quantity="growth of the mean queue from 10 to 40 sources, over RED’s least",
                interval=interval([packets / least_of_red for packets in growth]),
                expected=Expected(high=0.1),
                reading=name,
                unit="%",
                scale=100.0,
            ),
            Check(
                quantity="mean queue with 40 sources",
                interval=interval(found["queue"][-1]),
                expected=Expected(high=0.1 * BUFFER),
                reading=name,
                unit="packets",
            ),
        ]
    return checks


def _least_growth_of_red(evidence: Evidence, trip: str) -> float:
    """The smallest mean growth of any RED at this round trip, in packets."""
    growths = [
        differences(found["queue"][-1], found["queue"][0])
        for name, found in evidence["figure-4"]["readings"].items()
        if name.endswith(trip)
    ]
    return min(math.fsum(growth) / len(growth) for growth in growths)


def rem_utilization(evidence: Evidence) -> list[Check]:
    """Above 96 % with 10 to 40 sources."""
    return [
        Check(
            quantity=f"utilisation with {count} sources",
            interval=interval(values),
            expected=Expected(low=0.96),
            reading=name,
            unit="%",
            scale=100.0,
        )
        for name, found in evidence["figure-5"]["readings"].items()
        if _has_middle_phi(name)
        for count, values in zip(COUNTS, found["utilization"], strict=True)
    ]


def _has_middle_phi(name: str) -> bool:
    """Check whether a reading's phi belongs to prices of 10 to 40."""
    return any(name.startswith(f"phi {phi:g},") for phi in MIDDLE_PHIS)


def rem_spikes(evidence: Evidence) -> list[Check]:
    """Joins stand out."""
    return [
        Check(
            quantity=f"largest queue in the {SPIKE_S:g} s after a join less that of settled times",
            interval=interval(differences(found["joined"], found["settled"])),
            expected=Expected(low=5.0),
            reading=name,
            unit="packets",
        )
        for name, found in evidence["figure-5"]["spikes"].items()
    ]


def rem_phi(evidence: Evidence) -> list[Check]:
    """The extreme bases: does the answer survive a badly chosen phi?"""
    return [
        Check(
            quantity=f"utilisation with {count} sources",
            interval=interval(values),
            expected=Expected(low=0.96),
            reading=name,
            unit="%",
            scale=100.0,
        )
        for name, found in evidence["figure-5"]["readings"].items()
        if not _has_middle_phi(name)
        for count, values in zip(COUNTS, found["utilization"], strict=True)
    ]
