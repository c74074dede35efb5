"""What pfifo and bfifo of the Linux kernel can be set to, as tc says it.

Sources: tc-pfifo(8), tc/q_fifo.c (iproute2 6.1), net/sched/sch_fifo.c (Linux 6.12). The limit is
whole packets (pfifo) or whole bytes (bfifo), headers of the link layer included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.profiles.interface import DeviceProfile, Place
from vermilion.profiles.linux_red import tc_change

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LARGEST_NUMBER: Final = 2**32 - 1


class LinuxFifo(DeviceProfile):
    """Drop-tail of Linux: ``tc qdisc change ... pfifo`` or ``bfifo``."""

    name: ClassVar[str] = "linux-fifo"
    summary: ClassVar[str] = "pfifo or bfifo of a Linux kernel: whole packets or bytes; for tc"
    settable: ClassVar[Mapping[str, Sequence[str]]] = {"drop-tail": ("limit", "limit_bytes")}

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """Whole packets, whole bytes."""
        return {
            name: float(min(max(round(value), 1), _LARGEST_NUMBER))
            for name, value in values.items()
        }

    def command(self, values: Mapping[str, float], place: Place) -> str:
        """The call of tc: bfifo where the limit is in bytes."""
        known = {name: self.in_force(name) for name in self.settable[self.discipline]}
        setting = self.nearest(
            {name: value for name, value in {**known, **values}.items() if value is not None}
        )
        in_bytes = "limit_bytes" in setting
        kind, limit = ("bfifo", "limit_bytes") if in_bytes else ("pfifo", "limit")
        return " ".join([*tc_change(place), kind, f"limit {setting[limit]:.0f}"])
