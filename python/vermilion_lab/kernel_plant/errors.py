"""Errors of a kernel that runs as a process."""

from __future__ import annotations

from typing import Final

KERNEL_VARIABLE: Final = "VERMILION_KERNEL"
"""The environment variable that names the kernel's binary."""


class KernelPlantError(Exception):
    """A kernel that cannot be used, or that failed; ``str()`` is one line for a person."""


class GuestError(KernelPlantError):
    """The kernel was started and did not do what it was asked."""
