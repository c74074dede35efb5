"""Runs that no seed has changed: chance has no part in them, and they are no replications."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate.result import Result

_OF_THE_RUN_ITSELF = {"seed", "wall_s", "cpu_s"}


def are_the_same_run(results: Sequence[Result]) -> bool:
    """Whether two or more runs with other seeds have measured exactly the same.

    Args:
        results: one for each seed.
    """
    measured = [
        {key: value for key, value in result.data.items() if key not in _OF_THE_RUN_ITSELF}
        for result in results
    ]
    return len(measured) > 1 and all(each == measured[0] for each in measured[1:])
