"""``vermilion studies``: which tunings are kept in files, and how far they have come."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vermilion.cli import options
from vermilion.cli.endings import UserError
from vermilion.cli.json_output import save_json
from vermilion.cli.output import STANDARD_OUTPUT, note

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vermilion.tuning import StudyRecord

ENDING = ".study"
"""How the files are named that are looked for in a folder."""


def studies(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help=f"Files of tune --study, or folders with *{ENDING}.",
            show_default=False,
        ),
    ],
    *,
    target: options.Json = None,
) -> None:
    """List the tunings that are kept in files."""
    records = list(_read(paths))
    if target is not None:
        save_json(target, records)
        if target == STANDARD_OUTPUT:
            return
    _print(records)


def _read(paths: "Sequence[Path]") -> "Iterator[StudyRecord]":
    from vermilion.tuning import StudyError, read_studies

    for path in paths:
        in_folder = path.is_dir()
        for file in sorted(path.glob(f"*{ENDING}")) if in_folder else [path]:
            try:
                yield from read_studies(file)
            except StudyError as error:
                if not in_folder:
                    raise UserError(str(error)) from None
                note(str(error))


def _print(records: "Sequence[StudyRecord]") -> None:
    from rich.table import Table

    from vermilion.cli.output import cell, console

    table = Table()
    for heading in ("file", "study", "scenario", "objective", "search"):
        table.add_column(heading)
    for heading in ("settings", "best so far"):
        table.add_column(heading, justify="right")
    table.add_column("state")
    for record in records:
        best = record.best
        cells = (
            str(record.path),
            record.name,
            ", ".join(record.plan.scenarios),
            record.plan.objective,
            str(record.plan.search),
            f"{len(record.evaluations)} of {record.budget}",
            "" if best is None else f"{record.shown(best.objective):.4g}",
            record.state,
        )
        table.add_row(*map(cell, cells))
    console().print(table)
