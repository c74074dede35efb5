"""The controller's journal: every sample, decision, setting and effect, in one SQLite file.

The file is usable while the controller runs and afterwards, with any SQLite client. Every
entry is committed as it is made and the write-ahead log keeps a crash from losing or
tearing any; a journal may hold many runs. docs/online.md describes the tables.

What changes a router is written down before it is done, and what the router answered afterwards, so
that a controller that was killed in between knows what it has to read back.

What the controller says of itself: decisions and settings, told, kept and written down.

A journal that cannot be written (a full disk) does not end the controller: what is lost is counted
and said once. But nothing is done to a router that could not be written down before, except to take
something back: what stood before the first change was written down before that.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import ExitStack
from dataclasses import astuple
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Self

from vermilion.files.sqlite import (
    NONSENSE,
    bounded,
    execute_each,
    only_writer,
    open_untrusted,
    use_write_ahead_log,
)
from vermilion.online.entries import Decision, LineSample, SettingInForce
from vermilion.online.events import Done
from vermilion.online.record.restart import remembered
from vermilion.online.sense.sampler import FlowShares

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from vermilion.online.entries import Entry
    from vermilion.online.events import Apply, Lost, Refused
    from vermilion.online.record.restart import Remembered
    from vermilion.online.sense.sampler import Sample


SCHEMA_VERSION = 7
"""Kept in the file's ``user_version``; a file of an older version is brought up to it."""

APPLICATION_ID = 0x5665724A
"""Kept in the file's ``application_id``: "VerJ". Earlier versions wrote none, so 0 is read too."""

_TABLES = {"run", "sample", "decision", "setting"}
"""Those that a journal of any version has."""

_SCHEMA = """
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    begun_utc TEXT NOT NULL,      -- ISO 8601, the wall clock's
    version TEXT NOT NULL,        -- of Vermilion
    title TEXT NOT NULL,          -- of the scenario or the router
    router TEXT NOT NULL,         -- its kind
    link TEXT NOT NULL,
    discipline TEXT NOT NULL,
    target_packets REAL NOT NULL, -- the operator's, for the instantaneous queue; 0 for none
    ended INTEGER NOT NULL DEFAULT 0 -- 1 once the run has ended in order
);
CREATE TABLE sample (
    run INTEGER NOT NULL REFERENCES run (id),
    time_s REAL NOT NULL,         -- the network's time, the interval's end
    interval_s REAL NOT NULL,
    backlog_packets INTEGER NOT NULL,
    backlog_bytes INTEGER NOT NULL,
    packets INTEGER NOT NULL,     -- forwarded in the interval
    bytes INTEGER NOT NULL,
    drops INTEGER NOT NULL,
    marks INTEGER NOT NULL,
    active_flows INTEGER NOT NULL, -- -1 where nobody counts them
    heard_flows INTEGER NOT NULL, -- flows of which a round trip was sampled; -1 likewise
    rtt_samples INTEGER NOT NULL, -- -1 likewise
    mean_rtt_s REAL,              -- queueing included; NULL without samples
    PRIMARY KEY (run, time_s)
) WITHOUT ROWID;
CREATE TABLE decision (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run (id),
    time_s REAL NOT NULL,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    details TEXT NOT NULL         -- JSON object
);
CREATE TABLE setting (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run (id),
    time_s REAL NOT NULL,         -- in force from then on
    parameters TEXT NOT NULL      -- JSON object: every parameter of the discipline
);
CREATE INDEX decision_by_time ON decision (run, time_s);
CREATE INDEX setting_by_time ON setting (run, time_s);
"""

_SINCE_VERSION_2 = """
CREATE TABLE effect (
    run INTEGER NOT NULL REFERENCES run (id),
    number INTEGER NOT NULL,      -- the controller's
    asked_s REAL NOT NULL,        -- written down before the router was told
    parameters TEXT NOT NULL,     -- JSON object: what was to be put in force
    answered_s REAL,              -- NULL while the router has not answered
    answer TEXT,                  -- done, refused or lost
    reason TEXT,                  -- the router's words
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
"""

