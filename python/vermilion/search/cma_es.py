"""The normal distribution of CMA-ES: what it learns of a generation of points.

N. Hansen, "The CMA evolution strategy: a tutorial", arXiv:1604.00772v2; equations are numbered as
there. The treatment of the box is ours: a point outside is drawn again, up to :data:`MOST_DRAWS`
times, and then moved to the bound. The package ``cmaes`` (M. Nomura and M. Shibata,
arXiv:2402.01373) learns the same, and a test holds the two beside each other. It is not used here
because importing it takes half a second of CPU time, for parts of it that nobody needs here. A
whole tuning may take one.

CMA-ES: a normal distribution that moves, grows, shrinks and turns towards better points.

The covariance matrix adaptation evolution strategy (N. Hansen, "The CMA evolution strategy: a
tutorial", arXiv:1604.00772); what it learns of a generation is in
:mod:`vermilion.search.cma_es`. It uses the order of a generation's values and not the
values, so neither their scale nor failed points (which come last) matter to it.

State: what was told since the present descent began. A descent is rebuilt by telling a fresh
instance all of it again, so that nothing but numbers has to be stored; the random numbers of a
generation depend on the seed, the descent and the generation alone.

Where the tutorial leaves a choice:

- Before the first descent, ``spread`` evenly spread points are tried (a Latin hypercube). It begins
  at the best of them and of the start points, or in the middle of the box if there is none. The
  distribution's first standard deviation is ``first_step`` of each range.
- A descent ends when all points of a generation lie within a box of side ``stop_side``, where
  differences no longer mean anything to a queue, or for one of the tutorial's own reasons. Then
  another begins around a uniform point, with twice the population (A. Auger and N. Hansen,
  "A restart CMA evolution strategy with increasing population size", CEC 2005), up to 1024 times
  the first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vermilion.search.generations import Generations, Told, side, told_from_json, told_to_json
from vermilion.search.uniform_points import latin_hypercube, named_generator, named_seed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.search.uniform_points import Point

    Array = NDArray[np.float64]

MOST_DRAWS: Final = 100
_LEAST_EIGENVALUE: Final = 1e-8
_LEAST_STEP: Final = 1e-12
_MOST_STEP: Final = 1e4
_LEAST_SPREAD_OF_VALUES: Final = 1e-12
_MOST_CONDITION: Final = 1e14


class AdaptedDistribution:
    """A normal distribution in the unit cube that moves, grows, shrinks and turns.

    Args:
        mean: where it begins.
        step: its first standard deviation, on every axis.
        population: points of a generation, at least 4.
    """

    def __init__(self, mean: Point, step: float, population: int) -> None:
        import numpy as np

        self._constants = _Constants(len(mean), population)
        self.mean: Array = np.array(mean, dtype=np.float64)
        self.step = step
        self._first_step = step
        self._covariance: Array = np.eye(len(mean))
        self._path_of_step: Array = np.zeros(len(mean))
        self._path: Array = np.zeros(len(mean))
        self._generation = 0
        # The lowest and the highest value of each of the last generations.
        self._values: list[tuple[float, float]] = []
        self._axes: tuple[Array, Array] | None = None
        self._random = np.random.RandomState()

    def reseed(self, seed: int) -> None:
        """Makes the points to come those of this seed."""
        self._random.seed(seed)

    def draw(self) -> Point:
        """A point of the present generation."""
        import numpy as np

        turned, lengths = self._principal_axes()
        # The symmetric root, for axes of equal length have no directions of their own.
        root = (turned * lengths) @ turned.T
        for _ in range(MOST_DRAWS):
            normal = self._random.randn(len(self.mean))
            point = self.mean + self.step * root.dot(normal)  # (38) to (40)
            if np.all(point >= 0.0) and np.all(point <= 1.0):
                break
        else:
            point = np.clip(point, 0.0, 1.0)
        return tuple(point.tolist())

    def learn(self, told: Sequence[Told]) -> None:
        """Goes on to the next generation.

        Args:
            told: the present one; only the order of the values matters, equals as they come.
        """
        import numpy as np

        to = self._constants
        self._generation += 1
        ranked = sorted(told, key=lambda each: each.value)
        self._values.append((ranked[0].value, ranked[-1].value))
        del self._values[: -to.generations_compared]
        turned, lengths = self._principal_axes()
        self._axes = None
        inverse_root = (turned / lengths) @ turned.T  # C^(-1/2)

        steps = (np.array([each.point for each in ranked]) - self.mean) / self.step
        mean_step = to.weights[: to.parents] @ steps[: to.parents]  # (41)
        self.mean = self.mean + self.step * mean_step  # (42)

        rate = to.rate_of_step_path
        self._path_of_step = (1.0 - rate) * self._path_of_step + math.sqrt(
            rate * (2.0 - rate) * to.effective_parents
        ) * (inverse_root @ mean_step)  # (43)
        length = float(np.linalg.norm(self._path_of_step))
        self.step *= math.exp((rate / to.damping) * (length / to.usual_length - 1.0))  # (44)

        # The covariance's path stalls while the step's is long, lest axes grow too fast.
        fresh = 1.0 - (1.0 - rate) ** (2 * (self._generation + 1))
        dimensions = len(self.mean)
        is_short = length / math.sqrt(fresh) < (1.4 + 2.0 / (dimensions + 1)) * to.usual_length
        rate = to.rate_of_path
        self._path = (1.0 - rate) * self._path
        if is_short:
            self._path += math.sqrt(rate * (2.0 - rate) * to.effective_parents) * mean_step  # (45)
        lost = 0.0 if is_short else rate * (2.0 - rate)
        sizes = np.linalg.norm(inverse_root @ steps.T, axis=0) ** 2
        scaled = dimensions / (sizes + _LEAST_EIGENVALUE)
        weights = to.weights * np.where(to.weights >= 0.0, 1.0, scaled)  # (46)
        kept = 1.0 + to.rank_one * lost - to.rank_one - to.rank_many * float(np.sum(to.weights))
        self._covariance = (
            kept * self._covariance
            + to.rank_one * np.outer(self._path, self._path)
            + to.rank_many * (steps.T * weights) @ steps
        )  # (47)

    @property
    def is_spent(self) -> bool:
        """True if nothing more is to be expected of it: section B.3's reasons to stop."""
        import numpy as np

        turned, lengths = self._principal_axes()
        variances = np.diag(self._covariance)
        lowest = min(low for low, _ in self._values)
        highest = max(high for _, high in self._values)
        place = self._generation % len(self.mean)
        within = self.step * variances < _LEAST_STEP * self._first_step
        along = self.step * self._path < _LEAST_STEP * self._first_step
        reasons = (
            self._generation > self._constants.generations_compared
            and highest - lowest < _LEAST_SPREAD_OF_VALUES,
            np.all(within) and np.all(along),
            self.step * np.max(lengths) > _MOST_STEP,
            np.any(self.mean == self.mean + 0.2 * self.step * np.sqrt(variances)),
            np.all(self.mean == self.mean + 0.1 * self.step * lengths[place] * turned[:, place]),
            np.max(lengths) / np.min(lengths) > _MOST_CONDITION,
        )
        return any(reasons)

    def _principal_axes(self) -> tuple[Array, Array]:
        """The directions of the covariance's axes, as columns, and their lengths."""
        import numpy as np

        if self._axes is None:
            symmetric = 0.5 * (self._covariance + self._covariance.T)
            squares, turned = np.linalg.eigh(symmetric)
            # Rounding may make the least of them negative.
            lengths = np.sqrt(np.where(squares < 0.0, _LEAST_EIGENVALUE, squares))
            self._covariance = (turned * lengths**2) @ turned.T
            self._axes = turned, lengths
        return self._axes


