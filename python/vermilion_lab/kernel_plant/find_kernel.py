"""Location of the kernel that runs as a process, and checks that this machine can run it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from vermilion_lab.kernel_plant.errors import KERNEL_VARIABLE, KernelPlantError

SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_TOOLS: Final = {
    "ip": "iproute2",
    "tc": "iproute2",
    "unshare": "util-linux",
    "setarch": "util-linux",
}


def kernel_cache() -> Path:
    """Directory where ``make kernel`` keeps the kernel it builds, unless configured otherwise."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "vermilion" / "kernel" / "linux"


def find_kernel() -> Path:
    """The kernel's binary: what the environment names, else what ``make kernel`` has built.

    Raises:
        KernelPlantError: there is none, or a tool is missing that the guest is set up with.
    """
    named = os.environ.get(KERNEL_VARIABLE)
    kernel = kernel_cache() if not named else Path(named)
    if not kernel.is_file() or not os.access(kernel, os.X_OK):
        if named:
            message = (
                f'{KERNEL_VARIABLE}: "{named}" cannot be run; expected a User-Mode Linux binary'
            )
        else:
            message = (
                f"there is no kernel to run: {KERNEL_VARIABLE} names none and {kernel} is not "
                f"there; build one with: make kernel"
            )
        raise KernelPlantError(message)
    for tool, package in _TOOLS.items():
        if shutil.which(tool, path=SYSTEM_PATH) is None:
            message = f"{tool} is not installed ({package}); the kernel's network is set up with it"
            raise KernelPlantError(message)
    return kernel.resolve()
