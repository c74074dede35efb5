"""Draws slowdown by size of one fabric under five vendors' thresholds.

Writes the figure `fabric_thresholds.svg` and its numbers, `fabric_thresholds.txt`, beside this
file. Takes about two minutes:

    .venv/bin/python docs/figures/fabric_thresholds.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vermilion import fabric
from vermilion.report.drawing import BLUE, GREEN, INK, ORANGE, VERMILION, sheet, style, svg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from vermilion.fabric import FabricResult

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benches"))

from provenance import made_by  # noqa: E402 - found by the path above

NAME = "fabric_thresholds"
SEEDS = range(1, 6)
STOP = "10 ms"
LOAD = 0.5
CLASSES = ("5 kB", "20 kB", "50 kB", "100 kB", "300 kB", "1 MB", "3 MB", "10 MB")
LOOKS = {
    "alibaba": (VERMILION, "o"),
    "conweave": (BLUE, "s"),
    "arista": (GREEN, "^"),
    "nvidia": (ORANGE, "D"),
    "sonic": (INK, "v"),
}


def outcomes() -> tuple[dict[str, fabric.Fabric], dict[str, list[FabricResult]]]:
    """Simulates the fabric under each setting."""
    network = fabric.leaf_spine(
        traffic=[fabric.poisson("websearch", load=LOAD, stop=STOP)], size_classes=list(CLASSES)
    )
    published = fabric.published_thresholds()
    candidates = {
        name: network.with_settings(**published[name].settings(rate=100e9)) for name in LOOKS
    }
    return candidates, fabric.run_many(candidates, SEEDS)


def mean(results: Sequence[FabricResult], number: int, key: str) -> float:
    """The mean over the seeds of a figure of a class of sizes."""
    found = [each.slowdown_by_size[number][key] for each in results]
    known = [value for value in found if value is not None]
    return sum(known) / len(known)


def drawn(rows: Mapping[str, Sequence[FabricResult]]) -> Figure:
    """Slowdown by size: its mean, and its 99th percentile."""
    figure = sheet(4.0)
    panels = figure.subplots(1, 2, sharex=True)
    names = [f"< {CLASSES[0]}", *(f"{low} .." for low in CLASSES)]
    places = range(len(names))
    for axes, key, title in zip(panels, ("mean", "p99"), ("mean", "99th percentile"), strict=True):
        for name, results in rows.items():
            colour, marker = LOOKS[name]
            values = [mean(results, place, key) for place in places]
            axes.plot(places, values, color=colour, marker=marker, markersize=4, label=name)
        axes.set_yscale("log")
        axes.set_xticks(list(places), names, rotation=45, ha="right")
        axes.set_title(f"slowdown, {title}")
        ticks = (1, 2, 3, 5, 10, 20, 30)
        axes.set_yticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
    panels[0].legend(loc="upper left", fontsize="small")
    return figure


def table(
    candidates: Mapping[str, fabric.Fabric], rows: Mapping[str, Sequence[FabricResult]]
) -> str:
    """The numbers, as a table of Markdown."""
    lines = [
        "| | Kmin | Kmax | Pmax | all: mean | p99 | below 50 kB: p99 | from 3 MB: mean | marks |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, results in rows.items():
        switch = candidates[name].table.switch
        every = [each.slowdown for each in results]
        small = sum(mean(results, place, "p99") for place in range(3)) / 3
        large = sum(mean(results, place, "mean") for place in (-2, -1)) / 2
        marks = sum(each.data["marks"] for each in results) / len(results)
        lines.append(
            f"| {name} | {switch.kmin / 1e3:.0f} kB | {switch.kmax / 1e3:.0f} kB | {switch.pmax:g}"
            f" | {sum(each['mean'] for each in every) / len(every):.2f}"
            f" | {sum(each['p99'] for each in every) / len(every):.1f}"
            f" | {small:.1f} | {large:.2f} | {marks:,.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Writes the figure and the table."""
    candidates, rows = outcomes()
    with style():
        text = svg(
            drawn(rows),
            name=NAME,
            description="Slowdown by transfer size under five published sets of thresholds",
        )
    (HERE / f"{NAME}.svg").write_text(text, encoding="utf-8")
    told = table(candidates, rows)
    (HERE / f"{NAME}.txt").write_text(
        f"{made_by(f'docs/figures/{NAME}.py')}\n\n{told}\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
