"""Linear algebra on one thread.

Libraries for linear algebra spread a product of matrices over all cores. While simulations keep
these busy, each core then waits for the others: choosing two points took ten times as long. And how
sums are rounded would depend on the number of cores, and so might what a search tries next.

A surface fitted to noisy values: Gaussian process regression.

C. E. Rasmussen and C. K. I. Williams, "Gaussian processes for machine learning", MIT Press, 2006:
predictions are their algorithm 2.1, the gradient of the likelihood is their equation 5.9. The
covariance of two points is Matern's with 5/2 (4.17), with a length for each axis. So the surface is
smooth, but not so smooth that a bend in one place says what happens far away.

A fit finds these lengths, the variance of the surface, and that of the noise, by which values
differ at points so close that the surface does not. It takes the most probable ones, with these
beliefs before any value is known:

- A length is about exp(sqrt(2)) times the root of the number of axes, give or take a factor of
  exp(sqrt(3)) (C. Hvarfner, E. O. Hellsten, L. Nardi, "Vanilla Bayesian optimization performs great
  in high dimensions", ICML 2024).
- The surface varies as much as the values do, and the noise has some 2 % of that variance; both
  give or take a factor of e.

Points are the rows of an array. Values are in units of their standard deviation, about a mean of 0.

Where a fitted surface may be lowest: expected improvement.

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
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack, solve_triangular
from scipy.optimize import minimize
from scipy.special import erfcx, ndtr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from threadpoolctl import ThreadpoolController

    from vermilion.search.uniform_points import Point

    Array = NDArray[np.float64]


@contextmanager
def single_thread() -> Iterator[None]:
    """Within, the libraries that numpy and scipy use take one thread."""
    _LIMIT.need()
    try:
        yield
    finally:
        _LIMIT.leave()


class _Limit:
    """Process-wide limit: its first user sets it, its last restores what was before."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._needed = 0
        self._set: Any = None

    def need(self) -> None:
        with self._lock:
            if self._needed == 0:
                self._set = _controller().limit(limits=1)
            self._needed += 1

    def leave(self) -> None:
        with self._lock:
            self._needed -= 1
            if self._needed == 0:
                self._set.restore_original_limits()


_LIMIT: Final = _Limit()


