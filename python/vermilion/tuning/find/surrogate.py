"""A smooth guess at a function of a few settings, with how unsure it is.

What lies far from all that is known follows a linear trend, taken off first by least squares. To
what is left a surface is fitted (:mod:`vermilion.search.fitted_surface`).

Values are taken as they are but for outliers: what lies many times the usual spread from the median
is drawn in, or the far end of a box would decide how smooth all of it looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from vermilion.search.fitted_surface import FittedSurface, Shape, fitted
from vermilion.search.single_thread import single_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_MOST_SPREADS: Final = 10.0
"""Spreads from the median at which a value is drawn in."""


class Surrogate:
    """A guess at a function from its values at some points.

    Args:
        points: a row each, coordinates from 0 to 1.
        values: one for each point, finite.
    """

    def __init__(self, points: Array, values: Array) -> None:
        middle = float(np.median(values))
        spread = float(np.median(np.abs(values - middle))) or float(np.std(values)) or 1.0
        drawn_in = np.clip(values, middle - _MOST_SPREADS * spread, middle + _MOST_SPREADS * spread)
        trend, *_ = np.linalg.lstsq(_with_one(points), drawn_in, rcond=None)
        self._trend: Array = trend.astype(np.float64)
        left = drawn_in - _with_one(points) @ self._trend
        self._scale = float(np.std(left)) or 1.0
        scaled = left / self._scale
        with single_thread():
            shape = fitted(points, scaled, Shape.believed(points.shape[1]))
            self._surface = FittedSurface(points, scaled, shape)

    def predict(self, points: Array) -> tuple[Array, Array]:
        """The guess at other points, and its standard deviation."""
        with single_thread():
            belief = self._surface.at(points)
        trend = _with_one(points) @ self._trend
        return trend + self._scale * belief.mean, self._scale * belief.deviation


def _with_one(points: Array) -> Array:
    """The points with a coordinate that is always 1, for the constant of a trend."""
    return np.column_stack([points, np.ones(len(points))])