_SINCE_VERSION_3 = """
ALTER TABLE run ADD COLUMN network TEXT; -- which simulated one; NULL for a queue that lasts
ALTER TABLE run ADD COLUMN goes_on_from INTEGER REFERENCES run (id); -- a run that was killed
"""


_SINCE_VERSION_4 = """
CREATE TABLE queue_sample (       -- of several queues together; sample has their sum
    run INTEGER NOT NULL REFERENCES run (id),
    time_s REAL NOT NULL,         -- that of the sum
    link TEXT NOT NULL,
    interval_s REAL NOT NULL,
    backlog_packets INTEGER NOT NULL,
    backlog_bytes INTEGER NOT NULL,
    packets INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    drops INTEGER NOT NULL,
    marks INTEGER NOT NULL,
    PRIMARY KEY (run, time_s, link)
) WITHOUT ROWID;
"""

_SINCE_VERSION_5 = """
CREATE TABLE flow_shares (        -- how the flows of a queue shared it, each second
    run INTEGER NOT NULL REFERENCES run (id),
    time_s REAL NOT NULL,         -- the end of what was looked at
    link TEXT NOT NULL,           -- which of several queues; '' for the only one
    seconds REAL NOT NULL,        -- how long that was
    flows INTEGER NOT NULL,       -- of which data were seen lately
    silent_flows INTEGER,         -- open ones of which none were; NULL where nobody counts them
    compared_flows INTEGER NOT NULL, -- that slow down and were there for long enough
    jain_index REAL,              -- of those; NULL of fewer than two
    largest_share REAL,           -- of what they got together, 0 to 1
    smallest_share REAL,
    PRIMARY KEY (run, time_s, link)
) WITHOUT ROWID;
ALTER TABLE queue_sample ADD COLUMN rtt_samples INTEGER; -- NULL where nobody measures them
ALTER TABLE queue_sample ADD COLUMN mean_rtt_s REAL;
"""

_SINCE_VERSION_6 = """
CREATE TABLE wall_clock (         -- of a queue that lasts, as it was when it was last set
    run INTEGER PRIMARY KEY REFERENCES run (id),
    time_s REAL NOT NULL,         -- the network's time of a look
    utc TEXT NOT NULL             -- ISO 8601, what the wall clock showed then
);
"""

_SINCE_VERSION_7 = """
CREATE TABLE IF NOT EXISTS line_sample ( -- of a line whose rate nobody knows
    run INTEGER NOT NULL REFERENCES run (id),
    time_s REAL NOT NULL,         -- that of the sample
    rate_bit_per_s REAL NOT NULL, -- of the shaper
    capacity_bit_per_s REAL,      -- of the line; NULL where it is not known
    wait_here_s REAL NOT NULL,
    wait_line_s REAL,             -- in the line's own queue; NULL likewise
    PRIMARY KEY (run, time_s)
) WITHOUT ROWID;
"""

_STEPS = (
    _SCHEMA,
    _SINCE_VERSION_2,
    _SINCE_VERSION_3,
    _SINCE_VERSION_4,
    _SINCE_VERSION_5,
    _SINCE_VERSION_6,
    _SINCE_VERSION_7,
)
"""What makes a file of each version from one of the version before; the first of nothing."""

_CLOCK_SET_S = 0.5  # by which the wall clock is off before it counts as set


class JournalError(Exception):
    """The file cannot be used as a journal; the text says why and what would be."""


