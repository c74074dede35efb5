"""Where results go: a file or standard output, checked before any work is done."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Final, TextIO

from vermilion.cli.entry import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

STANDARD_OUTPUT: Final = "-"

PIPE_WIDTH: Final = 200
"""Columns of a table that is not shown on a terminal, where nothing should be cut off."""


@contextmanager
def output_file(option: str, target: str) -> Iterator[TextIO]:
    """A text file that appears under its name only when it is complete.

    It is opened before the work begins, so that a target that cannot be written costs no time.

    Args:
        option: the option that named it, for the message.
        target: a path, or "-" for standard output.

    Raises:
        UserError: it cannot be written.
    """
    if target == STANDARD_OUTPUT:
        yield sys.stdout
        return
    path = Path(target)
    try:
        if path.is_dir():
            message = f'{option}: "{target}" is a directory; expected a file name'
            raise UserError(message)
        special = path.exists() and not path.is_file()
        # A device or a pipe cannot be replaced by a complete file; it is written as it is.
        file = path.open("w", encoding="utf-8") if special else _beside(path)
    except (OSError, ValueError) as error:
        raise _unwritable(option, target, error) from None
    try:
        yield file
        file.close()
        if not special:
            Path(file.name).replace(path)
    except OSError as error:
        _discard(file, special=special)
        raise _unwritable(option, target, error) from None
    except BaseException:
        _discard(file, special=special)
        raise


def check_outputs(**targets: str | None) -> None:
    """Refuses two outputs on standard output, which would mix.

    Raises:
        UserError: naming both options.
    """
    shared = [f"--{name}" for name, target in targets.items() if target == STANDARD_OUTPUT]
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
    sys.stderr.write(f"note: {message}\n")


def _beside(path: Path) -> TextIO:
    file = NamedTemporaryFile(  # noqa: SIM115 - closed by the caller
        "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
    )
    # Temporary files are private; results have the permissions of any other file.
    mask = os.umask(0)
    os.umask(mask)
    Path(file.name).chmod(0o666 & ~mask)
    return file  # type: ignore[return-value]


def _discard(file: TextIO, *, special: bool) -> None:
    file.close()
    if not special:
        Path(file.name).unlink(missing_ok=True)


def _unwritable(option: str, target: str, error: Exception) -> UserError:
    reason = getattr(error, "strerror", None) or error
    return UserError(f'{option}: "{target}" cannot be written ({reason})')
