"""Sizes and arrivals of short transfers, fitted, with how well the fit holds.

Of an exponential, a lognormal and a Pareto distribution that is taken which the sizes are most
likely from, by Akaike's criterion (1974); unless even that one is further off than the sizes of so
many transfers could be by chance (Kolmogorov and Smirnov), or there are few: then the sizes
themselves are the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_SHALLOWEST: Final = 2
_HALVINGS: Final = 9


def fitting_depth(wait_ms: float, deepest: int, mean_wait_ms: Callable[[int], float]) -> int:
    """The depth, in packets, whose mean wait comes nearest.

    Args:
        wait_ms: the capture's.
        deepest: the most that may be tried.
        mean_wait_ms: simulates a depth.
    """
    low, high = _SHALLOWEST, max(_SHALLOWEST, deepest)
    tried: dict[int, float] = {}

    def miss(depth: int) -> float:
        if depth not in tried:
            tried[depth] = mean_wait_ms(depth)
        return tried[depth] - wait_ms

    for _ in range(_HALVINGS):
        if high - low <= 1:
            break
        middle = round(math.sqrt(low * high))
        if middle in {low, high}:
            middle = (low + high) // 2
        if miss(middle) < 0.0:
            low = middle
        else:
            high = middle
    return min((low, high), key=lambda depth: (abs(miss(depth)), depth))


FEWEST: Final = 30
"""Fewer sizes are not fitted."""

_KOLMOGOROV_LIMIT: Final = (
    1.63  # over the root of their number: 1 % of samples of the law are further off
)
_QUANTILES: Final = 40  # in a table of sizes
_LEAST_SHAPE: Final = 1.05  # a Pareto law with less has no mean to speak of
_NARROW: Final = 1e-3  # a spread of logarithms below this is none


@dataclass(frozen=True, slots=True)
class FittedSizes:
    """A distribution of sizes.

    Attributes:
        table: as a scenario has it.
        name: of the distribution.
        distance: the largest difference between its law and the sizes', 0 to 1; ``None`` where the
            sizes are the law.
        mean_bytes: the mean of the sizes themselves.
        law_mean_bytes: the mean of the distribution, which is another where its tail is heavy.
        count: how many there were.
    """

    table: dict[str, Any]
    name: str
    distance: float | None
    mean_bytes: float
    law_mean_bytes: float
    count: int


@dataclass(frozen=True, slots=True)
class FittedArrivals:
    """A Poisson process of arrivals.

    Attributes:
        mean_gap_s: between one and the next.
        dispersion: variance over mean of the arrivals in equal stretches; 1 for a Poisson process.
        count: how many arrivals there were.
    """

    mean_gap_s: float
    dispersion: float | None
    count: int


def fit_sizes(sizes: list[int]) -> FittedSizes:
    """A distribution for sizes, all above 0."""
    from scipy import stats

    values = np.sort(np.asarray(sizes, dtype=np.float64))
    mean = float(values.mean())
    logs = np.log(values)
    spread = float(logs.std())
    if spread < _NARROW:
        table: dict[str, Any] = {"distribution": "constant", "value": _bytes(mean)}
        return FittedSizes(table, "constant", 0.0, mean, mean, len(values))
    if len(values) < FEWEST:
        return FittedSizes(_empirical(values), "empirical", None, mean, mean, len(values))
    shape = 1.0 / max(float((logs - logs[0]).mean()), _NARROW)
    median = math.exp(float(logs.mean()))
    # What is fitted, its number of parameters, and how a scenario says it.
    candidates: list[tuple[Any, int, dict[str, Any]]] = [
        (
            stats.expon(scale=mean),
            1,
            {"distribution": "exponential", "mean": _bytes(mean)},
        ),
        (
            stats.lognorm(s=spread, scale=median),
            2,
            {"distribution": "lognormal", "median": _bytes(median), "sigma": round(spread, 4)},
        ),
    ]
    if shape > _LEAST_SHAPE:
        pareto_mean = float(values[0]) * shape / (shape - 1.0)
        candidates.append(
            (
                stats.pareto(shape, scale=values[0]),
                2,
                {
                    "distribution": "pareto",
                    "mean": _bytes(pareto_mean),
                    "shape": round(shape, 4),
                },
            )
        )
    best = min(candidates, key=lambda each: 2 * each[1] - 2 * float(each[0].logpdf(values).sum()))
    law, _, table = best
    distance = float(stats.kstest(values, law.cdf).statistic)
    if distance > _KOLMOGOROV_LIMIT / math.sqrt(len(values)):
        return FittedSizes(_empirical(values), "empirical", None, mean, mean, len(values))
    name = str(table["distribution"])
    return FittedSizes(table, name, distance, mean, float(law.mean()), len(values))


def fit_arrivals(times_s: list[float], duration_s: float) -> FittedArrivals:
    """A Poisson process for arrivals within so long."""
    count = len(times_s)
    dispersion = None
    if count >= FEWEST:
        stretches = max(5, count // 10)
        bins, _ = np.histogram(times_s, bins=stretches, range=(0.0, duration_s))
        dispersion = float(bins.var(ddof=1) / bins.mean())
    return FittedArrivals(duration_s / count, dispersion, count)


def _empirical(values: NDArray[np.float64]) -> dict[str, Any]:
    """The sizes as a table of cumulative probabilities."""
    rows: list[list[object]] = []
    if len(values) <= _QUANTILES:
        shares = [(place + 1) / len(values) for place in range(len(values))]
        picked = values
    else:
        shares = [(place + 1) / _QUANTILES for place in range(_QUANTILES)]
        picked = np.quantile(values, shares, method="inverted_cdf")
    for value, share in zip(picked.tolist(), shares, strict=True):
        size = max(1, round(value))
        if rows and rows[-1][0] == f"{size} bytes":
            rows[-1][1] = round(share, 6)
        else:
            rows.append([f"{size} bytes", round(share, 6)])
    rows[-1][1] = 1
    return {"distribution": "empirical", "table": rows}


def _bytes(value: float) -> str:
    return f"{max(1, round(value))} bytes"
