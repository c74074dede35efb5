"""Copa: a rate of one over the waiting time, with a way to hold its own against CUBIC.

V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI
2018. The delay-throughput plane of one to eight flows, different round trips, flows of CUBIC beside
it, and random loss.

The sender is the documentation's example of a plug-in, docs/examples/copa.py, in two readings: with
the competitive mode and without, as a large deployment has it.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Final

from vermilion.scenario.plugins import registered_name
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
from vermilion_lab.papers.copa import Copa
from vermilion_lab.papers.interface import Claim, Figure, Paper
from vermilion_lab.papers.measures import differences
from vermilion_lab.papers.verdict import Ruling

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion._core import Window
    from vermilion_lab.papers.interface import Evidence, FigureTable, Numbers
    from vermilion_lab.papers.verdict import Check
    from vermilion_lab.papers.workbench import Workbench

_RATE_MBIT: Final = 24
_TRIP_MS: Final = 40
_PIPE: Final = _RATE_MBIT * _TRIP_MS * 1e3 / 12_000
_COUNTS: Final = (1, 2, 4, 8)
_COPA: Final = "Copa"
_ALONE: Final = "Copa, default mode"
_READINGS: Final = (_COPA, _ALONE)
_TRIPS: Final = ["20 ms", "40 ms", "60 ms", "80 ms", "100 ms", "120 ms"]
_RIVALS: Final = (1, 4)
_PIPES: Final = (1, 2, 4)
_LOSSES: Final = (0.001, 0.01, 0.05)
_PER_FLOW: Final = 5.0
"""Packets of each flow in the queue at its fullest: 2.5 / delta, delta being a half."""


class DefaultModeCopa(Copa):
    """Copa that never competes: each flow wants 1 / delta packets in the queue."""

    name = "copa-default-mode"

    def turn(self, now: int, standing: int, window: Window, *, below: bool) -> None:
        """As Copa, but whatever it sees, it stays in the default mode."""
        super().turn(now, standing, window, below=below)
        self.packets = 1 / self.delta


@cache
def _senders() -> dict[str, object]:
    """Senders by the names of the figures; Copa is registered when it is first asked for."""
    return {
        _COPA: registered_name(Copa),
        _ALONE: registered_name(DefaultModeCopa),
        "CUBIC": linux("cubic"),
        "BBR": linux("bbr1"),
    }


def _tail(pipes: float) -> dict[str, object]:
    return {"discipline": "drop-tail", "limit": f"{round(pipes * _PIPE)} packets"}


_QUEUE: Final = {
    "p5": f"links.{LINK}.queue_packets.p5",
    "p95": f"links.{LINK}.queue_packets.p95",
    "delay": f"links.{LINK}.sojourn_ms.mean",
    "utilization": f"links.{LINK}.utilization",
}


def measure_plane(bench: Workbench) -> Numbers:
    """Delay and throughput of one to eight flows of each sender."""
    networks = {
        f"{name}, {count} flows": network(
            f"{_RATE_MBIT} Mbit/s",
            _tail(5),
            {"own": {"count": count, "rtt": f"{_TRIP_MS} ms", "sender": sender}},
            "40 s",
            "10 s",
        )
        for (name, sender), count in product(_senders().items(), _COUNTS)
    }
    return measure(bench, networks, {**_QUEUE, "jain": "flows.own.jain_index"})


def draw_plane(numbers: Numbers) -> Drawing:
    """Utilisation over delay, a panel for each number of flows."""
    figure, found = plots.panels([f"{count} flows" for count in _COUNTS], 3.6, sharey=True)
    for count, axes in zip(_COUNTS, found.values(), strict=True):
        for number, name in enumerate((*_READINGS, "CUBIC", "BBR")):
            each = numbers[f"{name}, {count} flows"]
            axes.plot(
                each["delay"],
                [100 * share for share in each["utilization"]],
                linestyle="none",
                marker=plots.MARKERS[number],
                color=plots.COLOURS[number],
                markersize=5,
                label=name,
            )
        axes.set_xscale("log")
        axes.invert_xaxis()
        axes.set_xlabel("mean wait (ms)")
    first = next(iter(found.values()))
    first.set_ylabel("utilisation (%)")
    plots.legend_below(figure, first)
    return figure


def plane_tables(numbers: Numbers) -> list[FigureTable]:
    """Delay, queue, throughput and fairness."""
    return [
        table(
            f"{_RATE_MBIT} Mbit/s, {_TRIP_MS} ms, buffer of 5 BDP",
            "sender, flows",
            numbers,
            {
                "delay": ("mean wait (ms)", 1.0),
                "p5": ("queue, p5 (packets)", 1.0),
                "p95": ("p95 (packets)", 1.0),
                "utilization": ("utilisation (%)", 100.0),
                "jain": ("Jain’s index", 1.0),
            },
        )
    ]


def as_fast(evidence: Evidence) -> list[Check]:
    """Copa uses the link no more than 2 % less than CUBIC."""
    numbers = evidence["plane"]
    return [
        percent(
            "utilisation, less CUBIC’s",
            differences(
                numbers[f"{name}, {count} flows"]["utilization"],
                numbers[f"CUBIC, {count} flows"]["utilization"],
            ),
            low=-0.02,
            reading=f"{name}, {count} flows",
        )
        for name, count in product(_READINGS, _COUNTS)
    ]


def shorter(evidence: Evidence) -> list[Check]:
    """Packets wait at most a quarter as long as with CUBIC."""
    numbers = evidence["plane"]
    return [
        percent(
            "mean wait over CUBIC’s",
            ratios(
                numbers[f"{name}, {count} flows"]["delay"],
                numbers[f"CUBIC, {count} flows"]["delay"],
            ),
            high=0.25,
            reading=f"{name}, {count} flows",
        )
        for name, count in product(_READINGS, _COUNTS)
    ]


def cycles(evidence: Evidence) -> list[Check]:
    """The queue goes from nearly none to 2.5 / delta packets of all flows together."""
    checks = []
    for name, count in product(_READINGS, _COUNTS):
        found = evidence["plane"][f"{name}, {count} flows"]
        most = _PER_FLOW * count
        reading = f"{name}, {count} flows"
        checks += [
            check("queue, p95", found["p95"], high=most, reading=reading, unit="packets"),
            check("queue, p5", found["p5"], high=0.2 * most, reading=reading, unit="packets"),
        ]
    return checks


def measure_trips(bench: Workbench) -> Numbers:
    """Goodputs of six flows with 20 to 120 ms."""
    networks = {
        name: network(
            f"{_RATE_MBIT} Mbit/s",
            _tail(5),
            {"own": {"count": len(_TRIPS), "rtt": _TRIPS, "sender": sender}},
            "60 s",
            "20 s",
        )
        for name, sender in _senders().items()
    }
    return measure(bench, networks, {**_QUEUE, "jain": "flows.own.jain_index"})


def draw_trips(numbers: Numbers) -> Drawing:
    """Jain's index of each sender."""
    figure, found = plots.panels(["six flows with 20 to 120 ms"], 3.6)
    [axes] = found.values()
    samples = [each["jain"] for each in numbers.values()]
    plots.line(axes, range(len(samples)), samples, "", 0, joined=False)
    axes.set_xticks(range(len(samples)), list(numbers))
    axes.set_ylabel("Jain’s index")
    return figure


