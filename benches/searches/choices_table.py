"""The tables of the candidates for the automatic search, from the measured cells."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from choices import CANDIDATES
from drawn_networks import BUDGETS, DRAWN_NETWORKS

from vermilion.search.registry import FEW_PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cells import Cell

    Cells = Mapping[tuple[str, int, str], Cell]

MOST_PARAMETERS = 6
TABLED = (80, 240)


def ratios(cells: Cells, network: str, candidate: str, budget: int) -> list[float]:
    """Of each repetition, how many times as high its true value is as the best that any found.

    A candidate that counts an ordered pair in another way is where there is none the one that does
    not.
    """
    of_network = {key[2]: cell for key, cell in cells.items() if key[0] == network}
    best = min(value for cell in of_network.values() for row in cell.values for value in row)
    cell = of_network.get(candidate) or of_network[candidate.partition(", from below")[0]]
    place = cell.budgets.index(budget)
    # What is to be maximised is negative.
    return [row[place] / best if best > 0.0 else best / row[place] for row in cell.values]


def mean_ratio(values: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(fmean(math.log(value) for value in values))


def measured(cells: Cells, parameters: range) -> list[str]:
    """The networks with so many parameters that have been measured, in their order."""
    sizes = {key[0]: key[1] for key in cells}
    names = [network.name for network in DRAWN_NETWORKS]
    return [name for name in names if name in sizes and sizes[name] in parameters]


def overall(cells: Cells) -> list[str]:
    """All networks with few and with more parameters, as Markdown."""
    few = range(1, FEW_PARAMETERS + 1)
    more = range(FEW_PARAMETERS + 1, MOST_PARAMETERS + 1)
    lines = []
    for words, parameters in (("Two and three parameters", few), ("Four to six", more)):
        networks = measured(cells, parameters)
        lines += [f"**{words}**, {len(networks)} networks:", "", *_together(cells, networks), ""]
    return lines


def _together(cells: Cells, networks: Sequence[str]) -> list[str]:
    heads = " | ".join(str(budget) for budget in BUDGETS)
    lines = [f"| settings | {heads} |", "| --- |" + " ---: |" * len(BUDGETS)]
    for candidate in CANDIDATES:
        row = []
        for budget in BUDGETS:
            found = [ratios(cells, each, candidate.name, budget) for each in networks]
            mean = mean_ratio([mean_ratio(values) for values in found])
            row.append(f"{mean:.3f} (worst {max(map(max, found)):.2f})")
        lines.append(f"| {candidate.name} | {' | '.join(row)} |")
    return lines


def by_network(cells: Cells) -> list[str]:
    """Each network after some budgets, as Markdown."""
    lines = []
    for budget in TABLED:
        lines += [f"After {budget} settings:", "", *_each(cells, budget), ""]
    return lines


def _each(cells: Cells, budget: int) -> list[str]:
    heads = [candidate.name for candidate in CANDIDATES]
    lines = [f"| network | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(heads)]
    for network in measured(cells, range(1, MOST_PARAMETERS + 1)):
        row = []
        for candidate in CANDIDATES:
            found = ratios(cells, network, candidate.name, budget)
            row.append(f"{mean_ratio(found):.3f} (worst {max(found):.2f})")
        lines.append(f"| {network} | {' | '.join(row)} |")
    return lines


def whole_tunings(cells: Cells) -> list[str]:
    """Whole tunings, all networks together and each, as Markdown."""
    names = {key[2] for key in cells}
    found = [candidate.name for candidate in CANDIDATES if candidate.name in names]
    lines = [f"| network | {' | '.join(found)} |", "| --- |" + " ---: |" * len(found)]
    everywhere = range(1, MOST_PARAMETERS + 1)
    budgets = next(iter(cells.values())).budgets
    for network in measured(cells, everywhere):
        row = []
        for name in found:
            values = ratios(cells, network, name, budgets[-1])
            row.append(f"{mean_ratio(values):.3f} (worst {max(values):.2f})")
        lines.append(f"| {network} | {' | '.join(row)} |")
    few, more = range(1, FEW_PARAMETERS + 1), range(FEW_PARAMETERS + 1, MOST_PARAMETERS + 1)
    for words, parameters in (("two and three", few), ("four to six", more)):
        networks = measured(cells, parameters)
        for budget in budgets:
            means = []
            for name in found:
                each = [mean_ratio(ratios(cells, where, name, budget)) for where in networks]
                means.append(f"**{mean_ratio(each):.3f}**")
            lines.append(f"| all of {words}, {budget} settings | {' | '.join(means)} |")
    return [*lines, ""]
