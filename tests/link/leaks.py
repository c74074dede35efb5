"""What a link would leave behind: namespaces and interfaces."""

from __future__ import annotations

import ctypes
import os
import socket
import time
from contextlib import suppress
from pathlib import Path

_BECOME_SUBREAPER = 36
"""``PR_SET_CHILD_SUBREAPER`` of include/uapi/linux/prctl.h."""


def adopt_what_is_left() -> None:
    """Makes whatever outlives its parent in these tests a child of this process, and so ours."""
    assert ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0) == 0


def network_namespaces() -> set[str]:
    """Every network namespace in which a process of these tests is.

    What else runs on this machine, other tests included, has namespaces too; they are no leak.
    """
    found = set()
    for process in _of_these_tests():
        with suppress(OSError):
            found.add(str(Path("/proc", str(process), "ns", "net").readlink()))
    return found


def _of_these_tests() -> set[int]:
    """This process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name stands in brackets and may hold anything; the parent is the second behind.
            parent = (
                status.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
            )
            children.setdefault(int(parent), []).append(int(status.parent.name))
    found: set[int] = set()
    left = [os.getpid()]
    while left:
        each = left.pop()
        found.add(each)
        left += children.get(each, [])
    return found


def settled(look, expected, seconds: float = 5.0):
    """What a look shows, once it is what is expected or time is up: the kernel tidies up later."""
    end = time.monotonic() + seconds
    while (found := look()) != expected and time.monotonic() < end:
        time.sleep(0.05)
    return found


def interfaces() -> list[str]:
    return [name for _, name in socket.if_nameindex() if name.startswith(("vermilion", "link"))]
