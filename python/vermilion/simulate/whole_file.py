"""Files that appear under their names only when they are complete."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TextIO, overload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


@overload
def whole_file(path: Path) -> AbstractContextManager[TextIO]: ...


@overload
def whole_file(path: Path, *, binary: Literal[True]) -> AbstractContextManager[BinaryIO]: ...


@overload
def whole_file(
    path: Path, *, binary: bool
) -> AbstractContextManager[TextIO] | AbstractContextManager[BinaryIO]: ...


def whole_file(path: Path, *, binary: bool = False) -> Any:
    """A file to be written, which replaces whatever has its name when all went well.

    Until then, and if anything goes wrong, what was there before stays as it was. A device or
    a pipe cannot be replaced; it is written as it is.

    Args:
        path: its name.
        binary: bytes instead of text (UTF-8).

    Raises:
        OSError: it cannot be written.
    """
    return _whole_file(path, binary=binary)


@contextmanager
def _whole_file(path: Path, *, binary: bool) -> Iterator[Any]:
    mode, encoding = ("wb", None) if binary else ("w", "utf-8")
    special = path.exists() and not path.is_file()
    try:
        file: Any
        if special:
            file = path.open(mode, encoding=encoding)
        else:
            file = NamedTemporaryFile(  # noqa: SIM115 - closed below
                mode, encoding=encoding, dir=path.parent, prefix=f".{path.name}.", delete=False
            )
    except OSError as error:  # what it names is hidden, and nobody has asked for it
        raise OSError(error.errno, error.strerror, str(path)) from None
    except ValueError as error:  # a name with a zero byte in it
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    try:
        if not special:
            Path(file.name).chmod(0o666 & ~_mask())
        yield file
        file.close()
        if not special:
            Path(file.name).replace(path)
    except BaseException:
        with suppress(OSError):  # what could not be written cannot be flushed either
            file.close()
        if not special:
            Path(file.name).unlink(missing_ok=True)
        raise


def _mask() -> int:
    """What new files may not permit; temporary files are private, results are like any other."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
