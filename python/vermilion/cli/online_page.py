"""``vermilion online --page``: a page that shows the controller at work while it works."""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Self, TypedDict

import typer

from vermilion.cli.user_error import UserError

if TYPE_CHECKING:
    from vermilion.online.events import Command, Propose
    from vermilion.online.policy import Mode
    from vermilion.online.router_policy import Service
    from vermilion.status.live_page.beside import PageBeside

_LOOK_EVERY_S: Final = 0.5


class _Words(TypedDict):
    page: str | None
    page_from_outside: bool | None
    page_token: str | None
    answers: bool | None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What the command line, or a policy file, says of the page.

    Attributes:
        page: where to serve it; ``None`` for no page.
        from_outside: whether other machines may reach it.
        token: the file with what a reader has to know; ``None`` for one that is made up.
        answers: whether a person may answer on it.
    """

    page: str | None = None
    from_outside: bool | None = None
    token: Path | None = None
    answers: bool | None = None

    @classmethod
    def of(cls, service: Service) -> PageRequest:
        """What a policy file and the command line together say."""
        token = None if service.page_token is None else Path(service.page_token)
        return cls(service.page, service.page_from_outside, token, service.answers)

    def in_words(self) -> _Words:
        """By the keys of a policy file."""
        return {
            "page": self.page,
            "page_from_outside": self.from_outside,
            "page_token": None if self.token is None else str(self.token),
            "answers": self.answers,
        }


def verbs_of(mode: Mode) -> tuple[str, ...]:
    """What a person may say to a controller of a router in this mode."""
    return {
        "observe": (),
        "propose": ("accept", "decline", "undo", "pause", "resume"),
        "control": ("undo", "pause", "resume"),
    }[mode]


def open_page(
    request: PageRequest,
    journal: Path,
    verbs: tuple[str, ...],
    opened: ExitStack,
    *,
    to_stderr: bool = False,
) -> PageBeside | None:
    """Serves the page, where one is asked for.

    Args:
        request: what is asked for.
        journal: what it shows.
        verbs: what a person may say in this mode.
        opened: closes it.
        to_stderr: where its address is printed.

    Raises:
        UserError: it cannot be served there, or not like this.
    """
    if request.page is None:
        for value, name in (
            (request.from_outside, "--page-from-outside"),
            (request.token, "--page-token"),
            (request.answers, "--answers"),
        ):
            if value:
                message = f"{name} is about the page; expected --page beside it"
                raise UserError(message)
        return None
    if request.answers and not verbs:
        message = (
            "--answers: there is nothing to answer in this mode; expected --mode propose, or of a "
            "router --mode control"
        )
        raise UserError(message)
    from vermilion.status.listener import ListenerError, listener_of, read_token
    from vermilion.status.live_page.beside import PageBeside

    try:
        token = None if request.token is None else read_token(request.token, "--page")
        listener = listener_of(
            request.page, option="--page", from_outside=bool(request.from_outside), token=token
        )
        page = PageBeside(journal, listener, verbs if request.answers else ())
    except ListenerError as error:
        raise UserError(str(error)) from None
    opened.callback(page.close)
    typer.echo(f"The page is {page.address}", err=to_stderr)
    return page


class SimulatedPage:
    """The page of simulated networks: it stays until Ctrl-C, because they end so soon.

    A context manager. Without a page it does nothing.

    Attributes:
        journal: the file to keep; one that goes with the page where none was asked for.
        answers: whether proposals are answered on the page.
    """

    def __init__(self, request: PageRequest, journal: Path | None, mode: Mode) -> None:
        """Args: what is asked for, where the journal is kept, and the controller's mode."""
        self._request = request
        self._mode = mode
        self._opened = ExitStack()
        self._said: SimpleQueue[Command] = SimpleQueue()
        self._page: PageBeside | None = None
        self.journal = journal
        self.answers = bool(request.answers)

    def __enter__(self) -> Self:
        verbs = ("accept", "decline") if self._mode == "propose" else ()
        with ExitStack() as opened:
            if self.journal is None and self._request.page is not None:
                folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="vermilion-"))
                self.journal = Path(folder) / "journal.sqlite"
            self._page = open_page(
                self._request, self.journal or Path(), verbs, opened, to_stderr=True
            )
            self._opened = opened.pop_all()
        if self._page is not None:
            self._page.on_command = self._said.put
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._opened:
            if self._page is not None and kind is None:
                try:
                    typer.echo("The runs have ended. The page stays until Ctrl-C.", err=True)
                    threading.Event().wait()
                except KeyboardInterrupt:
                    typer.echo("", err=True)

    def ask(self, proposal: Propose) -> Command:
        """Wait for a person to answer on the page; a simulated network stands still meanwhile.

        One in real time goes on, and a newer proposal may take this one's place: then the answer to
        that one is passed on.
        """
        typer.echo(f"{'':13}proposal {proposal.number} waits for an answer on the page", err=True)
        while True:
            try:
                said = self._said.get(timeout=_LOOK_EVERY_S)
            except Empty:
                continue
            if said.number is not None and said.number >= proposal.number:
                return said
