"""How many of the flows a monitor looks at, so that it keeps up with them.

Pure: a value and what becomes of it. Where the ring has lost packets, half as many flows are looked
at from then on; after a while in which it was hardly filled, twice as many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from vermilion.monitor.packet_filter import MOST_LEFT_OUT

QUIET_S: Final = 10.0
"""So long the ring is to be nearly empty before more flows are looked at."""

_FULL: Final = 0.5  # of the ring: it is about to lose packets
_NEARLY_EMPTY: Final = 0.1


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which share of the flows is looked at.

    Attributes:
        one_in: one flow in so many.
        quiet_since_s: since when the ring has been nearly empty.
    """

    one_in: int = 1
    quiet_since_s: float | None = None

    def after(self, now_s: float, lost: int, filled: float) -> Sampling:
        """After the ring was emptied.

        Args:
            now_s: when, seconds of any clock that is never set back.
            lost: packets that it had no room for since it was emptied before.
            filled: which share of it was full.
        """
        if lost > 0 or filled > _FULL:
            return Sampling(min(self.one_in * 2, MOST_LEFT_OUT))
        if self.one_in == 1 or filled > _NEARLY_EMPTY:
            return replace(self, quiet_since_s=None)
        if self.quiet_since_s is None:
            return replace(self, quiet_since_s=now_s)
        if now_s - self.quiet_since_s < QUIET_S:
            return self
        return Sampling(self.one_in // 2)
