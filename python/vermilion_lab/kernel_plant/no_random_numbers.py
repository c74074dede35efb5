"""Keeps this machine's random numbers from a process, for runs that have to repeat exactly.

User-Mode Linux asks its host for random bytes when it starts (getrandom(2), ``os_getrandom`` in
arch/um/os-Linux/util.c of Linux 6.12) and makes do without where it gets none. So a filter of
system calls (seccomp(2)) that refuses this one call is all that is needed. It also holds for the
guest's own programs, whose system calls never reach this machine.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from typing import Final

_NO_NEW_PRIVILEGES: Final = 38
_SET_SECCOMP: Final = 22
_FILTER: Final = 2
_GETRANDOM: Final = {"x86_64": 318, "aarch64": 278}
_LOAD_NUMBER: Final = (0x20, 0, 0, 0)
_RETURN: Final = 0x06
_JUMP_IF_EQUAL: Final = 0x15
_REFUSE: Final = 0x00050000
_ALLOW: Final = 0x7FFF0000

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _filter() -> bytes:
    number = _GETRANDOM[platform.machine()]
    steps = [
        _LOAD_NUMBER,
        (_JUMP_IF_EQUAL, 0, 1, number),
        (_RETURN, 0, 0, _REFUSE | errno.ENOSYS),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def refuse_random_numbers() -> None:
    """Deny the kernel's random numbers to this process and those it starts.

    Raises:
        OSError: the kernel does not have such filters.
    """
    code = ctypes.create_string_buffer(_filter())
    program = _Program(len(code.raw) // 8, ctypes.addressof(code))
    if _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or _libc.prctl(
        _SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "seccomp")
