"""HPCC: senders that are told by the switches how much each link carries.

Y. Li and others, "HPCC: High Precision Congestion Control", SIGCOMM 2019. The shape of figure 11
(completion times by size under load, with and without incast), and an incast's queue.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

from vermilion import fabric
from vermilion_lab.papers import plots
from vermilion_lab.papers.bottleneck import check, percent, ratios, table
from vermilion_lab.papers.interface import Claim, Figure, Paper

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion.fabric import Fabric, FabricResult
    from vermilion_lab.papers.interface import Evidence, FigureTable, Numbers
    from vermilion_lab.papers.verdict import Check
    from vermilion_lab.papers.workbench import Workbench

_SENDERS: Final = {"HPCC": "hpcc", "DCQCN": "dcqcn-mellanox", "DCTCP": "dctcp-hardware"}
_MARKS: Final[dict[str, dict[str, Any]]] = {
    "HPCC": {},
    "DCQCN": {"kmin": "400 kB", "kmax": "1600 kB", "pmax": 0.2},
    "DCTCP": {"kmin": "300 kB", "kmax": "300 kB", "pmax": 1.0},
}
"""At 100 Gbit/s, as in the authors' simulator."""
_STOP: Final = "3 ms"
_TRAFFIC: Final[dict[str, list[Any]]] = {
    "Hadoop, 30 % and incast": [
        fabric.poisson("hadoop", load=0.3, stop=_STOP),
        fabric.incast(60, "500 kB", load=0.02, stop=_STOP),
    ],
    "Hadoop, 50 %": [fabric.poisson("hadoop", load=0.5, stop=_STOP)],
    "web search, 50 %": [fabric.poisson("websearch", load=0.5, stop=_STOP)],
}
_CLASSES: Final = ("below 30 kB", "to 100 kB", "to 300 kB", "to 1 MB", "to 3 MB", "above")
_INCASTS: Final = (8, 16, 32)


def _run(bench: Workbench, networks: dict[str, Fabric]) -> dict[str, list[FabricResult]]:
    """Every fabric with every seed."""
    jobs = [(name, seed) for name in networks for seed in bench.seeds]
    bench.expect(len(jobs))
    results = bench.each(lambda job: fabric.run(networks[job[0]], job[1]), jobs)
    found: dict[str, list[FabricResult]] = {}
    for (name, _), result in zip(jobs, results, strict=True):
        found.setdefault(name, []).append(result)
    return found


def measure_slowdowns(bench: Workbench) -> Numbers:
    """Slowdown by size, pauses and transfers that were not done."""
    networks = {
        f"{name}, {load}": fabric.leaf_spine(
            8,
            8,
            4,
            traffic=traffic,
            sender=sender,
            duration="60 ms",
            **_MARKS[name],
        )
        for (load, traffic), (name, sender) in product(_TRAFFIC.items(), _SENDERS.items())
    }
    numbers: Numbers = {}
    for name, results in _run(bench, networks).items():
        found: dict[str, list[float]] = {
            "pauses": [float(result.data["pauses"]) for result in results],
            "not done": [float(result.data["not_done"]) for result in results],
        }
        for place, key in product(range(len(_CLASSES)), ("p50", "p95", "p99")):
            found[f"{key} {place}"] = [
                float(result.slowdown_by_size[place][key])
                for result in results
                if len(result.slowdown_by_size) > place
                and result.slowdown_by_size[place].get(key) is not None
            ]
        numbers[name] = found
    return numbers


def draw_slowdowns(numbers: Numbers) -> Drawing:
    """95th percentile of the slowdown by size, a panel for each traffic."""
    figure, found = plots.panels(list(_TRAFFIC), sharey=True)
    for load, axes in found.items():
        for number, name in enumerate(_SENDERS):
            each = numbers[f"{name}, {load}"]
            places = [place for place in range(len(_CLASSES)) if each[f"p95 {place}"]]
            samples = [each[f"p95 {place}"] for place in places]
            plots.line(axes, places, samples, name, number)
        axes.set_yscale("log")
        axes.set_xticks(range(len(_CLASSES)), _CLASSES, rotation=40)
    first = next(iter(found.values()))
    first.set_ylabel("95th percentile of the slowdown")
    plots.legend_below(figure, first)
    return figure