class _Constants:
    """Constants for the numbers of dimensions and points: the tutorial's table 1.

    Args:
        dimensions: of a point.
        population: points of a generation.

    Attributes:
        parents: points that move the mean.
        effective_parents: so many with equal weights would do the same.
        weights: of the points, the best first; those of the worse half are negative.
        rate_of_step_path: c_sigma.
        damping: d_sigma.
        rate_of_path: c_c.
        rank_one: c_1.
        rank_many: c_mu.
        usual_length: of a vector of so many standard normal numbers.
        generations_compared: whose values tell whether all are the same.
    """

    def __init__(self, dimensions: int, population: int) -> None:
        import numpy as np

        n, half = dimensions, population // 2
        raw = np.log((population + 1) / 2) - np.log(np.arange(1, population + 1))  # (49)
        good = float(np.sum(raw[:half]) ** 2 / np.sum(raw[:half] ** 2))
        bad = float(np.sum(raw[half:]) ** 2 / np.sum(raw[half:] ** 2))
        self.parents, self.effective_parents = half, good
        self.rank_one = 2.0 / ((n + 1.3) ** 2 + good)  # (57)
        self.rank_many = min(
            1.0 - self.rank_one - 1e-8, 2.0 * (good - 2.0 + 1.0 / good) / ((n + 2.0) ** 2 + good)
        )  # (58)
        least = min(
            1.0 + self.rank_one / self.rank_many,  # (50)
            1.0 + 2.0 * bad / (good + 2.0),  # (51)
            (1.0 - self.rank_one - self.rank_many) / (n * self.rank_many),  # (52)
        )
        positive, negative = np.sum(raw[raw > 0.0]), np.sum(-raw[raw < 0.0])
        self.weights: Array = np.where(raw >= 0.0, raw / positive, least * raw / negative)  # (53)
        self.rate_of_step_path = (good + 2.0) / (n + good + 5.0)  # (55)
        excess = max(0.0, math.sqrt((good - 1.0) / (n + 1.0)) - 1.0)
        self.damping = 1.0 + 2.0 * excess + self.rate_of_step_path
        self.rate_of_path = (4.0 + good / n) / (n + 4.0 + 2.0 * good / n)  # (56)
        self.usual_length = math.sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n**2))
        self.generations_compared = 10 + math.ceil(30.0 * n / population)


