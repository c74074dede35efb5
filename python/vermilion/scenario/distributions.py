"""Distributions that sizes and times are drawn from, each with the parameters it takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from pydantic import Field, model_validator

from vermilion.scenario.errors import MISSING, FieldError, did_you_mean, one_of
from vermilion.scenario.quantities import RATIO, SIZE, TIME, Quantity, QuantityError, number_text
from vermilion.scenario.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST_TRANSFER_BYTES: Final = 1e12
"""A terabyte; what is drawn beyond it is cut to it."""

LONGEST_TIME_S: Final = 1e6
"""As long as the longest scenario."""

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "constant": ("value",),
    "exponential": ("mean",),
    "pareto": ("mean", "shape"),
    "bounded-pareto": ("minimum", "maximum", "shape"),
    "lognormal": ("median", "sigma"),
    "empirical": ("table",),
}
DISTRIBUTIONS: Final = tuple(_KEYS)

Size = Quantity(SIZE, minimum=1.0, maximum=LARGEST_TRANSFER_BYTES)
Time = Quantity(TIME, minimum=1e-9, maximum=LONGEST_TIME_S)
Shape = Annotated[float, Quantity(RATIO, minimum=0.0, maximum=100.0, minimum_excluded=True)]
Sigma = Annotated[float, Quantity(RATIO, minimum=0.0, maximum=10.0)]
Name = Literal["constant", "exponential", "pareto", "bounded-pareto", "lognormal", "empirical"]


class Distribution(Table):
    """A distribution of positive quantities; a plain quantity is one that never varies."""

    quantity: ClassVar[Quantity]

    distribution: Name = Field(description=one_of(DISTRIBUTIONS))
    shape: Shape | None = Field(default=None, description="the tail index of a Pareto distribution")
    sigma: Sigma | None = Field(default=None, description="standard deviation of the logarithm")
    table: tuple[tuple[float, float], ...] | None = Field(
        default=None, description="pairs of a value and its cumulative probability"
    )
    interpolation: Literal["linear", "logarithmic"] | None = Field(
        default=None, description='of "empirical": "linear" (default) or "logarithmic"'
    )

    @classmethod
    def accepted(cls) -> str:
        """Description of accepted distributions."""
        example = cls.quantity.dimension.example
        table = f'{{ distribution = "exponential", mean = "{example}" }}'
        return f"{cls.quantity.accepted()}, or a table like {table}"

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        if isinstance(value, Distribution):
            return value
        if not isinstance(value, dict):
            try:
                return {"distribution": "constant", "value": cls.quantity_text(value)}
            except QuantityError:
                raise FieldError("", value, cls.accepted()) from None
        given = dict(value)
        name = given.get("distribution", MISSING)
        if name not in DISTRIBUTIONS:
            accepted = did_you_mean(name if isinstance(name, str) else "", DISTRIBUTIONS)
            raise FieldError("distribution", name, accepted)
        if "table" in given:
            given["table"] = cls._entries(given["table"])
        return given

    @classmethod
    def quantity_text(cls, value: object) -> object:
        """The value itself, once it has been seen to be a quantity."""
        cls.quantity.parse(value)
        return value

    @classmethod
    def _entries(cls, table: object) -> tuple[tuple[float, float], ...]:
        example = cls.quantity.dimension.example
        accepted = f'a list of values and cumulative probabilities, like [["{example}", 0.5], ...]'
        if not isinstance(table, list | tuple) or not table:
            raise FieldError("table", table, accepted)
        probability = Quantity(RATIO, minimum=0.0, maximum=1.0)
        entries: list[tuple[float, float]] = []
        for number, entry in enumerate(table):
            field = f"table.{number}"
            if not isinstance(entry, list | tuple) or len(entry) != 2:  # noqa: PLR2004 - a pair
                raise FieldError(field, entry, accepted)
            try:
                pair = (float(cls.quantity.parse(entry[0])), float(probability.parse(entry[1])))
            except QuantityError as error:
                raise FieldError(field, error.value, error.accepted) from None
            if entries and not (entries[-1][0] < pair[0] and entries[-1][1] < pair[1]):
                raise FieldError(field, entry, "values and probabilities that ascend")
            entries.append(pair)
        if entries[-1][1] != 1.0:
            field = f"table.{len(entries) - 1}"
            raise FieldError(field, table[-1], "a last entry with the probability 1")
        return tuple(entries)

    @model_validator(mode="after")
    def _check_keys(self) -> Distribution:
        name, required = self.distribution, _KEYS[self.distribution]
        for key in type(self).model_fields:
            value = getattr(self, key)
            if key in required and value is None:
                raise FieldError(key, MISSING, f"{' and '.join(required)} of {name}")
            allowed = key == "interpolation" and name == "empirical"
            if value is not None and key not in {"distribution", *required} and not allowed:
                raise FieldError(key, value, f"only {', '.join(required)} with {name}")
        if name == "pareto" and self.shape is not None and self.shape <= 1.0:
            accepted = "a number above 1, below which there is no mean, up to 100"
            raise FieldError("shape", self.shape, accepted)
        low, high = getattr(self, "minimum", None), getattr(self, "maximum", None)
        if low is not None and high is not None and low > high:
            accepted = f"at least the minimum, {number_text(low)} {self.quantity.dimension.unit}"
            raise FieldError(
                "maximum", f"{number_text(high)} {self.quantity.dimension.unit}", accepted
            )
        return self

    def core(self, scale: float) -> dict[str, object]:
        """Return it for the core; ``scale`` of its units make one of the model's."""
        lowered: dict[str, object] = {"distribution": self.distribution}
        for key in ("value", "mean", "minimum", "maximum", "median"):
            value = getattr(self, key)
            if value is not None:
                lowered[key] = value * scale
        for key in ("shape", "sigma", "interpolation"):
            value = getattr(self, key)
            if value is not None:
                lowered[key] = value
        if self.table is not None:
            lowered["values"] = [value * scale for value, _ in self.table]
            lowered["probabilities"] = [probability for _, probability in self.table]
        return lowered


