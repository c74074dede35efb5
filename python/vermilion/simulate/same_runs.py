"""Runs that no seed has changed: chance has no part in them, and they are no replications.

A seed decides ties even where nothing else is drawn: which of two events of the same nanosecond is
first. With some senders that moves one packet by the time of another, and with it the mean queue
by a hundred-thousandth. Such runs are no replications either, though they are not equal.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from vermilion.simulate.result_frames import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate.result import Result

_OF_THE_RUN_ITSELF: Final = {"seed", "wall_s", "cpu_s"}

_OF_A_MOMENT: Final = {"queued_at_start", "queued_at_end"}
"""Metrics that a single packet may double."""

_NEARLY: Final = 1e-3
"""Numbers of two runs that are no further apart, as a part of the larger, are nearly the same.

Ties move a mean queue by 1e-5 to 2e-4 of it. What is drawn moves some of the many numbers of a run
by more than 1e-2, be it only the deviation of the queue or the drops: all of them have to agree.
"""


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


def are_nearly_the_same_run(results: Sequence[Result]) -> bool:
    """Whether no number of two or more runs with other seeds differs by more than a thousandth.

    Args:
        results: one for each seed.
    """
    if len(results) < 2:  # noqa: PLR2004 - a run alone is like no other
        return False
    first, *others = map(_numbers, results)
    return all(
        first.keys() == each.keys()
        and all(math.isclose(first[key], each[key], rel_tol=_NEARLY) for key in first)
        for each in others
    )


def _numbers(result: Result) -> dict[object, float]:
    """All that was measured, in each window."""
    return {
        (kind, name, phase, metric): value
        for kind, name, phase, _, _, metric, _, value in rows_of(result)
        if isinstance(value, float) and metric not in _OF_A_MOMENT
    }
