"""A smooth guess at a function of a few settings, with how unsure it is: a Gaussian process.

C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT Press 2006:
prediction is their algorithm 2.1, the likelihood by which length scales are chosen their equation
2.30, the covariance their Matern 5/2 (4.17) with a length scale for each coordinate. What lies far
from all that is known follows a linear trend, taken off first by least squares.

Values are taken as they are but for outliers: what lies many times the usual spread from the median
is drawn in, or the far end of a box would decide how smooth all of it looks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_LENGTHS: Final = (0.1, 0.25, 0.6, 1.5)
"""Length scales tried for all coordinates together, of a unit cube."""
_FACTORS: Final = (0.3, 3.0)
"""Times which one coordinate's length scale is tried alone."""
_NOISES: Final = (1e-3, 1e-2, 1e-1)
"""Variances of chance tried, as parts of the values' own."""
_MOST_SPREADS: Final = 10.0
"""Spreads from the median at which a value is drawn in."""


class Surrogate:
    """A guess at a function from its values at some points.

    Args:
        points: a row each, coordinates from 0 to 1.
        values: one for each point, finite.
    """

    def __init__(self, points: Array, values: Array) -> None:
        self._points = points
        middle = float(np.median(values))
        spread = float(np.median(np.abs(values - middle))) or float(np.std(values)) or 1.0
        drawn_in = np.clip(values, middle - _MOST_SPREADS * spread, middle + _MOST_SPREADS * spread)
        trend, *_ = np.linalg.lstsq(_with_one(points), drawn_in, rcond=None)
        self._trend: Array = trend.astype(np.float64)
        left = drawn_in - _with_one(points) @ self._trend
        self._scale = float(np.std(left)) or 1.0
        self._values = left / self._scale
        self._choose()

    def predict(self, points: Array) -> tuple[Array, Array]:
        """The guess at other points, and its standard deviation."""
        cross = self._covariance(points, self._points, self._lengths)
        mean = cross @ self._weights
        half = np.linalg.solve(self._root, cross.T)
        variance = np.maximum(1.0 - np.einsum("ij,ij->j", half, half), 1e-12)
        trend = _with_one(points) @ self._trend
        return trend + self._scale * mean, self._scale * np.sqrt(variance * self._variance)

    def _choose(self) -> None:
        """Takes the length scales and the noise that make the values most likely."""
        dimensions = self._points.shape[1]
        best = -math.inf
        for length in _LENGTHS:
            for noise in _NOISES:
                best = self._better(best, np.full(dimensions, length), noise)
        for axis in range(dimensions):
            for factor in _FACTORS:
                lengths = self._lengths.copy()
                lengths[axis] *= factor
                best = self._better(best, lengths, self._noise)

    def _better(self, best: float, lengths: Array, noise: float) -> float:
        """Takes these if they are more likely than what there is; the larger likelihood."""
        count = len(self._values)
        matrix = self._covariance(self._points, self._points, lengths)
        matrix[np.diag_indices(count)] += noise + 1e-9
        try:
            root = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:  # points that are nearly the same, and hardly any noise
            return best
        weights = np.linalg.solve(root.T, np.linalg.solve(root, self._values))
        # The variance that is most likely for these, so that only the shape is searched.
        variance = max(float(self._values @ weights) / count, 1e-12)
        likelihood = -0.5 * count * math.log(variance) - float(np.log(np.diag(root)).sum())
        if likelihood <= best:
            return best
        self._lengths, self._noise, self._variance = lengths, noise, variance
        self._root, self._weights = root, weights
        return likelihood

    @staticmethod
    def _covariance(one: Array, other: Array, lengths: Array) -> Array:
        apart = (one[:, None, :] - other[None, :, :]) / lengths
        distance = np.sqrt(5.0 * np.einsum("ijk,ijk->ij", apart, apart))
        covariance: Array = (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
        return covariance


def _with_one(points: Array) -> Array:
    """The points with a coordinate that is always 1, for the constant of a trend."""
    return np.column_stack([points, np.ones(len(points))])
