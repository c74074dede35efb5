"""A queue that drops every packet that comes, although none waits.

RED does so while its average stands above the maximum threshold. The average of a queue that has
run empty has to fall with time. In Linux, RED below a shaper moves its average only when a packet
comes: htb does not ask an empty queue for packets, so ``red`` never learns that it is idle. Once
senders wait for timeouts, few packets come, each of them is dropped, and with a weight of 2^-12 the
queue may stay shut for minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.sense.sampler import Sample

LASTS_S: Final = 5.0
"""How long it must last: whoever waits for a first or second timeout is back by then."""

FEWEST_DROPS: Final = 3
"""How many packets must have come."""

_EPSILON_S: Final = 1e-6  # times are sums of tenths


@dataclass(frozen=True, slots=True)
class Blackout:
    """What was seen of a queue that drops everything.

    Attributes:
        since_s: when the last packet left it, or the first sample of it began.
        seconds: how long that has lasted.
        drops: packets that came and were dropped.
        packets_per_s: the most that it has forwarded within a sample; 0 where it never did.
    """

    since_s: float
    seconds: float
    drops: int
    packets_per_s: float


def blackout_of(history: Sequence[Sample]) -> Blackout | None:
    """Whether the latest samples of a queue are those of one that drops everything.

    Args:
        history: the samples that are known, oldest first.
    """
    drops, begin = 0, len(history)
    for sample in reversed(history):
        if sample.packets > 0 or sample.backlog_packets > 0:
            break
        drops += sample.drops
        begin -= 1
    if begin == len(history) or drops < FEWEST_DROPS:
        return None
    since_s = history[begin].time_s - history[begin].interval_s
    seconds = history[-1].time_s - since_s
    if seconds < LASTS_S - _EPSILON_S:
        return None
    fastest = max((each.packets / each.interval_s for each in history[:begin]), default=0.0)
    return Blackout(since_s, seconds, drops, fastest)
