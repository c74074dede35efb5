"""Sets of flows as ascending arrays of their numbers, as rows of tables are in their order.

Asked for at every sample, of few flows mostly: the general functions of the same purpose take
several times as long.

How many flows there really are: those that move packets, weighted by what they move.

A connection that waits for a timeout exists, but the queue does not feel it; a queue that is too
short locks many out. Counted as flows they would make the next model's load heavier than the
network's, and its setting worse. Nor may every timeout be a departure: under RED, 64 flows at
10 Mbit/s have 50 to 62 at any time that sent in the last 1.5 s, and over a minute all have sent.

So a flow's weight is its rate as a share of the mean rate of those that count, cut at 1 and reached
at a small part of that mean: flows of very unequal round trips are all whole flows, one that gets a
packet through now and then is next to none. (The participation number, (sum of rates)^2 over the
sum of their squares, was tried: it puts 64 lively flows at 50, because even equal flows do not send
equally in 3 s.) Its rate is that over the last few seconds, or over several times as long,
whichever makes more of it: the first lets new flows in at once, the second keeps those that pause.
When flows have ended (the number of open ones has fallen), one silent since then is taken for one
of them.

How a queue's flows share what goes through it: one row of the journal for each second.

A share is of bytes, of the flows that slow down when packets are lost. In a short stretch chance
makes every flow differ, so it is taken over all that :class:`FlowActivity` remembers, fifteen
seconds or more. A flow counts where it has been there for half of that, with what it got per second
since it came, and where packets of it were seen lately: nobody tells when a flow ends, and one that
has ended is not treated unfairly.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from vermilion.online.sense.sampler import FlowShares
from vermilion.online.sense.stretch import STARVED_SHARE, jain_index
from vermilion.online.sense.traffic_estimate import rounded_to_total, split_by_gaps

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    from numpy.typing import NDArray

    from vermilion.routers.base import FlowTraffic

    Numbers: TypeAlias = NDArray[np.int64]
    Rows: TypeAlias = NDArray[np.intp]

    _Number = TypeVar("_Number", np.bool_, np.int64, np.float64)


def is_among(flows: Numbers, others: Numbers) -> NDArray[np.bool_]:
    """Mark the flows that are among the others; both arrays ascend."""
    if len(others) == 0:
        return np.zeros(len(flows), np.bool_)
    place = np.searchsorted(others, flows)
    place[place == len(others)] = 0
    among: NDArray[np.bool_] = others[place] == flows
    return among


def united(known: Numbers, seen: Numbers) -> tuple[Numbers, Rows, Rows]:
    """All flows of both, and the rows in it of the ones and of the others; all ascending."""
    flows = known if is_among(seen, known).all() else np.union1d(known, seen)
    return flows, np.searchsorted(flows, known), np.searchsorted(flows, seen)


LATELY_S = (3.0, 10.0)
"""Shortest and longest stretch that counts as lately, for short and long round trips."""

ONE_SIZE = 1.35
"""Ratio of packet sizes up to which they count as equal."""

NEWCOMER_S = (4.0, 10.0)
"""Ages between which a flow is a newcomer, by which it should have its share."""

_LATELY_ROUND_TRIPS = 20.0
_KEPT = 5.0  # stretches of "lately" over which a flow that pauses is remembered
_WHOLE_SHARE = 0.15  # of the mean rate: from there on a flow is a whole one
_YOUNG_S = 0.5  # rates are not measured over less
_ROUNDS = 8  # at most, until weights and mean rate agree
_CLOSE = 1e-3
_SAME_S = 1e-6  # times are sums of tenths
_FALL = 0.05  # of the open flows: fewer that end than these are nobody in particular
_REMEMBERED_S = 60.0  # so long a flow that comes back is not a new one
_AT_ONCE_S = 5.0  # flows that come or go further apart do so again and again
_MOST_AT_ONCE = 0.9  # of them: the others are late
_MOST_REMEMBERED = 20_000
_MOST_ENTRIES = 50_000  # of intervals before lately, where so many flows come and go
_MOST_SIZES = 4
_COLUMNS = (
    *("flows", "responsive", "selective", "ecn_capable", "began_s", "last_s"),
    *("packets", "bytes", "kept_bytes"),
)
_LEAST_PACKETS = 3  # to tell the size of a flow's packets from that of its first one


def _none() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


def _nothing() -> NDArray[np.bool_]:
    return np.empty(0, np.bool_)


def _never() -> NDArray[np.float64]:
    return np.empty(0)


class ByFlow:
    """Base of values whose columns are arrays, with a row for each flow."""

    __slots__: tuple[str, ...] = ()
    flows: Numbers

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            np.array_equal(mine, its, equal_nan=mine.dtype.kind == "f")
            if isinstance(mine, np.ndarray)
            else mine == its
            for name in self.__slots__
            for mine, its in [(getattr(self, name), getattr(other, name))]
        )

    def __hash__(self) -> int:
        """Equal values have equal ones."""
        return hash(self.flows.tobytes())


@dataclass(frozen=True, slots=True, eq=False)
class _Interval(ByFlow):
    """Traffic forwarded in one interval, by row of flow number; a value.

    ``open_flows`` were known to connection tracking at its end; ``None`` where nobody counts them.
    """

    end_s: float
    length_s: float
    flows: NDArray[np.int64]
    packets: NDArray[np.int64]
    bytes: NDArray[np.int64]
    open_flows: int | None


@dataclass(frozen=True, slots=True, eq=False)
class FlowActivity(ByFlow):
    """Traffic of each flow, recent and remembered; a value.

    Nothing it holds is changed in place. Rows belong to flows, in the order of their numbers.

    Attributes:
        now_s: the end of the last interval.
        lately_s: the stretch that counts as lately.
        lately: its intervals, oldest first.
        before: those before it that are remembered.
        flows: the numbers of the flows known, ascending.
        responsive: whether each slows down when packets are lost.
        selective: whether the receiver of each has been seen to acknowledge selectively.
        ecn_capable: whether packets of each have been seen to be ECN-capable.
        ecn_told: whether anybody looks at that.
        began_s: when each was first seen.
        last_s: when each was last seen.
        packets: what each sent lately, packets.
        bytes: the same in bytes.
        kept_bytes: what each sent lately and before, bytes.
        open_flows: how many connection tracking knew last; ``None`` where nobody counts them.
        open_peak: the most it has known since the last fall.
        fell_s: when flows last ended.
    """

    now_s: float = 0.0
    lately_s: float = LATELY_S[0]
    lately: tuple[_Interval, ...] = ()
    before: tuple[_Interval, ...] = ()
    flows: NDArray[np.int64] = field(default_factory=_none)
    responsive: NDArray[np.bool_] = field(default_factory=_nothing)
    selective: NDArray[np.bool_] = field(default_factory=_nothing)
    ecn_capable: NDArray[np.bool_] = field(default_factory=_nothing)
    ecn_told: bool = False
    began_s: NDArray[np.float64] = field(default_factory=_never)
    last_s: NDArray[np.float64] = field(default_factory=_never)
    packets: NDArray[np.int64] = field(default_factory=_none)
    bytes: NDArray[np.int64] = field(default_factory=_none)
    kept_bytes: NDArray[np.int64] = field(default_factory=_none)
    open_flows: int | None = None
    open_peak: int = 0
    fell_s: float = -float("inf")

    def updated(
        self,
        time_s: float,
        interval_s: float,
        traffic: FlowTraffic,
        open_flows: int | None,
        round_trip_s: float | None,
    ) -> FlowActivity:
        """After the interval that ended at ``time_s``.

        Args:
            time_s: the interval's end.
            interval_s: its length.
            traffic: what each flow sent in it.
            open_flows: flows that have begun and not ended; ``None`` where nobody counts them.
            round_trip_s: a usual round trip, queueing included; ``None`` while that is not known.
        """
        lately_s = LATELY_S[0]
        if round_trip_s is not None:
            lately_s = min(max(_LATELY_ROUND_TRIPS * round_trip_s, lately_s), LATELY_S[1])
        moved = traffic.packets > 0
        # One entry per flow, in the order of their numbers, whatever the monitor gave.
        seen, first, places = np.unique(
            traffic.flows[moved], return_index=True, return_inverse=True
        )
        latest = _Interval(
            time_s,
            interval_s,
            seen,
            np.bincount(places, traffic.packets[moved], len(seen)).astype(np.int64),
            np.bincount(places, traffic.bytes[moved], len(seen)).astype(np.int64),
            open_flows,
        )
        flows, old, new = united(self.flows, seen)
        size = len(flows)
        responsive = _spread(self.responsive, old, size, 0)
        began = _spread(self.began_s, old, size, time_s - interval_s)
        last = _spread(self.last_s, old, size, time_s)
        responsive[new] = traffic.responsive[moved][first]
        selective = _spread(self.selective, old, size, 0)
        if traffic.selective is not None:
            selective[new] |= traffic.selective[moved][first]
        capable = _spread(self.ecn_capable, old, size, 0)
        if traffic.ecn_capable is not None:
            capable[new] |= traffic.ecn_capable[moved][first]
        last[new] = time_s
        packets, sizes, kept = (
            _spread(values, old, size, 0) for values in (self.packets, self.bytes, self.kept_bytes)
        )
        packets[new] += latest.packets
        sizes[new] += latest.bytes
        kept[new] += latest.bytes

        intervals, before = (*self.lately, latest), self.before
        expired = 0
        while intervals[expired].end_s <= time_s - lately_s:
            gone = intervals[expired]
            rows = np.searchsorted(flows, gone.flows)
            packets[rows] -= gone.packets
            sizes[rows] -= gone.bytes
            expired += 1
        before, intervals = before + intervals[:expired], intervals[expired:]
        entries = 0
        if len(flows) > _MOST_REMEMBERED:
            entries = sum(len(one.flows) for one in before)
        forgotten = 0
        while forgotten < len(before) and (
            before[forgotten].end_s <= time_s - _KEPT * lately_s or entries > _MOST_ENTRIES
        ):
            gone = before[forgotten]
            kept[np.searchsorted(flows, gone.flows)] -= gone.bytes
            entries -= len(gone.flows)
            forgotten += 1

        peak, fell_s = self.open_peak, self.fell_s
        if open_flows is not None:
            peak = max(peak, open_flows)
            if open_flows < (1.0 - _FALL) * peak:
                peak, fell_s = open_flows, time_s
        after = FlowActivity(
            now_s=time_s,
            lately_s=lately_s,
            lately=intervals,
            before=before[forgotten:],
            flows=flows,
            responsive=responsive,
            selective=selective,
            ecn_capable=capable,
            ecn_told=traffic.ecn_capable is not None,
            began_s=began,
            last_s=last,
            packets=packets,
            bytes=sizes,
            kept_bytes=kept,
            open_flows=open_flows,
            open_peak=peak,
            fell_s=fell_s,
        )
        return _without_the_forgotten(after)

    def weights(self) -> NDArray[np.float64]:
        """Weight of each flow, 0 to 1; 0 for one that does not slow down."""
        age = self.now_s - self.began_s
        lately_s = sum(one.length_s for one in self.lately)
        all_s = lately_s + sum(one.length_s for one in self.before)
        rate = self.bytes / np.maximum(np.minimum(age, lately_s), _YOUNG_S)
        weight = _shares(np.where(self.responsive, rate, 0.0))
        if self.open_flows is None or not weight.any():
            # Nobody tells when flows end, or nothing moves at all: no pause is forgiven.
            return weight
        kept = self.kept_bytes / np.maximum(np.minimum(age, all_s), _YOUNG_S)
        there = self.responsive
        if self.now_s > self.fell_s + self.lately_s:
            there = there & (self.last_s > self.fell_s)
        return np.maximum(weight, _shares(np.where(there, kept, 0.0)))

    def effective(self) -> tuple[float, NDArray[np.int64]]:
        """The number of flows, and the numbers of those that are at least half a flow."""
        weight = self.weights()
        flows = float(weight.sum())
        if self.open_flows is not None:
            flows = min(flows, max(0, self.open_flows - self._unresponsive()))
        return flows, self.flows[weight >= 0.5]  # noqa: PLR2004 - half

    def pausing(self, flows: float) -> float:
        """Flows that moved packets once, are open as far as is known, and count for nothing now.

        Args:
            flows: how many count, as :meth:`effective` has it.
        """
        known = int(self.responsive.sum())
        if self.open_flows is not None:
            known = min(known, self.open_flows - self._unresponsive())
        return max(0.0, known - flows)

    def starved_since(self, time_s: float) -> int | None:
        """Number of present flows that got next to nothing since then.

        Of the flows that were there already, those that got less than :data:`STARVED_SHARE` of what
        they all got on average; a flow of which nothing was seen at all is one of them. As nobody
        tells which flows have ended, no more are counted than are open besides the others.

        ``None`` where nobody counts open flows, or what was seen so long ago is forgotten.
        """
        stretch = self._intervals_since(time_s)
        if self.open_flows is None or not stretch:
            return None
        got = self._got(stretch)
        counts = self.responsive & (self.flows >= 0)
        there = counts & (self.began_s <= time_s + _SAME_S)
        young = int((counts & ~there & (got > 0)).sum())
        opened = max(0, self.open_flows - self._unresponsive())
        served = there & (got > 0)
        silent = max(0, opened - young - int(served.sum()))
        silent = min(silent, self._silent_at_most(time_s, stretch, int(served.sum())))
        if not served.any():
            return None
        least = STARVED_SHARE * got[served].sum() / (served.sum() + silent)
        content = int((there & (got >= least)).sum())
        low = int((served & (got < least)).sum())
        return min(low + silent, max(0, opened - content - young))

    def starved_newcomers(self) -> tuple[int, int] | None:
        """(starved, all) of the flows that came lately; ``None`` where too little is known.

        A flow is a newcomer from :data:`NEWCOMER_S`'s shorter to its longer age, and starves where
        it got less than :data:`STARVED_SHARE` of what the others got on average over the shorter.
        """
        youngest_s, oldest_s = NEWCOMER_S
        stretch = self._intervals_since(self.now_s - youngest_s)
        if self.open_flows is None or not stretch:
            return None
        got = self._got(stretch)
        age = self.now_s - self.began_s
        counts = self.responsive & (self.flows >= 0) & (age >= youngest_s - _SAME_S)
        served = counts & (got > 0)
        new = counts & (age <= oldest_s + _SAME_S)
        if not served.any() or not new.any():
            return 0, 0
        low = new & (got < STARVED_SHARE * got[served].sum() / served.sum())
        # Who has ended starves no more, and nobody tells who has.
        there = self.open_flows - self._unresponsive() - int(served.sum())
        silent = min(int((low & (got == 0)).sum()), max(0, there))
        return int((low & (got > 0)).sum()) + silent, int((new & (got > 0)).sum()) + silent

    def turnover(self) -> tuple[int, int]:
        """Flows that have come and that have gone within a minute; none where only once.

        Those of the first seconds were there before anybody looked, and who has gone is told by the
        number of open flows. Flows that come at once and stay are a change that is over; some are
        late, because their first packets were lost.
        """
        counts = self.responsive & (self.flows >= 0)
        if self.open_flows is None or not counts.any():
            return 0, 0
        since_s = max(self.now_s - _REMEMBERED_S, float(self.began_s.min()) + _AT_ONCE_S)
        came = self.began_s[counts & (self.began_s > since_s)]
        last = np.sort(self.last_s[counts & (self.last_s > self.now_s - _REMEMBERED_S)])
        went = max(0, len(last) - max(0, self.open_flows - self._unresponsive()))
        times = np.sort(np.concatenate((came, last[:went])))
        bursts = np.split(times, np.flatnonzero(np.diff(times) > _AT_ONCE_S) + 1)
        if max(map(len, bursts)) >= _MOST_AT_ONCE * len(times):
            return 0, 0
        return len(came), went

    def goodputs_since(self, time_s: float) -> NDArray[np.float64] | None:
        """bit/s of each flow that is there (columns) in each whole second since then (rows).

        Those are the flows that were there already and slow down when packets are lost; one of
        which nothing was seen at all has a column of zeros.

        ``None`` where nobody counts open flows, where flows have ended meanwhile, or where what was
        seen so long ago is forgotten.
        """
        stretch = self._intervals_since(time_s)
        if self.open_flows is None or not stretch:
            return None
        rows: list[NDArray[np.float64]] = []
        got, row, seconds = self._got(()), self._got(()), 0.0
        for one in stretch:
            row += self._got([one])
            seconds += one.length_s
            if seconds >= 1.0 - _SAME_S:
                rows.append(8.0 * row / seconds)
                got += row
                row, seconds = self._got(()), 0.0
        counts = self.responsive & (self.flows >= 0)
        there = counts & (self.began_s <= time_s + _SAME_S)
        served = there & (got > 0)
        young = int((counts & ~there & (got > 0)).sum())
        silent = self.open_flows - self._unresponsive() - young - int(served.sum())
        if not rows or silent < 0:
            return None
        silent = min(silent, self._silent_at_most(time_s, stretch, int(served.sum())))
        return np.hstack([np.array(rows)[:, served], np.zeros((len(rows), silent))])

    def _silent_at_most(self, time_s: float, stretch: list[_Interval], served: int) -> int:
        """Flows that were open at a time already, besides those of which data was seen since.

        One that has come since then and has sent nothing yet does not starve. A connection may be
        known a whole interval before any of its data.
        """
        until = [one for one in self.before + self.lately if one.end_s <= time_s + _SAME_S]
        open_flows = (until[-1] if until else stretch[0]).open_flows
        return 1 << 62 if open_flows is None else max(0, open_flows - self._unresponsive() - served)

    def _intervals_since(self, time_s: float) -> list[_Interval]:
        """The intervals that ended after then; none where the first of them are forgotten."""
        stretch = [one for one in self.before + self.lately if one.end_s > time_s + _SAME_S]
        if stretch and stretch[0].end_s - stretch[0].length_s > time_s + stretch[0].length_s:
            return []
        return stretch

    def _got(self, stretch: Sequence[_Interval]) -> NDArray[np.float64]:
        """What each flow moved in some intervals, bytes."""
        got = np.zeros(len(self.flows))
        for one in stretch:
            known = is_among(one.flows, self.flows)
            got[np.searchsorted(self.flows, one.flows[known])] += one.bytes[known]
        return got

    def _unresponsive(self) -> int:
        """Open flows that do not slow down; acknowledgements (numbers below 0) open nothing."""
        return int((~self.responsive & (self.packets > 0) & (self.flows >= 0)).sum())

    def unresponsive_bit_per_s(self) -> float:
        """Recent arrival rate of flows that ignore losses."""
        lately_s = sum(one.length_s for one in self.lately)
        sent = int(self.bytes[~self.responsive].sum())
        return 8.0 * sent / lately_s if lately_s > 0.0 else 0.0

    def selective_share(self) -> float:
        """Share of active flows that use selective acknowledgements.

        As far as that has been seen; those that do not slow down when packets are lost are left
        out.
        """
        moving = self.responsive & (self.packets > 0)
        return float(self.selective[moving].mean()) if moving.any() else 0.0

    def ecn_capable_share(self) -> float | None:
        """Share of responsive flows whose packets can be marked.

        Flows that wait for a timeout count too, if they moved anything in the time remembered:
        where some can be marked, those that cannot wait most. ``None`` where nobody looks.
        """
        there = self.responsive & (self.kept_bytes > 0) & (self.flows >= 0)
        if not self.ecn_told or not there.any():
            return None
        return float(self.ecn_capable[there].mean())

    def packet_sizes(self, of: NDArray[np.int64], total: int) -> tuple[tuple[float, int], ...]:
        """(bytes, flows) of each class of packet sizes, ascending.

        Args:
            of: the numbers of the flows to ask.
            total: how many flows there are in all; those unknown are like the others.
        """
        import math

        asked = is_among(self.flows, of) & (self.packets >= _LEAST_PACKETS)
        if not asked.any() or total <= 0:
            return ()
        sizes = np.sort(self.bytes[asked] / self.packets[asked]).tolist()
        if sizes[-1] <= ONE_SIZE * sizes[0]:
            return ((math.fsum(sizes) / len(sizes), total),)
        classes = split_by_gaps(sizes, 0.0, _MOST_SIZES)
        counts = rounded_to_total([total * len(one) / len(sizes) for one in classes], total)
        return tuple(
            (math.fsum(one) / len(one), count)
            for one, count in zip(classes, counts, strict=True)
            if count > 0
        )


def _without_the_forgotten(activity: FlowActivity) -> FlowActivity:
    """Without the flows that have been silent for too long to be known again."""
    oldest = activity.now_s - _REMEMBERED_S
    if len(activity.flows) > _MOST_REMEMBERED:
        latest = np.partition(activity.last_s, -_MOST_REMEMBERED)[-_MOST_REMEMBERED]
        oldest = max(oldest, float(latest))
    there = (activity.last_s >= oldest) | (activity.kept_bytes > 0)
    if there.all():
        return activity
    return replace(activity, **{name: getattr(activity, name)[there] for name in _COLUMNS})


def _spread(
    values: NDArray[_Number], rows: NDArray[np.intp], size: int, missing: float
) -> NDArray[_Number]:
    """A column of so many rows with ``values`` in these, and ``missing`` in the others."""
    column = np.full(size, missing, dtype=values.dtype)
    column[rows] = values
    return column


def _shares(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each rate as a part of what makes a whole flow, 1 at most."""
    weight = (rates > 0.0).astype(np.float64)
    for _ in range(_ROUNDS):
        total = weight.sum()
        if total == 0.0:
            return weight
        whole = _WHOLE_SHARE * float(rates @ weight) / total
        weight = np.minimum(1.0, rates / whole)
        if abs(weight.sum() - total) < _CLOSE:
            break
    return weight


