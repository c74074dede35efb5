"""SQLite files that several processes may begin at once: one makes the tables, all find them.

Whether a file is empty has to be asked in the transaction that fills it. Asked before, the answer
may be out of date, since another process has begun the file meanwhile.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

NONSENSE: Final = (
    sqlite3.Error,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
)
"""What the readers of a file can raise that anybody may have written: another type in a column, a
number beyond all others, JSON of something else or nested deeper than anybody can read."""

_PATIENCE_S: Final = 30.0
_AGAIN_AFTER_S: Final = 0.01
_PRIMARY_CODE: Final = 0xFF
"""The bits of an SQLite error code that are the same for all its reasons."""


@contextmanager
def only_writer(database: sqlite3.Connection) -> Iterator[None]:
    """A transaction in which nobody else writes; nothing of it is kept if it fails.

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
    """Executes the statements of a script in the transaction that is open.

    ``executescript`` would commit that transaction first.
    """
    statement = ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):  # a semicolon may also stand in a comment
            database.execute(statement)
            statement = ""


def use_write_ahead_log(database: sqlite3.Connection) -> None:
    """Has a file keep a write-ahead log from now on.

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
            time.sleep(_AGAIN_AFTER_S)
        else:
            return