def trip_tables(numbers: Numbers) -> list[FigureTable]:
    """Fairness and delay."""
    return [
        table(
            "Six flows with 20 to 120 ms",
            "sender",
            numbers,
            {"jain": ("Jain’s index", 1.0), "delay": ("mean wait (ms)", 1.0)},
        )
    ]


def fairer(evidence: Evidence) -> list[Check]:
    """Jain's index is above CUBIC's."""
    numbers = evidence["round-trips"]
    return [
        check(
            "Jain’s index, less CUBIC’s",
            differences(numbers[name]["jain"], numbers["CUBIC"]["jain"]),
            low=0.0,
            reading=name,
        )
        for name in _READINGS
    ]


def measure_beside(bench: Workbench) -> Numbers:
    """Share of one flow of Copa, and of BBR, beside CUBIC."""
    senders = _senders()
    networks = {
        f"{name} beside {count}, {pipes} BDP": network(
            f"{_RATE_MBIT} Mbit/s",
            _tail(pipes),
            {
                "own": {"rtt": f"{_TRIP_MS} ms", "sender": senders[name]},
                "cubic": {"count": count, "rtt": f"{_TRIP_MS} ms", "sender": senders["CUBIC"]},
            },
            "80 s",
            "20 s",
        )
        for name, count, pipes in product((_COPA, "BBR"), _RIVALS, _PIPES)
    }
    paths = {group: f"flows.{group}.goodput_bit_per_s.mean" for group in ("own", "cubic")}
    return {
        name: {
            **each,
            "ratio": ratios(each["own"], each["cubic"]),
            "unfairness": [
                max(a, b) / max(min(a, b), 1.0)
                for a, b in zip(each["own"], each["cubic"], strict=True)
            ],
        }
        for name, each in measure(bench, networks, paths).items()
    }