def slowdown_tables(numbers: Numbers) -> list[FigureTable]:
    """Percentiles by size, and pauses."""
    columns: dict[str, tuple[str, float]] = {
        f"{key} {place}": (f"{words}, {key}", 1.0)
        for place, words in enumerate(_CLASSES)
        for key in ("p50", "p95", "p99")
    }
    columns["pauses"] = ("pauses", 1.0)
    columns["not done"] = ("not done", 1.0)
    return [table("Slowdown", "sender, traffic", numbers, columns)]


def short_sooner(evidence: Evidence) -> list[Check]:
    """95th and 99th percentile below 30 kB are at most half of DCQCN's."""
    numbers = evidence["figure-11"]
    return [
        percent(
            f"{key} of the slowdown below 30 kB, over DCQCN’s",
            ratios(numbers[f"HPCC, {load}"][f"{key} 0"], numbers[f"DCQCN, {load}"][f"{key} 0"]),
            high=0.5,
            reading=load,
        )
        for load, key in product(_TRAFFIC, ("p95", "p99"))
    ]


def up_to_95(evidence: Evidence) -> list[Check]:
    """Where the gain is greatest, it is at least 90 %."""
    numbers = evidence["figure-11"]
    gains = {
        (load, key): [
            1 - x
            for x in ratios(
                numbers[f"HPCC, {load}"][f"{key} 0"], numbers[f"DCQCN, {load}"][f"{key} 0"]
            )
        ]
        for load, key in product(_TRAFFIC, ("p95", "p99"))
    }
    (load, key), best = max(gains.items(), key=lambda item: sum(item[1]))
    return [
        percent(
            "slowdown of transfers below 30 kB, less than DCQCN’s by",
            best,
            low=0.9,
            reading=f"{load}, {key}",
        )
    ]


def no_pauses(evidence: Evidence) -> list[Check]:
    """HPCC causes no pauses."""
    return [
        check("pauses", evidence["figure-11"][f"HPCC, {load}"]["pauses"], high=0.0, reading=load)
        for load in _TRAFFIC
    ]


def measure_queue(bench: Workbench) -> Numbers:
    """The queue of senders of 5 MB to one, while all of them send."""
    networks = {
        f"{name}, {count} senders": fabric.star(
            count + 1,
            traffic=[fabric.incast(count, "5 MB", receiver=f"host{count + 1}")],
            sender=sender,
            duration="60 ms",
            watch=[{"link": f"switch1-host{count + 1}", "start": "1 ms", "stop": "3 ms"}],
            **_MARKS[name],
        )
        for (name, sender), count in product(_SENDERS.items(), _INCASTS)
    }
    numbers: Numbers = {}
    for name, results in _run(bench, networks).items():
        link = f"switch1-host{int(name.split()[1]) + 1}"
        queues = [result.link(link)["queue_bytes"] for result in results]
        numbers[name] = {key: [float(queue[key]) for queue in queues] for key in ("mean", "p99")}
    return numbers


def draw_queue(numbers: Numbers) -> Drawing:
    """Mean queue over the number of senders."""
    figure, found = plots.panels(["incast of 5 MB each"], 3.8)
    [axes] = found.values()
    for number, name in enumerate(_SENDERS):
        samples = [numbers[f"{name}, {count} senders"]["mean"] for count in _INCASTS]
        plots.line(axes, _INCASTS, samples, name, number, scale=1e-3)
    axes.set_yscale("log")
    axes.set_xlabel("senders")
    axes.set_ylabel("mean queue (kB)")
    axes.legend()
    return figure


def queue_tables(numbers: Numbers) -> list[FigureTable]:
    """Mean and 99th percentile."""
    return [
        table(
            "Queue at 100 Gbit/s, from 1 to 3 ms",
            "sender, number",
            numbers,
            {"mean": ("mean (kB)", 1e-3), "p99": ("99th percentile (kB)", 1e-3)},
        )
    ]


