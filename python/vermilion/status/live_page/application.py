"""Routes of the live page: its files, the runs, news and history of a run, and metrics."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import secrets
import sqlite3
import threading
import time
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.responses import (
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from vermilion.status.decisions import DOING, LOUD
from vermilion.status.live_page.broadcast import MOST_WATCHERS, Broadcast, TooManyWatchersError
from vermilion.status.live_page.journal_reader import LIVE_BUCKET_S, Cursor, JournalReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path

    from starlette.requests import Request

    from vermilion.online.events import Command
    from vermilion.status.live_page.broadcast import Message

HEADER: Final = "x-vermilion-answer"
"""Says the word; a form of another site cannot send it at all."""

_VERBS: Final = ("accept", "decline", "undo", "pause", "resume")
_MOST_KEPT: Final = 1000


@dataclass(frozen=True, slots=True)
class Refusal(Exception):  # noqa: N818 - reads as what it says
    """An answer that is not taken.

    Attributes:
        status: of HTTP.
        words: why, in one line.
    """

    status: int
    words: str


class Answers:
    """Channel for answers to the controller that writes a journal now.

    Args:
        reader: of that journal.
        send: hands a command to the controller; False where it has gone.
        verbs: what may be said to this one.
    """

    def __init__(
        self,
        reader: JournalReader,
        send: Callable[[Command], bool],
        verbs: tuple[str, ...] = _VERBS,
    ) -> None:
        self._reader = reader
        self._send = send
        self._taken: set[tuple[int, str, int]] = set()
        self._lock = threading.Lock()
        self.word = secrets.token_urlsafe(24)
        self.verbs = verbs

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Check that a request comes from this page.

        Raises:
            Refusal: it does not, or does not say so.
        """
        origin = _authority(headers.get("origin", ""))
        if not origin or origin != headers.get("host", ""):
            raise Refusal(403, "an answer has to come from this page")
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise Refusal(403, "an answer has to come from this page")
        said = headers.get(HEADER, "").encode("utf-8", "replace")
        if not hmac.compare_digest(said, self.word.encode("ascii")):
            raise Refusal(403, "the page is older than the server; load it again")

    def take(self, run: int, document: object) -> None:
        """Hand an answer to the controller.

        Args:
            run: of the journal.
            document: ``verb``, and ``number`` of what it is about.

        Raises:
            Refusal: it is not taken.
        """
        from vermilion.online.events import Command

        verb, number = self._read(document)
        with self._lock:
            self._check_open(run, verb, number)
            if verb in {"accept", "decline", "undo"}:
                about = "undo" if verb == "undo" else "proposal"
                key = (run, about, number)
                if key in self._taken:
                    raise Refusal(409, "that has been answered already")
                if len(self._taken) >= _MOST_KEPT:
                    self._taken.clear()
                self._taken.add(key)
            if not self._send(_command(Command, verb, number)):
                raise Refusal(410, "the controller has ended")

    def _read(self, document: object) -> tuple[str, int]:
        verb = document.get("verb") if isinstance(document, dict) else None
        number = document.get("number", 0) if isinstance(document, dict) else None
        if verb not in self.verbs:
            raise Refusal(400, f"verb: expected one of {', '.join(self.verbs)}")
        if not isinstance(number, int) or isinstance(number, bool):
            raise Refusal(400, "number: expected that of a proposal or a change")
        return str(verb), number

    def _check_open(self, run: int, verb: str, number: int) -> None:
        try:
            latest, is_asked = self._reader.latest()
        except sqlite3.Error as error:
            raise Refusal(503, f"the journal cannot be read now: {error}") from None
        if latest is None or latest["id"] != run or latest["ended"]:
            raise Refusal(409, "that run has ended")
        if verb in {"accept", "decline"} and not _has_number(is_asked["proposal"], number):
            raise Refusal(409, f"proposal {number} is not open any more")
        if verb == "undo" and not _has_number(is_asked["undo"], number):
            raise Refusal(409, "that change cannot be taken back any more")


