"""The table of ``vermilion link``: beside what the command has written, so on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from vermilion.cli.grid import Section, grid
from vermilion.cli.numbers import fixed, megabits, stretch, whole
from vermilion.cli.run_tables import LINK_ROWS
from vermilion.simulate import metric_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vermilion.link.emulation import Emulation
    from vermilion.scenario import Scenario

_OWN_ROWS: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("throughput (Mbit/s)", "throughput_bit_per_s", megabits),
    ("packets handed on", "delivered", whole),
    ("  not taken by the other end", "refused", whole),
    ("  without room here", "no_room", whole),
    ("  lost before they came here", "interface.dropped", whole),
    ("timing error mean (us)", "timing_error_us.mean", lambda value: fixed(value, 1)),
    ("timing error p99 (us)", "timing_error_us.p99", lambda value: fixed(value, 1)),
)


def print_emulation(scenario: Scenario, emulation: Emulation) -> None:
    """Prints what happened on both ways."""
    from rich.console import Console

    screen = Console(
        file=sys.stderr,
        width=None if sys.stderr.isatty() else 100,
        highlight=False,
        soft_wrap=False,
    )
    links: Mapping[str, Any] = emulation.data["links"]
    sections = [
        Section(
            f"{name} ({scenario.links[name].queue.discipline})",
            [*_cells(entry["total"], LINK_ROWS), *_cells(entry["emulator"], _OWN_ROWS)],
        )
        for name, entry in links.items()
    ]
    headings = [stretch(next(iter(links.values()))["total"])]
    screen.print(grid(headings, sections, screen.width))


def _cells(
    window: Mapping[str, Any],
    rows: Any,  # noqa: ANN401 - of either table
) -> list[tuple[str, list[str]]]:
    cells = [(label, [show(metric_of(window, path))]) for label, path, show in rows]
    return [row for row in cells if any(map(str.isdigit, row[1][0]))]
