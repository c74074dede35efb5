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

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.scenario.core_network import CoreFlowGroup, CoreLink

LEAST_ROUND_TRIPS: Final = 10
"""Of the longest base round trip; a sender reacts once in each, so fewer show no behaviour."""

_NANOSECONDS: Final = 1_000_000_000
_FIXED_TRAFFIC: Final = ("trace", "transfer")


class CannotShortenError(ValueError):
    """The scenario cannot be shortened; the message says why."""


@dataclass(frozen=True, slots=True)
class Shortening:
    """When things happen if of what is measured of each phase only a fraction is left.

    Attributes:
        spans_ns: beginning and end of what is measured of each phase, ascending, in ns.
        fraction: of the measured time that is left, in (0, 1].
    """

    spans_ns: tuple[tuple[int, int], ...]
    fraction: float

    @classmethod
    def of_windows(cls, windows: Sequence[tuple[float, float]], fraction: float) -> Shortening:
        """With the beginnings and ends in seconds, as a result's phases have them."""
        spans = [(round(start * _NANOSECONDS), round(end * _NANOSECONDS)) for start, end in windows]
        return cls(tuple(spans), fraction)

    def moved(self, time_ns: int) -> int:
        """When something happens in the shortened scenario."""
        cut = sum(max(0, min(time_ns, end) - start) for start, end in self.spans_ns)
        return time_ns - round((1.0 - self.fraction) * cut)

    def both_moved(self, ends_ns: tuple[int, int]) -> tuple[int, int]:
        """The same of both ends of a range."""
        return self.moved(ends_ns[0]), self.moved(ends_ns[1])

    def check(self, links: Sequence[CoreLink], flows: Sequence[CoreFlowGroup]) -> None:
        """Refuses a network that would not be the same with less time.

        Raises:
            CannotShortenError: it has a time table, or a phase would be too short.
        """
        spans = self.spans_ns
        if not spans or any(one[1] > other[0] for one, other in pairwise(spans)):
            message = "it has no phases one after the other"
            raise CannotShortenError(message)
        for link in links:
            if link.varies:
                message = f"the rate of link {link.name} follows a time table"
                raise CannotShortenError(message)
        for group in flows:
            if group.traffic["kind"] in _FIXED_TRAFFIC:
                message = f"flows {group.name} have a time table or an end of their own"
                raise CannotShortenError(message)
        longest = max((group.longest_rtt_ns for group in flows), default=0)
        for number, (start, end) in enumerate(spans, start=1):
            left = self.fraction * (end - start)
            if left < LEAST_ROUND_TRIPS * longest:
                message = (
                    f"phase {number} would have {left / _NANOSECONDS:.2g} s, "
                    f"less than {LEAST_ROUND_TRIPS} round trips of {longest / 1e6:.3g} ms"
                )
                raise CannotShortenError(message)
