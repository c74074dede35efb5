"""What a link would leave behind: namespaces and interfaces."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from pathlib import Path


def network_namespaces() -> set[str]:
    """Every network namespace in which a process is."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found.add(str((process / "ns" / "net").readlink()))
    return found


def settled(look, expected, seconds: float = 5.0):
    """What a look shows, once it is what is expected or time is up: the kernel tidies up later."""
    end = time.monotonic() + seconds
    while (found := look()) != expected and time.monotonic() < end:
        time.sleep(0.05)
    return found


def interfaces() -> list[str]:
    return [name for _, name in socket.if_nameindex() if name.startswith(("vermilion", "link"))]
