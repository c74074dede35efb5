"""DCTCP: senders that answer which share of their packets a switch marked.

M. Alizadeh and others, "Data Center TCP (DCTCP)", SIGCOMM 2010. Figures 1 and 13 (the queue), 14
(throughput over K), 16 (flows that join and leave), 17 (two bottlenecks) and 18 (incast), and what
the analysis says of the queue's extent.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

from vermilion_lab.papers import plots
from vermilion_lab.papers.bottleneck import (
    LINK,
    check,
    measure,
    network,
    of_path,
    percent,
    ratios,
    table,
)
from vermilion_lab.papers.interface import Claim, Figure, Paper
from vermilion_lab.papers.measures import differences, jain
from vermilion_lab.papers.verdict import Ruling

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion.scenario import Scenario
    from vermilion_lab.papers.interface import Evidence, FigureTable, Numbers
    from vermilion_lab.papers.verdict import Check
    from vermilion_lab.papers.workbench import Workbench

_DCTCP: Final = "DCTCP"
_TCP: Final = "TCP"
_BUFFERS: Final = (250, 500)
_COUNTS: Final = (2, 20)
_K: Final = 20
_QUEUE_WARM_UP_S: Final = 0.5
_EXTENT_WARM_UP_S: Final = 0.1

_FAST_GBIT: Final = 10
_THRESHOLDS: Final = (2, 5, 8, 12, 16, 20, 30, 40, 65, 100)
_TRIPS_US: Final = (100, 250)
_EXTENTS: Final = ((2, 40), (10, 40), (40, 40))
_EXTENT_TRIP_US: Final = 400

_FLOWS: Final = 5
_STEP_S: Final = 10
_SHARES: Final = {"s1": (10, 46, 50), "s2": (20, 475, 475), "s3": (10, 54, 50)}
"""Senders of figure 17: how many, what the paper measured and the fair share, in Mbit/s."""
_SERVERS: Final = (2, 5, 10, 15, 20, 25, 30, 35, 40)
_TIMEOUTS_MS: Final = (300, 10)


def _sender(kind: str, timeout_ms: int = 300) -> dict[str, object]:
    return {
        "congestion_control": {_DCTCP: "dctcp", _TCP: "sack"}[kind],
        "clock_tick": "1 us",
        "minimum_timeout": f"{timeout_ms} ms",
    }


def _queue(kind: str, threshold: int, limit: int) -> dict[str, object]:
    if kind == _TCP:
        return {"discipline": "drop-tail", "limit": f"{limit} packets"}
    return {
        "discipline": "step",
        "threshold": f"{threshold} packets",
        "limit": f"{limit} packets",
    }


def _packets_in_flight(rate_gbit: float, trip_us: int) -> float:
    return rate_gbit * 1e3 * trip_us / 12_000


def _long(kind: str, count: int, trip_us: int) -> dict[str, dict[str, object]]:
    return {
        "bulk": {
            "count": count,
            "rtt": f"{trip_us} us",
            "sender": _sender(kind),
            "start": "0 s .. 10 ms",
        }
    }


def _queue_case(kind: str, count: int, buffer: int) -> Scenario:
    return network(
        "1 Gbit/s",
        _queue(kind, _K, buffer),
        _long(kind, count, 100),
        "2 s",
        f"{_QUEUE_WARM_UP_S} s",
    )


def measure_queue(bench: Workbench) -> Numbers:
    """The queue and the use of the link, and what a first run's queue is over time."""
    cases = {
        f"{kind}, {count} flows, buffer of {buffer}": _queue_case(kind, count, buffer)
        for buffer, count, kind in product(_BUFFERS, _COUNTS, (_DCTCP, _TCP))
    }
    numbers: Numbers = {
        "measured": measure(
            bench,
            cases,
            {
                "utilization": f"links.{LINK}.utilization",
                **{f: f"links.{LINK}.queue_packets.{f}" for f in ("p5", "p50", "p95", "max")},
            },
        )
    }
    bench.expect(len(cases))
    for name, case in cases.items():
        series = bench.first_trace(case, 2e-4).series(LINK)
        sizes = sorted(series["queue_packets"][series["time_s"] > _QUEUE_WARM_UP_S].tolist())
        numbers.setdefault("curves", {})[name] = sizes[:: max(1, len(sizes) // 200)]
    return numbers


def draw_queue(numbers: Numbers) -> Drawing:
    """Distribution of the queue, a panel for each buffer."""
    figure, found = plots.panels(
        [f"buffer of {buffer} packets" for buffer in _BUFFERS], sharey=True
    )
    for buffer, axes in zip(_BUFFERS, found.values(), strict=True):
        for number, (count, kind) in enumerate(product(_COUNTS, (_DCTCP, _TCP))):
            sizes = numbers["curves"][f"{kind}, {count} flows, buffer of {buffer}"]
            shares = [(place + 1) / len(sizes) for place in range(len(sizes))]
            plots.trace(axes, sizes, shares, f"{kind}, {count} flows", number, 1.5)
        axes.set_xlabel("queue (packets)")
        axes.set_ylim(0, 1)
    first = next(iter(found.values()))
    first.set_ylabel("share of time with at most so many")
    plots.legend_below(figure, first)
    return figure


def queue_tables(numbers: Numbers) -> list[FigureTable]:
    """The queue's percentiles and the use of the link."""
    return [
        table(
            "1 Gbit/s, K = 20; queue in packets",
            "senders",
            numbers["measured"],
            {
                "utilization": ("utilisation (%)", 100.0),
                **{f: (f, 1.0) for f in ("p5", "p50", "p95", "max")},
            },
        )
    ]


def _pairs(evidence: Evidence) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    measured = evidence["figures-1-and-13"]["measured"]
    return [
        (
            f"{count} flows, TCP with a buffer of {buffer} packets",
            measured[f"{_DCTCP}, {count} flows, buffer of {buffer}"],
            measured[f"{_TCP}, {count} flows, buffer of {buffer}"],
        )
        for buffer, count in product(_BUFFERS, _COUNTS)
    ]


def as_fast(evidence: Evidence) -> list[Check]:
    """DCTCP uses the link no less, to a per cent."""
    return [
        percent(
            "utilisation, DCTCP less TCP",
            differences(own["utilization"], other["utilization"]),
            low=-0.01,
            reading=reading,
        )
        for reading, own, other in _pairs(evidence)
    ]


def less_buffer(evidence: Evidence) -> list[Check]:
    """The most that waits is a tenth of TCP's at most."""
    return [
        percent(
            "longest queue, DCTCP’s as a share of TCP’s",
            ratios(own["max"], other["max"]),
            high=0.1,
            reading=reading,
        )
        for reading, own, other in _pairs(evidence)
    ]


def measure_thresholds(bench: Workbench) -> Numbers:
    """Throughput over K at 10 Gbit/s."""
    networks = {
        f"{trip} us, {count} flows, K = {threshold}": network(
            f"{_FAST_GBIT} Gbit/s",
            _queue(_DCTCP, threshold, 2666),
            _long(_DCTCP, count, trip),
            "0.5 s",
            "0.2 s",
        )
        for trip, count, threshold in product(_TRIPS_US, (1, 2, 8), _THRESHOLDS)
    }
    return measure(
        bench,
        networks,
        {
            "utilization": f"links.{LINK}.utilization",
            "queue": f"links.{LINK}.queue_packets.mean",
        },
    )


def draw_thresholds(numbers: Numbers) -> Drawing:
    """Utilisation over K, a panel for each round trip."""
    figure, found = plots.panels([f"round trip of {trip} us" for trip in _TRIPS_US], sharey=True)
    for trip, axes in zip(_TRIPS_US, found.values(), strict=True):
        for number, count in enumerate((1, 2, 8)):
            samples = [
                numbers[f"{trip} us, {count} flows, K = {threshold}"]["utilization"]
                for threshold in _THRESHOLDS
            ]
            plots.line(axes, _THRESHOLDS, samples, f"{count} flows", number, scale=100.0)
        axes.axvline(
            _packets_in_flight(_FAST_GBIT, trip) / 7,
            color="#767676",
            linewidth=0.9,
            linestyle=(0, (2, 2)),
            label="C R / 7",
        )
        axes.set_xscale("log")
        axes.set_xlabel("K (packets)")
    first = next(iter(found.values()))
    first.set_ylabel("utilisation (%)")
    plots.legend_below(figure, first)
    return figure


def threshold_tables(numbers: Numbers) -> list[FigureTable]:
    """Throughput and queue of all thresholds."""
    return [
        table(
            "10 Gbit/s",
            "round trip, flows, K",
            numbers,
            {"utilization": ("utilisation (%)", 100.0), "queue": ("mean queue (packets)", 1.0)},
        )
    ]


def full_from_a_seventh(evidence: Evidence) -> list[Check]:
    """From a seventh of the bandwidth-delay product on the link is full."""
    numbers = evidence["figure-14"]
    return [
        percent(
            "utilisation",
            numbers[f"{trip} us, {count} flows, K = {threshold}"]["utilization"],
            low=0.99,
            reading=f"{trip} us, {count} flows, K = {threshold}",
        )
        for trip, count, threshold in product(_TRIPS_US, (1, 2, 8), _THRESHOLDS)
        if threshold > _packets_in_flight(_FAST_GBIT, trip) / 7
    ]


def idle_below(evidence: Evidence) -> list[Check]:
    """With a K of two packets throughput is lost."""
    numbers = evidence["figure-14"]
    return [
        percent(
            "utilisation",
            numbers[f"{trip} us, {count} flows, K = 2"]["utilization"],
            high=0.99,
            reading=f"{trip} us, {count} flows, K = 2",
        )
        for trip, count in product(_TRIPS_US, (1, 2))
    ]


def measure_extent(bench: Workbench) -> Numbers:
    """The queue's least and greatest length, where windows are long."""
    cases = {
        f"{count} flows, K = {threshold}": network(
            f"{_FAST_GBIT} Gbit/s",
            _queue(_DCTCP, threshold, 2666),
            _long(_DCTCP, count, _EXTENT_TRIP_US),
            "0.2 s",
            f"{_EXTENT_WARM_UP_S} s",
        )
        for count, threshold in _EXTENTS
    }
    bench.expect(len(cases) * len(bench.seeds))
    numbers: Numbers = {}
    for name, case in cases.items():
        found: dict[str, Any] = {"most": [], "extent": []}
        for result in bench.traces(case, 2e-5):
            series = result.series(LINK)
            sizes = series["queue_packets"][series["time_s"] > _EXTENT_WARM_UP_S]
            found["most"].append(float(sizes.max()))
            found["extent"].append(float(sizes.max() - sizes.min()))
            found.setdefault("first", sizes[:1000].tolist())
        numbers[name] = found
    return numbers


def draw_extent(numbers: Numbers) -> Drawing:
    """The queue over 20 ms under the first seed."""
    figure, found = plots.panels(list(numbers), sharey=True)
    for name, axes in found.items():
        sizes = numbers[name]["first"]
        plots.trace(axes, [place * 0.02 for place in range(len(sizes))], sizes, name, 0)
        axes.set_xlabel("time (ms)")
    next(iter(found.values())).set_ylabel("queue (packets)")
    return figure


def _foretold(count: int, threshold: int) -> tuple[float, float]:
    """Greatest length K + N and extent of the oscillation, by the paper's analysis."""
    pipe = _packets_in_flight(_FAST_GBIT, _EXTENT_TRIP_US)
    return count + threshold, 0.5 * (2 * count * (pipe + threshold)) ** 0.5


def extent_tables(numbers: Numbers) -> list[FigureTable]:
    """Measured, with the foretold numbers in the rows' names."""
    rows = {}
    for count, threshold in _EXTENTS:
        most, extent = _foretold(count, threshold)
        name = f"{count} flows, K = {threshold}"
        rows[f"{name} (foretold: {most:.0f} and {extent:.0f})"] = numbers[name]
    return [
        table(
            "Queue in packets, 10 Gbit/s, round trip of 400 us",
            "flows",
            rows,
            {"most": ("longest", 1.0), "extent": ("longest less shortest", 1.0)},
        )
    ]


def extent_fits(evidence: Evidence) -> list[Check]:
    """The longest queue is K + N and the extent that of the formula, to a quarter."""
    checks = []
    for count, threshold in _EXTENTS:
        name = f"{count} flows, K = {threshold}"
        for quantity, key, foretold in zip(
            ("longest queue", "longest less shortest queue"),
            ("most", "extent"),
            _foretold(count, threshold),
            strict=True,
        ):
            checks.append(
                check(
                    quantity,
                    evidence["analysis"][name][key],
                    0.75 * foretold,
                    1.25 * foretold,
                    reading=name,
                    unit="packets",
                )
            )
    return checks


def measure_convergence(bench: Workbench) -> Numbers:
    """Each flow's goodput in each phase, as five flows join and leave."""
    numbers: Numbers = {}
    bench.expect(2 * len(bench.seeds))
    for kind in (_DCTCP, _TCP):
        flows = {
            f"flow{place}": {
                "rtt": "100 us",
                "access_rate": "1 Gbit/s",
                "sender": _sender(kind),
                "start": f"{_STEP_S * place} s .. {_STEP_S * place + 0.01} s",
                "stop": f"{_STEP_S * (2 * _FLOWS - 1 - place)} s",
            }
            for place in range(_FLOWS)
        }
        duration = f"{_STEP_S * (2 * _FLOWS - 1)} s"
        case = network(
            "1 Gbit/s", _queue(kind, _K, _BUFFERS[1]), flows, duration, "0 s", settle="0.5 s"
        )
        numbers[kind] = {}
        for result in bench.run_many({kind: case})[kind]:
            for phase in range(2 * _FLOWS - 1):
                active = min(phase, 2 * _FLOWS - 2 - phase) + 1
                for place in range(active):
                    path = f"flows.flow{place}.{phase}.goodput_bit_per_s.total"
                    numbers[kind].setdefault(f"{phase} {place}", []).append(of_path(result, path))
    return numbers


def _phases(numbers: dict[str, list[float]]) -> list[list[list[float]]]:
    """For each phase the goodputs of its flows, each a value for each seed."""
    found: list[list[list[float]]] = [[] for _ in range(2 * _FLOWS - 1)]
    for name, samples in numbers.items():
        found[int(name.split()[0])].append(samples)
    return found


def draw_convergence(numbers: Numbers) -> Drawing:
    """Goodput of each flow in each phase."""
    figure, found = plots.panels(list(numbers), sharey=True)
    for kind, axes in found.items():
        phases = _phases(numbers[kind])
        for place in range(_FLOWS):
            at = [phase for phase in range(len(phases)) if len(phases[phase]) > place]
            samples = [phases[phase][place] for phase in at]
            plots.line(axes, at, samples, f"flow {place + 1}", place, scale=1e-6)
        axes.set_xlabel(f"phase, {_STEP_S} s each")
    next(iter(found.values())).set_ylabel("goodput (Mbit/s)")
    plots.legend_below(figure, next(iter(found.values())), 5)
    return figure


def convergence_tables(numbers: Numbers) -> list[FigureTable]:
    """Jain's index of each phase."""
    return [
        table(
            "Jain’s index",
            "phase",
            {
                f"{phase + 1}, {len(flows)} flows": {
                    kind: jain(_phases(numbers[kind])[phase]) for kind in numbers
                }
                for phase, flows in enumerate(_phases(numbers[_DCTCP]))
                if len(flows) > 1
            },
            {kind: (kind, 1.0) for kind in numbers},
        )
    ]


def converges(evidence: Evidence) -> list[Check]:
    """Shares are even in each phase."""
    return [
        check(
            "Jain’s index", jain(flows), low=0.99, reading=f"phase {phase + 1}, {len(flows)} flows"
        )
        for phase, flows in enumerate(_phases(evidence["figure-16"][_DCTCP]))
        if len(flows) > 1
    ]


def measure_two(bench: Workbench) -> Numbers:
    """Goodput of the three groups of senders over two bottlenecks."""
    paths = {"s1": ["core", LINK], "s2": ["core"], "s3": [LINK]}
    networks = {
        f"{trip} us": network(
            "1 Gbit/s",
            _queue(_DCTCP, 20, 2666),
            {
                name: {
                    "count": count,
                    "path": paths[name],
                    "rtt": f"{trip} us",
                    "access_rate": "1 Gbit/s",
                    "sender": _sender(_DCTCP),
                    "start": "0 s .. 0.1 s",
                }
                for name, (count, _, _) in _SHARES.items()
            },
            "2 s",
            "1 s",
            links={
                "core": {
                    "rate": "10 Gbit/s",
                    "delay": "0 s",
                    "queue": _queue(_DCTCP, 65, 2666),
                }
            },
        )
        for trip in _TRIPS_US
    }
    return measure(
        bench,
        networks,
        {
            f"{key} {name}": f"flows.{name}.{path}"
            for name in _SHARES
            for key, path in (("goodput", "goodput_bit_per_s.mean"), ("jain", "jain_index"))
        },
    )


def draw_two(numbers: Numbers) -> Drawing:
    """Goodput per sender, beside the paper's."""
    figure, found = plots.panels([f"round trip of {trip}" for trip in numbers], sharey=True)
    for axes, measured in zip(found.values(), numbers.values(), strict=True):
        samples = [measured[f"goodput {name}"] for name in _SHARES]
        plots.line(axes, range(3), samples, "here", 0, scale=1e-6, joined=False)
        axes.plot(range(3), [paper for _, paper, _ in _SHARES.values()], "_", color="#222222",
                  markersize=22, label="paper")  # fmt: skip
        axes.set_xticks(range(3), [name.upper() for name in _SHARES])
        axes.set_yscale("log")
    first = next(iter(found.values()))
    first.set_ylabel("goodput of a sender (Mbit/s)")
    first.legend()
    return figure


def two_tables(numbers: Numbers) -> list[FigureTable]:
    """Goodput and Jain's index of the groups."""
    return [
        table(
            "Two bottlenecks",
            "round trip",
            numbers,
            {
                **{f"goodput {name}": (f"{name.upper()} (Mbit/s)", 1e-6) for name in _SHARES},
                **{f"jain {name}": (f"Jain’s index of {name.upper()}", 1.0) for name in _SHARES},
            },
        )
    ]


def as_published(evidence: Evidence) -> list[Check]:
    """Goodputs are the paper's, to a tenth."""
    return [
        check(
            f"goodput of a sender of {name.upper()}",
            found[f"goodput {name}"],
            0.9e6 * paper,
            1.1e6 * paper,
            reading=trip,
            unit="Mbit/s",
            scale=1e-6,
        )
        for trip, found in evidence["figure-17"].items()
        for name, (_, paper, _) in _SHARES.items()
    ]


def near_fair(evidence: Evidence) -> list[Check]:
    """Goodputs are within a tenth of the fair share, and even within each group."""
    checks = []
    for trip, found in evidence["figure-17"].items():
        for name, (_, _, fair) in _SHARES.items():
            checks += [
                check(
                    f"goodput of a sender of {name.upper()}",
                    found[f"goodput {name}"],
                    0.9e6 * fair,
                    1.1e6 * fair,
                    reading=trip,
                    unit="Mbit/s",
                    scale=1e-6,
                ),
                check(
                    f"Jain’s index of {name.upper()}",
                    found[f"jain {name}"],
                    low=0.985,
                    reading=trip,
                ),
            ]
    return checks


def measure_incast(bench: Workbench) -> Numbers:
    """Time of a query and timeouts, over the number of servers that answer at once."""
    networks = {
        f"{kind}, {timeout} ms, {servers} servers": network(
            "1 Gbit/s",
            _queue(kind, _K, 67),
            {
                "answers": {
                    "count": servers,
                    "rtt": "100 us",
                    "access_rate": "1 Gbit/s",
                    "sender": _sender(kind, timeout),
                    "traffic": {"kind": "transfer", "size": f"{1_000_000 // servers} bytes"},
                    "start": "10 ms .. 10.1 ms",
                }
            },
            "5 s",
            "0 s",
        )
        for timeout, kind, servers in product(_TIMEOUTS_MS, (_DCTCP, _TCP), _SERVERS)
    }
    return measure(
        bench,
        networks,
        {
            "timeouts": "flows.answers.timeouts",
            "time": "flows.answers.completion_time_s.max",
        },
    )


def draw_incast(numbers: Numbers) -> Drawing:
    """Time of a query, a panel for each least timeout."""
    figure, found = plots.panels([f"timeouts of at least {ms} ms" for ms in _TIMEOUTS_MS])
    for timeout, axes in zip(_TIMEOUTS_MS, found.values(), strict=True):
        for number, kind in enumerate((_DCTCP, _TCP)):
            samples = [
                numbers[f"{kind}, {timeout} ms, {servers} servers"]["time"] for servers in _SERVERS
            ]
            plots.line(axes, _SERVERS, samples, kind, number, scale=1e3)
        axes.set_xlabel("servers")
        axes.set_yscale("log")
    first = next(iter(found.values()))
    first.set_ylabel("until all have answered (ms)")
    first.legend()
    return figure


def incast_tables(numbers: Numbers) -> list[FigureTable]:
    """Times and timeouts."""
    return [
        table(
            "1 MB in answers that come at once",
            "senders, least timeout, servers",
            numbers,
            {"time": ("until all have answered (ms)", 1e3), "timeouts": ("timeouts", 1.0)},
        )
    ]


def no_timeouts(evidence: Evidence) -> list[Check]:
    """Not one answer times out with DCTCP."""
    return [
        check(
            "timeouts",
            evidence["figure-18"][f"{_DCTCP}, 300 ms, {servers} servers"]["timeouts"],
            high=0.0,
            reading=f"{servers} servers",
        )
        for servers in _SERVERS
    ]


def fewer_timeouts(evidence: Evidence) -> list[Check]:
    """From ten servers on fewer answers time out than with TCP."""
    numbers = evidence["figure-18"]
    return [
        check(
            "timeouts, DCTCP less TCP",
            differences(
                numbers[f"{_DCTCP}, 300 ms, {servers} servers"]["timeouts"],
                numbers[f"{_TCP}, 300 ms, {servers} servers"]["timeouts"],
            ),
            high=-0.5,
            reading=f"{servers} servers",
        )
        for servers in _SERVERS
        if servers >= 10  # noqa: PLR2004 - below it nobody's answers are lost together
    ]


PAPER = Paper(
    name="alizadeh-2010",
    title="Data Center TCP (DCTCP)",
    authors="M. Alizadeh, A. Greenberg, D. Maltz, J. Padhye, P. Patel and others",
    published="ACM SIGCOMM 2010",
    story=(
        (
            "In a data centre round trips take 100 microseconds and switches have little memory. A "
            "few long transfers fill it, and answers to a query that arrive at once are lost. With "
            "DCTCP the switch marks every packet that meets more than K others. The sender counts "
            "which share of its packets was marked in a round trip, and shrinks its window by half "
            "of the average of that share. A few marks cost little, so K can be small and the "
            "link stays full."
        ),
    ),
    open_questions=(
        (
            "The text was at hand in its abstract, in the analysis and in numbers that the "
            "authors of replications quote (figure 17; K of 20 packets at 1 Gbit/s and 65 at 10). "
            "Set-ups that they do not tell are ours, and their claims say “shape”."
        ),
        (
            "How much memory a port of the shared buffer gets. TCP’s queue is run with 250 and 500 "
            "packets, incast with 67 packets (100 kB)."
        ),
        (
            "TCP is SACK with an initial window of 2 packets, as then. Round trips are 100 us, and "
            "250 us between racks. No answers are desynchronised by the application."
        ),
    ),
    figures=(
        Figure(
            id="figures-1-and-13",
            place="figures 1 and 13",
            title="The queue of two and of twenty long transfers",
            caption="Distribution over time under the first seed.",
            settings="1 Gbit/s, round trip of 100 us, K = 20; 2 s of which 0.5 s are left out.",
            scenarios=(),
            effort=2.0,
            measure=measure_queue,
            draw=draw_queue,
            tables=queue_tables,
        ),
        Figure(
            id="figure-14",
            place="figure 14",
            title="Throughput over the threshold K",
            caption="Dotted: a seventh of the bandwidth-delay product. Means over all seeds with "
            "95 % intervals.",
            settings="10 Gbit/s; 0.5 s of which 0.2 s are left out.",
            scenarios=(),
            effort=20.0,
            measure=measure_thresholds,
            draw=draw_thresholds,
            tables=threshold_tables,
        ),
        Figure(
            id="analysis",
            place="the analysis",
            title="How far the queue swings",
            caption="20 ms under the first seed.",
            settings="10 Gbit/s, round trip of 400 us, so that windows are many packets; looked at "
            "each 20 us.",
            scenarios=(),
            effort=2.0,
            measure=measure_extent,
            draw=draw_extent,
            tables=extent_tables,
        ),
        Figure(
            id="figure-16",
            place="figure 16",
            title="Five flows that join and leave",
            caption="Goodput in each phase without its first half second. Means over all seeds "
            "with 95 % intervals.",
            settings=f"1 Gbit/s, hosts that send at 1 Gbit/s; a flow more, then one less, each "
            f"{_STEP_S} s (ours).",
            scenarios=(),
            effort=8.0,
            measure=measure_convergence,
            draw=draw_convergence,
            tables=convergence_tables,
        ),
        Figure(
            id="figure-17",
            place="figure 17",
            title="Senders over one and over two bottlenecks",
            caption="Ten senders S1 cross a link of 10 Gbit/s and then one of 1 Gbit/s, twenty S2 "
            "cross the first, ten S3 the second. Means over all seeds with 95 % intervals.",
            settings="K = 65 at 10 Gbit/s and 20 at 1 Gbit/s; hosts send at 1 Gbit/s.",
            scenarios=(),
            effort=10.0,
            measure=measure_two,
            draw=draw_two,
            tables=two_tables,
        ),
        Figure(
            id="figure-18",
            place="figure 18",
            title="Answers that come at once (incast)",
            caption="Means over all seeds with 95 % intervals.",
            settings="1 MB in equal parts from so many servers within 0.1 ms, 1 Gbit/s, buffer of "
            "67 packets, K = 20, initial window of 2 packets (ours).",
            scenarios=(),
            effort=2.0,
            measure=measure_incast,
            draw=draw_incast,
            tables=incast_tables,
        ),
    ),
    claims=(
        Claim(
            id="same-throughput",
            place="abstract, figures 1 and 13",
            says="DCTCP delivers the same or better throughput than TCP.",
            measured="Utilisation is no more than 1 % less.",
            figures=("figures-1-and-13",),
            checks=as_fast,
        ),
        Claim(
            id="tenth-of-the-buffer",
            place="abstract, figures 1 and 13",
            says="DCTCP uses 90 % less buffer space.",
            measured="Its longest queue is at most a tenth of TCP’s.",
            figures=("figures-1-and-13",),
            checks=less_buffer,
            remarks={
                Ruling.IN_PART: (
                    "TCP fills whatever there is, so the share is that of the buffer. Twenty "
                    "windows cannot fall below two packets each, which alone are 31 packets in the "
                    "queue."
                )
            },
        ),
        Claim(
            id="seventh",
            place="analysis, figure 14",
            says="No throughput is lost if K is above a seventh of the bandwidth-delay product.",
            measured="Utilisation is at least 99 %.",
            figures=("figure-14",),
            checks=full_from_a_seventh,
        ),
        Claim(
            id="loss-below",
            place="figure 14",
            says="If K is too small, throughput is lost.",
            measured="With K = 2 utilisation is below 99 % (shape).",
            figures=("figure-14",),
            checks=idle_below,
        ),
        Claim(
            id="extent",
            place="analysis",
            says="The queue reaches K + N packets and swings by half the root of 2 N (C R + K).",
            measured="To a quarter of these numbers.",
            figures=("analysis",),
            checks=extent_fits,
        ),
        Claim(
            id="converges",
            place="figure 16",
            says="Flows that join and leave converge to equal shares.",
            measured="Jain’s index is at least 0.99 in each phase (shape).",
            figures=("figure-16",),
            checks=converges,
        ),
        Claim(
            id="published-shares",
            place="figure 17",
            says="A sender of S1 gets 46, of S2 475 and of S3 54 Mbit/s.",
            measured="To a tenth.",
            figures=("figure-17",),
            checks=as_published,
        ),
        Claim(
            id="near-fair",
            place="figure 17",
            says="All are within 10 % of their fair share, and Jain’s index is 0.99.",
            measured="Fair are 50, 475 and 50 Mbit/s. The index rounds to 0.99 or more.",
            figures=("figure-17",),
            checks=near_fair,
            remarks={
                Ruling.IN_PART: (
                    "With a round trip of 250 us senders behind two bottlenecks are marked twice "
                    "and get 42 Mbit/s, which is 16 % less than their fair share."
                )
            },
        ),
        Claim(
            id="no-timeouts",
            place="abstract, figure 18",
            says="Many answers at once cause no timeouts with DCTCP.",
            measured="There is not one in any run (shape).",
            figures=("figure-18",),
            checks=no_timeouts,
            remarks={
                Ruling.IN_PART: (
                    "The first windows alone, two packets from each server, fill the buffer of 67 "
                    "packets from 34 servers on, before any mark can be answered."
                )
            },
        ),
        Claim(
            id="fewer-timeouts",
            place="figure 18",
            says="DCTCP suffers less from incast than TCP.",
            measured="From ten servers on fewer answers time out (shape).",
            figures=("figure-18",),
            checks=fewer_timeouts,
            remarks={
                Ruling.IN_PART: (
                    "TCP times out with 2, 5 and 10 servers, whose answers are long, and DCTCP "
                    "does not; from there on TCP does better than it did in 2010. Each answer is "
                    "a connection of its own, which begins with two packets, and SACK repairs "
                    "what slow start loses. Connections that are kept from query to query, and "
                    "begin with the window of the last, are not run."
                )
            },
        ),
    ),
)
