"""``vermilion tune --study``: a tuning that is kept in a file while it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.cli.tune_session import exit_code
from vermilion.cli.user_error import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import typer

    from vermilion.cli.tune_session import Session, Tuned
    from vermilion.tuning import TuningSession
    from vermilion.tuning.plan import Kind

NO_SCENARIO: Final = (
    "no scenario is given; expected one (vermilion scenarios lists those that are shipped), or "
    "--study FILE with a study to go on with; see vermilion tune --help"
)

_OF_A_SESSION: Final = frozenset(
    {
        "scenarios",
        "study",
        "study_name",
        "budget",
        "deadline",
        "threads",
        "dask",
        "target",
        "tells_conclusion",
    }
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
        if name not in _OF_A_SESSION and is_said(context, name):
            message = (
                f"the option for {name.replace('_', ' ')} is in the study already; expected only "
                "--budget, --deadline, --threads, --dask, --json and --exit-code without a scenario"
            )
            raise UserError(message)


def is_said(context: typer.Context, option: str) -> bool:
    """True if an option is on the command line, and not just at its default."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def go_on(session: Session) -> int:
    """Goes on with a study from its file alone.

    Raises:
        UserError: there is none, or it cannot be used.
        ScenarioError: its scenario names files that are not there any more.
    """
    from vermilion.tuning import execute
    from vermilion.tuning.execution import plan_of

    def resumed(of_session: TuningSession) -> Tuned:
        study = of_session.study
        if study is None:
            raise UserError(NO_SCENARIO)
        plan = plan_of(study)
        check_exit_code(plan.kind, asked=session.tells_conclusion)
        return execute(session.planned(plan, study), of_session)

    return exit_code(session.perform(resumed), tells_conclusion=session.tells_conclusion)


def check_exit_code(kind: Kind, *, asked: bool) -> None:
    """Refuses to tell what a front recommends.

    Raises:
        UserError: it recommends nothing.
    """
    if asked and kind == "front":
        message = "--exit-code tells what is recommended; a front (--pareto) recommends nothing"
        raise UserError(message)
