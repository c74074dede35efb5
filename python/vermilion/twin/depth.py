"""How deep a plain queue has to be for a twin to wait as long as its capture did.

Found by simulation: the mean wait grows with the depth, so halving an interval finds it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_SHALLOWEST: Final = 2
_HALVINGS: Final = 9


def fitting_depth(wait_ms: float, deepest: int, mean_wait_ms: Callable[[int], float]) -> int:
    """The depth, in packets, whose mean wait comes nearest.

    Args:
        wait_ms: the capture's.
        deepest: the most that may be tried.
        mean_wait_ms: simulates a depth.
    """
    low, high = _SHALLOWEST, max(_SHALLOWEST, deepest)
    tried: dict[int, float] = {}

    def miss(depth: int) -> float:
        if depth not in tried:
            tried[depth] = mean_wait_ms(depth)
        return tried[depth] - wait_ms

    for _ in range(_HALVINGS):
        if high - low <= 1:
            break
        middle = round(math.sqrt(low * high))
        if middle in {low, high}:
            middle = (low + high) // 2
        if miss(middle) < 0.0:
            low = middle
        else:
            high = middle
    return min((low, high), key=lambda depth: (abs(miss(depth)), depth))
