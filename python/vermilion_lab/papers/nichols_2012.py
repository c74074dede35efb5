"""CoDel: a queue that is judged by how long packets stay in it.

K. Nichols, V. Jacobson, "Controlling Queue Delay", ACM Queue 10(5) and Communications of the ACM
55(7), 2012. Delay and utilisation over static rates and under loads, a link whose rate changes, and
how evenly drops fall on the flows.

The text was at hand in summaries alone: no number of the paper is judged, and set-ups are ours.
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
    table,
)
from vermilion_lab.papers.interface import Claim, Figure, Paper
from vermilion_lab.papers.measures import differences, jain
from vermilion_lab.papers.verdict import Ruling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure as Drawing

    from vermilion_lab.papers.interface import Evidence, FigureTable, Numbers
    from vermilion_lab.papers.verdict import Check
    from vermilion_lab.papers.workbench import Workbench

_BUFFER: Final = {"limit": "1000 packets"}
_RED: Final = {
    "discipline": "red",
    "min_threshold": "5 packets",
    "max_threshold": "20 packets",
    "max_probability": 0.1,
    "weight": 0.002,
}
_CODEL: Final = "CoDel"
_TAIL: Final = "drop-tail"
_REDS: Final = ("RED 5/20", "Adaptive RED")
_QUEUES: Final[dict[str, dict[str, object]]] = {
    _CODEL: {"discipline": "codel", "ecn": False, **_BUFFER},
    _TAIL: {"discipline": "drop-tail", **_BUFFER},
    _REDS[0]: {**_RED, **_BUFFER},
    _REDS[1]: {"discipline": "adaptive-red", **_BUFFER},
}
_RATES: Final = (3, 10, 45, 100)
_LOADS: Final = (1, 5, 25)
_SENDERS: Final = ("sack", "cubic")

_STEPS: Final = (100, 10, 1, 50, 1, 100)
_STEP_S: Final = 20
_WAYS: Final = (20, 40, 60, 80, 100, 120, 160, 200)

_STATIC_PATHS: Final = {
    "utilization": f"links.{LINK}.utilization",
    "median": f"links.{LINK}.sojourn_ms.p50",
    "p95": f"links.{LINK}.sojourn_ms.p95",
    "drop_rate": f"links.{LINK}.drop_rate",
}


def _place(sender: str, rate: int, load: int) -> str:
    return f"{sender}, {rate} Mbit/s, {load} transfer{'s' if load > 1 else ''}"


def _places() -> list[tuple[str, int, int]]:
    return list(product(_SENDERS, _RATES, _LOADS))


def measure_static(bench: Workbench) -> Numbers:
    """Delay and utilisation of every queue at every rate, load and sender."""
    networks = {
        f"{queue}: {_place(sender, rate, load)}": network(
            f"{rate} Mbit/s",
            _QUEUES[queue],
            {"bulk": {"count": load, "rtt": "100 ms", "sender": sender}},
            "60 s",
            "15 s",
        )
        for queue in _QUEUES
        for sender, rate, load in _places()
    }
    return measure(bench, networks, _STATIC_PATHS)


def draw_static(numbers: Numbers) -> Drawing:
    """Median delay above, utilisation below, over the rate; a column for each load."""
    figure, found = plots.sheet(2, len(_LOADS), 6.4, sharex=True, sharey="row")
    for column, load in enumerate(_LOADS):
        for row, (key, words, scale) in enumerate(
            (("median", "median delay (ms)", 1.0), ("utilization", "utilisation (%)", 100.0))
        ):
            axes = found[row][column]
            for number, queue in enumerate(_QUEUES):
                samples = [
                    numbers[f"{queue}: {_place('cubic', rate, load)}"][key] for rate in _RATES
                ]
                plots.line(axes, _RATES, samples, queue, number, scale=scale)
            axes.set_xscale("log")
            found[row][0].set_ylabel(words)
        found[0][column].set_yscale("log")
        found[0][column].set_title(f"CUBIC, {load}", fontsize=10.5)
        found[1][column].set_xlabel("rate (Mbit/s)")
    plots.legend_below(figure, found[0][0])
    return figure


def static_tables(numbers: Numbers) -> list[FigureTable]:
    """All places and queues."""
    return [
        table(
            "One bottleneck of constant rate",
            "queue: sender, rate, load",
            numbers,
            {
                "utilization": ("utilisation (%)", 100.0),
                "median": ("median delay (ms)", 1.0),
                "p95": ("95th percentile (ms)", 1.0),
                "drop_rate": ("drop rate (%)", 100.0),
            },
        )
    ]


def shorter(evidence: Evidence) -> list[Check]:
    """CoDel's median delay is below drop-tail's."""
    numbers = evidence["static-rates"]
    return [
        check(
            "median delay, CoDel less drop-tail",
            differences(
                numbers[f"{_CODEL}: {place}"]["median"], numbers[f"{_TAIL}: {place}"]["median"]
            ),
            high=0.0,
            reading=place,
            unit="ms",
        )
        for place in (_place(*each) for each in _places())
    ]


def full(evidence: Evidence) -> list[Check]:
    """The link is nearly always busy with CoDel."""
    numbers = evidence["static-rates"]
    return [
        percent(
            "utilisation", numbers[f"{_CODEL}: {place}"]["utilization"], low=0.95, reading=place
        )
        for place in (_place(*each) for each in _places())
    ]


def busier_than_red(evidence: Evidence) -> list[Check]:
    """CoDel uses the link no less than RED, to half a point."""
    numbers = evidence["static-rates"]
    return [
        check(
            f"utilisation, CoDel less {red}",
            differences(
                numbers[f"{_CODEL}: {place}"]["utilization"],
                numbers[f"{red}: {place}"]["utilization"],
            ),
            low=-0.005,
            reading=place,
            unit="points",
            scale=100.0,
        )
        for red in _REDS
        for place in (_place(*each) for each in _places())
    ]


def measure_dynamic(bench: Workbench) -> Numbers:
    """Delay and utilisation in each step of the rate."""
    changes = [
        {"at": f"{_STEP_S * place} s", "link": LINK, "rate": f"{rate} Mbit/s"}
        for place, rate in enumerate(_STEPS)
        if place > 0
    ]
    bench.expect(len(_QUEUES) * len(bench.seeds))
    results = bench.run_many(
        {
            queue: network(
                f"{_STEPS[0]} Mbit/s",
                parameters,
                {"bulk": {"count": 4, "rtt": "100 ms", "sender": "cubic"}},
                f"{_STEP_S * len(_STEPS)} s",
                "5 s",
                settle="0 s",
                changes=changes,
            )
            for queue, parameters in _QUEUES.items()
        }
    )
    return {
        queue: {
            f"{key} {step}": [of_path(result, f"links.{LINK}.{step}.{path}") for result in found]
            for step in range(len(_STEPS))
            for key, path in (("median", "sojourn_ms.p50"), ("utilization", "utilization"))
        }
        for queue, found in results.items()
    }


def draw_dynamic(numbers: Numbers) -> Drawing:
    """Median delay and utilisation in each step."""
    figure, found = plots.panels(["median delay (ms)", "utilisation (%)"])
    for axes, key, scale in zip(
        found.values(), ("median", "utilization"), (1.0, 100.0), strict=True
    ):
        for number, (queue, steps) in enumerate(numbers.items()):
            samples = [steps[f"{key} {step}"] for step in range(len(_STEPS))]
            plots.line(axes, range(len(_STEPS)), samples, queue, number, scale=scale)
        axes.set_xticks(range(len(_STEPS)), [f"{rate}" for rate in _STEPS])
        axes.set_xlabel(f"rate (Mbit/s), {_STEP_S} s each")
    found["median delay (ms)"].set_yscale("log")
    plots.legend_below(figure, found["utilisation (%)"])
    return figure


def dynamic_tables(numbers: Numbers) -> list[FigureTable]:
    """Both quantities in each step."""
    return [
        table(
            f"{words} in each step",
            "queue",
            numbers,
            {
                f"{key} {step}": (f"{step + 1}: {rate} Mbit/s", scale)
                for step, rate in enumerate(_STEPS)
            },
        )
        for key, words, scale in (
            ("median", "Median delay (ms)", 1.0),
            ("utilization", "Utilisation (%)", 100.0),
        )
    ]


def dynamic_shorter(evidence: Evidence) -> list[Check]:
    """CoDel's median delay in each step after the first is below drop-tail's."""
    numbers = evidence["dynamic-rate"]
    return [
        check(
            "median delay, CoDel less drop-tail",
            differences(numbers[_CODEL][f"median {step}"], numbers[_TAIL][f"median {step}"]),
            high=0.0,
            reading=f"step {step + 1}, {rate} Mbit/s",
            unit="ms",
        )
        for step, rate in enumerate(_STEPS)
        if step > 0
    ]


def dynamic_better(evidence: Evidence) -> list[Check]:
    """In each step after the first CoDel is no worse than RED in both, or better in one."""
    numbers = evidence["dynamic-rate"]
    checks: list[Check] = []
    for red, (step, rate) in product(_REDS, list(enumerate(_STEPS))[1:]):
        reading = f"{red}, step {step + 1}, {rate} Mbit/s"
        busy = differences(
            numbers[_CODEL][f"utilization {step}"], numbers[red][f"utilization {step}"]
        )
        if rate >= _STEPS[step - 1]:
            checks.append(
                check(
                    "utilisation after the rate has risen, CoDel less RED",
                    busy,
                    low=0.0,
                    reading=reading,
                    unit="points",
                    scale=100.0,
                )
            )
        else:
            wait = differences(numbers[_CODEL][f"median {step}"], numbers[red][f"median {step}"])
            checks.append(
                check(
                    "median delay after the rate has fallen, CoDel less RED",
                    wait,
                    high=0.0,
                    reading=reading,
                    unit="ms",
                )
            )
    return checks


def measure_drops(bench: Workbench) -> Numbers:
    """Share of each flow's packets that is lost, with eight round trips over one queue."""
    networks = {
        f"{queue}: {rate} Mbit/s": network(
            f"{rate} Mbit/s",
            parameters,
            {f"way{way}": {"rtt": f"{way} ms", "sender": "sack"} for way in _WAYS},
            "120 s",
            "15 s",
        )
        for queue, parameters in _QUEUES.items()
        for rate in _RATES[:3]
    }
    return measure(
        bench,
        networks,
        {str(way): f"flows.way{way}.packet_loss_rate" for way in _WAYS},
        flow_delays=True,
    )


