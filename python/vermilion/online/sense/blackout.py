"""A queue that drops or marks every packet that comes, although none waits.

RED does so while its average stands above the maximum threshold. The average of a queue that has
run empty has to fall with time. In Linux, RED below a shaper moves its average only when a packet
comes: htb does not ask an empty queue for packets, so ``red`` never learns that it is idle. Once
senders wait for timeouts, few packets come, each of them is dropped, and with a weight of 2^-12 the
queue may stay shut for minutes. Senders that understand marks get some packets through, all of them
marked, so that their windows stay as small as windows are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.sense.sampler import Sample

LASTS_S: Final = 5.0
"""How long it must last: whoever waits for a first or second timeout is back by then."""

FEWEST_PACKETS: Final = 3
"""How many packets must have come."""

_SIGNALLED: Final = 0.95  # of the packets that come, so many are dropped or marked
_EMPTY: Final = 0.9  # of the readings, so many find no packet
_USED: Final = 0.1  # of the most that the queue has forwarded: a link in use marks for a reason
_EPSILON_S: Final = 1e-6  # times are sums of tenths


@dataclass(frozen=True, slots=True)
class Blackout:
    """What was seen of a queue that drops or marks everything.

    Attributes:
        since_s: since when.
        seconds: how long that has lasted.
        came: packets that came.
        drops: those of them that were dropped.
        marks: those of them that were marked.
        packets_per_s: the most that it had forwarded within a sample; 0 where it never did.
    """

    since_s: float
    seconds: float
    came: int
    drops: int
    marks: int
    packets_per_s: float


def blackout_of(history: Sequence[Sample]) -> Blackout | None:
    """Whether the latest samples of a queue are those of one that drops or marks everything.

    Args:
        history: the samples that are known, oldest first.
    """
    packets = drops = marks = empty = 0
    begin = len(history)
    for sample in reversed(history):
        # One may be on its way: marked in one interval, and forwarded in the next.
        if sample.packets > sample.marks + 1 or sample.backlog_packets > 1:
            break
        packets += sample.packets
        drops += sample.drops
        marks += sample.marks
        empty += sample.backlog_packets == 0
        begin -= 1
    came = packets + drops
    if came < FEWEST_PACKETS or drops + marks < _SIGNALLED * came:
        return None
    since_s = history[begin].time_s - history[begin].interval_s
    seconds = history[-1].time_s - since_s
    fastest = max((each.packets / each.interval_s for each in history[:begin]), default=0.0)
    if (
        seconds < LASTS_S - _EPSILON_S
        or empty < _EMPTY * (len(history) - begin)
        or packets > _USED * fastest * seconds
    ):
        return None
    return Blackout(since_s, seconds, came, drops, marks, fastest)
