"""``rtt`` of a flow group: one for all, a range, a list, or a distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import PlainValidator

from vermilion.scenario.core_network import CoreRoundTrips, DrawnRoundTrips
from vermilion.scenario.errors import MISSING, FieldError, did_you_mean
from vermilion.scenario.quantities import (
    RATIO,
    TIME,
    Quantity,
    QuantityError,
    QuantityRange,
    format_quantity,
)
from vermilion.scenario.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_DELAY_S: Final = 3600.0
"""Seconds of propagation, and of a round trip."""

LONGEST_LIST: Final = 1_000_000
"""Round trips in a list: as many as a scenario has flows at most."""

_TIME: Final = Quantity(TIME, minimum=0.0, maximum=LONGEST_DELAY_S)
_SIGMA: Final = Quantity(RATIO, minimum=0.0, maximum=10.0, minimum_excluded=True)
_KEYS: Final = {"uniform": (), "exponential": ("mean",), "lognormal": ("median", "sigma")}
"""Keys that each distribution needs besides its bounds."""


class RoundTripDistribution(Table):
    """A distribution of round trips, cut off at two bounds: values outside are drawn again.

    Attributes:
        distribution: its kind.
        min: the smallest value, s.
        max: the largest value, s.
        mean: of an exponential distribution before it is cut off, s.
        median: of a lognormal distribution before it is cut off, s.
        sigma: standard deviation of the logarithm of a lognormal distribution.
    """

    distribution: Literal["uniform", "exponential", "lognormal"]
    min: float
    max: float
    mean: float | None = None
    median: float | None = None
    sigma: float | None = None


def accepted() -> str:
    """Description of the accepted values of ``rtt``."""
    return (
        f'{_TIME.accepted()}, a range "20 ms .. 200 ms", a list ["10 ms", "50 ms"], or '
        'a table { distribution = "uniform", min = "20 ms", max = "200 ms" }'
    )


def _read(value: object) -> float | tuple[float, ...] | RoundTripDistribution:
    if isinstance(value, RoundTripDistribution):
        return value
    if isinstance(value, dict):
        return _distribution(value)
    if isinstance(value, list | tuple):
        return _parse_list(list(value))
    try:
        low, high = QuantityRange(_TIME).end.parse_range(value)
    except QuantityError as error:
        raise FieldError("", error.value, accepted()) from None
    if isinstance(value, str) and ".." in value:
        return RoundTripDistribution(distribution="uniform", min=low, max=high)
    return low


def _parse_list(values: list[object]) -> tuple[float, ...]:
    if not 0 < len(values) <= LONGEST_LIST:
        shown = "[]" if not values else f"a list of {len(values):,}"
        raise FieldError("", shown, f"a list of 1 to {LONGEST_LIST:,} times")
    trips = []
    for index, value in enumerate(values):
        try:
            trips.append(float(_TIME.parse(value)))
        except QuantityError as error:
            raise FieldError(str(index), error.value, error.accepted) from None
    return tuple(trips)


def _distribution(given: Mapping[str, object]) -> RoundTripDistribution:
    kind = given.get("distribution", MISSING)
    if not isinstance(kind, str) or kind not in _KEYS:
        expected = did_you_mean(kind if isinstance(kind, str) else "", _KEYS)
        raise FieldError("distribution", kind, expected)
    wanted = ("min", "max", *_KEYS[kind])
    for key in given:
        if key not in ("distribution", *wanted):
            expected = f"a key of {kind}: {did_you_mean(key, ('distribution', *wanted))}"
            raise FieldError(key, given[key], expected)
    read: dict[str, float] = {}
    for key in wanted:
        quantity = _SIGMA if key == "sigma" else _TIME
        if key not in given:
            raise FieldError(key, MISSING, quantity.accepted())
        try:
            read[key] = float(quantity.parse(given[key]))
        except QuantityError as error:
            raise FieldError(key, error.value, error.accepted) from None
    if read["max"] < read["min"]:
        least = f"at least min, {format_quantity(read['min'], TIME)}"
        raise FieldError("max", given["max"], least)
    for key in {"mean", "median"} & read.keys():
        if not read["min"] <= read[key] <= read["max"]:
            raise FieldError(key, given[key], "a time between min and max")
    return RoundTripDistribution.model_validate({"distribution": kind, **read})


RoundTrips = Annotated[float | tuple[float, ...] | RoundTripDistribution, PlainValidator(_read)]
"""Seconds: one round trip for all flows, a tuple dealt to them in turn, or a distribution."""


def smallest(trips: float | tuple[float, ...] | RoundTripDistribution) -> float:
    """The smallest round trip that a flow can have, in seconds."""
    if isinstance(trips, RoundTripDistribution):
        return trips.min
    return min(trips) if isinstance(trips, tuple) else trips


def format_round_trips(trips: float | tuple[float, ...] | RoundTripDistribution) -> str:
    """A group's round trips for people: ``28 ms``, ``20 ms .. 200 ms``."""
    if isinstance(trips, float | int):
        return format_quantity(trips, TIME)
    low, high = (
        (trips.min, trips.max)
        if isinstance(trips, RoundTripDistribution)
        else (min(trips), max(trips))
    )
    return f"{format_quantity(low, TIME)} .. {format_quantity(high, TIME)}"


def to_core(trips: float | tuple[float, ...] | RoundTripDistribution) -> CoreRoundTrips:
    """Round trips as the core reads them, in nanoseconds."""
    if isinstance(trips, RoundTripDistribution):
        return DrawnRoundTrips(
            distribution=trips.distribution,
            min_ns=_nanoseconds(trips.min),
            max_ns=_nanoseconds(trips.max),
            mean_ns=None if trips.mean is None else _nanoseconds(trips.mean),
            median_ns=None if trips.median is None else _nanoseconds(trips.median),
            sigma=trips.sigma,
        )
    return tuple(map(_nanoseconds, trips)) if isinstance(trips, tuple) else _nanoseconds(trips)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1_000_000_000)
