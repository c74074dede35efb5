"""How many flows are starved: what an average over flows, or Jain's index, does not show.

Jain's index hardly moves when a few flows of many get nothing: of 64 flows, 60 with equal shares
and 4 with none have an index of 0.94. So those are counted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

STARVED_SHARE: Final = 0.05
"""Goodput per mean goodput of all flows below which a flow is starved."""


def starved_flows(goodputs: Sequence[float]) -> int:
    """How many flows get less than :data:`STARVED_SHARE` of the mean goodput of all of them.

    None are where none of them gets anything: then it is not the others who keep them from it.

    Args:
        goodputs: of each flow, in any one unit.
    """
    if not goodputs:
        return 0
    least = STARVED_SHARE * math.fsum(goodputs) / len(goodputs)
    return sum(goodput < least for goodput in goodputs)
