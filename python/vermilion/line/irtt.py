"""Packets of IRTT (Isochronous Round-Trip Tester), and a client's session with a server. Pure.

A server answers only those who have opened a session: that gives a token, and the terms. Each
echo brings back the server's times. Written after packet.go, params.go and sconn.go of
https://github.com/heistp/irtt (protocol version 1); integers are little-endian.

| packet | bytes after the magic number (3) and the flags (1) |
| --- | --- |
| request to open | parameters |
| its answer | token (8), parameters |
| echo, both ways | token (8), sequence (4), in the answer times (8 each), padding |
| end | token (8) |

A parameter is a number and a value, both of variable length as in Go's ``encoding/binary``. A
server that has a key answers nobody without it, so it looks as if there were none.
"""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEME: Final = "irtt://"
_PORT: Final = 2112
_MAGIC: Final = b"\x14\xa7\x5b"
_OPEN, _REPLY, _CLOSE, _KEYED = 1, 2, 4, 8
_TOKEN: Final = struct.Struct("<3xBQ")
_ECHO: Final = struct.Struct("<3sBQI")
_TIME: Final = struct.Struct("<q")
_ECHO_BYTES: Final = 32
"""Length of an echo with two times. With the headers of UDP and IPv4 that is ``PROBE_BYTES``."""

_VERSION, _DURATION, _INTERVAL, _LENGTH, _STATISTICS, _STAMP_AT, _CLOCK, _DSCP, _FILL = range(1, 10)
_NOWHERE, _AT_BOTH, _MIDPOINT = 0, 3, 4
_MONOTONIC: Final = 2
_SECOND: Final = 1_000_000_000
_ASKED: Final = {
    _VERSION: 1,
    _DURATION: 86_400 * _SECOND,
    _INTERVAL: _SECOND // 40,  # what ``Prober`` keeps to, even where it is late
    _LENGTH: _ECHO_BYTES,
    _STAMP_AT: _AT_BOTH,
    _CLOCK: _MONOTONIC,
}
_LONGEST_INTERVAL: Final = _SECOND
_RETRY: Final = _SECOND
_FORGOTTEN: Final = 2


def server_of(text: str) -> tuple[str, int]:
    """Return the address and port in ``irtt://ADDRESS[:PORT]``.

    Raises:
        ValueError: it is none.
    """
    address, colon, port = text.removeprefix(SCHEME).partition(":")
    if not text.startswith(SCHEME) or (colon and not (port.isascii() and port.isdigit())):
        raise ValueError(text)
    number = int(port[:6]) if colon else _PORT
    if not 0 < number < 1 << 16:
        raise ValueError(text)
    return str(ipaddress.IPv4Address(address)), number


@dataclass(frozen=True, slots=True)
class Message:
    """A packet of IRTT.

    Attributes:
        flags: of it.
        token: of the session; of a request to open, nonsense.
        sequence: of an echo.
        rest: what follows; its form depends on the flags.
    """

    flags: int
    token: int
    sequence: int
    rest: bytes

    @property
    def is_reply(self) -> bool:
        """True for a server's."""
        return bool(self.flags & _REPLY)

    @property
    def is_opening(self) -> bool:
        """True for the opening of a session."""
        return bool(self.flags & _OPEN)

    @property
    def is_echo(self) -> bool:
        """True for a client's echo."""
        return not self.flags

    @property
    def is_end(self) -> bool:
        """True if there is no session, or none any more."""
        return bool(self.flags & _CLOSE)


def parse(payload: bytes) -> Message | None:
    """Return the packet in a datagram; ``None``: it is none, or one with a key."""
    if len(payload) < _TOKEN.size or not payload.startswith(_MAGIC) or payload[3] >= _KEYED:
        return None
    if payload[3] & _OPEN:
        flags, token = _TOKEN.unpack_from(payload)
        return Message(flags, token, 0, payload[_TOKEN.size :])
    if len(payload) < _ECHO.size:
        return None  # the end, perhaps
    _, flags, token, sequence = _ECHO.unpack_from(payload)
    return Message(flags, token, sequence, payload[_ECHO.size :])


def _number(value: int) -> bytes:
    """Return an integer as Go's ``PutUvarint`` has it."""
    low, high = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _number(high) if high else bytes([low])


def _numbers(data: bytes) -> Iterator[int]:
    """Return such integers until the bytes make no sense."""
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            yield value
            value = shift = 0
        elif shift > 63:  # noqa: PLR2004 - longer than 64 bits
            return


