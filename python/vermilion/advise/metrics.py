"""Metrics of advice beside those of a link, and the one scale on which a sparse flow is judged."""

from __future__ import annotations

import math
from typing import Final

SHORT_TRANSFER: Final = "short_transfer_s"
"""How long short transfers take on average."""

CALL_DELAY: Final = "call_delay_p95_ms"
"""How long 95 % of a call's packets wait at most."""

CALL_LOSS: Final = "call_loss_rate"
"""The part of a call's packets that are lost."""

SPARSE: Final = "sparse_points"
"""Impairment of a sparse flow: a call, a game, DNS."""

_AT_THE_BOUND: Final = 10.0
_EACH_DOUBLING: Final = 10.0
_MOST: Final = 95.0
_ROBUSTNESS_PERCENT: Final = 25.1
_LONGEST_WAIT: Final = 1024.0
"""Times the bound: what waits longer is given up by whoever waits for it."""


def cost_of_loss(part: float) -> float:
    """Points that a loss of this part of the packets takes off, of 100.

    Source: ITU-T G.107 (the E-model), losses at random, with G.711 and its concealment (G.113: Ie
    0, Bpl 25.1).
    """
    return _MOST * 100.0 * part / (100.0 * part + _ROBUSTNESS_PERCENT)


def cost_of_wait(wait_ms: float, bound_ms: float) -> float:
    """Points of a wait: ten at the bound, in proportion below, ten more for each doubling above.

    Ten points are what a call pays for a loss of 3 %, a class of satisfaction. The E-model's own
    price of delay begins at 100 ms, where a game is lost: so the bound that was asked for is the
    measure.
    """
    times = min(wait_ms / bound_ms, _LONGEST_WAIT)
    return (
        _AT_THE_BOUND * times if times <= 1.0 else _AT_THE_BOUND + _EACH_DOUBLING * math.log2(times)
    )


def sparse_points(wait_ms: float | None, lost: float | None, bound_ms: float) -> float:
    """Impairment of a sparse flow: 0 for none, the most for one that gets nothing through."""
    part = 1.0 if lost is None else lost
    wait = math.inf if wait_ms is None else wait_ms
    return cost_of_wait(wait, bound_ms) + cost_of_loss(part)
