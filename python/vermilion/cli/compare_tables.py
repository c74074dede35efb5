"""The tables of ``vermilion compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.cli.output import cell, console
from vermilion.cli.tables import BEYOND_THE_LINE, encodable, grid, is_beyond_the_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate.comparison import Comparison


_LINK: Final = {
    "utilization": ("used %", 100.0),
    "sojourn_ms.p50": ("delay p50 ms", 1.0),
    "sojourn_ms.p95": ("p95 ms", 1.0),
    "drop_rate": ("drops %", 100.0),
}
_FLOWS: Final = {
    "goodput_bit_per_s.total": ("goodput Mbit/s", 1e-6),
    "jain_index": ("Jain", 1.0),
    "starved": ("starved", 1.0),
}

_LONGEST_NAME: Final = 20
"""Characters of a variant's name that stand in one line."""


def _short_names(names: Sequence[str]) -> list[str]:
    """Variants without the part of the path that all of them share."""
    paths = [name.partition("=")[0].rpartition(".")[0] for name in names]
    if len(set(paths)) > 1 or not paths[0].startswith(("links.", "flows.")):
        return list(names)
    return [name.removeprefix(f"{paths[0]}.") for name in names]


def print_summary(comparison: Comparison) -> None:
    """Prints a line for each variant: means over the seeds of the whole run."""
    from rich.table import Table

    screen = console()
    windows = len(comparison.windows(comparison.links[0]))
    whole = [each for each in comparison.entries() if (each.index + 1) % windows == 0]
    bulk = [each for each in whole if each.kind == "bulk_flows"]
    flows = bulk or [each for each in whole if each.kind == "flows"]
    if len({each.name for each in flows}) > 1:
        flows = []  # groups that are not alike have no sum that says something
    for link in comparison.links:
        if len(comparison.links) > 1:
            screen.print(f"link {link}", markup=False, style="bold")
        shown = {**_FLOWS, **_LINK, **{name: (name, 1.0) for name in comparison.measures}}
        cells: dict[tuple[int, str], str] = {}
        for entry in [*flows, *(it for it in whole if it.kind == "links" and it.name == link)]:
            _, factor = shown.get(entry.metric, ("", 1.0))
            star = entry.difference is not None and entry.difference.excludes(0.0)
            value = f"{entry.interval.mean * factor:.4g}"
            cells.setdefault((entry.variant, entry.metric), value + (" *" if star else "  "))
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        names = _short_names(comparison.names)
        widest = max(map(len, names))
        table.add_column("", min_width=min(widest, _LONGEST_NAME), overflow="fold")
        columns = [name for name in shown if any(name == metric for _, metric in cells)]
        for name in columns:
            table.add_column(shown[name][0].replace("-", "- "), justify="right", max_width=10)
        for number, variant in enumerate(names):
            table.add_row(cell(variant), *(cells.get((number, name), "") for name in columns))
        screen.print(table)
    if any(
        is_beyond_the_line(comparison.scenarios[each.variant], each.name, each.interval.mean)
        for each in whole
        if each.kind == "flows"
        and each.metric == "goodput_bit_per_s.total"
        and comparison.scenarios
    ):
        screen.print(BEYOND_THE_LINE, markup=False)
    screen.print(
        f"Whole run, means over {len(comparison.seeds)} seeds; * differs significantly from"
        f" {comparison.names[0]}. Phases, groups and intervals: --all",
        markup=False,
    )


def print_comparison(comparison: Comparison) -> None:
    """Prints a table for each link and group: a section for each phase, a column per variant."""
    screen = console()
    for table in comparison.tables():
        screen.print(table.title, markup=False, style="bold")
        sections = encodable(table.sections, screen.encoding)
        screen.print(grid(table.headings, sections, screen.width))
        screen.print()
    screen.print(comparison.remark(), markup=False)
