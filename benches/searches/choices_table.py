"""The tables of the candidates for the automatic search, from the measured cells."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING

from choices import CANDIDATES
from drawn_networks import BUDGETS, DRAWN_NETWORKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cells import Cell

    Cells = Mapping[tuple[str, int, str], Cell]

FAR = 1.5
"""Times the best found from which on a search has lost its way."""


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


def measured(cells: Cells) -> list[str]:
    """The networks on which every candidate has been measured, in their order."""
    names = {key[0] for key in cells}
    return [network.name for network in DRAWN_NETWORKS if network.name in names]


def overall(cells: Cells) -> list[str]:
    """All networks together, as Markdown."""
    heads = [
        f"{budget}: {what}" for budget in BUDGETS for what in ("mean", f"above {FAR:g}", "worst")
    ]
    lines = [f"| candidate | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(heads)]
    networks = measured(cells)
    for candidate in CANDIDATES:
        row = []
        for budget in BUDGETS:
            found = [ratios(cells, each, candidate.name, budget) for each in networks]
            flat = [value for values in found for value in values]
            far = sum(value > FAR for value in flat)
            row += [
                f"{mean_ratio([mean_ratio(values) for values in found]):.3f}",
                f"{far} of {len(flat)}",
                f"{max(flat):.2f}",
            ]
        lines.append(f"| {candidate.name} | {' | '.join(row)} |")
    return [*lines, ""]


def by_network(cells: Cells, budget: int) -> list[str]:
    """Each network after one budget, as Markdown."""
    heads = [candidate.name for candidate in CANDIDATES]
    lines = [f"| network | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(heads)]
    for network in measured(cells):
        row = []
        for candidate in CANDIDATES:
            found = ratios(cells, network, candidate.name, budget)
            row.append(f"{mean_ratio(found):.3f} ({median(found):.3f}, {max(found):.2f})")
        lines.append(f"| {network} | {' | '.join(row)} |")
    return [*lines, ""]
