"""The same scenario with less simulated time: every phase shorter, none lost.

What is measured of each phase (``Result``'s windows: without the warm-up and the settling times)
shrinks to a fraction of its length, and all that comes later moves forward. Warm-up and settling
times stay as they are, because they belong to the network and not to the budget. So phases keep
their order, their weights relative to each other, and what makes them differ.

Not every scenario can be shortened like that. Refused are time tables that would have to be
rewritten (schedules of rates, traces), single transfers (they would end after the shortened
run), and phases of which fewer than :data:`LEAST_ROUND_TRIPS` round trips would be left.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.scenario.core_scenario import CoreScenario

LEAST_ROUND_TRIPS: Final = 10
"""Of the longest base round trip; a sender reacts once in each, so fewer show no behaviour."""

_NANOSECONDS: Final = 1_000_000_000
_FIXED_TRAFFIC: Final = ("trace", "transfer")


class CannotShortenError(ValueError):
    """The scenario cannot be shortened; the message says why."""


def shortened(
    scenario: CoreScenario, windows: Sequence[tuple[float, float]], fraction: float
) -> CoreScenario:
    """A scenario whose phases have a fraction of their measured length.

    Args:
        scenario: itself.
        windows: beginning and end of what is measured of each phase, ascending, seconds: the
            ``start_s`` and ``end_s`` of a result's phases.
        fraction: of the measured time that is left, in (0, 1].

    Raises:
        CannotShortenError: it would not be the same scenario with less time.
    """
    spans = [(round(start * _NANOSECONDS), round(end * _NANOSECONDS)) for start, end in windows]
    _check(scenario, spans, fraction)

    def moved(time: int) -> int:
        """When something happens in the shortened scenario."""
        cut = sum(max(0, min(time, end) - start) for start, end in spans)
        return time - round((1.0 - fraction) * cut)

    def both(ends: tuple[int, int]) -> tuple[int, int]:
        return moved(ends[0]), moved(ends[1])

    return replace(
        scenario,
        duration_ns=moved(scenario.duration_ns),
        flows=tuple(
            replace(
                group,
                start_ns=both(group.start_ns),
                stop_ns=None if group.stop_ns is None else both(group.stop_ns),
            )
            for group in scenario.flows
        ),
        changes=tuple(replace(change, at_ns=moved(change.at_ns)) for change in scenario.changes),
    )


def _check(scenario: CoreScenario, spans: Sequence[tuple[int, int]], fraction: float) -> None:
    if not spans or any(one[1] > other[0] for one, other in pairwise(spans)):
        message = "it has no phases one after the other"
        raise CannotShortenError(message)
    for link in scenario.links:
        if link.varies:
            message = f"the rate of link {link.name} follows a time table"
            raise CannotShortenError(message)
    for group in scenario.flows:
        if group.traffic["kind"] in _FIXED_TRAFFIC:
            message = f"flows {group.name} have a time table or an end of their own"
            raise CannotShortenError(message)
    longest = max((group.longest_rtt_ns for group in scenario.flows), default=0)
    for number, (start, end) in enumerate(spans, start=1):
        if fraction * (end - start) < LEAST_ROUND_TRIPS * longest:
            message = (
                f"phase {number} would have {fraction * (end - start) / _NANOSECONDS:.2g} s, "
                f"less than {LEAST_ROUND_TRIPS} round trips of {longest / 1e6:.3g} ms"
            )
            raise CannotShortenError(message)
