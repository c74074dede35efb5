"""What a journal knows of conditions met before, as far as it can be read.

A row that makes no sense, which a later version or another program may have written, costs what it
says and nothing else: those conditions are searched again when they come back.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from vermilion.online.plan.memory import condition_distance
from vermilion.online.plan.regimes import Regime, Regimes
from vermilion.online.sense.picture import picture_of

if TYPE_CHECKING:
    import sqlite3

_VERDICTS = ("better", "unproven", "worse")
_PREDICTED = ("predicted_mean", "noise", "predicted_cost", "predicted_cost_before")
_NONSENSE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def known_regimes(
    database: sqlite3.Connection, link: str, discipline: str, goal: str
) -> tuple[Regimes, str]:
    """What all runs with this goal have learned; and what is wrong with the first bad row, or "".

    Args:
        database: the journal.
        link: whose conditions.
        discipline: of its queue.
        goal: of the policy, in words; a setting that was good for another one tells nothing.

    Raises:
        sqlite3.Error: the file cannot be read.
    """
    rows = database.execute(
        # As bytes, since SQLite stops at a text that is none.
        "SELECT CAST(regime AS BLOB) FROM regime JOIN run ON run.id = regime.run"
        " WHERE regime.link = ? AND run.discipline = ? ORDER BY regime.id",
        (link, discipline),
    ).fetchall()
    known, trouble = Regimes(), ""
    for (text,) in rows:
        try:
            regime = _regime(json.loads(text))
            if regime.goal != goal:
                continue
            if regime.verdict == "worse":
                known = known.forgotten(regime.picture, 0.0)
            else:
                known = known.learned(regime, 0.0)
        except KeyError as error:
            trouble = trouble or f"{error} is missing"
        except _NONSENSE as error:
            trouble = trouble or str(error)
    return known, trouble


def _regime(values: dict[str, Any]) -> Regime:
    """One that can be used.

    Raises:
        KeyError: something is missing.
        TypeError: there is something else, or it is of another kind.
        ValueError: a value makes no sense.
    """
    picture = picture_of(values["picture"])
    regime = Regime(**{**values, "picture": picture, "time_s": 0.0, "of_earlier_run": True})
    if regime.verdict not in _VERDICTS:
        message = f"verdict {regime.verdict!r}"
        raise ValueError(message)
    numbers = [*dict(regime.setting).values(), *(getattr(regime, name) for name in _PREDICTED)]
    if not all(isinstance(each, int | float) for each in numbers):
        message = "a number is something else"
        raise TypeError(message)
    # Whatever in the picture is no number shows when conditions are compared.
    if not math.isfinite(condition_distance(picture, picture, 0.0)):
        message = "conditions without a number"
        raise ValueError(message)
    return regime
