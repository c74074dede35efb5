"""DualPI2: two queues under one controller, so that low latency costs nobody his rate.

K. De Schepper, B. Briscoe, G. White, RFC 9332, 2023, and the drafts before it, whose abstract sums
the authors' evaluation up. Rates of two flows over links and round trips, waits and losses in
mixes, and what happens without a second queue.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from vermilion_lab.papers import plots
from vermilion_lab.papers.bottleneck import (
    LINK,
    check,
    linux,
    measure,
    network,
    percent,
    ratios,
    table,
)
from vermilion_lab.papers.interface import Claim, Figure, Paper
from vermilion_lab.papers.verdict import Ruling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure as Drawing

    from vermilion.scenario import Scenario
    from vermilion_lab.papers.interface import Evidence, FigureTable, Numbers
    from vermilion_lab.papers.verdict import Check
    from vermilion_lab.papers.workbench import Workbench

_RATES: Final = (4, 12, 40, 120)
_TRIPS_MS: Final = (5, 20, 100)
_PAIRS: Final = (("dctcp", "cubic"), ("prague", "cubic"))
_FLOORS: Final = (0, 2)
"""Packets in the low-latency queue from which its step marks."""
_MIXES: Final = ((1, 1), (2, 8), (5, 5), (8, 2), (10, 10), (20, 5))
_MIX_RATES: Final = (40, 120)
_MIX_TRIP_MS: Final = 10
_PACKET_BITS: Final = 12_000

_GOODPUTS: Final = {
    group: f"flows.{group}.goodput_bit_per_s.mean" for group in ("scalable", "classic")
}


def _dual(sender: str, floor: int = 0) -> dict[str, object]:
    # DCTCP has no codepoint of its own: it is known by being able to be marked at all.
    codepoint = "ecn-capable" if sender == "dctcp" else "ect1"
    return {
        "discipline": "dualpi2",
        "low_latency": codepoint,
        "step_from": f"{floor} packets",
    }


def _case(
    rate: int,
    trip: int,
    pair: tuple[str, str],
    queue: Mapping[str, object],
    counts: tuple[int, int] = (1, 1),
) -> Scenario:
    groups = {
        name: {"count": count, "rtt": f"{trip} ms", "sender": linux(sender)}
        for name, sender, count in zip(("scalable", "classic"), pair, counts, strict=True)
    }
    return network(f"{rate} Mbit/s", queue, groups, "40 s", "15 s")


def _grid() -> list[tuple[tuple[str, str], int, int, int]]:
    return list(product(_PAIRS, _FLOORS, _RATES, _TRIPS_MS))


def _group(pair: tuple[str, str], floor: int) -> str:
    return f"{pair[0]} and {pair[1]}" + (f", step from {floor} packets" if floor else "")


def _name(pair: tuple[str, str], floor: int, rate: int, trip: int) -> str:
    return f"{_group(pair, floor)}, {rate} Mbit/s, {trip} ms"


def measure_rates(bench: Workbench) -> Numbers:
    """Goodput of one flow of each kind over rates and round trips."""
    networks = {
        _name(pair, floor, rate, trip): _case(rate, trip, pair, _dual(pair[0], floor))
        for pair, floor, rate, trip in _grid()
    }
    found = measure(bench, networks, {**_GOODPUTS, "utilization": f"links.{LINK}.utilization"})
    return {
        name: {**each, "ratio": ratios(each["scalable"], each["classic"])}
        for name, each in found.items()
    }


def draw_rates(numbers: Numbers) -> Drawing:
    """Ratio of the two rates, a panel for each pair."""
    groups = list(product(_PAIRS, _FLOORS))
    figure, found = plots.panels([_group(*group) for group in groups], sharey=True)
    for group, axes in zip(groups, found.values(), strict=True):
        axes.set_title(_group(*group).replace(", ", ",\n"), fontsize=8, loc="left")
        for number, rate in enumerate(_RATES):
            samples = [numbers[_name(*group, rate, trip)]["ratio"] for trip in _TRIPS_MS]
            plots.line(axes, _TRIPS_MS, samples, f"{rate} Mbit/s", number)
        axes.axhline(1.0, color="#222222", linewidth=0.9)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("round trip (ms)")
    first = next(iter(found.values()))
    first.set_ylabel("rate, low latency over classic")
    plots.legend_below(figure, first, 5)
    return figure


def rate_tables(numbers: Numbers) -> list[FigureTable]:
    """Rates and their ratio."""
    return [
        table(
            "One flow of each kind",
            "senders, rate, round trip",
            numbers,
            {
                "scalable": ("low latency (Mbit/s)", 1e-6),
                "classic": ("classic (Mbit/s)", 1e-6),
                "ratio": ("ratio", 1.0),
                "utilization": ("utilisation (%)", 100.0),
            },
        )
    ]


def same_rate(evidence: Evidence) -> list[Check]:
    """The ratio of rates is between a half and two."""
    return [
        check(
            "rate, low latency over classic",
            evidence["rates"][_name(*place)]["ratio"],
            0.5,
            2.0,
            reading=_name(*place),
        )
        for place in _grid()
    ]


def _mix_name(pair: tuple[str, str], rate: int, counts: tuple[int, int]) -> str:
    return f"{counts[0]} {pair[0]} and {counts[1]} {pair[1]}, {rate} Mbit/s"


def measure_mixes(bench: Workbench) -> Numbers:
    """Waits, losses and rates of mixes of flows."""
    places = list(product(_PAIRS, _MIX_RATES, _MIXES))
    networks = {
        _mix_name(pair, rate, counts): _case(rate, _MIX_TRIP_MS, pair, _dual(pair[0]), counts)
        for pair, rate, counts in places
    }
    paths = {
        f"{key} {group}": f"flows.{group}.{path}"
        for group in _GOODPUTS
        for key, path in (
            ("mean", "delay_ms.mean"),
            ("p99", "delay_ms.p99"),
            ("lost", "packets_lost"),
        )
    }
    found = measure(bench, networks, {**_GOODPUTS, **paths}, flow_delays=True)
    for (_, rate, _), each in zip(places, found.values(), strict=True):
        empty = _MIX_TRIP_MS / 2 + _PACKET_BITS / (rate * 1e3)
        for key in ("mean", "p99"):
            for group in _GOODPUTS:
                each[f"{key} {group}"] = [x - empty for x in each[f"{key} {group}"]]
        each["ratio"] = ratios(each["scalable"], each["classic"])
    return found


def draw_mixes(numbers: Numbers) -> Drawing:
    """Mean waits in both queues, a panel for each rate."""
    figure, found = plots.panels([f"{rate} Mbit/s" for rate in _MIX_RATES], sharey=True)
    for rate, axes in zip(_MIX_RATES, found.values(), strict=True):
        for number, (pair, group) in enumerate(product(_PAIRS, _GOODPUTS)):
            samples = [numbers[_mix_name(pair, rate, counts)][f"mean {group}"] for counts in _MIXES]
            label = f"{group} of {pair[0]} and {pair[1]}"
            plots.line(axes, range(len(_MIXES)), samples, label, number, joined=False)
        axes.set_xticks(range(len(_MIXES)), [f"{a} and {b}" for a, b in _MIXES])
        axes.set_yscale("log")
        axes.set_xlabel("flows, low latency and classic")
    first = next(iter(found.values()))
    first.set_ylabel("mean wait (ms)")
    plots.legend_below(figure, first, 2)
    return figure


def mix_tables(numbers: Numbers) -> list[FigureTable]:
    """Waits, losses and ratio of rates."""
    return [
        table(
            f"Mixes with a round trip of {_MIX_TRIP_MS} ms; waits in ms",
            "flows, rate",
            numbers,
            {
                "mean scalable": ("low latency, mean", 1.0),
                "p99 scalable": ("low latency, p99", 1.0),
                "mean classic": ("classic, mean", 1.0),
                "p99 classic": ("classic, p99", 1.0),
                "lost scalable": ("low latency, packets lost", 1.0),
                "ratio": ("ratio of rates", 1.0),
            },
        )
    ]


def below_a_millisecond(evidence: Evidence) -> list[Check]:
    """Packets of low latency wait less than a millisecond on average."""
    return [
        check("mean wait", found["mean scalable"], high=1.0, reading=name, unit="ms")
        for name, found in evidence["mixes"].items()
    ]


def none_lost(evidence: Evidence) -> list[Check]:
    """Not a packet of low latency is lost."""
    return [
        check("packets lost", found["lost scalable"], high=0.0, reading=name)
        for name, found in evidence["mixes"].items()
    ]


def mixes_even(evidence: Evidence) -> list[Check]:
    """In mixes too rates are within a factor of two."""
    return [
        check("rate of a flow, low latency over classic", found["ratio"], 0.5, 2.0, reading=name)
        for name, found in evidence["mixes"].items()
    ]


def classic_at_target(evidence: Evidence) -> list[Check]:
    """Packets of the classic queue wait about 15 ms."""
    return [
        check("mean wait", found["mean classic"], 10.0, 20.0, reading=name, unit="ms")
        for name, found in evidence["mixes"].items()
    ]


def measure_single(bench: Workbench) -> Numbers:
    """Goodput of DCTCP and CUBIC in one queue that marks the one and drops the other alike."""
    queues: dict[str, dict[str, object]] = {
        "PIE": {"discipline": "pie", "mark_probability": 1.0},
        "RED": {"discipline": "adaptive-red", "ecn": True, "limit": "1000 packets"},
    }
    networks = {
        f"{name}, {rate} Mbit/s, {trip} ms": _case(rate, trip, ("dctcp", "cubic"), queue)
        for (name, queue), rate, trip in product(queues.items(), (12, 40, 120), (10, 50))
    }
    found = measure(bench, networks, _GOODPUTS)
    return {
        name: {**each, "share": [b / (a + b) for a, b in zip(*each.values(), strict=True)]}
        for name, each in found.items()
    }


def draw_single(numbers: Numbers) -> Drawing:
    """Share of the classic flow."""
    figure, found = plots.panels(["one queue for both"], 4.0)
    [axes] = found.values()
    samples = [each["share"] for each in numbers.values()]
    plots.line(axes, range(len(samples)), samples, "CUBIC", 0, scale=100.0, joined=False)
    axes.set_xticks(range(len(samples)), [name.replace(", ", "\n") for name in numbers])
    axes.tick_params(axis="x", labelsize=7.5)
    axes.axhline(50, color="#222222", linewidth=0.9)
    axes.set_ylabel("CUBIC’s share of the rate (%)")
    return figure


def single_tables(numbers: Numbers) -> list[FigureTable]:
    """Goodputs and the classic flow's share."""
    return [
        table(
            "DCTCP and CUBIC in one queue",
            "queue, rate, round trip",
            numbers,
            {
                "scalable": ("DCTCP (Mbit/s)", 1e-6),
                "classic": ("CUBIC (Mbit/s)", 1e-6),
                "share": ("CUBIC’s share (%)", 100.0),
            },
        )
    ]