def draw_drops(numbers: Numbers) -> Drawing:
    """Loss of each flow over its round trip, a panel for each rate."""
    names = [f"{rate} Mbit/s" for rate in _RATES[:3]]
    figure, found = plots.panels(names)
    for name, axes in found.items():
        for number, queue in enumerate(_QUEUES):
            samples = [numbers[f"{queue}: {name}"][str(way)] for way in _WAYS]
            plots.line(axes, _WAYS, samples, queue, number, scale=100.0)
        axes.set_xlabel("round trip (ms)")
        axes.set_ylim(bottom=0)
    found[names[0]].set_ylabel("packets lost (%)")
    plots.legend_below(figure, found[names[0]])
    return figure


def drop_tables(numbers: Numbers) -> list[FigureTable]:
    """Loss of each flow and Jain's index of all."""
    with_index = {name: {**found, "jain": jain(found.values())} for name, found in numbers.items()}
    columns: dict[str, tuple[str, float]] = {
        str(way): (f"lost at {way} ms (%)", 100.0) for way in _WAYS
    }
    return [
        table(
            "Loss of eight flows",
            "queue: rate",
            with_index,
            {**columns, "jain": ("Jain’s index of the losses", 1.0)},
        )
    ]


def fairer_drops(evidence: Evidence) -> list[Check]:
    """Jain's index of the flows' loss rates is higher with CoDel than with RED."""
    numbers: dict[str, Any] = evidence["fair-drops"]
    return [
        check(
            f"Jain’s index of the flows’ loss rates, CoDel less {red}",
            differences(
                jain(numbers[f"{_CODEL}: {rate} Mbit/s"].values()),
                jain(numbers[f"{red}: {rate} Mbit/s"].values()),
            ),
            low=0.0,
            reading=f"{rate} Mbit/s",
        )
        for red in _REDS
        for rate in _RATES[:3]
    ]


