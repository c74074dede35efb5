"""How long CoDel takes until it drops as often as many transfers ask for.

While packets wait too long, CoDel drops the n-th of a series an interval / sqrt(n) after the one
before (RFC 8289, section 5.4). So after t seconds it drops t / (2 interval^2) packets in a second.
Transfers with a window of W packets keep to it if 0.75 / W^2 of their packets are dropped, where an
acknowledgement answers two packets (M. Mathis et al., "The macroscopic behavior of the TCP
congestion avoidance algorithm", 1997). With 200 transfers at 100 Mbit/s the queue is full for half
a minute. A queue for each flow has to drop only for its own, and is there at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from vermilion.advise.conditions import packet_time_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.advise.conditions import Condition
    from vermilion.advise.question import Question
    from vermilion.advise.queue_setting import QueueSetting

_INTERVAL_S: Final = 0.1
_TARGET_S: Final = 0.005
_DROPS_OF_A_WINDOW: Final = 0.75
_MOST_DROPS: Final = 0.3
"""Of the packets: beyond that transfers wait for timeouts, and the rule does not hold."""


def with_ramp(
    conditions: Sequence[Condition], question: Question, queue: QueueSetting
) -> list[Condition]:
    """The conditions, with the time that a queue needs in each before it drops often enough.

    Args:
        conditions: without it.
        question: with the rate.
        queue: in force.
    """
    if queue.discipline != "codel":
        return list(conditions)
    interval = float(queue.parameters.get("interval") or _INTERVAL_S)
    target = float(queue.parameters.get("target") or _TARGET_S)
    a_second = 1.0 / packet_time_s(question)

    def ramp_s(at: Condition) -> float:
        window = a_second * (at.round_trip_s + target) / at.flows
        drops = min(_DROPS_OF_A_WINDOW / window**2, _MOST_DROPS) * a_second
        return 2.0 * interval**2 * drops

    return [replace(at, draining_s=at.draining_s + ramp_s(at)) for at in conditions]