class Journal:
    """A journal open for one run.

    Use as a context manager, or call :meth:`close`. With ``path`` ``None`` the journal lives
    in memory and goes with the run.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        version: str,
        title: str,
        router: str,
        link: str,
        discipline: str,
        target_packets: float | None,
        network: str | None = None,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Open or create the file and begin a run in it.

        Args:
            path: the file; ``None`` for memory.
            version: Vermilion's.
            title: of the scenario or the router.
            router: its kind.
            link: the link under control.
            discipline: of its queue.
            target_packets: where the queue is to be held; ``None`` for another goal.
            network: which simulated one this is; ``None`` for a queue that lasts.
            wall: the wall clock.

        Raises:
            JournalError: it is something else than a journal, or of another version.
        """
        name = ":memory:" if path is None else str(path)
        # A simulated network's time has nothing to do with the wall clock.
        self._wall = wall if network is None else None
        self._zero_s: float | None = None  # of the network's time, by the wall clock as last kept
        self._link = link
        self._discipline = discipline
        with ExitStack() as opened:
            try:
                self._database = open_untrusted(path, writable=True)
                opened.callback(self._database.close)
                with bounded(self._database):
                    self._prepare(name)
                    self._killed = self._killed_run(title, router, link, discipline, network)
                cursor = self._database.execute(
                    "INSERT INTO run (begun_utc, version, title, router, link, discipline,"
                    " target_packets, network, goes_on_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        wall().isoformat(timespec="seconds"),
                        version,
                        title,
                        router,
                        link,
                        discipline,
                        target_packets or 0.0,
                        network,
                        self._killed,
                    ),
                )
            except sqlite3.Error as error:
                message = (
                    f"journal: {name} is not accepted ({error}); expected a writable SQLite file"
                )
                raise JournalError(message) from error
            opened.pop_all()  # it stays open
        self.run = cursor.lastrowid

    def _prepare(self, name: str) -> None:
        """Makes what is missing, in a file that is a journal or empty.

        Raises:
            JournalError: it is something else; nothing has been changed.
            sqlite3.Error: it cannot be read or written.
        """
        with only_writer(self._database):
            found = self._schema_version(name)
            if found < SCHEMA_VERSION:
                execute_each(self._database, "".join(_STEPS[found:]))
                self._database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                self._database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        use_write_ahead_log(self._database)
        # With a write-ahead log, NORMAL loses nothing when the program dies; only a power
        # failure may take back the last entries, never tear one.
        self._database.execute("PRAGMA synchronous = NORMAL")

    def _schema_version(self, name: str) -> int:
        """The version of a journal; 0 for an empty file.

        Raises:
            JournalError: it is something else.
        """
        (application,) = self._database.execute("PRAGMA application_id").fetchone()
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        tables = {row[0] for row in self._database.execute("SELECT name FROM sqlite_master")}
        is_one = tables >= _TABLES if version else not tables
        if application not in {0, APPLICATION_ID} or not is_one:
            what = "of another program, "
        elif not 0 <= version <= SCHEMA_VERSION:
            what = ""
        else:
            return int(version)
        message = (
            f"journal: {name} is not accepted ({what}schema version {version}); expected a new "
            f"file or a journal of version {SCHEMA_VERSION} or older"
        )
        raise JournalError(message)

    def _killed_run(
        self, title: str, router: str, link: str, discipline: str, network: str | None
    ) -> int | None:
        """The last run on the same queue that mattered, if it was not ended in order.

        What matters are changes that the router may have made, and that somebody wanted none; and
        an end in order, if it was of a run that was free to change. Who only looked has left
        nothing to go on with, and does not hide what was left before.
        """
        last = self._database.execute(
            "SELECT id, ended FROM run WHERE title = ? AND router = ? AND link = ?"
            " AND discipline = ? AND network IS ? AND (EXISTS (SELECT 1 FROM effect"
            " WHERE effect.run = run.id AND answer IS NOT 'refused') OR EXISTS (SELECT 1"
            " FROM decision WHERE decision.run = run.id AND (kind = 'hands-off' OR kind IN"
            " ('paused', 'resumed') AND json_extract(details, '$.by') = 'a person' OR ended"
            " AND kind = 'start' AND json_extract(details, '$.mode') <> 'observe')))"
            " ORDER BY id DESC LIMIT 1",
            (title, router, link, discipline, network),
        ).fetchone()
        return None if last is None or last[1] else int(last[0])

    def remembered(self) -> Remembered | None:
        """State left by a run that was not ended; ``None`` for none.

        Raises:
            JournalError: the file cannot be read.
        """
        if self._killed is None:
            return None
        try:
            with bounded(self._database):
                return remembered(self._database, self._killed)
        except NONSENSE as error:
            message = f"journal: its content makes no sense: {error}"
            raise JournalError(message) from error

    def keep(self, entry: Entry) -> None:
        """Keep an entry of any kind."""
        match entry:
            case Decision(time_s, kind, reason, details):
                columns = "decision (run, time_s, kind, reason, details)"
                self._insert(columns, time_s, kind, reason, json.dumps(details))
            case SettingInForce(time_s, parameters):
                self._insert(
                    "setting (run, time_s, parameters)", time_s, json.dumps(dict(parameters))
                )
            case FlowShares():
                self._insert("flow_shares", *astuple(entry))
            case LineSample():
                self._insert("line_sample", *astuple(entry), how="OR REPLACE")
            case _:
                self._sample(entry)

    def intend(self, now_s: float, effect: Apply) -> None:
        """Keep a change of the router, before it is made."""
        columns = "effect (run, number, asked_s, parameters)"
        self._insert(columns, effect.number, now_s, json.dumps(dict(effect.parameters)))

    def answered(self, now_s: float, answer: Done | Refused | Lost) -> None:
        """Keep what the router answered."""
        reason = None if isinstance(answer, Done) else answer.reason
        self._write(
            "UPDATE effect SET answered_s = ?, answer = ?, reason = ? WHERE run = ? AND number = ?",
            (now_s, type(answer).__name__.lower(), reason, self.run, answer.number),
        )

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        """Write one row.

        Raises:
            JournalError: the file cannot be written.
        """
        try:
            self._database.execute(statement, values)
        except (sqlite3.Error, OverflowError) as error:  # a counter may be of any size
            message = f"the journal cannot be written: {error}"
            raise JournalError(message) from error

    def _insert(self, table: str, *values: object, how: str = "") -> None:
        """Write one row of this run into a table of this file, or into some columns of it."""
        places = ", ".join("?" * (1 + len(values)))
        statement = f"INSERT {how} INTO {table} VALUES ({places})"  # noqa: S608 - ours
        self._write(statement, (self.run, *values))

    def _sample(self, sample: Sample) -> None:
        """Keep one sample, and what one of several queues says of each."""
        known = (-1 if count is None else count for count in _KNOWN(sample))
        self._insert("sample", sample.time_s, *_COUNTED(sample), *known, sample.mean_rtt_s)
        for link, each in zip(sample.links, sample.queues, strict=True):
            heard = (each.rtt_samples, each.mean_rtt_s)
            self._insert("queue_sample", sample.time_s, link, *_COUNTED(each), *heard)
        if self._wall is not None:
            self._wall_clock(sample.time_s, self._wall())

    def _wall_clock(self, time_s: float, now: datetime) -> None:
        """Keep what the wall clock shows: at the first look, and after somebody has set it.

        Machines without a battery get the time of day over the network, after the run has begun.
        """
        zero_s = now.timestamp() - time_s
        if self._zero_s is None or abs(zero_s - self._zero_s) > _CLOCK_SET_S:
            shown = now.isoformat(timespec="milliseconds")
            self._insert("wall_clock", time_s, shown, how="OR REPLACE")
            self._zero_s = zero_s

    def close(self) -> None:
        """End the run in order, as far as that can still be written down."""
        try:
            self._write("UPDATE run SET ended = 1 WHERE id = ?", (self.run,))
        except JournalError:
            return  # what the file says is true: this run has not ended in order
        finally:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:  # the run did not end in order, and the journal must say so
            self._database.close()


_COUNTED = attrgetter(
    "interval_s", "backlog_packets", "backlog_bytes", "packets", "bytes", "drops", "marks"
)
_KNOWN = attrgetter("active_flows", "heard_flows", "rtt_samples")
"""Columns of the tables, in their order; a count is -1 where nobody has counted."""


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
