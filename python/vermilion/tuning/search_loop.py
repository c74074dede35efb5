"""The loop of a search: ask for points, evaluate them together, tell their values.

It serves searches whose settings are evaluated at once, on any number of cores alike, such as those
of a device's settings (:mod:`vermilion.advise`). :mod:`vermilion.tuning.engine` adds what a
scenario allows: seeds one after the other, and settings simulated ahead of their time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vermilion.search import search_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vermilion.search import Point, Search, Space


def new_search(
    name: str,
    space: Space,
    seed: int,
    starts: Iterable[Point] = (),
    settings: Mapping[str, Any] | None = None,
) -> Search:
    """Return a search of a space.

    Args:
        name: of the search.
        space: that is searched.
        seed: of its random points.
        starts: points to begin with.
        settings: further arguments of it.

    Raises:
        ValueError: a setting that is not accepted.
    """
    return search_named(name)(len(space), seed=seed, start_points=starts, **(settings or {}))


def run_search(
    search: Search,
    count: int,
    at_once: int,
    evaluate: Callable[[Sequence[Point]], Sequence[float] | None],
) -> int:
    """Ask, evaluate and tell.

    Args:
        search: that is asked.
        count: points at most.
        at_once: points between two looks of the search.
        evaluate: the values of some points; ``None`` to end before they are told.

    Returns:
        How many points were told.
    """
    told = 0
    while told < count and (points := search.ask(min(at_once, count - told))):
        values = evaluate(points)
        if values is None:
            break
        search.tell(points, values)
        told += len(points)
    return told
