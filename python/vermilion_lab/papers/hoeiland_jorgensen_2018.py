"""CAKE: a shaper, equal shares for hosts and flows, tins, and a filter of acknowledgements.

T. Hoeiland-Jorgensen, D. Taht, J. Morton, "Piece of CAKE: A Comprehensive Queue Management Solution
for Home Gateways", IEEE LANMAN 2018. Figures 3 (host isolation), 4 (flows in different tins), 5 (a
flow that is given priority) and 6 (acknowledgements on a slow way back).
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

from vermilion_lab.papers import plots
from vermilion_lab.papers.bottleneck import LINK, check, linux, measure, network, percent, table
from vermilion_lab.papers.interface import Claim, Figure, Paper
from vermilion_lab.papers.verdict import Ruling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure as Drawing

    from vermilion_lab.papers.interface import Evidence, FigureTable, Numbers
    from vermilion_lab.papers.verdict import Check
    from vermilion_lab.papers.workbench import Workbench

_HOSTS: Final = ("A to a", "A to b", "A to c, 1", "A to c, 2", "B to c", "B to d")
"""Flows of figure 3 by their hosts."""
_SHARES: Final[Mapping[str, tuple[float, ...]]] = {
    "flows": (1 / 6,) * 6,
    "dual-srchost": (1 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 4, 1 / 4),
    "dual-dsthost": (1 / 4, 1 / 4, 1 / 12, 1 / 12, 1 / 12, 1 / 4),
    "triple-isolate": tuple(x / (11 / 6) for x in (1 / 4, 1 / 4, 1 / 4, 1 / 4, 1 / 3, 1 / 2)),
}
"""Shares by mode: of a host equal parts; triple: a flow has 1 / the greater of its hosts' flows."""

_TINS: Final = {"cs1": 0.6736, "default": 5.5513, "cs5": 1.5238, "ef": 1.5299}
"""Uploads of four flows by codepoint in Mbit/s: medians of the data published with the paper."""
_CALL_MBIT: Final = 2
_BULK: Final = 32
_QUEUES: Final[Mapping[str, Mapping[str, object]]] = {
    "CAKE, DiffServ": {"discipline": "cake", "tins": "diffserv4"},
    "CAKE, best effort": {"discipline": "cake", "tins": "besteffort"},
    "FQ-CoDel": {"discipline": "fq-codel"},
}
_FILTERS: Final = ("no-ack-filter", "ack-filter", "ack-filter-aggressive")
_TRIPS_MS: Final = (2, 40)
_PACKET_BITS: Final = 12_000


def measure_hosts(bench: Workbench) -> Numbers:
    """Share of each flow in each mode."""
    names = [f"f{place}" for place in range(len(_HOSTS))]
    flows = {
        name: {
            "rtt": "40 ms",
            "sender": linux("cubic"),
            "source_host": words.split()[0],
            # Names of hosts are of sources or of destinations, so these differ.
            "destination_host": f"to-{words.split()[2].strip(',')}",
        }
        for name, words in zip(names, _HOSTS, strict=True)
    }
    networks = {
        mode: network(
            "1 Gbit/s",
            {"discipline": "cake", "bandwidth": "100 Mbit/s", "isolation": mode},
            flows,
            "30 s",
            "10 s",
        )
        for mode in _SHARES
    }
    paths = {name: f"flows.{name}.goodput_bit_per_s.total" for name in names}
    found = measure(bench, networks, paths)
    return {
        mode: {
            name: [each[name][seed] / sum(each[n][seed] for n in names) for seed in seeds]
            for name in names
        }
        for mode, each in found.items()
        for seeds in [range(len(each[names[0]]))]
    }


