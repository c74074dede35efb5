"""CMA-ES: a normal distribution that moves, grows, shrinks and turns towards better points.

The covariance matrix adaptation evolution strategy (N. Hansen, "The CMA evolution strategy: a
tutorial", arXiv:1604.00772); what it learns of a generation is in
:mod:`vermilion.search.adapted_distribution`. It uses the order of a generation's values and not the
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

from vermilion.search.adapted_distribution import AdaptedDistribution
from vermilion.search.generations import Generations, Told, side, told_from_json, told_to_json
from vermilion.search.latin_hypercube import latin_hypercube
from vermilion.search.uniform_points import named_generator, named_seed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.search.uniform_points import Point

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
        """Whether the present generation are the spread points."""
        return self._descent < 0

    def _member(self, index: int) -> Point:
        if self._is_spreading:
            return latin_hypercube(_SPREAD_STREAM, self.spread, self.dimensions, self.seed)[index]
        distribution = self._up_to_date()
        if index == 0:
            generation = len(self._history) // self._size()
            distribution.reseed(named_seed(_STREAM, self.seed, self._descent, generation))
        return distribution.draw()

    def _close(self, told: Sequence[Told]) -> None:
        if self._is_spreading:
            self._best_spread = min(told, key=lambda each: each.value)
            self._descent = 0
            return
        distribution = self._up_to_date()
        distribution.learn(_finite(told))
        self._history.extend(told)
        if side(told) < self.stop_side or distribution.is_spent:
            self._descent += 1
            self._history = []
            self._distribution = None

    def _up_to_date(self) -> AdaptedDistribution:
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
                f"{len(self._history)} values in descent {self._descent} are not accepted; "
                f"expected whole generations of {self._size()}"
            )
            raise ValueError(message)


def _finite(told: Iterable[Told]) -> list[Told]:
    return [Told(point, min(max(value, -_LARGEST), _LARGEST)) for point, value in told]