LEAST_S: Final = 3.0
"""Of less nothing is said, nor of flows that are younger."""


def flow_shares(activity: FlowActivity, link: str = "") -> FlowShares | None:
    """Return how the flows have shared a queue lately.

    ``None`` for the first seconds, and where nobody looks at packets.

    Args:
        activity: what each flow moved.
        link: which of several queues; "" where there is one.
    """
    seconds = float(sum(one.length_s for one in (*activity.before, *activity.lately)))
    if seconds < LEAST_S - _SAME_S:
        return None
    age = activity.now_s - activity.began_s
    # Numbers below 0 are acknowledgements.
    heard = (activity.flows >= 0) & (activity.packets > 0)
    long_enough = age >= max(LEAST_S, seconds / 2.0) - _SAME_S
    compared = heard & activity.responsive & long_enough
    rates = activity.kept_bytes[compared] / np.minimum(age[compared], seconds)
    flows = int(heard.sum())
    silent = None
    # Of several queues each is told the flows that are open anywhere.
    if activity.open_flows is not None and not link:
        silent = max(0, activity.open_flows - flows)
    shares = FlowShares(activity.now_s, link, seconds, flows, silent, len(rates))
    if len(rates) < 2:  # noqa: PLR2004 - one flow shares with nobody
        return shares
    return replace(
        shares,
        jain_index=float(jain_index(rates)),
        largest_share=float(rates.max() / rates.sum()),
        smallest_share=float(rates.min() / rates.sum()),
    )