def draw_hosts(numbers: Numbers) -> Drawing:
    """Shares, and those that each mode should give."""
    figure, found = plots.panels(list(numbers), 3.8, sharey=True)
    for mode, axes in found.items():
        places = range(len(_HOSTS))
        samples = [numbers[mode][f"f{place}"] for place in places]
        plots.line(axes, places, samples, "here", 0, scale=100.0, joined=False)
        axes.plot(places, [100 * share for share in _SHARES[mode]], "_", color="#222222",
                  markersize=14, label="by the rule")  # fmt: skip
        axes.set_xticks(places, _HOSTS, rotation=60)
        axes.set_ylim(0, 30)
    first = next(iter(found.values()))
    first.set_ylabel("share of the goodput (%)")
    first.legend()
    return figure


def host_tables(numbers: Numbers) -> list[FigureTable]:
    """Shares of all flows."""
    columns = {f"f{place}": (f"{words} (%)", 100.0) for place, words in enumerate(_HOSTS)}
    return [table("Share of the goodput", "mode", numbers, columns)]


def equal_shares(evidence: Evidence) -> list[Check]:
    """Each flow has the share that the mode gives it, to a point."""
    return [
        percent(
            "share",
            evidence["figure-3"][mode][f"f{place}"],
            share - 0.01,
            share + 0.01,
            reading=f"{mode}, {_HOSTS[place]}",
        )
        for mode, shares in _SHARES.items()
        for place, share in enumerate(shares)
    ]


def measure_tins(bench: Workbench) -> Numbers:
    """Goodput of four flows of four codepoints, together and each alone."""
    groups = {name: {"rtt": "50 ms", "sender": linux("cubic"), "dscp": name} for name in _TINS}
    queue = {"discipline": "cake", "bandwidth": "10 Mbit/s", "tins": "diffserv4"}
    together = network("1 Gbit/s", queue, groups, "60 s", "10 s")
    paths = {name: f"flows.{name}.goodput_bit_per_s.total" for name in _TINS}
    found: Numbers = measure(bench, {"together": together}, paths)
    for name, group in groups.items():
        alone = network("1 Gbit/s", queue, {name: group}, "60 s", "10 s")
        found[f"alone: {name}"] = measure(bench, {name: alone}, {name: paths[name]})[name]
    return found


def draw_tins(numbers: Numbers) -> Drawing:
    """Goodputs together and alone."""
    figure, found = plots.panels(["10 Mbit/s, diffserv4"], 3.8)
    [axes] = found.values()
    places = range(len(_TINS))
    together = [numbers["together"][name] for name in _TINS]
    alone = [numbers[f"alone: {name}"][name] for name in _TINS]
    plots.line(axes, places, together, "together", 0, scale=1e-6, joined=False)
    plots.line(axes, places, alone, "alone", 1, scale=1e-6, joined=False)
    axes.plot(places, list(_TINS.values()), "_", color="#222222", markersize=22,
              label="together, the paper’s data")  # fmt: skip
    axes.set_xticks(places, list(_TINS))
    axes.set_ylabel("goodput (Mbit/s)")
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure


def tin_tables(numbers: Numbers) -> list[FigureTable]:
    """Goodputs beside the paper's."""
    rows = {
        f"{name} (paper’s data: {paper:.2f})": {
            "together": numbers["together"][name],
            "alone": numbers[f"alone: {name}"][name],
        }
        for name, paper in _TINS.items()
    }
    columns = {key: (f"{key} (Mbit/s)", 1e-6) for key in ("together", "alone")}
    return [table("Goodput by codepoint", "codepoint", rows, columns)]


def as_published(evidence: Evidence) -> list[Check]:
    """Shares of the four flows are those of the data, to three points."""
    found = evidence["figure-4"]["together"]
    whole = [sum(each) for each in zip(*found.values(), strict=True)]
    published = sum(_TINS.values())
    return [
        percent(
            "share of the goodput",
            [a / b for a, b in zip(found[name], whole, strict=True)],
            paper / published - 0.03,
            paper / published + 0.03,
            reading=name,
        )
        for name, paper in _TINS.items()
    ]


