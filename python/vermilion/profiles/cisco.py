"""Settings of ``random-detect`` of a Cisco-style router.

Source: the command references of Cisco IOS (ME 3800X, MWR 2941; "random-detect precedence",
"random-detect exponential-weighting-constant"): thresholds are 1 to 4096 packets, the
probability at the maximum threshold is 1 / n with a whole n from 1 to 65535, and the average is
old * (1 - 2^-n) + current * 2^-n with n from 1 to 16 (9 unless told otherwise). Platforms
differ in these ranges and in the units they take; look at yours.

Each IP precedence has thresholds of its own, rising by default; all eight get the same ones
here, because simulated packets have no precedence. Packets of ``wred`` have a colour: where several
cross the link, WRED goes by the code point ("random-detect dscp"; the same references), and each
class of assured forwarding has the three colours as its drop precedences (RFC 2597, section 6:
AF11, AF12, AF13 and so on). What has no class, code point 0, counts as green.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.profiles.interface import DeviceProfile, Place
from vermilion.profiles.red_setting import (
    COLOURS,
    LINUX_RED,
    RED,
    WRED,
    RedSetting,
    limit_bytes,
    met_settings,
    nearest_power,
    read_settings,
    values_of_colours,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_PACKETS: Final = 4096
_LARGEST_DENOMINATOR: Final = 65_535
_LARGEST_EXPONENT: Final = 16
_PRECEDENCES: Final = 8
_CLASSES: Final = 4  # of assured forwarding


class Cisco(DeviceProfile):
    """WRED of a Cisco-style router: ``random-detect``."""

    name: ClassVar[str] = "cisco"
    summary: ClassVar[str] = "WRED of a Cisco-style router: packets, 1/n, 2^-n; random-detect"
    settable: ClassVar[Mapping[str, Sequence[str]]] = {
        "red": RED,
        "linux-red": LINUX_RED,
        "wred": WRED,
    }

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """Whole packets, the inverse of a whole number, and a power of two."""
        known = values_of_colours(self, self._settle(values))
        return {name: known[name] for name in values}

    def command(self, values: Mapping[str, float], place: Place) -> str:
        """The lines of a policy map's class, or of an interface if that is given."""
        settings = met_settings(self, self._settle(values))
        of_colours = {
            colour: self._threshold_words(setting) for colour, setting in settings.items()
        }
        alike = len(set(of_colours.values())) == 1
        lines = [] if place.device is None else [f"interface {place.device}"]
        lines += ["random-detect" if alike else "random-detect dscp-based"]
        lines += ["random-detect ecn"] if self.is_set("ecn") else []
        exponent = nearest_power(settings[COLOURS[0]].weight, 1, _LARGEST_EXPONENT)
        lines += [f"random-detect exponential-weighting-constant {exponent}"]
        green = of_colours[COLOURS[0]]
        if alike:
            lines += [f"random-detect precedence {each} {green}" for each in range(_PRECEDENCES)]
        else:
            lines += [f"random-detect dscp 0 {green}"]
            lines += [
                f"random-detect dscp af{number}{drop} {of_colours[colour]}"
                for number in range(1, _CLASSES + 1)
                for drop, colour in enumerate(COLOURS, 1)
            ]
        if place.device is None:
            packets = max(round(limit_bytes(self) / self.packet_size()), 1)
            lines.append(f"queue-limit {packets} packets")
        return "\n".join(lines)

    def _threshold_words(self, setting: RedSetting) -> str:
        """Both thresholds in packets and the denominator."""
        size = self.packet_size()
        low, high = setting.min_threshold / size, setting.max_threshold / size
        return f"{low:.0f} {high:.0f} {round(1 / setting.max_probability)}"

    def _settle(self, values: Mapping[str, float]) -> dict[str, RedSetting]:
        wanted = read_settings(self, values)
        return {colour: self._nearest(setting) for colour, setting in wanted.items()}

    def _nearest(self, wanted: RedSetting) -> RedSetting:
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
