"""What fq of the Linux kernel can be set to, as tc says it.

Sources: tc-fq(8), tc/q_fq.c (iproute2 6.1), net/sched/sch_fq.c (Linux 6.12). Limits are whole
packets, quanta whole bytes (1 to 2^20; at first up to 2^31 - 1), the threshold for marks whole
microseconds. How many values the hash has and the delay before a refill can be told when the queue
is made; ``tc qdisc change`` does not name them here, as the simulated queue does not change them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.profiles.linux_delays import LinuxDelay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LARGEST_NUMBER: Final = 2**32 - 1


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
