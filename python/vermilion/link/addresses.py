"""Which addresses the ends of a link get: the first pair that nobody has here.

IPv4 from the range that RFC 6598 sets apart for networks between networks, IPv6 from unique local
addresses (RFC 4193).
"""

from __future__ import annotations

import fcntl
import socket
import struct
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from vermilion.link.device import Ends
from vermilion.link.errors import LinkError

_GET_ADDRESS: Final = 0x8915
_MOST: Final = 1 << 14
_BASE_4: Final = int(IPv4Address("100.64.0.0"))
_BASE_6: Final = int(IPv6Address("fd76:6c6b::"))


class Addresses:
    """The addresses of one link; nobody else gets them as long as this is, or the process.

    Raises:
        LinkError: all are taken.
    """

    def __init__(self) -> None:
        self._taken = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        here = _numbers_here()
        free = (each for each in range(1, _MOST) if each not in here)
        self.number = next(filter(self._take, free), 0)
        if self.number == 0:
            self._taken.close()
            message = f"there are {_MOST - 1} links here already; expected fewer"
            raise LinkError(message)

    def _take(self, number: int) -> bool:
        """Takes a number, unless another link from here has it."""
        try:
            # An abstract address: of this network namespace, and gone with the process.
            self._taken.bind(f"\0vermilion-link-{number}")
        except OSError:
            return False
        return True

    @property
    def outer(self) -> tuple[Ends, Ends]:
        """Of the end that is not the command's."""
        return _ends_4(self.number), _ends_6(self.number)

    @property
    def inner(self) -> tuple[Ends, Ends]:
        """Of the command's end."""
        one, other = self.outer
        return Ends(one.other, one.own), Ends(other.other, other.own)

    def close(self) -> None:
        """Leaves them to others."""
        self._taken.close()


def _ends_4(number: int) -> Ends:
    first = _BASE_4 + 256 * number
    return Ends(IPv4Address(first + 1), IPv4Address(first + 2))


def _ends_6(number: int) -> Ends:
    first = _BASE_6 + (number << 64)
    return Ends(IPv6Address(first + 1), IPv6Address(first + 2))


def _numbers_here() -> set[int]:
    """The numbers of links that end here: from here, and the one around here."""
    found = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(
                    any_socket, _GET_ADDRESS, struct.pack("=16s24x", name.encode())
                )
            except OSError:
                continue  # it has none
            (address,) = struct.unpack_from(">I", answer, 20)
            found.add((address - _BASE_4) // 256)
    return found
