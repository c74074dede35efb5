"""A person at the terminal of a running controller, who is asked and may interrupt.

A thread reads, so that nobody waits for an answer. It reads the descriptor itself: a thread that
holds Python's standard input would keep the program from ending.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from typing import TYPE_CHECKING, Final, Literal, Self

from vermilion.cli.output import printable_lines
from vermilion.online.events import Command
from vermilion.scenario.errors import printable, value_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.online.events import Propose

_ANSWERS: Final[dict[str, Literal["accept", "decline"]]] = {
    "y": "accept",
    "yes": "accept",
    "n": "decline",
    "no": "decline",
    "": "decline",
}
_WORDS: Final[dict[str, Literal["pause", "resume", "stop"]]] = {
    "pause": "pause",
    "resume": "resume",
    "stop": "stop",
}
_LONGEST_LINE: Final = 4096
_BACKGROUND_S: Final = 1.0


class Terminal:
    """Reads lines and turns them into commands.

    Use as a context manager. ``y`` and ``n`` answer the proposal that is open; ``pause``,
    ``resume`` and ``stop`` may be said at any time. When nobody can answer any more, proposals are
    declined.
    """

    def __init__(
        self,
        put: Callable[[Command], object],
        descriptor: int = 0,
        *,
        others_answer: bool = False,
    ) -> None:
        """Prepare.

        Args:
            put: who gets the commands.
            descriptor: where to read.
            others_answer: whether somebody can answer elsewhere when nobody can here.
        """
        self._put = put
        self._others_answer = others_answer
        self._descriptor = descriptor
        self._open: int | None = None
        self._gone = False
        self._lock = threading.Lock()
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.write(self._waker, b"\n")
        self._thread.join()
        os.close(self._wake)
        os.close(self._waker)

    def ask(self, proposal: Propose) -> None:
        """Ask whether to make a change; the answer comes as a command."""
        with self._lock:
            self._open = proposal.number
            gone = self._gone
        if gone:
            self._decline_open()
        else:
            _say(f"{'':13}apply proposal {proposal.number}? [y/N]: ", end="")

    def withdraw(self) -> None:
        """The open proposal is no longer one."""
        with self._lock:
            self._open = None

    def _read(self) -> None:
        rest = b""
        while True:
            ready, _, _ = select.select([self._descriptor, self._wake], [], [])
            if self._wake in ready:
                return
            if not self._is_in_front():
                time.sleep(_BACKGROUND_S)
                continue
            try:
                data = os.read(self._descriptor, _LONGEST_LINE)
            except OSError:
                data = b""
            if not data:
                with self._lock:
                    self._gone = True
                self._decline_open()
                return
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[-_LONGEST_LINE:]
            for line in lines:
                self._hear(line.decode(errors="replace").strip().lower())

    def _is_in_front(self) -> bool:
        """Check that this is the foreground job: a background job is stopped if it reads."""
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:
            return True  # no terminal

    def _hear(self, word: str) -> None:
        with self._lock:
            number = self._open
            if word in _ANSWERS:
                self._open = None
        if word in _WORDS:
            self._put(Command(_WORDS[word]))
        elif word in _ANSWERS and number is not None:
            self._put(Command(_ANSWERS[word], number))
        elif word:
            words = "pause, resume or stop"
            if number is not None:
                words = f"y, n, {words}"
            _say(f"{printable(value_text(word))} is not understood; expected {words}")

    def _decline_open(self) -> None:
        with self._lock:
            number, self._open = self._open, None
        if number is not None and not self._others_answer:
            self._put(Command("decline", number))


def _say(text: str, end: str = "\n") -> None:
    """On standard error, beside the results; a terminal that has gone does not matter."""
    try:
        sys.stderr.write(f"{printable_lines(text)}{end}")
        sys.stderr.flush()
    except OSError:
        return
