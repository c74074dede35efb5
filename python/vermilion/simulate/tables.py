"""Tables with sections: a row per metric, a column per variant; as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion.simulate.extras import optional

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

FORMATS: Final = ("csv", "parquet")
"""Formats of tables."""


def format_of(path: str | os.PathLike[str], formats: Sequence[str] = FORMATS) -> str:
    """The format that a file's name asks for: one of ``formats``.

    A name without a suffix, such as that of a pipe, is CSV.

    Raises:
        ValueError: another suffix.
    """
    suffix = Path(path).suffix.lower().removeprefix(".") or "csv"
    if suffix not in formats:
        endings = " or ".join(", ".join(f".{each}" for each in formats).rsplit(", ", 1))
        message = f'"{Path(path).name}" is not accepted; expected a name ending in {endings}'
        raise ValueError(message)
    return suffix


def check_format(path: str | os.PathLike[str], formats: Sequence[str] = FORMATS) -> None:
    """Refuse, before the run, a format that could not be written after it.

    Raises:
        ValueError: a suffix that is none of the formats.
        MissingPackageError: Parquet without pyarrow.
    """
    if format_of(path, formats) == "parquet":
        optional("pyarrow", "Parquet files")


_NUMBER: Final = ' style="text-align: right; white-space: nowrap"'


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a table.

    Attributes:
        title: its first line.
        rows: a label and a cell for each column, for each further line.
    """

    title: str
    rows: Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table.

    Attributes:
        title: above it.
        headings: of the columns, without that of the labels.
        sections: its parts.
    """

    title: str
    headings: Sequence[str]
    sections: Sequence[Section]

    def turned(self, absent: str) -> ShownTable:
        """The table with lines and columns exchanged, ``absent`` where a section has no such line.

        For more columns than a page is wide.
        """
        labels = list(dict.fromkeys(label for each in self.sections for label, _ in each.rows))
        sections = []
        for section in self.sections:
            cells = dict(section.rows)
            columns = [cells.get(label, [absent] * len(self.headings)) for label in labels]
            lines = zip(self.headings, zip(*columns, strict=True), strict=True)
            sections.append(Section(section.title, list(lines)))
        return ShownTable(self.title, [label.strip() for label in labels], sections)

    def __str__(self) -> str:
        """The table as lines of text."""
        lines = [("", *self.headings)]
        for section in self.sections:
            lines.append((section.title,))
            lines += [(f"  {label}", *cells) for label, cells in section.rows]
        widths = [
            max(len(line[column]) for line in lines if len(line) > max(column, 1))
            for column in range(len(self.headings) + 1)
        ]
        # The title of a section may be longer than any label.
        widths[0] = max(widths[0], *(len(line[0]) for line in lines))
        text = [
            "  ".join(
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=False))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *text])

    def html(self) -> str:
        """The table as an HTML element that notebooks style; every text is escaped."""
        rows = [f"<caption>{escape(self.title)}</caption>", "<thead>"]
        rows.append(_row("th", ["", *self.headings], "col"))
        rows.append("</thead>")
        span = len(self.headings) + 1
        for section in self.sections:
            rows.append("<tbody>")
            rows.append(
                f'<tr><th scope="rowgroup" colspan="{span}" style="text-align: left">'
                f"{escape(section.title)}</th></tr>"
            )
            rows += [
                f'<tr><th scope="row" style="text-align: left; font-weight: normal">'
                f"{escape(label)}</th>{_cells('td', cells, _NUMBER)}</tr>"
                for label, cells in section.rows
            ]
            rows.append("</tbody>")
        return "\n".join(["<table>", *rows, "</table>"])


def _row(element: str, cells: Sequence[str], scope: str) -> str:
    return "".join(("<tr>", _cells(element, cells, f' scope="{scope}"'), "</tr>"))


def _cells(element: str, cells: Sequence[str], attributes: str = "") -> str:
    return "".join(f"<{element}{attributes}>{escape(cell)}</{element}>" for cell in cells)
