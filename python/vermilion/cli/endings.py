"""Ends of a command: exit codes, mistakes of the user, signals, and readers who go early.

SIGTERM and SIGHUP end a command as Ctrl-C does: with what it has, and nothing half written.

A command that only shows something stops when its reader has gone (``vermilion run ... | head``).
One that also writes files goes on silently and writes them. On a stream that is closed from the
beginning (``>&-``) nothing is shown.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from typing_extensions import Buffer

EXIT_MISTAKE: Final = 2
"""A user's mistake, with one line saying which."""

EXIT_NOT_RESTORED: Final = 12
"""A controller was to put back the first setting when it ended, and could not."""

EXIT_INTERRUPTED: Final = 130
"""128 + SIGINT: interrupted with Ctrl-C."""

EXIT_BROKEN_PIPE: Final = 141
"""128 + SIGPIPE: the reader of standard output has gone."""

_SIGNALS: Final = ("SIGTERM", "SIGHUP")
_SIGNALLED: Final = 128


class UserError(Exception):
    """A mistake of the user that is not in a scenario; ``str()`` is the line to show."""


class EndingSignals:
    """The signal that has ended a command, beside Ctrl-C.

    Attributes:
        number: of the first such signal; ``None`` where there was none.
    """

    def __init__(self) -> None:
        self.number: int | None = None

    def exit_code(self, interrupted: int) -> int:
        """Return 143 after SIGTERM, 129 after SIGHUP, otherwise the code after Ctrl-C."""
        return interrupted if self.number is None else _SIGNALLED + self.number

    def answer(self, number: int, frame: FrameType | None) -> None:
        """Do whatever Ctrl-C would do at this moment.

        Raises:
            KeyboardInterrupt: unless somebody answers to Ctrl-C in another way.
        """
        if self.number is None:
            self.number = number
        at_interrupt = signal.getsignal(signal.SIGINT)
        # A shell has the commands behind "&" ignore Ctrl-C, but not these signals.
        if callable(at_interrupt):
            at_interrupt(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt


@contextmanager
def like_interrupts() -> Iterator[EndingSignals]:
    """Treat SIGTERM and SIGHUP as Ctrl-C.

    Signals that are ignored or handled already stay as they are; outside of the main thread all do.
    """
    ending = EndingSignals()
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, ending.answer)
    try:
        yield ending
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


class _Output(io.FileIO):
    """Standard output; with ``unread`` a reader who has gone is no error."""

    unread = False

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            if not self.unread:
                raise
            _to_nowhere(self.fileno())
            return super().write(data)


@contextmanager
def output_that_may_close() -> Iterator[None]:
    """Make :func:`finish_anyway` effective on ``sys.stdout``."""
    standard = sys.stdout
    descriptor = _descriptor()
    if descriptor is None:
        yield
        return
    standard.flush()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(descriptor, "w", closefd=False)),
        encoding=standard.encoding,
        errors=standard.errors,
        line_buffering=getattr(standard, "line_buffering", False),
        write_through=getattr(standard, "write_through", False),
    )
    try:
        yield
    finally:
        sys.stdout = standard


def closed_streams_to_nowhere() -> None:
    """Send output on streams that are closed from the beginning to the null device.

    Python has no such stream then, and the next file that is opened would get its number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest number that is free: the closed stream's own, as the lower ones are open.
            nowhere = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - until the end
            setattr(sys, name, nowhere)


def finish_anyway() -> None:
    """Go on from now on when the reader of standard output has gone."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _Output):
        raw.unread = True


def forget_output() -> None:
    """Drop what is still buffered, which Python would try to write again at exit."""
    descriptor = _descriptor()
    if descriptor is not None:
        _to_nowhere(descriptor)


def _descriptor() -> int | None:
    """The file descriptor of standard output; ``None`` for one that is no file."""
    try:
        return sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def _to_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
