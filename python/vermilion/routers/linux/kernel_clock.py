"""The units in which the kernel keeps the times that it is given in microseconds.

- CoDel counts in units of 1024 ns (include/net/codel.h, ``CODEL_SHIFT``).
- PIE's target is in scheduler ticks of 64 ns (include/net/pkt_sched.h, ``PSCHED_SHIFT``).
- PIE's update interval is in ticks of the timer, rounded up; how long they are was fixed when
  the kernel was built (``CONFIG_HZ``), and no call tells it.

Each rounds, so that what the kernel says back differs from what it was told, and what it says,
told again, may become less still (5000 us are said back as 4999, and those as 4998). So each unit
has a way back: the number to tell for the kernel to say this one again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

TIMER_RATES_HZ: Final = (100, 250, 300, 1000, 128, 200, 256, 500, 512, 1024, 48, 24, 64)
"""Timer ticks a second that kernels are built with, the usual ones first."""

_CODEL_SHIFT: Final = 10
_TICK_SHIFT: Final = 6
_NS_PER_US: Final = 1000
_US_PER_S: Final = 1_000_000
_U32: Final = 2**32 - 1
_NEVER: Final = 0x7FFF_FFFF
"""``CODEL_DISABLED_THRESHOLD``, in units of 1024 ns."""

CODEL_OFF_US: Final = 2_199_023_255
"""The one number of microseconds that turns a CE threshold off again: it becomes ``_NEVER``."""


def codel_said_back(told_us: int) -> int | None:
    """What CoDel says back for a time in microseconds; ``None`` for the threshold that is off."""
    units = (told_us * _NS_PER_US >> _CODEL_SHIFT) & _U32
    if units == _NEVER:
        return None
    return (units << _CODEL_SHIFT) // _NS_PER_US & _U32


def codel_to_tell(said_us: int) -> int:
    """The least number of microseconds for which CoDel says this back."""
    return _least(said_us, codel_said_back)


def target_said_back(told_us: int) -> int:
    """What PIE says back for a target in microseconds; above 4.29 s the kernel says it wrong."""
    ticks = told_us * _NS_PER_US >> _TICK_SHIFT
    return (ticks << _TICK_SHIFT & _U32) // _NS_PER_US


def target_to_tell(said_us: int) -> int:
    """The least number of microseconds for which PIE says this target back."""
    return _least(said_us, target_said_back)


def interval_said_back(told_us: int, timer_hz: int) -> int:
    """What PIE says back for an update interval, where the timer ticks so often a second."""
    ticks = -(-told_us * timer_hz // _US_PER_S)
    return ticks * _US_PER_S // timer_hz


def _least(said_us: int, said_back: Callable[[int], int | None]) -> int:
    for told in (said_us, said_us + 1, said_us + 2):
        if said_back(told) == said_us:
            return told
    return said_us
