"""Whether a setting locks flows out of the network, more of them than its model allows.

A queue that hardly moves can be had by refusing some flows for good: their packets are dropped when
they come back from a timeout, and every timeout is twice as long as the one before. A model that
starts all its flows at an empty queue sees less of this than a network in which they come one after
the other. So starved flows are counted on the network too, over stretches as long as the model's,
and a setting goes where they are far more than the bound of harm allows.

What is far more was measured: 64 NewReno flows behind 10 Mbit/s and RED as published have 0 to 9
starved ones in a stretch of 10 s, by chance alone, and 2 to 3 on average.

Jain's index is bounded in the model only: where paths or senders are unequal it is low whatever the
queue does, and only a comparison under both settings could tell whose fault that is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vermilion.online.sense.flow_activity import STARVED_SHARE

if TYPE_CHECKING:
    from vermilion.online.sense.flow_activity import FlowActivity
    from vermilion.online.sense.set_senses import SetActivity

STRETCHES = 3
"""Successive stretches that must all have too many: a flow that waits for one timeout is none."""

_BY_CHANCE = 0.15  # of the flows

_EPSILON_S = 1e-6


@dataclass(frozen=True, slots=True)
class StarvationWatch:
    """The starved flows of successive stretches under one setting.

    Attributes:
        most: how many may starve on average, by the bound of harm in the model.
        over_s: length of a stretch, which is the model's.
        since_s: when the present one began.
        counts: starved flows of the last stretches.
    """

    most: float
    over_s: float
    since_s: float
    counts: tuple[int, ...] = ()

    def after(
        self, activity: FlowActivity | SetActivity, now_s: float
    ) -> tuple[StarvationWatch, str, dict[str, object]]:
        """The watch after a sample, what is wrong in words ("" for nothing), and the numbers."""
        if now_s - self.since_s < self.over_s - _EPSILON_S:
            return self, "", {}
        starved = activity.starved_since(self.since_s)
        watch = replace(self, since_s=now_s)
        if starved is None:
            return watch, "", {}
        watch = replace(watch, counts=(*self.counts, starved)[-STRETCHES:])
        allowed = self.most + _BY_CHANCE * (activity.open_flows or 0)
        if len(watch.counts) < STRETCHES or min(watch.counts) <= allowed:
            return watch, "", {}
        *others, last = watch.counts
        counted = f"{', '.join(map(str, others))} and {last}"
        words = (
            f"in {len(watch.counts)} successive stretches of {self.over_s:.0f} s, {counted} flows "
            f"got less than 5 % of the mean share; the bound of harm allows {self.most:.1f}, and "
            f"{allowed - self.most:.1f} more may be chance"
        )
        numbers: dict[str, object] = {
            "stretches": len(watch.counts),
            "stretch_s": self.over_s,
            "starved_flows": list(watch.counts),
            "starved_below_share": STARVED_SHARE,
            "starved_flows_allowed": self.most,
            "starved_flows_by_chance": allowed - self.most,
        }
        return watch, words, numbers
