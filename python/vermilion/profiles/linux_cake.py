"""CAKE of the Linux kernel, as tc says it.

Sources: tc-cake(8), and tc/q_cake.c (iproute2 6.1). Rates are whole bytes a second, times whole
microseconds, sizes whole bytes. The kernel counts ``overhead`` from the IP header; what sizes in a
scenario have of a link header is ``network_offset``, which is the device's own there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.profiles.interface import DeviceProfile, Place
from vermilion.profiles.linux_red import tc_change

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MICROSECONDS: Final = 1_000_000
_BITS: Final = 8


class LinuxCake(DeviceProfile):
    """CAKE of Linux: ``tc qdisc change ... cake``."""

    name: ClassVar[str] = "linux-cake"
    summary: ClassVar[str] = "cake of a Linux kernel: bytes a second, microseconds; for tc"
    settable: ClassVar[Mapping[str, Sequence[str]]] = {
        "cake": ("bandwidth", "rtt", "overhead", "mpu", "memory_limit")
    }

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """Whole bytes a second, microseconds and bytes."""
        return {name: self._nearest(name, value) for name, value in values.items()}

    def command(self, values: Mapping[str, float], place: Place) -> str:
        """The call of tc."""
        known = {name: self.in_force(name) for name in self.settable[self.discipline]}
        setting = self.nearest(
            {name: value for name, value in {**known, **values}.items() if value is not None}
        )
        rate, overhead = setting.get("bandwidth"), setting.get("overhead")
        words = [*tc_change(place), "cake"]
        words += ["unlimited"] if rate is None else ["bandwidth", f"{rate:.0f}bit"]
        words += [self._word("tins"), self._word("isolation")]
        words += ["rtt", f"{_MICROSECONDS * setting['rtt']:.0f}us"]
        words += ["raw"] if overhead is None else [self._word("atm"), "overhead", f"{overhead:.0f}"]
        if overhead is not None:
            words += ["mpu", f"{setting['mpu']:.0f}"]
        if "memory_limit" in setting:
            words += ["memlimit", f"{setting['memory_limit']:.0f}"]
        words += ["ingress" if self.is_set("ingress") else "egress", self._word("ack_filter")]
        return " ".join(words)

    def _word(self, name: str) -> str:
        """A choice, which has tc's own name."""
        return str(self.scenario.get(f"links.{self.link}.queue.{name}"))

    @staticmethod
    def _nearest(name: str, value: float) -> float:
        if name == "bandwidth":
            return float(max(round(value / _BITS), 1) * _BITS)
        if name == "rtt":
            return max(round(_MICROSECONDS * value), 1) / _MICROSECONDS
        return float(round(value))
