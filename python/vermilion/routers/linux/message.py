"""Netlink messages about queues and their attributes: requests out, answers in. Pure.

Source: include/uapi/linux/netlink.h (``nlmsghdr``, ``nlmsgerr``, extended acknowledgements,
``nlattr``), rtnetlink.h (``tcmsg``, ``ifinfomsg``). An attribute has a length that counts its
header of four bytes, a type whose two highest bits are flags, and a payload padded to four bytes,
all in the machine's byte order. Types that are not known are kept: kernels grow new ones.
"""

from __future__ import annotations

import os
import struct
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from vermilion.routers.base import RouterError
from vermilion.scenario.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

NESTED: Final = 0x8000
"""The flag of a type whose payload is attributes."""

_TYPE_MASK: Final = 0x3FFF
_ATTRIBUTE: Final = struct.Struct("=HH")
_ALIGNMENT: Final = 4


class AnswerError(RouterError):
    """The kernel's answer is not what it is documented to be; ``str()`` says what is wrong."""

    def __init__(self, what: str, wrong: str) -> None:
        super().__init__(f"the kernel's answer cannot be read: {what}: {wrong}")


def check_length(data: bytes, least: int, what: str) -> None:
    """Refuses what is shorter than it has to be.

    Raises:
        AnswerError: it is.
    """
    if len(data) < least:
        wrong = f"it has {len(data)} bytes, at least {least} are needed"
        raise AnswerError(what, wrong)


class Attribute(NamedTuple):
    """One attribute.

    Attributes:
        type: its number, without flags.
        payload: its bytes, without padding.
    """

    type: int
    payload: bytes


def padded(data: bytes) -> bytes:
    """The bytes with zeros after them up to a multiple of four."""
    return data + bytes(-len(data) % _ALIGNMENT)


def parse_attributes(data: bytes, what: str) -> tuple[Attribute, ...]:
    """The attributes in some bytes, in their order.

    Args:
        data: one attribute after another.
        what: whose attributes they are, for the message.

    Raises:
        AnswerError: the lengths do not add up.
    """
    found: list[Attribute] = []
    at = 0
    while at < len(data):
        if len(data) - at < _ATTRIBUTE.size:
            raise AnswerError(what, f"{len(data) - at} bytes are left over at byte {at}")
        length, number = _ATTRIBUTE.unpack_from(data, at)
        if not _ATTRIBUTE.size <= length <= len(data) - at:
            wrong = (
                f"the attribute at byte {at} says that it has {length} of {len(data) - at} bytes"
            )
            raise AnswerError(what, wrong)
        found.append(Attribute(number & _TYPE_MASK, data[at + _ATTRIBUTE.size : at + length]))
        at += length + -length % _ALIGNMENT
    return tuple(found)


def by_type(attributes: Iterable[Attribute]) -> dict[int, bytes]:
    """The payloads by type; of a type that comes twice, the last, as the kernel itself reads."""
    return dict(attributes)


def attribute_bytes(number: int, payload: bytes) -> bytes:
    """An attribute as the kernel reads it, padding included."""
    return padded(_ATTRIBUTE.pack(_ATTRIBUTE.size + len(payload), number) + payload)


def u32_bytes(number: int, value: int) -> bytes:
    """An attribute with a number of 32 bits."""
    return attribute_bytes(number, struct.pack("=I", value))


def number_of(payload: bytes, what: str) -> int:
    """The unsigned number that an attribute holds, of 1, 2, 4 or 8 bytes.

    Raises:
        AnswerError: it has another size.
    """
    if len(payload) not in {1, 2, 4, 8}:
        raise AnswerError(what, f"a number of {len(payload)} bytes")
    return int.from_bytes(payload, sys.byteorder)


def text_of(payload: bytes, what: str) -> str:
    """The text that an attribute holds, up to its closing zero.

    Raises:
        AnswerError: it is empty, or no text.
    """
    text = payload.partition(b"\0")[0].decode("utf-8", errors="replace")
    if not text:
        raise AnswerError(what, "an empty name")
    return text


NEW_LINK: Final = 16
GET_LINK: Final = 18
NEW_QUEUE: Final = 36
GET_QUEUE: Final = 38
NEW_CLASS: Final = 40
GET_CLASS: Final = 42
GET_FILTER: Final = 46

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
    """Reason for which the kernel refused a request.

    Attributes:
        number: its error number, above 0.
        text: its own words; ``None`` where it has none.
        offset: of the byte in the request that it objects to; ``None`` where it does not say.
    """

    number: int
    text: str | None
    offset: int | None

    def words(self) -> str:
        """Format as one line: the kernel's own words first, if it has any."""
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
    """Head of a message about one queue."""
    return _QUEUE_HEADER.pack(0, interface, handle, parent, 0)


def queue_settings(kind: str, options: bytes, *, nested: int = OPTIONS) -> bytes:
    """The attributes of a message that sets a queue: its kind and its options."""
    return attribute_bytes(KIND, kind.encode() + b"\0") + attribute_bytes(nested, options)


def links_body() -> bytes:
    """Body of a request for all interfaces."""
    return _LINK_HEADER.pack(0, 0, 0, 0, 0)


def link_body(name: str) -> bytes:
    """Body of a request for the interface of a name."""
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
    """Refusal in an error message; ``None`` for an acknowledgement.

    Raises:
        AnswerError: it is too short.
    """
    number = _error_number(message, "error message")
    if number == 0:
        return None
    own = message.payload[_attributes_offset(message) :] if message.flags & _HAS_ATTRIBUTES else b""
    return _refusal(number, own, "error message")


def parse_end(message: Message) -> Refusal | None:
    """Reason why a list is cut short; ``None`` for a whole one.

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
    offset = number_of(told[_OFFSET], what) if _OFFSET in told else None
    return Refusal(abs(number), printable(text) or None, offset)


def _attributes_offset(message: Message) -> int:
    """Start of an error message's own attributes: behind the request, or behind its header."""
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
