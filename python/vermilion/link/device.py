"""A TUN device: made, and given addresses and routes.

It is not persistent: it goes when the last descriptor of it is closed, with its addresses and
routes. Source of all numbers: ``include/uapi/linux/if_tun.h``, ``if_addr.h``, ``rtnetlink.h``,
``if_link.h``.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Final

from vermilion.routers import RouterError
from vermilion.routers.linux.message import CREATE, NEW_LINK, attribute_bytes
from vermilion.routers.linux.route_socket import RouteSocket


class LinkError(Exception):
    """Link that cannot be emulated here; ``str()`` is one line with the cause and the cure."""


_CONTROL: Final = "/dev/net/tun"
_SET_INTERFACE: Final = 0x400454CA
_SET_OFFLOADS: Final = 0x400454D0
_TUN: Final = 0x0001
_NO_PACKET_INFORMATION: Final = 0x1000
_OFFLOAD_HEADER: Final = 0x4000
_CHECKSUMS_AND_TCP: Final = 0x1 | 0x2 | 0x4 | 0x8
_DATAGRAMS: Final = 0x20 | 0x40

_NEW_ADDRESS: Final = 20
_NEW_ROUTE: Final = 24
_OUT: Final = 4
_MTU, _QUEUE_LENGTH = 4, 13
_UP: Final = 1
_ADDRESS, _LOCAL, _NO_DUPLICATES = 1, 2, 0x02
_MAIN_TABLE, _STATIC, _LINK_SCOPE, _UNICAST = 254, 4, 253, 1

_NO_IPV6_MESSAGES: Final = {"addr_gen_mode": "1", "accept_ra": "0", "router_solicitations": "0"}
"""Settings with which an end of a link sends nothing by itself."""

QUEUE_PACKETS: Final = 4096
"""Packets that the kernel keeps for a device until they are taken; more are lost and counted."""

Address = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class Ends:
    """The addresses of the two ends of a link.

    Attributes:
        own: of this end.
        other: of the other end.
    """

    own: Address
    other: Address


def open_device(name: str, *, offload: bool) -> int:
    """Make a device in this network namespace; return its non-blocking descriptor.

    Args:
        name: of the interface; a "%d" in it becomes the first number that is free.
        offload: whether the kernel may hand over many segments in one, with checksums only begun.

    Raises:
        LinkError: what is missing.
    """
    try:
        device = os.open(_CONTROL, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        cure = "a Linux with TUN devices (modprobe tun; in a container: --device /dev/net/tun)"
        if isinstance(error, PermissionError):
            cure = f"access (run it as root, or have root do: chmod 666 {_CONTROL})"
        message = f"{_CONTROL} cannot be opened ({error.strerror}); expected {cure}"
        raise LinkError(message) from None
    try:
        flags = _TUN | _NO_PACKET_INFORMATION | _OFFLOAD_HEADER
        request = struct.pack("=16sH22x", name.encode(), flags)
        fcntl.ioctl(device, _SET_INTERFACE, request)
        if offload:
            _offer_offloads(device)
    except OSError as error:
        os.close(device)
        message = f'the device "{name}" cannot be made ({error.strerror})'
        if error.errno == errno.EPERM:
            message = (
                f"{message}: the capability CAP_NET_ADMIN is missing in this network namespace"
            )
        raise LinkError(message) from None
    return device


def _offer_offloads(device: int) -> None:
    """Enable segmentation offloads; for datagrams from Linux 6.2 on."""
    try:
        fcntl.ioctl(device, _SET_OFFLOADS, _CHECKSUMS_AND_TCP | _DATAGRAMS)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        fcntl.ioctl(device, _SET_OFFLOADS, _CHECKSUMS_AND_TCP)


def name_of(device: int) -> str:
    """The name of a device's interface."""
    answer = fcntl.ioctl(device, 0x800454D2, bytes(40))
    return answer[:16].rstrip(b"\0").decode()


