"""Who may look: those who know the token, under the page's own address, and nobody else's page.

A browser gets in by the address that the command prints, which holds the token; it is put into a
cookie that no script can read and no other site can use, and leaves the address bar. Whatever is
not a browser says it as ``Authorization: Bearer``. The name under which the page is asked for must
be one of its own, or another site could have its name point here (DNS rebinding).
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
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
        listener: where it is served, with the token.
        names: under which it may be asked for beside its address, like ``localhost``.
        answers: whether something can be answered on it; else it only shows.
    """

    def __init__(
        self, page: ASGIApp, listener: Listener, names: frozenset[str], *, answers: bool = False
    ) -> None:
        self._page = page
        self._methods = ("GET", "HEAD", "POST") if answers else ("GET", "HEAD")
        self._token = (listener.token or "").encode("ascii")
        self._cookie = f"{_COOKIE}-{listener.port}"
        self._names = names | {listener.address, f"[{listener.address}]"}
        self._any_name = listener.address in {"0.0.0.0", "::"}  # noqa: S104 - compared only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._page(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._page)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """Why a request is not answered; ``None`` if it is."""
        headers = Headers(scope=scope)
        if not self._any_name and _name(headers.get("host", "")) not in self._names:
            return PlainTextResponse("this page has another name\n", 421)
        if scope["method"] not in self._methods:
            allowed = ", ".join(self._methods)
            return PlainTextResponse(f"only {allowed} are answered\n", 405, {"Allow": allowed})
        said = parse_qs(scope["query_string"].decode("ascii", "replace")).get("token", [""])[0]
        if scope["path"] == "/" and said and self._knows(said):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(self._cookie, said, httponly=True, samesite="strict", path="/")
            return answer
        if not any(self._knows(token) for token in _said(headers, self._cookie)):
            words = "the token is missing or wrong; open the address that vermilion watch printed\n"
            return PlainTextResponse(words, 401, {"WWW-Authenticate": "Bearer"})
        return None

    def _knows(self, token: str) -> bool:
        return bool(self._token) and hmac.compare_digest(
            token.encode("utf-8", "replace"), self._token
        )


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
