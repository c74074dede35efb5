"""``vermilion online --listen``: a page that shows the controller at work while it works."""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Self

from vermilion.cli.endings import UserError
from vermilion.cli.output import say

if TYPE_CHECKING:
    from vermilion.online.events import Command, Propose
    from vermilion.online.policy import Mode
    from vermilion.online.router_policy import Service
    from vermilion.status.listener import Listener
    from vermilion.status.live_page.beside import PageBeside
    from vermilion.status.metrics import ControllerMetrics

_LOOK_EVERY_S: Final = 0.5


def verbs_of(mode: Mode) -> tuple[str, ...]:
    """Commands that a controller of a router accepts in this mode."""
    return {
        "observe": (),
        "propose": ("accept", "decline", "undo", "pause", "resume"),
        "control": ("undo", "pause", "resume"),
    }[mode]


def open_page(
    service: Service,
    journal: Path,
    verbs: tuple[str, ...],
    opened: ExitStack,
    *,
    metrics: ControllerMetrics | None = None,
    to_stderr: bool = False,
) -> PageBeside | None:
    """Serve the page and the metrics, where they are asked for.

    Args:
        service: what is asked for.
        journal: what the page shows.
        verbs: what a person may say in this mode.
        opened: closes it.
        metrics: the numbers for Prometheus, where there are any.
        to_stderr: where its address is printed.

    Raises:
        UserError: it cannot be served there, or not like this.
    """
    from vermilion.status.listener import ListenerError

    if service.answers and service.listen is not None and not verbs:
        message = "--answers: expected --mode propose, or of a router --mode control"
        raise UserError(message)
    try:
        listeners = _listeners(service)
        if not listeners:
            return None
        from vermilion.status.live_page.beside import PageBeside

        page = PageBeside(
            journal,
            *listeners,
            verbs=verbs if service.answers else (),
            metrics=None if metrics is None else metrics.text,
        )
    except ListenerError as error:
        raise UserError(str(error)) from None
    opened.callback(page.close)
    if page.address:
        say(f"The page is {page.address}", err=to_stderr)
    return page


def _listeners(service: Service) -> list[Listener]:
    """The places to serve at; ``--metrics`` is the former option for a place of its own.

    Raises:
        ListenerError: one of them is not accepted.
        UserError: an option without the one that it belongs to.
    """
    from vermilion.status.listener import listener_of, read_token

    found = []
    for option, place, from_outside, token, others in (
        (
            "--listen",
            service.listen,
            service.listen_from_outside,
            service.listen_token,
            {"--answers": service.answers},
        ),
        (
            "--metrics",
            service.metrics,
            service.metrics_from_outside,
            service.metrics_token,
            {},
        ),
    ):
        if place is not None:
            known = None if token is None else read_token(Path(token), option)
            outside = bool(from_outside)
            found.append(listener_of(place, option=option, from_outside=outside, token=known))
            continue
        for name, value in {
            f"{option}-from-outside": from_outside,
            f"{option}-token": token,
            **others,
        }.items():
            if value:
                message = f"{name}: {option} is missing; expected {option} beside it"
                raise UserError(message)
    return found


class SimulatedPage:
    """The page of simulated networks: it stays until Ctrl-C, because they end so soon.

    A context manager. Without a page it does nothing.

    Attributes:
        journal: the file to keep; one that goes with the page where none was asked for.
        answers: whether proposals are answered on the page.
    """

    def __init__(self, service: Service, journal: Path | None, mode: Mode) -> None:
        """Args: what is asked for, where the journal is kept, and the controller's mode."""
        self._service = service
        self._mode = mode
        self._opened = ExitStack()
        self._said: SimpleQueue[Command] = SimpleQueue()
        self._page: PageBeside | None = None
        self.journal = journal
        self.answers = bool(service.answers)

    def __enter__(self) -> Self:
        verbs = ("accept", "decline") if self._mode == "propose" else ()
        with ExitStack() as opened:
            if self.journal is None and self._service.listen is not None:
                folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="vermilion-"))
                self.journal = Path(folder) / "journal.sqlite"
            self._page = open_page(
                self._service, self.journal or Path(), verbs, opened, to_stderr=True
            )
            self._opened = opened.pop_all()
        if self._page is not None:
            self._page.on_command = self._said.put
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._opened:
            if self._page is not None and kind is None:
                try:
                    say("The runs have ended. Ctrl-C closes the page.", err=True)
                    threading.Event().wait()
                except KeyboardInterrupt:
                    say("", err=True)

    def ask(self, proposal: Propose) -> Command:
        """Wait for a person to answer on the page; a simulated network stands still meanwhile.

        One in real time goes on, and a newer proposal may take this one's place: then the answer to
        that one is passed on.
        """
        say(f"{''}proposal {proposal.number} waits for an answer on the page", err=True)
        while True:
            try:
                said = self._said.get(timeout=_LOOK_EVERY_S)
            except Empty:
                continue
            if said.number is not None and said.number >= proposal.number:
                return said
