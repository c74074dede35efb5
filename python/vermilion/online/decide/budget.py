"""How often a router may be changed.

Every change costs: a human reads about it, some routers flush their queue, and what was learned of
the setting before is of no more use. So changes are counted, and beyond the operator's budget the
next one waits. A setting that proved to be bad is taken back at any time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class ChangeBudget:
    """The changes of the last minute.

    A value: every change makes the next one.

    Attributes:
        per_minute: how many are allowed.
        changes_s: when the last ones were made, ascending.
    """

    per_minute: int
    changes_s: tuple[float, ...] = ()

    def spent(self, now_s: float) -> ChangeBudget:
        """The budget after a change now."""
        return replace(self, changes_s=(*self._lately(now_s), now_s))

    def allows(self, now_s: float) -> bool:
        """Whether one more change may be made now."""
        return len(self._lately(now_s)) < self.per_minute

    def next_s(self, now_s: float) -> float:
        """From when on one more change may be made: now, where it may be made at once."""
        lately = self._lately(now_s)
        if len(lately) < self.per_minute:
            return now_s
        return (
            lately[len(lately) - self.per_minute] + _MINUTE_S if self.per_minute else float("inf")
        )

    def _lately(self, now_s: float) -> tuple[float, ...]:
        return tuple(time_s for time_s in self.changes_s if time_s > now_s - _MINUTE_S)
