"""The figures and tables of docs/laboratory/search-benchmark.md, from the measured cells."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING

import fronts
from cells import RESULTS
from choices import RESULTS as CHOICES
from choices_table import by_network, overall, whole_tunings
from coco_functions import DIMENSIONS, FUNCTIONS, plan
from contenders import BASELINE, RECORDED
from matplotlib import rc_context
from matplotlib.figure import Figure
from networks import NETWORKS
from tunings import RESULTS as TUNINGS

from vermilion.report.drawing import BLUE, GREEN, GREY, INK, ORANGE, SKY_BLUE, VERMILION, style

sys.path.insert(0, str(Path(__file__).parents[1]))

from provenance import drawn_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cells import Cell
    from matplotlib.axes import Axes
    from networks import Network

    Cells = Mapping[tuple[str, int, str], Cell]

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
PINK = "#CC79A7"  # of the same palette
LOOKS = dict(
    zip(
        RECORDED,
        (
            (VERMILION, "o"),
            (ORANGE, "s"),
            (BLUE, "^"),
            (SKY_BLUE, "D"),
            (GREEN, "v"),
            (PINK, "P"),
            (INK, "x"),
            (GREY, "+"),
        ),
        strict=True,
    )
)
# The page shows the figures at two thirds of their size.
LARGER = {"font.size": 13, "axes.titlesize": 14, "legend.fontsize": 12}
DODGE = 0.085
TABLED = (50, 100, 400)
TABLED_COCO = (50, 200, 1000)


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper quartile."""
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return low, middle, high


def plot(axes: Axes, search: str, budgets: Sequence[int], rows: Sequence[Sequence[float]]) -> None:
    """A search's medians and quartiles, a little beside the others'.

    Args:
        axes: on which each budget has the place of its index.
        search: its name.
        budgets: evaluations.
        rows: for each budget, a value of each repetition.
    """
    colour, marker = LOOKS[search]
    beside = DODGE * (RECORDED.index(search) - 0.5 * (len(RECORDED) - 1))
    low, middle, high = zip(*map(quartiles, rows), strict=True)
    where = [index + beside for index in range(len(budgets))]
    axes.plot(where, middle, color=colour, linewidth=0.9, alpha=0.55)
    axes.plot(
        where, middle, linestyle="none", marker=marker, markersize=6.5, color=colour,
        markeredgewidth=1.6 if marker in "x+" else 0.0, label=search,
    )  # fmt: skip
    axes.vlines(where, low, high, color=colour, linewidth=1.7)


def finish(axes: Axes, budgets: Sequence[int], unit: str) -> None:
    """Labels, scales and separators between the budgets."""
    axes.set_xticks(range(len(budgets)), [str(budget) for budget in budgets])
    axes.set_xlim(-0.5, len(budgets) - 0.5)
    for boundary in range(1, len(budgets)):
        axes.axvline(boundary - 0.5, color="#DDDDDD", linewidth=0.6)
    axes.set_xlabel(f"{unit} evaluated")


def measured(cells: Cells) -> list[Network]:
    """The networks on which searches have been measured, in the page's order."""
    names = {problem for problem, _, _ in cells}
    return sorted((each for each in NETWORKS if each.name in names), key=lambda each: each.name)


def cells_of(cells: Cells, problem: str) -> list[Cell]:
    """All searches on one of our networks, in the contenders' order."""
    found = [cell for key, cell in cells.items() if key[0] == problem]
    return sorted(found, key=lambda cell: RECORDED.index(cell.search))


def networks_figure(cells: Cells) -> Figure:
    """The true mean against settings, and its median against CPU time."""
    networks = measured(cells)
    drawing = Figure(figsize=(6.2 * len(networks), 10.4), layout="constrained")
    rows = drawing.subplots(2, len(networks), squeeze=False, sharey="col")
    for (above, below), network in zip(zip(*rows, strict=True), networks, strict=True):
        for cell in cells_of(cells, network.name):
            by_budget = list(zip(*cell.values, strict=True))
            plot(above, cell.search, cell.budgets, by_budget)
            colour, marker = LOOKS[cell.search]
            below.plot(
                cell.cpu_s, [median(row) for row in by_budget], color=colour, marker=marker,
                markersize=6, markeredgewidth=1.4 if marker in "x+" else 0.0, linewidth=1.2,
            )  # fmt: skip
        finish(above, network.budgets, "settings")
        above.set_title(network.title[0].upper() + network.title[1:])
        below.set_xscale("log")
        below.set_xlabel("CPU time on one core (s)")
        below.grid(visible=True, axis="both")
        for axes in (above, below):
            axes.set_ylabel(f"{network.unit}, true mean")
            if network.name != "parking-lot":
                axes.set_yscale("log")
    fullest = max((axes for row in rows for axes in row), key=lambda axes: len(axes.collections))
    handles, labels = fullest.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=4, markerscale=1.2)
    return drawing


def dimensions_measured(cells: Cells) -> list[int]:
    """The numbers of dimensions whose cells are all there."""
    return [
        dimensions
        for dimensions in DIMENSIONS
        if all(
            (f"f{function}", d, search) in cells
            for function, d, search in plan()
            if d == dimensions
        )
    ]


