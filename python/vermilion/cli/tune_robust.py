"""``vermilion tune A B --robust``: one setting for several scenarios."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from vermilion.cli.entry import UserError
from vermilion.cli.tune_session import exit_code
from vermilion.scenario.errors import describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.cli.tune_session import Session
    from vermilion.scenario import Scenario
    from vermilion.tuning.fidelity import Fidelity
    from vermilion.tuning.joint import Over


def tune_robust(
    scenarios: Sequence[Scenario],
    session: Session,
    searched: Mapping[str, Any],
    *,
    robust: str,
    weights: str | None,
    objective: str | None,
    constraints: Sequence[str] | None,
    fidelity: Fidelity,
) -> int:
    """Searches the setting, shows it, and writes what was asked for.

    Args:
        scenarios: at least two.
        session: how long, with whom, kept where.
        searched: what it has in common with every tuning: parameters, profile, search, seed.
        robust: for the worst of them, or for their mean.
        weights: in the mean.
        objective: the same for all, instead of their own.
        constraints: the same for all, instead of their own.
        fidelity: whether the search may simulate less than all.

    Raises:
        UserError: a file that cannot be written, or an option that is not accepted.
        ScenarioError: what is asked for does not fit a scenario.
    """
    from vermilion import tuning

    outcome = session.perform(
        partial(
            tuning.tune_robust,
            scenarios,
            _kind(robust),
            weights=None if weights is None else _weights(weights),
            objective=objective,
            constraints=constraints,
            fidelity=fidelity,
            **searched,
        )
    )
    return exit_code(outcome)


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
