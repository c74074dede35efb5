"""Broadcast of a run to all its watchers, from one reader of the journal.

While anybody watches a run, its journal is read twice a second, once for all of them. Whoever takes
the news more slowly than they come is let go, and is told what was missed on coming back: memory
is bounded, and nobody waits for anybody.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from vermilion.status.live_page.journal_reader import Cursor, JournalReader

NEWS_EVERY_S: Final = 0.5
"""Interval between reads of the journal, seconds."""

PING_EVERY_S: Final = 15.0
"""Interval of keep-alive messages, seconds."""

MOST_WAITING: Final = 60
"""News that wait for one watcher, half a minute's; one who falls further behind is let go."""

MOST_WATCHERS: Final = 500
"""At the same time."""


@dataclass(frozen=True, slots=True)
class Message:
    """Message to a watcher.

    Attributes:
        event: ``snapshot``, ``news`` or ``trouble``; "" for a sign of life.
        data: JSON; "" for a sign of life.
        cursor: what to say when coming back; "" for a sign of life.
    """

    event: str = ""
    data: str = ""
    cursor: str = ""

    def text(self) -> str:
        """Text of the server-sent event."""
        if not self.event:
            return ": still here\n\n"
        return f"id: {self.cursor}\nevent: {self.event}\ndata: {self.data}\n\n"


PING: Final = Message()


@dataclass(eq=False, slots=True)
class _Watcher:
    news: asyncio.Queue[Message | None]


@dataclass(slots=True)
class _Run:
    """Run with watchers, and how far they are up to date."""

    cursor: Cursor
    watchers: set[_Watcher] = field(default_factory=set)
    reading: asyncio.Task[None] | None = None


class TooManyWatchersError(Exception):
    """There are as many as are allowed."""


class Broadcast:
    """Broadcast of new journal entries to all watchers.

    Args:
        reader: of the journal.
    """

    def __init__(self, reader: JournalReader) -> None:
        self._reader = reader
        self._runs: dict[tuple[int, str], _Run] = {}
        self._joining = 0
        self._closed = False

    @property
    def watchers(self) -> int:
        """Number of watchers."""
        return sum(len(run.watchers) for run in self._runs.values())

    async def watch(
        self, run: int, since: Cursor | None, queue: str = ""
    ) -> AsyncIterator[Message]:
        """Stream of messages to a watcher: a snapshot, then news.

        Args:
            run: the run's number.
            since: how far this watcher has been told already; ``None`` for one who is new.
            queue: one of several that are controlled together; "" for all of them.

        Yields:
            A snapshot first, or, to one who has been here lately, what was missed; then news.

        Raises:
            KeyError: there is no such run or queue.
            TooManyWatchersError: there are as many as are allowed.
            sqlite3.Error: the journal cannot be read.
        """
        if self.watchers + self._joining >= MOST_WATCHERS:
            raise TooManyWatchersError
        watcher = _Watcher(asyncio.Queue(MOST_WAITING))
        self._joining += 1  # before anything is waited for: others come meanwhile
        try:
            first = await self._join((run, queue), since, watcher)
        finally:
            self._joining -= 1
        try:
            yield first
            while not self._closed:
                try:
                    async with asyncio.timeout(PING_EVERY_S):
                        message = await watcher.news.get()
                except TimeoutError:
                    message = PING
                if message is None:
                    return
                yield message
        finally:
            self._leave((run, queue), watcher)

    async def _join(self, run: tuple[int, str], since: Cursor | None, watcher: _Watcher) -> Message:
        """Add a watcher, and return its first message."""
        cursor, first = await asyncio.to_thread(self._first, run, since)
        there = self._runs.get(run)
        if there is None:
            there = self._runs[run] = _Run(cursor)
        elif there.cursor.text() != cursor.text():
            # Between the two readings something came in. A page may be told a thing twice, and
            # skips it; it must not be left out.
            there.cursor = min(there.cursor, cursor, key=_sort_key)
        there.watchers.add(watcher)
        if there.reading is None:
            there.reading = asyncio.create_task(self._read(run, there))
        return first

    def _first(self, view: tuple[int, str], since: Cursor | None) -> tuple[Cursor, Message]:
        """First message: what was missed, or a snapshot for a new or long absent watcher."""
        run, queue = view
        if since is not None:
            with contextlib.suppress(KeyError):
                cursor, news = self._reader.news(run, since, queue)
                return cursor, _message("news", news, cursor)
        cursor, snapshot = self._reader.snapshot(run, queue)
        return cursor, _message("snapshot", snapshot, cursor)

    def _leave(self, run: tuple[int, str], watcher: _Watcher) -> None:
        there = self._runs.get(run)
        if there is None:
            return
        there.watchers.discard(watcher)
        if not there.watchers:
            if there.reading is not None:
                there.reading.cancel()
            del self._runs[run]

    async def _read(self, view: tuple[int, str], run: _Run) -> None:
        """Poll the journal while anybody watches."""
        number, queue = view
        troubled = ""
        while True:
            await asyncio.sleep(NEWS_EVERY_S)
            try:
                cursor, news = await asyncio.to_thread(self._reader.news, number, run.cursor, queue)
            except KeyError:  # the file was replaced, or slept for longer than a page shows
                self._end_all(run)
                continue
            except sqlite3.Error as error:
                if str(error) != troubled:
                    troubled = str(error)
                    self._send(run, _message("trouble", {"reason": troubled}, run.cursor))
                continue
            troubled = ""
            run.cursor = cursor
            if news:
                self._send(run, _message("news", news, cursor))

    def _send(self, run: _Run, message: Message) -> None:
        for watcher in list(run.watchers):
            if watcher.news.full():
                run.watchers.discard(watcher)
                _end(watcher)
            else:
                watcher.news.put_nowait(message)

    def _end_all(self, run: _Run) -> None:
        for watcher in run.watchers:
            _end(watcher)

    def close(self) -> None:
        """End every stream, so that a server can stop at once."""
        self._closed = True
        for run in self._runs.values():
            self._end_all(run)


def _end(watcher: _Watcher) -> None:
    """End a watcher's stream and drop its queue; it is sent again on return."""
    while not watcher.news.empty():
        watcher.news.get_nowait()
    watcher.news.put_nowait(None)


def _sort_key(cursor: Cursor) -> tuple[float, int, int, bool]:
    return cursor.time_s, cursor.decision, cursor.setting, cursor.ended


def _message(event: str, data: dict[str, Any], cursor: Cursor) -> Message:
    return Message(event, json.dumps(data, separators=(",", ":")), cursor.text())
