"""Every device profile by name: one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.profiles.cisco import Cisco
from vermilion.profiles.linux_delays import LinuxCodel, LinuxPie
from vermilion.profiles.linux_fifo import LinuxFifo
from vermilion.profiles.linux_flow_queues import LinuxFqCodel, LinuxFqPie
from vermilion.profiles.linux_fq import LinuxFq
from vermilion.profiles.linux_red import LinuxRed
from vermilion.profiles.sonic import Sonic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.profiles.interface import DeviceProfile

_PROFILES: Final[tuple[type[DeviceProfile], ...]] = (
    LinuxRed,
    Sonic,
    Cisco,
    LinuxCodel,
    LinuxPie,
    LinuxFq,
    LinuxFqCodel,
    LinuxFqPie,
    LinuxFifo,
)

PROFILES: Final[Mapping[str, type[DeviceProfile]]] = {
    profile.name: profile for profile in _PROFILES
}
"""The profiles by name."""

LINUX_PROFILES: Final[Mapping[str, type[DeviceProfile]]] = {
    "fq": LinuxFq,
    "fq-codel": LinuxFqCodel,
    "fq-pie": LinuxFqPie,
    "codel": LinuxCodel,
    "pie": LinuxPie,
    "linux-red": LinuxRed,
    "drop-tail": LinuxFifo,
}
"""Disciplines that Linux has, and the profile that writes them as tc does."""
