"""``vermilion tune --pareto``: the front of two objectives, in words, numbers and a picture."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from vermilion.cli.figure import figure_format
from vermilion.cli.output import binary_output_file
from vermilion.cli.tune_session import exit_code

if TYPE_CHECKING:
    from vermilion.cli.tune_session import Session
    from vermilion.tuning import TuningPlan


def tune_front(plan: TuningPlan, session: Session, figure: str | None) -> int:
    """Searches a front, shows it, and writes what was asked for.

    Args:
        plan: of the front.
        session: how long, with whom, kept where.
        figure: a file for it; ``None`` for none.

    Raises:
        UserError: a file that cannot be written, or a figure of no known format.
        ScenarioError: what is asked for does not fit the scenario.
    """
    from vermilion.tuning.execution import execute_front

    kind = "" if figure is None else figure_format(figure)
    with ExitStack() as outputs:
        drawing = figure and outputs.enter_context(binary_output_file("--figure", figure))
        front = session.perform(lambda of: execute_front(session.planned(plan, of.study), of))
        if drawing:
            from vermilion.report.front import rendered

            drawing.write(rendered(front, kind))
    return exit_code(front)
