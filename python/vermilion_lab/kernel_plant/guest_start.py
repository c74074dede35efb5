"""The first program of a guest: makes it habitable, then runs another.

It is copied beside that program's orders and run by the kernel as process 1, with this machine's
files below it, read-only, and the folder of the job at one place for every job.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import stat
import struct
import sys
import traceback

JOB = "/mnt"
_ADD_ENTROPY = 0x40085203
_SEED_BYTES = 32
_POWER_OFF = 0x4321FEDC
_DEVICES = {"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9}
"""The memory devices (major number 1), by their minor numbers; the kernel's devices.txt."""

_libc = ctypes.CDLL(None, use_errno=True)


def _mount(source: str, target: str, kind: str, data: str = "") -> None:
    if _libc.mount(source.encode(), target.encode(), kind.encode(), 0, data.encode()):
        raise OSError(ctypes.get_errno(), f"mount {target}")


def _make_devices() -> None:
    """Give the guest devices of its own, whatever the host has in their places.

    Where the host's ``/dev/null`` is a plain file, as in some containers, nobody could write to it.
    """
    _mount("tmpfs", "/dev", "tmpfs", "mode=755")
    mask = os.umask(0)
    for name, minor in _DEVICES.items():
        os.mknod(f"/dev/{name}", stat.S_IFCHR | 0o666, os.makedev(1, minor))
    os.umask(mask)


def _seed_random(seed: int) -> None:
    """Let all random numbers of this kernel follow from the seed.

    They were drawn from nothing before: the host refuses to give the kernel any of its own.
    """
    entropy = seed.to_bytes(_SEED_BYTES, "little")
    random = os.open("/dev/random", os.O_RDWR)
    fcntl.ioctl(random, _ADD_ENTROPY, struct.pack("=ii", 8 * _SEED_BYTES, _SEED_BYTES) + entropy)
    os.close(random)


def main() -> None:
    """Set the guest up, run the program, switch it off."""
    try:
        _mount("proc", "/proc", "proc")
        _mount("sysfs", "/sys", "sysfs")
        _mount("tmpfs", "/run", "tmpfs")
        _make_devices()
        _mount("none", JOB, "hostfs", JOB)
        with open(f"{JOB}/orders.json", encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes long
            orders = json.load(file)
        if orders["seed"] is not None:
            _seed_random(orders["seed"])
        os.environ.update(PATH=orders["search"], HOME="/run", LANG="C.UTF-8")
        sys.dont_write_bytecode = True
        sys.path[:] = orders["path"]
        import runpy

        if orders["module"] is not None:
            runpy.run_module(orders["module"], run_name="__main__")
        else:
            runpy.run_path(orders["program"], run_name="__main__")
    except BaseException:  # noqa: BLE001 - whoever started the guest is told
        with open(f"{JOB}/failure", "w", encoding="utf-8") as file:  # noqa: PTH123 - as above
            traceback.print_exc(file=file)
    finally:
        os.sync()
        _libc.reboot(_POWER_OFF)


if __name__ == "__main__":
    main()
