"""The page beside its controller, in a process of its own.

However many look at it, the controller does not wait for them. What the process hears of a person
comes back over a pipe, in JSON of which nothing is believed unchecked; it ends
with its controller. It gives up its capabilities once it listens, and before it answers anybody. It
remains the controller's user, so that it can read the journal: what that user may without any
capability, it may too.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from vermilion.monitor.privileges import CAP_NET_BIND_SERVICE, give_up
from vermilion.online.events import Command
from vermilion.status.listener import Listener, ListenerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.connection import Connection

    from vermilion.status.live_page.server import PageServer

LONGEST: Final = 1 << 14
"""Bytes of a message; an address has the token in it, of up to 4096."""

_LONGEST_TROUBLE: Final = 1000

_ABOUT_PROPOSALS: Final = ("accept", "decline")
_LARGEST_NUMBER: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Started:
    """Result of starting the server.

    Attributes:
        address: where; "" if it is not.
        trouble: why it is not; "" if it is.
    """

    address: str = ""
    trouble: str = ""

    def message(self) -> bytes:
        """Bytes as they are sent."""
        return json.dumps(
            {"address": self.address, "trouble": self.trouble[:_LONGEST_TROUBLE]}
        ).encode()

    @classmethod
    def of(cls, message: bytes) -> Self:
        """Parse a message.

        Raises:
            ValueError: something else.
        """
        parsed = _fields(message, {"address": str, "trouble": str})
        return cls(**parsed)


def command_message(command: Command) -> bytes:
    """Serialise a command."""
    return json.dumps({"verb": command.verb, "number": command.number}).encode()


def command_of(message: bytes, verbs: tuple[str, ...]) -> Command:
    """Parse a command.

    Args:
        message: as it was sent.
        verbs: what may be said to this controller.

    Raises:
        ValueError: it is something else.
    """
    parsed = _fields(message, {"verb": str, "number": int | None})
    verb, number = parsed["verb"], parsed["number"]
    if verb not in verbs:
        problem = "what may not be said"
        raise ValueError(problem)
    if verb in _ABOUT_PROPOSALS:
        is_right = type(number) is int and 0 <= number <= _LARGEST_NUMBER
    else:
        is_right = number is None
    if not is_right:
        problem = "it is about nothing that there is"
        raise ValueError(problem)
    return Command(verb, number)


def _fields(message: bytes, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Read a table with just these fields, each of its kind."""
    try:
        parsed = json.loads(message)
    except RecursionError:
        parsed = None
    if not isinstance(parsed, dict) or parsed.keys() != kinds.keys():
        problem = f"no table of {', '.join(kinds)}"
        raise ValueError(problem)
    for name, kind in kinds.items():
        if not isinstance(parsed[name], kind):
            problem = f"{name} is of another kind"
            raise ValueError(problem)  # noqa: TRY004 - of what was sent
    return parsed


_STARTS_WITHIN_S: Final = 30.0
_LAST_NEWS_S: Final = 1.2
"""Time for which the page outlives the controller, so that browsers hear of the end."""
_ENDS_WITHIN_S: Final = 5.0
_SCRAPE_WITHIN_S: Final = 2.0


