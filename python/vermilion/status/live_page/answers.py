"""A person's answers from the page: each is taken once, from this page alone, about what is open.

The page is read-only unless its controller was told to take answers. A browser that is logged in
could be made to send a request by another site's page; so an answer has to say a word that only
this page's own scripts can have read, and where it comes from has to be this page.
"""

from __future__ import annotations

import hmac
import secrets
import sqlite3
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vermilion.online.events import Command
    from vermilion.status.live_page.journal_reader import JournalReader

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
    """Takes answers to the controller that writes a journal now.

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
        """Whether a request comes from this page.

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
        if verb in {"accept", "decline"} and not _is(is_asked["proposal"], number):
            raise Refusal(409, f"proposal {number} is not open any more")
        if verb == "undo" and not _is(is_asked["undo"], number):
            raise Refusal(409, "that change cannot be taken back any more")


def _authority(origin: str) -> str:
    """The host and the port of an origin; "" where it names none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:  # half an address
        return ""


def _is(what: dict[str, Any] | None, number: int) -> bool:
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
