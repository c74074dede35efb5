"""The rate of a link, measured by watching it work.

A router's configuration may say "10 Mbit/s" while a shaper, a radio or a provider gives
less. What counts is what leaves while packets wait: an interval with a backlog at both of
its ends was (almost surely) busy throughout, and what it forwarded is the service rate, to
one packet at either end. An interval in which the queue emptied unseen can only read low,
never high; hence the estimate leans to the upper half of the recent intervals, a rise is
believed quickly, and a fall only after several intervals in a row that agree with each other
and kept a good backlog: a slower link reads the same every time and lets the queue grow,
idle moments do neither.

A queue that drops or marks every packet that comes, although none waits.

RED does so while its average stands above the maximum threshold. The average of a queue that has
run empty has to fall with time. In Linux, RED below a shaper moves its average only when a packet
comes: htb does not ask an empty queue for packets, so ``red`` never learns that it is idle. Once
senders wait for timeouts, few packets come, each of them is dropped, and with a weight of 2^-12 the
queue may stay shut for minutes. Senders that understand marks get some packets through, all of them
marked, so that their windows stay as small as windows are.

Whether the queue under control is the bottleneck, and what its silence means.

A queue that holds nothing may be that of a link with nothing to carry, of one that another link
starves, or of one that is down. None of them can be tuned, and nothing can be learned from any.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.online.sense.sampler import Sample


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

    def updated(self, sample: Sample) -> ServiceRate:
        """The estimate after one more interval."""
        backlog = min(sample.backlog_before_packets, sample.backlog_packets)
        if backlog < BUSY_BACKLOG_PACKETS:
            return self if self.pending == _NOTHING else replace(self, pending=_NOTHING)
        seconds, sizes, packets = self.pending
        seconds, sizes = seconds + sample.interval_s, sizes + sample.bytes
        packets += sample.packets
        if packets < _FEWEST_PACKETS:
            # So few say nothing yet; and of a link that is down they never will.
            pending = (seconds, sizes, packets) if seconds <= _LONGEST_PENDING_S else _NOTHING
            return replace(self, pending=pending)
        measured = 8.0 * sizes / seconds
        busy = (*self.busy, measured)[-_REMEMBERED:]
        known = self.bit_per_s
        if known is None:
            return ServiceRate(busy, named=len(busy) >= _FEWEST)
        edge = _EDGE_PACKETS / packets
        deep = backlog >= _FALL_BACKLOG * packets
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
    """Observation of a queue that drops or marks everything.

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
    """Detect a queue that drops or marks everything in the latest samples.

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


LinkKind: TypeAlias = Literal["busy", "idle", "outage", "elsewhere", "unknown"]
"""``busy``: this queue is the bottleneck. ``idle``: there is nothing to carry. ``outage``: there
is, and it does not get through. ``elsewhere``: packets pass, but something else limits them.
``unknown``: too little has been seen."""

HOLD_S: Mapping[LinkKind, float] = {"busy": 0.3, "idle": 2.0, "outage": 1.0, "elsewhere": 3.0}
"""How long a state must last before it is believed."""
LOOKED_AT_S = 1.0
"""The stretch by which a state is judged at each sample, or ten packets' transmission if longer."""
SIGNALS_S = 5.0
"""A link that dropped or marked a packet within this time is not starved by another one."""

_FULL = 0.9  # of the link's rate
_MOSTLY_EMPTY = 0.9  # share of readings that find no packet
_MOSTLY_WAITING = 0.5  # share of readings that find one
_ALMOST_NOTHING = 0.01  # of the link's rate
_LINK_STATE_FEWEST_PACKETS = 10  # that a stretch should have room for
_STILL_PACKETS = 2  # that would have left by now: one may just have been on its way
_LEAST_S = 0.25  # less than that says nothing

_Look: TypeAlias = "tuple[LinkKind, str, dict[str, object]]"  # what is seen, in words, in numbers


@dataclass(frozen=True, slots=True)
class LinkState:
    """State of the link.

    Attributes:
        kind: in one word.
        words: what was seen, in words and numbers.
        details: the numbers, for the journal.
    """

    kind: LinkKind = "unknown"
    words: str = "nothing has been seen yet"
    details: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LinkWatch:
    """Follows the state of a link; a value.

    Attributes:
        state: what is believed.
        seen: what was seen last.
        seen_since_s: since when without a break.
        still: whether nothing has left lately, however short that was.
    """

    state: LinkState = LinkState()
    seen: LinkKind = "unknown"
    seen_since_s: float = 0.0
    still: bool = False

    @property
    def seems_silent(self) -> bool:
        """True if next to nothing has come or left for a second.

        It need not have lasted long enough to be believed.
        """
        return self.seen in {"idle", "outage"}

    @property
    def may_be_silent(self) -> bool:
        """True if nothing leaves now, which may be the start of a silence."""
        return self.still or self.seems_silent

    def updated(
        self, samples: Sequence[Sample], rate_bit_per_s: float | None, flows: int | None
    ) -> LinkWatch:
        """After one more sample.

        Args:
            samples: the latest, oldest first, the new one last; :data:`SIGNALS_S` of them or more.
            rate_bit_per_s: the link's service rate, where it is known.
            flows: how many exist, where that is known.
        """
        now_s, still = samples[-1].time_s, _stands_still(samples, rate_bit_per_s)
        found = look(samples, rate_bit_per_s, flows)
        if found is None:
            return LinkWatch(self.state, "unknown", now_s, still)
        kind, words, details = found
        since_s = self.seen_since_s
        if kind != self.seen:
            since_s = now_s - samples[-1].interval_s
        state = self.state
        if kind == state.kind or now_s - since_s >= HOLD_S[kind] - _EPSILON_S:
            state = LinkState(kind, words, details)
        return LinkWatch(state, kind, since_s, still)


