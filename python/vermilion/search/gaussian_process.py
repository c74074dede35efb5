"""Bayesian optimisation: fits a surface to all values, and tries where it may be lowest.

D. R. Jones, M. Schonlau, W. J. Welch, "Efficient global optimization of expensive black-box
functions", Journal of Global Optimization 13, 1998. Each point takes a few milliseconds of thought.
So it is for simulations that take longer, or for budgets of some dozens of settings.

It begins with the start points and ``spread`` evenly spread ones. From then on it fits a surface
with noise to what is known and tries what promises most (:mod:`vermilion.search.fitted_surface`).
The fit is made anew when there are 15 % more values.

Where the sources leave a choice:

- ``at_once`` points are chosen on the same knowledge. What it finds depends on that, and not on how
  many points are asked for at a time.
- Of more than 240 values it keeps the better half and the later half.

State: what was told and is kept, and the last fit. The random numbers of a batch depend on the seed
and the batch's number alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vermilion.search.generations import Generations, Told, told_from_json, told_to_json
from vermilion.search.uniform_points import latin_hypercube, named_generator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.search.uniform_points import Point

SPREAD: Final = 14
"""How many points in up to five dimensions; with 8 it missed a valley of CoDel's now and then."""

_STREAM: Final = "vermilion.search.gaussian-process.1"
_SPREAD_STREAM: Final = "vermilion.search.gaussian-process.spread.1"
_KEPT: Final = 240
_FIT_AGAIN: Final = 1.15


class GaussianProcess(Generations):
    """Bayesian optimisation by a Gaussian process.

    Args:
        dimensions: see :class:`Search`.
        seed: see :class:`Search`.
        start_points: see :class:`Search`.
        at_once: points chosen on the same knowledge.
        spread: evenly spread points before the first surface; by default :data:`SPREAD`, and in
            more than five dimensions 4 and two for each.
    """

    name: ClassVar[str] = "gaussian-process"
    summary: ClassVar[str] = "fits a surface to all values, and tries its lowest points"

    def __init__(
        self,
        dimensions: int,
        *,
        seed: int = 1,
        start_points: Iterable[Point] = (),
        at_once: int = 2,
        spread: int | None = None,
    ) -> None:
        super().__init__(dimensions, seed=seed, start_points=start_points)
        for setting, value in (("at_once", at_once), ("spread", spread)):
            if value is not None and value < 1:
                message = f"{setting}: {value} is not accepted; expected at least 1"
                raise ValueError(message)
        self._settings = {"at_once": at_once, "spread": spread}
        self.at_once = at_once
        self.spread = max(SPREAD, 4 + 2 * dimensions) if spread is None else spread
        self._batch = 0
        self._known: list[Told] = []
        self._told_count = 0
        # How many values the last fit had, and the numbers of the shape it found.
        self._fitted_count = 0
        self._shape: list[float] | None = None
        self._next: list[Point] | None = None

    def settings(self) -> dict[str, object]:
        """The constructor's further arguments, by name."""
        return dict(self._settings)

    def _size(self) -> int:
        return self.at_once if self._batch else self.spread

    def _learn_start(self, point: Point, value: float) -> None:
        self._add_evaluations([Told(point, value)])

    def _member(self, index: int) -> Point:
        if self._batch == 0:
            return latin_hypercube(_SPREAD_STREAM, self.spread, self.dimensions, self.seed)[index]
        if self._next is None:
            self._next = self._next_batch()
        return self._next[index]

    def _close(self, told: Sequence[Told]) -> None:
        self._add_evaluations(told)
        self._batch += 1
        self._next = None

    def _add_evaluations(self, told: Sequence[Told]) -> None:
        self._told_count += len(told)
        self._known.extend(told)
        if len(self._known) > _KEPT:
            later = len(self._known) - _KEPT // 2
            ranked = sorted(range(len(self._known)), key=lambda place: self._known[place].value)
            kept = {*ranked[: _KEPT // 2], *range(later, len(self._known))}
            self._known = [self._known[place] for place in sorted(kept)]

    def _next_batch(self) -> list[Point]:
        """The next batch; uniform points while nothing has worked."""
        draw = named_generator(_STREAM, self.seed, self._batch)
        if all(value == math.inf for _, value in self._known):
            uniform = draw.random((self.at_once, self.dimensions))
            return [tuple(row) for row in uniform.tolist()]
        import numpy as np

        from vermilion.search.fitted_surface import (
            FittedSurface,
            Shape,
            comparable,
            fitted,
            promising_points,
            single_thread,
        )

        points = np.array([point for point, _ in self._known])
        values = comparable(np.array([value for _, value in self._known]))
        with single_thread():
            if self._shape is None or self._told_count >= _FIT_AGAIN * self._fitted_count:
                last = self._shape
                start = Shape.of_numbers(last) if last else Shape.believed(self.dimensions)
                self._shape = fitted(points, values, start).numbers()
                self._fitted_count = self._told_count
            surface = FittedSurface(points, values, Shape.of_numbers(self._shape))
            return promising_points(surface, points, self.at_once, draw)

    def _generations_memory(self) -> dict[str, object]:
        return {
            "batch": self._batch,
            "known": told_to_json(self._known),
            "told_count": self._told_count,
            "fitted_count": self._fitted_count,
            "shape": self._shape,
        }

    def _remember_generations(self, memory: Mapping[str, Any]) -> None:
        self._batch = memory["batch"]
        self._known = told_from_json(memory["known"])
        self._told_count = memory["told_count"]
        self._fitted_count = memory["fitted_count"]
        self._shape = memory["shape"]
        self._next = None
        numbers = self.dimensions + 2
        if self._shape is not None and len(self._shape) != numbers:
            message = f"shape {self._shape} is not accepted; expected {numbers} numbers"
            raise ValueError(message)
        for point, _ in self._known:
            if len(point) != self.dimensions:
                message = f"point {point} is not accepted; expected {self.dimensions} numbers"
                raise ValueError(message)
