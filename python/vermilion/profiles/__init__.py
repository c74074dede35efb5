"""Device profiles: what a Linux kernel, a SONiC switch or a Cisco-style router can be set to.

:data:`PROFILES` has them by name; :class:`Device` is one for the tuned queues of a scenario.
"""

from __future__ import annotations

from vermilion.profiles.device import Device
from vermilion.profiles.interface import DeviceProfile, Place
from vermilion.profiles.registry import PROFILES

__all__ = ["PROFILES", "Device", "DeviceProfile", "Place"]
