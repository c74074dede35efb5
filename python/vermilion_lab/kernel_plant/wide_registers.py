"""Lets User-Mode Linux run on a processor with more registers than it can hold.

Up to Linux 6.12 it keeps 2696 bytes for the extended registers of a process (``HOST_FP_SIZE`` in
arch/x86/um/user-offsets.c), which is what AVX-512 needs. Processors with AMX have 11 kB of them,
and the host lets a debugger set all of them or none: the guest's first program dies ("ptrace set fp
regs failed, errno = 14"). So ptrace(2) is replaced there, for the process of the kernel alone, by a
function that sets the first 2696 bytes and leaves the rest as it is. No program of the guest uses
the rest, for which it would have to ask its kernel first.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Final

from vermilion_lab.kernel_plant.errors import KernelPlantError
from vermilion_lab.kernel_plant.find_kernel import SYSTEM_PATH

LIBRARY: Final = "wide-registers.so"
"""The name of what is put before the C library's own functions."""

_SOURCE: Final = Path(__file__).with_name("wide_registers.c")
_PROCESSOR: Final = Path("/proc/cpuinfo")


def prepare_registers(folder: Path) -> str | None:
    """Make the function where this machine's processor needs it.

    Args:
        folder: where to put it.

    Returns:
        The name of its library in the folder; ``None`` where it is not needed.

    Raises:
        KernelPlantError: there is no C compiler, or it failed.
    """
    if platform.machine() != "x86_64" or not has_too_many(_PROCESSOR.read_text(encoding="utf-8")):
        return None
    compiler = shutil.which("cc", path=SYSTEM_PATH)
    if compiler is None:
        message = (
            "cc is not installed (gcc); on a processor with AMX the kernel's registers are mended "
            "with it"
        )
        raise KernelPlantError(message)
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(folder / LIBRARY), str(_SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it says nothing"])[0]
        message = f"cc has not compiled {_SOURCE.name}: {why}"
        raise KernelPlantError(message)
    return LIBRARY


def has_too_many(processor: str) -> bool:
    """Check whether a processor has more registers than such a kernel can hold.

    Args:
        processor: what ``/proc/cpuinfo`` says.
    """
    flags = next((line for line in processor.splitlines() if line.startswith("flags")), "")
    return "amx_tile" in flags.split()
