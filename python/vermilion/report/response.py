"""How soon the controller answered each change of conditions.

The report may know what the controller may not: when the scenario changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.report.events import events_of
from vermilion.simulate.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.entries import OnlineRun


@dataclass(frozen=True, slots=True)
class ResponseTimes:
    """The controller's answer to one change, over all seeds.

    Attributes:
        at_s: when the change began, in seconds.
        detected: seconds from then until it was noticed; ``None`` if it never was.
        applied: seconds from then until a new setting was in force, likewise.
    """

    at_s: float
    detected: Interval | None
    applied: Interval | None


def responses_of(runs: Sequence[OnlineRun]) -> tuple[ResponseTimes, ...]:
    """One entry per change of the scenario, answered before the next change or not at all."""
    instants = [instant / 1e9 for instant in runs[0].scenario.core().instants()]
    ends = [*instants[1:], float("inf")][: len(instants)]
    events = [events_of(run) for run in runs]
    return tuple(
        ResponseTimes(
            begin,
            _delays([each.detected for each in events], begin, end),
            _delays([each.applied for each in events], begin, end),
        )
        for begin, end in zip(instants, ends, strict=True)
    )


def _delays(times_by_run: Sequence[tuple[float, ...]], begin: float, end: float) -> Interval | None:
    """From a change until the first event after it, over the runs that had one."""
    delays = [
        min(after) - begin
        for times in times_by_run
        if (after := [time for time in times if begin <= time < end])
    ]
    return mean_interval(delays) if delays else None