def near_zero(evidence: Evidence) -> list[Check]:
    """HPCC's mean queue is at most a tenth of DCQCN's and DCTCP's."""
    numbers = evidence["queue"]
    return [
        percent(
            f"mean queue over {other}’s",
            ratios(
                numbers[f"HPCC, {count} senders"]["mean"],
                numbers[f"{other}, {count} senders"]["mean"],
            ),
            high=0.1,
            reading=f"{count} senders",
        )
        for other, count in product(("DCQCN", "DCTCP"), _INCASTS)
    ]


PAPER = Paper(
    name="li-2019",
    title="HPCC: High Precision Congestion Control",
    authors="Y. Li, R. Miao, H. H. Liu, Y. Zhuang, F. Feng and others",
    published="ACM SIGCOMM 2019",
    story=(
        (
            "Marks say that a queue is too long, and not by how much. In HPCC each switch writes "
            "into each packet how long its queue is and how many bytes its link has sent, and the "
            "receiver sends that back. A sender sees how full each link of its way is and sets "
            "its window so that the fullest carries 95 %. Queues should be nearly empty, and short "
            "transfers done as if they were alone."
        ),
    ),
    open_questions=(
        (
            "The text was at hand in its abstract, with the traffic of figure 11 as the authors’ "
            "repository has it. Others who re-ran figure 11 did not get its numbers, so what is "
            "judged is its shape."
        ),
        (
            "The network: 64 hosts at 8 leaves and 4 spines here, 320 hosts there. Incasts of 60 "
            "senders with 500 kB are as there, and traffic stops after 3 ms."
        ),
        (
            "DCQCN is that of ConnectX with the authors’ thresholds of 400 and 1600 kB. TIMELY, "
            "and windows laid over DCQCN, are not modelled."
        ),
    ),
    figures=(
        Figure(
            id="figure-11",
            place="figure 11",
            title="Slowdown by size",
            caption="Slowdown is the completion time over that in an empty network. Means over all "
            "seeds with 95 % intervals.",
            settings="100 and 400 Gbit/s, 1 us a link, all transfers to their ends.",
            scenarios=(),
            effort=50.0,
            measure=measure_slowdowns,
            draw=draw_slowdowns,
            tables=slowdown_tables,
        ),
        Figure(
            id="queue",
            place="abstract",
            title="The queue of an incast",
            caption="Means over all seeds with 95 % intervals.",
            settings="So many hosts at one switch of 100 Gbit/s send 5 MB each to one; looked at "
            "from 1 to 3 ms.",
            scenarios=(),
            effort=5.0,
            measure=measure_queue,
            draw=draw_queue,
            tables=queue_tables,
        ),
    ),
    claims=(
        Claim(
            id="short-sooner",
            place="figure 11",
            says="Short transfers are done much sooner with HPCC than with DCQCN.",
            measured="Below 30 kB the 95th and 99th percentile of the slowdown are at most half of "
            "DCQCN’s (shape).",
            figures=("figure-11",),
            checks=short_sooner,
        ),
        Claim(
            id="up-to-95",
            place="abstract",
            says="HPCC shortens completion times by up to 95 %.",
            measured="Where it gains most for transfers below 30 kB, their 95th or 99th percentile "
            "falls by at least 90 %.",
            figures=("figure-11",),
            checks=up_to_95,
        ),
        Claim(
            id="no-pauses",
            place="abstract",
            says="HPCC causes little congestion even under large incasts.",
            measured="No switch pauses anybody in any run (shape).",
            figures=("figure-11",),
            checks=no_pauses,
        ),
        Claim(
            id="near-zero",
            place="abstract",
            says="HPCC maintains near-zero queues.",
            measured="The mean queue of an incast is at most a tenth of DCQCN’s and of DCTCP’s.",
            figures=("queue",),
            checks=near_zero,
        ),
    ),
)
