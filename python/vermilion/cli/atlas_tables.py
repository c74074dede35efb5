"""An atlas on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from vermilion.cli.output import console

if TYPE_CHECKING:
    from vermilion.atlas import Atlas


def print_atlas(atlas: Atlas) -> None:
    """The settings cell by cell, the laws, and how far the rules are from the best."""
    from vermilion.atlas.summary import laws_table, rules_table, sentences
    from vermilion.scenario import RATE, TIME, format_quantity

    cells: list[tuple[str, ...]] = [("rate", "flows", "round trip", "ECN", *atlas.parameters)]
    for cell in atlas.cells:
        own = cell.condition
        cells.append(
            (
                format_quantity(own.rate_bit_per_s, RATE),
                str(own.flows),
                format_quantity(own.round_trip_s, TIME),
                "on" if own.ecn else "off",
                *(
                    f"{cell.setting[name]:.3g}{'' if cell.accepted else '*'}"
                    if name in cell.setting
                    else "automatic"
                    for name in atlas.parameters
                ),
            )
        )
    _print(cells)
    if not all(cell.accepted for cell in atlas.cells):
        typer.echo("*: the default, because nothing better was proven")
    if any(atlas.laws.values()):
        typer.echo("\nfitted laws")
        _print(laws_table(atlas))
    typer.echo("\nagainst the tuned setting, on fresh seeds")
    _print(rules_table(atlas))
    for sentence in sentences(atlas):
        typer.echo(sentence)


def _print(rows: list[tuple[str, ...]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, heading in enumerate(rows[0]):
        right = place > 0 and not rows[0][1].startswith("law")
        table.add_column(Text(heading), justify="right" if right else "left", overflow="fold")
    for row in rows[1:]:
        table.add_row(*map(Text, row))
    console().print(table)
