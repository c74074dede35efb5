"""Files that hold a secret: read only where they are their owner's alone.

What is looked at is the file that was opened, not whatever has its name a moment later.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class OpenToOthersError(Exception):
    """A file holds a secret, and others may use it.

    Attributes:
        mode: its permissions.
    """

    def __init__(self, mode: int) -> None:
        super().__init__(f"mode {mode:04o}")
        self.mode = mode


def read_secret_file(path: Path, most_bytes: int) -> bytes:
    """Read a file that only its owner may use.

    Args:
        path: of the file.
        most_bytes: to be read of it.

    Raises:
        OpenToOthersError: others may read or write it.
        OSError: it cannot be read, or is no regular file.
        ValueError: no file can have this name.
    """
    # Without waiting: a pipe that nobody writes into would never be opened.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no file")
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise OpenToOthersError(stat.S_IMODE(mode))
        return file.read(most_bytes)