def _claims() -> Sequence[Claim]:
    return (
        Claim(
            id="below-tail-drop",
            place="static link rates",
            says="CoDel’s delay is lower than that of a full buffer at all rates and loads.",
            measured="Its median is below drop-tail’s (shape).",
            figures=("static-rates",),
            checks=shorter,
        ),
        Claim(
            id="nearly-full",
            place="static link rates",
            says="CoDel keeps utilisation at almost 100 %.",
            measured="Utilisation is at least 95 %; “almost” is put into a number by us.",
            figures=("static-rates",),
            checks=full,
            remarks={
                Ruling.IN_PART: (
                    "With one transfer over a round trip of 100 ms it does not hold at any rate. "
                    "A queue of 5 ms cannot bridge a window that was halved (SACK: 78 to 81 %) "
                    "or cut to 0.7 (CUBIC: 90 to 93 %). Five SACK transfers have "
                    "94.6 % at 3 and 10 Mbit/s. More transfers, and five of CUBIC, fill the link."
                )
            },
        ),
        Claim(
            id="busier-than-red",
            place="static link rates",
            says="CoDel’s utilisation is higher than RED’s.",
            measured="Utilisation is no less than RED’s by more than half a point.",
            figures=("static-rates",),
            checks=busier_than_red,
            remarks={
                Ruling.IN_PART: (
                    "It depends on which RED. Thresholds of 5 and 20 packets are made for slow "
                    "links, and leave fast ones idle. Adaptive RED sets its thresholds by the "
                    "rate. It lets packets wait longer than CoDel and uses the link more."
                )
            },
        ),
        Claim(
            id="dynamic-below-tail-drop",
            place="dynamic links",
            says="CoDel’s delay stays low when the rate changes.",
            measured="In each step after the first its median is below drop-tail’s (shape).",
            figures=("dynamic-rate",),
            checks=dynamic_shorter,
        ),
        Claim(
            id="dynamic-better-than-red",
            place="dynamic links",
            says="CoDel responds to changes of the rate better than RED.",
            measured="Where the rate has risen, utilisation is higher than RED’s; where it has "
            "fallen, the median delay is lower (shape).",
            figures=("dynamic-rate",),
            checks=dynamic_better,
        ),
        Claim(
            id="fair-drops",
            place="dropping the right packets",
            says="CoDel’s drops are shared more fairly than RED’s, by Jain’s index.",
            measured="Jain’s index of eight flows’ loss rates is higher than RED’s. Which shares "
            "the paper’s index is of is not known to us (shape).",
            figures=("fair-drops",),
            checks=fairer_drops,
            remarks={
                Ruling.OPEN: (
                    "The indices of both are alike, and their differences no larger than those "
                    "between seeds."
                )
            },
        ),
    )


