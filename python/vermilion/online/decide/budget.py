"""How often a router may be changed.

Every change costs: a human reads about it, some routers flush their queue, and what was learned of
the setting before is of no more use. So changes are counted, and beyond the operator's budget the
next one waits. A setting that proved to be bad is taken back at any time.

Who spends a whole budget at once has nothing left for what comes next, and a setting that nobody
could judge may then stand for most of a minute. So half of the budget is there at once. The rest is
spread evenly over the time until the first of the changes counts no more, and never closer than if
all were spread evenly.
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
        changes_s: when the last one was made and those of the minute before it, ascending.
    """

    per_minute: int
    changes_s: tuple[float, ...] = ()

    def spent(self, now_s: float) -> ChangeBudget:
        """The budget after a change now."""
        return replace(self, changes_s=(*self._lately(now_s), now_s))

    def made(self, now_s: float) -> int:
        """How many changes the last minute had."""
        return len(self._lately(now_s))

    def allows(self, now_s: float, *, at_once: bool = False) -> bool:
        """Whether one more change may be made now.

        Args:
            now_s: when.
            at_once: whether all that is left may be spent: not on trying something, but on what
                is known to do no harm.
        """
        return self.next_s(now_s, at_once=at_once) <= now_s

    def next_s(self, now_s: float, *, at_once: bool = False) -> float:
        """From when on one more change may be made: now, where it may be made at once.

        Args:
            now_s: when it is asked.
            at_once: as of :meth:`allows`.
        """
        if not self.per_minute:
            return float("inf")
        used = len(self.changes_s)
        left = self.per_minute - used
        free_s = self.changes_s[-self.per_minute] + _MINUTE_S if left <= 0 else now_s
        if at_once or not used or 2 * (used + 1) <= self.per_minute:
            return max(now_s, free_s)
        first_s, last_s = self.changes_s[0], self.changes_s[-1]
        evenly_s = (first_s + _MINUTE_S - last_s) / (max(left, 0) + 1)
        return max(now_s, free_s, last_s + max(evenly_s, _MINUTE_S / self.per_minute))

    def _lately(self, now_s: float) -> tuple[float, ...]:
        return tuple(time_s for time_s in self.changes_s if time_s > now_s - _MINUTE_S)
