"""Draws what a queue discipline does, the same way for each of them.

1. Its law: how likely it drops against how long the queue is, while a load that does not answer
   (Poisson packets without a sender) grows slowly from 0.8 to 1.3 times what the link carries.
2. The same load over time: the share dropped, beside the least that must be.
3. The queue under TCP that answers: 16 NewReno flows that become 64.

Everything is measured on the discipline as it runs, with its defaults; no formula is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from vermilion import parse_scenario, run
from vermilion.report.drawing import BLUE, GREY, ORANGE, VERMILION, style

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from vermilion.simulate.measured_run import Series

LONGEST: Final = 150.0
"""Packets up to which queues are drawn: the same on every page."""
MOST: Final = 0.35
"""Shares up to which they are drawn: the overload needs 0.23."""
BIN: Final = 5
"""Samples of 0.1 s in a bin of half a second."""

NETWORK: Final = """
title = "What one discipline does"
duration = "60 s"
warm_up = "0 s"

[links.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
[links.bottleneck.queue]
discipline = "{name}"
"""

FLOWS: Final = """
[flows.{name}]
count = {count}
path = ["bottleneck"]
rtt = "40 ms"
packet_size = "1000 bytes"
{how}
"""

LOAD: Final = (
    NETWORK
    + FLOWS.format(
        name="steady",
        count=16,
        how='traffic = {{ kind = "poisson", rate = "500 kbit/s" }}\nstart = "0 s"',
    )
    + FLOWS.format(
        name="growing",
        count=40,
        how='traffic = {{ kind = "poisson", rate = "125 kbit/s" }}\n'
        'start = "5 s .. 45 s"\nstop = "50 s"',
    )
)
TCP: Final = (
    NETWORK
    + FLOWS.format(name="early", count=16, how='sender = "newreno"\nstart = "0 s .. 1 s"')
    + FLOWS.format(name="late", count=48, how='sender = "newreno"\nstart = "30 s .. 31 s"')
)
STEADY, GROWN, BEGIN, END, STOP = 0.8, 1.3, 5.0, 45.0, 50.0


def draw(name: str, target: Path) -> None:
    """Simulates a discipline and writes its picture."""
    load = run(parse_scenario(LOAD.format(name=name)), 1, 0.1).series("bottleneck")
    responsive = run(parse_scenario(TCP.format(name=name)), 1, 0.1).series("bottleneck")
    larger = {"font.size": 14, "axes.titlesize": 14.5, "legend.fontsize": 12.5}
    with style(), rc_context(larger):
        figure = Figure(figsize=(13.5, 4.2), layout="constrained")
        law, over_time, answered = figure.subplots(1, 3)
        _law(law, load)
        _over_time(over_time, load)
        _answered(answered, responsive)
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(target, metadata=nothing)


def _law(axes: Axes, load: Series) -> None:
    axes.set_title("Share dropped against the queue")
    queue = _binned(load["queue_packets"]) / BIN
    axes.plot(
        np.minimum(queue, LONGEST), np.minimum(_share(load), MOST), linestyle="none", marker="o",
        markersize=4.5, color=ORANGE, alpha=0.8, label="dropped in half a second", clip_on=False,
    )  # fmt: skip
    average, probability = load["average_queue_packets"], load["drop_probability"]
    if not np.all(np.isnan(probability)):
        own = not np.all(np.isnan(average))
        axes.plot(
            np.minimum(average if own else load["queue_packets"], LONGEST),
            np.minimum(probability, MOST), linestyle="none", marker=".", markersize=4, color=BLUE,
            label=f"its probability, {'its average' if own else 'the'} queue", clip_on=False,
        )  # fmt: skip
    axes.set(xlim=(0, LONGEST), ylim=(0, MOST), ylabel="share of arrivals")
    axes.set_xlabel(f"queue, packets (longer ones at {LONGEST:.0f})")
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.legend(loc="upper left", frameon=True, framealpha=0.85, edgecolor="none")


def _over_time(axes: Axes, load: Series) -> None:
    axes.set_title("A load that does not answer")
    time = load["time_s"][BIN::BIN]
    offered = np.interp(time, (BEGIN, END), (STEADY, GROWN)) * (time <= STOP) + STEADY * (
        time > STOP
    )
    axes.plot(
        time, np.minimum(_share(load), MOST), color=ORANGE, linewidth=1.8, label="share dropped"
    )
    axes.plot(
        time, np.maximum(0, 1 - 1 / offered), color=GREY, linewidth=1.6, linestyle="--",
        label="the least that must be",
    )  # fmt: skip
    axes.set(xlim=(0, 60), ylim=(0, MOST), xlabel="time, s", ylabel="share of arrivals")
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.legend(loc="upper left")


def _answered(axes: Axes, responsive: Series) -> None:
    axes.set_title("TCP: 16 flows, from 30 s on 64")
    axes.plot(
        responsive["time_s"], np.minimum(responsive["queue_packets"], LONGEST),
        color=VERMILION, linewidth=1.0,
    )  # fmt: skip
    axes.set(xlim=(0, 60), ylim=(0, LONGEST), xlabel="time, s", ylabel="queue, packets")


def _share(load: Series) -> NDArray[np.float64]:
    """Drops per arrival in each bin."""
    share: NDArray[np.float64] = _binned(load["drops"]) / np.maximum(_binned(load["arrivals"]), 1)
    return share


def _binned(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums over the bins; the reading at time 0 belongs to none."""
    sums: NDArray[np.float64] = values[1:].reshape(-1, BIN).sum(axis=1)
    return sums