def all_when_alone(evidence: Evidence) -> list[Check]:
    """Alone each has at least 90 % of the rate, whatever its tin's threshold."""
    return [
        check(
            "goodput alone",
            evidence["figure-4"][f"alone: {name}"][name],
            low=9e6,
            reading=name,
            unit="Mbit/s",
            scale=1e-6,
        )
        for name in _TINS
    ]


def measure_call(bench: Workbench) -> Numbers:
    """Delay and loss of a flow of 2 Mbit/s beside 32 transfers."""
    ends = {"source_host": "home", "destination_host": "server"}
    flows: dict[str, dict[str, object]] = {
        "bulk": {"count": _BULK, "rtt": "50 ms", "sender": linux("cubic"), **ends},
        "call": {
            **ends,
            "traffic": {"kind": "constant-rate", "rate": f"{_CALL_MBIT} Mbit/s"},
            "rtt": "50 ms",
            "dscp": "ef",
            "packet_size": "1500 bytes",
        },
    }
    networks = {
        name: network("10 Mbit/s", queue, flows, "60 s", "10 s") for name, queue in _QUEUES.items()
    }
    paths = {
        "goodput": "flows.call.goodput_bit_per_s.total",
        "lost": "flows.call.packet_loss_rate",
        "mean": "flows.call.delay_ms.mean",
        "p99": "flows.call.delay_ms.p99",
    }
    found = measure(bench, networks, paths, flow_delays=True)
    empty = 25 + _PACKET_BITS / 1e4
    for each in found.values():
        for key in ("mean", "p99"):
            each[key] = [delay - empty for delay in each[key]]
    return found


def draw_call(numbers: Numbers) -> Drawing:
    """Goodput and waits of the flow."""
    figure, found = plots.panels(["goodput (Mbit/s)", "mean wait (ms)"], 3.8)
    for axes, key, scale in zip(found.values(), ("goodput", "mean"), (1e-6, 1.0), strict=True):
        samples = [each[key] for each in numbers.values()]
        plots.line(axes, range(len(samples)), samples, "", 0, scale=scale, joined=False)
        axes.set_xticks(range(len(samples)), list(numbers))
        axes.set_ylim(bottom=0)
    return figure


def call_tables(numbers: Numbers) -> list[FigureTable]:
    """Goodput, losses and waits."""
    return [
        table(
            f"A flow of {_CALL_MBIT} Mbit/s beside {_BULK} transfers at 10 Mbit/s",
            "queue",
            numbers,
            {
                "goodput": ("goodput (Mbit/s)", 1e-6),
                "lost": ("lost (%)", 100.0),
                "mean": ("mean wait (ms)", 1.0),
                "p99": ("99th percentile (ms)", 1.0),
            },
        )
    ]


def no_added_latency(evidence: Evidence) -> list[Check]:
    """With DiffServ it waits less than two packets' time on average and loses nothing."""
    found = evidence["figure-5"]["CAKE, DiffServ"]
    return [
        check("mean wait", found["mean"], high=2 * _PACKET_BITS / 1e4, unit="ms"),
        percent("lost", found["lost"], high=0.001),
    ]


def only_its_share(evidence: Evidence) -> list[Check]:
    """Without, it gets no more than a flow's share of the link."""
    return [
        check(
            "goodput",
            evidence["figure-5"][name]["goodput"],
            high=1.2 * 10e6 / (_BULK + 1),
            reading=name,
            unit="Mbit/s",
            scale=1e-6,
        )
        for name in list(_QUEUES)[1:]
    ]


def measure_filter(bench: Workbench) -> Numbers:
    """Downloads over the filter, four transfers each way on 30 and 1 Mbit/s."""
    networks = {}
    for kind, trip in product(_FILTERS, _TRIPS_MS):
        ways = {"down": (LINK, "up"), "up": ("up", LINK)}
        flows = {
            way: {
                "count": 4,
                "path": [there],
                "return_path": [back],
                "rtt": f"{trip} ms",
                "sender": linux("cubic"),
                "ack_size": "66 bytes",
            }
            for way, (there, back) in ways.items()
        }
        up = {"discipline": "cake", "bandwidth": "1 Mbit/s", "ack_filter": kind}
        networks[f"{kind}, {trip} ms"] = network(
            "30 Mbit/s",
            {"discipline": "cake", "bandwidth": "30 Mbit/s"},
            flows,
            "60 s",
            "10 s",
            links={"up": {"rate": "1 Mbit/s", "delay": "0 s", "queue": up}},
        )
    paths = {way: f"flows.{way}.goodput_bit_per_s.total" for way in ("down", "up")}
    return measure(bench, networks, paths)


