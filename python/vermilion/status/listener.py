"""Addresses and tokens of the live page and metrics; loopback only by default."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.files.secret_file import OpenToOthersError, read_secret_file

if TYPE_CHECKING:
    from pathlib import Path

_MOST_TOKEN: Final = 4096
_LEAST_TOKEN: Final = 16
_PORTS: Final = 65_536
ACCEPTED: Final = 'an address and a port, like "127.0.0.1:8447" or "[::1]:8447"'


class ListenerError(Exception):
    """Nothing can be served like this; ``str()`` is one line with the option to be changed."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Address, port and token of a server.

    Attributes:
        address: the IP address.
        port: the TCP port; 0 for any that is free.
        token: what a reader has to know; ``None`` if none was given.
        option: of the command line, that messages name.
        only_metrics: whether nothing but ``/metrics`` is served there.
    """

    address: str
    port: int
    token: str | None = None
    option: str = "--listen"
    only_metrics: bool = False


def listener_of(
    text: str, *, option: str = "--listen", from_outside: bool, token: str | None
) -> Listener:
    """Read the address to serve at.

    Args:
        text: an address and a port.
        option: of the command line, that messages name; those beside it begin with the same.
        from_outside: whether others than this machine may be served.
        token: what a reader has to know.

    Raises:
        ListenerError: it cannot be served there, or not like this.
    """
    host, colon, port = text.rpartition(":")
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
        number = int(port) if port.isascii() and port.isdigit() else -1
    except ValueError:
        colon = ""
        number = -1
    if not colon or not 0 <= number < _PORTS:
        message = f"{option}: {text!r} is not accepted; expected {ACCEPTED}"
        raise ListenerError(message)
    if not address.is_loopback and not from_outside:
        message = (
            f"{option}: {text!r} can be reached from other machines; expected a loopback "
            f"address, or {option}-from-outside beside it"
        )
        raise ListenerError(message)
    if not address.is_loopback and token is None:
        message = (
            f"{option}: {text!r} can be reached from other machines; expected "
            f"{option}-token with a token file"
        )
        raise ListenerError(message)
    return Listener(str(address), number, token, option, only_metrics=option == "--metrics")


def read_token(path: Path, option: str = "--listen") -> str:
    """Read a token: the first line of a file that only its owner can read.

    Args:
        path: the file.
        option: as in :func:`listener_of`.

    Raises:
        ListenerError: it cannot be read, others can read it, or it is too short.
    """
    accepted = f"a file with {_LEAST_TOKEN} characters or more, readable by its owner only"
    try:
        content = read_secret_file(path, _MOST_TOKEN)
        text = content.decode("ascii").split("\n", 1)[0].strip()
    except OpenToOthersError:
        message = f'{option}-token: "{path}" can be read by others; expected {accepted}'
        raise ListenerError(message) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not ASCII"
        message = f'{option}-token: "{path}" cannot be read ({reason}); expected {accepted}'
        raise ListenerError(message) from None
    if len(text) < _LEAST_TOKEN:
        message = f'{option}-token: what "{path}" holds is too short; expected {accepted}'
        raise ListenerError(message)
    return text
