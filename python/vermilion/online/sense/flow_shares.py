"""How a queue's flows share what goes through it: one row of the journal for each second.

A share is of bytes, of the flows that slow down when packets are lost. In a short stretch chance
makes every flow differ, so it is taken over all that :class:`FlowActivity` remembers, fifteen
seconds or more. A flow counts where it has been there for half of that, with what it got per second
since it came, and where packets of it were seen lately: nobody tells when a flow ends, and one that
has ended is not treated unfairly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from vermilion.online.sense.fairness import jain_index

if TYPE_CHECKING:
    from vermilion.online.sense.flow_activity import FlowActivity
    from vermilion.online.sense.sampler import Sample

LEAST_S: Final = 3.0
"""Of less nothing is said, nor of flows that are younger."""

_EVERY_S = 1.0
_SAME_S = 1e-6  # times are sums of tenths


@dataclass(frozen=True, slots=True)
class FlowShares:
    """How the flows of a queue shared what went through it.

    Attributes:
        time_s: the end of what was looked at, in the network's time.
        link: which of several queues; "" where there is one.
        seconds: how long that was.
        flows: flows of which data were seen lately.
        silent_flows: open ones of which none were; ``None`` where nobody counts those that are
            open at this queue.
        compared_flows: those that slow down, and were there for long enough.
        jain_index: of those, 1 where all got alike, 1 / flows where one got everything (R. Jain,
            D. Chiu and W. Hawe, "A Quantitative Measure of Fairness", DEC-TR-301, 1984); ``None``
            of fewer than two.
        largest_share: of the flow that got most, of what they all got, 0 to 1; ``None`` likewise.
        smallest_share: of the flow that got least.
    """

    time_s: float
    link: str
    seconds: float
    flows: int
    silent_flows: int | None
    compared_flows: int
    jain_index: float | None = None
    largest_share: float | None = None
    smallest_share: float | None = None


def is_due(sample: Sample) -> bool:
    """Whether a second ended in this interval."""
    begun_s = sample.time_s - sample.interval_s
    return (sample.time_s + _SAME_S) // _EVERY_S > (begun_s + _SAME_S) // _EVERY_S


def flow_shares(activity: FlowActivity, link: str = "") -> FlowShares | None:
    """How the flows have shared a queue lately.

    ``None`` for the first seconds, and where nobody looks at packets.

    Args:
        activity: what each flow moved.
        link: which of several queues; "" where there is one.
    """
    import numpy as np

    seconds = float(sum(one.length_s for one in (*activity.before, *activity.lately)))
    if seconds < LEAST_S - _SAME_S:
        return None
    age = activity.now_s - activity.began_s
    # Numbers below 0 are acknowledgements.
    heard = (activity.flows >= 0) & (activity.packets > 0)
    long_enough = age >= max(LEAST_S, seconds / 2.0) - _SAME_S
    compared = heard & activity.responsive & long_enough
    rates = activity.kept_bytes[compared] / np.minimum(age[compared], seconds)
    flows = int(heard.sum())
    silent = None
    # Of several queues each is told the flows that are open anywhere.
    if activity.open_flows is not None and not link:
        silent = max(0, activity.open_flows - flows)
    shares = FlowShares(activity.now_s, link, seconds, flows, silent, len(rates))
    if len(rates) < 2:  # noqa: PLR2004 - one flow shares with nobody
        return shares
    return replace(
        shares,
        jain_index=float(jain_index(rates)),
        largest_share=float(rates.max() / rates.sum()),
        smallest_share=float(rates.min() / rates.sum()),
    )
