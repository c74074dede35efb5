"""A reader who goes early: ``vermilion online ... --report page.html | head -3``.

A command that only shows something stops when nobody reads it any more. One that also writes files
does what it was asked for: it goes on to its end without showing anything, and writes them.

Whoever closes a stream from the beginning (``>&-``) wants to see nothing of it.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer


class _Output(io.FileIO):
    """Standard output; with ``unread`` it does not matter whether anybody reads it."""

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
    """Within it, :func:`finish_anyway` has its effect on ``sys.stdout``."""
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
    """Has what is said on a stream that is closed from the beginning go nowhere.

    Python has no such stream then, and the next file that is opened would get its number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest number that is free: the closed stream's own, as the lower ones are open.
            nowhere = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - until the end
            setattr(sys, name, nowhere)


def finish_anyway() -> None:
    """From now on, a reader of standard output who has gone does not stop the command."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _Output):
        raw.unread = True


def forget_output() -> None:
    """Drops what is still buffered: it cannot be written, and Python would try again at exit."""
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