class PageBeside:
    """A page that is served until :meth:`close`.

    Args:
        path: the journal, which may not be there yet.
        listeners: where to serve.
        verbs: what a person may say on the page; nothing makes it a page that only shows.
        on_command: told what a person says, on a thread of its own.
        metrics: the numbers for Prometheus as text, asked for on a thread of its own.

    Raises:
        ListenerError: it cannot be served there.
    """

    def __init__(
        self,
        path: Path,
        *listeners: Listener,
        verbs: tuple[str, ...] = (),
        on_command: Callable[[Command], object] | None = None,
        metrics: Callable[[], bytes] | None = None,
    ) -> None:
        self.on_command: Callable[[Command], object] = on_command or (lambda _: None)
        self._verbs = verbs
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        # A pipe of its own: what the page leaves unread there keeps nobody from ending it.
        self._scrapes, scraping = context.Pipe()
        self._process = context.Process(
            target=_serve,
            args=(theirs, str(path), listeners, verbs, scraping if metrics else None),
            daemon=True,
        )
        self._process.start()
        theirs.close()
        scraping.close()
        self.address = self._await_address()
        if metrics:  # of a real router, whose controller keeps no more than it needs
            with contextlib.suppress(OSError):
                give_up([CAP_NET_BIND_SERVICE])
            threading.Thread(target=self._answer_scrapes, args=(metrics,), daemon=True).start()
        self._thread = threading.Thread(target=self._receive_commands, daemon=True)
        self._thread.start()

    def _await_address(self) -> str:
        """Wait for the address of the page.

        Raises:
            ListenerError: there will be none.
        """
        try:
            if self._connection.poll(_STARTS_WITHIN_S):
                started = Started.of(self._connection.recv_bytes(LONGEST))
            else:
                started = Started(trouble="--listen: the process that serves it does not start")
        except (EOFError, OSError, ValueError):
            started = Started(trouble="--listen: the process that serves it has died")
        if started.trouble:
            self._process.kill()
            self._process.join()
            self._connection.close()
            raise ListenerError(started.trouble)
        return started.address

    def _receive_commands(self) -> None:
        try:
            while True:
                # Who is told may change while this waits, so that is looked up afterwards.
                command = command_of(self._connection.recv_bytes(LONGEST), self._verbs)
                self.on_command(command)
        except (EOFError, OSError):
            return
        except ValueError:
            # Its code says nothing else, so that it runs somebody else's.
            self._process.kill()

    def _answer_scrapes(self, metrics: Callable[[], bytes]) -> None:
        """Answer each scrape; what is asked for makes no difference."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._scrapes.recv_bytes(LONGEST)
                self._scrapes.send_bytes(metrics())

    def close(self) -> None:
        """End the page, after the last news."""
        with contextlib.suppress(OSError):
            self._connection.send_bytes(b"end")
        self._process.join(_ENDS_WITHIN_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._thread.join(1.0)
        self._connection.close()
        self._scrapes.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _serve(
    connection: Connection,
    path: str,
    listeners: tuple[Listener, ...],
    verbs: tuple[str, ...],
    scraping: Connection | None = None,
) -> None:
    """Serve the page until the controller says end, or has gone."""
    from vermilion.status.live_page.application import Answers
    from vermilion.status.live_page.journal_reader import JournalReader
    from vermilion.status.live_page.server import PageServer

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the controller's to answer
    sending = threading.Lock()

    def send(command: Command) -> bool:
        try:
            with sending:
                connection.send_bytes(command_message(command))
        except OSError:
            return False
        return True

    journal = Path(path)
    answers = Answers(JournalReader(journal), send, verbs) if verbs else None
    try:
        server = PageServer(
            journal,
            *listeners,
            answers=answers,
            metrics=None if scraping is None else partial(_scrape, scraping),
        )
        try:
            # Not before it listens, which may take one; nobody has been answered yet.
            _give_up_privileges(journal)
        except ListenerError:
            server.close()
            raise
    except ListenerError as error:
        connection.send_bytes(Started(trouble=str(error)).message())
        return
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,), daemon=True)
    thread.start()
    ready.wait(_STARTS_WITHIN_S)
    connection.send_bytes(Started(server.address).message())
    _wait_for_end(connection, server, thread)


def _scrape(scraping: Connection) -> bytes:
    """Ask the controller for its metrics.

    Raises:
        OSError: it does not answer.
    """
    with contextlib.suppress(EOFError):
        while scraping.poll():  # of a scrape that was given up
            scraping.recv_bytes()
        scraping.send_bytes(b"scrape")
        if scraping.poll(_SCRAPE_WITHIN_S):
            return scraping.recv_bytes()
    message = "the controller does not answer"
    raise OSError(message)


def _wait_for_end(connection: Connection, server: PageServer, thread: threading.Thread) -> None:
    with contextlib.suppress(EOFError, OSError):
        connection.recv_bytes(LONGEST)
        threading.Event().wait(_LAST_NEWS_S)
    server.stop()
    thread.join(_ENDS_WITHIN_S)
    server.close()


def _give_up_privileges(journal: Path) -> None:
    """Drop all capabilities, except to read a journal in another user's folder.

    Raises:
        ListenerError: the kernel refused, so that the page must not be served.
    """
    if sys.platform != "linux":  # there are none
        return
    from vermilion.monitor.privileges import CAP_DAC_READ_SEARCH, give_up_all

    try:
        kept = () if _can_be_read_without(journal) else (CAP_DAC_READ_SEARCH,)
        give_up_all(kept)
    except OSError as error:
        message = f"--listen: its process cannot drop its privileges ({error.strerror})"
        raise ListenerError(message) from None


def _can_be_read_without(journal: Path) -> bool:
    """Return whether a journal can be read by a thread without capabilities.

    Raises:
        OSError: the kernel refused.
    """
    from vermilion.monitor.privileges import give_up_all

    found: list[bool | OSError] = []

    def look() -> None:
        try:
            give_up_all()
        except OSError as error:
            found.append(error)
            return
        if os.path.exists(journal):  # noqa: PTH110 - a folder that may not be looked into is no error here
            found.append(os.access(journal, os.R_OK))
        else:  # it will be the controller's own
            found.append(os.access(journal.parent, os.X_OK))

    thread = threading.Thread(target=look)  # capabilities belong to threads
    thread.start()
    thread.join()
    answer = found[0]
    if isinstance(answer, OSError):
        raise answer
    return answer
