"""Serves the page until it is told to stop, and then stops at once, whoever still looks."""

from __future__ import annotations

import asyncio
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
_MOST_CONNECTIONS: Final = 1000


class PageServer:
    """A socket that is open until :meth:`close`, and a page that is served by :meth:`run`.

    Args:
        path: the journal.
        listener: where; without a token one is made up.
        option: of the command line, that messages name.
        answers: who takes a person's answers; ``None`` for a page that only shows.

    Raises:
        ListenerError: the address is taken or not there.
    """

    def __init__(
        self,
        path: Path,
        listener: Listener,
        *,
        option: str = "--listen",
        answers: Answers | None = None,
    ) -> None:
        token = listener.token or secrets.token_urlsafe(24)
        self._path = path
        self._answers = answers
        self._stop: Callable[[], object] = lambda: None
        kind = socket.AF_INET6 if ":" in listener.address else socket.AF_INET
        self._socket = socket.socket(kind, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((listener.address, listener.port))
            self._socket.listen(128)
        except OSError as error:
            self._socket.close()
            where = f"{listener.address}:{listener.port}"
            message = f"{option}: {where} cannot be listened on ({error.strerror})"
            raise ListenerError(message) from None
        port = int(self._socket.getsockname()[1])
        self.listener = replace(listener, port=port, token=token)

    @property
    def address(self) -> str:
        """What to open in a browser; whoever has it may look."""
        host = self.listener.address
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.listener.port}/?token={self.listener.token}"

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
        self._socket.close()

    async def _serve(self, ready: Callable[[], None] | None) -> None:
        import uvicorn

        from vermilion.status.live_page.access import Access
        from vermilion.status.live_page.application import application
        from vermilion.status.live_page.broadcast import Broadcast
        from vermilion.status.live_page.journal_reader import JournalReader

        broadcast = Broadcast(JournalReader(self._path))
        page = Access(
            application(self._path, broadcast, self._answers),
            self.listener,
            _LOOPBACK_NAMES,
            answers=self._answers is not None,
        )

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
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
                limit_concurrency=_MOST_CONNECTIONS,
                timeout_graceful_shutdown=_PATIENCE_S,
            )
        )

        def stop() -> None:
            server.should_exit = True

        self._stop = stop
        await server.serve([self._socket])
