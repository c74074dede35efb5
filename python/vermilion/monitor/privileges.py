"""Dropping the capabilities of a process once they are no longer needed.

Sockets stay usable after the capability that opened them is gone (capabilities(7)). So that no
program that is started later gets it back, not even for root, the process is told to gain no more
privileges (``PR_SET_NO_NEW_PRIVS``, prctl(2)): what a program is given is cut to what this one has.

Capabilities belong to threads. What is given up here is given up for the calling thread, and for
threads and programs that it starts from then on; threads that are there already keep theirs.
"""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_EFFECTIVE: Final = re.compile(r"^CapEff:\s*([0-9a-fA-F]{1,16})\s*$", re.MULTILINE)


def has_capabilities(status: str, *wanted: int) -> bool | None:
    """Return whether all of these are in force for a process or thread; ``None`` if unknown.

    Args:
        status: what ``/proc/PID/status`` says of it.
        wanted: the bits of capabilities.
    """
    found = _EFFECTIVE.search(status)
    if found is None:
        return None
    in_force = int(found[1], 16)
    return all(in_force >> each & 1 for each in wanted)


CAP_DAC_READ_SEARCH: Final = 2
CAP_NET_BIND_SERVICE: Final = 10
CAP_NET_ADMIN: Final = 12
CAP_NET_RAW: Final = 13
CAP_SYS_ADMIN: Final = 21
"""Bits of capabilities (include/uapi/linux/capability.h)."""

_VERSION_3 = 0x20080522
_PR_CAPBSET_READ = 23
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITIES = 64
"""As many as the sets of version 3 have bits."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class _Set(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def give_up(capabilities: Iterable[int]) -> None:
    """Give up capabilities for good, where the process has them.

    Raises:
        OSError: the kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    header = _Header(_VERSION_3, 0)
    sets = (_Set * 2)()
    _call(libc.capget(ctypes.byref(header), sets))
    for each in capabilities:
        kept = ~(1 << each % 32) & 0xFFFFFFFF
        word = sets[each // 32]
        word.effective &= kept
        word.permitted &= kept
        word.inheritable &= kept
    # First this: a failure after it leaves the process no more than it had.
    _call(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _call(libc.capset(ctypes.byref(header), sets))


def give_up_all(but: Iterable[int] = ()) -> None:
    """Give up every capability for good, in all five sets of the calling thread.

    Who is not privileged at all cannot make its bounding set smaller. Nothing hangs on that:
    without new privileges no program gets anything from that set.

    Args:
        but: those to be kept, where they are there.

    Raises:
        OSError: the kernel refused.
    """
    kept = frozenset(but)
    given_up = [each for each in range(_CAPABILITIES) if each not in kept]
    libc = ctypes.CDLL(None, use_errno=True)
    for each in range(_CAPABILITIES):
        # A capability that this kernel does not have is no member either: -1.
        if libc.prctl(_PR_CAPBSET_READ, each, 0, 0, 0) == 1:
            libc.prctl(_PR_CAPBSET_DROP, each, 0, 0, 0)
    # What leaves the permitted set leaves the ambient one; what is kept would stay there.
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    give_up(given_up)


def threads_with(capability: int) -> int:
    """Number of threads of this process with a capability in force."""
    count = 0
    for thread in Path("/proc/self/task").iterdir():
        status = (thread / "status").read_text(encoding="ascii", errors="replace")
        count += has_capabilities(status, capability) is True
    return count


def _call(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
