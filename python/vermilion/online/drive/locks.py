"""One controller at a time: of a queue in a journal, and of a queue of a real machine.

A run in a journal that has not ended counts as killed, and the next one goes on with it. While it
lives, nobody may: its writer holds a lock on a small file beside the journal
(:mod:`vermilion.files.file_lock`). Readers ask for no lock.

A queue of a real machine is locked by an abstract address (unix(7)), whatever journals there are:
only one socket can have it, and the kernel gives it back however the process ends. It belongs to
the network namespace, as the queue does, and needs no folder that root, users and services would
have to share.
"""

from __future__ import annotations

import errno
import hashlib
import socket
import struct
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from vermilion.files.file_lock import give_back, holder, is_held, take
from vermilion.online.record.journal import JournalError
from vermilion.routers.base import RouterError
from vermilion.scenario.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
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
            f"journal: {shown} is in use: {holder(lock)} writes a run of "
            f"{printable(title)} into it; end that one first, or give another --journal"
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
    """Check whether a process writes this queue's journal; ``None`` if unknown.

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


PREFIX: Final = "vermilion-controls-"
"""What the names of all these sockets begin with."""

_LONGEST: Final = 107
"""Bytes of an abstract address, behind its first."""

_MOST_REFUSED: Final = 4096
"""So many may ask who has the lock before they are told no more: nobody answers them."""

_CREDENTIALS: Final = struct.Struct("=iII")


@contextmanager
def only_controller(addresses: Iterable[str]) -> Iterator[None]:
    """While it lasts, nobody else on this machine can begin to control these queues.

    Args:
        addresses: like "linux:eth0/1:10".

    Raises:
        RouterError: somebody controls one of them.
    """
    with ExitStack() as held:
        for address in addresses:
            held.enter_context(_acquire(address))
        yield


def _acquire(address: str) -> socket.socket:
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        lock.bind(_name(address))
        lock.listen(_MOST_REFUSED)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return lock  # a system without such addresses
        lock.close()
        who, look = "another process", ""
        holder = _holder(address)
        if holder:
            who = f"process {holder}"
            look = f" (systemctl status {holder} says whether it is a service)"
        message = (
            f"{address}: {who} controls this queue already; end that one first{look}, or "
            "use --mode observe"
        )
        raise RouterError(message) from None
    return lock


def _name(address: str) -> str:
    name = f"{PREFIX}{address}"
    if len(name.encode()) > _LONGEST:
        name = f"{PREFIX}{hashlib.sha256(address.encode()).hexdigest()}"
    return f"\0{name}"


def _holder(address: str) -> int:
    """The process that has the lock; 0 where the kernel does not say it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as question:
        question.settimeout(0.0)
        try:
            question.connect(_name(address))
            told = question.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except OSError:
            return 0
    return int(_CREDENTIALS.unpack(told)[0])
