"""``vermilion tune A B --robust``: one setting for several scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from vermilion.cli.entry import EXIT_INTERRUPTED, UserError
from vermilion.cli.output import STANDARD_OUTPUT, output_file
from vermilion.cli.progress import ProgressBar
from vermilion.cli.tune_front import report_to
from vermilion.scenario.errors import describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.profiles import Place
    from vermilion.scenario import Scenario
    from vermilion.tuning.joint import Over


def tune_robust(
    scenarios: Sequence[Scenario],
    robust: str,
    *,
    weights: str | None,
    target: str | None,
    objective: str | None,
    parameters: Sequence[str] | None,
    constraints: Sequence[str] | None,
    profile: str | None,
    place: Place,
    search: str,
    budget: int,
    seed: int,
    threads: int | None,
) -> int:
    """Searches the setting, shows it, and writes what was asked for.

    Raises:
        UserError: a file that cannot be written, or an option that is not accepted.
        ScenarioError: what is asked for does not fit a scenario.
    """
    from vermilion import tuning

    over = _kind(robust)
    shares = None if weights is None else _weights(weights)
    with output_file("--json", target or STANDARD_OUTPUT) as file:
        with ProgressBar("search", budget) as bar:
            outcome = tuning.tune_robust(
                scenarios,
                over,
                weights=shares,
                parameters=parameters,
                objective=objective,
                constraints=constraints,
                profile=profile,
                place=place,
                search=search,
                budget=budget,
                seed=seed,
                threads=threads,
                progress=report_to(bar),
            )
        if target is not None:
            file.write(f"{outcome.to_json()}\n")
    if target != STANDARD_OUTPUT:
        typer.echo(str(outcome))
    return EXIT_INTERRUPTED if outcome.end == "interrupted" else 0


def _kind(text: str) -> Over:
    from vermilion.tuning.robust import KINDS

    for kind in KINDS:
        if text == kind:
            return kind
    raise UserError(describe("--robust", text, f"one of: {', '.join(KINDS)}"))


def _weights(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UserError(describe("--weights", text, 'numbers like "2,1"')) from None
