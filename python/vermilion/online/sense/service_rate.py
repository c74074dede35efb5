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

from collections import deque
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


class ServiceRate:
    """An estimate of a link's rate that follows its changes."""

    def __init__(self) -> None:
        self._busy: deque[float] = deque(maxlen=_REMEMBERED)
        self._higher: list[float] = []
        self._lower: list[float] = []
        self._named = False

    @property
    def bit_per_s(self) -> float | None:
        """The rate in bit/s; ``None`` until the link has been busy for a few intervals."""
        if not self._named:
            return None
        middle = median(self._busy)
        return fmean(rate for rate in self._busy if rate >= middle)

    def update(
        self,
        interval_s: float,
        forwarded_bytes: int,
        forwarded_packets: int,
        backlog_before: int,
        backlog_after: int,
    ) -> None:
        """Take in one interval: what it forwarded, and the packets waiting at its two ends."""
        if min(backlog_before, backlog_after) < BUSY_BACKLOG_PACKETS or forwarded_packets == 0:
            return
        measured = 8.0 * forwarded_bytes / interval_s
        known = self.bit_per_s
        self._busy.append(measured)
        if known is None:
            self._named = len(self._busy) >= _FEWEST
            return
        edge = _EDGE_PACKETS / forwarded_packets
        higher = measured > known * (1 + _RISE + edge)
        deep = min(backlog_before, backlog_after) >= _FALL_BACKLOG * forwarded_packets
        lower = deep and measured < known * (1 - _FALL - edge)
        self._higher = [*self._higher, measured] if higher else []
        self._lower = [*self._lower, measured] if lower else []
        if len(self._higher) >= _RISE_HOLD:
            self._restart(self._higher)
            return
        recent = self._lower[-_FALL_HOLD:]
        if len(recent) == _FALL_HOLD and max(recent) <= min(recent) * (1 + _AGREEMENT + edge):
            self._restart(recent)

    def _restart(self, since_change: list[float]) -> None:
        """The rate is another: forget everything measured before the change."""
        self._busy.clear()
        # The interval in which the change fell belongs to neither rate.
        self._busy.extend(since_change[1:])
        self._higher, self._lower = [], []
