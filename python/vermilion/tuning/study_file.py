"""The SQLite file that holds studies: its tables, and how it is opened without being trusted.

Every batch of simulations is one transaction. With the write-ahead log a program that is killed
loses the batch under way and nothing else; only a power failure may take back the last batches,
never tear one. docs/studies.md describes the tables.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from typing import TYPE_CHECKING, Any, Final

from vermilion.files.sqlite import (
    bounded,
    execute_each,
    only_writer,
    open_untrusted,
    use_write_ahead_log,
)
from vermilion.scenario.errors import printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA_VERSION: Final = 3
"""Kept in the file's ``user_version``; a file of another version is refused."""

APPLICATION_ID: Final = 0x5665724D
"""Kept in the file's ``application_id``: "VerM"."""

_SCHEMA: Final = """
CREATE TABLE study (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    begun_utc TEXT NOT NULL,       -- ISO 8601, the wall clock's
    changed_utc TEXT NOT NULL,     -- when it was last begun, gone on with or concluded
    plan TEXT NOT NULL,            -- JSON: the plan as given, and what it meant then
    budget INTEGER NOT NULL,       -- settings, of the last session
    fidelity TEXT,                 -- JSON; NULL before it is known whether short runs would do
    recommendation TEXT            -- JSON of the last session that came to one
);
CREATE TABLE simulation (
    id INTEGER PRIMARY KEY,        -- in the order of simulating
    study INTEGER NOT NULL REFERENCES study (id),
    scenario INTEGER NOT NULL,     -- of several, in the plan's order from 0
    length REAL NOT NULL,          -- fraction of the scenario's measured time
    setting TEXT NOT NULL,         -- JSON list: values in the order of the plan's parameters
    seed TEXT NOT NULL,            -- decimal: SQLite's integers end at 2^63
    made_for TEXT NOT NULL,        -- incumbent, pilot, search, refinement, climb,
                                   -- re-evaluation, comparison
    objective REAL NOT NULL,       -- to be minimised; infinite if not measured
    constrained TEXT NOT NULL,     -- JSON: for each constraint, its metric in each phase;
                                   -- of a front, the second objective comes last
    not_measured TEXT,             -- why, if so
    data TEXT,                     -- JSON: all that was measured, of incumbent and comparison
    UNIQUE (study, scenario, length, setting, seed)
);
CREATE TABLE evaluation (
    study INTEGER NOT NULL REFERENCES study (id),
    number INTEGER NOT NULL,       -- in the order in which the search used them, from 1
    setting TEXT NOT NULL,
    length REAL NOT NULL,
    seeds INTEGER NOT NULL,        -- how many it met
    told REAL NOT NULL,            -- what the search was told: below 1 if constraints are kept
    objective REAL NOT NULL,       -- mean over its seeds, to be minimised; infinite if not measured
    violation REAL NOT NULL,       -- of the constraints; 0 if it keeps them
    simulations INTEGER NOT NULL,  -- of the whole tuning by then
    PRIMARY KEY (study, number)
) WITHOUT ROWID;
"""

_LONGEST_REASON: Final = 300
"""Characters that a message quotes of what a file says."""

_EXPECTED: Final = "a file of vermilion tune --study"
_HEADER: Final = b"SQLite format 3\0"


class StudyError(ValueError):
    """A file or a study that cannot be used; the message says which and what would be."""


RUNS_BESIDE: Final = """
CREATE TABLE IF NOT EXISTS beside (
    study INTEGER NOT NULL REFERENCES study (id),
    run TEXT NOT NULL,             -- a digest of what was simulated, with which seed
    data BLOB NOT NULL,            -- all that was measured: JSON, compressed (zlib)
    PRIMARY KEY (study, run)
) WITHOUT ROWID;
"""
"""Simulations of baselines and around a recommendation. A file has this table once there is
something to keep in it, so that files without it are of the same format."""

_MOST_BYTES: Final = 1 << 26
"""Of one run's data: a hundred times what the largest scenarios measure."""


