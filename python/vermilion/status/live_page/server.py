"""Serves the page until it is told to stop, and then stops at once, whoever still looks."""

from __future__ import annotations

import asyncio
import math
import secrets
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from vermilion.status.listener import ListenerError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from vermilion.status.listener import Listener
    from vermilion.status.live_page.answers import Answers

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
_PATIENCE_S: Final = 1
_QUEUED: Final = 1024
"""Connections that the kernel keeps until they are accepted."""


class PageServer:
    """Sockets that are open until :meth:`close`, and a page and metrics served by :meth:`run`.

    Args:
        path: the journal.
        listeners: where; the page's token is made up where none is given.
        answers: who takes a person's answers; ``None`` for a page that only shows.
        metrics: the numbers for Prometheus as text; ``None`` where there are none.

    Raises:
        ListenerError: an address is taken or not there.
    """

    def __init__(
        self,
        path: Path,
        *listeners: Listener,
        answers: Answers | None = None,
        metrics: Callable[[], bytes] | None = None,
    ) -> None:
        self._path = path
        self._answers = answers
        self._metrics = metrics
        self._stop: Callable[[], object] = lambda: None
        self._sockets: list[socket.socket] = []
        self.listeners: list[Listener] = []
        given = next((each.token for each in listeners if not each.only_metrics), None)
        self.token = given or secrets.token_urlsafe(24)
        try:
            for each in listeners:
                self._sockets.append(_open(each))
                port = int(self._sockets[-1].getsockname()[1])
                self.listeners.append(replace(each, port=port))
        except ListenerError:
            self.close()
            raise

    @property
    def address(self) -> str:
        """The address to open in a browser, with the token; "" where only metrics are served."""
        for each in self.listeners:
            if not each.only_metrics:
                host = f"[{each.address}]" if ":" in each.address else each.address
                return f"http://{host}:{each.port}/?token={self.token}"
        return ""

    def run(self, ready: Callable[[], None] | None = None) -> None:
        """Serve until Ctrl-C or SIGTERM.

        Args:
            ready: called when the page can be asked for.
        """
        asyncio.run(self._serve(ready))

    def stop(self) -> None:
        """End :meth:`run`, from whatever thread."""
        self._stop()

    def close(self) -> None:
        """Stop listening."""
        for each in self._sockets:
            each.close()

    async def _serve(self, ready: Callable[[], None] | None) -> None:
        import uvicorn

        from vermilion.status.live_page.access import Access
        from vermilion.status.live_page.application import application
        from vermilion.status.live_page.broadcast import Broadcast
        from vermilion.status.live_page.connections import BACKLOG, PATIENCE_S, Connection, Places
        from vermilion.status.live_page.journal_reader import JournalReader

        broadcast = Broadcast(JournalReader(self._path))
        page = Access(
            application(self._path, broadcast, self._answers, self._metrics),
            self.listeners,
            self.token,
            _LOOPBACK_NAMES,
            answers=self._answers is not None,
        )

        class ConnectionHere(Connection):
            places = Places()

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                for each in sockets or ():
                    each.listen(_QUEUED)
                if ready is not None:
                    ready()

            async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
                # Streams never end by themselves, and a server waits for all of its answers.
                broadcast.close()
                await super().shutdown(sockets)

        server = Server(
            uvicorn.Config(
                page,
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                http=ConnectionHere,
                ws="none",
                backlog=BACKLOG,
                timeout_keep_alive=math.ceil(PATIENCE_S),
                timeout_graceful_shutdown=_PATIENCE_S,
            )
        )

        def stop() -> None:
            server.should_exit = True

        self._stop = stop
        await server.serve(self._sockets)


def _open(listener: Listener) -> socket.socket:
    kind = socket.AF_INET6 if ":" in listener.address else socket.AF_INET
    opened = socket.socket(kind, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((listener.address, listener.port))
        opened.listen(_QUEUED)
    except OSError as error:
        opened.close()
        where = f"{listener.address}:{listener.port}"
        message = f"{listener.option}: {where} cannot be listened on ({error.strerror})"
        raise ListenerError(message) from None
    return opened