def _parameters(data: bytes) -> dict[int, int]:
    """Return the parameters that can be read, but for text, which nobody has asked for."""
    found: dict[int, int] = {}
    numbers = _numbers(data)
    for name, value in zip(numbers, numbers, strict=False):
        if name == _FILL:
            break
        found[name] = value >> 1 ^ -(value & 1)
    return found


def opening() -> bytes:
    """Return a request to open a session."""
    parameters = (_number(name) + _number(value << 1) for name, value in _ASKED.items())
    return _MAGIC + bytes([_OPEN]) + b"".join(parameters)


def end(token: int) -> bytes:
    """Return what ends a session."""
    return _ECHO.pack(_MAGIC, _CLOSE, token, 0)[: _TOKEN.size]


class Session:
    """A client's session with one server, again and again.

    Attributes:
        token: of the session; ``None``: there is none.
        is_opening: whether a request to open is out.
        has_opened: whether the server has ever opened one.
    """

    def __init__(self) -> None:
        self.token: int | None = None
        self.is_opening = self.has_opened = False
        self._former: int | None = None
        self._requests = 0  # to open, not yet answered
        self._next = self._again = self._interval = 0
        self._stamp_at = _NOWHERE

    def is_ready(self, now: int) -> bool:
        """Return True if the server may be sent something: not more often than it allows."""
        return now >= self._next

    def wants_opening(self, now: int, unanswered: int) -> bool:
        """Return True if there is no session, or the server seems to have forgotten it."""
        return self.token is None or (unanswered >= _FORGOTTEN and now >= self._again)

    def open(self, now: int) -> bytes:
        """Return a request to open, each second at most while there is no answer."""
        self.is_opening = True
        self._requests += 1
        self._again = now + _RETRY
        if self.token is None:
            self._next = self._again
        return opening()

    def echo(self, sequence: int, now: int) -> bytes:
        """Return an echo.

        Raises:
            ValueError: there is no session.
        """
        if self.token is None:
            raise ValueError(sequence)
        self._next = now + self._interval
        return _ECHO.pack(_MAGIC, 0, self.token, sequence).ljust(_ECHO_BYTES, b"\0")

    def opened(self, answer: Message) -> tuple[int | None, str]:
        """Take in the answer to a request to open.

        Returns:
            the token of a session that is to be ended, and why the server is of no use, if it is so
        """
        if not self._requests:
            return None, ""  # nobody has asked
        self._requests -= 1
        not_wanted = None if answer.is_end else answer.token
        if not self.is_opening:
            return not_wanted, ""  # an earlier answer has come
        self.is_opening = False
        terms = _parameters(answer.rest)
        stamp_at = terms.get(_STAMP_AT, _NOWHERE)
        has_clock = stamp_at == _NOWHERE or terms.get(_CLOCK) == _MONOTONIC
        if answer.is_end or terms.get(_VERSION) != _ASKED[_VERSION]:
            return not_wanted, "speaks another version of IRTT's protocol"
        if not (_NOWHERE <= stamp_at <= _MIDPOINT and has_clock) or terms.get(_STATISTICS, 0):
            return not_wanted, "opens a session that nobody has asked for"
        if not 0 < terms.get(_INTERVAL, 0) <= _LONGEST_INTERVAL:
            return not_wanted, "does not allow a packet each second"
        self._former, self.token = self.token, answer.token
        self.has_opened = True
        self._stamp_at, self._interval, self._next = stamp_at, terms[_INTERVAL], 0
        return self._former, ""

    def knows(self, answer: Message) -> bool:
        """Check that an answer to an echo has the session's token, or that of the one before."""
        return answer.token in {self.token, self._former}

    def times(self, answer: Message) -> tuple[int, int] | None:
        """Return when an echo came to the server and when it left there, on a clock of its own."""
        count = {_NOWHERE: 0, _AT_BOTH: 2}.get(self._stamp_at, 1)
        if not count or len(answer.rest) < count * _TIME.size:
            return None
        came = _TIME.unpack_from(answer.rest)[0]
        return came, _TIME.unpack_from(answer.rest, (count - 1) * _TIME.size)[0]

    def answered(self, answer: Message) -> None:
        """Take in that the server lives, and whether it ends the session."""
        self.is_opening = False
        if answer.is_end and answer.token == self.token:
            self._former, self.token = self.token, None
