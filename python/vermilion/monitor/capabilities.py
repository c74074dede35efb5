"""What a process is allowed, as the kernel tells it of any process (proc(5)). Pure."""

from __future__ import annotations

import re
from typing import Final

_EFFECTIVE: Final = re.compile(r"^CapEff:\s*([0-9a-fA-F]{1,16})\s*$", re.MULTILINE)


def has_capabilities(status: str, *wanted: int) -> bool | None:
    """Whether a process or a thread has all of these in force; ``None`` where that is not told.

    Args:
        status: what ``/proc/PID/status`` says of it.
        wanted: the bits of capabilities.
    """
    found = _EFFECTIVE.search(status)
    if found is None:
        return None
    in_force = int(found[1], 16)
    return all(in_force >> each & 1 for each in wanted)
