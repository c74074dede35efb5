"""What the controller says of itself: decisions and settings, told, kept and written down.

A journal that cannot be written (a full disk) does not end the controller: what is lost is counted
and said once. But nothing is done to a router that could not be written down before, except to take
something back: what stood before the first change was written down before that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.entries import Decision, SettingInForce
from vermilion.online.kinds import DecisionKind
from vermilion.online.record.journal import JournalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.online.effects import Apply
    from vermilion.online.entries import Entry
    from vermilion.online.events import Done, Lost, Refused
    from vermilion.online.record.journal import Journal


class Log:
    """Every decision with its reason, and every setting, in order of time.

    Attributes:
        decisions: all so far.
        settings: all so far.
        lost: entries that could not be written down.
        obstacle: why not, the last time.
    """

    def __init__(
        self, journal: Journal, on_event: Callable[[Decision], object] | None = None
    ) -> None:
        """Args: where everything is written down, and who is told of decisions."""
        self.decisions: list[Decision] = []
        self.settings: list[SettingInForce] = []
        self.lost = 0
        self.obstacle = ""
        self._journal = journal
        self._on_event = on_event

    def keep(self, entry: Entry) -> None:
        """Enter anything."""
        self._write(lambda: self._journal.keep(entry))
        if isinstance(entry, SettingInForce):
            self.settings.append(entry)
        elif isinstance(entry, Decision):
            self.decisions.append(entry)
            if self._on_event is not None:
                self._on_event(entry)

    def left_out(self, now_s: float, trouble: str) -> None:
        """Enter that something which earlier runs have learned makes no sense."""
        reason = (
            f"the journal has conditions met before that make no sense ({trouble}); they are left "
            "out, and searched again when they come back"
        )
        self.keep(Decision(now_s, DecisionKind.UNREADABLE, reason, {}))

    def intend(self, now_s: float, effect: Apply) -> None:
        """Enter a change of the router, before it is made.

        Raises:
            JournalError: it cannot be written down.
        """
        self._journal.intend(now_s, effect)

    def intend_anyway(self, now_s: float, effect: Apply) -> str:
        """Enter a change that is made in any case; why it cannot be written, "" if it can."""
        lost = self.lost
        self._write(lambda: self._journal.intend(now_s, effect))
        return self.obstacle if self.lost > lost else ""

    def answered(self, now_s: float, answer: Done | Refused | Lost) -> None:
        """Enter what the router answered."""
        self._write(lambda: self._journal.answered(now_s, answer))

    def _write(self, write: Callable[[], None]) -> None:
        try:
            write()
        except JournalError as error:
            self.lost += 1
            self.obstacle = str(error)
