"""What ``random-detect`` of a Cisco-style router can be set to.

Source: the command references of Cisco IOS (ME 3800X, MWR 2941; "random-detect precedence",
"random-detect exponential-weighting-constant"): thresholds are 1 to 4096 packets, the
probability at the maximum threshold is 1 / n with a whole n from 1 to 65535, and the average is
old * (1 - 2^-n) + current * 2^-n with n from 1 to 16 (9 unless told otherwise). Platforms
differ in these ranges and in the units they take; look at yours.

Each IP precedence has thresholds of its own, rising by default; all eight get the same ones
here, because simulated packets have no precedence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.profiles.interface import DeviceProfile, Place
from vermilion.profiles.red_setting import (
    LINUX_RED,
    RED,
    RedSetting,
    limit_bytes,
    nearest_power,
    read_setting,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_PACKETS: Final = 4096
_LARGEST_DENOMINATOR: Final = 65_535
_LARGEST_EXPONENT: Final = 16
_PRECEDENCES: Final = 8


class Cisco(DeviceProfile):
    """WRED of a Cisco-style router: ``random-detect``."""

    name: ClassVar[str] = "cisco"
    summary: ClassVar[str] = "WRED of a Cisco-style router: packets, 1/n, 2^-n; random-detect"
    settable: ClassVar[Mapping[str, Sequence[str]]] = {"red": RED, "linux-red": LINUX_RED}

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """Whole packets, the inverse of a whole number, and a power of two."""
        known = values_of(self, self._settle(read_setting(self, values)))
        return {name: known[name] for name in values}

    def command(self, values: Mapping[str, float], place: Place) -> str:
        """The lines of a policy map's class, or of an interface if that is given."""
        setting = self._settle(read_setting(self, values))
        size = self.packet_size()
        low, high = setting.min_threshold / size, setting.max_threshold / size
        denominator = round(1 / setting.max_probability)
        lines = [] if place.device is None else [f"interface {place.device}"]
        lines += ["random-detect"]
        lines += ["random-detect ecn"] if self.is_set("ecn") else []
        exponent = nearest_power(setting.weight, 1, _LARGEST_EXPONENT)
        lines += [f"random-detect exponential-weighting-constant {exponent}"]
        lines += [
            f"random-detect precedence {precedence} {low:.0f} {high:.0f} {denominator}"
            for precedence in range(_PRECEDENCES)
        ]
        if place.device is None:
            lines.append(f"queue-limit {max(round(limit_bytes(self) / size), 1)} packets")
        return "\n".join(lines)

    def _settle(self, wanted: RedSetting) -> RedSetting:
        size = self.packet_size()
        low = min(max(round(wanted.min_threshold / size), 1), _MOST_PACKETS - 1)
        high = min(max(round(wanted.max_threshold / size), low + 1), _MOST_PACKETS)
        denominator = min(max(round(1 / wanted.max_probability), 1), _LARGEST_DENOMINATOR)
        return replace(
            wanted,
            min_threshold=float(low * size),
            max_threshold=float(high * size),
            max_probability=1 / denominator,
            weight=0.5 ** nearest_power(wanted.weight, 1, _LARGEST_EXPONENT),
        )
