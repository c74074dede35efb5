"""Serves metrics over HTTP, on the loopback unless told otherwise.

One request at a time, each cut off after some seconds, whatever its reader sends meanwhile: one
that is slow keeps other readers waiting for so long, never the controller. Only ``GET /metrics`` is
answered.
"""

from __future__ import annotations

import contextlib
import hmac
import socket
import threading
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from vermilion.status.listener import ListenerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prometheus_client import CollectorRegistry

    from vermilion.status.listener import Listener

PATIENCE_S: Final = 2.0
"""How long a request may take, from its connection on until its answer is taken."""


class MetricsServer:
    """A socket that is open from the start, and a thread that answers from :meth:`start` on.

    Raises:
        ListenerError: the address is taken or not there.
    """

    def __init__(self, listener: Listener, registry: CollectorRegistry) -> None:
        from prometheus_client import make_wsgi_app

        app = _only_metrics(make_wsgi_app(registry), listener.token)
        kind = _Server6 if ":" in listener.address else _Server
        try:
            self._server = make_server(
                listener.address, listener.port, app, server_class=kind, handler_class=_Handler
            )
        except OSError as error:
            where = f"{listener.address}:{listener.port}"
            message = f"--metrics: {where} cannot be listened on ({error.strerror})"
            raise ListenerError(message) from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="metrics", daemon=True
        )

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._server.server_port)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(timeout=2 * PATIENCE_S)
        self._server.server_close()


class _Server(WSGIServer):
    request_queue_size = 16

    def server_bind(self) -> None:
        """As usual, but without asking a name server for this machine's name."""
        socket_address = self.server_address
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(socket_address)
        self.server_address = self.socket.getsockname()
        self.server_name = str(self.server_address[0])
        self.server_port = int(self.server_address[1])
        self.setup_environ()

    def handle_error(self, *_: object) -> None:
        """A reader that goes away is nobody's concern."""


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    def handle(self) -> None:
        """As usual, but for so long only: a socket's own timeout begins again with every byte."""
        deadline = threading.Timer(PATIENCE_S, self._cut_off)
        deadline.daemon = True
        deadline.start()
        try:
            super().handle()
        finally:
            deadline.cancel()

    def _cut_off(self) -> None:
        with contextlib.suppress(OSError):  # the reader may have gone by itself
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        """Scrapes are not logged."""


def _only_metrics(
    app: Callable[..., Iterable[bytes]], token: str | None
) -> Callable[..., Iterable[bytes]]:
    """The one page there is, for those who know the token."""

    def answer(environment: dict[str, Any], start: Callable[..., object]) -> Iterable[bytes]:
        said = str(environment.get("HTTP_AUTHORIZATION", "")).encode("utf-8", "replace")
        if token is not None and not hmac.compare_digest(said, f"Bearer {token}".encode()):
            start("401 Unauthorized", [("WWW-Authenticate", "Bearer")])
            return [b"the token is missing or wrong\n"]
        if environment.get("PATH_INFO") != "/metrics":
            start("404 Not Found", [("Content-Type", "text/plain")])
            return [b"only /metrics is here\n"]
        if environment.get("REQUEST_METHOD") != "GET":
            start("405 Method Not Allowed", [("Allow", "GET")])
            return [b"only GET is answered\n"]
        return app(environment, start)

    return answer
