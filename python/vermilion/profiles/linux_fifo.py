"""What pfifo, bfifo and pfifo_head_drop of the Linux kernel can be set to, as tc says it.

Sources: tc-pfifo(8), tc/q_fifo.c (iproute2 6.1), net/sched/sch_fifo.c (Linux 6.12). The limit is
whole packets (pfifo, pfifo_head_drop) or whole bytes (bfifo), headers of the link layer included.
Linux has no queue that drops from the head by bytes, and none that drops at random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.profiles.interface import DeviceProfile, Place
from vermilion.profiles.linux_red import tc_change
from vermilion.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario import Scenario

_LARGEST_NUMBER: Final = 2**32 - 1


class LinuxFifo(DeviceProfile):
    """Drop-tail of Linux: ``tc qdisc change ... pfifo``, ``bfifo`` or ``pfifo_head_drop``."""

    name: ClassVar[str] = "linux-fifo"
    summary: ClassVar[str] = "pfifo or bfifo of a Linux kernel: whole packets or bytes; for tc"
    settable: ClassVar[Mapping[str, Sequence[str]]] = {"drop-tail": ("limit", "limit_bytes")}

    def __init__(self, scenario: Scenario, link: str) -> None:
        super().__init__(scenario, link)
        self._kind(in_bytes=self.in_force("limit_bytes") is not None)

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """Whole packets, whole bytes."""
        return {
            name: float(min(max(round(value), 1), _LARGEST_NUMBER))
            for name, value in values.items()
        }

    def command(self, values: Mapping[str, float], place: Place) -> str:
        """The call of tc: bfifo where the limit is in bytes, else by what is dropped."""
        known = {name: self.in_force(name) for name in self.settable[self.discipline]}
        setting = self.nearest(
            {name: value for name, value in {**known, **values}.items() if value is not None}
        )
        in_bytes = "limit_bytes" in setting
        limit = setting["limit_bytes" if in_bytes else "limit"]
        return " ".join([*tc_change(place), self._kind(in_bytes=in_bytes), f"limit {limit:.0f}"])

    def _kind(self, *, in_bytes: bool) -> str:
        """Which of the kernel's queues it is.

        Raises:
            ScenarioError: the kernel has none that drops so.
        """
        field = f"links.{self.link}.queue.drop"
        drop = self.scenario.get(field)
        if drop == "tail":
            return "bfifo" if in_bytes else "pfifo"
        if drop == "head" and not in_bytes:
            return "pfifo_head_drop"
        accepted = "tail" if in_bytes else "tail or head"
        raise ScenarioError(
            field, drop, f"{accepted}, which the profile {self.name} can set", self.scenario.origin
        )
