"""Base of searches that go from one batch of points to the next.

The points of a batch, a generation, depend on the generations before it and not on each
other. So they can all be evaluated at a time, and the next ones are not known before the
last value of the present ones is. The start points' values come before the first generation.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from vermilion.search.interface import Search, number_from_json, number_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.search.uniform_points import Point


class Told(NamedTuple):
    """A point and its value."""

    point: Point
    value: float


class Generations(Search):
    """A search by generations.

    To write one, implement ``_size``, ``_member``, ``_close``, ``_generations_memory`` and
    ``_remember_generations``.

    Args:
        dimensions: see :class:`Search`.
        seed: see :class:`Search`.
        start_points: see :class:`Search`.
    """

    def __init__(
        self, dimensions: int, *, seed: int = 1, start_points: Iterable[Point] = ()
    ) -> None:
        super().__init__(dimensions, seed=seed, start_points=start_points)
        self._proposed = 0
        self._told: list[Told] = []

    @abstractmethod
    def _size(self) -> int:
        """Points in the present generation."""

    @abstractmethod
    def _member(self, index: int) -> Point:
        """A point of the present generation; asked for in order, each once."""

    @abstractmethod
    def _close(self, told: Sequence[Told]) -> None:
        """Goes on to the next generation.

        Args:
            told: the present one, in order.
        """

    @abstractmethod
    def _generations_memory(self) -> dict[str, object]:
        """Memory of earlier generations, for JSON."""

    @abstractmethod
    def _remember_generations(self, memory: Mapping[str, Any]) -> None:
        """Takes back what ``_generations_memory`` gave."""

    def independent(self) -> int:
        """Rest of the present generation, or of the start points."""
        starts = len(self._start_points) - self._starts_given
        return starts or (self._size() - self._proposed if self._are_starts_evaluated else 0)

    def _propose(self) -> Point | None:
        if not self._are_starts_evaluated or self._proposed == self._size():
            return None
        point = self._member(self._proposed)
        self._proposed += 1
        return point

    def _learn(self, point: Point, value: float) -> bool:
        self._told.append(Told(point, value))
        if len(self._told) == self._size():
            told = self._told
            self._told, self._proposed = [], 0
            self._close(told)
        return False

    def _memory(self) -> dict[str, object]:
        return {
            "proposed": self._proposed,
            "told": told_to_json(self._told),
            **self._generations_memory(),
        }

    def _remember(self, memory: Mapping[str, Any]) -> None:
        self._remember_generations(memory)
        told, proposed = told_from_json(memory["told"]), memory["proposed"]
        if not len(told) <= proposed <= self._size():
            message = (
                f"{proposed} points and {len(told)} values of a generation are not "
                f"accepted; expected at most {self._size()} points, and a point for each "
                "value"
            )
            raise ValueError(message)
        self._told, self._proposed = told, proposed
        for index in range(proposed):
            # Random numbers are drawn one after the other: those that follow are the next ones.
            self._member(index)


def told_to_json(told: Iterable[Told]) -> list[list[Any]]:
    """Points with their values, for JSON."""
    return [[list(point), number_to_json(value)] for point, value in told]


def told_from_json(entries: Iterable[Sequence[Any]]) -> list[Told]:
    """The inverse of :func:`told_to_json`."""
    return [
        Told(tuple(float(x) for x in point), number_from_json(value)) for point, value in entries
    ]


def side(told: Iterable[Told]) -> float:
    """The longest side of the box that points span, as a fraction of the range."""
    points = [each.point for each in told]
    axes = [[point[axis] for point in points] for axis in range(len(points[0]))]
    return max(max(axis) - min(axis) for axis in axes)