def scores(cells: Cells, search: str, dimensions: int) -> tuple[list[int], list[list[float]]]:
    """The gap to the optimum relative to random search's, geometric mean over the functions.

    Returns:
        The budgets, and for each the score of each repetition: the geometric mean, over the
        functions on which the search was measured, of its gap divided by the median gap of
        random search after as many evaluations.
    """
    found = [
        (cells[name, dimensions, search], cells[name, dimensions, BASELINE])
        for name in (f"f{function}" for function in FUNCTIONS)
        if (name, dimensions, search) in cells
    ]
    budgets = found[0][0].budgets
    return budgets, [
        [
            math.exp(
                fmean(
                    math.log(own.values[repetition][index])
                    - math.log(median(row[index] for row in baseline.values))
                    for own, baseline in found
                )
            )
            for repetition in range(len(found[0][0].values))
        ]
        for index in range(len(budgets))
    ]


def coco_figure(cells: Cells) -> Figure:
    """One panel for each number of dimensions."""
    drawing = Figure(figsize=(13.2, 10.4), layout="constrained")
    panels = list(drawing.subplots(2, 2, sharey=True).flat)
    known = dimensions_measured(cells)
    for unused in panels[len(known) :]:
        unused.set_axis_off()
    for axes, dimensions in zip(panels, known, strict=False):
        longest: list[int] = []
        for search in RECORDED:
            budgets, rows = scores(cells, search, dimensions)
            plot(axes, search, budgets, rows)
            longest = max(longest, budgets, key=len)
        finish(axes, longest, "points")
        axes.axhline(1.0, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set_yscale("log")
        axes.set_title(f"{dimensions} dimensions")
        axes.set_ylabel("gap to the optimum / random search's")
    handles, labels = panels[0].get_legend_handles_labels()
    labels = [f"{label} (3 functions)" if label.startswith("tree") else label for label in labels]
    drawing.legend(handles, labels, loc="outside lower center", ncols=4, markerscale=1.2)
    return drawing


def networks_table(cells: Cells) -> list[str]:
    """Medians and quartiles of each network after some budgets, as Markdown."""
    lines = []
    for network in measured(cells):
        budgets = [b for b in network.budgets if b in TABLED or b == network.budgets[-1]]
        heads = [f"after {budget}" for budget in budgets]
        lines += [
            f"**{network.title[0].upper() + network.title[1:]}**, {network.unit}:",
            "",
            f"| search | {' | '.join(heads)} | of the CPU time, the search's own |",
            "| --- |" + " ---: |" * (len(heads) + 1),
        ]
        for cell in cells_of(cells, network.name):
            columns = list(zip(*cell.values, strict=True))
            shown = [columns[cell.budgets.index(budget)] for budget in budgets]
            own = 100.0 * cell.own_s[-1] / cell.cpu_s[-1]
            lines.append(f"| `{cell.search}` | {' | '.join(map(spread, shown))} | {own:.0f} % |")
        lines.append("")
    return lines


def coco_table(cells: Cells) -> list[str]:
    """The scores' medians for each number of dimensions after some budgets, as Markdown."""
    measured_here = dimensions_measured(cells)
    heads = [f"{d}D, {b}" for d in measured_here for b in TABLED_COCO]
    lines = [f"| search | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(heads)]
    for search in RECORDED:
        row = []
        for dimensions in measured_here:
            budgets, values = scores(cells, search, dimensions)
            known = dict(zip(budgets, values, strict=True))
            row += [f"{median(known[b]):.2g}" if b in known else "" for b in TABLED_COCO]
        lines.append(f"| `{search}` | {' | '.join(row)} |")
    return [*lines, ""]


def spread(values: Sequence[float]) -> str:
    """A median with its quartiles."""
    low, middle, high = quartiles(values)
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def draw(cells: Cells, choices: Cells, tunings: Cells, found: Sequence[fronts.Found]) -> None:
    """Writes figures and tables.

    Args:
        cells: of the searches.
        choices: of the candidates for the automatic search.
        tunings: of whole tunings with them.
        found: fronts.
    """
    with style(), rc_context(LARGER):
        for name, figure in (
            ("search_benchmark_networks", networks_figure(cells)),
            ("search_benchmark_coco", coco_figure(cells)),
        ):
            figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})
    for name, lines, results in (
        ("search_benchmark_networks", networks_table(cells), RESULTS),
        ("search_benchmark_coco", coco_table(cells), RESULTS),
        ("search_benchmark_choices", overall(choices), CHOICES),
        ("search_benchmark_choices_networks", by_network(choices), CHOICES),
        ("search_benchmark_tunings", whole_tunings(tunings), TUNINGS),
        ("search_benchmark_fronts", fronts.table(found), fronts.RESULTS),
    ):
        text = "\n".join([*lines, drawn_by("benches/searches", results), ""])
        (FIGURES / f"{name}.txt").write_text(text, encoding="utf-8")