def draw_beside(numbers: Numbers) -> Drawing:
    """Goodput over that of a CUBIC flow, a panel for each number of rivals."""
    figure, found = plots.panels([f"beside {count} CUBIC" for count in _RIVALS], 3.8, sharey=True)
    for count, axes in zip(_RIVALS, found.values(), strict=True):
        for number, name in enumerate((_COPA, "BBR")):
            samples = [numbers[f"{name} beside {count}, {p} BDP"]["ratio"] for p in _PIPES]
            plots.line(axes, _PIPES, samples, name, number)
        axes.axhline(1.0, color="#222222", linewidth=0.9)
        axes.set_yscale("log")
        axes.set_xlabel("buffer (BDP)")
    first = next(iter(found.values()))
    first.set_ylabel("goodput over a CUBIC flow’s")
    first.legend()
    return figure


def beside_tables(numbers: Numbers) -> list[FigureTable]:
    """Goodputs and their ratio."""
    return [
        table(
            "One flow beside CUBIC",
            "flows, buffer",
            numbers,
            {
                "own": ("its goodput (Mbit/s)", 1e-6),
                "cubic": ("a CUBIC flow’s (Mbit/s)", 1e-6),
                "ratio": ("ratio", 1.0),
            },
        )
    ]


def coexists(evidence: Evidence) -> list[Check]:
    """Copa and a CUBIC flow are within a factor of three."""
    return [
        check(
            "goodput over a CUBIC flow’s",
            evidence["beside-cubic"][f"{_COPA} beside {count}, {pipes} BDP"]["ratio"],
            1 / 3,
            3.0,
            reading=f"{count} CUBIC, {pipes} BDP",
        )
        for count, pipes in product(_RIVALS, _PIPES)
    ]


def unlike_bbr(evidence: Evidence) -> list[Check]:
    """The greater goodput over the smaller is less than with BBR in Copa's place."""
    numbers = evidence["beside-cubic"]
    return [
        check(
            "greater goodput over the smaller, Copa less BBR",
            differences(
                numbers[f"{_COPA} beside {count}, {pipes} BDP"]["unfairness"],
                numbers[f"BBR beside {count}, {pipes} BDP"]["unfairness"],
            ),
            high=0.0,
            reading=f"{count} CUBIC, {pipes} BDP",
        )
        for count, pipes in product(_RIVALS, _PIPES)
    ]


def measure_loss(bench: Workbench) -> Numbers:
    """Goodput of one flow under random loss."""
    senders = _senders()
    networks = {
        f"{name}, {100 * loss:g} %": network(
            "12 Mbit/s",
            _tail(2),
            {"own": {"rtt": "50 ms", "sender": senders[name]}},
            "30 s",
            "5 s",
            link={"loss": {"model": "bernoulli", "probability": loss}},
        )
        for name, loss in product((_COPA, "CUBIC"), _LOSSES)
    }
    return measure(bench, networks, {"goodput": "flows.own.goodput_bit_per_s.total"})


def draw_loss(numbers: Numbers) -> Drawing:
    """Goodput over the loss."""
    figure, found = plots.panels(["one flow, 12 Mbit/s, 50 ms"], 3.6)
    [axes] = found.values()
    for number, name in enumerate((_COPA, "CUBIC")):
        samples = [numbers[f"{name}, {100 * loss:g} %"]["goodput"] for loss in _LOSSES]
        plots.line(axes, [100 * loss for loss in _LOSSES], samples, name, number, scale=1e-6)
    axes.set_xscale("log")
    axes.set_xlabel("random loss (%)")
    axes.set_ylabel("goodput (Mbit/s)")
    axes.legend()
    return figure


def loss_tables(numbers: Numbers) -> list[FigureTable]:
    """Goodputs."""
    return [table("Random loss", "sender, loss", numbers, {"goodput": ("goodput (Mbit/s)", 1e-6)})]


def robust(evidence: Evidence) -> list[Check]:
    """Goodput is at least nine tenths of the rate less the losses."""
    return [
        percent(
            "goodput over the rate less the losses",
            [
                each / (12e6 * (1 - loss))
                for each in evidence["random-loss"][f"{_COPA}, {100 * loss:g} %"]["goodput"]
            ],
            low=0.9,
            reading=f"loss of {100 * loss:g} %",
        )
        for loss in _LOSSES
    ]


