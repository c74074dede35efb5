"""Shorter runs of a scenario's text, for searches that begin with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.scenario.core_scenario import CoreScenario
from vermilion.scenario.shortening import LEAST_ROUND_TRIPS, CannotShortenError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LEAST_ROUND_TRIPS", "CannotShortenError", "shortened"]


def shortened(core_json: str, windows: Sequence[tuple[float, float]], fraction: float) -> str:
    """:meth:`CoreScenario.shortened` from text to text.

    Raises:
        CannotShortenError: it would not be the same scenario with less time.
    """
    return CoreScenario.from_json(core_json).shortened(windows, fraction).to_json()