def draw_filter(numbers: Numbers) -> Drawing:
    """Goodput of the downloads."""
    figure, found = plots.panels(
        [f"round trip of {trip} ms" for trip in _TRIPS_MS], 3.6, sharey=True
    )
    for trip, axes in zip(_TRIPS_MS, found.values(), strict=True):
        for number, way in enumerate(("down", "up")):
            samples = [numbers[f"{kind}, {trip} ms"][way] for kind in _FILTERS]
            plots.line(axes, range(3), samples, way, number, scale=1e-6, joined=False)
        axes.set_xticks(range(3), [kind.replace("ack-filter", "filter") for kind in _FILTERS])
        axes.set_ylim(bottom=0)
    first = next(iter(found.values()))
    first.set_ylabel("goodput (Mbit/s)")
    first.legend()
    return figure


def filter_tables(numbers: Numbers) -> list[FigureTable]:
    """Goodputs both ways."""
    return [
        table(
            "Four transfers each way, 30 Mbit/s down and 1 Mbit/s up",
            "filter, round trip",
            numbers,
            {"down": ("down (Mbit/s)", 1e-6), "up": ("up (Mbit/s)", 1e-6)},
        )
    ]


def faster_downloads(evidence: Evidence) -> list[Check]:
    """Downloads gain 10 to 20 % by either filter."""
    numbers: dict[str, Any] = evidence["figure-6"]
    return [
        percent(
            "gain of the downloads",
            [
                a / b - 1
                for a, b in zip(
                    numbers[f"{kind}, {trip} ms"]["down"],
                    numbers[f"{_FILTERS[0]}, {trip} ms"]["down"],
                    strict=True,
                )
            ],
            0.1,
            0.2,
            reading=f"{kind}, {trip} ms",
        )
        for kind, trip in product(_FILTERS[1:], _TRIPS_MS)
    ]


