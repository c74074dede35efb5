"""Bytes to messages of AgentX and back (RFC 2741, 5 and 6). Pure.

Every message has a header of 20 octets, in which the byte order of the rest is a flag; whatever
follows is padded to multiples of 4. Nothing is guessed: a message whose parts do not fill its
payload exactly is refused.
"""

from __future__ import annotations

import struct
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

from vermilion.agentx.protocol import (
    LONGEST,
    VERSION,
    Binding,
    Body,
    CleanupSet,
    Close,
    CommitSet,
    Get,
    GetBulk,
    GetNext,
    Header,
    Message,
    Notify,
    ObjectIdentifier,
    Open,
    Ping,
    Register,
    Response,
    SearchRange,
    TestSet,
    UndoSet,
    Unregister,
    Value,
    ValueType,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


HEADER_BYTES: Final = 20
LARGEST_PAYLOAD: Final = 1 << 20
"""Octets; the largest SNMP message over UDP has 65,507."""

_INSTANCE: Final = 0x01
_CONTEXT: Final = 0x08
_NETWORK_ORDER: Final = 0x10
_INTERNET: Final[ObjectIdentifier] = (1, 3, 6, 1)
_LARGEST_PREFIX: Final = 255
_ADDRESS_BYTES: Final = 4
_NUMBERS_32: Final = {ValueType.COUNTER32, ValueType.GAUGE32, ValueType.TIME_TICKS}
_OCTETS: Final = {ValueType.OCTET_STRING, ValueType.IP_ADDRESS, ValueType.OPAQUE}
_WITH_CONTEXT: Final = {
    each.number for each in (Register, Unregister, Get, GetNext, GetBulk, TestSet, Notify, Ping)
}
_FORMS: Final[Mapping[type[Body], tuple[str, ...]]] = {
    Open: ("Bxxx", "name", "octets"),
    Close: ("Bxxx",),
    Register: ("BBBx", "name", "upper"),
    Unregister: ("xBBx", "name", "upper"),
    Get: ("ranges",),
    GetNext: ("ranges",),
    GetBulk: ("HH", "ranges"),
    TestSet: ("bindings",),
    CommitSet: (),
    UndoSet: (),
    CleanupSet: (),
    Notify: ("bindings",),
    Ping: (),
    Response: ("IHH", "bindings"),
}
"""The fields of each message in their order: numbers by their form, or a method's name."""

_KINDS: Final = {kind.number: kind for kind in _FORMS}


class ParseError(ValueError):
    """Octets that are no message of AgentX.

    Attributes:
        header: of the message, where that much could be read.
    """

    def __init__(self, problem: str, header: Header | None = None) -> None:
        super().__init__(problem)
        self.header = header


def payload_length(head: bytes) -> int:
    """Number of octets that follow a header.

    Args:
        head: the 20 octets of the header.

    Raises:
        ParseError: it is none; what follows cannot be found in the stream any more.
    """
    if head[0] != VERSION:
        message = f"version {head[0]} of AgentX; expected {VERSION}"
        raise ParseError(message)
    (length,) = struct.unpack_from(f"{_byte_order(head[2])}I", head, 16)
    if length % 4 or length > LARGEST_PAYLOAD:
        message = f"a payload of {length} octets; expected a multiple of 4 up to {LARGEST_PAYLOAD}"
        raise ParseError(message)
    return int(length)


def decode(octets: bytes) -> Message:
    """The message that some octets are.

    Raises:
        ParseError: they are none.
    """
    if len(octets) < HEADER_BYTES:
        message = f"{len(octets)} octets; expected a header of {HEADER_BYTES}"
        raise ParseError(message)
    length = payload_length(octets)
    number, flags = octets[1], octets[2]
    session, transaction, packet = struct.unpack_from(f"{_byte_order(flags)}III", octets, 4)
    header = Header(
        number,
        session,
        transaction,
        packet,
        network_order=bool(flags & _NETWORK_ORDER),
        instance=bool(flags & _INSTANCE),
    )
    if len(octets) != HEADER_BYTES + length:
        problem = f"{len(octets) - HEADER_BYTES} octets after the header; expected {length}"
        raise ParseError(problem, header)
    reader = _Reader(octets, HEADER_BYTES, _byte_order(flags))
    try:
        if flags & _CONTEXT and number in _WITH_CONTEXT:
            header = replace(header, context=reader.octets())
        body = _body(number, reader)
        reader.end()
    except ParseError as error:
        raise ParseError(str(error), header) from None
    return Message(header, body)


def encode(message: Message) -> bytes:
    """The octets of a message.

    The header's kind is that of the body, whatever it says itself.
    """
    header, body = message.header, message.body
    order = ">" if header.network_order else "<"
    writer = _Writer(order)
    flags = _NETWORK_ORDER if header.network_order else 0
    flags |= _INSTANCE if header.instance else 0
    if header.context is not None and body.number in _WITH_CONTEXT:
        flags |= _CONTEXT
        writer.octets(header.context)
    _write(body, writer)
    payload = bytes(writer.written)
    head = struct.pack(
        f"{order}BBBBIIII",
        VERSION,
        body.number,
        flags,
        0,
        header.session,
        header.transaction,
        header.packet,
        len(payload),
    )
    return head + payload


def _byte_order(flags: int) -> str:
    return ">" if flags & _NETWORK_ORDER else "<"


class _Reader:
    """Takes a payload apart."""

    def __init__(self, told: bytes, at: int, order: str) -> None:
        self._told = told
        self._at = at
        self._byte_order = order

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._told)

    def end(self) -> None:
        if not self.is_at_end:
            message = f"{len(self._told) - self._at} octets are left over"
            raise ParseError(message)

    def numbers(self, form: str) -> tuple[int, ...]:
        size = struct.calcsize(f"={form}")
        if self._at + size > len(self._told):
            message = "the payload ends in the middle of a number"
            raise ParseError(message)
        found = struct.unpack_from(f"{self._byte_order}{form}", self._told, self._at)
        self._at += size
        return found

    def octets(self) -> bytes:
        (length,) = self.numbers("I")
        padded = length + -length % 4
        if self._at + padded > len(self._told):
            message = f"the payload ends in the middle of a string of {length} octets"
            raise ParseError(message)
        found = self._told[self._at : self._at + length]
        self._at += padded
        return found

    def name(self) -> tuple[ObjectIdentifier, bool]:
        """An object identifier, and whether "include" is on."""
        count, prefix, include, _ = self.numbers("BBBB")
        if count + (len(_INTERNET) + 1 if prefix else 0) > LONGEST:
            message = f"an object identifier of {count} numbers; expected at most {LONGEST}"
            raise ParseError(message)
        if include > 1:
            message = f'"include" is {include}; expected 0 or 1'
            raise ParseError(message)
        numbers = self.numbers(f"{count}I") if count else ()
        return (*_INTERNET, prefix, *numbers) if prefix else numbers, bool(include)

    def ranges(self) -> tuple[SearchRange, ...]:
        found = []
        while not self.is_at_end:
            start, include = self.name()
            end, _ = self.name()
            found.append(SearchRange(start, include, end))
        return tuple(found)

    def bindings(self) -> tuple[Binding, ...]:
        found = []
        while not self.is_at_end:
            number, _ = self.numbers("HH")
            try:
                kind = ValueType(number)
            except ValueError:
                message = f"a value of the type {number}, which there is not"
                raise ParseError(message) from None
            name, _ = self.name()
            found.append(Binding(name, kind, self._value(kind)))
        return tuple(found)

    def _value(self, kind: ValueType) -> Value:
        if kind == ValueType.INTEGER:
            return self.numbers("i")[0]
        if kind in _NUMBERS_32:
            return self.numbers("I")[0]
        if kind == ValueType.COUNTER64:
            return self.numbers("Q")[0]
        if kind == ValueType.OBJECT_IDENTIFIER:
            return self.name()[0]
        if kind in _OCTETS:
            found = self.octets()
            if kind == ValueType.IP_ADDRESS and len(found) != _ADDRESS_BYTES:
                message = f"an address of {len(found)} octets; expected {_ADDRESS_BYTES}"
                raise ParseError(message)
            return found
        return None


