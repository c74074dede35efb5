"""RED against REM: does a queue have to grow with the number of sources?

S. Athuraliya, D. Lapsley, S. Low, "Random Early Marking", 2000. Figure 4: the queue of RED grows
with the number of Reno sources, because the average queue is what tells the sources how many they
are. Figure 5: REM sources learn a price instead, and the queue stays small. Figure 6: the shares of
Reno sources depend on their propagation delay, those of REM sources do not.

What the paper leaves open is run in all readings: whether its propagation delay is that of the
round trip or one way; whether RED marks or drops, and as published in 1993 or as ns-2 spaces its
marks; REM's base phi; the sources' immediate or smoothed adjustment.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final

from vermilion.papers import plots
from vermilion.papers.interface import Claim, Figure, Numbers, Paper, Table
from vermilion.papers.measures import cell, differences, goodput, interval, of_phases
from vermilion.papers.verdict import Check, Expected, Verdict
from vermilion.scenario import load_scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure as Drawing

    from vermilion.papers.interface import Evidence
    from vermilion.papers.workbench import Workbench
    from vermilion.scenario import Scenario

SOURCES = "papers/athuraliya-2000-sources"
DELAYS = "papers/athuraliya-2000-delays"
LINK = "bottleneck"
COUNTS = (10, 20, 30, 40)
JOINS_S = (50.0, 100.0, 150.0)
GROUPS = ("first", "second", "third", "fourth")
BUFFER = 100.0
PACKETS_PER_MS = 4.0

ROUND_TRIPS = {"20 ms round trip": "20 ms", "20 ms one way": "40 ms"}
PHIS = (1.01, 1.03, 1.04, 1.05, 1.1)
MIDDLE_PHIS = (1.03, 1.04, 1.05)
REM_SOURCES = (*((phi, "immediate") for phi in PHIS), (1.04, "smoothed"))
PROBE_S = 0.01
SPIKE_S = 5.0
DELAYS_MS = (10, 20, 30, 40, 50, 60)
THREE_POINTS = {"round trip": 1, "one way": 2}

REDS: Final[dict[str, dict[str, object]]] = {
    "RED of 1993": {"discipline": "red"},
    "RED of ns-2": {"discipline": "ns2-red", "gentle": False, "wait": True},
}
SIGNALS = {"drops": False, "marks": True}


def _red(dialect: str) -> dict[str, object]:
    return REDS[dialect] | {
        "limit": "100 packets",
        "min_threshold": "20 packets",
        "max_threshold": "80 packets",
        "max_probability": 0.1,
        "weight": 0.002,
        "mean_packet_size": "1000 bytes",
    }


def _rem(phi: float) -> dict[str, object]:
    """The paper's link: backlog without a target, averaged arrivals, prices each millisecond."""
    return {
        "discipline": "rem",
        "limit": "100 packets",
        "target_queue": "0 packets",
        "gain": 0.001,
        "base": phi,
        "rate_weight": 0.02,
        "queue_weight": 0.1,
        "interval": "1 ms",
    }


def _rem_sender(phi: float, adjustment: str) -> dict[str, object]:
    return {
        "congestion_control": "rem",
        "phi": phi,
        "utility_weight": "4000 packets",
        "adjustment": adjustment,
    }


def _with(
    scenario: Scenario, queue: Mapping[str, object], sender: Mapping[str, object]
) -> Scenario:
    """The scenario with another queue and another kind of sender in all groups."""
    values: dict[str, object] = {f"links.{LINK}.queue": dict(queue)}
    values |= {f"flows.{group}.sender": dict(sender) for group in scenario.flows}
    return scenario.with_values(values)


def _far(scenario: Scenario, round_trip: str) -> Scenario:
    return scenario.with_values({f"flows.{group}.rtt": round_trip for group in scenario.flows})


# --- figure 4: RED ------------------------------------------------------------------------------


