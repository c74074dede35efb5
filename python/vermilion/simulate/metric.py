"""A number of a window, found by its path."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def metric_of(window: Mapping[str, object], path: str) -> float | None:
    """The number at a path like "queue_packets.mean" of a window's metrics.

    ``None`` where it is absent because it could not be computed.
    """
    here: object = window
    for part in path.split("."):
        if not isinstance(here, dict) or part not in here:
            return None
        here = here[part]
    return float(here) if isinstance(here, int | float) else None