SPREAD: Final = 20
"""Number of points; compared with none, not with others (docs/laboratory/search-benchmark.md)."""

SPREAD_UP_TO: Final = 6
"""Dimensions."""

_STREAM: Final = "vermilion.search.cma-es.1"
_CENTRE_STREAM: Final = "vermilion.search.cma-es.centres.1"
_SPREAD_STREAM: Final = "vermilion.search.cma-es.spread.1"
_LEAST_POPULATION: Final = 4
_MOST_DOUBLINGS: Final = 10
_LARGEST: Final = 1e300
"""Stands for infinity, of which no differences can be taken."""


class CmaEs(Generations):
    """The covariance matrix adaptation evolution strategy, with restarts.

    Args:
        dimensions: see :class:`Search`.
        seed: see :class:`Search`.
        start_points: see :class:`Search`.
        first_step: standard deviation at the beginning of a descent, as a fraction of the range.
        stop_side: of the box within which a generation lies when a descent ends.
        population: points in a generation of the first descent; by default the tutorial's
            4 + 3 ln(dimensions), rounded down.
        spread: evenly spread points to try before the first descent; by default :data:`SPREAD` in
            up to :data:`SPREAD_UP_TO` dimensions and none in more, where so few cover nothing.
    """

    name: ClassVar[str] = "cma-es"
    summary: ClassVar[str] = "a normal distribution that adapts to the landscape (Hansen)"

    def __init__(
        self,
        dimensions: int,
        *,
        seed: int = 1,
        start_points: Iterable[Point] = (),
        first_step: float = 0.3,
        stop_side: float = 0.001,
        population: int | None = None,
        spread: int | None = None,
    ) -> None:
        super().__init__(dimensions, seed=seed, start_points=start_points)
        for setting, value in (("first_step", first_step), ("stop_side", stop_side)):
            if not 0.0 < value < 1.0:
                message = f"{setting}: {value} is not accepted; expected a number between 0 and 1"
                raise ValueError(message)
        if population is not None and population < _LEAST_POPULATION:
            message = (
                f"population: {population} is not accepted; expected at least {_LEAST_POPULATION}"
            )
            raise ValueError(message)
        if spread is not None and spread < 0:
            message = f"spread: {spread} is not accepted; expected a number of points, 0 for none"
            raise ValueError(message)
        self._settings = {
            "first_step": first_step,
            "stop_side": stop_side,
            "population": population,
            "spread": spread,
        }
        self.first_step = first_step
        self.stop_side = stop_side
        self.first_population = population or 4 + math.floor(3.0 * math.log(dimensions))
        usual = SPREAD if dimensions <= SPREAD_UP_TO else 0
        self.spread = usual if spread is None else spread
        self._descent = -1 if self.spread else 0
        self._best_spread: Told | None = None
        # The completed generations of the present descent, and what has been told all of them.
        self._history: list[Told] = []
        self._distribution: AdaptedDistribution | None = None

    def settings(self) -> dict[str, object]:
        """The constructor's further arguments, by name."""
        return dict(self._settings)

    def _size(self) -> int:
        if self._is_spreading:
            return self.spread
        return self.first_population << min(self._descent, _MOST_DOUBLINGS)

    @property
    def _is_spreading(self) -> bool:
        """True while the present generation are the spread points."""
        return self._descent < 0

    def _member(self, index: int) -> Point:
        if self._is_spreading:
            return latin_hypercube(_SPREAD_STREAM, self.spread, self.dimensions, self.seed)[index]
        distribution = self._current_distribution()
        if index == 0:
            generation = len(self._history) // self._size()
            distribution.reseed(named_seed(_STREAM, self.seed, self._descent, generation))
        return distribution.draw()

    def _close(self, told: Sequence[Told]) -> None:
        if self._is_spreading:
            self._best_spread = min(told, key=lambda each: each.value)
            self._descent = 0
            return
        distribution = self._current_distribution()
        distribution.learn(_finite(told))
        self._history.extend(told)
        if side(told) < self.stop_side or distribution.is_spent:
            self._descent += 1
            self._history = []
            self._distribution = None

    def _current_distribution(self) -> AdaptedDistribution:
        """The distribution, which knows the history."""
        if self._distribution is None:
            size = self._size()
            self._distribution = AdaptedDistribution(self._first_mean(), self.first_step, size)
            for first in range(0, len(self._history), size):
                self._distribution.learn(_finite(self._history[first : first + size]))
        return self._distribution

    def _first_mean(self) -> Point:
        if self._descent > 0:
            uniform = named_generator(_CENTRE_STREAM, self.seed, self._descent)
            return tuple(uniform.random(self.dimensions).tolist())
        known = [each for each in (self._best_start, self._best_spread) if each is not None]
        best = min(known, key=lambda each: each.value, default=None)
        if best is not None and best.value < math.inf:
            return best.point
        return (0.5,) * self.dimensions

    def _generations_memory(self) -> dict[str, object]:
        spread = [] if self._best_spread is None else [self._best_spread]
        return {
            "descent": self._descent,
            "history": told_to_json(self._history),
            "best_spread": told_to_json(spread),
        }

    def _remember_generations(self, memory: Mapping[str, Any]) -> None:
        self._descent = memory["descent"]
        self._history = told_from_json(memory["history"])
        self._best_spread = next(iter(told_from_json(memory["best_spread"])), None)
        self._distribution = None
        if self._descent < (0 if self.spread == 0 else -1):
            message = f"descent {self._descent} is not accepted; expected a number from 0"
            raise ValueError(message)
        if len(self._history) % self._size() > 0:
            message = (
                f"{len(self._history)} values in descent {self._descent} are not "
                f"accepted; expected generations of {self._size()}"
            )
            raise ValueError(message)


def _finite(told: Iterable[Told]) -> list[Told]:
    return [Told(point, min(max(value, -_LARGEST), _LARGEST)) for point, value in told]
