"""Tables with sections (metrics downwards, variants across), and how numbers stand in them.

A number is never cut off or folded. Where all columns do not fit side by side, the table continues
below itself with the columns that are left.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Group
    from rich.table import Table

    from vermilion.scenario import Scenario
    from vermilion.simulate.result_data import Stretch
    from vermilion.simulate.tables import Section

_GAP: Final = 3
"""Characters between two columns."""

_LONGEST_WORD: Final = 16
"""A heading's word that is longer than this may be folded, to save a column its place."""

_NARROWEST_LABELS: Final = 12


BEYOND_THE_LINE: Final = (
    "More goodput than the link carries: packets that had waited, or were held behind a hole, when "
    "measuring began."
)


def is_beyond_the_line(scenario: Scenario, group: str, bit_per_s: float | None) -> bool:
    """Check whether a group has more goodput than the slowest link of its path ever carries."""
    core = scenario.core()
    path = next((each.path for each in core.flows if each.name == group), ())
    links = [each for each in core.links if each.name in path]
    if bit_per_s is None or any(each.varies or each.rate_bit_per_s is None for each in links):
        return False
    rates = [each.rate_bit_per_s or 0.0 for each in links]
    return bool(rates) and not core.changes and bit_per_s > min(rates)


ABSENT = "-"
"""Shown for what could not be computed."""

_MOST_DECIMALS: Final = 6


def fixed(value: float | None, decimals: int) -> str:
    """Return a number with so many decimals."""
    return ABSENT if value is None else f"{value:.{decimals}f}"


def percent(value: float | None, decimals: int = 2) -> str:
    """Return a ratio in percent."""
    return ABSENT if value is None else f"{100 * value:.{decimals}f} %"


def at_least(value: float | None, decimals: int, digits: int) -> str:
    """Return a number with so many decimals, or more where it would have fewer digits otherwise."""
    if value is None or value == 0.0:
        return fixed(value, decimals)
    needed = digits - 1 - math.floor(math.log10(abs(value)))
    return fixed(value, max(decimals, min(needed, _MOST_DECIMALS)))


def megabits(value: float | None) -> str:
    """Return a rate in Mbit/s with four significant digits, without an exponent."""
    if value is None:
        return ABSENT
    shown = f"{value / 1e6:.4g}"
    return f"{value / 1e6:.0f}" if "e+" in shown else shown


def whole(value: float | None) -> str:
    """Return a count."""
    return ABSENT if value is None else f"{value:,.0f}"


def stretch(window: Stretch) -> str:
    """Return the time that a window covers: "25 .. 80 s"."""
    return f"{window['start_s']:g} .. {window['end_s']:g} s"


def encodable(sections: Sequence[Section], encoding: str) -> Sequence[Section]:
    """The sections in characters that the output has: "+-" where there is no sign for it."""
    from dataclasses import replace

    if encoding.lower().startswith("utf"):
        return sections
    return [
        replace(
            each,
            rows=[
                (label, [cell.replace("±", "+-") for cell in cells]) for label, cells in each.rows
            ],
        )
        for each in sections
    ]


def grid(headings: Sequence[str], sections: Sequence[Section], width: int) -> Group:
    """Makes the table; texts are shown as they are, without markup.

    Args:
        headings: of the columns, without that of the labels.
        sections: its parts.
        width: characters of a line.
    """
    from rich.console import Group
    from rich.text import Text

    labels = _widest(f"  {label}" for section in sections for label, _ in section.rows)
    titled = max(labels, _widest(section.title for section in sections))
    numbers = [
        _widest(cells[column] for section in sections for _, cells in section.rows)
        for column in range(len(headings))
    ]
    roomy = [max(len(heading), number) for heading, number in zip(headings, numbers, strict=True)]
    tight = [
        max(number, min(_widest(heading.split()), _LONGEST_WORD))
        for heading, number in zip(headings, numbers, strict=True)
    ]
    everything = range(len(headings))
    for first, columns in ((titled, roomy), (labels, roomy), (titled, tight), (labels, tight)):
        room = width - sum(column + _GAP for column in columns)
        if first <= room:
            return Group(_part(headings, sections, everything, min(titled, room), columns))
    labels = max(min(labels, width - _GAP - max(tight)), _NARROWEST_LABELS)
    parts: list[Table | Text] = []
    for block in _blocks(tight, width - labels):
        parts += [Text()] if parts else []
        parts.append(_part(headings, sections, block, labels, tight))
    return Group(*parts)


def _widest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _blocks(columns: Sequence[int], room: int) -> list[list[int]]:
    """The columns that stand side by side, block after block."""
    blocks: list[list[int]] = []
    left = 0
    for number, column in enumerate(columns):
        if not blocks or column + _GAP > left:
            blocks.append([])
            left = room
        blocks[-1].append(number)
        left -= column + _GAP
    return blocks


def _part(
    headings: Sequence[str],
    sections: Sequence[Section],
    shown: Sequence[int],
    labels: int,
    columns: Sequence[int],
) -> Table:
    """Some columns of the table."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", width=labels, overflow="fold")
    for number in shown:
        table.add_column(
            Text(headings[number]),
            width=columns[number],
            justify="right",
            vertical="bottom",
            overflow="fold",
        )
    for section in sections:
        table.add_row(Text(section.title, style="bold"))
        for position, (label, cells) in enumerate(section.rows):
            last = position == len(section.rows) - 1
            table.add_row(
                Text(f"  {label}"), *(Text(cells[number]) for number in shown), end_section=last
            )
    return table