def _red_readings() -> dict[str, Scenario]:
    return {
        f"{dialect}, {signal}, {trip}": _with(
            _far(load_scenario(SOURCES), round_trip),
            _red(dialect),
            {"congestion_control": "reno", "ecn": ecn},
        )
        for trip, round_trip in ROUND_TRIPS.items()
        for dialect in REDS
        for signal, ecn in SIGNALS.items()
    }


def _measure_red(bench: Workbench) -> Numbers:
    readings = _red_readings()
    bench.expect(len(readings) * len(bench.seeds) + 2)
    results = bench.run_many(readings)
    return {
        "readings": {name: _settled(found) for name, found in results.items()},
        "traces": {
            name: _trace(bench, readings[name])
            for name in (
                "RED of 1993, drops, 20 ms round trip",
                "RED of ns-2, marks, 20 ms round trip",
            )
        },
    }


def _settled(results: list[Any]) -> dict[str, list[list[float]]]:
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


def _draw_red(numbers: Numbers) -> Drawing:
    return _draw_counts(numbers, ("mean queue (packets)", "utilisation (%)"), 85.0)


def _tables(numbers: Numbers) -> list[Table]:
    rows = dict(numbers["readings"])
    rows |= {
        f"phi 1.04, immediate, {trip}, with a target of 20 packets": found
        for trip, found in numbers.get("with_target", {}).items()
    }
    return [
        Table(
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


def _red_grows(evidence: Evidence) -> list[Check]:
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


def _red_delays(evidence: Evidence) -> list[Check]:
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


# --- figure 5: REM ------------------------------------------------------------------------------


def _rem_readings() -> dict[str, Scenario]:
    return {
        f"phi {phi:g}, {adjustment}, {trip}": _with(
            _far(load_scenario(SOURCES), round_trip), _rem(phi), _rem_sender(phi, adjustment)
        )
        for trip, round_trip in ROUND_TRIPS.items()
        for phi, adjustment in REM_SOURCES
    }


def _with_target(trip: str) -> Scenario:
    """The reading in the middle with ns-2's target of 20 packets, for comparison."""
    scenario = _rem_readings()[f"phi 1.04, immediate, {trip}"]
    return scenario.with_values({f"links.{LINK}.queue.target_queue": "20 packets"})


def _measure_rem(bench: Workbench) -> Numbers:
    readings = _rem_readings()
    spiked = [name for name in readings if name.startswith("phi 1.04,")]
    bench.expect((len(readings) + len(spiked) + len(ROUND_TRIPS)) * len(bench.seeds) + 2)
    results = bench.run_many(readings)
    targets = bench.run_many({trip: _with_target(trip) for trip in ROUND_TRIPS})
    return {
        "with_target": {trip: _settled(found) for trip, found in targets.items()},
        "readings": {name: _settled(found) for name, found in results.items()},
        "spikes": {name: _spikes(bench, readings[name]) for name in spiked},
        "traces": {
            name: _trace(bench, readings[name])
            for name in (
                "phi 1.04, immediate, 20 ms round trip",
                "phi 1.04, smoothed, 20 ms round trip",
            )
        },
    }


def _spikes(bench: Workbench, scenario: Scenario) -> dict[str, list[float]]:
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


def _draw_rem(numbers: Numbers) -> Drawing:
    shown = {
        name: found
        for name, found in numbers["readings"].items()
        if "immediate" in name and not name.startswith("phi 1.03")
    }
    return _draw_counts(
        numbers | {"readings": shown}, ("mean queue (packets)", "utilisation (%)"), 20.0
    )


def _rem_queue(evidence: Evidence) -> list[Check]:
    checks = []
    for name, found in evidence["figure-5"]["readings"].items():
        if not _middle(name):
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


def _rem_utilization(evidence: Evidence) -> list[Check]:
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
        if _middle(name)
        for count, values in zip(COUNTS, found["utilization"], strict=True)
    ]


def _middle(name: str) -> bool:
    """Whether a reading's phi is one that prices of 10 to 40 ask for."""
    return any(name.startswith(f"phi {phi:g},") for phi in MIDDLE_PHIS)


def _rem_spikes(evidence: Evidence) -> list[Check]:
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


def _rem_phi(evidence: Evidence) -> list[Check]:
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
        if not _middle(name)
        for count, values in zip(COUNTS, found["utilization"], strict=True)
    ]


