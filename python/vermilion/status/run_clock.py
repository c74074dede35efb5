"""The wall clock of a run: when by it something happened that the journal has in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3


@dataclass(frozen=True, slots=True)
class RunClock:
    """The wall clock of a run's machine, as it goes now.

    Attributes:
        time_s: of the run.
        utc: what the wall clock showed then.
        is_kept: whether the controller keeps that up to date when somebody sets the clock. Earlier
            versions did not, nor do simulated networks; then it is the clock of the beginning.
    """

    time_s: float
    utc: datetime
    is_kept: bool

    def at(self, time_s: float) -> datetime:
        """What the wall clock showed, had it gone then as it goes now."""
        return self.utc + timedelta(seconds=time_s - self.time_s)

    def seconds(self, moment: datetime) -> float:
        """The inverse of :meth:`at`."""
        return self.time_s + (moment - self.utc).total_seconds()


def run_clock(database: sqlite3.Connection, run: sqlite3.Row) -> RunClock:
    """That of a run of a journal.

    Args:
        database: the journal, with rows that have names.
        run: its row.

    Raises:
        ValueError: what is written there is no time.
    """
    known = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'wall_clock'").fetchone()
    row = (
        known
        and database.execute(
            "SELECT time_s, utc FROM wall_clock WHERE run = ?", (run["id"],)
        ).fetchone()
    )
    time_s, utc = (0.0, run["begun_utc"]) if row is None else row
    return RunClock(time_s, datetime.fromisoformat(utc).astimezone(UTC), row is not None)
