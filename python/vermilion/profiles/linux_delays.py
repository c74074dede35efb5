"""What CoDel and PIE of the Linux kernel can be set to, as tc says it.

Sources: tc-codel(8), tc-pie(8), tc/q_codel.c and tc/q_pie.c (iproute2 6.1), net/sched/sch_pie.c
(Linux 6.12). Times are whole microseconds; alpha and beta of PIE are whole sixteenths from 1 to 32
(2 and 20 are RFC 8033's 0.125 and 1.25); limits are packets. tc takes a zero for "not given", so
that none of them can be zero. The kernel counts CoDel's times in units of 1.024 us and PIE's update
interval in its clock's ticks, which is not modelled here. The queues by flow, fq_codel and fq_pie,
have these values and more (:mod:`vermilion.profiles.linux_flow_queues`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.profiles.interface import DeviceProfile, Place
from vermilion.profiles.linux_red import tc_change

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MICROSECONDS: Final = 1_000_000
_LARGEST_GAIN: Final = 32
_LARGEST_NUMBER: Final = 2**32 - 1
_GAIN_UNIT: Final = 16


class LinuxDelay(DeviceProfile):
    """What all have in common: a buffer in packets, and times.

    Attributes:
        kind: of queue, as tc names it.
        counts: whole numbers with the least and the largest that the device has; the parameters
            and tc have the same names for them.
        times: tc's words for times, by parameter.
        gains: of PIE, in the same words.
    """

    kind: ClassVar[str]
    counts: ClassVar[Mapping[str, tuple[int, int]]] = {"limit": (1, _LARGEST_NUMBER)}
    times: ClassVar[Mapping[str, str]]
    gains: ClassVar[Sequence[str]] = ()

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """Whole packets, microseconds and sixteenths."""
        return {name: self._nearest(name, value) for name, value in values.items()}

    def command(self, values: Mapping[str, float], place: Place) -> str:
        """The call of tc."""
        known = {name: self.in_force(name) for name in self.settable[self.discipline]}
        setting = self.nearest(
            {name: value for name, value in {**known, **values}.items() if value is not None}
        )
        words = [*tc_change(place), self.kind]
        words += [f"{name} {setting[name]:.0f}" for name in self.counts]
        words += [
            f"{word} {_MICROSECONDS * setting[name]:.0f}us"
            for name, word in self.times.items()
            if name in setting  # a threshold that is automatic is none
        ]
        words += [f"{name} {_GAIN_UNIT * setting[name]:.0f}" for name in self.gains]
        return " ".join([*words, *self.further(setting), *self.marking()])

    def further(self, setting: Mapping[str, float]) -> list[str]:  # noqa: ARG002 - for those below
        """What else a kind of queue is told."""
        return []

    def marking(self) -> list[str]:
        """Whether it marks."""
        return ["ecn" if self.is_set("ecn") else "noecn"]

    def _nearest(self, name: str, value: float) -> float:
        if name in self.times:
            return max(round(_MICROSECONDS * value), 1) / _MICROSECONDS
        if name in self.gains:
            return min(max(round(_GAIN_UNIT * value), 1), _LARGEST_GAIN) / _GAIN_UNIT
        least, largest = self.counts[name]
        return float(min(max(round(value), least), largest))


class LinuxCodel(LinuxDelay):
    """CoDel of Linux: ``tc qdisc change ... codel``."""

    name: ClassVar[str] = "linux-codel"
    summary: ClassVar[str] = "codel of a Linux kernel: whole microseconds; printed for tc"
    settable: ClassVar[Mapping[str, Sequence[str]]] = {"codel": ("limit", "target", "interval")}
    kind: ClassVar[str] = "codel"
    times: ClassVar[Mapping[str, str]] = {"target": "target", "interval": "interval"}


class LinuxPie(LinuxDelay):
    """PIE of Linux: ``tc qdisc change ... pie``."""

    name: ClassVar[str] = "linux-pie"
    summary: ClassVar[str] = "pie of a Linux kernel: microseconds, gains in sixteenths; for tc"
    settable: ClassVar[Mapping[str, Sequence[str]]] = {
        "pie": ("limit", "target", "interval", "alpha", "beta")
    }
    kind: ClassVar[str] = "pie"
    times: ClassVar[Mapping[str, str]] = {"target": "target", "interval": "tupdate"}
    gains: ClassVar[Sequence[str]] = ("alpha", "beta")
