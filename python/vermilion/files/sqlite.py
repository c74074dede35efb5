"""SQLite files: opened without being trusted, and begun by one process where several try.

A journal or a study may come from anybody, in a bug report or from the user of a service. Its
schema must hold tables and indices alone: whoever reads the file would execute what a view, a
trigger, a virtual table or a generated column says.

Whether a file is empty has to be asked in the transaction that fills it. Asked before, the answer
may be out of date, since another process has begun the file meanwhile.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NONSENSE: Final = (
    sqlite3.Error,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
)
"""Errors from reading a file that anybody may have written: another type in a column, a
number beyond all others, JSON of something else or nested deeper than anybody can read."""

READING_LIMIT_S: Final = 60.0
"""Time for the questions that a command or a page asks of one file."""

_LONGEST_VALUE: Final = 1 << 26
"""Bytes of one text or blob."""

_INSTRUCTIONS: Final = 10_000
"""SQLite instructions between two looks at the clock and at signals: some milliseconds."""

_FOREIGN: Final = """
SELECT name FROM sqlite_master WHERE sql IS NOT NULL AND NOT (sql LIKE 'CREATE TABLE %'
    OR sql LIKE 'CREATE INDEX %' OR sql LIKE 'CREATE UNIQUE INDEX %')
UNION ALL SELECT each.name || '.' || generated.name FROM sqlite_master AS each,
    pragma_table_xinfo(each.name) AS generated WHERE generated.hidden <> 0
LIMIT 1
"""
"""Objects that are no plain table, by their SQL text: ``type`` may say anything."""

_PATIENCE_S: Final = 30.0
_RETRY_INTERVAL_S: Final = 0.01
_PRIMARY_CODE: Final = 0xFF
"""The bits of an SQLite error code that are the same for all its reasons."""


def open_untrusted(
    path: Path | None, *, writable: bool = False, timeout_s: float = 5.0
) -> sqlite3.Connection:
    """Open a file that anybody may have written, without an ``isolation_level``.

    Args:
        path: the file; ``None`` for memory.
        writable: whether it is written, and made where it does not exist.
        timeout_s: how long to wait for other processes.

    Raises:
        sqlite3.Error: it cannot be opened, or its schema has more than tables and indices.
    """
    mode = "rwc" if writable else "ro"
    name = ":memory:" if path is None else f"{path.absolute().as_uri()}?mode={mode}"
    if "%00" in name:
        message = "a zero byte in its name"
        raise sqlite3.OperationalError(message)
    database = sqlite3.connect(name, uri=True, timeout=timeout_s, isolation_level=None)
    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA cell_size_check = ON")
        _check_tables(database)
    except BaseException:
        database.close()
        raise
    return database


def _check_tables(database: sqlite3.Connection) -> None:
    with bounded(database):
        foreign = database.execute(_FOREIGN).fetchone()
    if foreign is not None:
        message = f'"{foreign[0]}" is no plain table'
        raise sqlite3.DatabaseError(message)


@contextmanager
def read_untrusted(path: Path, timeout_s: float = 5.0) -> Iterator[sqlite3.Connection]:
    """One moment of a file that anybody may have written, read in bounded time.

    Raises:
        sqlite3.Error: as of :func:`open_untrusted`.
    """
    with closing(open_untrusted(path, timeout_s=timeout_s)) as database, bounded(database):
        database.execute("BEGIN")
        yield database


@contextmanager
def bounded(
    database: sqlite3.Connection, limit_s: float = READING_LIMIT_S
) -> Iterator[sqlite3.Connection]:
    """Bound the time of all queries inside, and let signals end them.

    Raises:
        sqlite3.OperationalError: they take longer.
        KeyboardInterrupt: a signal has ended them.
    """
    ends_s = time.monotonic() + limit_s
    is_late = False

    def stop_if_late() -> bool:
        nonlocal is_late
        is_late = time.monotonic() >= ends_s
        return is_late

    database.set_progress_handler(stop_if_late, _INSTRUCTIONS)
    try:
        yield database
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        if is_late:
            message = f"reading it takes longer than {limit_s:g} s"
            raise sqlite3.OperationalError(message) from None
        raise KeyboardInterrupt from None  # sqlite3 drops what a signal raises in the handler
    finally:
        database.set_progress_handler(None, 0)


@contextmanager
def only_writer(database: sqlite3.Connection) -> Iterator[None]:
    """Run an exclusive write transaction; it is rolled back if it fails.

    Args:
        database: a connection with an ``isolation_level`` of ``None``.

    Raises:
        sqlite3.Error: another process writes for longer than the connection waits, or the file
            cannot be written.
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def execute_each(database: sqlite3.Connection, script: str) -> None:
    """Execute the statements of a script in the transaction that is open.

    ``executescript`` would commit that transaction first.
    """
    statement = ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):  # a semicolon may also stand in a comment
            database.execute(statement)
            statement = ""


def use_write_ahead_log(database: sqlite3.Connection) -> None:
    """Switch a file to a write-ahead log.

    SQLite does not wait here for other processes that have the file open at this moment.

    Raises:
        sqlite3.Error: others use the file all the time, or it cannot be written.
    """
    gives_up_at = time.monotonic() + _PATIENCE_S
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & _PRIMARY_CODE == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() >= gives_up_at:
                raise
            time.sleep(_RETRY_INTERVAL_S)
        else:
            return
