"""The mean of a distribution of sizes or times."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.scenario.distributions import SizeDistribution, TimeDistribution


def mean_of(distribution: SizeDistribution | TimeDistribution) -> float:
    """The mean, in bytes or seconds, before anything is cut to what the core can draw."""
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
    """The mean of a Pareto distribution of which what lies above ``high`` is drawn again."""
    if low >= high:
        return low
    share = float(1.0 - (low / high) ** shape)
    if shape == 1.0:
        return low * math.log(high / low) / share
    return float(shape / (shape - 1.0) * low * (1.0 - (low / high) ** (shape - 1.0)) / share)


def _empirical(table: tuple[tuple[float, float], ...], *, logarithmic: bool) -> float:
    """The mean of a table of values and cumulative probabilities, interpolated between them."""
    before, below = table[0]
    total = below * before
    for value, probability in table[1:]:
        between = (
            (value - before) / math.log(value / before) if logarithmic else (value + before) / 2.0
        )
        total += (probability - below) * between
        before, below = value, probability
    return total
