"""``vermilion tune --study``: a tuning that is kept in a file while it goes."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import typer

from vermilion.cli.entry import EXIT_INTERRUPTED, UserError
from vermilion.cli.output import STANDARD_OUTPUT, output_file
from vermilion.cli.progress import ProgressBar
from vermilion.cli.tune_front import report_to

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from vermilion.tuning import Study

NO_SCENARIO: Final = (
    "no scenario is given; expected one (vermilion scenarios lists those that are shipped), or "
    "--study FILE with a study to go on with; see vermilion tune --help"
)

_OF_A_SESSION: Final = frozenset(
    {"scenarios", "study", "study_name", "budget", "deadline", "threads", "target"}
)
"""What may be said when a study is gone on with; all else is in the study."""


def check_study_options(
    context: typer.Context,
    scenarios: Sequence[str],
    study: str | None,
    study_name: str | None,
    resume: Path | None,
) -> None:
    """Refuses options that do not go with a study, or without one.

    Raises:
        UserError: saying which.
    """
    wrong = {
        NO_SCENARIO: not scenarios and study is None,
        "--study-name: expected --study FILE with it": study_name is not None and study is None,
        "--resume and --study: expected only one of them; a study goes on by itself": study
        is not None
        and resume is not None,
    }
    for message, applies in wrong.items():
        if applies:
            raise UserError(message)
    for name in () if scenarios else context.params:
        source = context.get_parameter_source(name)
        if name not in _OF_A_SESSION and source is not None and source.name == "COMMANDLINE":
            message = (
                f"the option for {name.replace('_', ' ')} is in the study already; expected only "
                "--budget, --deadline, --threads and --json without a scenario"
            )
            raise UserError(message)


@contextmanager
def opened(file: str | None, name: str | None) -> Iterator[Study | None]:
    """The study that is asked for, if one is.

    Raises:
        UserError: the file cannot be used, or its study is of another tuning.
    """
    if file is None:
        yield None
        return
    from vermilion.tuning import Study, StudyError

    try:
        with Study(file, name) as study:
            yield study
    except StudyError as error:
        message = f"--study: {error}"
        raise UserError(message) from None


def go_on(
    file: str,
    name: str | None,
    *,
    budget: int | None,
    deadline_s: float | None,
    threads: int | None,
    target: str | None,
) -> int:
    """Goes on with a study from its file alone.

    Raises:
        UserError: there is none, or it cannot be used.
        ScenarioError: its scenario names files that are not there any more.
    """
    from vermilion.tuning import DEFAULT_BUDGET, resume_study

    with output_file("--json", target or STANDARD_OUTPUT) as output:
        with opened(file, name) as study:
            if study is None:
                raise UserError(NO_SCENARIO)
            settings = budget or study.budget or DEFAULT_BUDGET
            with ProgressBar("search", settings) as bar:
                outcome = resume_study(
                    study,
                    budget=settings,
                    deadline_s=deadline_s,
                    threads=threads,
                    progress=report_to(bar),
                )
        if target is not None:
            output.write(f"{outcome.to_json()}\n")
    if target != STANDARD_OUTPUT:
        typer.echo(str(outcome))
        typer.echo(words_about(file, name))
    return EXIT_INTERRUPTED if outcome.end == "interrupted" else 0


def words_about(file: str | None, name: str | None) -> str:
    """What can be done with a study; "" without one."""
    if file is None:
        return ""
    named = [] if name is None else ["--study-name", name]
    page = shlex.join(["vermilion", "report", file, *named])
    return f"\nkept in {file}; for a page about it: {page}"