@cache
def _controller() -> ThreadpoolController:
    """Controller of the libraries loaded so far: import scipy.linalg before."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_LENGTH_SPREAD: Final = math.sqrt(3.0)
_NOISE_BELIEF: Final = -4.0
_LEAST_NOISE: Final = 1e-6
"""Added to all noise, so that two points may lie in one place."""
_LEAST_VARIANCE: Final = 1e-12
"""Where rounding would leave less, or less than nothing."""
_BOUNDS: Final = {"length": (-4.0, 5.0), "variance": (-4.0, 4.0), "noise": (-13.0, 1.0)}
_STEPS: Final = 60
"""At most so many, of a fit."""
_ROOT_5: Final = math.sqrt(5.0)


@dataclass(frozen=True)
class Shape:
    """Hyperparameters of the fit, as logarithms.

    Attributes:
        lengths: for each axis, over what distance values become different.
        variance: of the surface.
        noise: variance of values about the surface.
    """

    lengths: tuple[float, ...]
    variance: float
    noise: float

    @classmethod
    def believed(cls, dimensions: int) -> Shape:
        """The one believed in before any value is known."""
        return cls((_length_belief(dimensions),) * dimensions, 0.0, _NOISE_BELIEF)

    @classmethod
    def of_numbers(cls, numbers: Sequence[float]) -> Shape:
        """The inverse of :meth:`numbers`."""
        *lengths, variance, noise = numbers
        return cls(tuple(lengths), variance, noise)

    def numbers(self) -> list[float]:
        """Concatenate all parameters."""
        return [*self.lengths, self.variance, self.noise]


class Likelihood:
    """Likelihood of shapes, given values at points.

    Args:
        points: where values are known.
        values: the values.
    """

    def __init__(self, points: Array, values: Array) -> None:
        count, self.dimensions = points.shape
        self._values = values
        apart = points.T[:, :, None] - points.T[:, None, :]
        self._squares = np.square(apart).reshape(self.dimensions, count * count)
        self._believed = np.array(Shape.believed(self.dimensions).numbers())
        self._spread = np.array([_LENGTH_SPREAD] * self.dimensions + [1.0, 1.0])

    def improbability(self, shape: Shape) -> tuple[float, Array]:
        """Negative log posterior of a shape, but for a constant, and its gradient."""
        dimensions, count = self.dimensions, len(self._values)
        scales = np.exp(-2.0 * np.array(shape.lengths))
        variance, noise = math.exp(shape.variance), math.exp(shape.noise)
        distance = _ROOT_5 * np.sqrt(scales @ self._squares).reshape(count, count)
        decay = variance * np.exp(-distance)
        covariance = decay * (1.0 + distance + distance**2 / 3.0)
        noisy = covariance.copy()
        noisy.flat[:: count + 1] += noise + _LEAST_NOISE
        factor, _ = cho_factor(noisy, lower=True, check_finite=False)
        weights = cho_solve((factor, True), self._values, check_finite=False)
        inverse = _inverse(factor)
        inner = inverse - np.outer(weights, weights)
        off = (np.array(shape.numbers()) - self._believed) / self._spread
        gradient = off / self._spread
        tilted = (5.0 / 3.0) * inner * decay * (1.0 + distance)
        gradient[:dimensions] += 0.5 * scales * (self._squares @ tilted.ravel())
        gradient[-2] += 0.5 * np.sum(inner * covariance)
        gradient[-1] += 0.5 * noise * np.trace(inner)
        half_determinant = np.sum(np.log(np.diag(factor)))
        value = 0.5 * (self._values @ weights) + half_determinant + 0.5 * (off @ off)
        return float(value), gradient


def fitted(points: Array, values: Array, start: Shape) -> Shape:
    """The most probable shape that is found from ``start``.

    It is rounded to three decimals: so what another processor does with the last bits of a number
    changes nothing.
    """
    likelihood = Likelihood(points, values)
    lengths = [_BOUNDS["length"]] * likelihood.dimensions

    def cost(numbers: Array) -> tuple[float, Array]:
        return likelihood.improbability(Shape.of_numbers(numbers.tolist()))

    found = minimize(
        cost,
        start.numbers(),
        jac=True,
        method="L-BFGS-B",
        bounds=[*lengths, _BOUNDS["variance"], _BOUNDS["noise"]],
        options={"maxiter": _STEPS},
    )
    return Shape.of_numbers([round(float(number), 3) for number in found.x])


class FittedSurface:
    """Posterior of a surface, given noisy values of it.

    Args:
        points: where values are known.
        values: the values.
        shape: of the surface.

    Attributes:
        variance: of the surface where nothing is known.
        noise: variance of values about it.
    """

    def __init__(self, points: Array, values: Array, shape: Shape) -> None:
        self._points = points
        self._scales = np.exp(-np.array(shape.lengths))
        self.variance = math.exp(shape.variance)
        self.noise = math.exp(shape.noise) + _LEAST_NOISE
        noisy = self.covariance(points, points)
        noisy.flat[:: len(values) + 1] += self.noise
        self._factor = cho_factor(noisy, lower=True, check_finite=False)
        self._weights = cho_solve(self._factor, values, check_finite=False)

    def at(self, points: Array) -> Belief:
        """Posterior at some points."""
        across = self.covariance(self._points, points)
        known = solve_triangular(self._factor[0], across, lower=True, check_finite=False)
        return Belief(self, points, across.T @ self._weights, known)

    def covariance(self, some: Array, others: Array) -> Array:
        """Prior covariance of the surface at some points and at others."""
        some, others = some * self._scales, others * self._scales
        lengths = np.sum(some**2, axis=1)[:, None] + np.sum(others**2, axis=1)
        distance = _ROOT_5 * np.sqrt(np.maximum(lengths - 2.0 * some @ others.T, 0.0))
        matern = (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
        return np.asarray(self.variance * matern)


class Belief:
    """Posterior of a surface at some points.

    Attributes:
        mean: of the surface at each.
    """

    def __init__(self, surface: FittedSurface, points: Array, mean: Array, known: Array) -> None:
        self.mean = mean
        self._surface = surface
        self._points = points
        # Products of two columns are the covariance that known values take away.
        self._known = known
        self._variance = surface.variance - np.sum(known**2, axis=0)

    @property
    def deviation(self) -> Array:
        """Standard deviation of the surface at each."""
        return np.asarray(np.sqrt(np.maximum(self._variance, _LEAST_VARIANCE)))

    def expect(self, index: int) -> None:
        """A value at one of the points will be known, and is taken to be what is believed."""
        surface = self._surface
        [row] = surface.covariance(self._points[index : index + 1], self._points)
        row -= self._known[:, index] @ self._known
        row /= math.sqrt(max(self._variance[index], 0.0) + surface.noise)
        self._variance = self._variance - row**2
        self._known = np.vstack([self._known, row])


def _inverse(factor: Array) -> Array:
    """Inverse from a lower Cholesky factor: a third of the work of solving for it."""
    lower, _ = lapack.dpotri(factor, lower=1)
    below = np.tril(lower, -1)
    return np.asarray(below + below.T + np.diag(np.diag(lower)))


def _length_belief(dimensions: int) -> float:
    return math.sqrt(2.0) + 0.5 * math.log(dimensions)


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
    """Return so many points of the greatest expected improvement.

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
    points = np.vstack([uniform, _sample_near(draw, centres, _NEAR, _WIDTHS)])
    promises = _expected_improvement(lowest, surface.at(points))
    for widths in _NEARER_WIDTHS:
        centres = points[np.argsort(-promises, kind="stable")[:_NEARER_CENTRES]]
        nearer = _sample_near(draw, centres, _NEARER, widths)
        points = np.vstack([points, nearer])
        promises = np.concatenate([promises, _expected_improvement(lowest, surface.at(nearer))])
    points = points[np.argsort(-promises, kind="stable")[:_RANKED]]
    belief = surface.at(points)
    chosen: list[Point] = []
    for _ in range(count):
        index = int(np.argmax(_expected_improvement(lowest, belief)))
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


def _expected_improvement(lowest: float, belief: Belief) -> Array:
    return log_improvement(lowest, belief.mean, belief.deviation)


def _sample_near(
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
