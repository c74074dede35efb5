"""Files that a scenario names: any file, pipe or device, and possibly somebody's secret."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


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
