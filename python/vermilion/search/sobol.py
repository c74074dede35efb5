"""Sobol' points: as uniform as random ones, without their gaps and clusters.

A low-discrepancy sequence (I. M. Sobol', USSR Computational Mathematics and Mathematical
Physics 7, 1967; direction numbers of S. Joe and F. Y. Kuo, SIAM J. Sci. Comput. 30, 2008),
scrambled by the seed (J. Matousek's random linear scramble with a digital shift). The points
and the scrambling are SciPy's. Like random search it learns nothing from values; it covers
the box more evenly while there are many points for its dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from vermilion.search.interface import Search
from vermilion.search.uniform_points import named_generator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scipy.stats.qmc import Sobol

    from vermilion.search.uniform_points import Point

_STREAM: Final = "vermilion.search.sobol.1"


class SobolSearch(Search):
    """The points of a scrambled Sobol' sequence."""

    name: ClassVar[str] = "sobol"
    summary: ClassVar[str] = "evenly spread points (a scrambled Sobol' sequence)"

    def __init__(
        self, dimensions: int, *, seed: int = 1, start_points: Iterable[Point] = ()
    ) -> None:
        super().__init__(dimensions, seed=seed, start_points=start_points)
        self._proposed = 0
        self._sequence: Sobol | None = None

    def _propose(self) -> Point:
        if self._sequence is None:
            from scipy.stats.qmc import Sobol

            self._sequence = Sobol(self.dimensions, rng=named_generator(_STREAM, self.seed))
            if self._proposed > 0:
                self._sequence.fast_forward(self._proposed)
        self._proposed += 1
        return tuple(self._sequence.random(1)[0].tolist())

    def _learn(self, point: Point, value: float) -> bool:  # noqa: ARG002 - this search learns nothing
        return False

    def _memory(self) -> dict[str, object]:
        return {"proposed": self._proposed}

    def _remember(self, memory: Mapping[str, Any]) -> None:
        self._proposed = memory["proposed"]
        self._sequence = None