def _authority(origin: str) -> str:
    """Host and port of an origin; "" where it names none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:  # half an address
        return ""


def _has_number(what: dict[str, Any] | None, number: int) -> bool:
    return what is not None and what["number"] == number


def _command(kind: type[Command], verb: str, number: int) -> Command:
    match verb:
        case "accept":
            return kind("accept", number)
        case "decline":
            return kind("decline", number)
        case "undo":
            return kind("undo")
        case "pause":
            return kind("pause")
        case _:
            return kind("resume")


_KINDS: Final = {
    "live.html": "text/html",
    "live.css": "text/css",
    "live.js": "text/javascript",
    "uPlot-1.6.32.iife.min.js": "text/javascript",
    "uPlot-1.6.32.min.css": "text/css",
    "uPlot-1.6.32.LICENSE": "text/plain",
}
"""The files there are, and what they are; nothing else can be asked for."""

_PROMETHEUS: Final = "text/plain; version=0.0.4"
_METRICS_HOLD_S: Final = 0.1
_LONGEST_S: Final = 1e9
_LONGEST_ANSWER: Final = 1000


def application(
    path: Path,
    broadcast: Broadcast | None = None,
    answers: Answers | None = None,
    metrics: Callable[[], bytes] | None = None,
) -> Starlette:
    """Application with the page and the metrics of one controller.

    Args:
        path: the journal.
        broadcast: who tells all watchers; one for this journal by default.
        answers: who takes a person's answers; ``None`` for a page that only shows.
        metrics: the numbers for Prometheus as text; ``None`` where there are none.
    """
    reader = JournalReader(path)
    page = _Page(reader, broadcast or Broadcast(reader), answers)
    return Starlette(
        routes=[
            Route("/", page.page),
            Route("/static/{name}", page.file),
            Route("/api/runs", page.runs),
            Route("/api/runs/{run:int}/news", page.news),
            Route("/api/runs/{run:int}/history", page.history),
            Route("/api/runs/{run:int}/answer", page.answer, methods=["POST"]),
            Route("/metrics", _Metrics(metrics).scrape),
        ]
    )


class _Page:
    def __init__(
        self, reader: JournalReader, broadcast: Broadcast, answers: Answers | None
    ) -> None:
        self._reader = reader
        self._broadcast = broadcast
        self._answers = answers
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
            return _journal_error(error)
        doing = {str(kind): words for kind, words in DOING.items()}
        reply = {"runs": runs, "doing": doing, "loud": sorted(map(str, LOUD))}
        if self._answers is not None:
            reply["answers"] = {"word": self._answers.word, "verbs": self._answers.verbs}
        return JSONResponse(reply)

    async def answer(self, request: Request) -> Response:
        """A person's answer: ``{"verb": "accept", "number": 7}``; each is taken once."""
        try:
            answers = self._require_answers()
            answers.check_origin(request.headers)
            said = await _document(request)
            await asyncio.to_thread(answers.take, request.path_params["run"], said)
        except Refusal as refusal:
            return PlainTextResponse(f"{refusal.words}\n", refusal.status)
        return JSONResponse({"taken": True}, 202)

    def _require_answers(self) -> Answers:

        if self._answers is None:
            raise Refusal(403, "this page only shows; nothing can be answered on it")
        return self._answers

    def history(self, request: Request) -> Response:
        """A stretch of time: ``?from=SECONDS&to=SECONDS`` of the run's own clock."""
        try:
            start_s = _seconds(request, "from", 0.0)
            end_s = _seconds(request, "to", start_s + LIVE_BUCKET_S)
            queue = request.query_params.get("queue", "")
            return _json(self._reader.history(request.path_params["run"], start_s, end_s, queue))
        except ValueError as error:
            return PlainTextResponse(f"{error}\n", 400)
        except KeyError:
            return PlainTextResponse("there is no such run\n", 404)
        except sqlite3.Error as error:
            return _journal_error(error)

    async def news(self, request: Request) -> Response:
        """Server-sent events: a snapshot or what was missed, then whatever comes."""
        run = request.path_params["run"]
        last_event = request.headers.get("last-event-id") or request.query_params.get("since")
        try:
            since = Cursor.of(last_event) if last_event else None
        except (ValueError, OverflowError):
            since = None
        queue = request.query_params.get("queue", "")
        messages = self._broadcast.watch(run, since, queue)
        try:
            first = await anext(messages)
        except KeyError:
            return PlainTextResponse("there is no such run\n", 404)
        except TooManyWatchersError:
            words = f"{MOST_WATCHERS} pages are open already; close one\n"
            return PlainTextResponse(words, 503, {"Retry-After": "10"})
        except sqlite3.Error as error:
            return _journal_error(error)
        return StreamingResponse(
            _text(first, messages),
            media_type="text/event-stream",
            headers={"X-Accel-Buffering": "no"},
        )


class _Metrics:
    def __init__(self, metrics: Callable[[], bytes] | None) -> None:
        self._metrics = metrics
        self._turn = asyncio.Lock()
        self._text = b""
        self._read_s = -math.inf

    async def scrape(self, _: Request) -> Response:
        """The numbers, asked for once however many scrape at a time."""
        if self._metrics is None:
            return PlainTextResponse("there are no metrics here\n", 404)
        try:
            async with self._turn:
                if time.monotonic() - self._read_s > _METRICS_HOLD_S:
                    self._text = await asyncio.to_thread(self._metrics)
                    self._read_s = time.monotonic()
        except OSError as error:
            return PlainTextResponse(f"{error}\n", 503)
        return Response(self._text, media_type=_PROMETHEUS)


async def _document(request: Request) -> object:
    """Parse a request's body as JSON.

    Raises:
        Refusal: it is something else, or too long.
    """
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise Refusal(415, "expected application/json")
    text = b""
    async for part in request.stream():
        text += part
        if len(text) > _LONGEST_ANSWER:
            raise Refusal(413, "that is too long for an answer")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Refusal(400, "expected JSON") from None


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


def _journal_error(error: sqlite3.Error) -> Response:
    words = f"the journal cannot be read now: {error}\n"
    return PlainTextResponse(words, 503, {"Retry-After": "2"})
