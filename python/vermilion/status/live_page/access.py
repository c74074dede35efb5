"""Who may look: those who know the token, under the page's own address, and nobody else's page.

A browser gets in by the address that the command prints, which holds the token; it is put into a
cookie that no script can read and no other site can use, and leaves the address bar. Whatever is
not a browser says it as ``Authorization: Bearer``. The name under which the page is asked for must
be one of its own, or another site could have its name point here (DNS rebinding).

``/metrics`` alone is open to whoever reaches a loopback address for which no token was given, as
Prometheus expects it; where one was given, it is wanted as ``Authorization: Bearer``.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from vermilion.status.listener import Listener

_COOKIE: Final = "vermilion-token"
"""Before the port: browsers keep cookies by name and not by port, and several pages may be open."""

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
    """Lets in who may look, and tells browsers to keep everybody else's scripts out.

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
        """The answer to a request that does not get through; ``None`` if it does."""
        headers = Headers(scope=scope)
        listener = self._listeners[scope["server"][1]]
        if not self._is_name(headers.get("host", ""), listener.address):
            return PlainTextResponse("this page has another name\n", 421)
        if scope["method"] not in self._methods:
            allowed = ", ".join(self._methods)
            return PlainTextResponse(f"only {allowed} are answered\n", 405, {"Allow": allowed})
        cookie = f"{_COOKIE}-{listener.port}"
        said = parse_qs(scope["query_string"].decode("ascii", "replace")).get("token", [""])[0]
        if scope["path"] == "/" and not listener.only_metrics and _same(said, self._token):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(cookie, said, httponly=True, samesite="strict", path="/")
            return answer
        return self._closed_to(scope, listener, _said(headers, cookie))

    def _closed_to(self, scope: Scope, listener: Listener, tokens: list[str]) -> Response | None:
        """The answer to those whose token does not open what they ask for."""
        is_metrics = scope["path"] == "/metrics"
        accepted = listener.token or "" if listener.only_metrics else self._token
        if any(_same(token, accepted) for token in tokens):
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


def _same(said: str, token: str) -> bool:
    return bool(token) and hmac.compare_digest(said.encode("utf-8", "replace"), token.encode())


def _said(headers: Headers, name: str) -> list[str]:
    """The tokens that a request says, in a header or in the cookie of this name."""
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
