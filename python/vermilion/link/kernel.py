"""System calls for which Python has no words: being in namespaces, and dying with a parent.

Source of all numbers: ``include/uapi/linux/sched.h``, ``prctl.h``, ``mount.h``.
"""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final

NEW_MOUNTS: Final = 0x00020000
NEW_USER: Final = 0x10000000
NEW_PROCESSES: Final = 0x20000000
NEW_NETWORK: Final = 0x40000000

_SIGNAL_OF_PARENTS_DEATH: Final = 1
_TIMER_SLACK: Final = 29
_RECURSIVE: Final = 0x4000
_SLAVE: Final = 0x80000
_NO_SUID_DEVICES_PROGRAMS: Final = 0x2 | 0x4 | 0x8

_libc: Final = ctypes.CDLL(None, use_errno=True)


def _check_outcome(outcome: int, doing: str) -> None:
    if outcome != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{doing}: {os.strerror(number)}")


def leave(namespaces: int) -> None:
    """Enter fresh namespaces of these kinds (of processes: children do).

    Raises:
        OSError: the kernel does not allow it.
    """
    _check_outcome(_libc.unshare(namespaces), "unshare")


def enter(namespace: int) -> None:
    """Enter the network namespace of an open file.

    Raises:
        OSError: the kernel does not allow it.
    """
    _check_outcome(_libc.setns(namespace, NEW_NETWORK), "setns")


def die_with(parent: int) -> None:
    """Have this process killed when its parent ends.

    Raises:
        ProcessLookupError: the parent has ended already.
    """
    _check_outcome(_libc.prctl(_SIGNAL_OF_PARENTS_DEATH, signal.SIGKILL, 0, 0, 0), "prctl")
    if os.getppid() != parent:
        raise ProcessLookupError


def wake_on_time() -> None:
    """Switch off the timer slack, which wakes this program up to 50 microseconds late."""
    _libc.prctl(_TIMER_SLACK, 1, 0, 0, 0)


def show_own_namespaces() -> None:
    """Mount /proc and /sys anew, to show the processes and interfaces of these namespaces.

    Raises:
        OSError: the kernel does not allow it; within some containers it does not.
    """
    _check_outcome(_libc.mount(None, b"/", None, _RECURSIVE | _SLAVE, None), "mount")
    for kind in (b"proc", b"sysfs"):
        place = b"/sys" if kind == b"sysfs" else b"/proc"
        _check_outcome(_libc.mount(kind, place, kind, _NO_SUID_DEVICES_PROGRAMS, None), "mount")
