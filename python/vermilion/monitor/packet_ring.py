"""The ring that Linux fills with the packets of an interface (packet(7), TPACKET_V3).

The kernel writes packets into blocks of shared memory and closes a block when it is full or some
milliseconds old. Here closed blocks are copied out and given back: a loop over blocks, of which
there are some hundreds in a second; packets are the core's business. Source of all numbers:
``include/uapi/linux/if_packet.h`` and ``Documentation/networking/packet_mmap.rst``.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import select
import socket
import struct
from typing import TYPE_CHECKING, Final

from vermilion.monitor.packet_filter import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion.monitor.packet_filter import Instruction

BLOCK_BYTES: Final = 1 << 16
BLOCKS: Final = 256
"""Blocks of the ring, 16 MiB in all: 2.5 s of little traffic, about 70,000 packets of much."""

ALL_INTERFACES: Final = "any"
"""Name of a ring that listens to every interface."""

CLOSED_AFTER_MS: Final = 10
"""Age at which a block is closed."""

HOW_TO_ALLOW: Final = (
    "the capability CAP_NET_RAW is missing. Run it as root, or: sudo setpriv "
    "--reuid=USER --regid=GROUP --init-groups --inh-caps=+net_raw "
    "--ambient-caps=+net_raw vermilion ... (for a systemd service: "
    "AmbientCapabilities=CAP_NET_RAW)"
)

_ALL_PROTOCOLS = 0x0003
_SOL_PACKET = 263
_RX_RING, _STATISTICS, _VERSION = 5, 6, 10
_TPACKET_V3 = 2
_STATUS_AT, _LENGTH_AT = 8, 20  # in a block's header
_KERNEL, _USER = 0, 1
_FRAME_BYTES = 2048  # of which a ring of the third version makes no use, but wants to be told
_SO_ATTACH_FILTER = 26
_SIOCGIFMTU = 0x8921
_SIOCGIFFLAGS = 0x8913
_SIOCGIFINDEX = 0x8933
_UP = 0x1


class InterfaceError(Exception):
    """An interface that cannot be listened to; ``str()`` is one line with what is missing."""


class PacketRing:
    """An open ring; whoever opens it calls :meth:`close`.

    Args:
        interface: its name, like "eth0"; ``None`` for all interfaces there are.
        program: which packets the kernel is to hand over, and how much of each.
        everywhere: whether to listen to all interfaces although there is one that matters.

    Raises:
        InterfaceError: there is no such interface, or it may not be listened to.
    """

    def __init__(
        self, interface: str | None, program: list[Instruction], *, everywhere: bool = False
    ) -> None:
        self.interface = ALL_INTERFACES if interface is None else interface
        self._everywhere = everywhere or interface is None
        self.packets = 0
        self.lost = 0
        self._next = 0
        self._attached_to = ""
        try:
            # Protocol 0: nothing is received before the filter and the ring are there. Python can
            # bind to a name only, so that all interfaces are listened to from the beginning.
            protocol = socket.htons(_ALL_PROTOCOLS) if self._everywhere else 0
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, protocol)
        except PermissionError:
            message = f'"{self.interface}": {HOW_TO_ALLOW}'
            raise InterfaceError(message) from None
        except (OSError, AttributeError) as error:
            message = f'"{self.interface}": this system has no packet sockets ({error})'
            raise InterfaceError(message) from None
        try:
            self.apply_filter(program)
            self._socket.setsockopt(_SOL_PACKET, _VERSION, _TPACKET_V3)
            frames = BLOCK_BYTES * BLOCKS // _FRAME_BYTES
            request = (BLOCK_BYTES, BLOCKS, _FRAME_BYTES, frames, CLOSED_AFTER_MS, 0, 0)
            self._socket.setsockopt(_SOL_PACKET, _RX_RING, struct.pack("=7I", *request))
            self._memory = mmap.mmap(self._socket.fileno(), BLOCK_BYTES * BLOCKS)
            if not self._everywhere:
                self._attach()
        except (OSError, ValueError, OverflowError) as error:
            self._socket.close()
            raise InterfaceError(_error_message(self.interface, error)) from None

    def apply_filter(self, program: list[Instruction]) -> None:
        """Put another program in place of the one in force, at once."""
        instructions = ctypes.create_string_buffer(encoded(program))
        place = ctypes.addressof(instructions)
        request = struct.pack("@HP", len(program), place)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, request)

    def number(self, interface: str) -> int | None:
        """The number that an interface has now; ``None`` where there is none of this name."""
        request = struct.pack("=16si20x", interface.encode(), 0)
        try:
            answer = fcntl.ioctl(self._socket, _SIOCGIFINDEX, request)
        except OSError:
            return None
        return int(struct.unpack_from("=16si", answer)[1])

    def follow(self) -> bool:
        """Listen to the interface that has the name now; whether there is one.

        The kernel lets go of the interface when it is removed (PPPoE), and does not take the next
        one of the same name. To do so by hand needs no privileges.
        """
        if self._everywhere or self._socket.getsockname()[0] == self._attached_to:
            return True
        self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # forgets that one has gone
        try:
            self._attach()
        except OSError:
            return False
        return True

    def _attach(self) -> None:
        self._socket.bind((self.interface, _ALL_PROTOCOLS))
        # The kernel's word for it: an interface may have other names beside.
        self._attached_to = self._socket.getsockname()[0]

    def wait(self, seconds: float) -> None:
        """Return when a block is closed, or after so many seconds."""
        select.select([self._socket], [], [], max(0.0, seconds))

    def blocks(self) -> Iterator[bytes]:
        """Yield copies of the closed blocks, each of which is returned to the kernel."""
        for _ in range(BLOCKS):
            at = self._next * BLOCK_BYTES
            (status,) = struct.unpack_from("=I", self._memory, at + _STATUS_AT)
            if not status & _USER:
                return
            (length,) = struct.unpack_from("=I", self._memory, at + _LENGTH_AT)
            copy = self._memory[at : at + min(length, BLOCK_BYTES)]
            struct.pack_into("=I", self._memory, at + _STATUS_AT, _KERNEL)
            self._next = (self._next + 1) % BLOCKS
            yield copy

    def largest_packet(self) -> int:
        """The largest IP packet that the interface carries, bytes."""
        request = struct.pack("=16si20x", self.interface.encode(), 0)
        answer = fcntl.ioctl(self._socket, _SIOCGIFMTU, request)
        return int(struct.unpack_from("=16si", answer)[1])

    @staticmethod
    def filled(blocks: int) -> float:
        """Fraction of the ring that so many blocks fill."""
        return blocks / BLOCKS

    def count_losses(self) -> int:
        """Number of packets lost since the last call for lack of room in the ring."""
        statistics = self._socket.getsockopt(_SOL_PACKET, _STATISTICS, 12)
        packets, lost, _ = struct.unpack("=3I", statistics)
        self.packets += packets
        self.lost += lost
        return int(lost)

    def is_up(self) -> bool:
        """Return whether the interface is still there and up."""
        problem = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if problem in {errno.ENETDOWN, errno.ENODEV, errno.ENXIO}:
            return False
        # A socket of all interfaces is told of none of them.
        return not self._everywhere or self.interface == ALL_INTERFACES or self._flags() & _UP != 0

    def _flags(self) -> int:
        """The interface's flags; 0 where it is gone."""
        request = struct.pack("=16sH22x", self.interface.encode(), 0)
        try:
            answer = fcntl.ioctl(self._socket, _SIOCGIFFLAGS, request)
        except OSError:
            return 0
        return int(struct.unpack_from("=16sH", answer)[1])

    def close(self) -> None:
        """Give everything back."""
        self._memory.close()
        self._socket.close()


def number_of(interface: str) -> int:
    """The number of an interface.

    Raises:
        InterfaceError: there is none of this name.
    """
    try:
        return socket.if_nametoindex(interface)
    except (OSError, ValueError):
        raise InterfaceError(_no_interface_message(interface)) from None


def _no_interface_message(interface: str) -> str:
    shown = interface.encode("unicode_escape").decode("ascii")
    return f'there is no interface "{shown}"; expected one of: {", ".join(_interfaces())}'


def _error_message(interface: str, error: OSError | ValueError | OverflowError) -> str:
    shown = interface.encode("unicode_escape").decode("ascii")
    number = getattr(error, "errno", None)
    if number == errno.ENODEV:
        return _no_interface_message(interface)
    if number == errno.ENOMEM:
        size = BLOCK_BYTES * BLOCKS >> 20
        return f'"{shown}": the kernel has no {size} MiB of memory for the ring'
    if number == errno.ENETDOWN:
        return f'"{shown}" is down; expected an interface that is up (ip link set {shown} up)'
    reason = os.strerror(number) if number else str(error)
    return f'"{shown}" cannot be listened to ({reason}); expected the name of an interface'


def _interfaces() -> list[str]:
    return [name for _, name in socket.if_nameindex()]
