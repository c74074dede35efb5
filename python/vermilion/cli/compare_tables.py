"""The tables of ``vermilion compare``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.cli.grid import Section, grid
from vermilion.cli.numbers import ABSENT, stretch
from vermilion.cli.output import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate.comparison import Comparison
    from vermilion.simulate.statistics import Interval


@dataclass(frozen=True, slots=True)
class Row:
    """One line: its label, the metric, the factor to the unit shown, and the decimals."""

    label: str
    metric: str
    factor: float = 1.0
    decimals: int = 1


ROWS: Final = (
    Row("utilisation (%)", "utilization", 100.0, 2),
    Row("queue mean (pkt)", "queue_packets.mean"),
    Row("queue sd", "queue_packets.sd"),
    Row("queue p95", "queue_packets.p95"),
    Row("sojourn mean (ms)", "sojourn_ms.mean"),
    Row("sojourn p95", "sojourn_ms.p95"),
    Row("drop rate (%)", "drop_rate", 100.0, 2),
    Row("mark rate (%)", "mark_rate", 100.0, 2),
)


def print_comparison(comparison: Comparison) -> None:
    """Prints a table for each link: a section for each phase, a column for each variant."""
    screen = console()
    rows = [*ROWS, *(Row(name, name) for name in comparison.measures)]
    for link in comparison.links:
        screen.print(f"link {link}", markup=False, style="bold")
        windows = comparison.windows(link)
        headings = [*(stretch(window) for window in windows[:-1]), "whole run"]
        sections = [
            _section(comparison, link, window, heading, rows)
            for window, heading in enumerate(headings)
        ]
        screen.print(grid(comparison.names, sections))
        if not comparison.phases_agree(link):
            screen.print("The variants have different phases, which cannot be compared.")
    count = len(comparison.seeds)
    remark = (
        f"Seed {comparison.seeds[0]} alone says nothing about the uncertainty of these figures."
    )
    if count > 1:
        remark = f"Means over {count} seeds with 95 % t intervals."
        if len(comparison.names) > 1:
            remark += f" * differs significantly from {comparison.names[0]!r}."
    screen.print(remark, markup=False)


def _section(
    comparison: Comparison, link: str, window: int, title: str, rows: Sequence[Row]
) -> Section:
    lines = []
    for row in rows:
        intervals = [
            comparison.interval(variant, link, window, row.metric)
            for variant in range(len(comparison.names))
        ]
        # A mark rate of zero throughout, or a metric that no variant has, says nothing.
        if all(interval is None for interval in intervals) or (
            row.metric == "mark_rate"
            and not any(interval and interval.mean for interval in intervals)
        ):
            continue
        differences = [
            comparison.difference(variant, link, window, row.metric)
            for variant in range(len(comparison.names))
        ]
        lines.append(
            (row.label, [_cell(*pair, row) for pair in zip(intervals, differences, strict=True)])
        )
    return Section(title, lines)


def _cell(interval: Interval | None, difference: Interval | None, row: Row) -> str:
    if interval is None:
        return f"{ABSENT}  "
    text = f"{interval.mean * row.factor:.{row.decimals}f}"
    if interval.half_width is not None:
        text += f" ± {interval.half_width * row.factor:.{row.decimals}f}"
    differs = difference is not None and difference.excludes(0.0)
    return f"{text} {'*' if differs else ' '}"