# --- figure 6: shares ---------------------------------------------------------------------------


def _share_readings() -> dict[str, Scenario]:
    base = load_scenario(DELAYS)
    readings = {}
    for trip, factor in THREE_POINTS.items():
        placed = base.with_values(
            {f"flows.delay-{delay}.rtt": f"{factor * delay} ms" for delay in DELAYS_MS}
        )
        for dialect in REDS:
            for signal, ecn in SIGNALS.items():
                readings[f"Reno, {dialect}, {signal}, {trip}"] = _with(
                    placed, _red(dialect), {"congestion_control": "reno", "ecn": ecn}
                )
        for phi, adjustment in REM_SOURCES:
            readings[f"REM, phi {phi:g}, {adjustment}, {trip}"] = _with(
                placed, _rem(phi), _rem_sender(phi, adjustment)
            )
    return readings


def _measure_shares(bench: Workbench) -> Numbers:
    readings = _share_readings()
    bench.expect(len(readings) * len(bench.seeds))
    results = bench.run_many(readings)
    return {"readings": {name: _shares(found) for name, found in results.items()}}


def _shares(results: list[Any]) -> dict[str, Any]:
    rates = [goodput(results, f"delay-{delay}") for delay in DELAYS_MS]
    totals = [math.fsum(of_seed) for of_seed in zip(*rates, strict=True)]
    shares = [
        [rate / total for rate, total in zip(of_delay, totals, strict=True)] for of_delay in rates
    ]
    return {
        "shares": shares,
        "ratio": [near / far for near, far in zip(shares[0], shares[-1], strict=True)],
    }


