"""Network namespaces of the guest: being in one, and how its interfaces treat packets."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEW_NETWORK: Final = 0x40000000
_TIMER_SLACK: Final = 29
_ETHTOOL: Final = 0x8946
_OFFLOADS: Final = {
    "generic receive": 0x2C,
    "generic segmentation": 0x24,
    "TCP segmentation": 0x1F,
    "transmit checksum": 0x17,
}
"""Of linux/ethtool.h: the commands that set them."""

_libc = ctypes.CDLL(None, use_errno=True)


def wake_on_time() -> None:
    """Lets this program be woken when it has asked for, not up to 50 microseconds later."""
    _libc.prctl(_TIMER_SLACK, 1, 0, 0, 0)


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Within this, sockets belong to a namespace."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    other = os.open(f"/run/netns/{name}", os.O_RDONLY)
    try:
        _enter(other)
        try:
            yield
        finally:
            _enter(own)
    finally:
        os.close(own)
        os.close(other)


def _enter(namespace: int) -> None:
    if _libc.setns(namespace, _NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "setns")


def set_kernel(name: str, value: str) -> None:
    """Sets one of the kernel's variables of the namespace (``sysctl``)."""
    Path("/proc/sys", *name.split(".")).write_text(value, encoding="ascii")


def send_packets_as_they_are() -> None:
    """Switches off whatever merges packets, on every interface of the namespace.

    An interface that does not have one of these says so, which is as good.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            for command in _OFFLOADS.values():
                value = ctypes.create_string_buffer(struct.pack("=II", command, 0))
                request = struct.pack("=16sQ16x", name.encode(), ctypes.addressof(value))
                try:
                    fcntl.ioctl(any_socket, _ETHTOOL, request)
                except OSError:
                    continue
