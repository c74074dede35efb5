"""Which of the operator's bounds are said to be broken: a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class BoundsWatch:
    """Which bounds are said to be broken; a value.

    Attributes:
        since_s: from when on measurements count.
        looked_s: when the bounds were last looked at.
        said: the text of each bound said to be broken, and when it last was.
    """

    since_s: float = 0.0
    looked_s: float = 0.0
    said: tuple[tuple[str, float], ...] = ()

    def knows(self, bound: str) -> bool:
        """Whether a bound is said to be broken."""
        return any(text == bound for text, _ in self.said)

    def with_broken(self, bounds: Iterable[str], now_s: float) -> BoundsWatch:
        """With these said to be broken now."""
        broken = dict.fromkeys(bounds, now_s)
        return replace(self, said=tuple({**dict(self.said), **broken}.items()))

    def without_old(self, time_s: float) -> BoundsWatch:
        """Without what has been kept since then."""
        return replace(self, said=tuple(each for each in self.said if each[1] >= time_s))
