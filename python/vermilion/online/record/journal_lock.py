"""One run at a time of each queue in a journal.

A run that has not ended is taken for one that was killed, and the next one goes on with it. While
it lives, nobody may. Who writes a run holds a lock on a small file beside the journal, which the
kernel gives back however the process ends. Runs of different queues do not mind each other, nor do
different seeds of a simulated one; who only reads a journal asks for no lock.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from vermilion.online.record.journal import JournalError
from vermilion.scenario.errors import printable

try:
    import fcntl
except ImportError:  # a system that has none: there is nothing to hold
    fcntl = None  # type: ignore[assignment] # asked for before it is used

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HELD: Final = {errno.EAGAIN, errno.EACCES}
_DIGITS: Final = 8
_LONGEST_NUMBER: Final = 20


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
    if path is None or fcntl is None or path.is_dir():
        yield
        return
    shown = printable(str(path))
    digest = hashlib.sha256("\0".join((title, *details)).encode()).hexdigest()[:_DIGITS]
    journal = path.resolve()
    lock = journal.with_name(f"{journal.name}-lock-{digest}")
    try:
        held = _taken(lock)
    except OSError as error:
        reason = error.strerror or error
        message = f"journal: {shown} is not accepted ({reason}); expected a writable SQLite file"
        raise JournalError(message) from None
    if isinstance(held, str):
        message = (
            f"journal: {shown} is in use: {held} writes a run of {printable(title)} into it; end "
            "that one first, or give this one a file of its own with --journal"
        )
        raise JournalError(message)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()
        os.close(held)


def _taken(lock: Path) -> int | str:
    """The lock, as an open file; who has it, in words, where somebody has."""
    while True:
        opened = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _HELD:
                who = os.pread(opened, _LONGEST_NUMBER, 0).decode("ascii", errors="replace").strip()
                os.close(opened)
                return f"process {who}" if who.isdecimal() else "another process"
            return opened  # a file system without locks: there is nothing to hold
        if _is_still_there(lock, opened):
            os.truncate(opened, 0)
            os.pwrite(opened, f"{os.getpid()}\n".encode(), 0)
            return opened
        os.close(opened)  # whoever had it has just ended, and taken the file away


def _is_still_there(lock: Path, opened: int) -> bool:
    try:
        return os.path.samestat(lock.stat(), os.fstat(opened))
    except FileNotFoundError:
        return False
