"""Draws how the published objective, equation (1), is won without a well-kept queue.

Simulates 1500 random settings of RED on the first phase of `varying-load` (16 flows), and marks
who wins by equation (1), who wins by the queue itself, and standard RED. Writes the figure
`published_objective_gamed.svg` and the numbers that docs/tuning-goals.md tells about it,
`published_objective_gamed.txt`, beside this file. Takes about a minute:

    .venv/bin/python docs/figures/published_objective_gamed.py
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from vermilion import load_scenario, run
from vermilion.objectives import objective_from_table
from vermilion.report.drawing import BLUE, GREEN, GREY, INK, ORANGE, VERMILION, style
from vermilion.search import SEARCHES, Space
from vermilion.simulate import mean_interval, run_many
from vermilion.tuning import Candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from vermilion.simulate import Interval, Result
    from vermilion.tuning import Setting

# The page shows the figure at two thirds of its size.
LARGER = {"font.size": 14, "axes.titlesize": 15, "legend.fontsize": 12.5}
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benches"))

from provenance import made_by  # noqa: E402 - found by the path above

NAME = "published_objective_gamed"
TARGET = 30.0
SETTINGS = 1500
SEEDS = range(1, 4)
FRESH_SEEDS = range(101, 111)
QUEUE = "links.bottleneck.queue"

# 22 s hold the first phase, that of 16 flows, and no other.
PHASE_S = (5.0, 20.0)
SCENARIO = load_scenario("varying-load", ["duration=22 s"])
LETTER, QUEUE_ITSELF = (
    objective_from_table({"name": name, "link": "bottleneck", "target": TARGET}, SCENARIO)
    for name in ("published-queue-variance", "queue-deviation")
)


def phase(result: Result) -> dict[str, float]:
    """The numbers of the phase of 16 flows."""
    [window] = result.link("bottleneck").phases
    return {
        "letter": LETTER.value(window),
        "deviation": QUEUE_ITSELF.value(window),
        "mean": window["queue_packets"]["mean"],
        "sd": window["queue_packets"]["sd"],
        "utilization": window["utilization"],
        "drop_rate": window["drop_rate"],
    }


@dataclass(frozen=True)
class Trial:
    """A setting and its numbers, means over the seeds."""

    setting: Setting
    letter: float
    deviation: float
    utilization: float


def trials(settings: Sequence[Setting], candidates: Candidates) -> list[Trial]:
    """Simulates settings."""
    rows = run_many([candidates.text(setting) for setting in settings], SEEDS)
    found = []
    for setting, results in zip(settings, rows, strict=True):
        numbers = [phase(result) for result in results if result is not None]
        means = {key: sum(each[key] for each in numbers) / len(numbers) for key in numbers[0]}
        found.append(Trial(setting, means["letter"], means["deviation"], means["utilization"]))
    return found


@dataclass(frozen=True)
class Marked:
    """A setting that the figure and the table point out."""

    name: str
    trial: Trial
    colour: str
    marker: str


def marked_settings() -> tuple[list[Trial], list[Marked]]:
    """All trials, and the four to point out."""
    space = Space.from_scenario(SCENARIO)
    candidates = Candidates(SCENARIO, space.names)
    points = SEARCHES["random-search"](len(space), seed=1).ask(SETTINGS)
    found = trials([space.values(point) for point in points], candidates)
    [standard] = trials([{name: SCENARIO.get(name) for name in space.names}], candidates)
    by_letter = min(found, key=lambda trial: trial.letter)
    by_queue = min(found, key=lambda trial: trial.deviation)
    praised = [trial for trial in found if trial.letter < by_queue.letter]
    worst_praised = max(praised, key=lambda trial: trial.deviation)
    return found, [
        Marked("standard RED", standard, BLUE, "D"),
        Marked("wins by equation (1)", by_letter, VERMILION, "*"),
        Marked("worst queue of those praised", worst_praised, ORANGE, "v"),
        Marked("wins by the queue itself", by_queue, GREEN, "s"),
    ]


def scatter(
    axes: Axes, found: Sequence[Trial], marks: Sequence[Marked], value: Callable[[Trial], float]
) -> None:
    """All settings by equation (1) and another number, with the marked ones on top."""
    axes.plot(
        [trial.letter for trial in found],
        [value(trial) for trial in found],
        linestyle="none", marker="o", markersize=2.4, markeredgewidth=0, color=GREY, alpha=0.45,
        rasterized=True,
    )  # fmt: skip
    for mark in marks:
        axes.plot(
            mark.trial.letter, value(mark.trial),
            linestyle="none", marker=mark.marker, markersize=16 if mark.marker == "*" else 10,
            color=mark.colour, markeredgecolor=INK, markeredgewidth=0.8, label=mark.name,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel("equation (1), of RED's own average (packets²)")
    axes.grid(visible=True, which="major", axis="both")


def trace(axes: Axes, mark: Marked) -> None:
    """The queue and its average under a setting, seed 1."""
    result = run(SCENARIO.with_values(mark.trial.setting), seed=1, probe_interval_s=0.02)
    series = result.series("bottleneck")
    shown = (series["time_s"] >= PHASE_S[0]) & (series["time_s"] <= PHASE_S[1])
    time = series["time_s"][shown]
    axes.plot(
        time, series["average_queue_packets"][shown],
        color=mark.colour, linewidth=3.0, label="RED's average",
    )  # fmt: skip
    axes.plot(time, series["queue_packets"][shown], color=INK, linewidth=0.7, label="queue")
    axes.axhline(TARGET, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), label="target")
    axes.set_xlim(*PHASE_S)
    axes.set_ylim(0.0, 95.0)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("packets")
    axes.set_title(mark.name[0].upper() + mark.name[1:])
    axes.legend(loc="upper right", ncols=3, handlelength=1.2, columnspacing=1.0)


def figure(found: Sequence[Trial], marks: Sequence[Marked]) -> Figure:
    """Above, what equation (1) praises; below, the queues behind two of the marks."""
    drawing = Figure(figsize=(12.0, 9.6), layout="constrained")
    above, below = drawing.subplots(2, 2, height_ratios=(1.25, 1.0))
    scatter(above[0], found, marks, lambda trial: trial.deviation)
    above[0].set_yscale("log")
    above[0].set_ylabel("deviation of the queue itself (pkt²)")
    above[0].set_title("Praised by equation (1), and the queue")
    scatter(above[1], found, marks, lambda trial: trial.utilization)
    above[1].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    above[1].set_ylabel("utilisation of the link")
    above[1].set_title("Praised by equation (1), and the link")
    above[1].legend(loc="lower left", numpoints=1, handletextpad=0.4, frameon=True)
    trace(below[0], marks[2])
    trace(below[1], marks[3])
    return drawing


def column(mark: Marked) -> dict[str, str]:
    """A marked setting and its numbers on fresh seeds, as cells of the table."""
    setting = mark.trial.setting
    low, high, probability, weight = (
        setting[f"{QUEUE}.{name}"]
        for name in ("min_threshold", "max_threshold", "max_probability", "weight")
    )
    fresh = [phase(run(SCENARIO.with_values(setting), seed=seed)) for seed in FRESH_SEEDS]
    numbers = {key: mean_interval(each[key] for each in fresh) for key in fresh[0]}
    return {
        "": mark.name,
        "thresholds (packets)": f"{low:.3g} / {high:.3g}",
        "maximum probability": f"{probability:.2g}",
        "weight": f"{weight:.2g}",
        "equation (1) (packets²)": plus_minus(numbers["letter"]),
        "queue deviation (packets²)": plus_minus(numbers["deviation"]),
        "mean queue (packets)": plus_minus(numbers["mean"]),
        "utilisation (%)": plus_minus(numbers["utilization"], 100.0),
        "drop rate (%)": plus_minus(numbers["drop_rate"], 100.0),
    }


def table(marks: Sequence[Marked]) -> list[str]:
    """The marked settings as columns of a Markdown table."""
    columns = [column(mark) for mark in marks]
    rows = [[name, *(cells[name] for cells in columns)] for name in columns[0]]
    rows.insert(1, ["---"] * len(rows[0]))
    return [f"| {' | '.join(row)} |" for row in rows]


def plus_minus(interval: Interval, factor: float = 1.0) -> str:
    """A mean with its interval, to the digits that the interval leaves meaningful."""
    half = factor * (interval.half_width or 0.0)
    digits = 0 if half >= 10.0 else 1 if half >= 1.0 else 2  # noqa: PLR2004 - digits
    return f"{factor * interval.mean:.{digits}f} ± {half:.{digits}f}"


def text(found: Sequence[Trial], marks: Sequence[Marked]) -> str:
    """What docs/tuning-goals.md says about the figure."""
    standard, letter, praised, queue = (mark.trial for mark in marks)
    better = sum(trial.letter < queue.letter for trial in found)
    story = (
        f"Of {SETTINGS} random settings, {better} score better by equation (1) than the one that "
        f"really keeps the queue best. The winner by the letter scores {letter.letter:.2g} "
        f"packets², {standard.letter / letter.letter:.0f} times better than standard RED. Its "
        f"queue deviates by {letter.deviation:.0f} packets², where "
        f"{queue.deviation:.0f} packets² were to be had. And among those that equation (1) "
        f"prefers to the best-kept queue is one with a score of {praised.letter:.2g} packets² "
        f"whose queue deviates by {praised.deviation:.0f} packets²: "
        f"{praised.deviation / standard.deviation:.1f} times as much as under the standard "
        "setting that was to be improved upon. Seen again on "
        f"{len(FRESH_SEEDS)} fresh seeds, means with 95 % t intervals:"
    )
    return "\n".join([story, "", *table(marks), ""])


def draw() -> None:
    """Writes the figure and the text."""
    found, marks = marked_settings()
    with style(), rc_context(LARGER):
        drawing = figure(found, marks)
        drawing.savefig(HERE / f"{NAME}.svg", dpi=200, metadata={"Date": None})
    made = made_by(f"docs/figures/{NAME}.py")
    (HERE / f"{NAME}.txt").write_text(f"{text(found, marks)}\n{made}\n", encoding="utf-8")


if __name__ == "__main__":
    draw()
