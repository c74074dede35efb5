"""Masquerading rule: packets of a link's other end leave under this machine's address.

It stands in a table of nf_tables that belongs to a socket (``NFT_TABLE_F_OWNER``, Linux 5.12): when
the process that holds the socket ends, however it ends, the kernel removes the table. Nobody else
can change it. Source of all numbers: ``include/uapi/linux/netfilter/nf_tables.h``, ``nfnetlink.h``.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion.link.device import LinkError
from vermilion.routers.linux.message import (
    ACKNOWLEDGE,
    CREATE,
    ERROR,
    attribute_bytes,
    parse_messages,
    parse_refusal,
    request,
)

if TYPE_CHECKING:
    from ipaddress import IPv4Address

_NETFILTER: Final = 12
_BEGIN, _END = 0x10, 0x11
_SUBSYSTEM: Final = 10
_NEW_TABLE, _NEW_CHAIN, _NEW_RULE = 0, 3, 6
_IPV4: Final = 2
_OWNED: Final = 2
_POST_ROUTING: Final = 4
_SOURCE_NAT_PRIORITY: Final = 100
_SOURCE_ADDRESS_AT, _ADDRESS_BYTES = 12, 4
_NETWORK_HEADER: Final = 1
_REGISTER: Final = 1
_EQUAL: Final = 0
_MESSAGES: Final = 3
"""Number of messages acknowledged one by one: the table, its chain, the rule."""

_FORWARDING: Final = Path("/proc/sys/net/ipv4/ip_forward")


class Masquerade:
    """The rule for one address; it is there as long as this is, or the process.

    Args:
        name: of the table.
        address: of the end of the link whose packets are to leave under another one.

    Raises:
        LinkError: the machine forwards no packets, or has no nf_tables, or does not allow it.
    """

    def __init__(self, name: str, address: IPv4Address) -> None:
        check_forwarding()
        with ExitStack() as unless_it_stands:
            try:
                self._socket = unless_it_stands.enter_context(
                    socket.socket(
                        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETFILTER
                    )
                )
                self._socket.bind((0, 0))
                self._socket.settimeout(5.0)
                self._socket.send(_batch(name, address))
                self._read_acknowledgements()
            except OSError as error:
                reason = os.strerror(error.errno) if error.errno else str(error)
                raise LinkError(_error_message(error.errno, reason)) from None
            unless_it_stands.pop_all()

    def close(self) -> None:
        """Remove the rule."""
        self._socket.close()

    def _read_acknowledgements(self) -> None:
        left = _MESSAGES
        while left > 0:
            for message in parse_messages(self._socket.recv(1 << 16)):
                if message.type != ERROR:
                    continue
                refusal = parse_refusal(message)
                if refusal is not None:
                    raise OSError(refusal.number, refusal.words())
                left -= 1


def check_forwarding() -> None:
    """Refuse a machine that forwards no packets between its interfaces.

    Raises:
        LinkError: it does not.
    """
    try:
        forwards = _FORWARDING.read_text(encoding="ascii").strip() == "1"
    except OSError:
        forwards = False
    if not forwards:
        message = (
            "this machine forwards no packets; to allow it: sysctl -w "
            "net.ipv4.ip_forward=1; or use --isolated"
        )
        raise LinkError(message)


def _error_message(number: int | None, reason: str) -> str:
    if number == errno.EPERM:
        cure = "the capability CAP_NET_ADMIN is missing; run it as root, or use --isolated"
    else:
        cure = (
            "expected a Linux of 5.12 or newer with nf_tables and masquerading; or use --isolated"
        )
    return f"the way out of the link cannot be made ({reason}): {cure}"


def _batch(name: str, address: IPv4Address) -> bytes:
    """Batch of the table, a chain after routing and the rule, applied as a whole or not at all."""
    table = name.encode() + b"\0"
    chain = b"out\0"
    hook = _number(1, _POST_ROUTING) + _number(2, _SOURCE_NAT_PRIORITY)
    body_of_chain = (
        attribute_bytes(1, table)
        + attribute_bytes(3, chain)
        + _nested_attribute(4, hook)
        + attribute_bytes(7, b"nat\0")
    )
    source = (
        _number(1, _REGISTER)
        + _number(2, _NETWORK_HEADER)
        + _number(3, _SOURCE_ADDRESS_AT)
        + _number(4, _ADDRESS_BYTES)
    )
    same = (
        _number(1, _REGISTER)
        + _number(2, _EQUAL)
        + _nested_attribute(3, attribute_bytes(1, address.packed))
    )
    steps = _expression(b"payload", source) + _expression(b"cmp", same) + _expression(b"masq", b"")
    rule = attribute_bytes(1, table) + attribute_bytes(2, chain) + _nested_attribute(4, steps)
    messages = (
        (_NEW_TABLE, attribute_bytes(1, table) + _number(2, _OWNED)),
        (_NEW_CHAIN, body_of_chain),
        (_NEW_RULE, rule),
    )
    head = struct.pack("=BB", 0, 0) + struct.pack(">H", _SUBSYSTEM)
    texts = [request(_BEGIN, 0, 0, head)]
    for sequence, (kind, body) in enumerate(messages, start=1):
        family = struct.pack("=BBH", _IPV4, 0, 0)
        flags = CREATE | ACKNOWLEDGE
        texts.append(request(_SUBSYSTEM << 8 | kind, flags, sequence, family + body))
    texts.append(request(_END, 0, len(messages) + 1, head))
    return b"".join(texts)


def _number(kind: int, value: int) -> bytes:
    return attribute_bytes(kind, struct.pack(">I", value))


def _nested_attribute(kind: int, content: bytes) -> bytes:
    return attribute_bytes(kind | 0x8000, content)


def _expression(name: bytes, data: bytes) -> bytes:
    return _nested_attribute(1, attribute_bytes(1, name + b"\0") + _nested_attribute(2, data))