def has_runs_beside(database: sqlite3.Connection) -> bool:
    """True if a file has that table."""
    query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'beside'"
    (count,) = database.execute(query).fetchone()
    return bool(count)


def packed(data: Mapping[str, Any]) -> bytes:
    """Data as the table has them."""
    return zlib.compress(json.dumps(data).encode())


def unpacked(data: bytes) -> dict[str, Any]:
    """The data that these bytes are of.

    Raises:
        ValueError: they are of something else; also zlib.error.
    """
    inflating = zlib.decompressobj()
    text = inflating.decompress(data, _MOST_BYTES)
    if inflating.unconsumed_tail:
        message = "a run that is too long"
        raise ValueError(message)
    return dict(json.loads(text))


def open_to_write(path: Path) -> sqlite3.Connection:
    """A study file, made if there is none.

    Raises:
        StudyError: it cannot be written, or holds something else.
    """
    if path.exists() and path.stat().st_size:
        _check_header(path)
    try:
        database = open_untrusted(path, writable=True, timeout_s=30.0)
    except sqlite3.Error as error:
        message = f'"{path}" cannot be written ({error}); expected {_EXPECTED}, or a new name'
        raise StudyError(message) from None
    try:
        with only_writer(database):
            (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            (application,) = database.execute("PRAGMA application_id").fetchone()
            if tables == application == 0:
                execute_each(database, _SCHEMA)
                database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        _check(database, path)
        use_write_ahead_log(database)
        database.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error as error:
        database.close()
        message = f'"{path}" cannot be used ({error}); expected {_EXPECTED}, or a new name'
        raise StudyError(message) from None
    except StudyError:
        database.close()
        raise
    return database


def open_to_read(path: Path) -> sqlite3.Connection:
    """A study file that stays as it is; another program may be writing it.

    Raises:
        StudyError: it cannot be read, or holds something else.
    """
    _check_header(path)
    try:
        database = open_untrusted(path, timeout_s=30.0)
    except sqlite3.Error as error:
        raise StudyError(_unreadable(path, error)) from None
    try:
        _check(database, path)
    except sqlite3.Error as error:
        database.close()
        raise StudyError(_unreadable(path, error)) from None
    except StudyError:
        database.close()
        raise
    return database


def damaged(path: Path, what: object) -> StudyError:
    """Error for a study file with impossible content."""
    reason = printable(str(what)[:_LONGEST_REASON])
    return StudyError(f'"{path}" is damaged ({reason}); expected {_EXPECTED}')


def _check_header(path: Path) -> None:
    """Refuses what is no SQLite file before SQLite sees it."""
    try:
        if path.is_dir():
            message = f'"{path}" is a directory; expected {_EXPECTED}'
            raise StudyError(message)
        with path.open("rb") as file:
            start = file.read(len(_HEADER))
    except (OSError, ValueError) as error:
        if isinstance(error, StudyError):
            raise
        raise StudyError(_unreadable(path, getattr(error, "strerror", error))) from None
    if start != _HEADER:
        message = f'"{path}" is not accepted (no SQLite file); expected {_EXPECTED}'
        raise StudyError(message)


def _check(database: sqlite3.Connection, path: Path) -> None:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID or version != SCHEMA_VERSION:
        what = "of another program"
        if application == APPLICATION_ID:
            what = f"of format {version}; this Vermilion reads and writes format {SCHEMA_VERSION}"
        message = f'"{path}" is not accepted ({what}); expected {_EXPECTED}'
        raise StudyError(message)
    try:
        with bounded(database):
            (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except UnicodeDecodeError as error:  # the damaged place itself, in SQLite's words
        raise damaged(path, error) from None
    if verdict != "ok":
        raise damaged(path, str(verdict).replace("\n", " "))


def _unreadable(path: Path, reason: object) -> str:
    return f'"{path}" cannot be read ({printable(str(reason))}); expected {_EXPECTED}'
