"""Published distributions of transfer sizes, linear between their points."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Points = tuple[tuple[float, float], ...]
"""Bytes, and the part of transfers that have no more."""

_PERCENT: Final[Mapping[str, Sequence[tuple[float, float]]]] = {
    "websearch": (
        (0, 0), (10_000, 15), (20_000, 20), (30_000, 30), (50_000, 40), (80_000, 53),
        (200_000, 60), (1_000_000, 70), (2_000_000, 80), (5_000_000, 90), (10_000_000, 97),
        (30_000_000, 100),
    ),
    "hadoop": (
        (0, 0), (100, 1), (200, 2), (300, 5), (350, 15), (400, 20), (500, 30), (600, 40),
        (700, 50), (1000, 60), (2000, 67), (7000, 70), (30_000, 72), (50_000, 82), (80_000, 87),
        (120_000, 90), (300_000, 95), (1_000_000, 97.5), (2_000_000, 99), (10_000_000, 100),
    ),
    "alistorage": (
        (0, 0), (4000, 22.93), (8000, 69.21), (16_000, 80.61), (32_000, 90.47), (64_000, 93.53),
        (128_000, 96.77), (256_000, 97.53), (2_000_000, 100),
    ),
}  # fmt: skip
"""As they come with the simulator of HPCC's authors (Li et al., SIGCOMM 2019)."""


def size_distributions() -> dict[str, Points]:
    """Every published distribution, by its name."""
    return {
        name: tuple((float(size), part / 100) for size, part in points)
        for name, points in _PERCENT.items()
    }


def mean_size(points: Sequence[tuple[float, float]]) -> float:
    """The mean of a distribution in bytes."""
    return sum((low + high) / 2 * (upto - above) for (low, above), (high, upto) in pairwise(points))