def look(
    samples: Sequence[Sample], rate_bit_per_s: float | None, flows: int | None
) -> _Look | None:
    """Classify the latest samples; ``None`` where no class fits.

    The arguments are those of :meth:`LinkWatch.updated`.
    """
    stretch = _Stretch.of(_lately(samples, rate_bit_per_s), rate_bit_per_s)
    if stretch.seconds < _LEAST_S:
        return None
    almost_nothing = stretch.load is not None and stretch.load < _ALMOST_NOTHING
    if stretch.packets == 0 or almost_nothing:
        found = _look_at_silence(stretch, samples[-1].backlog_packets, flows)
        if found is not None or stretch.packets == 0:
            return found
        if stretch.seconds > LOOKED_AT_S - _EPSILON_S and stretch.empty >= _MOSTLY_EMPTY:
            words = f"{stretch.describe()} for {stretch.seconds:.1f} s"
            return "idle", words, stretch.details()
    now_s = samples[-1].time_s
    signals = sum(
        sample.drops + sample.marks for sample in samples if sample.time_s > now_s - SIGNALS_S
    )
    return _look_at_traffic(stretch, signals)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Samples added up.

    Attributes:
        seconds: over how long.
        packets: packets forwarded.
        drops: packets dropped.
        bit_per_s: at which rate.
        empty: share of the readings that found no packet waiting.
        load: share of the link's rate that was used; ``None`` where that is not known.
    """

    seconds: float
    packets: int
    drops: int
    bit_per_s: float
    empty: float
    load: float | None

    @classmethod
    def of(cls, samples: Sequence[Sample], rate_bit_per_s: float | None) -> _Stretch:
        seconds = sum(sample.interval_s for sample in samples)
        bit_per_s = 8.0 * sum(sample.bytes for sample in samples) / seconds
        return cls(
            seconds=seconds,
            packets=sum(sample.packets for sample in samples),
            drops=sum(sample.drops for sample in samples),
            bit_per_s=bit_per_s,
            empty=sum(sample.backlog_packets == 0 for sample in samples) / len(samples),
            load=None if rate_bit_per_s is None else bit_per_s / rate_bit_per_s,
        )

    def describe(self) -> str:
        of_rate = "" if self.load is None else f", {self.load:.0%} of its rate"
        return f"the link carried {self.bit_per_s / 1e6:.4g} Mbit/s{of_rate}"

    def details(self) -> dict[str, object]:
        """The numbers, for the journal."""
        return {
            "carried_bit_per_s": self.bit_per_s,
            "carried_share_of_rate": self.load,
            "readings_empty_share": self.empty,
            "readings_waiting_share": 1.0 - self.empty,
            "seconds": self.seconds,
        }


def _look_at_silence(stretch: _Stretch, waiting: int, flows: int | None) -> _Look | None:
    """Classify a link that forwards next to nothing."""
    seconds, packets = stretch.seconds, stretch.packets
    if seconds < LOOKED_AT_S - _EPSILON_S:
        return None
    if waiting > 0 and stretch.empty == 0.0:
        left = {0: "none has left", 1: "1 has left"}.get(packets, f"{packets} have left")
        return (
            "outage",
            f"{how_many(waiting, 'packet')} in the queue, and {left} for {seconds:.1f} s",
            {"waiting_packets": waiting, "left_packets": packets, "seconds": seconds},
        )
    if packets == 0 and stretch.drops > 0 and stretch.empty == 1.0:
        came = how_many(stretch.drops, "packet")
        return (
            "outage",
            f"{came} came in {seconds:.1f} s and none got through, though none waits",
            {"came_packets": stretch.drops, "seconds": seconds},
        )
    if flows is not None and packets < flows * seconds:
        came = f"only {how_many(packets, 'packet')} came" if packets else "no packet came"
        words = f"{how_many(flows, 'flow')} open, and {came} in {seconds:.1f} s"
        return "outage", words, {"open_flows": flows, "came_packets": packets, "seconds": seconds}
    if packets == 0:
        return "idle", f"no packet came in {seconds:.1f} s", {"came_packets": 0, "seconds": seconds}
    return None


def _look_at_traffic(stretch: _Stretch, signals: int) -> _Look | None:
    """Classify a link that forwards packets: limited by this queue or elsewhere."""
    if 1.0 - stretch.empty > _MOSTLY_WAITING or (stretch.load or 0.0) >= _FULL:
        words = (
            f"packets waited at {1.0 - stretch.empty:.0%} of the readings of "
            f"{stretch.seconds:.1f} s, and {stretch.describe()}"
        )
        return "busy", words, stretch.details()
    if signals > 0:
        words = f"{how_many(signals, 'packet')} dropped or marked in {SIGNALS_S:.0f} s"
        details: dict[str, object] = {
            "signals": signals,
            "signals_in_s": SIGNALS_S,
            **stretch.details(),
        }
        return "busy", f"{words}, and {stretch.describe()}", details
    if stretch.empty >= _MOSTLY_EMPTY:
        words = (
            f"{stretch.describe()}, but no packet waited at {stretch.empty:.0%} of the readings "
            f"of {stretch.seconds:.1f} s"
        )
        return "elsewhere", words, stretch.details()
    return None


def _lately(samples: Sequence[Sample], rate_bit_per_s: float | None) -> list[Sample]:
    """The samples by which the state is judged, the latest first."""
    stretch_s = max(LOOKED_AT_S, _LINK_STATE_FEWEST_PACKETS * _packet_s(samples, rate_bit_per_s))
    lately: list[Sample] = []
    seconds = 0.0
    for sample in reversed(samples):
        if seconds > stretch_s - _EPSILON_S:
            break
        lately.append(sample)
        seconds += sample.interval_s
    return lately


def _stands_still(samples: Sequence[Sample], rate_bit_per_s: float | None) -> bool:
    """Check whether nothing has left for longer than a packet takes."""
    seconds = 0.0
    for sample in reversed(samples):
        if sample.packets > 0:
            break
        seconds += sample.interval_s
    return seconds > _STILL_PACKETS * _packet_s(samples, rate_bit_per_s)


def _packet_s(samples: Sequence[Sample], rate_bit_per_s: float | None) -> float:
    """Transmission time of the largest recent packet; 0 if unknown."""
    if rate_bit_per_s is None:
        return 0.0
    sizes = (sample.bytes / sample.packets for sample in samples[-20:] if sample.packets > 0)
    return 8.0 * max(sizes, default=0.0) / rate_bit_per_s


WaitingKind: TypeAlias = Literal["here", "behind", "nowhere", "unknown"]

_LASTS_S: Final = 2.0
_HERE_DOUBT: Final = 0.05  # of the wait here, by the error of the rate
_BASE_DOUBT: Final = 0.15  # of the base round trip: receivers wait too
_LEAST_DOUBT_S: Final = 0.003


@dataclass(frozen=True, slots=True)
class WaitingPlace:
    """Place at which packets wait: in this queue, behind it, or nowhere.

    Attributes:
        kind: in one word.
        here_s: mean wait in this queue.
        behind_s: what round trips have besides that and the shortest one seen.
        doubt_s: standard deviation of that.
        since_s: since when it has been so.
    """

    kind: WaitingKind = "unknown"
    here_s: float = 0.0
    behind_s: float = 0.0
    doubt_s: float = 0.0
    since_s: float = 0.0

    def after(
        self, time_s: float, here_s: float, round_trip_s: float, shortest_s: float
    ) -> WaitingPlace:
        """The place after one more look.

        Args:
            time_s: of the look.
            here_s: mean wait in this queue lately.
            round_trip_s: mean of the round trips sampled lately.
            shortest_s: mean of the flows' shortest ones.
        """
        behind_s = max(round_trip_s - shortest_s - here_s, 0.0)
        doubt_s = math.hypot(_HERE_DOUBT * here_s, _BASE_DOUBT * shortest_s, _LEAST_DOUBT_S)
        kind: WaitingKind = "nowhere"
        if behind_s > 2.0 * doubt_s and behind_s > here_s:
            kind = "behind"
        elif here_s > _LEAST_DOUBT_S:
            kind = "here"
        since_s = self.since_s if kind == self.kind else time_s
        return WaitingPlace(kind, here_s, behind_s, doubt_s, since_s)

    def lasts(self, now_s: float) -> bool:
        """Check whether it has been so for long enough to be said."""
        return self.kind != "unknown" and now_s - self.since_s >= _LASTS_S

    def where(self) -> str:
        """Like "here, 857 ms", "behind this queue, 1153 ms" or "nowhere"."""
        if self.kind == "behind":
            return f"behind this queue, {1e3 * self.behind_s:.0f} ms"
        return f"here, {1e3 * self.here_s:.0f} ms" if self.kind == "here" else self.kind

    def describe(self) -> str:
        """Like "1153 +- 20 ms behind this queue, 2 ms in it"."""
        return (
            f"{1e3 * self.behind_s:.0f} +- {1e3 * self.doubt_s:.0f} ms behind this queue, "
            f"{1e3 * self.here_s:.0f} ms in it"
        )

    def as_details(self) -> dict[str, object]:
        """The numbers, for the journal."""
        return {
            "waiting_here_s": self.here_s,
            "waiting_behind_s": self.behind_s,
            "waiting_behind_doubt_s": self.doubt_s,
        }
