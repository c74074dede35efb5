"""Netlink messages about queues: requests out, answers in.

Source: include/uapi/linux/netlink.h (``nlmsghdr``, ``nlmsgerr``, extended acknowledgements),
rtnetlink.h (``tcmsg``, ``ifinfomsg``). Pure: bytes in, bytes out; :mod:`.route_socket` sends them.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Final

from vermilion.routers.linux.attributes import (
    AnswerError,
    attribute_bytes,
    by_type,
    check_length,
    number_of,
    parse_attributes,
)

NEW_LINK: Final = 16
GET_LINK: Final = 18
NEW_QUEUE: Final = 36
DELETE_QUEUE: Final = 37
GET_QUEUE: Final = 38

ERROR: Final = 2
DONE: Final = 3

REQUEST: Final = 0x1
ACKNOWLEDGE: Final = 0x4
REPLACE: Final = 0x100
DUMP: Final = 0x300
CREATE: Final = 0x400
_CAPPED: Final = 0x100
_HAS_ATTRIBUTES: Final = 0x200

ROOT: Final = 0xFFFFFFFF
"""The parent of a queue at the root of an interface."""

INGRESS: Final = 0xFFFFFFF1
"""The parent of what is done with packets that arrive."""

INTERFACE_NAME: Final = 3

KIND: Final = 1
OPTIONS: Final = 2
STATISTICS: Final = 7
DUMP_INVISIBLE: Final = 10

_HEADER: Final = struct.Struct("=IHHII")
_QUEUE_HEADER: Final = struct.Struct("=BxxxiIII")
_LINK_HEADER: Final = struct.Struct("=BxHiII")
_ERROR_NUMBER: Final = struct.Struct("=i")
_LENGTH: Final = struct.Struct("=I")
_TEXT: Final = 1
_OFFSET: Final = 2


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the kernel.

    Attributes:
        type: what it is about (``NEW_QUEUE``, ``ERROR``...).
        flags: of the header.
        sequence: of the request that it answers.
        payload: what follows the header.
    """

    type: int
    flags: int
    sequence: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the kernel refused a request.

    Attributes:
        number: its error number, above 0.
        text: its own words; ``None`` where it has none.
        offset: of the byte in the request that it objects to; ``None`` where it does not say.
    """

    number: int
    text: str | None
    offset: int | None

    def words(self) -> str:
        """One line: the kernel's own words first, if it has any."""
        name = os.strerror(self.number)
        words = name if self.text is None else f"{self.text} ({name})"
        return words if self.offset is None else f"{words}, at byte {self.offset} of the request"


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """The head of a message about a queue.

    Attributes:
        interface: its number.
        handle: of the queue; 0 for one that the kernel has put there by itself.
        parent: class that it is below, or ``ROOT``.
        attributes: the payloads by type.
    """

    interface: int
    handle: int
    parent: int
    attributes: dict[int, bytes]


@dataclass(frozen=True, slots=True)
class LinkMessage:
    """The head of a message about an interface.

    Attributes:
        hardware: its kind, like 1 for Ethernet.
        interface: its number.
        flags: ``IFF_UP`` and so on.
        attributes: the payloads by type.
    """

    hardware: int
    interface: int
    flags: int
    attributes: dict[int, bytes]


def request(kind: int, flags: int, sequence: int, body: bytes) -> bytes:
    """A message to the kernel."""
    return _HEADER.pack(_HEADER.size + len(body), kind, flags | REQUEST, sequence, 0) + body


def queue_body(interface: int, handle: int, parent: int) -> bytes:
    """What a message about one queue begins with."""
    return _QUEUE_HEADER.pack(0, interface, handle, parent, 0)


def queue_settings(kind: str, options: bytes, *, nested: int = OPTIONS) -> bytes:
    """The attributes of a message that sets a queue: its kind and its options."""
    return attribute_bytes(KIND, kind.encode() + b"\0") + attribute_bytes(nested, options)


def links_body() -> bytes:
    """What a request for all interfaces has to say."""
    return _LINK_HEADER.pack(0, 0, 0, 0, 0)


