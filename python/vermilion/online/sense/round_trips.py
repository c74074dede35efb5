"""Every flow's base round-trip time, from samples that include queueing.

A sample is base round trip + time in this queue + one transmission. The time in the queue
is not exported per packet, but the backlog is, and backlog over service rate is the delay
of a packet that arrives then, and leaves after it. In a queue of a second that is a second
earlier than the packet is seen to leave, and the queue may have halved meanwhile. A single
difference is off by the queue's movement between two readings. So a flow's estimate is the
median of its last ten intervals' differences, weighted by how little the queue moved in each:
an interval in which the queue stood still says more than one in which it doubled.

Where readings are far apart, nothing is known of the queue between them. Then of a flow's samples
those count whose packets came to the queue close to a reading, as near as can be told from the
samples' order. Only where a flow has none of these do all of its interval count.

A queue behind this one lengthens samples as a longer path does. It cannot stand while packets stand
here for seconds, so only then is a rise believed. Else no base round trip is longer than the
shortest sample of the last minute (as of BBR's windowed minimum: N. Cardwell and others, ACM Queue
14, 2016). Where flows have queues of their own the backlog is nobody's wait, and that minimum is
all that is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vermilion.online.sense.flow_activity import ByFlow, is_among, united

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vermilion.routers.base import RttSamples

_INTERVALS_KEPT = 10  # intervals with samples per flow: about 1 s at 100 ms
_BACKLOGS_KEPT = 100  # readings: 10 s, longer than any round trip worth modelling
_FORGET_S = 10.0  # a flow silent for longer (a backed-off timer lasts seconds) has gone
_SHORTEST_S = 1e-6  # a base round trip is above 0 whatever the noise says
_STILL_S = 2e-3  # a movement of the queueing delay below this is as good as none
_CLOSE_S = 0.05  # to a reading, before it or after: all are, where there are ten a second
_HALF_WINDOW_S = 30.0  # of the windowed minimum
_COLUMNS = ("flows", "last_heard_s", "bases_s", "weights", "shortest_s", "base_s", "floors_s")
_FAR_APART_S = 0.15  # readings between which packets are that are close to none


@dataclass(frozen=True, slots=True, eq=False)
class BaseRoundTrips(ByFlow):
    """Estimates of base round-trip times, one per flow seen lately; a value.

    Nothing it holds is changed in place. Rows belong to flows, in the order of their numbers; the
    columns of a table to a flow's latest intervals with samples, newest first.

    Attributes:
        backlog_times_s: when the backlog was read, oldest first.
        backlog_bytes: what waited then.
        flows: the numbers of the flows known, ascending.
        last_heard_s: when each gave a sample.
        bases_s: a base round trip by each interval; not a number where there are fewer.
        weights: how much each of those says; 0 where there are fewer.
        shortest_s: the shortest sample of each interval; infinite where there are fewer.
        base_s: each flow's base round trip.
        floors_s: shortest sample of each flow in this half of the window, and in the one before.
        turned_s: when this half began.
    """

    backlog_times_s: NDArray[np.float64]
    backlog_bytes: NDArray[np.float64]
    flows: NDArray[np.int64]
    last_heard_s: NDArray[np.float64]
    bases_s: NDArray[np.float64]
    weights: NDArray[np.float64]
    shortest_s: NDArray[np.float64]
    base_s: NDArray[np.float64]
    floors_s: NDArray[np.float64]
    turned_s: float = 0.0

    @classmethod
    def begin(cls) -> BaseRoundTrips:
        """Nothing is known."""
        none, table = np.empty(0), np.empty((0, _INTERVALS_KEPT))
        floors = np.empty((0, 2))
        return cls(none, none, np.empty(0, np.int64), none, table, table, table, none, floors)

    def with_backlog(self, time_s: float, backlog_bytes: float) -> BaseRoundTrips:
        """After what was waiting at ``time_s``; to be told before the samples up to then."""
        times = np.append(self.backlog_times_s, time_s)[-_BACKLOGS_KEPT:]
        backlogs = np.append(self.backlog_bytes, backlog_bytes)[-_BACKLOGS_KEPT:]
        return replace(self, backlog_times_s=times, backlog_bytes=backlogs)

    def updated(
        self,
        time_s: float,
        interval_s: float,
        samples: RttSamples,
        rate_bit_per_s: float,
        packet_bytes: float,
        *,
        rises: bool = True,
        fair: bool = False,
    ) -> BaseRoundTrips:
        """After the samples of the interval that ended at ``time_s``.

        Args:
            time_s: the interval's end.
            interval_s: its length.
            samples: what the passive monitor saw during it.
            rate_bit_per_s: the link's service rate.
            packet_bytes: the size of a packet.
            rises: whether packets have stood here for seconds, so that a longer round trip is a
                longer path.
            fair: whether flows have queues of their own.
        """
        if len(samples.flows) == 0 or len(self.backlog_times_s) == 0:
            return _without_the_silent(self, time_s)
        transmission_s = 8.0 * packet_bytes / rate_bit_per_s
        delays = (0.0 if fair else 8.0) * self.backlog_bytes / rate_bit_per_s
        heard, positions = np.unique(samples.flows, return_inverse=True)
        means = np.bincount(positions, weights=samples.seconds) / np.bincount(positions)
        shortest = np.full(len(heard), np.inf)
        np.minimum.at(shortest, positions, samples.seconds)
        # The packet left this queue about half a base round trip before its
        # acknowledgement passed the monitor, which was mid-interval on average.
        leaves = np.maximum.accumulate(self.backlog_times_s + delays)  # who came at a reading
        passed = time_s - interval_s / 2.0
        half_base = np.maximum(means - np.interp(passed, leaves, delays), 0.0) / 2.0
        left = passed - half_base
        waited = np.interp(left, leaves, delays)
        earlier = np.interp(left - interval_s / 2.0, leaves, delays)
        later = np.interp(left + interval_s / 2.0, leaves, delays)
        # Who came before the first reading met a queue that nobody has seen.
        unseen = np.maximum(leaves[0] - left, 0.0)
        bases, moved = means - waited, np.abs(later - earlier) + unseen
        if interval_s > _FAR_APART_S:
            # Acknowledgements come about evenly, so that the order tells when.
            count = len(positions)
            each_passed = time_s - interval_s * (np.arange(count)[::-1] + 0.5) / count
            nearest, close = _close_to_readings(each_passed - half_base[positions], leaves)
            told = np.bincount(positions[close], minlength=len(heard))
            bare = samples.seconds[close] - delays[nearest[close]]
            sums = np.bincount(positions[close], weights=bare, minlength=len(heard))
            bases = np.where(told > 0, sums / np.maximum(told, 1), bases)
            moved = np.where(told > 0, 0.0, moved)

        flows, old, new = united(self.flows, heard)
        last_heard = np.empty(len(flows))
        last_heard[old] = self.last_heard_s
        last_heard[new] = time_s
        base = np.empty(len(flows))
        base[old] = self.base_s
        tables = []
        for table, missing, latest in (
            (self.bases_s, np.nan, bases - transmission_s),
            (self.weights, 0.0, 1.0 / (_STILL_S + moved)),
            (self.shortest_s, np.inf, shortest - transmission_s),
        ):
            grown = np.full((len(flows), _INTERVALS_KEPT), missing)
            grown[old] = table
            grown[new, 1:] = grown[new, :-1]
            grown[new, 0] = latest
            tables.append(grown)
        kept, weights, least = tables
        # No sample can be shorter than the base: a bound on what the median says.
        middle = _weighted_medians(kept[new], weights[new])
        lately = least[new].min(axis=1)
        floors, turned_s = self._floors(time_s, old, new, lately, rises=rises and not fair)
        if not rises or fair:
            middle = np.minimum(middle, floors[new].min(axis=1))
        base[new] = np.maximum(_SHORTEST_S, np.minimum(middle, lately))
        after = BaseRoundTrips(
            self.backlog_times_s,
            self.backlog_bytes,
            flows,
            last_heard,
            kept,
            weights,
            least,
            base,
            floors,
            turned_s,
        )
        return _without_the_silent(after, time_s)

    def _floors(
        self,
        time_s: float,
        old: NDArray[np.intp],
        new: NDArray[np.intp],
        lately: NDArray[np.float64],
        *,
        rises: bool,
    ) -> tuple[NDArray[np.float64], float]:
        """The windowed minima after an interval, and when the present half of the window began."""
        floors, turned_s = np.full((int(max(old.max(initial=-1), new.max())) + 1, 2), np.inf), 0.0
        floors[old], turned_s = self.floors_s, self.turned_s
        if time_s - turned_s > _HALF_WINDOW_S:
            floors[:, 1], turned_s = floors[:, 0], time_s
            floors[:, 0] = np.inf
        if rises:
            floors[new] = lately[:, None]
        else:
            floors[new, 0] = np.minimum(floors[new, 0], lately)
        return floors, turned_s

    def estimates(self, most: int, among: NDArray[np.int64] | None = None) -> list[float]:
        """Base round trips in s of the flows heard last, ``most`` at most, ascending.

        A flow that ended is not heard again, so where more are known than are active the ones
        heard longest ago are the ones that ended.

        Args:
            most: how many.
            among: the numbers of the flows to choose from, ascending; ``None`` for all.
        """
        last_heard, base = self.last_heard_s, self.base_s
        if among is not None:
            chosen = is_among(self.flows, among)
            last_heard, base = last_heard[chosen], base[chosen]
        latest = np.argsort(-last_heard, kind="stable")[: max(0, most)]
        ascending: list[float] = np.sort(base[latest]).tolist()
        return ascending

    def usual_floor_s(self, since_s: float) -> float | None:
        """Mean of the shortest samples of the flows heard since then, s; ``None`` without any."""
        heard = self.last_heard_s > since_s
        floors = self.floors_s[heard].min(axis=1) if heard.any() else self.floors_s[:, 0][:0]
        return float(floors.mean()) if len(floors) else None

    def heard_since(self, time_s: float) -> int:
        """Number of flows that gave a sample after ``time_s``."""
        return int((self.last_heard_s > time_s).sum())


def _without_the_silent(known: BaseRoundTrips, time_s: float) -> BaseRoundTrips:
    """Without the flows that have gone."""
    there = time_s - known.last_heard_s <= _FORGET_S
    if there.all():
        return known
    return replace(known, **{name: getattr(known, name)[there] for name in _COLUMNS})


def _close_to_readings(
    moments_s: NDArray[np.float64], readings_s: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Index of the nearest reading for each moment, and whether it is close.

    Args:
        moments_s: when packets left the queue.
        readings_s: when one would have that came to it at a reading, ascending.
    """
    after = np.searchsorted(readings_s, moments_s)
    before, after = np.maximum(after - 1, 0), np.minimum(after, len(readings_s) - 1)
    is_before = np.abs(moments_s - readings_s[before]) <= np.abs(readings_s[after] - moments_s)
    nearest = np.where(is_before, before, after)
    return nearest, np.abs(moments_s - readings_s[nearest]) <= _CLOSE_S


def _weighted_medians(
    values: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted median of each row; missing values weigh 0."""
    ascending = np.argsort(values, axis=1)  # what is not a number comes last
    passed = np.cumsum(np.take_along_axis(weights, ascending, axis=1), axis=1)
    place = np.argmax(passed >= passed[:, -1:] / 2.0, axis=1)
    rows = np.arange(len(values))
    middle: NDArray[np.float64] = values[rows, ascending[rows, place]]
    return middle
