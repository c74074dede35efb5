"""The shortest queue that marks can bring about.

For a mark, a Linux sender never makes its window smaller than two packets: it is cut to the
slow-start threshold, which is two at the least (RFC 5681, equation 4; RFC 3168, section 6.1.2). So
where a queue marks whatever it can, however long it is, flows that can be marked keep two packets
each under way, and what the round trip does not hold waits in the queue. Only a drop makes one of
them send less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vermilion.online.model.traffic import Traffic

_LEAST_WINDOW_PACKETS: Final = 2.0
_NEAR_ENOUGH_S: Final = 1e-6


def least_queue_packets(traffic: Traffic) -> float:
    """How long the queue is at least if flows that can be marked are never dropped, in packets.

    Each of them sends two packets in a round trip, its time in the queue included. The wait is the
    one with which all of them together fill the link; the other flows may send nothing. It is
    shorter only if some of them starve, whose repairs are dropped. 0 where marks can empty the
    queue.
    """

    def sent_per_s(wait_s: float) -> float:
        return sum(
            traffic.ecn_share * flows * _LEAST_WINDOW_PACKETS / (base_s + wait_s)
            for flows, base_s in traffic.classes
        )

    if sent_per_s(0.0) <= traffic.packets_per_s:
        return 0.0
    short_s, long_s = 0.0, 1.0
    while sent_per_s(long_s) > traffic.packets_per_s:
        long_s *= 2.0
    while long_s - short_s > _NEAR_ENOUGH_S:
        middle_s = (short_s + long_s) / 2.0
        if sent_per_s(middle_s) > traffic.packets_per_s:
            short_s = middle_s
        else:
            long_s = middle_s
    return long_s * traffic.packets_per_s
