"""RED's table of decay: by how much the average shrinks while the queue is idle.

Source: net/sched/sch_red.c and include/net/red.h (Linux 6.12), tc/tc_red.c (iproute2 6.1,
``tc_red_eval_idle_damping``). The kernel wants 256 shifts and ``Scell_log`` with every change,
keeps them, and never says the shifts back. Entry i is the number of bits by which an average
shrinks in i * 2^Scell_log units of time: (1 - 2^-Wlog) to the number of packets that could have
been sent in it.

tc computes the table in scheduler ticks of 64 ns; the kernel looks times up in microseconds. With
tc's table an idle average therefore decays 15.625 times too slowly. Which of the two is in force
cannot be read; but ``Scell_log`` says, within a factor of two, how long a packet was taken to
last, whatever the unit. So a queue that is changed keeps the time that it had.
"""

from __future__ import annotations

import math
from typing import Final

ENTRIES: Final = 256
_LARGEST_SHIFT: Final = 31
_LARGEST_CELL_LOG: Final = 31
_WIDTH: Final = 512
_TICKS_PER_US: Final = 15.625
_BITS_PER_BYTE: Final = 8.0
_US_PER_S: Final = 1e6

_TC_RATE_BIT_PER_S: Final = 10e6
"""What tc takes where it is not told a bandwidth."""

_TC_PACKET: Final = 1000.0


def packet_time(packet_bytes: float, rate_bit_per_s: float, *, unit: str = "tc") -> float:
    """How long a packet takes, in the unit of a table: "tc" (ticks) or "microseconds"."""
    microseconds = _US_PER_S * _BITS_PER_BYTE * packet_bytes / rate_bit_per_s
    if unit == "tc":
        # tc cuts off twice: to whole microseconds, and to whole ticks.
        return max(int(int(microseconds) * _TICKS_PER_US), 1)
    return microseconds


def idle_table(weight_log: int, packet_units: float) -> tuple[int, bytes]:
    """``Scell_log`` and the table.

    Args:
        weight_log: the average's weight is 2 to the minus this.
        packet_units: how long a packet takes, in the table's unit of time.
    """
    decay = -math.log(1.0 - 0.5**weight_log) / packet_units
    longest = _LARGEST_SHIFT / decay
    cell_log = 0
    while cell_log < _LARGEST_CELL_LOG and longest / 2**cell_log >= _WIDTH:
        cell_log += 1
    shifts = [min(int((index << cell_log) * decay), _LARGEST_SHIFT) for index in range(ENTRIES)]
    shifts[0], shifts[-1] = 0, _LARGEST_SHIFT
    return cell_log, bytes(shifts)


def implied_packet_time(weight_log: int, cell_log: int) -> float:
    """How long a packet was taken to last by whoever wrote a table with this ``Scell_log``.

    tc's own usual packet and rate, where they lead to it; else the middle of what does.
    """
    usual = packet_time(_TC_PACKET, _TC_RATE_BIT_PER_S)
    if idle_table(weight_log, usual)[0] == cell_log:
        return usual
    longest = float(2**cell_log) * _WIDTH * math.sqrt(0.5)
    return longest / _LARGEST_SHIFT * -1.0 * math.log(1.0 - 0.5**weight_log)