PAPER = Paper(
    name="nichols-2012",
    title="Controlling Queue Delay",
    authors="K. Nichols, V. Jacobson",
    published="ACM Queue 10(5), 2012",
    story=(
        (
            "Buffers are there for bursts, which are gone after a round trip. What stays is of no "
            "use to anybody: it makes packets wait and adds nothing to the throughput. CoDel looks "
            "at how long packets have waited and not at how many there are. If for 100 ms "
            "not one waited less than 5 ms, it drops, and then again at intervals that shrink "
            "with the square root of the number of drops. It has no setting that depends on the "
            "rate of the link."
        ),
    ),
    open_questions=(
        (
            "The paper’s text was at hand in summaries alone. What it says is judged by its "
            "direction, and no number is taken from it."
        ),
        (
            "Rates, loads and buffer of the simulations. 3 to 100 Mbit/s, 1 to 25 transfers with "
            "a round trip of 100 ms, 1000 packets, and the steps of the rate are ours."
        ),
        (
            "Which RED it is compared with. Run are thresholds of 5 and 20 packets, which one of "
            "the authors had in a talk of 1998, and Adaptive RED. Marks (ECN) are off."
        ),
    ),
    figures=(
        Figure(
            id="static-rates",
            place="static link rates",
            title="Delay and utilisation over the rate of the link",
            caption="With 1, 5 and 25 transfers (CUBIC; the table also has SACK). Means over all "
            "seeds with 95 % intervals.",
            settings="Round trip of 100 ms, packets of 1500 bytes, 60 s of which 15 s are left "
            "out.",
            scenarios=(),
            effort=20.0,
            measure=measure_static,
            draw=draw_static,
            tables=static_tables,
        ),
        Figure(
            id="dynamic-rate",
            place="dynamic links",
            title="A link whose rate changes every 20 s",
            caption="The steps follow one another from the left. Means over all seeds with 95 % "
            "intervals.",
            settings="Four CUBIC transfers, round trip of 100 ms. Nothing is left out after a "
            "change.",
            scenarios=(),
            effort=4.0,
            measure=measure_dynamic,
            draw=draw_dynamic,
            tables=dynamic_tables,
        ),
        Figure(
            id="fair-drops",
            place="dropping the right packets",
            title="Loss of eight flows with different round trips",
            caption="Means over all seeds with 95 % intervals.",
            settings="SACK transfers with 20 to 200 ms over one queue, 120 s of which 15 s are "
            "left out.",
            scenarios=(),
            effort=4.0,
            measure=measure_drops,
            draw=draw_drops,
            tables=drop_tables,
        ),
    ),
    claims=tuple(_claims()),
)
