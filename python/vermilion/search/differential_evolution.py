"""Differential evolution: a population whose own differences are the steps it takes.

R. Storn and K. Price, "Differential evolution: a simple and efficient heuristic for global
optimization over continuous spaces", Journal of Global Optimization 11, 1997, in its variant
DE/rand/1/bin: for each member, a mutant is made of three others, a + F (b - c); the rival takes
each coordinate from the mutant with probability CR, one of them in any case, and the others from
the member; and it takes the member's place if it is not worse.

Where the paper leaves a choice:

- F is drawn anew for each mutant from 0.5 to 1, the range that the paper recommends ("dither" in
  K. Price, R. Storn and J. Lampinen, "Differential Evolution", Springer 2005). With a fixed F a
  small population can make only so many mutants, and simulates some of them twice.
- CR = 0.9; five members for each dimension, the lower end of what the paper recommends, since
  simulations are few; at least eight.
- A coordinate of a mutant outside the box is drawn anew between ``a`` and the bound that it has
  crossed ("bounce-back" in the same book).
- The better start points are members of the first population, up to half of it; the rest is
  uniform.
- When the population has shrunk into a box of side ``stop_side``, a new one is drawn.

A member keeps the value that it was given, so under noise the lucky ones stay.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vermilion.search.generations import Generations, Told, side, told_from_json, told_to_json
from vermilion.search.uniform_points import named_generator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.search.uniform_points import Point

_STREAM: Final = "vermilion.search.differential-evolution.1"
_LEAST_POPULATION: Final = 4
_MEMBERS_PER_DIMENSION: Final = 5


class DifferentialEvolution(Generations):
    """Differential evolution, DE/rand/1/bin.

    Args:
        dimensions: see :class:`Search`.
        seed: see :class:`Search`.
        start_points: see :class:`Search`.
        population: members; by default five for each dimension, and at least eight.
        least_weight: the least F, by which a difference of two members is multiplied.
        most_weight: the largest.
        crossover_probability: CR, with which a coordinate comes from the mutant.
        stop_side: of the box within which the population lies when a new one is drawn.
    """

    name: ClassVar[str] = "differential-evolution"
    summary: ClassVar[str] = "a population moved by its own differences (Storn and Price)"

    def __init__(
        self,
        dimensions: int,
        *,
        seed: int = 1,
        start_points: Iterable[Point] = (),
        population: int | None = None,
        least_weight: float = 0.5,
        most_weight: float = 1.0,
        crossover_probability: float = 0.9,
        stop_side: float = 0.001,
    ) -> None:
        super().__init__(dimensions, seed=seed, start_points=start_points)
        ranges = {
            "population": (population or _LEAST_POPULATION, _LEAST_POPULATION, 10**6),
            "least_weight": (least_weight, 0.0, 2.0),
            "most_weight": (most_weight, least_weight, 2.0),
            "crossover_probability": (crossover_probability, 0.0, 1.0),
            "stop_side": (stop_side, 0.0, 1.0),
        }
        for setting, (value, lower, upper) in ranges.items():
            if not lower <= value <= upper:
                message = (
                    f"{setting}: {value} is not accepted; "
                    f"expected a number from {lower:g} to {upper:g}"
                )
                raise ValueError(message)
        self._settings = {
            "population": population,
            "least_weight": least_weight,
            "most_weight": most_weight,
            "crossover_probability": crossover_probability,
            "stop_side": stop_side,
        }
        self.population = population or max(8, _MEMBERS_PER_DIMENSION * dimensions)
        self.least_weight = least_weight
        self.most_weight = most_weight
        self.crossover_probability = crossover_probability
        self.stop_side = stop_side
        self._generation = 0
        # Members that have a value: at first the start points, later the whole population.
        self._members: list[Told] = []
        self._grown = False

    def settings(self) -> dict[str, object]:
        """The constructor's further arguments, by name."""
        return dict(self._settings)

    def _size(self) -> int:
        return self.population if self._grown else self.population - len(self._founders())

    def _learn_start(self, point: Point, value: float) -> None:
        self._members.append(Told(point, value))

    def _member(self, index: int) -> Point:
        numbers = named_generator(_STREAM, self.seed, self._generation, index)
        if not self._grown:
            return tuple(numbers.random(self.dimensions).tolist())
        own = self._members[index].point
        others = numbers.permutation(self.population - 1)[:3].tolist()
        a, b, c = (self._members[other + (other >= index)].point for other in others)
        weight = self.least_weight + (self.most_weight - self.least_weight) * numbers.random()
        forced = int(numbers.integers(self.dimensions))
        chances = numbers.random(self.dimensions).tolist()
        bounces = numbers.random(self.dimensions).tolist()
        return tuple(
            _in_the_box(a[axis], weight * (b[axis] - c[axis]), bounces[axis])
            if axis == forced or chances[axis] < self.crossover_probability
            else own[axis]
            for axis in range(self.dimensions)
        )

    def _close(self, told: Sequence[Told]) -> None:
        self._generation += 1
        if self._grown:
            self._members = [
                rival if rival.value <= member.value else member
                for member, rival in zip(self._members, told, strict=True)
            ]
        else:
            self._members = [*self._founders(), *told]
            self._grown = True
        if side(self._members) < self.stop_side:
            self._members = []
            self._grown = False

    def _founders(self) -> list[Told]:
        """The start points that are members of the first population."""
        return sorted(self._members, key=attrgetter("value"))[: self.population // 2]

    def _generations_memory(self) -> dict[str, object]:
        return {
            "generation": self._generation,
            "members": told_to_json(self._members),
            "grown": self._grown,
        }

    def _remember_generations(self, memory: Mapping[str, Any]) -> None:
        self._generation = memory["generation"]
        self._members = told_from_json(memory["members"])
        self._grown = memory["grown"]
        if self._grown and len(self._members) != self.population:
            message = (
                f"a population of {len(self._members)} is not accepted; expected {self.population}"
            )
            raise ValueError(message)


def _in_the_box(base: float, step: float, bounce: float) -> float:
    """A coordinate of a mutant: the base and the step, or between the base and the bound."""
    x = base + step
    if x < 0.0:
        return bounce * base
    if x > 1.0:
        return 1.0 - bounce * (1.0 - base)
    return x
