"""What a browser can ask for: the page, its files, the runs, news of a run, and its history."""

from __future__ import annotations

import json
import math
import sqlite3
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from vermilion.status.doing import DOING, LOUD
from vermilion.status.live_page.broadcast import MOST_WATCHERS, Broadcast, TooManyWatchersError
from vermilion.status.live_page.journal_reader import LIVE_BUCKET_S, Cursor, JournalReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.requests import Request

    from vermilion.status.live_page.broadcast import Message

_KINDS: Final = {
    "live.html": "text/html",
    "live.css": "text/css",
    "live.js": "text/javascript",
    "uPlot-1.6.32.iife.min.js": "text/javascript",
    "uPlot-1.6.32.min.css": "text/css",
    "uPlot-1.6.32.LICENSE": "text/plain",
}
"""The files there are, and what they are; nothing else can be asked for."""

_LONGEST_S: Final = 1e9


def application(path: Path, broadcast: Broadcast | None = None) -> Starlette:
    """The page of one journal; who may look at it is :class:`~.access.Access`' concern.

    Args:
        path: the journal.
        broadcast: who tells all watchers; one for this journal by default.
    """
    reader = JournalReader(path)
    page = _Page(reader, broadcast or Broadcast(reader))
    return Starlette(
        routes=[
            Route("/", page.page),
            Route("/static/{name}", page.file),
            Route("/api/runs", page.runs),
            Route("/api/runs/{run:int}/news", page.news),
            Route("/api/runs/{run:int}/history", page.history),
        ]
    )


class _Page:
    def __init__(self, reader: JournalReader, broadcast: Broadcast) -> None:
        self._reader = reader
        self._broadcast = broadcast
        folder = files("vermilion.status.live_page") / "static"
        self._files = {name: (folder / name).read_bytes() for name in _KINDS}

    def page(self, _: Request) -> Response:
        return Response(self._files["live.html"], media_type="text/html")

    def file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _KINDS:
            return PlainTextResponse("there is no such file\n", 404)
        return Response(self._files[name], media_type=_KINDS[name])

    def runs(self, _: Request) -> Response:
        """The runs of the journal, and what each kind of decision means for what is done."""
        try:
            runs = self._reader.runs()
        except sqlite3.Error as error:
            return _trouble(error)
        doing = {str(kind): words for kind, words in DOING.items()}
        return JSONResponse({"runs": runs, "doing": doing, "loud": sorted(map(str, LOUD))})

    def history(self, request: Request) -> Response:
        """A stretch of time: ``?from=SECONDS&to=SECONDS`` of the run's own clock."""
        try:
            start_s = _seconds(request, "from", 0.0)
            end_s = _seconds(request, "to", start_s + LIVE_BUCKET_S)
            return _json(self._reader.history(request.path_params["run"], start_s, end_s))
        except ValueError as error:
            return PlainTextResponse(f"{error}\n", 400)
        except KeyError:
            return PlainTextResponse("there is no such run\n", 404)
        except sqlite3.Error as error:
            return _trouble(error)

    async def news(self, request: Request) -> Response:
        """Server-sent events: a snapshot or what was missed, then whatever comes."""
        run = request.path_params["run"]
        told = request.headers.get("last-event-id") or request.query_params.get("since")
        try:
            since = Cursor.of(told) if told else None
        except (ValueError, OverflowError):
            since = None
        messages = self._broadcast.watch(run, since)
        try:
            first = await anext(messages)
        except KeyError:
            return PlainTextResponse("there is no such run\n", 404)
        except TooManyWatchersError:
            words = f"{MOST_WATCHERS} pages are open already; close one\n"
            return PlainTextResponse(words, 503, {"Retry-After": "10"})
        except sqlite3.Error as error:
            return _trouble(error)
        return StreamingResponse(
            _text(first, messages),
            media_type="text/event-stream",
            headers={"X-Accel-Buffering": "no"},
        )


async def _text(first: Message, messages: AsyncIterator[Message]) -> AsyncIterator[str]:
    yield first.text()
    async for message in messages:
        yield message.text()


def _seconds(request: Request, name: str, least: float) -> float:
    text = request.query_params.get(name, "")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= _LONGEST_S:
        message = f"{name}: {text[:40]!r} is not accepted; expected seconds, {least:g} or more"
        raise ValueError(message)
    return value


def _json(document: dict[str, Any]) -> Response:
    text = json.dumps(document, separators=(",", ":"))
    return Response(text, media_type="application/json")


def _trouble(error: sqlite3.Error) -> Response:
    words = f"the journal cannot be read now: {error}\n"
    return PlainTextResponse(words, 503, {"Retry-After": "2"})
