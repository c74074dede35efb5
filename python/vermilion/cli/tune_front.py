"""``vermilion tune --pareto``: the front of two objectives, in words, numbers and a picture."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import typer

from vermilion.cli.entry import EXIT_INTERRUPTED, UserError
from vermilion.cli.output import STANDARD_OUTPUT, binary_output_file, output_file
from vermilion.cli.progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.profiles import Place
    from vermilion.scenario import Scenario
    from vermilion.tuning import ProgressReport, TuningProgress


def tune_front(
    scenario: Scenario,
    *,
    figure: str | None,
    target: str | None,
    objectives: Sequence[str] | None,
    parameters: Sequence[str] | None,
    constraints: Sequence[str],
    profile: str | None,
    place: Place,
    search: str,
    budget: int,
    seed: int,
    threads: int | None,
) -> int:
    """Searches a front, shows it, and writes what was asked for.

    Raises:
        UserError: a file that cannot be written, or a figure of no known format.
        ScenarioError: what is asked for does not fit the scenario.
    """
    from vermilion import tuning

    kind = "" if figure is None else _format_of(figure)
    with ExitStack() as outputs:
        json_file = target and outputs.enter_context(output_file("--json", target))
        drawing = figure and outputs.enter_context(binary_output_file("--figure", figure))
        with ProgressBar("search", budget) as bar:
            front = tuning.tune_front(
                scenario,
                objectives or None,
                parameters=parameters,
                constraints=constraints,
                profile=profile,
                place=place,
                search=search,
                budget=budget,
                seed=seed,
                threads=threads,
                progress=report_to(bar),
            )
        if json_file:
            json_file.write(f"{front.to_json()}\n")
        if drawing:
            from vermilion.report.front_figure import rendered

            drawing.write(rendered(front, kind))
    if target != STANDARD_OUTPUT:
        typer.echo(str(front))
    return EXIT_INTERRUPTED if front.interrupted else 0


def report_to(bar: ProgressBar) -> ProgressReport | None:
    """What turns the progress of a tuning into a bar; ``None`` where there is none."""
    update: Callable[[float], object] | None = bar.callback
    if update is None:
        return None

    def report(progress: TuningProgress) -> None:
        bar.describe(f"{progress.stage}{_best_so_far(progress)}", progress.total)
        update(progress.done)

    return report


def _best_so_far(progress: TuningProgress) -> str:
    """The best value with its interval, and the incumbent's; "" where nothing is told of them."""
    if progress.incumbent is None:
        return ""
    now = f", now {progress.incumbent:.4g}"
    if not progress.feasible:
        return f": nothing keeps the constraints yet{now}"
    best = f"{progress.best:.4g}"
    if progress.interval is not None and progress.interval.half_width is not None:
        best += f" +- {progress.interval.half_width:.2g} ({progress.interval.count} seeds)"
    return f": best {best}{now}"


def _format_of(figure: str) -> str:
    from vermilion.report.comparison import figure_format

    try:
        return figure_format(figure)
    except ValueError as error:
        message = f"--figure: {error}"
        raise UserError(message) from None