def set_up(name: str, ends: tuple[Ends, ...], mtu: int, *, default_route: bool) -> None:
    """Set the addresses of an interface, and put it up.

    Args:
        name: of the interface.
        ends: its addresses and those of the other end.
        mtu: bytes of the largest packet.
        default_route: whether everything else is to be reached through it too.

    Raises:
        LinkError: the kernel refuses.
    """
    number = socket.if_nametoindex(name)
    for key, value in _NO_IPV6_MESSAGES.items():
        with suppress(OSError):
            Path("/proc/sys/net/ipv6/conf", name, key).write_text(value, encoding="ascii")
    try:
        with RouteSocket() as kernel:
            attributes = attribute_bytes(_MTU, struct.pack("=I", mtu))
            attributes += attribute_bytes(_QUEUE_LENGTH, struct.pack("=I", QUEUE_PACKETS))
            head = struct.pack("=BxHiII", 0, 0, number, _UP, _UP)
            kernel.tell(NEW_LINK, 0, head + attributes)
            for each in ends:
                family, bits = _family(each.own)
                head = struct.pack("=BBBBI", family, bits, _NO_DUPLICATES, 0, number)
                addresses = attribute_bytes(_LOCAL, each.own.packed)
                addresses += attribute_bytes(_ADDRESS, each.other.packed)
                kernel.tell(_NEW_ADDRESS, CREATE, head + addresses)
                if default_route:
                    kind = (0, 0, 0, _MAIN_TABLE, _STATIC, _LINK_SCOPE, _UNICAST, 0)
                    head = struct.pack("=BBBBBBBBI", family, *kind)
                    way = attribute_bytes(_OUT, struct.pack("=I", number))
                    kernel.tell(_NEW_ROUTE, CREATE, head + way)
    except RouterError as error:
        message = f'the interface "{name}" cannot be set up: {error}'
        raise LinkError(message) from None


def put_up(name: str) -> None:
    """Put an interface up, like the loopback of a fresh namespace."""
    with RouteSocket() as kernel:
        head = struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(name), _UP, _UP)
        kernel.tell(NEW_LINK, 0, head)


def _family(address: Address) -> tuple[int, int]:
    return (socket.AF_INET, 32) if address.version == 4 else (socket.AF_INET6, 128)  # noqa: PLR2004 - of IP


_GET_ADDRESS: Final = 0x8915
_MOST: Final = 1 << 14
_BASE_4: Final = int(IPv4Address("100.64.0.0"))
_BASE_6: Final = int(IPv6Address("fd76:6c6b::"))


class Addresses:
    """Addresses of one link, reserved for the life of this object or of the process.

    Raises:
        LinkError: all are taken.
    """

    def __init__(self) -> None:
        self._taken = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        here = _used_numbers()
        free = (each for each in range(1, _MOST) if each not in here)
        self.number = next(filter(self._reserve, free), 0)
        if self.number == 0:
            self._taken.close()
            message = f"there are {_MOST - 1} links here already; expected fewer"
            raise LinkError(message)

    def _reserve(self, number: int) -> bool:
        """Reserve a number, unless another link from here has it."""
        try:
            # An abstract address: of this network namespace, and gone with the process.
            self._taken.bind(f"\0vermilion-link-{number}")
        except OSError:
            return False
        return True

    @property
    def outer(self) -> tuple[Ends, Ends]:
        """Address of the far end."""
        return _ends_4(self.number), _ends_6(self.number)

    @property
    def inner(self) -> tuple[Ends, Ends]:
        """Address of the command's end."""
        one, other = self.outer
        return Ends(one.other, one.own), Ends(other.other, other.own)

    def close(self) -> None:
        """Release the addresses."""
        self._taken.close()


def _ends_4(number: int) -> Ends:
    first = _BASE_4 + 256 * number
    return Ends(IPv4Address(first + 1), IPv4Address(first + 2))


def _ends_6(number: int) -> Ends:
    first = _BASE_6 + (number << 64)
    return Ends(IPv6Address(first + 1), IPv6Address(first + 2))


def _used_numbers() -> set[int]:
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
