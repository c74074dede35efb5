"""Where results go: a file or standard output, checked before any work is done."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TextIO

from vermilion.cli.closed_pipe import finish_anyway
from vermilion.cli.user_error import UserError
from vermilion.scenario.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

STANDARD_OUTPUT: Final = "-"

PIPE_WIDTH: Final = 320
"""Columns of a table that is not shown on a terminal, where nothing should be cut off."""


@contextmanager
def output_file(option: str, target: str) -> Iterator[TextIO]:
    """A text file that appears under its name only when it is complete.

    It is opened before the work begins, so that a target that cannot be written costs no time. From
    then on, a reader of standard output who has gone does not keep it from being written.

    Args:
        option: the option that named it, for the message.
        target: a path, or "-" for standard output.

    Raises:
        UserError: it cannot be written.
    """
    from vermilion.files.whole_file import whole_file

    if target == STANDARD_OUTPUT:
        yield sys.stdout
        return
    with _complete(option, target), whole_file(Path(target)) as file:
        finish_anyway()
        yield file


@contextmanager
def binary_output_file(option: str, target: str) -> Iterator[BinaryIO]:
    """As :func:`output_file`, for bytes.

    Raises:
        UserError: it cannot be written.
    """
    from vermilion.files.whole_file import whole_file

    if target == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        return
    with _complete(option, target), whole_file(Path(target), binary=True) as file:
        finish_anyway()
        yield file


@contextmanager
def _complete(option: str, target: str) -> Iterator[None]:
    """Says in the user's words why a file cannot be written."""
    if "\0" not in target and Path(target).is_dir():
        message = f'{option}: "{target}" is a directory; expected a file name'
        raise UserError(message)
    try:
        yield
    except BrokenPipeError:
        raise  # of standard output, or the target is a pipe whose reader has gone
    except OSError as error:
        reason = error.strerror or error
        message = f'{option}: "{target}" cannot be written ({reason})'
        raise UserError(message) from None


def check_outputs(**targets: str | None) -> None:
    """Refuses two outputs on standard output, which would mix.

    Raises:
        UserError: naming both options.
    """
    shared = [
        f"--{name.replace('_', '-')}"
        for name, target in targets.items()
        if target == STANDARD_OUTPUT
    ]
    if len(shared) > 1:
        message = f'{" and ".join(shared)} cannot both be "-"; expected a file name for one'
        raise UserError(message)


def console() -> Console:
    """A rich console on standard output; wide enough for any table where that is a file."""
    from rich.console import Console

    return Console(
        width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, soft_wrap=False
    )


def note(message: str) -> None:
    """A remark beside the results, which stay alone on standard output."""
    sys.stderr.write(f"note: {printable_lines(message)}\n")


def say(text: str = "", *, err: bool = False) -> None:
    """Print text; what of it could colour or move a terminal becomes "?".

    Commands print through this, :func:`note` and :func:`cell`: a journal, router, capture or
    scenario may have said the text.
    """
    import typer

    typer.echo(printable_lines(text), err=err)


def cell(text: object) -> str:
    """Text for a table or a rich console, likewise: neither control characters nor markup."""
    from rich.markup import escape

    return escape(printable_lines(str(text)))


def printable_lines(text: str) -> str:
    """Text of which nothing but its line breaks moves a terminal."""
    return "\n".join(map(printable, text.split("\n")))
