"""Messages cut out of a stream of octets, however it is split. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.agentx.codec import HEADER_BYTES, ParseError, decode, payload_length

if TYPE_CHECKING:
    from vermilion.agentx.protocol import Message


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
