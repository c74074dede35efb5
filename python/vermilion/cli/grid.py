"""A table with sections: metrics downwards, what is told apart across. It fits 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.simulate.tables import Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

__all__ = ["Section", "grid"]


def grid(headings: Sequence[str], sections: Sequence[Section]) -> Table:
    """Makes the table; texts are shown as they are, without markup."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True)
    for heading in headings:
        table.add_column(Text(heading), justify="right", vertical="bottom", overflow="fold")
    for section in sections:
        table.add_row(Text(section.title, style="bold"))
        for position, (label, cells) in enumerate(section.rows):
            last = position == len(section.rows) - 1
            table.add_row(f"  {label}", *(Text(cell) for cell in cells), end_section=last)
    return table
