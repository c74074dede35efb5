"""Giving up what a process was allowed, once it has what it needed it for.

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

CAP_NET_BIND_SERVICE: Final = 10
CAP_NET_ADMIN: Final = 12
CAP_NET_RAW: Final = 13
"""Bits of capabilities (include/uapi/linux/capability.h)."""

_VERSION_3 = 0x20080522
_PR_SET_NO_NEW_PRIVS = 38
_EFFECTIVE: Final = re.compile(r"^CapEff:\s*([0-9a-fA-F]{1,16})\s*$", re.MULTILINE)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class _Set(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def give_up(capabilities: Iterable[int]) -> None:
    """Give up capabilities for good; those that are not there are given up already.

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


def threads_with(capability: int) -> int:
    """How many threads of this process have a capability in force."""
    count = 0
    for thread in Path("/proc/self/task").iterdir():
        status = (thread / "status").read_text(encoding="ascii", errors="replace")
        found = _EFFECTIVE.search(status)
        count += found is not None and int(found[1], 16) >> capability & 1
    return count


def _call(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
