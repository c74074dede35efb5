"""Files that a scenario names, and the transfers in those of groups of flows.

A file that a scenario names may be anything, somebody's secret too: no message quotes it.

Transfers: a CSV file with a header. Columns, in any order: ``start_s`` (seconds after the group's
start), ``size_bytes`` (whole bytes) and, optionally, ``path``: the name of the flow group that
carries the transfer. ``start`` and ``size`` mean the same two columns. Rows may be in any order.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario.distributions import LARGEST_TRANSFER_BYTES, LONGEST_TIME_S
from vermilion.scenario.errors import FieldError, errors_under

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray


def read_named_file(path: Path, most_bytes: int) -> bytes:
    """Content of a regular file. No message about it may quote it.

    Raises:
        OSError: it cannot be read, is no regular file, or is larger.
        ValueError: no file can have this name.
    """
    # Without waiting: opening a pipe that nobody writes into would never end.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "is a directory, a pipe or a device, and no file")
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"is larger than {most_bytes >> 20} MiB")
    return content


LARGEST_FILE_BYTES: Final = 256 * 1024 * 1024
MOST_ROWS: Final = 1_000_000
"""Transfers of one group; the core has the same bound."""

_COLUMNS: Final = {
    "start_s": "start", "start": "start", "size_bytes": "size", "size": "size", "path": "path",
}  # fmt: skip
_HEADER: Final = 'a CSV file with the header "start_s,size_bytes" or "start_s,size_bytes,path"'
_START: Final = f"a start_s from 0 to {LONGEST_TIME_S:.0f} seconds"
_SIZE: Final = f"a size_bytes that is a whole number from 1 to {LARGEST_TRANSFER_BYTES:.0f}"


def read_traces(files: Mapping[str, str], origin: str) -> dict[str, dict[str, list[int]]]:
    """Read the transfers of every group whose traffic is a trace, for the core.

    Args:
        files: the trace of each of these groups, by the group's name.
        origin: the scenario's file, to whose directory relative names refer.

    Raises:
        FieldError: a file that cannot be read or holds something else, naming file and line.
    """
    lowered = {}
    for name, file in files.items():
        with errors_under(f"flows.{name}.traffic.file"):
            lowered[name] = _transfers(name, file, list(files), _directory(origin))
    return lowered


def _directory(origin: str) -> Path:
    try:
        path = Path(origin)
        return path.parent if path.is_file() else Path()
    except (OSError, ValueError):
        return Path()


def _transfers(name: str, file: str, names: Sequence[str], base: Path) -> dict[str, list[int]]:
    import numpy as np

    table = _table(file, base)
    start, size = table["start"], table["size"]
    _refuse(~((start >= 0) & (start <= LONGEST_TIME_S)), file, base, _START)
    good = (size >= 1) & (size <= LARGEST_TRANSFER_BYTES) & (size == np.floor(size))
    _refuse(~good, file, base, _SIZE)
    if "path" in (table.dtype.names or ()):
        path = table["path"]
        known = f"a path that is a flow group with a trace: {', '.join(names)}"
        _refuse(~np.isin(path, names), file, base, known)
        start, size = start[path == name], size[path == name]
    if start.size == 0:
        raise FieldError("", f"{file}: no row for {name}", "at least one transfer")
    if start.size > MOST_ROWS:
        raise FieldError("", f"{file}: {start.size} rows", f"at most {MOST_ROWS} transfers")
    order = np.argsort(start, kind="stable")
    return {
        "starts_ns": np.rint(start[order] * 1e9).astype(np.int64).tolist(),
        "sizes_bytes": size[order].astype(np.int64).tolist(),
    }


def _table(file: str, base: Path) -> NDArray[Any]:
    """Rows of a file, read again only when the file has changed."""
    try:
        path = (base / file).resolve()
        state = path.stat()
        return _read(path, state.st_mtime_ns, state.st_size, file)
    except UnicodeDecodeError:
        raise FieldError("", f"{file}: not text in UTF-8", _HEADER) from None
    except OSError as error:
        raise FieldError("", f"{file}: cannot be read ({error.strerror})", _HEADER) from None
    except (ValueError, RuntimeError) as error:
        if isinstance(error, FieldError):
            raise
        raise FieldError("", file, "the name of a CSV file") from None


@lru_cache(maxsize=8)
def _read(path: Path, _changed_ns: int, _size: int, file: str) -> NDArray[Any]:
    import numpy as np

    text = read_named_file(path, LARGEST_FILE_BYTES).decode("utf-8-sig")
    header, _, body = text.partition("\n")
    names = [_COLUMNS.get(name.strip()) for name in header.split(",")]
    if None in names or len(set(names)) != len(names) or not {"start", "size"} <= set(names):
        raise FieldError("", f"{file}, line 1", _HEADER)
    if not body.strip():
        raise FieldError("", f"{file}: no rows", "at least one transfer")
    columns: list[Any] = [(name, "U64" if name == "path" else "f8") for name in names]
    try:
        table = np.loadtxt(io.StringIO(body), dtype=columns, delimiter=",", comments=None, ndmin=1)
    except ValueError:
        _refuse_first(text, file, lambda fields: _is_row(fields, names), _expected(names))
        raise FieldError("", file, f"rows of {_expected(names)}") from None
    if "path" in names:
        table["path"] = np.char.strip(table["path"])
    return table


def _expected(names: Sequence[str | None]) -> str:
    words = {"start": "start_s", "size": "size_bytes", "path": "path"}
    return f"numbers for {', '.join(words[name] for name in names if name)}"


def _is_row(fields: Sequence[str], names: Sequence[str | None]) -> bool:
    if len(fields) != len(names):
        return False
    for field, name in zip(fields, names, strict=True):
        if name != "path":
            try:
                float(field)
            except ValueError:
                return False
    return True


def _refuse(bad: NDArray[Any], file: str, base: Path, accepted: str) -> None:
    """Raise an error that names the line of the first bad row, if there is one."""
    if not bad.any():
        return
    number = int(bad.argmax())
    content = read_named_file(base / file, LARGEST_FILE_BYTES).decode("utf-8-sig")
    places = [place for place, line in enumerate(content.split("\n"), start=1) if line.strip()]
    raise FieldError("", f"{file}, line {places[1 + number]}", accepted)


def _refuse_first(
    text: str, file: str, good: Callable[[Sequence[str]], bool], accepted: str
) -> None:
    for place, line in enumerate(text.split("\n")[1:], start=2):
        if line.strip() and not good(line.split(",")):
            raise FieldError("", f"{file}, line {place}", accepted)
