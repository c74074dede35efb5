"""PIE: a probability that a controller moves to hold the waiting time.

R. Pan and others, "PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem", IEEE HPSR
2013. The light, heavy and mixed loads of its simulations, and how far the settings reach.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from vermilion_lab.papers import plots
from vermilion_lab.papers.bottleneck import LINK, check, measure, network, percent, table
from vermilion_lab.papers.interface import Claim, Figure, Paper
from vermilion_lab.papers.measures import differences
from vermilion_lab.papers.verdict import Ruling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure as Drawing

    from vermilion.scenario import Scenario
    from vermilion_lab.papers.interface import Evidence, FigureTable, Numbers
    from vermilion_lab.papers.verdict import Check
    from vermilion_lab.papers.workbench import Workbench

_PACKET: Final = "1000 bytes"
_TCP: Final = {"rtt": "120 ms", "sender": "newreno", "packet_size": _PACKET}
_UDP: Final = {
    "count": 2,
    "traffic": {"kind": "constant-rate", "rate": "6 Mbit/s"},
    "packet_size": _PACKET,
}
_LOADS: Final[Mapping[str, Mapping[str, Mapping[str, object]]]] = {
    "light: 5 TCP": {"tcp": {"count": 5, **_TCP}},
    "heavy: 50 TCP": {"tcp": {"count": 50, **_TCP}},
    "mix: 5 TCP, 2 UDP": {"tcp": {"count": 5, **_TCP}, "udp": _UDP},
}
_TARGETS_MS: Final = (20, 5)
_ESTIMATES: Final = {"departure rate": True, "time stamps": False}
_TAIL: Final = "drop-tail"
_PATHS: Final = {
    "delay": f"links.{LINK}.sojourn_ms.mean",
    "p95": f"links.{LINK}.sojourn_ms.p95",
    "utilization": f"links.{LINK}.utilization",
    "drop_rate": f"links.{LINK}.drop_rate",
}

_RATES: Final = (1, 4, 10, 40, 100)
_TRIPS_MS: Final = (20, 100, 200)
_COUNTS: Final = (5, 50)


def _pie(target_ms: int, *, estimate: bool, limit: int = 200) -> dict[str, object]:
    return {
        "discipline": "pie",
        "target": f"{target_ms} ms",
        "interval": "30 ms",
        "burst_allowance": "100 ms",
        "alpha": 0.125,
        "beta": 1.25,
        "ecn": False,
        "estimate_rate": estimate,
        "maximum_packet_size": _PACKET,
        "limit": f"{limit} packets",
    }


def _case(load: str, queue: Mapping[str, object]) -> Scenario:
    return network("10 Mbit/s", queue, _LOADS[load], "100 s", "20 s")


def measure_loads(bench: Workbench) -> Numbers:
    """Waiting and utilisation under three loads; and the wait over time under the first seed."""
    networks = {
        f"{target} ms, {estimate}, {load}": _case(load, _pie(target, estimate=_ESTIMATES[estimate]))
        for target, estimate, load in product(_TARGETS_MS, _ESTIMATES, _LOADS)
    }
    tails = {
        f"{_TAIL}, {load}": _case(load, {"discipline": "drop-tail", "limit": "200 packets"})
        for load in _LOADS
    }
    traced = [f"{_TARGETS_MS[0]} ms, departure rate, {load}" for load in _LOADS]
    bench.expect(len(traced))
    return {
        "measured": measure(bench, {**networks, **tails}, _PATHS),
        "over time": {
            name: bench.first_trace(networks[name], 0.1).series(LINK)["queue_bytes"].tolist()
            for name in traced
        },
    }


def draw_loads(numbers: Numbers) -> Drawing:
    """The wait that the queue stands for, over time, a panel for each load."""
    figure, found = plots.panels(list(_LOADS), 3.8, sharey=True)
    for axes, sizes in zip(found.values(), numbers["over time"].values(), strict=True):
        waits = [8 * size / 1e4 for size in sizes]
        plots.trace(axes, [0.1 * place for place in range(len(waits))], waits, "queue", 0, 0.7)
        axes.axhline(_TARGETS_MS[0], color="#222222", linewidth=0.9, linestyle=(0, (4, 2)))
        axes.set_xlabel("time (s)")
    next(iter(found.values())).set_ylabel("waiting (ms)")
    return figure


def load_tables(numbers: Numbers) -> list[FigureTable]:
    """All loads, references and estimates."""
    return [
        table(
            "10 Mbit/s",
            "reference, estimate, load",
            numbers["measured"],
            {
                "delay": ("mean delay (ms)", 1.0),
                "p95": ("95th percentile (ms)", 1.0),
                "utilization": ("utilisation (%)", 100.0),
                "drop_rate": ("drop rate (%)", 100.0),
            },
        )
    ]


def holds_reference(evidence: Evidence) -> list[Check]:
    """Mean delay is the reference, to a fifth."""
    return [
        check(
            "mean delay",
            evidence["loads"]["measured"][f"{target} ms, {estimate}, {load}"]["delay"],
            0.8 * target,
            1.2 * target,
            reading=f"{target} ms, {estimate}, {load}",
            unit="ms",
        )
        for target, estimate, load in product(_TARGETS_MS, _ESTIMATES, _LOADS)
    ]


def stays_busy(evidence: Evidence) -> list[Check]:
    """Utilisation is at least 95 %."""
    return [
        percent(
            "utilisation",
            evidence["loads"]["measured"][f"{target} ms, {estimate}, {load}"]["utilization"],
            low=0.95,
            reading=f"{target} ms, {estimate}, {load}",
        )
        for target, estimate, load in product(_TARGETS_MS, _ESTIMATES, _LOADS)
    ]


def below_tail(evidence: Evidence) -> list[Check]:
    """Packets wait less than half as long as in a full buffer."""
    measured = evidence["loads"]["measured"]
    return [
        check(
            "mean delay, PIE less half of drop-tail’s",
            differences(
                measured[f"{_TARGETS_MS[0]} ms, {estimate}, {load}"]["delay"],
                [0.5 * each for each in measured[f"{_TAIL}, {load}"]["delay"]],
            ),
            high=0.0,
            reading=f"{estimate}, {load}",
            unit="ms",
        )
        for estimate, load in product(_ESTIMATES, _LOADS)
    ]


def measure_reach(bench: Workbench) -> Numbers:
    """The same settings over rates, round trips and loads."""
    networks = {
        f"{count} TCP, {trip} ms, {rate} Mbit/s": network(
            f"{rate} Mbit/s",
            _pie(_TARGETS_MS[0], estimate=True, limit=max(20, 20 * rate)),
            {"tcp": {**_TCP, "count": count, "rtt": f"{trip} ms"}},
            "100 s",
            "20 s",
        )
        for count, trip, rate in product(_COUNTS, _TRIPS_MS, _RATES)
    }
    return measure(bench, networks, _PATHS)


def draw_reach(numbers: Numbers) -> Drawing:
    """Mean delay and utilisation over the rate, a column for each number of flows."""
    figure, found = plots.sheet(2, len(_COUNTS), 6.0, sharex=True, sharey="row")
    for column, count in enumerate(_COUNTS):
        for row, (key, words, scale) in enumerate(
            (("delay", "mean delay (ms)", 1.0), ("utilization", "utilisation (%)", 100.0))
        ):
            axes = found[row][column]
            for number, trip in enumerate(_TRIPS_MS):
                samples = [
                    numbers[f"{count} TCP, {trip} ms, {rate} Mbit/s"][key] for rate in _RATES
                ]
                plots.line(axes, _RATES, samples, f"{trip} ms", number, scale=scale)
            axes.set_xscale("log")
            found[row][0].set_ylabel(words)
        found[0][column].axhline(_TARGETS_MS[0], color="#222222", linewidth=0.9)
        found[0][column].set_title(f"{count} TCP", fontsize=10.5)
        found[1][column].set_xlabel("rate (Mbit/s)")
    plots.legend_below(figure, found[0][0])
    return figure


def reach_tables(numbers: Numbers) -> list[FigureTable]:
    """All rates, round trips and loads."""
    return [
        table(
            "Reference of 20 ms",
            "load, round trip, rate",
            numbers,
            {
                "delay": ("mean delay (ms)", 1.0),
                "p95": ("95th percentile (ms)", 1.0),
                "utilization": ("utilisation (%)", 100.0),
                "drop_rate": ("drop rate (%)", 100.0),
            },
        )
    ]


def reaches_far(evidence: Evidence) -> list[Check]:
    """Delay is the reference to a fifth, and the link busy."""
    checks = []
    for name, found in evidence["reach"].items():
        checks += [
            check(
                "mean delay",
                found["delay"],
                0.8 * _TARGETS_MS[0],
                1.2 * _TARGETS_MS[0],
                reading=name,
                unit="ms",
            ),
            percent("utilisation", found["utilization"], low=0.95, reading=name),
        ]
    return checks


PAPER = Paper(
    name="pan-2013",
    title="PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem",
    authors="R. Pan, P. Natarajan, C. Piglione, M. Prabhu, V. Subramanian, F. Baker, B. VerSteeg",
    published="IEEE HPSR 2013",
    story=(
        (
            "PIE drops at random as packets arrive, like RED, but by how long they will wait and "
            "not by how many there are. A controller raises the probability while the wait is "
            "above its reference or grows, and lowers it otherwise. Its gains follow the "
            "probability itself, so that they suit light and heavy loads alike."
        ),
    ),
    open_questions=(
        (
            "The text was at hand in its abstract. Loads are those of a public ns-2 script that "
            "re-runs the paper’s. It has 10 Mbit/s, 120 ms, NewReno, packets of 1000 bytes, 200 "
            "packets of buffer, a reference of 20 ms, and updates each 30 ms."
        ),
        (
            "Whether the wait is worked out from the departure rate, as in 2013, or from time "
            "stamps, as later. Both are run; other heuristics are those of RFC 8033."
        ),
        "How near to the reference is near. A fifth is ours, as is 95 % for a link that is busy.",
    ),
    figures=(
        Figure(
            id="loads",
            place="light, heavy and mixed loads",
            title="The wait under three loads",
            caption="First seed; dashed: the reference. The table has a reference of 5 ms too.",
            settings="100 s of which 20 s are left out. UDP sends 6 Mbit/s from each of two.",
            scenarios=(),
            effort=2.0,
            measure=measure_loads,
            draw=draw_loads,
            tables=load_tables,
        ),
        Figure(
            id="reach",
            place="abstract",
            title="The same settings at other rates, round trips and loads",
            caption="Line: the reference. Means over all seeds with 95 % intervals.",
            settings="1 to 100 Mbit/s, 20 to 200 ms, 5 and 50 transfers, buffers of 160 ms (ours).",
            scenarios=(),
            effort=12.0,
            measure=measure_reach,
            draw=draw_reach,
            tables=reach_tables,
        ),
    ),
    claims=(
        Claim(
            id="holds-reference",
            place="abstract",
            says="PIE controls the average queueing latency to a reference value.",
            measured="Under each load the mean delay is the reference, to a fifth.",
            figures=("loads",),
            checks=holds_reference,
        ),
        Claim(
            id="busy",
            place="abstract",
            says="PIE achieves a high utilisation of the link.",
            measured="Under each load it is at least 95 %.",
            figures=("loads",),
            checks=stays_busy,
        ),
        Claim(
            id="low-latency",
            place="abstract",
            says="PIE ensures low latency.",
            measured="Packets wait less than half as long as in a full buffer (shape).",
            figures=("loads",),
            checks=below_tail,
        ),
        Claim(
            id="robust",
            place="abstract",
            says="Its parameters tune themselves, so that PIE suits various networks.",
            measured="With the same settings the mean delay is the reference, to a fifth, and the "
            "link at least 95 % busy (shape).",
            figures=("reach",),
            checks=reaches_far,
            remarks={
                Ruling.IN_PART: (
                    "At 1 Mbit/s a packet takes 8 ms to send, and waits are 24 to 25 ms. Five "
                    "transfers over 200 ms at 40 and 100 Mbit/s have windows so large that the "
                    "queue runs empty after a loss. Their waits are below the reference, at no "
                    "cost to the link."
                )
            },
        ),
    ),
)