def _body(number: int, reader: _Reader) -> Body:
    if number not in _KINDS:
        message = f"a message of the kind {number}, which no subagent is sent"
        raise ParseError(message)
    kind = _KINDS[number]
    values: list[Any] = []
    for part in _FORMS[kind]:
        if part == "name":
            values.append(reader.name()[0])
        elif part == "upper":  # after the number that says whether it is there, and the subtree
            values += reader.numbers("I") if values[-2] else [None]
        elif part in _METHODS:
            values.append(getattr(reader, part)())
        else:
            values += reader.numbers(part)
    return kind(*values)


_METHODS: Final = {"name", "octets", "ranges", "bindings"}


class _Writer:
    """Puts a payload together."""

    def __init__(self, order: str) -> None:
        self.written = bytearray()
        self._byte_order = order

    def numbers(self, form: str, *values: int) -> None:
        self.written += struct.pack(f"{self._byte_order}{form}", *values)

    def octets(self, told: bytes) -> None:
        self.numbers("I", len(told))
        self.written += told + bytes(-len(told) % 4)

    def name(self, name: ObjectIdentifier, *, include: bool = False) -> None:
        prefix = 0
        head = len(_INTERNET)
        if len(name) > head and name[:head] == _INTERNET and 0 < name[head] <= _LARGEST_PREFIX:
            prefix, name = name[head], name[head + 1 :]
        self.numbers(f"BBBB{len(name)}I", len(name), prefix, int(include), 0, *name)

    def ranges(self, ranges: Sequence[SearchRange]) -> None:
        for each in ranges:
            self.name(each.start, include=each.include)
            self.name(each.end)

    def bindings(self, bindings: Sequence[Binding]) -> None:
        for each in bindings:
            self.numbers("HH", each.type, 0)
            self.name(each.name)
            self._value(each)

    def _value(self, binding: Binding) -> None:
        value = binding.value
        if isinstance(value, int):
            if binding.type == ValueType.COUNTER64:
                self.numbers("Q", value)
            else:
                self.numbers("i" if binding.type == ValueType.INTEGER else "I", value)
        elif isinstance(value, bytes):
            self.octets(value)
        elif value is not None:
            self.name(value)


def _write(body: Body, writer: _Writer) -> None:
    values = [getattr(body, each.name) for each in fields(body)]
    for part in _FORMS[type(body)]:
        if part in _METHODS:
            getattr(writer, part)(values.pop(0))
        elif part != "upper":
            count = len(part.replace("x", ""))
            writer.numbers(part, *values[:count])
            del values[:count]
        elif isinstance(body, Register | Unregister) and body.range_subid:
            writer.numbers("I", body.upper_bound or 0)


class MessageStream:
    """Collects octets until they are whole messages."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def feed(self, octets: bytes) -> list[Message | ParseError]:
        """The messages that are whole now, in order; those that are none, as errors with a header.

        Raises:
            ParseError: the stream cannot be followed any further; the connection is of no use.
        """
        self._kept += octets
        found: list[Message | ParseError] = []
        while len(self._kept) >= HEADER_BYTES:
            size = HEADER_BYTES + payload_length(bytes(self._kept[:HEADER_BYTES]))
            if len(self._kept) < size:
                break
            whole = bytes(self._kept[:size])
            del self._kept[:size]
            try:
                found.append(decode(whole))
            except ParseError as error:
                found.append(error)
        return found
