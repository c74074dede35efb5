"""Results in files, on standard output and in the terminal; targets are checked before any work."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Self, TextIO

from vermilion.cli.endings import UserError, finish_anyway
from vermilion.scenario.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from rich.console import Console

    from vermilion.report.braille import Panel
    from vermilion.simulate import Result

STANDARD_OUTPUT: Final = "-"

_USUAL_WIDTH: Final = 80
"""Columns of curves that are not shown on a terminal, unless ``$COLUMNS`` says otherwise."""

PIPE_WIDTH: Final = 100
"""Columns of a table that is not shown on a terminal, where nothing should be cut off."""


@contextmanager
def output_file(option: str, target: str) -> Iterator[TextIO]:
    """Open a text file that appears under its name only when it is complete.

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
    with _named(option, target), whole_file(Path(target)) as file:
        yield file


@contextmanager
def binary_output_file(option: str, target: str) -> Iterator[BinaryIO]:
    """Variant of :func:`output_file` for bytes.

    Raises:
        UserError: it cannot be written.
    """
    from vermilion.files.whole_file import whole_file

    if target == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        return
    with _named(option, target), whole_file(Path(target), binary=True) as file:
        yield file


@contextmanager
def _named(option: str, target: str) -> Iterator[None]:
    if "\0" not in target and Path(target).is_dir():
        message = f'{option}: "{target}" is a directory; expected a file name'
        raise UserError(message)
    try:
        finish_anyway()
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


@contextmanager
def series_output(option: str, target: str) -> Iterator[Callable[[Result], None]]:
    """Yield a function that writes a result's time series, as CSV or Parquet by the file's name.

    Raises:
        UserError: a name that asks for no known format, a package that is missing, or a file that
            cannot be written; before any work is done.
    """
    from vermilion.simulate import traces
    from vermilion.simulate.extras import MissingPackageError
    from vermilion.simulate.tables import check_format, format_of

    try:
        if target != STANDARD_OUTPUT:
            check_format(target)
    except (ValueError, MissingPackageError) as error:
        message = f"{option}: {error}"
        raise UserError(message) from None
    if target != STANDARD_OUTPUT and format_of(target) == "parquet":
        with binary_output_file(option, target) as file:
            yield partial(traces.write_parquet, file)
    else:
        with output_file(option, target) as text:
            yield partial(traces.write_csv, text)


class FigureFile:
    """The file of ``--figure``, opened before the work begins. A context manager.

    Attributes:
        kind: the format, by the file's name; "" where no figure is asked for.
        file: where the figure goes; ``None`` likewise, and outside of the ``with``.

    Raises:
        UserError: a name with another ending, or a file that cannot be written.
    """

    def __init__(self, figure: str | None) -> None:
        """Args: the file's name; ``None`` for no figure."""
        self.kind = "" if figure is None else figure_format(figure)
        self.file: BinaryIO | None = None
        self._figure = figure
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        self._opened.__enter__()
        if self._figure is not None:
            self.file = self._opened.enter_context(binary_output_file("--figure", self._figure))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.file = None
        self._opened.__exit__(kind, error, traceback)


def figure_format(figure: str) -> str:
    """The format that ``--figure`` asks for.

    Raises:
        UserError: a name with another ending.
    """
    from vermilion.report import drawing

    try:
        return drawing.figure_format(figure)
    except ValueError as error:
        message = f"--figure: {error}"
        raise UserError(message) from None


def show_panels(panels: Sequence[Panel]) -> None:
    """Prints curves in what the terminal can show: its width, colours, and letters.

    ``NO_COLOR`` (https://no-color.org) and a terminal called "dumb" keep colours away.
    """
    import typer

    from vermilion.report.braille import plot

    is_terminal = sys.stdout.isatty()
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"
    width = shutil.get_terminal_size((_USUAL_WIDTH, 24)).columns
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    typer.echo(
        plot(panels, width, colour=is_terminal and wanted, braille=encoding.startswith("utf"))
    )


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
