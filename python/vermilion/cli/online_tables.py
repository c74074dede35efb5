"""The table of ``vermilion online``: the network kept tuned beside the one left alone."""

from __future__ import annotations

from statistics import fmean as mean
from typing import TYPE_CHECKING, Final

from vermilion.cli.compare_tables import print_comparison
from vermilion.cli.output import console
from vermilion.cli.tables import encodable, grid
from vermilion.simulate.comparison import Comparison
from vermilion.simulate.tables import Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from vermilion.objectives.price import PriceRow
    from vermilion.online.entries import OnlineRun
    from vermilion.report.price_line import OtherQueue, Priced, PriceLine


_SHOWN: Final = {
    "utilization": "line used (%)",
    "sojourn_ms.p95": "waits, p95 (ms)",
    "drop_rate": "dropped (%)",
    "starved": "starved",
}
"""Metrics of the price that the summary has, with its headings."""


_WHOLE: Final = 100.0


def print_summary(runs: Sequence[OnlineRun]) -> None:
    """Print what flows feel, left alone -> kept tuned, a line for each phase, and then the goal."""
    from vermilion.report.price_line import price_lines

    objective, lines = runs[0].objective, price_lines(runs)
    screen = console()
    screen.print()
    whole = [
        mean([objective.measure(result) for result in results])
        for results in ([run.reference for run in runs], [run.tuned for run in runs])
    ]
    unit = f" {objective.unit}" if objective.unit else ""
    verdict = f"{objective.name} {_arrow(*whole)}{unit}, left alone -> kept tuned"
    seeds = "one seed" if len(runs) == 1 else f"mean of {len(runs)} seeds"
    if lines:
        screen.print(_phase_table(lines), markup=False)
    screen.print(f"{verdict} ({seeds})", markup=False, style="bold")


def _phase_table(lines: Sequence[PriceLine]) -> Table:
    """Table of what flows feel, left alone -> kept tuned, a row for each phase."""
    from rich.table import Table

    shown = [row.metric for row, _ in lines[0].rows if row.metric in _SHOWN]
    table = Table(box=None, pad_edge=False)
    table.add_column("", overflow="fold")
    for metric in shown:
        table.add_column(_SHOWN[metric], justify="right")
    for line in lines:
        cells = {
            row.metric: _arrow(*(cell.interval.mean * row.factor for cell in cells[:2]))
            for row, cells in line.rows
        }
        traffic = f"{line.start_s:g}..{line.end_s:g} s, {_plain(line.traffic)}"
        table.add_row(traffic, *(cells.get(metric, "") for metric in shown))
    return table


def _arrow(before: float, after: float) -> str:
    return " -> ".join(f"{x:,.0f}" if x >= _WHOLE else f"{x:.3g}" for x in (before, after))


def print_outcome(runs: Sequence[OnlineRun]) -> None:
    """Prints what both networks measured, phase by phase, over the seeds."""
    from vermilion.objectives import LinkObjective

    first = runs[0]
    objective = first.objective
    measures = {}
    if isinstance(objective, LinkObjective):
        measures[objective.name] = objective.value_if_measured
    print_comparison(
        Comparison(
            names=("left alone", "kept tuned"),
            seeds=tuple(run.seed for run in runs),
            results=(
                tuple(run.reference for run in runs),
                tuple(run.tuned for run in runs),
            ),
            measures=measures,
            scenarios=(first.scenario, first.scenario),
            measure_units=dict.fromkeys(measures, objective.unit),
        )
    )


def print_price(runs: Sequence[OnlineRun], rivals: Sequence[OtherQueue]) -> None:
    """Prints how long packets wait in plain words, and what every setting gives the flows."""
    from vermilion.report.price_line import LEFT_ALONE, describe_delay, price_lines

    lines = price_lines(runs, rivals)
    if not lines:
        return
    screen = console()
    sections = [
        Section(
            f"{line.start_s:g} .. {line.end_s:g} s, {_plain(line.traffic)}",
            [(row.heading, [_cell(row, cell) for cell in cells]) for row, cells in line.rows],
        )
        for line in lines
    ]
    screen.print()
    several = len(runs[0].scenario.links) > 1
    heading = f"the price at {runs[0].link}" if several else "the price"
    screen.print(heading, markup=False, style="bold")
    screen.print(grid(lines[0].settings, encodable(sections, screen.encoding), screen.width))
    screen.print()
    if any(cell.judged for line in lines for _, cells in line.rows for cell in cells):
        screen.print(f"* differs significantly from '{LEFT_ALONE}'.", markup=False)
    answers = [words for line in lines if (words := describe_delay(line))]
    for words in answers:
        screen.print(_plain(words), markup=False)
    if answers:
        screen.print("(5th to 95th percentile of the queueing delay, mean over the seeds)")


def _plain(words: str) -> str:
    return words.replace("\N{NO-BREAK SPACE}", " ")


def _cell(row: PriceRow, priced: Priced) -> str:
    from vermilion.report.price_line import in_unit

    return in_unit(row, priced.interval.mean) + (" *" if priced.changed else "")
