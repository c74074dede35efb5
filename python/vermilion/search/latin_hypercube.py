"""Evenly spread points: on each axis every part of the range has one of them.

M. D. McKay, R. J. Beckman, W. J. Conover, "A comparison of three methods for selecting values of
input variables in the analysis of output from a computer code", Technometrics 21(2), 1979.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.search.uniform_points import named_generator

if TYPE_CHECKING:
    from vermilion.search.uniform_points import Point


def latin_hypercube(stream: str, count: int, dimensions: int, seed: int) -> list[Point]:
    """So many points of the unit cube.

    Args:
        stream: name and version of the random numbers.
        count: how many points, and how many parts each axis has.
        dimensions: coordinates of a point.
        seed: of the search.
    """
    import numpy as np

    generator = named_generator(stream, seed)
    parts = generator.permuted(np.tile(np.arange(count), (dimensions, 1)), axis=1).T
    within = generator.random((count, dimensions))
    return [tuple(row) for row in ((parts + within) / count).tolist()]
