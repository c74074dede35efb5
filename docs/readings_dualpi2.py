"""Why DualPI2 gives Prague more than its share: tables and figure of refresh_readings.py."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from vermilion import _core, parse_scenario
from vermilion.report.drawing import BLUE, GREY, VERMILION, style
from vermilion.simulate import mean_interval, run_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from vermilion.simulate import Result

FIGURE = Path(__file__).parent / "figures" / "dualpi2_windows.svg"
SEEDS = range(1, 6)
PACKET_BITS = 12_000
COUPLING = 2
RENO = 1.22
"""Reno's window is this over the root of its loss (Mathis et al., 1997)."""
SHARES = (*product(((20, 1), (40, 4), (100, 2)), (20, 40, 80), ("newreno", "cubic")),)
CROWDS = (1, 2, 4, 8, 16)
SECONDS = 60
WARM_UP_S = 20


@dataclass(frozen=True)
class Share:
    """What one run comes to, as a product of its causes.

    Attributes:
        ratio: rate of a Prague flow over that of one of the others.
        trips: the others' round trip over Prague's.
        answer: Prague's window times the fraction of marks, over the 2 of RFC 9332.
        unsteady: root of the others' loss over half the fraction of marks, which are the same p if
            it stands still.
        other: the others' window times the root of their loss, over Reno's 1.22.
        marked: the fraction of Prague's packets that are marked.
    """

    ratio: float
    trips: float
    answer: float
    unsteady: float
    other: float
    marked: float


def network(rate: int, flows: int, round_trip: int, other: str) -> str:
    """So many flows of Prague, and as many others, over DualPI2."""
    groups = "".join(
        f"""
        [flows.{name}]
        count = {flows}
        path = ["link"]
        rtt = "{round_trip} ms"
        sender = "{name}"
        packet_size = "1500 bytes"
        start = "0 s .. 1 s"
        """
        for name in ("prague", other)
    )
    return f"""
        duration = "{SECONDS} s"
        warm_up = "{WARM_UP_S} s"
        [links.link]
        rate = "{rate} Mbit/s"
        delay = "0 ms"
        [links.link.queue]
        discipline = "dualpi2"
        {groups}
        """


def share(result: Result, round_trip: int, other: str) -> Share:
    """The causes of what a run has given."""
    prague, others = (result.flows(name).total for name in ("prague", other))
    rates, trips = [], []
    for group in (prague, others):
        goodput, delay = group["goodput_bit_per_s"], group["delay_ms"]
        rates.append(goodput["mean"])
        # The way back has no queue.
        trips.append(delay["mean"] + round_trip / 2)
    windows = [rate * trip / 1e3 / PACKET_BITS for rate, trip in zip(rates, trips, strict=True)]
    marked = result.link("link").total["marks"] / prague["packets_delivered"]
    lost = others["packet_loss_rate"] or 0.0
    return Share(
        rates[0] / rates[1],
        trips[1] / trips[0],
        windows[0] * marked / 2,
        math.sqrt(lost) / (marked / COUPLING),
        windows[1] * math.sqrt(lost) / RENO,
        marked,
    )


def shares(rate: int, flows: int, round_trip: int, other: str) -> list[Share]:
    """The same of every seed."""
    scenario = parse_scenario(network(rate, flows, round_trip, other), origin="readings")
    (results,) = run_many([scenario], SEEDS, flow_delays=True)
    return [share(result, round_trip, other) for result in results if result is not None]


def steady_answer(marked: float) -> float:
    """Prague's window times the fraction of marks, over 2, where each packet is marked alike.

    A reduction ends a round trip, and the next waits for a mark, 1 / x of a round trip later if x
    packets of a window are marked: x / (1 + x) reductions in each. They take x / 2 segments each,
    and one segment in each round trip grows for what is not marked: x^2 = 2 (1 - marked) (1 + x).
    """
    free = 1 - marked
    return (free + math.sqrt(free * free + 2 * free)) / 2


