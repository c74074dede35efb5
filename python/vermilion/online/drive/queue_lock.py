"""One controller at a time of each queue of a real machine, whatever journals they keep.

The lock is an abstract address (unix(7)): only one socket can have it, and the kernel gives it back
however the process ends. It belongs to the network namespace, as the queue itself does, and needs
no folder that root, users and services with a private file system would have to share. Who only
observes a queue asks for no lock.
"""

from __future__ import annotations

import errno
import hashlib
import socket
import struct
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from vermilion.routers.base import RouterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
            held.enter_context(_taken(address))
        yield


def _taken(address: str) -> socket.socket:
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
            f"{address}: {who} controls this queue already; end that one first{look}, or only look "
            "with --mode observe"
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
