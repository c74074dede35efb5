"""Netlink attributes: lists of (type, bytes), as the kernel writes and reads them.

Source: include/uapi/linux/netlink.h (``struct nlattr``): a length that counts the header of four
bytes, a type whose two highest bits are flags, and a payload padded to four bytes; all in the
machine's own byte order. A type that is not known is kept as it is: kernels grow new ones.
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from vermilion.routers.base import RouterError

if TYPE_CHECKING:
    from collections.abc import Iterable

NESTED: Final = 0x8000
"""The flag of a type whose payload is attributes."""

_TYPE_MASK: Final = 0x3FFF
_HEADER: Final = struct.Struct("=HH")
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
        if len(data) - at < _HEADER.size:
            raise AnswerError(what, f"{len(data) - at} bytes are left over at byte {at}")
        length, number = _HEADER.unpack_from(data, at)
        if not _HEADER.size <= length <= len(data) - at:
            wrong = (
                f"the attribute at byte {at} says that it has {length} of {len(data) - at} bytes"
            )
            raise AnswerError(what, wrong)
        found.append(Attribute(number & _TYPE_MASK, data[at + _HEADER.size : at + length]))
        at += length + -length % _ALIGNMENT
    return tuple(found)


def by_type(attributes: Iterable[Attribute]) -> dict[int, bytes]:
    """The payloads by type; of a type that comes twice, the last, as the kernel itself reads."""
    return dict(attributes)


def attribute_bytes(number: int, payload: bytes) -> bytes:
    """An attribute as the kernel reads it, padding included."""
    return padded(_HEADER.pack(_HEADER.size + len(payload), number) + payload)


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
