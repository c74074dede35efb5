"""What fq_codel and fq_pie of the Linux kernel can be set to, as tc says it.

Sources: tc-fq_codel(8), tc-fq_pie(8), tc/q_fq_codel.c and tc/q_fq_pie.c (iproute2 6.1),
net/sched/sch_fq_codel.c and net/sched/sch_fq_pie.c (Linux 6.12).

- Times and gains are those of codel and pie (:mod:`vermilion.profiles.linux_delays`).
- The quantum is whole bytes. fq_codel raises less than 256 to that and refuses more than 2^20;
  fq_pie accepts 1 to 2^20, of which the simulated discipline has 256 and more.
- fq_codel's memory_limit is whole bytes up to 2^31, its drop_batch at least 1. The kernel counts
  the memory that packets occupy (truesize), which is more than they have bytes on the wire; the
  simulated discipline counts the latter.
- fq_pie's ecn_prob is whole percents; tc refuses 100, and takes 0 for "not given".
- Neither lets the number of flows be changed while it is in use, so ``tc qdisc change`` does not
  name it, and no search can tune it for a device.
- fq_pie's burst allowance is fixed, and its memory limit is not simulated: neither is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.profiles.linux_delays import LinuxDelay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LARGEST_NUMBER: Final = 2**32 - 1
_QUANTUM: Final = (256, 2**20)
_USUAL_FLOWS: Final = 1024
_PERCENTS: Final = 100
_MOST_PERCENTS: Final = 99


class _LinuxFlowQueue(LinuxDelay):
    """What both have in common: flows that are there before."""

    def notes(self, values: Mapping[str, float]) -> list[str]:
        """What is lost on the device, and that the flows have to be there already."""
        flows = self.in_force("flows")
        said = super().notes(values)
        if flows is not None and flows != _USUAL_FLOWS:
            said.append(
                f"links.{self.link}.queue.flows is {flows:g} in the scenario; a queue in use "
                f"cannot be changed to that, so it has to be made with: {self.kind} flows {flows:g}"
            )
        return said


class LinuxFqCodel(_LinuxFlowQueue):
    """FQ-CoDel of Linux: ``tc qdisc change ... fq_codel``."""

    name: ClassVar[str] = "linux-fq-codel"
    summary: ClassVar[str] = "fq_codel of a Linux kernel: microseconds, bytes; printed for tc"
    settable: ClassVar[Mapping[str, Sequence[str]]] = {
        "fq-codel": (
            "limit",
            "quantum",
            "memory_limit",
            "drop_batch",
            "target",
            "interval",
            "ce_threshold",
        )
    }
    kind: ClassVar[str] = "fq_codel"
    counts: ClassVar[Mapping[str, tuple[int, int]]] = {
        "limit": (1, _LARGEST_NUMBER),
        "quantum": _QUANTUM,
        "memory_limit": (1, 2**31),
        "drop_batch": (1, _LARGEST_NUMBER),
    }
    times: ClassVar[Mapping[str, str]] = {
        "target": "target",
        "interval": "interval",
        "ce_threshold": "ce_threshold",
    }


class LinuxFqPie(_LinuxFlowQueue):
    """FQ-PIE of Linux: ``tc qdisc change ... fq_pie``."""

    name: ClassVar[str] = "linux-fq-pie"
    summary: ClassVar[str] = "fq_pie of a Linux kernel: microseconds, sixteenths, percents; for tc"
    settable: ClassVar[Mapping[str, Sequence[str]]] = {
        "fq-pie": ("limit", "quantum", "target", "interval", "alpha", "beta", "mark_probability")
    }
    kind: ClassVar[str] = "fq_pie"
    counts: ClassVar[Mapping[str, tuple[int, int]]] = {
        "limit": (1, _LARGEST_NUMBER),
        "quantum": _QUANTUM,
    }
    times: ClassVar[Mapping[str, str]] = {"target": "target", "interval": "tupdate"}
    gains: ClassVar[Sequence[str]] = ("alpha", "beta")

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """Whole bytes, microseconds, sixteenths and percents."""
        share = "mark_probability"
        moved = super().nearest({name: value for name, value in values.items() if name != share})
        if share in values:
            percents = min(max(round(_PERCENTS * values[share]), 1), _MOST_PERCENTS)
            moved[share] = percents / _PERCENTS
        return moved

    def further(self, setting: Mapping[str, float]) -> list[str]:
        """Up to which probability packets are marked, and both switches."""
        return [
            f"ecn_prob {_PERCENTS * setting['mark_probability']:.0f}",
            "bytemode" if self.is_set("byte_mode") else "nobytemode",
            "dq_rate_estimator" if self.is_set("estimate_rate") else "no_dq_rate_estimator",
        ]