PAPER = Paper(
    name="hoeiland-jorgensen-2018",
    title="Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways",
    authors="T. Høiland-Jørgensen, D. Täht, J. Morton",
    published="IEEE LANMAN 2018",
    story=(
        (
            "The queue that matters at home is often in a modem that nobody can configure. CAKE "
            "shapes to a little less than the line, so that the queue is its own. There it gives "
            "equal shares, to hosts and then to their flows, keeps each flow’s queue short, "
            "and sorts flows into tins by codepoint. From a slow way back it takes the "
            "acknowledgements that later ones make needless."
        ),
    ),
    open_questions=(
        (
            "The text was at hand in its abstract, in set-ups and statements that others quote who "
            "re-ran its figures, and in medians of the data published with it."
        ),
        (
            "Round trips: 40 and 50 ms are ours. Of figure 6 one of the authors believed that no "
            "delay was added; it is run with 2 and with 40 ms."
        ),
        (
            "The published data have four transfers each way and probes; here four transfers go "
            "one way. What is judged are shares."
        ),
    ),
    figures=(
        Figure(
            id="figure-3",
            place="figure 3",
            title="Shares of six flows of two hosts",
            caption="Six flows of hosts A and B to hosts a to d. Means over all seeds with 95 % "
            "intervals.",
            settings="100 Mbit/s, 40 ms, CUBIC; 30 s of which 10 s are left out.",
            scenarios=(),
            effort=8.0,
            measure=measure_hosts,
            draw=draw_hosts,
            tables=host_tables,
        ),
        Figure(
            id="figure-4",
            place="figure 4",
            title="Flows of four codepoints",
            caption="Means over all seeds with 95 % intervals.",
            settings="10 Mbit/s, diffserv4, 50 ms, CUBIC; 60 s of which 10 s are left out.",
            scenarios=(),
            effort=2.0,
            measure=measure_tins,
            draw=draw_tins,
            tables=tin_tables,
        ),
        Figure(
            id="figure-5",
            place="figure 5",
            title="A flow with priority beside 32 transfers",
            caption="Means over all seeds with 95 % intervals.",
            settings="10 Mbit/s, 50 ms, UDP with codepoint EF; 60 s of which 10 s are left out. A "
            "wait is a packet’s delay less that in an empty network.",
            scenarios=(),
            effort=2.0,
            measure=measure_call,
            draw=draw_call,
            tables=call_tables,
        ),
        Figure(
            id="figure-6",
            place="figure 6",
            title="The filter of acknowledgements",
            caption="Means over all seeds with 95 % intervals.",
            settings="Four CUBIC transfers each way, acknowledgements of 66 bytes; 60 s of which "
            "10 s are left out.",
            scenarios=(),
            effort=8.0,
            measure=measure_filter,
            draw=draw_filter,
            tables=filter_tables,
        ),
    ),
    claims=(
        Claim(
            id="host-isolation",
            place="figure 3",
            says="Each mode gives equal shares to what its name says: flows, hosts that send, "
            "hosts that receive, or both.",
            measured="Each flow’s share is that of the rule, to a point. For triple-isolate the "
            "rule is the kernel’s: a flow weighs 1 / n, n being the greater of its two hosts’ "
            "numbers of flows.",
            figures=("figure-3",),
            checks=equal_shares,
            remarks={
                Ruling.IN_PART: (
                    "A single CUBIC flow behind CoDel’s rule leaves a tenth of its share unused, "
                    "as in CoDel’s own paper above, and what it leaves goes to the others. So "
                    "those with large shares have less than the rule gives them."
                )
            },
        ),
        Claim(
            id="tin-shares",
            place="figure 4, published data",
            says="Flows of CS1, best effort, CS5 and EF share 10 Mbit/s as 0.67, 5.55, 1.52 and "
            "1.53.",
            measured="Shares of the goodput are those, to three points.",
            figures=("figure-4",),
            checks=as_published,
        ),
        Claim(
            id="tins-lend",
            place="figure 4",
            says="A tin’s threshold does not bound it while others are idle.",
            measured="Each flow alone has at least 9 of 10 Mbit/s.",
            figures=("figure-4",),
            checks=all_when_alone,
        ),
        Claim(
            id="no-added-latency",
            place="figure 5",
            says="A flow with priority has no added latency beside 32 bulk flows.",
            measured="It waits less than two packets’ time on average and less than 0.1 % is lost.",
            figures=("figure-5",),
            checks=no_added_latency,
        ),
        Claim(
            id="its-share-without",
            place="figure 5",
            says="Without DiffServ it gets a flow’s share like all others.",
            measured="Goodput is at most 1.2 times a 33rd of the link (shape).",
            figures=("figure-5",),
            checks=only_its_share,
            remarks={
                Ruling.IN_PART: (
                    "With CAKE it gets 1.23 shares. What transfers leave of theirs goes to a flow "
                    "that always has packets."
                )
            },
        ),
        Claim(
            id="ack-filter",
            place="figure 6",
            says="Either filter improves downloads by around 15 % on a link of 30 and 1 Mbit/s.",
            measured="They gain 10 to 20 %.",
            figures=("figure-6",),
            checks=faster_downloads,
            remarks={
                Ruling.FAILS: (
                    "Over 40 ms the gain has the paper’s size and a wide interval. Over 2 "
                    "ms the filter changes nothing here. Others who re-ran the figure in ns-3 saw "
                    "none at 30 and 1 Mbit/s either, and one at 50 and 0.5 Mbit/s."
                )
            },
        ),
    ),
)
