"""Draws the figures of docs/laboratory/validation.md.

``validation_references.svg``: our means against those of ns-2, ns-3 and Linux;
``validation_linux_flow.svg``: one flow's sawtooth and a lock-out, ours over the kernel's;
``validation_phase_effects.svg``: two flows' shares against the difference of their round trips.
Takes about a minute:

    .venv/bin/python docs/figures/validation.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from vermilion import parse_scenario, run
from vermilion.report.drawing import BLUE, GREEN, GREY, INK, SHADE, VERMILION, style

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "python"))

import linux_reference  # noqa: E402 - the tests' own scenarios
import phase_effects  # noqa: E402 - found by the path above
from reference_tables import comparisons  # noqa: E402 - found by the path above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The page shows the figures at two thirds of their size.
LARGER = {"font.size": 14, "axes.titlesize": 15, "legend.fontsize": 12.5}
WIDEST = 40.0
"""Differences beyond this many per cent are drawn at the edge."""
RARE = 1e-3
"""Rates below this are a few packets, of which a percentage says nothing."""


def scatter(axes: Axes, rows: list[Any], scale: float) -> None:
    """Differences in per cent against the reference's value, with three standard errors."""
    for agrees, colour, label in (
        (True, BLUE, "agrees"),
        (False, VERMILION, "does not"),
    ):
        chosen = [row for row in rows if row.agrees == agrees]
        theirs = np.array([row.theirs.mean for row in chosen])
        difference = np.array([100 * (row.ratio - 1) for row in chosen])
        errors = np.array([300 * np.hypot(row.ours.error, row.theirs.error) for row in chosen])
        axes.errorbar(
            scale * theirs, np.clip(difference, -WIDEST, WIDEST), errors / theirs, label=label,
            linestyle="none", marker="o", markersize=6, color=colour, elinewidth=1.0,
            markeredgecolor="white", markeredgewidth=0.6, zorder=3,
        )  # fmt: skip
    axes.axhspan(-5, 5, color=SHADE, zorder=0)
    axes.axhline(0, color=GREY, linewidth=1.0, zorder=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(-WIDEST * 1.05, WIDEST * 1.05)
    axes.yaxis.set_major_formatter(PercentFormatter(100.0, decimals=0))


def references() -> Figure:
    """A column for each of those we are compared with, a row for queues and one for rates."""
    drawing = Figure(figsize=(12.0, 8.2), layout="constrained")
    grid = drawing.subplots(2, 3, sharex="row", sharey=True)
    for column, (name, rows) in enumerate(comparisons().items()):
        queues = [row for row in rows if row.where.metric == "mean queue"]
        rates = [
            row for row in rows if row.where.metric.endswith(" rate") and row.theirs.mean > RARE
        ]
        in_bytes = name.startswith("Linux")
        scatter(grid[0][column], queues, 1 / linux_reference.PACKET if in_bytes else 1.0)
        scatter(grid[1][column], rates, 100.0)
        grid[0][column].set_title(name)
        grid[0][column].set_xlabel("mean queue there (packets)")
        grid[1][column].set_xlabel("drops or marks there (%)")
    for row in grid:
        row[0].set_ylabel("ours less theirs")
    grid[1][2].legend(loc="upper left", numpoints=1, handletextpad=0.2)
    return drawing


def beside_the_kernel(axes: Axes, name: str, until_s: float) -> None:
    """The queue of seed 1, ours and the kernel's: means over 0.1 s, in packets."""
    case = next(case for label, case in linux_reference.CASES.items() if label.startswith(name))
    theirs = np.array(case["queue_series_seed1"]["backlog_100ms"]) / linux_reference.PACKET
    text = linux_reference.scenario_text(case, warm_up_s=0.0)
    if name == "L14a":  # the kernel's one flow begins at once
        text = text.replace('"0 s .. 1 s"', '"0 s"')
    result = run(parse_scenario(text), 1, probe_interval_s=0.01)
    series = result.series("r0")["queue_bytes"][1:] / linux_reference.PACKET
    ours = series[: len(series) // 10 * 10].reshape(-1, 10).mean(axis=1)
    for values, colour, width, label in (
        (theirs, GREY, 3.4, "Linux 6.12"),
        (ours, VERMILION, 1.4, "Vermilion"),
    ):
        shown = values[: round(until_s * 10)]
        axes.plot(
            0.1 * np.arange(1, len(shown) + 1), shown, color=colour, linewidth=width, label=label
        )
    axes.set_xlim(0, until_s)
    axes.set_ylim(0, 108)
    axes.set_ylabel("queue (packets)")


def linux_flow() -> Figure:
    """Above, one flow's slow start and sawtooth; below, a queue that shuts itself."""
    drawing = Figure(figsize=(12.0, 7.6), layout="constrained")
    above, below = drawing.subplots(2, 1)
    beside_the_kernel(above, "L14a", 30.0)
    above.set_title("One flow, drop-tail 100, round trip 100 ms")
    beside_the_kernel(below, "L1:", 30.0)
    below.set_title("Sixteen flows, RED that does not decay while idle")
    below.set_xlabel("time (s)")
    above.legend(loc="lower right", ncols=2)
    return drawing


def phases() -> Figure:
    """The first flow's share against the difference of the round trips."""
    drawing = Figure(figsize=(12.0, 4.8), layout="constrained")
    axes = drawing.subplots()
    for queue, others, colour, marker, label in (
        (phase_effects.DROP_TAIL, "", VERMILION, "o", "drop-tail"),
        (
            phase_effects.DROP_TAIL, phase_effects.SMALL_AND_VARIED, BLUE, "s",
            "drop-tail, a tenth of the link for small packets",
        ),
        (phase_effects.RED, "", GREEN, "^", "RED"),
    ):  # fmt: skip
        shares = phase_effects.shares(queue, others)
        axes.plot(
            phase_effects.DIFFERENCES_MS, shares, color=colour, marker=marker, markersize=5,
            linewidth=1.4, label=label,
        )  # fmt: skip
    axes.axhline(0.5, color=INK, linewidth=0.8)
    axes.set_ylim(0, 1.02)
    axes.set_xlim(-0.5, 50.5)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlabel("the second flow's round trip is longer by (ms); a packet takes 10 ms")
    axes.set_ylabel("the first flow's share")
    axes.legend(loc="upper left", ncols=3)
    return drawing


def draw() -> None:
    """Writes the figures."""
    with style(), rc_context(LARGER):
        for name, figure in (
            ("references", references()),
            ("linux_flow", linux_flow()),
            ("phase_effects", phases()),
        ):
            figure.savefig(HERE / f"validation_{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw()