PAPER = Paper(
    name="arun-2018",
    title="Copa: Practical Delay-Based Congestion Control for the Internet",
    authors="V. Arun, H. Balakrishnan",
    published="USENIX NSDI 2018",
    story=(
        (
            "Copa steers towards a rate of 1 / (delta d) packets a second, d being the time that "
            "packets wait. Flows that do so keep a few packets each in the queue and empty it "
            "every five round trips. Whoever never sees the queue empty has others beside him who "
            "fill it. He then competes: delta shrinks for as long as nothing is lost."
        ),
    ),
    open_questions=(
        (
            "The text was at hand in its abstract and in notes on sections 1 to 3. Rates, round "
            "trips and buffers are ours (shape)."
        ),
        (
            "The sender is the documentation’s example of a plug-in, and no other implementation "
            "was run beside it. Its window is never below two packets, and its velocity never "
            "above a quarter of the window a round trip."
        ),
        (
            "Whether the competitive mode is on: both are run. Without it is how mvfst, a library "
            "for QUIC, has it."
        ),
    ),
    figures=(
        Figure(
            id="plane",
            place="abstract, section 3",
            title="Delay and throughput of one to eight flows",
            caption="A point for each seed; better is up and to the right.",
            settings=f"{_RATE_MBIT} Mbit/s, {_TRIP_MS} ms, buffer of 5 bandwidth-delay products.",
            scenarios=(),
            effort=25.0,
            measure=measure_plane,
            draw=draw_plane,
            tables=plane_tables,
        ),
        Figure(
            id="round-trips",
            place="abstract",
            title="Flows with different round trips",
            caption="Means over all seeds with 95 % intervals.",
            settings=f"{_RATE_MBIT} Mbit/s, six flows with 20 to 120 ms.",
            scenarios=(),
            effort=10.0,
            measure=measure_trips,
            draw=draw_trips,
            tables=trip_tables,
        ),
        Figure(
            id="beside-cubic",
            place="abstract",
            title="One flow beside CUBIC",
            caption="Line: equal goodputs. Means over all seeds with 95 % intervals.",
            settings=f"{_RATE_MBIT} Mbit/s, {_TRIP_MS} ms, 80 s of which 20 s are left out.",
            scenarios=(),
            effort=20.0,
            measure=measure_beside,
            draw=draw_beside,
            tables=beside_tables,
        ),
        Figure(
            id="random-loss",
            place="abstract",
            title="Random loss",
            caption="Means over all seeds with 95 % intervals.",
            settings="12 Mbit/s, 50 ms.",
            scenarios=(),
            effort=3.0,
            measure=measure_loss,
            draw=draw_loss,
            tables=loss_tables,
        ),
    ),
    claims=(
        Claim(
            id="similar-throughput",
            place="abstract",
            says="Copa’s throughput is similar to CUBIC’s.",
            measured="The link is used no more than 2 points less.",
            figures=("plane",),
            checks=as_fast,
        ),
        Claim(
            id="lower-delay",
            place="abstract",
            says="Copa’s delay is much lower than CUBIC’s.",
            measured="Mean waits are a quarter of CUBIC’s at most; a quarter is ours.",
            figures=("plane",),
            checks=shorter,
            remarks={
                Ruling.IN_PART: (
                    "In the default mode it holds for any number of flows. With the competitive "
                    "mode several Copa flows take each other for buffer-fillers and fill the "
                    "buffer, which Copa+ (INFOCOM 2022) reports as well."
                )
            },
        ),
        Claim(
            id="cycle",
            place="section 3",
            says="The queue swings between nothing and 2.5 / delta packets of all flows together.",
            measured="Its 95th percentile is at most that, 5 packets a flow; its 5th at most a "
            "fifth of that.",
            figures=("plane",),
            checks=cycles,
            remarks={
                Ruling.IN_PART: (
                    "In the default mode it is so, but for peaks that are a little higher with "
                    "four and eight flows. With the competitive mode it is so with one flow "
                    "alone."
                )
            },
        ),
        Claim(
            id="fairer",
            place="abstract",
            says="Copa is fairer than CUBIC when round trips differ.",
            measured="Jain’s index of six flows is higher.",
            figures=("round-trips",),
            checks=fairer,
            remarks={
                Ruling.IN_PART: (
                    "In the default mode it is. With the competitive mode flows fill the buffer, "
                    "and what they get varies from seed to seed."
                )
            },
        ),
        Claim(
            id="coexists",
            place="abstract",
            says="Copa coexists well with CUBIC.",
            measured="Its goodput is within a factor of three of a CUBIC flow’s; the factor is "
            "ours.",
            figures=("beside-cubic",),
            checks=coexists,
        ),
        Claim(
            id="unlike-bbr",
            place="abstract",
            says="BBR does not coexist as well.",
            measured="The greater goodput over the smaller is less with Copa than with BBR.",
            figures=("beside-cubic",),
            checks=unlike_bbr,
            remarks={
                Ruling.IN_PART: (
                    "In a buffer of 4 products one CUBIC flow takes more from Copa than from BBR, "
                    "whose share happens to be near a half there."
                )
            },
        ),
        Claim(
            id="robust",
            place="abstract",
            says="Copa is robust to loss without congestion.",
            measured="Goodput is at least 90 % of the rate less the losses.",
            figures=("random-loss",),
            checks=robust,
        ),
    ),
)