class SizeDistribution(Distribution):
    """Distribution of sizes, in bytes."""

    quantity: ClassVar[Quantity] = Size

    value: Annotated[float, Size] | None = None
    mean: Annotated[float, Size] | None = None
    minimum: Annotated[float, Size] | None = None
    maximum: Annotated[float, Size] | None = None
    median: Annotated[float, Size] | None = None


class TimeDistribution(Distribution):
    """Distribution of times, in seconds."""

    quantity: ClassVar[Quantity] = Time

    value: Annotated[float, Time] | None = None
    mean: Annotated[float, Time] | None = None
    minimum: Annotated[float, Time] | None = None
    maximum: Annotated[float, Time] | None = None
    median: Annotated[float, Time] | None = None


def mean_of(distribution: SizeDistribution | TimeDistribution) -> float:
    """Mean in bytes or seconds, before values are cut to those that the core can draw."""
    name = distribution.distribution
    if name == "bounded-pareto":
        return _bounded_pareto(
            distribution.minimum or 0.0, distribution.maximum or 0.0, distribution.shape or 1.0
        )
    if name == "lognormal":
        return (distribution.median or 0.0) * math.exp((distribution.sigma or 0.0) ** 2 / 2.0)
    if name == "empirical":
        return _empirical(
            distribution.table or (), logarithmic=distribution.interpolation == "logarithmic"
        )
    return (distribution.value if name == "constant" else distribution.mean) or 0.0


def _bounded_pareto(low: float, high: float, shape: float) -> float:
    """Mean of a Pareto distribution whose draws above ``high`` are repeated."""
    if low >= high:
        return low
    share = float(1.0 - (low / high) ** shape)
    if shape == 1.0:
        return low * math.log(high / low) / share
    return float(shape / (shape - 1.0) * low * (1.0 - (low / high) ** (shape - 1.0)) / share)


def _empirical(table: tuple[tuple[float, float], ...], *, logarithmic: bool) -> float:
    """Mean of a table of values and cumulative probabilities, interpolated between them."""
    before, below = table[0]
    total = below * before
    for value, probability in table[1:]:
        between = (
            (value - before) / math.log(value / before) if logarithmic else (value + before) / 2.0
        )
        total += (probability - below) * between
        before, below = value, probability
    return total
