"""Whether this process may change queues, known before it tries.

The kernel asks for the capability CAP_NET_ADMIN (capabilities(7)) in the user namespace that owns
the network namespace. Whether the process has it in its own is in ``/proc/self/status`` (proc(5)).
"""

from __future__ import annotations

from vermilion.monitor.privileges import CAP_NET_ADMIN, has_capabilities


def may_change_queues(status: str) -> bool | None:
    """Whether a process has the capability; ``None`` where that is not told.

    Args:
        status: what ``/proc/PID/status`` says of it.
    """
    return has_capabilities(status, CAP_NET_ADMIN)
