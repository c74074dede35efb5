"""How many simulations this machine can run at a time."""

from __future__ import annotations

import os


def cores() -> int:
    """The processors that this process may use; where the system does not say, all there are."""
    if hasattr(os, "sched_getaffinity"):  # Linux; not macOS, not Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
