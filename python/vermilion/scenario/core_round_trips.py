"""Base round trips as the core reads them: one for all flows, dealt in turn, or drawn."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class DrawnRoundTrips:
    """A distribution cut off at two bounds: values outside are drawn again.

    Attributes:
        distribution: "uniform", "exponential" or "lognormal".
        min_ns: the smallest value.
        max_ns: the largest value.
        mean_ns: of an exponential distribution before it is cut off.
        median_ns: of a lognormal distribution before it is cut off.
        sigma: standard deviation of the logarithm of a lognormal distribution.
    """

    distribution: str
    min_ns: int
    max_ns: int
    mean_ns: int | None = None
    median_ns: int | None = None
    sigma: float | None = None


CoreRoundTrips = int | tuple[int, ...] | DrawnRoundTrips
"""Nanoseconds: for every flow the same, dealt to them in turn, or drawn by each."""


def mean_ns(trips: CoreRoundTrips) -> float:
    """About the mean of a group's round trips, in ns.

    Of a list it is exact. Of a distribution it is that before the cut: the mean of an exponential,
    the median of a lognormal, the middle of a uniform one.
    """
    if isinstance(trips, DrawnRoundTrips):
        for middle in (trips.mean_ns, trips.median_ns):
            if middle is not None:
                return float(middle)
        return (float(trips.min_ns) + float(trips.max_ns)) / 2.0
    if isinstance(trips, tuple):
        return math.fsum(trips) / len(trips)
    return float(trips)


def longest_ns(trips: CoreRoundTrips) -> int:
    """The longest round trip that a flow can have, in ns."""
    if isinstance(trips, DrawnRoundTrips):
        return trips.max_ns
    return max(trips) if isinstance(trips, tuple) else trips


def to_data(trips: CoreRoundTrips) -> object:
    """For the core's JSON."""
    if isinstance(trips, DrawnRoundTrips):
        return {key: value for key, value in asdict(trips).items() if value is not None}
    return trips


def from_data(data: int | Sequence[int] | dict[str, Any]) -> CoreRoundTrips:
    """The inverse of :func:`to_data`.

    Raises:
        TypeError: a distribution lacks a key, or has one too many.
    """
    if isinstance(data, dict):
        return DrawnRoundTrips(**data)
    return data if isinstance(data, int) else tuple(data)
