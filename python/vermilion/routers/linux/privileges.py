"""Whether this process may change queues, known before it tries.

The kernel asks for the capability CAP_NET_ADMIN (capabilities(7)) in the user namespace that owns
the network namespace. Whether the process has it in its own is in ``/proc/self/status`` (proc(5)).
"""

from __future__ import annotations

import re
from typing import Final

CAP_NET_ADMIN: Final = 12
"""Its bit (include/uapi/linux/capability.h)."""

_EFFECTIVE: Final = re.compile(r"^CapEff:\s*([0-9a-fA-F]{1,16})\s*$", re.MULTILINE)


def may_change_queues(status: str) -> bool | None:
    """Whether a process has the capability; ``None`` where that is not told.

    Args:
        status: what ``/proc/PID/status`` says of it.
    """
    found = _EFFECTIVE.search(status)
    return None if found is None else bool(int(found[1], 16) >> CAP_NET_ADMIN & 1)
