"""Pure random search: uniform points, the best of them wins.

The baseline of every other search. After k points the best of them lies in the best
fraction r of the box with probability 1 - (1 - r)^k, whatever the function and however many
of its parameters do not matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from vermilion.search.interface import Search

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.search.uniform_points import Point


class RandomSearch(Search):
    """Uniform points of the cube."""

    name: ClassVar[str] = "random-search"
    summary: ClassVar[str] = "uniform points; the baseline of the others"

    def __init__(
        self, dimensions: int, *, seed: int = 1, start_points: Iterable[Point] = ()
    ) -> None:
        super().__init__(dimensions, seed=seed, start_points=start_points)
        self._proposed = 0

    def _propose(self) -> Point:
        point = self._uniform.point(self._proposed)
        self._proposed += 1
        self._uniform.release(self._proposed)
        return point

    def _learn(self, point: Point, value: float) -> bool:  # noqa: ARG002 - this search learns nothing
        return False

    def _memory(self) -> dict[str, object]:
        return {"proposed": self._proposed}

    def _remember(self, memory: Mapping[str, Any]) -> None:
        self._proposed = memory["proposed"]
