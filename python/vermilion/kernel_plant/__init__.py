"""A real Linux kernel as a network: its queues, its TCP, in virtual time.

A scenario that runs in the simulator also runs here: :func:`run_on_kernel` returns the same kind of
result, and :class:`KernelPlant` gives the on-line controller a real kernel's queue to keep tuned.
The kernel is User-Mode Linux, which runs as a process; its clock is this machine's to turn
(:mod:`.calendar`), so that a run does not depend on how busy the machine is and repeats exactly.
"""

from __future__ import annotations

from vermilion.kernel_plant.errors import KernelPlantError
from vermilion.kernel_plant.plant import KernelNetwork, KernelPlant, run_on_kernel

__all__ = ["KernelNetwork", "KernelPlant", "KernelPlantError", "run_on_kernel"]
