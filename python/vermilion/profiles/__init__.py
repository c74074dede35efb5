"""Device profiles: what a Linux kernel, a SONiC switch or a Cisco-style router can be set to.

:data:`PROFILES` has them by name, :data:`LINUX_PROFILES` those of Linux by discipline;
:class:`Device` is one for the tuned queues of a scenario.
"""

from __future__ import annotations

from vermilion.profiles.interface import DeviceProfile, Place
from vermilion.profiles.registry import LINUX_PROFILES, PROFILES, Device

__all__ = ["LINUX_PROFILES", "PROFILES", "Device", "DeviceProfile", "Place"]
