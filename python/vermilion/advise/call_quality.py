"""What a call's losses and its wait cost, on one scale: that of ITU-T G.107, the E-model.

The scale R goes from 0 to 100, and what is taken off it adds up. So it says whether a shorter wait
is worth the packets that it costs. Of the E-model this has two parts, with its defaults and the
codec G.711 with its concealment of losses (G.113: Ie 0, Bpl 25.1); echo and noise stay as they are.
Its curve of the delay is for less than half a second. By G.114 no network should be planned with
more than 400 ms.
"""

from __future__ import annotations

import math
from typing import Final

LONGEST_WAIT_MS: Final = 400.0
"""From mouth to ear, by G.114: who waits longer has no call to lose."""

_MOST: Final = 95.0
_ROBUSTNESS_PERCENT: Final = 25.1
_UNNOTICED_MS: Final = 100.0
_SHARPNESS: Final = 6.0


def cost_of_loss(part: float) -> float:
    """Points that a loss of this part of the packets takes off (Ie-eff, losses at random)."""
    return _MOST * 100.0 * part / (100.0 * part + _ROBUSTNESS_PERCENT)


def cost_of_wait(one_way_ms: float) -> float:
    """Points that a delay from mouth to ear takes off (Idd); none up to 100 ms."""
    if one_way_ms <= _UNNOTICED_MS:
        return 0.0
    doublings = math.log2(one_way_ms / _UNNOTICED_MS)

    def bent(value: float) -> float:
        return float((1.0 + value**_SHARPNESS) ** (1.0 / _SHARPNESS))

    return 25.0 * (bent(doublings) - 3.0 * bent(doublings / 3.0) + 2.0)
