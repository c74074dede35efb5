"""One run at a time of each queue in a journal.

A run that has not ended is taken for one that was killed, and the next one goes on with it. While
it lives, nobody may. Who writes a run holds a lock on a small file beside the journal
(:mod:`vermilion.files.file_lock`). Runs of different queues do not mind each other, nor do
different seeds of a simulated one; who only reads a journal asks for no lock.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from vermilion.files.file_lock import give_back, holder, is_held, take
from vermilion.online.record.journal import JournalError
from vermilion.scenario.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_DIGITS: Final = 8


@contextmanager
def only_run(path: Path | None, title: str, *details: str) -> Iterator[None]:
    """While it lasts, no other run of the same queue can begin in a journal.

    Args:
        path: the journal; ``None`` for memory, which nobody shares.
        title: of the scenario or the router.
        details: what else tells one queue from another, as the journal knows them.

    Raises:
        JournalError: one is under way, or nothing can be written beside the journal.
    """
    # A folder is no journal, which is said where it is opened.
    if path is None or path.is_dir():
        yield
        return
    shown = printable(str(path))
    lock = _lock(path, title, *details)
    try:
        held = take(lock)
    except BlockingIOError:
        message = (
            f"journal: {shown} is in use: {holder(lock)} writes a run of {printable(title)} into "
            "it; end that one first, or give this one a file of its own with --journal"
        )
        raise JournalError(message) from None
    except OSError as error:
        reason = error.strerror or error
        message = f"journal: {shown} is not accepted ({reason}); expected a writable SQLite file"
        raise JournalError(message) from None
    try:
        yield
    finally:
        give_back(lock, held)


def is_written(path: Path, title: str, *details: str) -> bool | None:
    """Whether somebody writes a run of that queue into a journal now; ``None``: nobody can tell.

    Args:
        path: the journal.
        title: of the scenario or the router.
        details: as :func:`only_run` was told them.
    """
    return is_held(_lock(path, title, *details))


def _lock(path: Path, title: str, *details: str) -> Path:
    digest = hashlib.sha256("\0".join((title, *details)).encode()).hexdigest()[:_DIGITS]
    journal = path.resolve()
    return journal.with_name(f"{journal.name}-lock-{digest}")