def _draw_shares(numbers: Numbers) -> Drawing:
    figure, panels = plots.sheet(1, 2, 4.9, sharey=True)
    for axes, kind, head in zip(
        panels[0], ("Reno", "REM"), ("Reno sources over RED", "REM sources"), strict=True
    ):
        chosen = [name for name in numbers["readings"] if name.startswith(f"{kind},")]
        if kind == "REM":
            chosen = [name for name in chosen if "immediate" in name and "phi 1.03" not in name]
        for number, name in enumerate(chosen):
            plots.line(
                axes,
                DELAYS_MS,
                numbers["readings"][name]["shares"],
                name.partition(", ")[2],
                number % (len(chosen) // 2),
                scale=100.0,
                dashed="one way" in name,
            )
        axes.axhline(100.0 / len(DELAYS_MS), color="#767676", linewidth=0.8)
        axes.set_title(head)
        axes.set_xlabel("propagation delay (ms)")
        axes.set_xticks(DELAYS_MS)
        axes.legend(fontsize=8.5)
        axes.set_ylim(0, 50)
    panels[0][0].set_ylabel("share of the throughput (%)")
    return figure


def _share_tables(numbers: Numbers) -> list[Table]:
    return [
        Table(
            caption="Share of the throughput (%) by propagation delay, and nearest over farthest",
            heads=("reading", *(f"{delay} ms" for delay in DELAYS_MS), "ratio"),
            rows=tuple(
                (name, *(cell(values, 100.0) for values in found["shares"]), cell(found["ratio"]))
                for name, found in numbers["readings"].items()
            ),
        )
    ]


def _reno_unfair(evidence: Evidence) -> list[Check]:
    return _ratio_checks(evidence, "Reno,", Expected(low=2.0))


def _rem_fair(evidence: Evidence) -> list[Check]:
    return _ratio_checks(evidence, "REM,", Expected(0.8, 1.25))


def _ratio_checks(evidence: Evidence, kind: str, expected: Expected) -> list[Check]:
    return [
        Check(
            quantity="share of the nearest source over that of the farthest",
            interval=interval(found["ratio"]),
            expected=expected,
            reading=name,
        )
        for name, found in evidence["figure-6"]["readings"].items()
        if name.startswith(kind)
    ]


PAPER = Paper(
    name="athuraliya-2000",
    title="Random Early Marking",
    authors="S. Athuraliya, D. Lapsley, S. Low",
    published="2000",
    story=(
        (
            "RED tells sources about congestion by the average length of the queue. More sources "
            "have to be told more often, so the queue has to be longer: congestion and delay are "
            "coupled. REM takes them apart. A link keeps a price that rises while more packets "
            "arrive than it can send, or packets wait, and falls otherwise; it marks with a "
            "probability that is exponential in the price, so that the marks of a whole path tell "
            "the sum of its prices. Whatever the number of sources, the price finds the value at "
            "which the queue is nearly empty and the link is nearly full."
        ),
    ),
    open_questions=(
        "“Propagation delay of 20 ms”: of the round trip, or one way. Both are run.",
        (
            "Whether RED marked or dropped, and which RED it was: as published in 1993, or as "
            "ns-2 spaces its marks (at least 1/p packets between two of them, so that it gives "
            "two thirds as many). All four combinations are run."
        ),
        (
            "REM’s base phi. Prices are about as high as the number of sources, 10 to 40; a "
            "base of 1.03 to 1.05 turns them into probabilities that fifty acknowledgements can "
            "tell apart. 1.01 and 1.1 are run as well, and judged separately."
        ),
        (
            "The adjustment of REM sources (at once, or by a packet in a round trip), and their "
            "greatest and least rates: the link’s capacity, and a packet in a round trip."
        ),
    ),
    figures=(
        Figure(
            id="figure-4",
            place="figure 4",
            title="RED’s queue with 10, 20, 30 and 40 Reno sources",
            caption="Above: the queue over time under one seed, ten more sources joining at each "
            "dotted line. Below: means of the settled stretches over all seeds, with 95 % "
            "intervals; dashed where the propagation delay is read as one way.",
            settings="32 Mbit/s with packets of 1000 bytes (4 packets in a millisecond), buffer "
            "of 100 packets; thresholds 20 and 80 packets, maximum probability 0.1, weight "
            "0.002; Reno without a window cap, every packet acknowledged; 10 s after each join "
            "are left out.",
            scenarios=(SOURCES,),
            effort=10.0,
            measure=_measure_red,
            draw=_draw_red,
            tables=_tables,
        ),
        Figure(
            id="figure-5",
            place="figure 5",
            title="REM’s queue and utilisation with 10, 20, 30 and 40 REM sources",
            caption="Above: the queue over time under one seed. Below: means of the settled "
            "stretches, immediate adjustment; the scale of the queue is a quarter of figure 4’s.",
            settings="The same link; gain 0.001, queue weight 0.1, weight of new arrivals 0.02, "
            "a price each millisecond, no target queue; sources: the last 50 marks, weight of "
            "the utility 4000 packets/s, gain of the round trip 0.02.",
            scenarios=(SOURCES,),
            effort=26.0,
            measure=_measure_rem,
            draw=_draw_rem,
            tables=_tables,
        ),
        Figure(
            id="figure-6",
            place="figure 6",
            title="Shares of six sources, 10 to 60 ms away",
            caption="Share of the throughput against propagation delay; the grey line is an equal "
            "share. Solid where the delay is that of the round trip, dashed where it is one way.",
            settings="The same link, queues and sources; one source for each delay; 20 to 200 s.",
            scenarios=(DELAYS,),
            effort=18.0,
            measure=_measure_shares,
            draw=_draw_shares,
            tables=_share_tables,
        ),
    ),
    claims=(
        Claim(
            id="red-grows",
            place="figure 4",
            says="The queue of RED grows with the number of sources.",
            measured="The mean queue grows with every ten sources that join: the interval of the "
            "differences, seed by seed, lies above zero.",
            figures=("figure-4",),
            checks=_red_grows,
        ),
        Claim(
            id="red-20-ms",
            place="figure 4",
            says="With 40 sources RED queues for about 20 ms.",
            measured="The mean queue with 40 sources over the link’s 4 packets in a millisecond "
            "lies within a quarter of 20 ms.",
            figures=("figure-4",),
            checks=_red_delays,
            remarks={
                Verdict.IN_PART: "The published delay comes out where RED marks instead of "
                "dropping, spaces its marks as ns-2 does, and 20 ms is the whole round trip: "
                "then the queue approaches the upper threshold of 80 packets, as in the paper. "
                "RED of 1993 signals half as often again at the same average, so its queue "
                "balances lower. Where packets are dropped, Reno loses several in a window, "
                "waits for timeouts, and offers less; a longer round trip needs fewer signals "
                "for the same rate.",
            },
        ),
        Claim(
            id="rem-small-queue",
            place="figure 5",
            says="The queue of REM stays small whatever the number of sources.",
            measured="From 10 to 40 sources the mean queue grows by at most a tenth of what the "
            "least growing RED’s does at the same round trip, and with 40 it is at most a tenth "
            "of the buffer.",
            figures=("figure-5", "figure-4"),
            checks=_rem_queue,
        ),
        Claim(
            id="rem-utilisation",
            place="figure 5",
            says="Utilisation is above 96 % with REM.",
            measured="The utilisation in each settled stretch, for phi from 1.03 to 1.05.",
            figures=("figure-5",),
            checks=_rem_utilization,
            remarks={
                Verdict.IN_PART: "The price is a sum over excess arrivals and the queue, without a "
                "target, so it rests where the link is nearly full and the queue nearly empty; "
                "whenever the sources’ estimates swing down the link idles. With ten sources each "
                "of them is a tenth of the load and knows the price only from fifty marks, so the "
                "swings are widest there; they average out among forty."
            },
        ),
        Claim(
            id="rem-spikes",
            place="figure 5",
            says="When sources join, REM’s queue has a short spike.",
            measured=f"The largest queue in the {SPIKE_S:g} s after a join exceeds the mean "
            "largest queue of as long a time when all is settled by at least 5 packets (phi "
            "1.04).",
            figures=("figure-5",),
            checks=_rem_spikes,
        ),
        Claim(
            id="rem-any-phi",
            place="figure 5",
            says="The base phi, which the paper does not give, does not decide the outcome.",
            measured="Utilisation above 96 % for a base of 1.01 and of 1.1, too. This is our "
            "question to the paper, not its claim.",
            figures=("figure-5",),
            checks=_rem_phi,
            remarks={
                Verdict.IN_PART: "With 1.01, ten sources see a price of 10 as one mark in ten "
                "packets: five among the last fifty, give or take two, so that rates swing by "
                "almost a half. With 1.1 and 40 sources nearly every packet is marked (98 %), "
                "and the one in fifty that is not carries all the information.",
            },
        ),
        Claim(
            id="reno-shares",
            place="figure 6",
            says="The throughput of Reno sources over RED falls with their propagation delay.",
            measured="The nearest source (10 ms) gets at least twice as much as the farthest (60 "
            "ms).",
            figures=("figure-6",),
            checks=_reno_unfair,
        ),
        Claim(
            id="rem-shares",
            place="figure 6",
            says="The throughput of REM sources does not depend on their propagation delay.",
            measured="The nearest source’s share is that of the farthest, within a quarter.",
            figures=("figure-6",),
            checks=_rem_fair,
        ),
    ),
)
