"""Bounds on connections: in number, in time, and a share of them for those who have the token.

A connection is a stranger until a request on it shows the token. Strangers have a place of their
own (:data:`MOST_STRANGERS`): one more puts out the oldest that waits for nothing. A stranger gets
one answer, and everything, from connecting until the answer is taken, within :data:`PATIENCE_S`.
Whoever has shown the token keeps the connection, but each request has to be complete within that
time too, and an answer has to be taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

PATIENCE_S: Final = 5.0
"""Time for a complete request, head and body; of a stranger, for its answer as well."""

STALLED_S: Final = 30.0
"""Time after which a reader that takes nothing of its answer is put out."""

MOST_STRANGERS: Final = 300
"""Connections that have not shown the token; several times :data:`BACKLOG`, so that a new one is
read before others that came with it put it out."""

MOST_KNOWN: Final = 600
"""Connections that have: more than the pages that may be open (broadcast.MOST_WATCHERS)."""

BACKLOG: Final = 50
"""Connections accepted at a time."""


class Places:
    """The connections of one server."""

    def __init__(self) -> None:
        self._strangers: dict[Connection, None] = {}
        self._known: set[Connection] = set()

    def enter(self, connection: Connection) -> None:
        """Take a new one in, in place of the oldest stranger if there are too many."""
        if len(self._strangers) >= MOST_STRANGERS:
            idle = (each for each in self._strangers if each.is_idle)
            oldest = next(idle, next(iter(self._strangers)))
            self.leave(oldest)
            oldest.transport.abort()
        self._strangers[connection] = None

    def promote(self, connection: Connection) -> bool:
        """Move one that has shown the token to the known ones; false if there is no room."""
        if len(self._known) >= MOST_KNOWN:
            return False
        self._strangers.pop(connection, None)
        self._known.add(connection)
        return True

    def leave(self, connection: Connection) -> None:
        """Forget one that has ended."""
        self._strangers.pop(connection, None)
        self._known.discard(connection)


class Connection(H11Protocol):
    """One connection; requests find it as ``scope["state"]["connection"]``."""

    places: ClassVar[Places]

    def __init__(self, *arguments: Any, **more: Any) -> None:  # noqa: ANN401 - handed on to uvicorn
        super().__init__(*arguments, **more)
        self.app_state = {**self.app_state, "connection": self}
        self.is_known = False
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for its answer."""
        return self.cycle is None or self.cycle.response_complete

    def recognise(self) -> bool:
        """The token was shown: keep the connection. False if there are too many of those."""
        if not self.is_known and self.places.promote(self):
            self.is_known = True
            self._limit_request()
        return self.is_known

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Count it, and give it its time."""
        super().connection_made(transport)
        self.places.enter(self)
        self._deadline = self.loop.call_later(PATIENCE_S, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give its place back."""
        self.places.leave(self)
        self._cancel_deadline()
        self._cancel_stalled()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; the time runs until the request is complete, whatever drips in."""
        super().data_received(data)
        self._limit_request()

    def on_response_complete(self) -> None:
        """Give the next request its own time."""
        super().on_response_complete()
        if self.is_known:
            self._cancel_deadline()
            self._limit_request()

    def pause_writing(self) -> None:
        """The reader takes nothing for now."""
        super().pause_writing()
        self._stalled = self.loop.call_later(STALLED_S, self.transport.abort)

    def resume_writing(self) -> None:
        """The reader goes on."""
        super().resume_writing()
        self._cancel_stalled()

    def _limit_request(self) -> None:
        if not self.is_known or self.transport.is_closing():
            return
        if self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._cancel_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(PATIENCE_S, self.transport.abort)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cancel_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
