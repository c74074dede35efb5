"""Files that appear under their names only when they are complete."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, TextIO, overload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

_RANDOM_BYTES: Final = 6
"""Random bytes in the name of a temporary file; eight characters as a text."""


@overload
def whole_file(path: Path) -> AbstractContextManager[TextIO]: ...


@overload
def whole_file(path: Path, *, binary: Literal[True]) -> AbstractContextManager[BinaryIO]: ...


@overload
def whole_file(
    path: Path, *, binary: bool
) -> AbstractContextManager[TextIO] | AbstractContextManager[BinaryIO]: ...


def whole_file(path: Path, *, binary: bool = False) -> Any:
    """Write a file that replaces one of its name only when complete.

    Until then, and if anything goes wrong, what was there before stays as it was. What replaces a
    file may be read by whoever could read that one. A link stays a link, and what it points to is
    replaced. A device or a pipe cannot be replaced; it is written as it is.

    Args:
        path: its name.
        binary: bytes instead of text (UTF-8).

    Raises:
        OSError: it cannot be written.
    """
    return _whole_file(path, binary=binary)


@contextmanager
def _whole_file(path: Path, *, binary: bool) -> Iterator[Any]:
    try:
        there = _status(path)  # first, for it refuses a link that leads to itself
        target = path if _is_special(there) else path.resolve()
        file, beside = _open_target(target, there, binary=binary)
    except OSError as error:  # what it names is hidden, and nobody has asked for it
        raise OSError(error.errno, error.strerror, str(path)) from None
    except ValueError as error:  # a name with a zero byte in it
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    try:
        yield file
        if beside is None:
            file.close()
            return
        file.flush()
        os.fsync(file.fileno())  # or a crash may leave an empty file under the name
        file.close()
        beside.replace(target)
    except BaseException:
        with suppress(OSError):  # what could not be written cannot be flushed either
            file.close()
        if beside is not None:
            beside.unlink(missing_ok=True)
        raise


def _open_target(
    target: Path, there: os.stat_result | None, *, binary: bool
) -> tuple[Any, Path | None]:
    """Open a file to write; return its path beside the target, ``None`` for the target itself."""
    kind, encoding = ("b", None) if binary else ("", "utf-8")
    if _is_special(there):
        return target.open(f"w{kind}", encoding=encoding), None
    beside = target.with_name(f".{target.name}.{secrets.token_urlsafe(_RANDOM_BYTES)}")
    if there is None:
        return beside.open(f"x{kind}", encoding=encoding), beside
    file = open(beside, f"x{kind}", encoding=encoding, opener=_open_private)  # noqa: SIM115 - closed by whoever writes
    try:
        _copy_rights(beside, there)
    except BaseException:
        file.close()
        beside.unlink()
        raise
    return file, beside


def _status(path: Path) -> os.stat_result | None:
    """Status of a name; ``None`` where nothing has it.

    The name is asked as it stands: a system may forbid to follow somebody else's link.
    """
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_special(there: os.stat_result | None) -> bool:
    return there is not None and not stat.S_ISREG(there.st_mode)


def _open_private(name: str, flags: int) -> int:
    """Open a private file, which gets the rights of the one that it replaces later."""
    return os.open(name, flags, 0o600)


def _copy_rights(beside: Path, there: os.stat_result) -> None:
    ours = beside.stat()
    if (ours.st_uid, ours.st_gid) != (there.st_uid, there.st_gid):
        with suppress(PermissionError):  # only root may give files away
            os.chown(beside, there.st_uid, there.st_gid)
    beside.chmod(stat.S_IMODE(there.st_mode))
