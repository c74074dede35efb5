"""How far apart the points of a time series are: what is accepted, and the usual interval."""

from __future__ import annotations

from typing import Final

from vermilion.scenario.quantities import TIME, Quantity, QuantityError, format_quantity

SHORTEST_S: Final = 1e-6
"""The shortest interval of any series."""

MOST_POINTS: Final = 10_000_000
"""Points of a link's time series; each takes six numbers of eight bytes for every link."""

_USUAL_S: Final = 0.1
_LONG_S: Final = 1.0
_POINTS: Final = 100
"""Of a scenario that is shorter than that."""


def usual_interval_s(duration_s: float) -> float:
    """The interval where none was chosen: 0.1 s, or less where that gave under ten points.

    Of a scenario that is shorter than a second it is a hundredth.

    Args:
        duration_s: of the scenario.
    """
    return _USUAL_S if duration_s >= _LONG_S else duration_s / _POINTS


def shortest_interval_s(duration_s: float) -> float:
    """The shortest interval of links' time series in a scenario of this duration."""
    return max(SHORTEST_S, duration_s / MOST_POINTS)


def parse_interval(text: str, shortest_s: float, duration_s: float) -> float:
    """The seconds of an interval like "0.1 s".

    Raises:
        QuantityError: it is no time, or none from the shortest interval to the duration.
    """
    try:
        return float(Quantity(TIME, minimum=shortest_s, maximum=duration_s).parse(text))
    except QuantityError:
        low, high, example = (
            format_quantity(seconds, TIME)
            for seconds in (shortest_s, duration_s, usual_interval_s(duration_s))
        )
        accepted = f'an interval, a time from {low} to {high} (the duration), like "{example}"'
        raise QuantityError(text, accepted) from None


def accepted_seconds(shortest_s: float, duration_s: float) -> str:
    """Which intervals are accepted as numbers, in words that follow "expected"."""
    return f"seconds from {shortest_s:g} to {duration_s:g}, the duration"