def starves(evidence: Evidence) -> list[Check]:
    """CUBIC gets a tenth at most."""
    return [
        percent("CUBIC’s share of the rate", found["share"], high=0.1, reading=name)
        for name, found in evidence["one-queue"].items()
    ]


PAPER = Paper(
    name="rfc-9332",
    title="Dual-Queue Coupled Active Queue Management (AQM) for L4S",
    authors="K. De Schepper, B. Briscoe, G. White (drafts with O. Bondarenko and I. Tsang)",
    published="RFC 9332, 2023",
    story=(
        (
            "Scalable senders such as DCTCP keep queues of a millisecond, if packets are marked "
            "early and often. Beside them others starve, since they take each mark for a lost "
            "packet. DualPI2 gives the two kinds a queue each, and one probability for both: "
            "scalable packets are marked with twice its value, others marked or dropped with its "
            "square. Rates should then be about the same, though the queue knows of no flows."
        ),
    ),
    open_questions=(
        (
            "The RFC was at hand in its abstract and that of the drafts, which sums the evaluation "
            "up. The grid of rates and round trips and the mixes are ours."
        ),
        (
            "DCTCP, which the evaluation had, is told from others by being ECN-capable at all; "
            "Prague, which came later, by its codepoint. Both are run with Linux’s timers."
        ),
        (
            "Whether the step of 1 ms marks a packet that has none behind it. By default it does; "
            "Linux can be told a length from which the step holds, and 2 packets are run too."
        ),
        "How much “about the same rate” is. A factor of two is ours.",
    ),
    figures=(
        Figure(
            id="rates",
            place="abstract",
            title="Rates of one flow of each kind",
            caption="Means over all seeds with 95 % intervals.",
            settings="40 s of which 15 s are left out; defaults of RFC 9332 and Linux.",
            scenarios=(),
            effort=40.0,
            measure=measure_rates,
            draw=draw_rates,
            tables=rate_tables,
        ),
        Figure(
            id="mixes",
            place="abstract of the drafts",
            title="Waits in mixes of flows",
            caption="Means over all seeds with 95 % intervals.",
            settings=f"Round trip of {_MIX_TRIP_MS} ms. A wait is a packet’s delay less that in an "
            "empty network.",
            scenarios=(),
            effort=25.0,
            measure=measure_mixes,
            draw=draw_mixes,
            tables=mix_tables,
        ),
        Figure(
            id="one-queue",
            place="abstract of the drafts",
            title="DCTCP and CUBIC in one queue",
            caption="Line: equal shares. Means over all seeds with 95 % intervals.",
            settings="PIE and Adaptive RED, which mark DCTCP and drop CUBIC with one probability.",
            scenarios=(),
            effort=8.0,
            measure=measure_single,
            draw=draw_single,
            tables=single_tables,
        ),
    ),
    claims=(
        Claim(
            id="same-rate",
            place="abstract",
            says="A flow runs at about the same rate whether it is scalable or classic.",
            measured="The ratio of the two rates is between a half and two.",
            figures=("rates",),
            checks=same_rate,
            remarks={
                Ruling.IN_PART: (
                    "At 4 and 12 Mbit/s a packet takes 3 and 1 ms to send. A step of 1 ms then "
                    "marks whatever waits at all, and low latency starves, the more so the longer "
                    "the way. With a step that holds from 2 packets on it does not, and Prague has "
                    "up to 2.7 times CUBIC’s rate at 4 Mbit/s. At 40 and 120 Mbit/s DCTCP has 2.3 "
                    "and 2.6 times CUBIC’s over 5 ms with either step."
                )
            },
        ),
        Claim(
            id="same-rate-in-mixes",
            place="abstract of the drafts",
            says="So it does in a wide range of mixes.",
            measured="Likewise, for the mean rates of the two kinds.",
            figures=("mixes",),
            checks=mixes_even,
        ),
        Claim(
            id="below-a-millisecond",
            place="abstract of the drafts",
            says="Scalable packets wait less than a millisecond on average.",
            measured="The mean is below a millisecond in each mix.",
            figures=("mixes",),
            checks=below_a_millisecond,
            remarks={
                Ruling.IN_PART: (
                    "Twenty DCTCP flows at 40 Mbit/s have windows of two packets each, the least "
                    "there is. That is more than the 33 packets that the way holds."
                )
            },
        ),
        Claim(
            id="no-loss",
            place="abstract of the drafts",
            says="Scalable packets are not lost to congestion.",
            measured="Not one in any run, after the first 15 s.",
            figures=("mixes",),
            checks=none_lost,
        ),
        Claim(
            id="classic-target",
            place="the algorithm",
            says="The classic queue is held at a target of 15 ms.",
            measured="The mean wait is between 10 and 20 ms in each mix.",
            figures=("mixes",),
            checks=classic_at_target,
        ),
        Claim(
            id="starves-without",
            place="abstract of the drafts",
            says="In one queue with DCTCP, classic traffic starves.",
            measured="CUBIC gets a tenth of the rate at most (shape).",
            figures=("one-queue",),
            checks=starves,
            remarks={
                Ruling.IN_PART: (
                    "Under PIE CUBIC has a tenth or less. Adaptive RED leaves it up to a fifth."
                )
            },
        ),
    ),
)
