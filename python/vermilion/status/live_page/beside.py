"""The page beside its controller, in a process of its own.

However many look at it, the controller does not wait for them. What the process hears of a person
comes back over a pipe; it has none of the controller's privileges, and ends with it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from vermilion.status.listener import Listener, ListenerError

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from vermilion.online.events import Command
    from vermilion.status.live_page.server import PageServer

_STARTS_WITHIN_S: Final = 30.0
_LAST_NEWS_S: Final = 1.2
"""For so long the page goes on after the controller, so that browsers hear of the end."""
_ENDS_WITHIN_S: Final = 5.0


class PageBeside:
    """A page that is served until :meth:`close`.

    Args:
        path: the journal, which may not be there yet.
        listener: where to serve.
        verbs: what a person may say on the page; nothing makes it a page that only shows.
        on_command: told what a person says, on a thread of its own.

    Raises:
        ListenerError: it cannot be served there.
    """

    def __init__(
        self,
        path: Path,
        listener: Listener,
        verbs: tuple[str, ...] = (),
        on_command: Callable[[Command], object] | None = None,
    ) -> None:
        self.on_command: Callable[[Command], object] = on_command or (lambda _: None)
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, str(path), listener, verbs), daemon=True
        )
        self._process.start()
        theirs.close()
        self.address = self._started()
        self._thread = threading.Thread(target=self._hear, daemon=True)
        self._thread.start()

    def _started(self) -> str:
        """The address of the page, when it can be asked for.

        Raises:
            ListenerError: there will be none.
        """
        try:
            there = self._connection.poll(_STARTS_WITHIN_S)
            address, trouble = self._connection.recv() if there else ("", "it does not start")
        except (EOFError, OSError):
            address, trouble = "", "--page: the process that serves it has died"
        if trouble:
            self._process.kill()
            self._process.join()
            raise ListenerError(trouble)
        return str(address)

    def _hear(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                # Who is told may change while this waits, so that is looked up afterwards.
                command = self._connection.recv()
                self.on_command(command)

    def close(self) -> None:
        """End the page, after the last news."""
        with contextlib.suppress(OSError):
            self._connection.send("end")
        self._process.join(_ENDS_WITHIN_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._thread.join(1.0)
        self._connection.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _serve(connection: Connection, path: str, listener: Listener, verbs: tuple[str, ...]) -> None:
    """Serve the page until the controller says end, or has gone."""
    from vermilion.status.live_page.answers import Answers
    from vermilion.status.live_page.journal_reader import JournalReader
    from vermilion.status.live_page.server import PageServer

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the controller's to answer
    _give_up_privileges()
    sending = threading.Lock()

    def send(command: Command) -> bool:
        try:
            with sending:
                connection.send(command)
        except OSError:
            return False
        return True

    journal = Path(path)
    answers = Answers(JournalReader(journal), send, verbs) if verbs else None
    try:
        server = PageServer(journal, listener, option="--page", answers=answers)
    except ListenerError as error:
        connection.send(("", str(error)))
        return
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,), daemon=True)
    thread.start()
    ready.wait(_STARTS_WITHIN_S)
    connection.send((server.address, ""))
    _wait_for_end(connection, server, thread)


def _wait_for_end(connection: Connection, server: PageServer, thread: threading.Thread) -> None:
    with contextlib.suppress(EOFError, OSError):
        connection.recv()
        threading.Event().wait(_LAST_NEWS_S)
    server.stop()
    thread.join(_ENDS_WITHIN_S)
    server.close()


def _give_up_privileges() -> None:
    """What changes queues and listens to packets is no business of a page's."""
    from vermilion.monitor.privileges import CAP_NET_ADMIN, CAP_NET_RAW, give_up

    with contextlib.suppress(OSError, AttributeError):
        give_up([CAP_NET_ADMIN, CAP_NET_RAW])
