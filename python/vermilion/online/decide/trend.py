"""Conditions that move steadily one way: a trend, and where it leads.

Whether values go up or down is told by the order of all pairs of them (H. B. Mann, "Nonparametric
tests against trend", Econometrica 13, 1945; M. G. Kendall, "Rank correlation methods", 1975), which
asks nothing of how they are distributed; how fast, by the median of the slopes of all pairs
(P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63, 1968).
Slopes are of logarithms: traffic grows by shares.

Conditions are a trend as a whole where everything that has moved goes one way. A rate that comes
and goes while flows grow is none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING

from vermilion.online.decide.detection import FLOW_TOLERANCE, RATE_TOLERANCE, ROUND_TRIP_TOLERANCE
from vermilion.online.sense.picture import SetPicture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.sense.picture import TrafficPicture

_SIGNIFICANT = 1.645
"""Standard deviations, 90 % two-sided: the least that four values in a row can reach. Whoever comes
and goes at random is taken for a trend by one in twelve fours, and found out by the fifth."""

_OF_TOLERANCE = 0.8
"""So much of what counts as a change a model may be ahead, lest the present be one at once."""


@dataclass(frozen=True, slots=True)
class Trend:
    """How fast conditions move.

    Attributes:
        flows_per_s: growth of the number of flows, as a share of it per second.
        rate_per_s: that of the service rate.
        round_trip_per_s: that of the base round trips.
    """

    flows_per_s: float = 0.0
    rate_per_s: float = 0.0
    round_trip_per_s: float = 0.0

    def in_words(self) -> str:
        """Like "flows +1.2% a second"."""
        named = (
            ("flows", self.flows_per_s),
            ("rate", self.rate_per_s),
            ("round trips", self.round_trip_per_s),
        )
        return ", ".join(
            f"{name} {math.expm1(slope):+.1%} a second" for name, slope in named if slope
        )

    def in_numbers(self) -> dict[str, float]:
        """The same for machines: growth as a share per second."""
        return {
            "flows_share_per_s": math.expm1(self.flows_per_s),
            "rate_share_per_s": math.expm1(self.rate_per_s),
            "round_trips_share_per_s": math.expm1(self.round_trip_per_s),
        }

    def ahead(self, picture: TrafficPicture, seconds: float) -> TrafficPicture:
        """The picture as it will be in so many seconds, as far as that is no change by itself.

        Several queues are pictured as they are: which of their paths the further flows will take
        is not known.
        """
        if isinstance(picture, SetPicture) or picture.flows == 0:
            return picture
        flows = max(1, round(picture.flows * _factor(self.flows_per_s, seconds, FLOW_TOLERANCE)))
        longer = _factor(self.round_trip_per_s, seconds, ROUND_TRIP_TOLERANCE)
        faster = _factor(self.rate_per_s, seconds, RATE_TOLERANCE)
        rate = picture.rate_bit_per_s
        return replace(
            picture,
            flows=flows,
            # At most as many as there are flows.
            base_rtts_s=_thinned(tuple(longer * trip for trip in picture.base_rtts_s), flows),
            rate_bit_per_s=None if rate is None else faster * rate,
        )


def trend_of(pictures: Sequence[TrafficPicture]) -> Trend | None:
    """The trend of conditions; ``None`` where they have not moved, or not one way.

    Args:
        pictures: what they were, oldest first.
    """
    if not pictures:
        return None
    slopes: list[tuple[float, float, float]] = []
    for place in range(len(pictures[0].parts)):
        parts = [each.parts[place] for each in pictures]
        times = [each.time_s for each in pictures]
        found = [
            _slope(times, [of(part) for part in parts], tolerance)
            for of, tolerance in (
                (flows_of, FLOW_TOLERANCE),
                (rate_of, RATE_TOLERANCE),
                (round_trip_of, ROUND_TRIP_TOLERANCE),
            )
        ]
        if any(each is None for each in found):
            return None
        flows, rate, trip = (each or 0.0 for each in found)
        slopes.append((flows, rate, trip))
    if not any(any(each) for each in slopes):
        return None
    flows, rate, trip = (sum(column) / len(column) for column in zip(*slopes, strict=True))
    return Trend(flows, rate, trip)


def flows_of(picture: TrafficPicture) -> float:
    """Flows."""
    return float(picture.flows)


def rate_of(picture: TrafficPicture) -> float:
    """Service rate, bit/s; 0 where it is not known."""
    return picture.rate_bit_per_s or 0.0


def round_trip_of(picture: TrafficPicture) -> float:
    """Mean base round trip, s; 0 where none is known."""
    trips = picture.base_rtts_s
    return sum(trips) / len(trips) if trips else 0.0


def _slope(times: Sequence[float], values: Sequence[float], tolerance: float) -> float | None:
    """Growth per second as a share; 0 for what has not moved, ``None`` for what has no trend."""
    if max(values) <= (1.0 + tolerance) * min(values):
        return 0.0
    if min(values) <= 0.0 or not is_trend(values):
        return None
    return median(
        math.log(later / earlier) / (then - now)
        for (now, earlier), (then, later) in combinations(zip(times, values, strict=True), 2)
        if then > now
    )


def is_trend(values: Sequence[float]) -> bool:
    """Whether values go significantly up, or down (Mann and Kendall, with Kendall's ties)."""
    count = len(values)
    score = sum((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2))
    alike = [values.count(each) for each in set(values)]
    variance = (_of_ranks(count) - sum(_of_ranks(each) for each in alike)) / 18.0
    return variance > 0.0 and (abs(score) - 1) / math.sqrt(variance) >= _SIGNIFICANT


def _of_ranks(count: int) -> float:
    return count * (count - 1) * (2.0 * count + 5.0)


def _factor(slope: float, seconds: float, tolerance: float) -> float:
    """What a quantity will be multiplied by, as far as that is no change by itself."""
    furthest = math.log1p(_OF_TOLERANCE * tolerance)
    return math.exp(min(max(slope * seconds, -furthest), furthest))


def _thinned(ascending: tuple[float, ...], most: int) -> tuple[float, ...]:
    """At most so many of these, evenly taken."""
    if len(ascending) <= most:
        return ascending
    return tuple(ascending[place * len(ascending) // most] for place in range(most))
