"""A real Linux kernel as a network: its queues, its TCP, in virtual time.

A scenario that runs in the simulator also runs here: :func:`run_on_kernel` returns the same kind of
result, and :class:`KernelPlant` gives the on-line controller a real kernel's queue to keep tuned.
The kernel is User-Mode Linux, which runs as a process; its clock is this machine's to turn
(:mod:`.calendar`), so that a run does not depend on how busy the machine is and repeats exactly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion_lab.kernel_plant.errors import KernelPlantError
    from vermilion_lab.kernel_plant.plant import KernelPlant, run_on_kernel

# Loaded when they are used: the programs in the guest need little of this room, and reading files
# is the slow part there.
_HOMES = {"KernelPlant": "plant", "KernelPlantError": "errors", "run_on_kernel": "plant"}

__all__ = ["KernelPlant", "KernelPlantError", "run_on_kernel"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