def dualpi2_tables() -> dict[str, str]:
    """The rates and their causes, and how they change with the number of flows."""
    over_time = windows_over_time()
    draw_windows(over_time)
    columns = (
        "link, flows, round trip, beside, rate of Prague over theirs, round trips, law, answer"
    )
    rows = [[*columns.split(", "), "unsteady p", "theirs"]]
    for (rate, flows), round_trip, other in SHARES:
        found = shares(rate, flows, round_trip, other)
        trips, answer, unsteady, others = (
            fmean(getattr(each, cause) for each in found)
            for cause in ("trips", "answer", "unsteady", "other")
        )
        causes = (trips, 1 / RENO, answer, unsteady, 1 / others)
        where = [f"{rate} Mbit/s", f"{flows} + {flows}", f"{round_trip} ms", other]
        rows.append([*where, _ratio(found), *(f"{each:.2f}" for each in causes)])
    columns = (
        "flows, marked, answer, answer if p stood still, unsteady p, rate of Prague over theirs"
    )
    crowds = [columns.split(", ")]
    for flows in CROWDS:
        found = shares(25 * flows, flows, 40, "newreno")
        marked, answer, unsteady = (
            fmean(getattr(each, cause) for each in found)
            for cause in ("marked", "answer", "unsteady")
        )
        numbers = [f"{each:.2f}" for each in (answer, steady_answer(marked), unsteady)]
        crowds.append([f"{flows} + {flows}", f"{100 * marked:.1f} %", *numbers, _ratio(found)])
    return {
        "dualpi2-shares": table(rows),
        "dualpi2-rounds": rounds(over_time),
        "dualpi2-crowds": table(crowds),
    }


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as a Markdown table, the first row its head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def _ratio(found: list[Share]) -> str:
    interval = mean_interval(each.ratio for each in found)
    return f"{interval.mean:.2f} ± {interval.half_width:.2f}"


def windows_over_time() -> dict[str, NDArray[np.float64]]:
    """One Prague beside one NewReno, 50 Mbit/s, 80 ms: windows, p and marks in each round."""
    step_ns = 80_000_000
    scenario = parse_scenario(network(50, 1, 80, "newreno"), origin="readings")
    core = scenario.core(probe_interval_s=step_ns / 1e9)
    simulation = _core.Simulation(core.to_json(), 1)
    rows, marks = [], 0
    for step in range(1, SECONDS * 1_000_000_000 // step_ns + 1):
        simulation.advance(step * step_ns)
        flows, packets, *_ = simulation.take_flow_traffic("link")
        sent = dict(zip(flows.tolist(), packets.tolist(), strict=True))
        counted = simulation.counters("link")["marks"]
        rows.append((step * step_ns / 1e9, sent.get(0, 0), sent.get(1, 0), counted - marks))
        marks = counted
    seconds, prague, newreno, marked = np.array(rows, dtype=np.float64).T
    _, series = simulation.result()
    p = series["link"]["drop_probability"][-len(seconds) :]
    steady = seconds > WARM_UP_S
    columns = {"s": seconds, "prague": prague, "newreno": newreno, "marked": marked, "p": p}
    return {name: column[steady] for name, column in columns.items()}


def rounds(found: dict[str, NDArray[np.float64]]) -> str:
    """What one run's windows and p come to."""
    p, marked = found["p"], found["marked"]
    own, others = found["prague"].mean(), found["newreno"].mean()
    law, squares = RENO / p.mean(), RENO / math.sqrt((p**2).mean())
    marks = COUPLING * p.mean()
    steady = 2 * steady_answer(marks) / marks
    with_marks, without_p = 100 * (marked > 0).mean(), 100 * (p < 0.1 * p.mean()).mean()
    return table(
        [
            ("", "Prague", "NewReno"),
            ("mean window (packets)", f"{own:.0f}", f"{others:.0f}"),
            ("what the mean of p would give", f"{2 / COUPLING / p.mean():.0f}", f"{law:.0f}"),
            ("the same with the steady answer", f"{steady:.0f}", ""),
            ("what the mean of its squares would give", "", f"{squares:.0f}"),
            ("rounds with marks", f"{with_marks:.0f} %", ""),
            ("rounds with p below a tenth of its mean", f"{without_p:.0f} %", ""),
        ]
    )


def draw_windows(found: dict[str, NDArray[np.float64]]) -> None:
    """The windows beside those that the mean of p would give (dashed; dotted: steady answer)."""
    shown = found["s"] <= WARM_UP_S + 20
    seconds, p = found["s"][shown], found["p"][shown]
    with style():
        drawing = Figure(figsize=(9.0, 5.6), layout="constrained")
        above, below = drawing.subplots(2, 1, sharex=True)
        for name, colour, law in (("prague", VERMILION, 2 / COUPLING), ("newreno", BLUE, RENO)):
            above.plot(seconds, found[name][shown], color=colour, label=name)
            above.axhline(law / found["p"].mean(), color=colour, linestyle="--", linewidth=1.0)
        marks = COUPLING * found["p"].mean()
        above.axhline(
            2 * steady_answer(marks) / marks, color=VERMILION, linestyle=":", linewidth=1.5
        )
        above.set_ylabel("packets in 80 ms")
        above.set_ylim(0, 1.25 * found["prague"].max())  # room for the legend
        above.legend(loc="upper left", ncols=2)
        below.plot(seconds, 100 * p, color=GREY)
        below.set_ylabel("p (%)")
        below.set_ylim(0)
        below.set_xlabel("time (s)")
        drawing.savefig(FIGURE, metadata={"Date": None})
