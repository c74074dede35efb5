"""Serves metrics over HTTP, on the loopback unless told otherwise.

One request at a time, each cut off after some seconds: a reader that is slow keeps other readers
waiting, never the controller. Only ``GET /metrics`` is answered.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from prometheus_client import CollectorRegistry

PATIENCE_S: Final = 2.0
"""How long a request may take to arrive, and an answer to be taken."""

_MOST_TOKEN: Final = 4096
_LEAST_TOKEN: Final = 16
_PORTS: Final = 65_536
ACCEPTED: Final = 'an address and a port, like "127.0.0.1:9464" or "[::1]:9464"'


class MetricsError(Exception):
    """Metrics cannot be served like this; ``str()`` is one line with the option to be changed."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Where metrics are served.

    Attributes:
        address: the IP address.
        port: the TCP port; 0 for any that is free.
        token: what a reader has to know; ``None`` for nothing.
    """

    address: str
    port: int
    token: str | None = None


def listener_of(text: str, *, from_outside: bool, token: str | None) -> Listener:
    """Reads where to serve.

    Args:
        text: an address and a port.
        from_outside: whether others than this machine may be served.
        token: what a reader has to know.

    Raises:
        MetricsError: it cannot be served there, or not like this.
    """
    host, colon, port = text.rpartition(":")
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
        number = int(port) if port.isascii() and port.isdigit() else -1
    except ValueError:
        colon = ""
        number = -1
    if not colon or not 0 <= number < _PORTS:
        message = f"--metrics: {text!r} is not accepted; expected {ACCEPTED}"
        raise MetricsError(message)
    if not address.is_loopback and not from_outside:
        message = (
            f"--metrics: {text!r} can be reached from outside of this machine; expected a loopback "
            "address, or --metrics-from-outside beside it"
        )
        raise MetricsError(message)
    if not address.is_loopback and token is None:
        message = (
            f"--metrics: {text!r} can be reached from outside of this machine; expected "
            "--metrics-token with a file that holds what a reader has to know"
        )
        raise MetricsError(message)
    return Listener(str(address), number, token)


def read_token(path: Path) -> str:
    """What a reader has to know: the first line of a file that only its owner can read.

    Raises:
        MetricsError: it cannot be read, others can read it, or it is too short.
    """
    accepted = f"a file with {_LEAST_TOKEN} characters or more that only its owner can read"
    try:
        with path.open("rb") as file:
            others = path.stat().st_mode & 0o077
            text = file.read(_MOST_TOKEN).decode("ascii").split("\n", 1)[0].strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not ASCII"
        message = f'--metrics-token: "{path}" cannot be read ({reason}); expected {accepted}'
        raise MetricsError(message) from None
    if others:
        message = f'--metrics-token: "{path}" can be read by others; expected {accepted}'
        raise MetricsError(message)
    if len(text) < _LEAST_TOKEN:
        message = f'--metrics-token: what "{path}" holds is too short; expected {accepted}'
        raise MetricsError(message)
    return text


class MetricsServer:
    """A socket that is open from the start, and a thread that answers from :meth:`start` on.

    Raises:
        MetricsError: the address is taken or not there.
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
            raise MetricsError(message) from None
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
    timeout = PATIENCE_S

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
