"""Server of the page, which stops at once on request."""

from __future__ import annotations

import asyncio
import hmac
import math
import secrets
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import parse_qs

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from vermilion.status.listener import ListenerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from vermilion.status.listener import Listener
    from vermilion.status.live_page.application import Answers

_COOKIE: Final = "vermilion-token"
"""Before the port: browsers keep cookies by name and not by port, and several pages may be open."""

_LONGEST_PATH: Final = 200

_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Access:
    """Access control by token, and headers that keep other sites' scripts out.

    Args:
        page: what is behind it.
        listeners: where it is served.
        token: of the page.
        names: under which it may be asked for beside its address, like ``localhost``.
        answers: whether something can be answered on it; else it only shows.
    """

    def __init__(
        self,
        page: ASGIApp,
        listeners: Iterable[Listener],
        token: str,
        names: frozenset[str],
        *,
        answers: bool = False,
    ) -> None:
        self._page = page
        self._methods = ("GET", "HEAD", "POST") if answers else ("GET", "HEAD")
        self._listeners = {each.port: each for each in listeners}
        self._token = token
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._page(scope, receive, send)
            return

        refusal = self._refusal(scope)
        is_stranger = not scope["state"]["connection"].is_known

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                if is_stranger:
                    headers["Connection"] = "close"
            await send(message)

        await (refusal or self._page)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """Refusal of a request; ``None`` if it is admitted."""
        headers = Headers(scope=scope)
        listener = self._listeners[scope["server"][1]]
        if not self._is_name(headers.get("host", ""), listener.address):
            return PlainTextResponse("this page has another name\n", 421)
        if scope["method"] not in self._methods:
            allowed = ", ".join(self._methods)
            return PlainTextResponse(f"only {allowed} are answered\n", 405, {"Allow": allowed})
        if len(scope["path"]) > _LONGEST_PATH:  # Python reads no number of thousands of digits
            return PlainTextResponse("there is no such path\n", 404)
        cookie = f"{_COOKIE}-{listener.port}"
        given = parse_qs(scope["query_string"].decode("ascii", "replace")).get("token", [""])[0]
        if scope["path"] == "/" and not listener.only_metrics and _tokens_match(given, self._token):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(cookie, given, httponly=True, samesite="strict", path="/")
            return answer
        return self._token_refusal(scope, listener, _request_tokens(headers, cookie))

    def _token_refusal(
        self, scope: Scope, listener: Listener, tokens: list[str]
    ) -> Response | None:
        """Refusal of a request whose token does not give access; ``None`` if it does."""
        is_metrics = scope["path"] == "/metrics"
        accepted = listener.token or "" if listener.only_metrics else self._token
        if any(_tokens_match(token, accepted) for token in tokens):
            if not scope["state"]["connection"].recognise():
                return PlainTextResponse("too many connections\n", 503, {"Retry-After": "10"})
        elif listener.token is not None or not (is_metrics or listener.only_metrics):
            words = "the token is missing or wrong; open the address that vermilion printed\n"
            return PlainTextResponse(words, 401, {"WWW-Authenticate": "Bearer"})
        if listener.only_metrics and not is_metrics:
            return PlainTextResponse("only /metrics is here\n", 404)
        return None

    def _is_name(self, host: str, address: str) -> bool:
        if address in {"0.0.0.0", "::"}:  # noqa: S104 - compared only
            return True  # from outside, so that every route wants the token
        return _name(host) in {*self._names, address, f"[{address}]"}


def _tokens_match(given: str, token: str) -> bool:
    return bool(token) and hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _request_tokens(headers: Headers, name: str) -> list[str]:
    """Tokens of a request, in a header or in the cookie of this name."""
    tokens = []
    bearer = headers.get("authorization", "")
    if bearer.startswith("Bearer "):
        tokens.append(bearer.removeprefix("Bearer "))
    # Browsers send the cookies of other ports too; the parser of the standard library gives up at
    # the first that it does not like.
    cookies = cookie_parser(headers.get("cookie", ""))
    if name in cookies:
        tokens.append(cookies[name])
    return tokens


def _name(host: str) -> str:
    """A host without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


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
        """Return whether no request waits for its answer."""
        return self.cycle is None or self.cycle.response_complete

    def recognise(self) -> bool:
        """Keep a connection that has shown the token; False if there are too many of those."""
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
        """Read on; the deadline stays until the request is complete."""
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


_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
_PATIENCE_S: Final = 1
_BACKLOG: Final = 1024
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
                self._sockets.append(_open_socket(each))
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

        from vermilion.status.live_page.application import application
        from vermilion.status.live_page.broadcast import Broadcast
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
                    each.listen(_BACKLOG)
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
                log_level="error",  # strangers fill no log with requests that are none
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


def _open_socket(listener: Listener) -> socket.socket:
    kind = socket.AF_INET6 if ":" in listener.address else socket.AF_INET
    opened = socket.socket(kind, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((listener.address, listener.port))
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        where = f"{listener.address}:{listener.port}"
        message = f"{listener.option}: {where} cannot be listened on ({error.strerror})"
        raise ListenerError(message) from None
    return opened
