"""The controller's journal: every sample, decision and setting, in one SQLite file.

The file is usable while the controller runs and afterwards, with any SQLite client. Every
entry is committed as it is made and the write-ahead log keeps a crash from losing or
tearing any; a journal may hold many runs. docs/online.md describes the tables.
"""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from vermilion.online.record.entries import Decision
    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import ParameterValue

SCHEMA_VERSION = 1
"""Kept in the file's ``user_version``; a file of another version is refused."""

_SCHEMA = """
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    begun_utc TEXT NOT NULL,      -- ISO 8601, the wall clock's
    version TEXT NOT NULL,        -- of Vermilion
    title TEXT NOT NULL,          -- of the scenario or the router
    router TEXT NOT NULL,         -- its kind
    link TEXT NOT NULL,
    discipline TEXT NOT NULL,
    target_packets REAL NOT NULL, -- the operator's, for the instantaneous queue
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
    active_flows INTEGER NOT NULL,
    heard_flows INTEGER NOT NULL, -- flows of which a round trip was sampled
    rtt_samples INTEGER NOT NULL,
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
        target_packets: float,
    ) -> None:
        """Open or create the file and begin a run in it.

        Raises:
            JournalError: it is something else than a journal, or of another version.
        """
        name = ":memory:" if path is None else str(path)
        try:
            self._database = sqlite3.connect(name, isolation_level=None)
            self._prepare(name)
            cursor = self._database.execute(
                "INSERT INTO run (begun_utc, version, title, router, link, discipline,"
                " target_packets) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    datetime.now(UTC).isoformat(timespec="seconds"),
                    version,
                    title,
                    router,
                    link,
                    discipline,
                    target_packets,
                ),
            )
        except sqlite3.Error as error:
            message = f"journal: {name} is not accepted ({error}); expected a writable SQLite file"
            raise JournalError(message) from error
        self.run = cursor.lastrowid

    def _prepare(self, name: str) -> None:
        self._database.execute("PRAGMA journal_mode = WAL")
        # With a write-ahead log, NORMAL loses nothing when the program dies; only a power
        # failure may take back the last entries, never tear one.
        self._database.execute("PRAGMA synchronous = NORMAL")
        (found,) = self._database.execute("PRAGMA user_version").fetchone()
        (tables,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if found == 0 and tables == 0:
            self._database.executescript(
                f"BEGIN; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
            )
        elif found != SCHEMA_VERSION:
            message = (
                f"journal: {name} is not accepted (schema version {found}); expected a new file "
                f"or a journal of version {SCHEMA_VERSION}"
            )
            raise JournalError(message)

    def sample(self, sample: Sample) -> None:
        """Keep one sample."""
        self._database.execute(
            "INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self.run,
                sample.time_s,
                sample.interval_s,
                sample.backlog_packets,
                sample.backlog_bytes,
                sample.packets,
                sample.bytes,
                sample.drops,
                sample.marks,
                sample.active_flows,
                sample.heard_flows,
                sample.rtt_samples,
                sample.mean_rtt_s,
            ),
        )

    def decision(self, decision: Decision) -> None:
        """Keep one decision."""
        self._database.execute(
            "INSERT INTO decision (run, time_s, kind, reason, details) VALUES (?, ?, ?, ?, ?)",
            (
                self.run,
                decision.time_s,
                decision.kind,
                decision.reason,
                json.dumps(decision.details),
            ),
        )

    def setting(self, time_s: float, parameters: Mapping[str, ParameterValue]) -> None:
        """Keep the parameters in force from ``time_s`` on."""
        self._database.execute(
            "INSERT INTO setting (run, time_s, parameters) VALUES (?, ?, ?)",
            (self.run, time_s, json.dumps(dict(parameters))),
        )

    def close(self) -> None:
        """End the run in order."""
        self._database.execute("UPDATE run SET ended = 1 WHERE id = ?", (self.run,))
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
