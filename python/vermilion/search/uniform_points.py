"""Uniform points of the unit cube from a named random stream, addressed by their number.

Point ``k`` is a function of the stream's seed, its name and ``k`` alone. A search that has to
take back points it had proposed can therefore propose others in their places and still use
the same random numbers for its ``k``-th step as if it had never looked ahead.

Evenly spread points: on each axis every part of the range has one of them.

M. D. McKay, R. J. Beckman, W. J. Conover, "A comparison of three methods for selecting values of
input variables in the analysis of output from a computer code", Technometrics 21(2), 1979.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

Point = tuple[float, ...]
"""A point of the unit cube: one number in [0, 1] per dimension."""

STREAM: Final = "vermilion.search.points.1"
"""Name and version of the stream; another purpose or another rule takes another name."""


class UniformPoints:
    """The points drawn uniformly from the unit cube for one search.

    Attributes:
        dimensions: coordinates of a point.
    """

    def __init__(self, dimensions: int, seed: int) -> None:
        self.dimensions = dimensions
        self._generator = named_generator(STREAM, seed)
        self._first = 0
        self._drawn: deque[Point] = deque()

    def point(self, number: int) -> Point:
        """The point of this number, from 0; numbers already released are gone."""
        if number < self._first:
            message = f"point {number} has been released; the first one left is {self._first}"
            raise IndexError(message)
        while number >= self._first + len(self._drawn):
            self._drawn.append(tuple(self._generator.random(self.dimensions).tolist()))
        return self._drawn[number - self._first]

    def release(self, number: int) -> None:
        """Forgets the points before this number, which will not be needed again."""
        while self._first < number:
            self.point(self._first)
            self._drawn.popleft()
            self._first += 1

    def state(self) -> dict[str, object]:
        """State that continues this stream exactly, for JSON."""
        numbers = self._generator.bit_generator.state
        return {
            "stream": STREAM,
            # 128-bit integers, as text because most JSON readers would round them.
            "generator": {
                **numbers,
                "state": {name: str(value) for name, value in numbers["state"].items()},
            },
            "first": self._first,
            "drawn": [list(point) for point in self._drawn],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues where :meth:`state` was taken."""
        if state["stream"] != STREAM:
            message = f"random stream {state['stream']!r} is not accepted; expected {STREAM!r}"
            raise ValueError(message)
        generator = state["generator"]
        self._generator.bit_generator.state = {
            **generator,
            "state": {name: int(value) for name, value in generator["state"].items()},
        }
        self._first = state["first"]
        self._drawn = deque(tuple(point) for point in state["drawn"])


def named_generator(stream: str, *numbers: int) -> np.random.Generator:
    """PCG64 seeded by numbers and a stream's name, so that two purposes never share numbers.

    Args:
        stream: its name and version.
        numbers: the search's seed, and where in the search this is, from 0 up.
    """
    import numpy as np

    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence([*numbers, *stream.encode()]))
    )


def named_seed(stream: str, *numbers: int) -> int:
    """32 bits for generators of others that take no more, from the same names and numbers."""
    return int(named_generator(stream, *numbers).integers(2**32))


def latin_hypercube(stream: str, count: int, dimensions: int, seed: int) -> list[Point]:
    """Return so many points of the unit cube.

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
