"""Where a fitted surface may be lowest: expected improvement.

D. R. Jones, M. Schonlau, W. J. Welch, "Efficient global optimization of expensive black-box
functions", Journal of Global Optimization 13, 1998: what promises most is the point at which the
surface is expected to lie furthest below the lowest that is known, where lying above counts as 0.
Some hundred random points are compared: uniform ones, ones around the lowest known, and then ones
around the most promising of these.

Where the sources leave a choice:

- The lowest of some noisy values is a lucky one. What is to be improved on is the lowest height of
  the *surface* at a point that was tried ("plug-in"; V. Picheny, T. Wagner, D. Ginsbourger, "A
  benchmark of kriging-based infill criteria for noisy optimization", Structural and
  Multidisciplinary Optimization 48, 2013).
- Where several points are chosen, each is taken to have the value that is believed ("kriging
  believer"; D. Ginsbourger, R. Le Riche, L. Carraro, "Kriging is well-suited to parallelize
  optimization", 2010).
- Logarithms are compared, which differ where the improvement itself is rounded to 0 (S. Ament and
  others, "Unexpected improvements to expected improvement for Bayesian optimization", NeurIPS
  2023).
- Very bad values would flatten all others. Those above the lowest four fifths count by the
  logarithm of their distance from the best. A point that failed counts as the worst that did not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import erfcx, ndtr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vermilion.search.fitted_surface import Belief, FittedSurface
    from vermilion.search.uniform_points import Point

    Array = NDArray[np.float64]

_AS_THEY_ARE: Final = 0.8
"""Share of the values, the lowest ones, whose logarithm is not taken."""
_UNIFORM: Final = 400
_NEAR: Final = 400
_CENTRES: Final = 5
_WIDTHS: Final = (0.003, 0.3)
"""Least and greatest standard deviation of a step from a centre, as fractions of the range."""
_NEARER: Final = 80
_NEARER_CENTRES: Final = 8
_NEARER_WIDTHS: Final = ((0.03, 0.1), (0.01, 0.03), (0.003, 0.01))
_RANKED: Final = 300
"""Of the points compared, how many are still looked at when others have been chosen."""
_FAR: Final = -1e4
"""Deviations below 0 from which on a sum has no digits left, and a series has all with one term."""


def promising_points(
    surface: FittedSurface, known: Array, count: int, draw: np.random.Generator
) -> list[Point]:
    """So many points that promise most.

    Args:
        surface: fitted to what is known.
        known: the points tried, a row each.
        count: how many.
        draw: random numbers.
    """
    heights = surface.at(known).mean
    lowest = float(heights.min())
    centres = known[np.argsort(heights, kind="stable")[:_CENTRES]]
    uniform = draw.random((_UNIFORM, known.shape[1]))
    points = np.vstack([uniform, _near(draw, centres, _NEAR, _WIDTHS)])
    promises = _promises(lowest, surface.at(points))
    for widths in _NEARER_WIDTHS:
        centres = points[np.argsort(-promises, kind="stable")[:_NEARER_CENTRES]]
        nearer = _near(draw, centres, _NEARER, widths)
        points = np.vstack([points, nearer])
        promises = np.concatenate([promises, _promises(lowest, surface.at(nearer))])
    points = points[np.argsort(-promises, kind="stable")[:_RANKED]]
    belief = surface.at(points)
    chosen: list[Point] = []
    for _ in range(count):
        index = int(np.argmax(_promises(lowest, belief)))
        chosen.append(tuple(points[index].tolist()))
        belief.expect(index)
    return chosen


def comparable(values: Array) -> Array:
    """Values as they are fitted: about a mean of 0, in units of their standard deviation.

    Args:
        values: infinite where a point failed; one at least is not.
    """
    worst = values[np.isfinite(values)].max()
    above = np.minimum(values, worst) - values.min()
    unit = float(np.quantile(above, _AS_THEY_ARE, method="lower")) or float(above.max()) or 1.0
    heights = above / unit
    heights = np.where(heights > 1.0, 1.0 + np.log(np.maximum(heights, 1.0)), heights)
    return np.asarray((heights - heights.mean()) / (float(heights.std()) or 1.0))


def log_improvement(lowest: float, mean: Array, deviation: Array) -> Array:
    """Logarithm of how far below ``lowest`` a normal variable is expected to lie.

    Args:
        lowest: what is to be improved on.
        mean: of each variable.
        deviation: standard deviation of each.
    """
    off = (lowest - mean) / deviation
    density = np.exp(-0.5 * off**2) / math.sqrt(2.0 * math.pi)
    near = np.log(np.maximum(density + off * ndtr(off), np.finfo(float).tiny))
    # Far below, the two terms are all but alike. Their ratio has the density taken out of both.
    far = np.minimum(off, -1.0)
    rest = 1.0 + far * math.sqrt(math.pi / 2.0) * erfcx(-far / math.sqrt(2.0))
    rest = np.log(np.where(far > _FAR, rest, 1.0 / far**2))
    rest = rest - 0.5 * far**2 - 0.5 * math.log(2.0 * math.pi)
    return np.asarray(np.log(deviation) + np.where(off > -1.0, near, rest))


def _promises(lowest: float, belief: Belief) -> Array:
    return log_improvement(lowest, belief.mean, belief.deviation)


def _near(
    draw: np.random.Generator, centres: Array, count: int, widths: tuple[float, float]
) -> Array:
    """Random points near some centres, from which about half of their coordinates differ."""
    dimensions = centres.shape[1]
    chosen = centres[draw.integers(len(centres), size=count)]
    least, greatest = widths
    width = np.exp(draw.uniform(math.log(least), math.log(greatest), size=(count, 1)))
    moved = draw.random((count, dimensions)) < 0.5  # noqa: PLR2004 - half
    moved[np.arange(count), draw.integers(dimensions, size=count)] = True
    step = draw.standard_normal((count, dimensions)) * width * moved
    return np.clip(chosen + step, 0.0, 1.0)
