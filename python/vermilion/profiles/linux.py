"""Settings of the Linux kernel's queues other than RED, as tc says them.

Sources: tc-codel(8), tc-pie(8), tc-fq(8), tc-fq_codel(8), tc-fq_pie(8), tc-pfifo(8), the same files
of tc/ (iproute2 6.1) and of net/sched/ (Linux 6.12). Times are whole microseconds, limits whole
packets (``bfifo``: whole bytes, headers of the link layer included). tc takes a zero for "not
given", so that none of these can be zero.

- alpha and beta of PIE are whole sixteenths from 1 to 32 (2 and 20 are RFC 8033's 0.125 and 1.25).
- The kernel counts CoDel's times in units of 1.024 us and PIE's update interval in its clock's
  ticks, which is not modelled here.
- Quanta are whole bytes. fq_codel raises less than 256 to that and refuses more than 2^20; fq_pie
  accepts 1 to 2^20, of which the simulated discipline has 256 and more; fq 1 to 2^20, at first up
  to 2^31 - 1.
- fq_codel's memory_limit is whole bytes up to 2^31, its drop_batch at least 1. The kernel counts
  the memory that packets occupy (truesize); the simulated discipline their bytes on the wire.
- fq_pie's ecn_prob is whole percents; tc refuses 100. Its burst allowance is fixed, and its memory
  limit is not simulated: neither is named.
- ``tc qdisc change`` names nothing that is fixed once a queue is there: the number of flows of
  fq_codel and fq_pie, the hash and the refill delay of fq.
- Linux has no queue that drops from the head by bytes, and none that drops at random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.profiles.interface import DeviceProfile, Place
from vermilion.profiles.linux_red import tc_change
from vermilion.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario import Scenario

_MICROSECONDS: Final = 1_000_000
_LARGEST_GAIN: Final = 32
_LARGEST_NUMBER: Final = 2**32 - 1
_GAIN_UNIT: Final = 16


class LinuxDelay(DeviceProfile):
    """Common part of all: a buffer in packets, and times.

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
        """Further words for a kind of queue."""
        return []

    def marking(self) -> list[str]:
        """Words for ECN."""
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


class LinuxFq(LinuxDelay):
    """FQ of Linux: ``tc qdisc change ... fq``."""

    name: ClassVar[str] = "linux-fq"
    summary: ClassVar[str] = "fq of a Linux kernel: packets, bytes, microseconds; printed for tc"
    settable: ClassVar[Mapping[str, Sequence[str]]] = {
        "fq": ("limit", "flow_limit", "quantum", "initial_quantum", "ce_threshold")
    }
    kind: ClassVar[str] = "fq"
    counts: ClassVar[Mapping[str, tuple[int, int]]] = {
        "limit": (1, _LARGEST_NUMBER),
        "flow_limit": (1, _LARGEST_NUMBER),
        "quantum": (1, 2**20),
        "initial_quantum": (0, 2**31 - 1),
    }
    times: ClassVar[Mapping[str, str]] = {"ce_threshold": "ce_threshold"}

    def marking(self) -> list[str]:
        """It marks where there is a threshold, and has no switch."""
        return []


_QUANTUM: Final = (256, 2**20)
_USUAL_FLOWS: Final = 1024
_PERCENTS: Final = 100
_MOST_PERCENTS: Final = 99


class _LinuxFlowQueue(LinuxDelay):
    """Common part of both: the number of flows is fixed before."""

    def notes(self, values: Mapping[str, float]) -> list[str]:
        """Losses on the device, and that the number of flows is fixed before."""
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
        """Return the kernel's qdisc for it.

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