def link_body(name: str) -> bytes:
    """What a request for the interface of a name has to say."""
    return links_body() + attribute_bytes(INTERFACE_NAME, name.encode() + b"\0")


def parse_messages(data: bytes) -> list[Message]:
    """The messages in what one receive has brought.

    Raises:
        AnswerError: the lengths do not add up.
    """
    found: list[Message] = []
    at = 0
    while at < len(data):
        if len(data) - at < _HEADER.size:
            raise AnswerError("message", f"{len(data) - at} bytes are left over at byte {at}")
        length, kind, flags, sequence, _port = _HEADER.unpack_from(data, at)
        if not _HEADER.size <= length <= len(data) - at:
            raise AnswerError("message", f"it says that it has {length} of {len(data) - at} bytes")
        found.append(Message(kind, flags, sequence, data[at + _HEADER.size : at + length]))
        at += length + -length % 4
    return found


def parse_refusal(message: Message) -> Refusal | None:
    """What an error message says; ``None`` for the acknowledgement of a request that was obeyed.

    Raises:
        AnswerError: it is too short.
    """
    number = _error_number(message, "error message")
    if number == 0:
        return None
    own = message.payload[_start_of_told(message) :] if message.flags & _HAS_ATTRIBUTES else b""
    return _refusal(number, own, "error message")


def parse_end(message: Message) -> Refusal | None:
    """Why a list ends before it is whole; ``None`` where it is whole.

    Linux ends a list so that it cannot go on with, and not with an error message
    (``netlink_dump_done`` in net/netlink/af_netlink.c).

    Raises:
        AnswerError: it is too short.
    """
    what = "end of a list"
    number = _error_number(message, what)
    if number >= 0:
        return None
    own = message.payload[_ERROR_NUMBER.size :] if message.flags & _HAS_ATTRIBUTES else b""
    return _refusal(number, own, what)


def _error_number(message: Message, what: str) -> int:
    check_length(message.payload, _ERROR_NUMBER.size, what)
    return int(_ERROR_NUMBER.unpack_from(message.payload)[0])


def _refusal(number: int, own: bytes, what: str) -> Refusal:
    """A refusal with the message's own attributes."""
    told = by_type(parse_attributes(own, what))
    text = told.get(_TEXT, b"").partition(b"\0")[0].decode("utf-8", errors="replace")
    words = "".join(letter if letter.isprintable() else "?" for letter in text)
    offset = number_of(told[_OFFSET], what) if _OFFSET in told else None
    return Refusal(abs(number), words or None, offset)


def _start_of_told(message: Message) -> int:
    """Where an error message's own attributes begin: behind the request, or behind its header."""
    start = _ERROR_NUMBER.size + _HEADER.size
    check_length(message.payload, start, "error message")
    if message.flags & _CAPPED:
        return start
    length = int(_LENGTH.unpack_from(message.payload, _ERROR_NUMBER.size)[0])
    end = _ERROR_NUMBER.size + length + -length % 4
    if not start <= end <= len(message.payload):
        what, wrong = "error message", f"it quotes a request of {length} bytes"
        raise AnswerError(what, wrong)
    return end


def parse_queue(payload: bytes) -> QueueMessage:
    """The head and the attributes of a message about a queue.

    Raises:
        AnswerError: it is cut off.
    """
    check_length(payload, _QUEUE_HEADER.size, "queue")
    _family, interface, handle, parent, _info = _QUEUE_HEADER.unpack_from(payload)
    attributes = parse_attributes(payload[_QUEUE_HEADER.size :], "queue")
    return QueueMessage(interface, handle, parent, by_type(attributes))


def parse_link(payload: bytes) -> LinkMessage:
    """The head and the attributes of a message about an interface.

    Raises:
        AnswerError: it is cut off.
    """
    check_length(payload, _LINK_HEADER.size, "interface")
    _family, hardware, interface, flags, _change = _LINK_HEADER.unpack_from(payload)
    attributes = parse_attributes(payload[_LINK_HEADER.size :], "interface")
    return LinkMessage(hardware, interface, flags, by_type(attributes))
