"""BBR: a model of the path in place of losses, and what others measured of how it shares.

N. Cardwell and others, "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016. Figures 7
(delay), 8 (five flows), 10 (random loss) and 12 (buffers of a slow link). Then its queue and losses
with several flows (Hock and others, ICNP 2017), its share beside CUBIC by the number of flows (Ware
and others, IMC 2019) and by the buffer (Cao and others, IMC 2019).
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
from vermilion_lab.papers.measures import differences, jain
from vermilion_lab.papers.verdict import Ruling

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion_lab.papers.interface import Evidence, FigureTable, Numbers
    from vermilion_lab.papers.verdict import Check
    from vermilion_lab.papers.workbench import Workbench

_PACKET_BITS: Final = 12_000
_SENDERS: Final = {"BBR": "bbr1", "CUBIC": "cubic"}
_BUFFER_7: Final = 208
"""Packets of figure 7's buffer: 250 ms at 10 Mbit/s."""
_TRIP_7_MS: Final = 40
_LOSSES: Final = (1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
_AT_LIMIT: Final = 0.05
_CLOSE: Final = 0.15
_JOINING: Final = 5
_BUFFERS_KB: Final = (150, 500, 1000, 3000, 9750)
_COUNTS: Final = (2, 6, 16)
_PIPES: Final = (0.1, 0.5, 1, 1.5, 2, 8)
_RIVALS: Final = (1, 4, 16)
_DEEP: Final = (4, 16)
_SHARED: Final = {"10 kB": 7, "100 kB": 67, "5 MB": 3333, "10 MB": 6667}
"""Buffers beside CUBIC, in packets."""

_QUEUE_PATHS: Final = {f: f"links.{LINK}.queue_packets.{f}" for f in ("p5", "p50", "p95", "mean")}
_USE: Final = {
    "utilization": f"links.{LINK}.utilization",
    "drop_rate": f"links.{LINK}.drop_rate",
}


def _tail(packets: float) -> dict[str, object]:
    return {"discipline": "drop-tail", "limit": f"{max(2, round(packets))} packets"}


def _pipe(rate_mbit: float, trip_ms: float) -> float:
    return rate_mbit * 1e3 * trip_ms / _PACKET_BITS


def _own(
    sender: str, trip_ms: int, count: int = 1, start: str = "0 s .. 0.5 s"
) -> dict[str, object]:
    return {"count": count, "rtt": f"{trip_ms} ms", "sender": linux(sender), "start": start}


def measure_delay(bench: Workbench) -> Numbers:
    """The queue of one flow, and how it goes on over eight seconds under the first seed."""
    cases = {
        name: network(
            "10 Mbit/s", _tail(_BUFFER_7), {"own": _own(sender, _TRIP_7_MS)}, "60 s", "10 s"
        )
        for name, sender in _SENDERS.items()
    }
    bench.expect(len(cases))
    return {
        "measured": measure(bench, cases, {**_QUEUE_PATHS, **_USE}),
        "over time": {
            name: bench.first_trace(case, 0.01).series(LINK)["queue_packets"][1000:1800].tolist()
            for name, case in cases.items()
        },
    }


def draw_delay(numbers: Numbers) -> Drawing:
    """The round trip that the queue makes of 40 ms, over time."""
    figure, found = plots.panels(["one flow"], 3.8)
    [axes] = found.values()
    for number, (name, sizes) in enumerate(numbers["over time"].items()):
        trips = [_TRIP_7_MS + 1.2 * size for size in sizes]
        plots.trace(axes, [10 + 0.01 * place for place in range(len(trips))], trips, name, number)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("round trip (ms)")
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure


def delay_tables(numbers: Numbers) -> list[FigureTable]:
    """Queue and use of the link."""
    return [
        table(
            f"10 Mbit/s, 40 ms, buffer of {_BUFFER_7} packets",
            "sender",
            numbers["measured"],
            {
                "p5": ("queue, 5th percentile (packets)", 1.0),
                "p50": ("median", 1.0),
                "p95": ("95th", 1.0),
                "utilization": ("utilisation (%)", 100.0),
            },
        )
    ]


def cubic_fills(evidence: Evidence) -> list[Check]:
    """CUBIC's queue is 70 to 100 % of the buffer."""
    found = evidence["figure-7"]["measured"]["CUBIC"]
    return [
        percent(
            f"{words} of the queue over the buffer", [x / _BUFFER_7 for x in found[key]], low, 1
        )
        for key, words, low in (("p5", "5th percentile", 0.65), ("p95", "95th percentile", 0.9))
    ]


def bbr_flat(evidence: Evidence) -> list[Check]:
    """BBR's round trip is that of the empty path, to a quarter; and the link is used."""
    found = evidence["figure-7"]["measured"]["BBR"]
    return [
        check(
            f"round trip, {words}",
            [_TRIP_7_MS + 1.2 * size for size in found[key]],
            high=1.25 * _TRIP_7_MS,
            unit="ms",
        )
        for key, words in (("p50", "median"), ("mean", "mean"))
    ] + [percent("utilisation", found["utilization"], low=0.95)]


def measure_loss(bench: Workbench) -> Numbers:
    """Goodput of 60 s over the probability of random loss."""
    networks = {
        f"{name}, {100 * loss:g} %": network(
            "100 Mbit/s",
            _tail(4 * _pipe(100, 100)),
            {"own": _own(sender, 100, start="0 s .. 0.1 s")},
            "60 s",
            "0 s",
            link={"loss": {"model": "bernoulli", "probability": loss}},
        )
        for (name, sender), loss in product(_SENDERS.items(), _LOSSES)
    }
    return measure(bench, networks, {"goodput": "flows.own.goodput_bit_per_s.total"})


def draw_loss(numbers: Numbers) -> Drawing:
    """Goodput over the loss, and the most there can be."""
    figure, found = plots.panels(["one flow of 60 s"])
    [axes] = found.values()
    percents = [100 * loss for loss in _LOSSES]
    for number, name in enumerate(_SENDERS):
        samples = [numbers[f"{name}, {100 * loss:g} %"]["goodput"] for loss in _LOSSES]
        plots.line(axes, percents, samples, name, number, scale=1e-6)
    axes.plot(percents, [100 * (1 - loss) for loss in _LOSSES], color="#222222", label="limit")
    axes.set_xscale("log")
    axes.set_xlabel("random loss (%)")
    axes.set_ylabel("goodput (Mbit/s)")
    axes.legend()
    return figure


def loss_tables(numbers: Numbers) -> list[FigureTable]:
    """Goodputs."""
    return [
        table(
            "100 Mbit/s, 100 ms", "sender, loss", numbers, {"goodput": ("goodput (Mbit/s)", 1e-6)}
        )
    ]


def cubic_collapses(evidence: Evidence) -> list[Check]:
    """At 0.1 % CUBIC has a tenth, and from 1 % on next to nothing."""
    numbers = evidence["figure-10"]
    checks = [
        percent(
            "goodput at 0.1 % over that at 0.001 %",
            ratios(numbers["CUBIC, 0.1 %"]["goodput"], numbers["CUBIC, 0.001 %"]["goodput"]),
            high=0.15,
        )
    ]
    return checks + [
        check(
            "goodput",
            numbers[f"CUBIC, {100 * loss:g} %"]["goodput"],
            high=2e6,
            reading=f"loss of {100 * loss:g} %",
            unit="Mbit/s",
            scale=1e-6,
        )
        for loss in _LOSSES
        if loss > 0.01  # noqa: PLR2004 - the paper's
    ]


def _of_limit(evidence: Evidence, least: float, low: float, high: float) -> list[Check]:
    return [
        percent(
            "goodput over the link’s rate less the losses",
            [
                each / (1e8 * (1 - loss))
                for each in evidence["figure-10"][f"BBR, {100 * loss:g} %"]["goodput"]
            ],
            low=least,
            reading=f"loss of {100 * loss:g} %",
        )
        for loss in _LOSSES
        if low < loss <= high
    ]


def at_limit(evidence: Evidence) -> list[Check]:
    """Up to 5 % BBR has nine tenths of what is possible."""
    return _of_limit(evidence, 0.9, 0.0, _AT_LIMIT)


def close_to_limit(evidence: Evidence) -> list[Check]:
    """Up to 15 % BBR has three quarters of what is possible."""
    return _of_limit(evidence, 0.75, _AT_LIMIT, _CLOSE)


def falls_at_last(evidence: Evidence) -> list[Check]:
    """Above 20 % BBR has less than a tenth of what is possible."""
    return [
        percent(
            "goodput over the link’s rate less the losses",
            [
                each / (1e8 * (1 - loss))
                for each in evidence["figure-10"][f"BBR, {100 * loss:g} %"]["goodput"]
            ],
            high=0.1,
            reading=f"loss of {100 * loss:g} %",
        )
        for loss in _LOSSES
        if loss > 0.2  # noqa: PLR2004 - 1 - 1 / 1.25
    ]


def measure_joining(bench: Workbench) -> Numbers:
    """Goodput of five flows that have started one after the other."""
    case = network(
        "100 Mbit/s",
        _tail(10 * _pipe(100, 10)),
        {
            f"flow{place + 1}": _own("bbr1", 10, start=f"{2 * place} s .. {2 * place + 0.1} s")
            for place in range(_JOINING)
        },
        "70 s",
        "20 s",
    )
    paths = {
        f"flow{place + 1}": f"flows.flow{place + 1}.goodput_bit_per_s.total"
        for place in range(_JOINING)
    }
    return measure(bench, {"BBR": case}, paths)


def draw_joining(numbers: Numbers) -> Drawing:
    """Goodput of each flow."""
    figure, found = plots.panels(["from 20 to 70 s"], 3.8)
    [axes] = found.values()
    samples = list(numbers["BBR"].values())
    plots.line(axes, range(1, _JOINING + 1), samples, "BBR", 0, scale=1e-6, joined=False)
    axes.axhline(100 / _JOINING, color="#222222", linewidth=0.9)
    axes.set_xlabel("flow, in the order of starts")
    axes.set_ylabel("goodput (Mbit/s)")
    axes.set_ylim(bottom=0)
    return figure


def joining_tables(numbers: Numbers) -> list[FigureTable]:
    """Goodputs and Jain's index."""
    columns = {f"flow{place + 1}": (f"flow {place + 1}", 1e-6) for place in range(_JOINING)}
    return [
        table(
            "Goodput (Mbit/s)",
            "sender",
            {name: {**found, "jain": jain(found.values())} for name, found in numbers.items()},
            {**columns, "jain": ("Jain’s index", 1.0)},
        )
    ]


def converges(evidence: Evidence) -> list[Check]:
    """Jain's index is at least 0.95."""
    return [check("Jain’s index", jain(evidence["figure-8"]["BBR"].values()), low=0.95)]


def measure_slow(bench: Workbench) -> Numbers:
    """Wait on a link of 128 kbit/s with eight flows over the buffer."""
    networks = {
        f"{name}, {size} kB": network(
            "128 kbit/s",
            _tail(size / 1.5),
            {"own": _own(sender, 40, 8)},
            "3000 s",
            "1000 s",
        )
        for (name, sender), size in product(_SENDERS.items(), _BUFFERS_KB)
    }
    return measure(bench, networks, {**_QUEUE_PATHS, "wait": f"links.{LINK}.sojourn_ms.p50"})


def draw_slow(numbers: Numbers) -> Drawing:
    """Median wait over the buffer."""
    figure, found = plots.panels(["128 kbit/s, 8 flows"])
    [axes] = found.values()
    for number, name in enumerate(_SENDERS):
        samples = [numbers[f"{name}, {size} kB"]["wait"] for size in _BUFFERS_KB]
        plots.line(axes, _BUFFERS_KB, samples, name, number, scale=1e-3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("buffer (kB)")
    axes.set_ylabel("median wait (s)")
    axes.legend()
    return figure


def slow_tables(numbers: Numbers) -> list[FigureTable]:
    """Waits."""
    return [
        table("128 kbit/s, 40 ms", "sender, buffer", numbers, {"wait": ("median wait (s)", 1e-3)})
    ]


def bbr_ignores_buffer(evidence: Evidence) -> list[Check]:
    """BBR's median wait is that with the smallest buffer, to a tenth."""
    numbers = evidence["figure-12"]
    first = numbers[f"BBR, {_BUFFERS_KB[0]} kB"]["wait"]
    return [
        check(
            "median wait over that with 150 kB",
            ratios(numbers[f"BBR, {size} kB"]["wait"], first),
            0.9,
            1.1,
            reading=f"{size} kB",
        )
        for size in _BUFFERS_KB[1:]
    ]


def cubic_follows_buffer(evidence: Evidence) -> list[Check]:
    """CUBIC's median wait is at least half of the buffer's."""
    return [
        percent(
            "median wait over that in a full buffer",
            [
                each / (size * 8 / 0.128)
                for each in evidence["figure-12"][f"CUBIC, {size} kB"]["wait"]
            ],
            0.5,
            1.01,
            reading=f"{size} kB",
        )
        for size in _BUFFERS_KB
    ]


def measure_several(bench: Workbench) -> Numbers:
    """Queue and losses of several BBR flows, and of as many of CUBIC, over the buffer."""
    pipe = _pipe(100, 40)
    networks = {
        f"{count} {name}, {size:g} BDP": network(
            "100 Mbit/s",
            _tail(size * pipe),
            {"own": _own(sender, 40, count, "0 s .. 3 s")},
            "45 s",
            "25 s",
        )
        for (name, sender), count, size in product(_SENDERS.items(), _COUNTS, _PIPES)
        if name == "BBR" or count == _COUNTS[1]
    }
    found = measure(bench, networks, {**_QUEUE_PATHS, **_USE})
    for each in found.values():
        each["queue"] = [size / pipe for size in each["p50"]]
    return found


def draw_several(numbers: Numbers) -> Drawing:
    """Median queue and drop rate over the buffer."""
    figure, found = plots.panels(["queue", "losses"])
    groups = [f"{count} BBR" for count in _COUNTS] + [f"{_COUNTS[1]} CUBIC"]
    for axes, key, scale in zip(found.values(), ("queue", "drop_rate"), (1.0, 100.0), strict=True):
        for number, group in enumerate(groups):
            samples = [numbers[f"{group}, {size:g} BDP"][key] for size in _PIPES]
            plots.line(axes, _PIPES, samples, group, number, scale=scale)
        axes.set_xscale("log")
        axes.set_xlabel("buffer (bandwidth-delay products)")
    found["queue"].set_ylabel("median queue (bandwidth-delay products)")
    found["losses"].set_ylabel("drop rate (%)")
    plots.legend_below(figure, found["queue"])
    return figure


def several_tables(numbers: Numbers) -> list[FigureTable]:
    """Queue, losses and use of the link."""
    return [
        table(
            "100 Mbit/s, 40 ms",
            "flows, buffer",
            numbers,
            {
                "queue": ("median queue (BDP)", 1.0),
                "drop_rate": ("drop rate (%)", 100.0),
                "utilization": ("utilisation (%)", 100.0),
            },
        )
    ]


def standing_queue(evidence: Evidence) -> list[Check]:
    """In a large buffer the median queue is 1 to 1.5 bandwidth-delay products."""
    return [
        check(
            "median queue",
            evidence["hock"][f"{count} BBR, {_PIPES[-1]:g} BDP"]["queue"],
            1.0,
            1.5,
            reading=f"{count} flows",
            unit="BDP",
        )
        for count in _COUNTS
    ]


def shallow_losses(evidence: Evidence) -> list[Check]:
    """Below one bandwidth-delay product losses are at least ten times CUBIC's."""
    numbers = evidence["hock"]
    return [
        check(
            "drop rate over CUBIC’s",
            ratios(
                numbers[f"{_COUNTS[1]} BBR, {size:g} BDP"]["drop_rate"],
                numbers[f"{_COUNTS[1]} CUBIC, {size:g} BDP"]["drop_rate"],
            ),
            low=10.0,
            reading=f"6 flows, {size:g} BDP",
        )
        for size in _PIPES
        if size < 1
    ]


def no_losses_when_deep(evidence: Evidence) -> list[Check]:
    """From two bandwidth-delay products on less than a thousandth is lost."""
    return [
        percent(
            "drop rate",
            evidence["hock"][f"{count} BBR, {size:g} BDP"]["drop_rate"],
            high=0.001,
            reading=f"{count} flows, {size:g} BDP",
        )
        for count, size in product(_COUNTS, _PIPES)
        if size >= 2  # noqa: PLR2004 - above the queue that they keep
    ]


def measure_beside(bench: Workbench) -> Numbers:
    """Share of one BBR flow beside a number of CUBIC flows in deep buffers."""
    networks = {
        f"{size} BDP, {count} CUBIC": network(
            "50 Mbit/s",
            _tail(size * _pipe(50, 40)),
            {"own": _own("bbr1", 40), "cubic": _own("cubic", 40, count)},
            "120 s",
            "40 s",
        )
        for size, count in product(_DEEP, _RIVALS)
    }
    return _with_share(
        measure(bench, networks, _GOODPUTS),
    )


_GOODPUTS: Final = {group: f"flows.{group}.goodput_bit_per_s.total" for group in ("own", "cubic")}


def _with_share(found: dict[str, dict[str, list[float]]]) -> Numbers:
    return {
        name: {
            **each,
            "share": [a / (a + b) for a, b in zip(each["own"], each["cubic"], strict=True)],
        }
        for name, each in found.items()
    }


def draw_beside(numbers: Numbers) -> Drawing:
    """BBR's share over the number of rivals."""
    figure, found = plots.panels(["one BBR flow beside CUBIC"])
    [axes] = found.values()
    for number, size in enumerate(_DEEP):
        samples = [numbers[f"{size} BDP, {count} CUBIC"]["share"] for count in _RIVALS]
        plots.line(axes, _RIVALS, samples, f"buffer of {size} BDP", number, scale=100.0)
    axes.plot(_RIVALS, [100 / (1 + count) for count in _RIVALS], color="#222222", label="fair")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("CUBIC flows")
    axes.set_ylabel("BBR’s share (%)")
    axes.legend()
    return figure


def beside_tables(numbers: Numbers) -> list[FigureTable]:
    """Shares."""
    return [
        table("50 Mbit/s, 40 ms", "buffer, rivals", numbers, {"share": ("BBR’s share (%)", 100.0)})
    ]


def fixed_share(evidence: Evidence) -> list[Check]:
    """BBR's share is 30 to 50 %, whatever the number of rivals."""
    return [
        percent("BBR’s share", found["share"], 0.3, 0.5, reading=name)
        for name, found in evidence["ware"].items()
    ]


def measure_shared(bench: Workbench) -> Numbers:
    """Share and retransmissions of BBR beside one CUBIC flow over the buffer."""
    networks = {
        name: network(
            "1 Gbit/s",
            _tail(packets),
            {"own": _own("bbr1", 20), "cubic": _own("cubic", 20)},
            "40 s",
            "5 s",
        )
        for name, packets in _SHARED.items()
    }
    paths = {f"sent again {group}": f"flows.{group}.retransmissions" for group in _GOODPUTS}
    return _with_share(measure(bench, networks, {**_GOODPUTS, **paths}))


def draw_shared(numbers: Numbers) -> Drawing:
    """BBR's share over the buffer."""
    figure, found = plots.panels(["BBR beside CUBIC, 1 Gbit/s, 20 ms"])
    [axes] = found.values()
    sizes = [packets / _pipe(1000, 20) for packets in _SHARED.values()]
    plots.line(axes, sizes, [each["share"] for each in numbers.values()], "BBR", 0, scale=100.0)
    axes.axhline(50, color="#222222", linewidth=0.9)
    axes.set_xscale("log")
    axes.set_xlabel("buffer (bandwidth-delay products)")
    axes.set_ylabel("BBR’s share (%)")
    return figure


def shared_tables(numbers: Numbers) -> list[FigureTable]:
    """Shares and retransmissions."""
    return [
        table(
            "1 Gbit/s, 20 ms, 35 s",
            "buffer",
            numbers,
            {
                "share": ("BBR’s share (%)", 100.0),
                "sent again own": ("BBR, retransmissions", 1.0),
                "sent again cubic": ("CUBIC, retransmissions", 1.0),
            },
        )
    ]


def swings(evidence: Evidence) -> list[Check]:
    """BBR has 94 % with 10 kB, half with 5 MB and a quarter with 10 MB, to ten points."""
    return [
        percent(
            "BBR’s share", evidence["cao"][name]["share"], share - 0.1, share + 0.1, reading=name
        )
        for name, share in (("10 kB", 0.94), ("5 MB", 0.5), ("10 MB", 0.25))
    ]


def falls_with_buffer(evidence: Evidence) -> list[Check]:
    """BBR's share falls as the buffer grows."""
    names = list(_SHARED)
    return [
        percent(
            "BBR’s share, change",
            differences(evidence["cao"][b]["share"], evidence["cao"][a]["share"]),
            high=0.0,
            reading=f"from {a} to {b}",
        )
        for a, b in (("100 kB", "5 MB"), ("5 MB", names[-1]))
    ]


def sends_again(evidence: Evidence) -> list[Check]:
    """With 100 kB BBR retransmits at least a hundred times as much."""
    found = evidence["cao"]["100 kB"]
    return [
        check(
            "retransmissions over CUBIC’s",
            ratios(found["sent again own"], found["sent again cubic"]),
            low=100.0,
        )
    ]


PAPER = Paper(
    name="cardwell-2016",
    title="BBR: Congestion-Based Congestion Control",
    authors="N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson",
    published="ACM Queue 14(5), 2016",
    story=(
        (
            "A sender that takes losses for congestion fills each buffer, and stops for each lost "
            "packet that nobody’s queue has dropped. BBR keeps a model instead: the highest rate "
            "at which data arrived lately, and the shortest round trip. It sends at that rate, now "
            "and then a quarter faster to see whether there is more, and keeps at most twice their "
            "product under way."
        ),
        (
            "That bound is what several BBR flows run into. Each takes its best moment for its "
            "rate, so that together they believe in more than there is. Three groups have measured "
            "what follows, and their claims are judged here beside the authors’ own."
        ),
    ),
    open_questions=(
        (
            "The texts were at hand in others’ notes on them, which quote settings and numbers; "
            "where a set-up was not told it is ours, and the claim says “shape”."
        ),
        (
            "BBR is version 1 with Linux’s timers, as in kernel 6.12. The measurements were made "
            "with kernels of 2016 to 2018."
        ),
        (
            "Hock and others had 1 and 10 Gbit/s; run are 100 Mbit/s and 40 ms with buffers in "
            "bandwidth-delay products. Ware and others: 50 Mbit/s and 40 ms are ours."
        ),
    ),
    figures=(
        Figure(
            id="figure-7",
            place="figure 7",
            title="The round trip of one flow",
            caption="Eight seconds under the first seed.",
            settings="10 Mbit/s, 40 ms, buffer of 250 ms.",
            scenarios=(),
            effort=1.0,
            measure=measure_delay,
            draw=draw_delay,
            tables=delay_tables,
        ),
        Figure(
            id="figure-8",
            place="figure 8",
            title="Five flows that start one after the other",
            caption="Line: equal shares. Means over all seeds with 95 % intervals.",
            settings="100 Mbit/s, 10 ms; a start each 2 s.",
            scenarios=(),
            effort=2.0,
            measure=measure_joining,
            draw=draw_joining,
            tables=joining_tables,
        ),
        Figure(
            id="figure-10",
            place="figure 10",
            title="Goodput over random loss",
            caption="Means over all seeds with 95 % intervals; line: the rate less the losses.",
            settings="100 Mbit/s, 100 ms, 60 s from the start.",
            scenarios=(),
            effort=8.0,
            measure=measure_loss,
            draw=draw_loss,
            tables=loss_tables,
        ),
        Figure(
            id="figure-12",
            place="figure 12",
            title="A slow link with large buffers",
            caption="Means over all seeds with 95 % intervals.",
            settings="128 kbit/s, 40 ms, 8 flows, 3000 s of which 1000 s are left out.",
            scenarios=(),
            effort=4.0,
            measure=measure_slow,
            draw=draw_slow,
            tables=slow_tables,
        ),
        Figure(
            id="hock",
            place="Hock and others 2017",
            title="Several flows: queue and losses over the buffer",
            caption="Means over all seeds with 95 % intervals.",
            settings="100 Mbit/s, 40 ms, 45 s of which 25 s are left out, since flows first look "
            "for the shortest round trip after 10 s.",
            scenarios=(),
            effort=35.0,
            measure=measure_several,
            draw=draw_several,
            tables=several_tables,
        ),
        Figure(
            id="ware",
            place="Ware and others 2019",
            title="One BBR flow beside CUBIC flows",
            caption="Means over all seeds with 95 % intervals; line: equal shares.",
            settings="50 Mbit/s, 40 ms, 120 s of which 40 s are left out.",
            scenarios=(),
            effort=15.0,
            measure=measure_beside,
            draw=draw_beside,
            tables=beside_tables,
        ),
        Figure(
            id="cao",
            place="Cao and others 2019",
            title="BBR beside CUBIC over the buffer",
            caption="Line: equal shares. Means over all seeds with 95 % intervals.",
            settings="1 Gbit/s, 20 ms, 40 s of which 5 s are left out (theirs: 60 s).",
            scenarios=(),
            effort=18.0,
            measure=measure_shared,
            draw=draw_shared,
            tables=shared_tables,
        ),
    ),
    claims=(
        Claim(
            id="cubic-fills",
            place="figure 7",
            says="CUBIC fills the buffer and cycles between 70 and 100 % of it.",
            measured="Its 5th percentile is at least 65 %, its 95th at least 90 % of the buffer.",
            figures=("figure-7",),
            checks=cubic_fills,
        ),
        Claim(
            id="bbr-flat",
            place="figure 7",
            says="BBR’s round trip stays that of the empty path.",
            measured="Median and mean are less than a quarter above 40 ms, and the link is at "
            "least 95 % busy.",
            figures=("figure-7",),
            checks=bbr_flat,
        ),
        Claim(
            id="five-converge",
            place="figure 8",
            says="Five flows converge to equal shares.",
            measured="Jain’s index of their goodputs from 20 to 70 s is at least 0.95.",
            figures=("figure-8",),
            checks=converges,
        ),
        Claim(
            id="cubic-collapses",
            place="figure 10",
            says="CUBIC’s throughput falls tenfold at 0.1 % loss and stalls above 1 %.",
            measured="To 15 % of that at 0.001 %; below 2 Mbit/s of 100.",
            figures=("figure-10",),
            checks=cubic_collapses,
        ),
        Claim(
            id="bbr-at-limit",
            place="figure 10",
            says="BBR is at the limit up to 5 % loss.",
            measured="Goodput is at least 90 % of the rate less the losses.",
            figures=("figure-10",),
            checks=at_limit,
        ),
        Claim(
            id="bbr-close",
            place="figure 10",
            says="BBR is close to the limit up to 15 % loss.",
            measured="Goodput is at least 75 % of it.",
            figures=("figure-10",),
            checks=close_to_limit,
        ),
        Claim(
            id="bbr-cliff",
            place="Cao and others 2019",
            says="BBR’s goodput collapses from 20 % loss on, which is 1 less 1 over its gain.",
            measured="Above 20 % goodput is less than a tenth of the limit.",
            figures=("figure-10",),
            checks=falls_at_last,
        ),
        Claim(
            id="buffer-does-not-matter",
            place="figure 12",
            says="BBR’s delay does not depend on the buffer.",
            measured="The median is that with 150 kB, to a tenth.",
            figures=("figure-12",),
            checks=bbr_ignores_buffer,
        ),
        Claim(
            id="buffer-matters",
            place="figure 12",
            says="CUBIC’s delay grows linearly with the buffer.",
            measured="The median is at least half of the wait in a full buffer.",
            figures=("figure-12",),
            checks=cubic_follows_buffer,
        ),
        Claim(
            id="standing-queue",
            place="Hock and others 2017",
            says="Several BBR flows keep a queue of 1 to 1.5 bandwidth-delay products.",
            measured="So is its median with a buffer of 8.",
            figures=("hock",),
            checks=standing_queue,
            remarks={Ruling.IN_PART: ("Sixteen flows keep 1.6. Why has not been taken apart.")},
        ),
        Claim(
            id="shallow-losses",
            place="Hock and others 2017",
            says="In buffers smaller than that BBR loses very many packets.",
            measured="Below one product at least ten times as many as CUBIC.",
            figures=("hock",),
            checks=shallow_losses,
        ),
        Claim(
            id="deep-no-losses",
            place="Hock and others 2017",
            says="In larger buffers several BBR flows lose nothing.",
            measured="From two products on less than 0.1 % (shape).",
            figures=("hock",),
            checks=no_losses_when_deep,
            remarks={
                Ruling.IN_PART: (
                    "With a buffer of two products there are seeds that lose a few per cent. With "
                    "eight nothing is lost."
                )
            },
        ),
        Claim(
            id="fixed-share",
            place="Ware and others 2019",
            says="One BBR flow takes about 40 % of the link, whatever the number of its rivals.",
            measured="30 to 50 % beside 1 to 16 CUBIC flows in deep buffers.",
            figures=("ware",),
            checks=fixed_share,
            remarks={
                Ruling.IN_PART: (
                    "With a buffer of 4 products it is so throughout, beside one flow as beside "
                    "sixteen. In a deeper buffer BBR has less, as Cao and others say."
                )
            },
        ),
        Claim(
            id="swings-with-buffer",
            place="Cao and others 2019",
            says="Beside CUBIC BBR has 94 % with 10 kB, half with 5 MB and a quarter with 10 MB.",
            measured="To ten points.",
            figures=("cao",),
            checks=swings,
            remarks={
                Ruling.IN_PART: (
                    "BBR has 10 to 15 points more with 5 and 10 MB than in their runs of a minute. "
                    "Why has not been taken apart."
                )
            },
        ),
        Claim(
            id="falls-with-buffer",
            place="Cao and others 2019",
            says="BBR’s share beside CUBIC falls as the buffer grows.",
            measured="From 100 kB to 5 MB and from there to 10 MB.",
            figures=("cao",),
            checks=falls_with_buffer,
        ),
        Claim(
            id="sends-again",
            place="Cao and others 2019",
            says="With 100 kB BBR retransmits more than 200 times as many packets as CUBIC.",
            measured="At least 100 times as many.",
            figures=("cao",),
            checks=sends_again,
        ),
    ),
)
