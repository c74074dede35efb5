"""A lock on a small file, which the kernel gives back however the process ends.

The file stands beside what it guards, and is removed by whoever holds it. It has the number of
that process, for a message.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from typing import TYPE_CHECKING, Final

try:
    import fcntl
except ImportError:  # a system that has none: there is nothing to hold
    fcntl = None  # type: ignore[assignment] # asked for before it is used

if TYPE_CHECKING:
    from pathlib import Path

_HELD_ERRORS: Final = {errno.EAGAIN, errno.EACCES}
_LONGEST_NUMBER: Final = 20
_TRIES: Final = 3
_BETWEEN_TRIES_S: Final = 0.01


def take(lock: Path, *, waits: bool = False) -> int | None:
    """Take a lock.

    Args:
        lock: its file, which need not exist yet.
        waits: whether to wait for whoever has it.

    Returns:
        The open file, for :func:`give_back`; ``None`` on a system without locks.

    Raises:
        BlockingIOError: somebody has it, and it is not waited for.
        OSError: the file cannot be written.
    """
    if fcntl is None:
        return None
    tries = _TRIES
    while True:
        opened = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except OSError as error:
            if error.errno not in _HELD_ERRORS:
                return opened  # a file system without locks: there is nothing to hold
            os.close(opened)
            if tries > 1 and not waits:
                tries -= 1  # somebody may only ask whether it is held
                time.sleep(_BETWEEN_TRIES_S)
                continue
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), str(lock)) from None
        except BaseException:
            os.close(opened)
            raise
        if _is_still_there(lock, opened):
            os.truncate(opened, 0)
            os.pwrite(opened, f"{os.getpid()}\n".encode(), 0)
            return opened
        os.close(opened)  # whoever had it has just ended, and taken the file away


def give_back(lock: Path, taken: int | None) -> None:
    """Release a lock, and remove its file."""
    if taken is not None:
        with contextlib.suppress(OSError):
            lock.unlink()
        os.close(taken)


def is_held(lock: Path) -> bool | None:
    """Return whether somebody has a lock now; ``None`` where nobody can tell.

    Where nobody has it, it is taken for an instant, together with others who ask.
    """
    if fcntl is None:
        return None
    try:
        opened = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return True if error.errno in _HELD_ERRORS else None
    finally:
        os.close(opened)
    return False


def holder(lock: Path) -> str:
    """Describe the holder of a lock."""
    try:
        with lock.open("rb") as file:
            who = file.read(_LONGEST_NUMBER).decode("ascii", errors="replace").strip()
    except OSError:
        who = ""
    return f"process {who}" if who.isdecimal() else "another process"


def _is_still_there(lock: Path, opened: int) -> bool:
    try:
        return os.path.samestat(lock.stat(), os.fstat(opened))
    except FileNotFoundError:
        return False
