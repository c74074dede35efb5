"""The rate of a shaper at the root, as tc shows it, and how tc changes that and nothing else.

Sources: ``cake_change`` of net/sched/sch_cake.c, which leaves alone what is not told;
``tbf_change`` of sch_tbf.c, which leaves a queue below it alone unless that is a FIFO; tc/q_cake.c
and tc/q_tbf.c (iproute2 6.1 to 7.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.advise.tc_queue import TcQueue


@dataclass(frozen=True, slots=True)
class ShaperRate:
    """The rate of a cake or a tbf.

    Attributes:
        kind: "cake" or "tbf".
        bit_per_s: its rate; ``None`` for none.
        rest: words that a change of the rate has to repeat.
    """

    kind: str
    bit_per_s: float | None
    rest: str = ""

    def words(self, bit_per_s: float | None) -> str:
        """What tc takes to give it another rate: "cake bandwidth 50000000bit"."""
        if bit_per_s is None:
            return f"{self.kind} unlimited"
        name = "bandwidth" if self.kind == "cake" else "rate"
        words = f"{self.kind} {name} {bit_per_s:.0f}bit"
        return f"{words} {self.rest}" if self.rest else words


def shaper_rate(root: TcQueue) -> ShaperRate | None:
    """The rate of the root; ``None`` where it has none of its own, or more than is read here."""
    if root.kind == "cake":
        return ShaperRate("cake", root.number("bandwidth") or None)
    rate, burst = root.number("rate"), root.number("burst")
    latency, limit = root.number("lat"), root.number("limit")
    if root.kind != "tbf" or not rate or not burst or "peakrate" in root.options:
        return None
    if latency is not None:
        size = f"latency {1e6 * latency:.0f}us"
    elif limit is not None:
        size = f"limit {limit:.0f}"
    else:
        return None
    return ShaperRate("tbf", rate, f"burst {burst:.0f} {size}")
