"""How a red comes back as tc shows it: tc derives its weight and its idle table from other words.

Sources: ``tc_red_eval_ewma`` and ``tc_red_eval_idle_damping`` of tc/tc_red.c, ``tc_calc_xmittime``
of tc/tc_core.c (iproute2 6.1 to 7.1), ``parse_opt`` of tc/q_red.c; include/net/pkt_sched.h
(``PSCHED_SHIFT``), whose tick is 64 ns long.

The idle table (shown as Scell_log) follows from the weight and from how many ticks a packet of
avpkt takes at "bandwidth", which says nothing else. So the command has a bandwidth from which tc
makes the Scell_log that stood there. Up to 6.14 tc leaves out parts of a microsecond, and then
parts of a tick; since 6.15 it rounds up to whole ticks. Where a packet takes a microsecond or
more, the bandwidth is one from which both make the same; below that only the newer tc makes any.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from vermilion.profiles.red_setting import weight_log_of_burst

if TYPE_CHECKING:
    from collections.abc import Collection

    from vermilion.advise.tc_queue import TcQueue

_TICKS_PER_US: Final = 15.625
_US_PER_S: Final = 1e6
_BITS_PER_BYTE: Final = 8
_CELLS: Final = 512.0
_IDLE: Final = 31.0
"""2^-31 of the average is nothing: the longest idle time in the table is that to there."""

_LARGEST_LOG: Final = 31
_LARGEST_RATE: Final = 2**32 * _BITS_PER_BYTE
"""tc up to 6.1 reads bytes per second into 32 bits."""

_LARGEST_TICKS: Final = 2**32 - 1

_WORDS: Final = re.compile(
    r"min (?P<min>\d+) max (?P<max>\d+) avpkt (?P<avpkt>\d+) burst (?P<burst>\d+) "
    r"bandwidth (?P<rate>\d+)bit"
)


def put_back(queue: TcQueue, words: str, told: Collection[str]) -> tuple[str, Collection[str]]:
    """The words with the bandwidth that has its Scell_log, and what these tell of it.

    Args:
        queue: as tc shows it.
        words: that put it back but for that.
        told: the options that words of red tell where tc can be brought to them.
    """
    match = _WORDS.search(words)
    if match is None:
        return words, told
    packet, burst, low = (int(match[name]) for name in ("avpkt", "burst", "min"))
    weight_log = weight_log_of_burst(low, burst, packet)
    lost = {
        name
        for name, made in (("min", low), ("max", int(match["max"])), ("ewma", weight_log))
        if queue.number(name) not in {None, made}
    }
    wanted = queue.number("Scell_log")
    if wanted is not None and weight_log is not None:
        rate = bandwidth_for(round(wanted), weight_log, packet)
        if rate is None:
            lost.add("Scell_log")
        else:
            start, end = match.span("rate")
            words = f"{words[:start]}{rate}{words[end:]}"
    return words, set(told) - lost


def bandwidth_for(scell_log: int, weight_log: int, packet_bytes: int) -> int | None:
    """A bandwidth, in bit/s, from which tc makes this Scell_log; ``None`` where there is none.

    About in the middle of those that do. For a packet of less than a microsecond the newer tc is
    asked alone: no older one can have made such a table.
    """
    decay = _decay(weight_log)
    middle = _CELLS * 2.0 ** (scell_log - 0.5)
    ticks = max(round(middle * decay / _IDLE), 1)
    if ticks > _LARGEST_TICKS or scell_log_of(ticks, weight_log) != scell_log:
        return None
    middle_us = ticks / _TICKS_PER_US
    whole_us = math.floor(middle_us), math.ceil(middle_us)
    times_us = *filter(None, whole_us), middle_us - 0.5 / _TICKS_PER_US
    rates = [round(_US_PER_S * _BITS_PER_BYTE * packet_bytes / each) for each in times_us]
    accepted = [each for each in rates if _BITS_PER_BYTE <= each < _LARGEST_RATE]
    return next(
        (rate for rate in accepted if _scell_log(rate, weight_log, packet_bytes) == scell_log), None
    )


def _scell_log(bit_per_s: int, weight_log: int, packet_bytes: int) -> int | None:
    """What the newer tc makes of a bandwidth."""
    seconds = packet_bytes / (bit_per_s // _BITS_PER_BYTE)
    return scell_log_of(math.ceil(_US_PER_S * seconds * _TICKS_PER_US), weight_log)


def _decay(weight_log: int) -> float:
    """What a packet's time takes of the average, as a power of e."""
    return -math.log1p(-(2.0**-weight_log))


def scell_log_of(ticks: int, weight_log: int) -> int | None:
    """What tc makes of so many ticks for a packet; ``None`` where it refuses them."""
    longest = _IDLE * ticks / _decay(weight_log)
    for log in range(_LARGEST_LOG + 1):
        if longest / 2.0**log < _CELLS:
            return log
    return None
