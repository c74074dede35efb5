"""A number of a window, found by its path."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, get_type_hints, is_typeddict

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def metric_paths(window: type) -> tuple[str, ...]:
    """The paths of all numbers that a kind of window may have, whether it has them or not.

    Args:
        window: such as :class:`vermilion.simulate.result_data.LinkMetrics`.
    """
    found = []
    for name, kind in get_type_hints(window).items():
        if is_typeddict(kind):
            found += [f"{name}.{path}" for path in metric_paths(kind)]
        elif kind in {int, float}:
            found.append(name)
    return tuple(found)


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
