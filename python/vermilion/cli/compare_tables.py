"""The tables of ``vermilion compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.cli.output import console
from vermilion.cli.tables import encodable, grid

if TYPE_CHECKING:
    from vermilion.simulate.comparison import Comparison


def print_comparison(comparison: Comparison) -> None:
    """Prints a table for each link and group: a section for each phase, a column per variant."""
    screen = console()
    for table in comparison.tables():
        screen.print(table.title, markup=False, style="bold")
        sections = encodable(table.sections, screen.encoding)
        screen.print(grid(table.headings, sections, screen.width))
        screen.print()
    screen.print(comparison.remark(), markup=False)
