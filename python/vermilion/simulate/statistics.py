"""Statistics over replications with different seeds.

Runs that differ only in their seed are independent replications, so the mean of a
metric over them has a Student t interval (A. M. Law, *Simulation Modeling and
Analysis*, 5th ed. 2015, section 9.4.1: the replication method). One replication says
nothing about its own uncertainty; its interval is absent, never zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from vermilion.files.document import document

if TYPE_CHECKING:
    from collections.abc import Iterable

_ROUNDING: Final = 1e-12
"""A half width below this part of the mean is what rounding leaves of equal values."""


@document("mean low? high? count")
@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over replications and how far it can be trusted.

    Attributes:
        mean: the mean of the values, in their unit.
        half_width: half the width of the confidence interval, in the same unit;
            ``None`` where it cannot be computed (a single value).
        count: the number of values.
    """

    mean: float
    half_width: float | None
    count: int

    @property
    def low(self) -> float | None:
        """The interval's lower end; ``None`` for a single value."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """The interval's upper end; ``None`` for a single value."""
        return None if self.half_width is None else self.mean + self.half_width

    def scaled(self, factor: float) -> Interval:
        """The same in another unit."""
        half = None if self.half_width is None else factor * self.half_width
        return Interval(factor * self.mean, half, self.count)

    def excludes(self, value: float) -> bool:
        """Return whether ``value`` lies outside the interval: a significant difference from it.

        A single replication excludes nothing.
        """
        if self.half_width is None:
            return False
        return abs(value - self.mean) > self.half_width


@document("best incumbent")
class SettingPair(NamedTuple):
    """The same of the best setting found and of the incumbent."""

    best: Interval
    incumbent: Interval


def mean_interval(values: Iterable[float], confidence: float = 0.95) -> Interval:
    """The mean of ``values`` with its two-sided Student t interval.

    Args:
        values: one number per independent replication; at least one, all finite.
        confidence: the probability that such an interval covers the true mean, in (0, 1).

    Raises:
        ValueError: no values, a value that is not finite, or a confidence outside (0, 1).
    """
    sample = [float(value) for value in values]
    count = len(sample)
    if count == 0:
        message = "an interval needs at least one value; got none"
        raise ValueError(message)
    for value in sample:
        if not math.isfinite(value):
            message = f"an interval needs finite values; got {value}"
            raise ValueError(message)
    if not 0.0 < confidence < 1.0:
        message = f"confidence {confidence} is not accepted; expected a number between 0 and 1"
        raise ValueError(message)

    mean = math.fsum(sample) / count
    if count == 1:
        return Interval(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in sample) / (count - 1)
    half = t_quantile(confidence, count - 1) * math.sqrt(variance / count)
    # The mean of equal values may differ from them in its last bit.
    return Interval(mean, 0.0 if half < _ROUNDING * abs(mean) else half, count)


@document("mean low? high? count")
@dataclass(frozen=True, slots=True)
class RatioInterval:
    """Ratio of two quantities over paired replications.

    Attributes:
        mean: the geometric mean of the ratios, or the ratio of the means: whatever the function
            that made it says.
        low: the confidence interval's lower end; ``None`` for a single pair.
        high: its upper end, likewise.
        count: the number of pairs.
    """

    mean: float
    low: float | None
    high: float | None
    count: int


def ratio_interval(
    pairs: Iterable[tuple[float, float]], confidence: float = 0.95
) -> RatioInterval | None:
    """The ratio first / second of pairs that share a seed, with its confidence interval.

    Ratios multiply, so their logarithms are averaged: "twice" and "half" cancel, and the
    ratio of A to B is the inverse of that of B to A.

    Args:
        pairs: (numerator, denominator), one pair per replication.
        confidence: as for :func:`mean_interval`.

    Returns:
        ``None`` if there are no pairs, or any ratio is zero or infinite: no mean exists then.
    """
    sample = [(float(first), float(second)) for first, second in pairs]
    if not sample or any(min(pair) <= 0 or not math.isfinite(max(pair)) for pair in sample):
        return None
    logarithm = mean_interval((math.log(first / second) for first, second in sample), confidence)
    low, high = logarithm.low, logarithm.high
    return RatioInterval(
        math.exp(logarithm.mean),
        None if low is None else math.exp(low),
        None if high is None else math.exp(high),
        logarithm.count,
    )


def ratio_of_means_interval(
    pairs: Iterable[tuple[float, float]], confidence: float = 0.95
) -> RatioInterval | None:
    """The mean of the first / the mean of the second of pairs, with its confidence interval.

    Both means are uncertain, and together; E. C. Fieller, "Some problems in interval
    estimation", Journal of the Royal Statistical Society B 16 (1954): the interval has those
    ratios r for which a t test does not find the mean of first - r x second different from 0.

    Args:
        pairs: (numerator, denominator), one pair per replication.
        confidence: as for :func:`mean_interval`.

    Returns:
        ``None`` if there are no pairs, a value is not finite, the mean of the second is 0, or it
        cannot be told from 0, for then the interval has no ends. A single pair has a ratio
        and no interval.
    """
    sample = [(float(first), float(second)) for first, second in pairs]
    count = len(sample)
    if not sample or not all(math.isfinite(value) for pair in sample for value in pair):
        return None
    first = math.fsum(pair[0] for pair in sample) / count
    second = math.fsum(pair[1] for pair in sample) / count
    if second == 0.0:
        return None
    if count == 1:
        return RatioInterval(first / second, None, None, 1)
    scale = t_quantile(confidence, count - 1) ** 2 / (count * (count - 1))
    square_first = scale * math.fsum((pair[0] - first) ** 2 for pair in sample)
    square_second = scale * math.fsum((pair[1] - second) ** 2 for pair in sample)
    product = scale * math.fsum((pair[0] - first) * (pair[1] - second) for pair in sample)
    # The ends are the roots of a r^2 - 2 b r + c.
    a, b, c = second**2 - square_second, first * second - product, first**2 - square_first
    if a <= 0.0:
        return None
    root = math.sqrt(max(0.0, b * b - a * c))
    return RatioInterval(first / second, (b - root) / a, (b + root) / a, count)


def t_quantile(confidence: float, degrees_of_freedom: int) -> float:
    """The two-sided Student t quantile: 4.303 for 95 % and 2 degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees_of_freedom, 0.5 + confidence / 2.0))
