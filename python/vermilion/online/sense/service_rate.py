"""The rate of a link, measured by watching it work.

A router's configuration may say "10 Mbit/s" while a shaper, a radio or a provider gives
less. What counts is what leaves while packets wait: an interval with a backlog at both of
its ends was (almost surely) busy throughout, and what it forwarded is the service rate, to
one packet at either end. An interval in which the queue emptied unseen can only read low,
never high; hence the estimate leans to the upper half of the recent intervals, a rise is
believed quickly, and a fall only after several intervals in a row that agree with each other
and kept a good backlog: a slower link reads the same every time and lets the queue grow,
idle moments do neither.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from statistics import fmean, median

BUSY_BACKLOG_PACKETS = 3
"""Backlog at both ends of an interval from which on it counts as busy throughout."""

_REMEMBERED = 50  # busy intervals since the last change: 5 s of a busy link at 100 ms
_FEWEST = 3  # busy intervals before a rate is named at all
_RISE = 0.04  # relative; a link cannot send faster than it can, so small rises are real
_RISE_HOLD = 2
_FALL = 0.06  # relative; an unseen idle moment lowers an interval's reading by a few per cent
_FALL_HOLD = 4
_FALL_BACKLOG = 0.08  # of the packets of an interval: too many to have drained unseen
_AGREEMENT = 0.03  # relative spread of intervals that agree
_EDGE_PACKETS = 1.5  # packets cut off at an interval's ends
_FEWEST_PACKETS = 5
_LONGEST_PENDING_S = 10.0
_NOTHING = (0.0, 0, 0)


@dataclass(frozen=True, slots=True)
class ServiceRate:
    """An estimate of a link's rate that follows its changes; a value, never changed in place.

    Attributes:
        busy: what the busy intervals since the last change measured, bit/s, oldest first.
        higher: of the latest of them, those in a row that are above the estimate.
        lower: likewise below.
        named: whether the rate has ever been known.
        pending: seconds, bytes and packets of busy intervals that are too few packets to say
            anything; an interval of a slow link has one packet or none.
    """

    busy: tuple[float, ...] = ()
    higher: tuple[float, ...] = ()
    lower: tuple[float, ...] = ()
    named: bool = False
    pending: tuple[float, int, int] = _NOTHING

    @property
    def bit_per_s(self) -> float | None:
        """The rate in bit/s; ``None`` until the link has been busy for a few intervals."""
        if not self.named:
            return None
        upper = sorted(self.busy)
        middle = median(upper)
        return fmean(upper[bisect_left(upper, middle) :])

    def updated(
        self,
        interval_s: float,
        forwarded_bytes: int,
        forwarded_packets: int,
        backlog_before: int,
        backlog_after: int,
    ) -> ServiceRate:
        """The estimate after one more interval.

        Args:
            interval_s: its length.
            forwarded_bytes: bytes forwarded during it.
            forwarded_packets: packets forwarded during it.
            backlog_before: packets waiting at its beginning.
            backlog_after: packets waiting at its end.
        """
        if min(backlog_before, backlog_after) < BUSY_BACKLOG_PACKETS:
            return self if self.pending == _NOTHING else replace(self, pending=_NOTHING)
        seconds, sizes, packets = self.pending
        seconds, sizes, packets = (
            seconds + interval_s,
            sizes + forwarded_bytes,
            packets + forwarded_packets,
        )
        if packets < _FEWEST_PACKETS:
            # So few say nothing yet; and of a link that is down they never will.
            pending = (seconds, sizes, packets) if seconds <= _LONGEST_PENDING_S else _NOTHING
            return replace(self, pending=pending)
        forwarded_packets = packets
        measured = 8.0 * sizes / seconds
        busy = (*self.busy, measured)[-_REMEMBERED:]
        known = self.bit_per_s
        if known is None:
            return ServiceRate(busy, named=len(busy) >= _FEWEST)
        edge = _EDGE_PACKETS / forwarded_packets
        deep = min(backlog_before, backlog_after) >= _FALL_BACKLOG * forwarded_packets
        is_higher = measured > known * (1 + _RISE + edge)
        is_lower = deep and measured < known * (1 - _FALL - edge)
        higher = (*self.higher, measured) if is_higher else ()
        lower = (*self.lower, measured)[-_FALL_HOLD:] if is_lower else ()
        if len(higher) >= _RISE_HOLD:
            return _since_change(higher)
        if len(lower) == _FALL_HOLD and max(lower) <= min(lower) * (1 + _AGREEMENT + edge):
            return _since_change(lower)
        return ServiceRate(busy, higher, lower, named=True)


def _since_change(intervals: tuple[float, ...]) -> ServiceRate:
    """The rate is another: everything measured before the change is forgotten.

    The interval in which the change fell belongs to neither rate.
    """
    return ServiceRate(busy=intervals[1:], named=True)
