"""The parameter tables of rate-based ends, and of whatever a fabric may send with."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from vermilion import _core
from vermilion.scenario.algorithms import accepted_algorithm, senders, table_of
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from vermilion.scenario.algorithms import Algorithm


@cache
def rate_based_senders() -> dict[str, Algorithm]:
    """Every rate-based end of the core, by name."""
    return {row["name"]: table_of(row) for row in json.loads(_core.rate_based_senders())}


def fabric_sender(name: object) -> Algorithm:
    """The rate-based end, or the TCP sender, of this name.

    Raises:
        FieldError: there is none.
    """
    known = {**senders(), **rate_based_senders()}
    if isinstance(name, str) and name in known:
        return known[name]
    accepted = f"{accepted_algorithm(str(name), rate_based_senders())}, or a sender of TCP"
    raise FieldError("congestion_control", name, accepted)
