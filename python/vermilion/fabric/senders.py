"""The parameter tables of rate-based ends."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from vermilion import _core
from vermilion.scenario.algorithms import accepted_algorithm, table_of
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from vermilion.scenario.algorithms import Algorithm


@cache
def rate_based_senders() -> dict[str, Algorithm]:
    """Every rate-based end of the core, by name."""
    return {row["name"]: table_of(row) for row in json.loads(_core.rate_based_senders())}


def rate_based_sender(name: object) -> Algorithm:
    """The rate-based end of this name.

    Raises:
        FieldError: there is none.
    """
    known = rate_based_senders()
    if isinstance(name, str) and name in known:
        return known[name]
    raise FieldError("congestion_control", name, accepted_algorithm(str(name), known))
