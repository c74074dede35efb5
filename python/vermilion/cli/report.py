"""``vermilion report``: a page about a tuning that is kept in a file."""

from pathlib import Path
from typing import Annotated

import typer

from vermilion.cli.endings import UserError
from vermilion.cli.output import STANDARD_OUTPUT, output_file, say
from vermilion.cli.progress import busy
from vermilion.scenario.quantities import how_many


def report(
    path: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="What tune --study has written.", show_default=False),
    ],
    *,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Page to write (default: the name with .html); - for standard output.",
            show_default=False,
        ),
    ] = None,
    study_name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Study of the file (default: all).", show_default=False),
    ] = None,
) -> None:
    """Make a page (HTML) about a tuning kept by tune --study.

    Convergence, the importance of the parameters, slices, the queue before and after, and the
    comparison with its intervals, in one file that fetches nothing.
    """
    from vermilion.report.study import study_report
    from vermilion.tuning import StudyError, read_studies

    target = output or str(path.with_suffix(".html") if path.name else path)
    try:
        records = read_studies(path)
        chosen = [each for each in records if study_name in {None, each.name}]
        if not chosen and records:
            known = ", ".join(each.name for each in records)
            message = f'--study-name: "{study_name}" is not in "{path}"; expected one of: {known}'
            raise UserError(message)
        with output_file("--output", target) as file:
            with busy(f"drawing {how_many(len(chosen), 'study', 'studies')}"):
                page = study_report(chosen)
            file.write(page)
    except StudyError as error:
        raise UserError(str(error)) from None
    if target != STANDARD_OUTPUT:
        say(f"wrote {target}")
