"""Everything that was seen of one queue, and what it adds up to.

:class:`QueueSenses` is a value: an observation makes the next one of it, and the one before stays
as it was.

Number of flows or round trip by the square root law, without a monitor.

A flow of congestion avoidance that halves its window at a loss gets, on average,

    rate = packet / round trip * sqrt(3 / (2 p))

for a share p of its packets lost or marked (Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior
of the TCP congestion avoidance algorithm", ACM CCR 27(3), 1997, with an acknowledgement for every
packet). N flows that share a rate C therefore have N = C * round trip / (packet * sqrt(3 / (2 p))).
Of N and the round trip, one gives the other. C and p are in every router's counters.

What the law leaves out is in the doubt: unequal round trips and delayed acknowledgements always;
timeouts where losses are many (flows then get less than the law says, so there are fewer than it
says); and CUBIC where they are few, whose mean window is 1.054 (round trip / p)^(3/4) (RFC 9438,
section 5.1, for beta 0.7 and C 0.4) and grows beyond the law's: then there are fewer flows, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from vermilion.online.sense.flow_activity import ONE_SIZE, FlowActivity
from vermilion.online.sense.link_state import SIGNALS_S, LinkWatch, ServiceRate, WaitingPlace
from vermilion.online.sense.round_trips import BaseRoundTrips
from vermilion.online.sense.sampler import (
    Sample,
    began_anew,
    fell,
    is_a_reading,
    is_frozen,
    lengthened,
    saw_packets,
    since,
)
from vermilion.online.sense.traffic_estimate import TrafficEstimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.routers.base import FlowTraffic, Observation, Reading, RttSamples


@dataclass(frozen=True, slots=True)
class RoundTripPrior:
    """Prior of base round trips.

    Attributes:
        median_s: as many lie below as above.
        doubt: standard deviation of the logarithm.
    """

    median_s: float
    doubt: float


USUAL_ROUND_TRIP = RoundTripPrior(0.1, math.log(10.0) / 2.0)
"""100 ms; 95 % lie between 10 ms and 1 s. That is the range of round trips for which CoDel's
authors chose its one interval of 100 ms (RFC 8289)."""

FEWEST_SIGNALS = 50
"""Drops and marks from which on their share of the packets is taken from the latest only."""
LONGEST_S = 60.0
"""How far back is looked for so many."""
LEAST_S = 5.0
"""How far back is looked at least."""

_LAW_DOUBT = 0.3  # unequal round trips, delayed acknowledgements, senders that differ
_CLUSTERED = 2.0  # losses come in bursts of about so many
_TIMEOUT_S = 1.0  # the shortest of RFC 6298; Linux has 0.2 s
_MOST_FLOWS = 10_000
_EPSILON_S = 1e-6  # times are sums of tenths


@dataclass(frozen=True, slots=True)
class Signals:
    """Congestion signals of a queue, and its throughput.

    Attributes:
        seconds: over how long.
        packets: packets forwarded.
        bytes: bytes forwarded.
        signals: packets dropped or marked.
        offered: packets forwarded or dropped.
    """

    seconds: float
    packets: int
    bytes: int
    signals: int
    offered: int

    @classmethod
    def latest(cls, samples: Sequence[Sample]) -> Signals:
        """Sum up the latest samples, enough to estimate the share of losses."""
        seconds, packets, sizes, drops, marks = 0.0, 0, 0, 0, 0
        for sample in reversed(samples):
            enough = drops + marks >= FEWEST_SIGNALS and seconds >= LEAST_S - _EPSILON_S
            if enough or seconds >= LONGEST_S - _EPSILON_S:
                break
            seconds += sample.interval_s
            packets += sample.packets
            sizes += sample.bytes
            drops += sample.drops
            marks += sample.marks
        return cls(seconds, packets, sizes, drops + marks, packets + drops)

    @property
    def share(self) -> float:
        """The share of packets lost or marked; half a packet where none was, for none is known."""
        return min(1.0, max(self.signals, 0.5) / max(self.offered, 1))

    @property
    def bit_per_s(self) -> float:
        """Throughput."""
        return 8.0 * self.bytes / self.seconds if self.seconds > 0.0 else 0.0

    def doubt(self, round_trip_s: float) -> float:
        """Standard deviation of the logarithm of what the law says.

        Args:
            round_trip_s: queueing included.
        """
        counted = 0.5 * math.sqrt(_CLUSTERED / max(self.signals, 0.5))
        timeouts = math.log(1.0 + _waiting_s(self.share) * window(self.share) / round_trip_s)
        cubic = 1.054 * (round_trip_s / self.share) ** 0.75
        fewer = max(0.0, 0.5 * math.log(cubic / window(self.share)))
        return math.hypot(_LAW_DOUBT, counted, timeouts, fewer)


def _waiting_s(share: float) -> float:
    """The time that a flow waits for timeouts, for each packet it gets through.

    The second term of the formula of Padhye, Firoiu, Towsley, Kurose (SIGCOMM 1998).
    """
    waits = min(1.0, 3.0 * math.sqrt(3.0 * share / 8.0))
    return _TIMEOUT_S * waits * share * (1.0 + 32.0 * share**2)


def window(share: float) -> float:
    """The mean window in packets of a flow of which this share is lost or marked; 1 at least."""
    return max(1.0, math.sqrt(1.5 / share))


def flows_by_law(bit_per_s: float, round_trip_s: float, packet_bytes: float, share: float) -> float:
    """Number of flows that make up a rate; at least 1.

    Args:
        bit_per_s: what all of them get.
        round_trip_s: of each of them, queueing included.
        packet_bytes: the size of a packet.
        share: of the packets, lost or marked.
    """
    flows = bit_per_s * round_trip_s / (8.0 * packet_bytes * window(share))
    return min(max(1.0, flows), _MOST_FLOWS)


def round_trip_by_law(bit_per_s: float, flows: float, packet_bytes: float, share: float) -> float:
    """Round trip, queueing included, at which so many flows make up a rate."""
    return flows * 8.0 * packet_bytes * window(share) / bit_per_s


@dataclass(frozen=True, slots=True)
class Guess:
    """Flows and their base round trip where not both were measured.

    Attributes:
        flows: how many.
        flows_doubt: standard deviation of the logarithm of that.
        base_s: base round trip.
        base_doubt: standard deviation of the logarithm of that.
    """

    flows: float
    flows_doubt: float
    base_s: float
    base_doubt: float


def from_counters(signals: Signals, queueing_s: float, packet_bytes: float) -> Guess:
    """Estimate flows from counters and the prior of the round trip."""
    prior = USUAL_ROUND_TRIP
    trip_s = prior.median_s + queueing_s
    flows = flows_by_law(signals.bit_per_s, trip_s, packet_bytes, signals.share)
    # The queueing delay is measured: only the rest of the round trip is in doubt.
    trip_doubt = prior.doubt * prior.median_s / trip_s
    doubt = math.hypot(signals.doubt(trip_s), trip_doubt)
    return Guess(flows, doubt, prior.median_s, prior.doubt)


def from_flow_count(
    flows: float,
    bit_per_s: float,
    signals: Signals,
    queueing_s: float,
    packet_bytes: float,
) -> Guess:
    """Estimate the round trip from counters and flows, weighed against the prior.

    Args:
        flows: how many.
        bit_per_s: what all of them get.
        signals: drops and marks.
        queueing_s: time in the queue.
        packet_bytes: the size of a packet.
    """
    prior = USUAL_ROUND_TRIP
    trip_s = round_trip_by_law(bit_per_s, flows, packet_bytes, signals.share)
    law = signals.doubt(trip_s)
    # In a long queue most of the round trip is known, and little of what is left.
    base_s = max(trip_s - queueing_s, 0.1 * trip_s)
    law *= trip_s / base_s
    weight = law**-2 / (law**-2 + prior.doubt**-2)
    logarithm = weight * math.log(base_s) + (1.0 - weight) * math.log(prior.median_s)
    doubt = (law**-2 + prior.doubt**-2) ** -0.5
    return Guess(flows, 0.0, math.exp(logarithm), doubt)


_RECENT_S = 3.0  # over which packet size and marking are averaged
# Of a longer interval the ends say little about what was between them. A router that is asked once
# a second answers a little late now and then.
LONGEST_LEARNT_S = 1.5
_DEAF_S = 5.0  # packets pass for so long and no round trip is heard: none will be
_FLUSHED_S = 1.0  # after which a backlog that vanished while nothing moved will not come back
_SAME_GUESS = 0.2  # a guess that moves by less stays what it was
MEASURED_DOUBT = 0.05  # of round trips that were sampled
UNHEARD_DOUBT = 0.5  # of those of flows that gave no sample
COUNTED_DOUBT = 0.02  # of flows whose packets are seen
_PAUSING_DOUBT = 0.5  # of the open flows that count for nothing, so many may come back
_OPEN_DOUBT = 0.15  # of open flows whose packets nobody sees: in a short queue some are locked out
_RATE_DOUBT = 0.04  # of the rate that is measured
_APART_DOUBT = 0.02  # of a long wait: two flows of one path differ by as much
_STANDS_S = 3.0  # so long packets must wait here before a longer round trip is a longer path
_PLACE_S = 3.0  # over which it is told where packets wait
_FAIR = frozenset({"fq", "fq-codel", "fq-pie"})  # flows have queues of their own
_MOST_DOUBT = 2.0  # of a logarithm: a factor of 7; more than that is "unknown"


@dataclass(frozen=True, slots=True)
class QueueSenses:
    """Knowledge of one queue and its traffic.

    Attributes:
        history: the samples of the last two minutes, oldest first.
        reading: the router's last that makes sense; the next sample begins there.
        held: what the monitor told since then, where the counters said nothing.
        rate: the link's service rate.
        round_trips: base round trips of the flows.
        activity: what each flow moves.
        watch: what the link is doing.
        guess: what stands for what nobody measures; ``None`` where all is measured.
        deaf_s: how long packets have passed since a round trip was last sampled.
        one_in: one flow in so many is looked at; ``None`` before anybody has looked.
        familiar_s: when what flows move will tell how many there are, after another share of them
            began to be looked at; ``None`` where it tells that already.
        each_counts: so many flows each one that is counted stands for, besides ``one_in``.
        place: where packets wait.
        fair: whether flows have queues of their own here.
        picture: the traffic as it looks now; ``None`` before the first sample.
    """

    round_trips: BaseRoundTrips
    activity: FlowActivity
    history: tuple[Sample, ...] = ()
    reading: Reading | None = None
    held: Observation | None = None
    rate: ServiceRate = field(default_factory=ServiceRate)
    watch: LinkWatch = field(default_factory=LinkWatch)
    guess: Guess | None = None
    deaf_s: float = 0.0
    one_in: int | None = None
    familiar_s: float | None = None
    each_counts: float = 1.0
    place: WaitingPlace = field(default_factory=WaitingPlace)
    fair: bool = False
    picture: TrafficEstimate | None = None

    @classmethod
    def begin(cls, discipline: str = "") -> QueueSenses:
        """Nothing has been seen of a queue of this discipline."""
        return cls(BaseRoundTrips.begin(), FlowActivity(), fair=discipline in _FAIR)

    def has_restarted(self, observation: Observation) -> bool:
        """Check whether the queue's counters have fallen since it was last read."""
        before, now = self.reading, observation.reading
        return before is not None and is_a_reading(now) and fell(before, now)

    def after(self, observation: Observation) -> tuple[QueueSenses, Sample | None]:
        """Return the senses after an observation, and the sample that it ends.

        There is no sample after the first observation, where no time has passed, and where the
        counters make none: they went back, wrapped, jumped, or stand still though packets pass.
        Where they stand still, the next sample begins where this one would have.
        """
        now, before = observation.reading, self.reading
        if not is_a_reading(now):
            return self, None
        if before is None or now.time_s < before.time_s or began_anew(before, now):
            return replace(self, reading=now, held=None), None
        observation = _join_reports(self.held, observation)
        if now.time_s == before.time_s or is_frozen(before, observation):
            if now.time_s - before.time_s > _FLUSHED_S and not saw_packets(observation):
                # Nothing moves and nothing waits any more: what waited was thrown away uncounted.
                return replace(self, reading=now, held=None), None
            return replace(self, held=observation), None
        sample = Sample.between(before, observation)
        history = lengthened(self.history, sample)
        short = sample.interval_s <= LONGEST_LEARNT_S
        rate = self.rate.updated(sample) if short else self.rate
        trips = self.round_trips.with_backlog(sample.time_s, sample.backlog_bytes)
        packet_bytes = _packet_bytes(since(history, sample.time_s - _RECENT_S))
        heard, rate_bit_per_s = observation.round_trips, rate.bit_per_s
        if short and heard is not None and rate_bit_per_s is not None and packet_bytes is not None:
            trips = trips.updated(
                sample.time_s,
                sample.interval_s,
                heard,
                rate_bit_per_s,
                packet_bytes,
                rises=_stands(since(history, sample.time_s - _STANDS_S)),
                fair=self.fair,
            )
        activity, one_in, familiar_s = self.activity, self.one_in, self.familiar_s
        if observation.traffic is not None:
            if one_in not in {None, observation.traffic.one_in}:
                familiar_s = sample.time_s + activity.lately_s
                activity = FlowActivity()
            one_in = observation.traffic.one_in
            activity = activity.updated(
                sample.time_s,
                sample.interval_s,
                observation.traffic,
                observation.active_flows,
                self._usual_round_trip_s(),
            )
        familiar_s, each_counts = self._familiarity(sample, activity, one_in, familiar_s)
        watched = since(history, sample.time_s - 2.0 * SIGNALS_S)
        after = QueueSenses(
            history=history,
            reading=now,
            rate=rate,
            round_trips=trips,
            activity=activity,
            watch=self.watch.updated(watched, rate_bit_per_s, sample.active_flows),
            deaf_s=self._deaf_s(sample),
            one_in=one_in,
            familiar_s=familiar_s,
            each_counts=each_counts,
            place=self._place(history, trips, rate_bit_per_s),
            guess=self.guess,
            fair=self.fair,
        )
        held = None if familiar_s is None else self.picture
        picture, guess = after._estimate(rate_bit_per_s, packet_bytes, observation, held)
        return replace(after, guess=guess, picture=picture), sample

    def _place(
        self, history: tuple[Sample, ...], trips: BaseRoundTrips, rate_bit_per_s: float | None
    ) -> WaitingPlace:
        """Where packets wait, as far as round trips tell."""
        now_s = history[-1].time_s
        recent = since(history, now_s - _PLACE_S)
        heard = [each for each in recent if each.mean_rtt_s is not None and each.rtt_samples]
        shortest_s = trips.usual_floor_s(now_s - _PLACE_S)
        if rate_bit_per_s is None or shortest_s is None or len(heard) < len(recent) / 2.0:
            return self.place
        count = sum(each.rtt_samples or 0 for each in heard)
        mean_s = sum((each.mean_rtt_s or 0.0) * (each.rtt_samples or 0) for each in heard) / count
        # Little's law, of what really left: right for a line whose rate varies, too.
        left = sum(each.bytes for each in recent) / sum(each.interval_s for each in recent)
        waiting = sum(each.backlog_bytes for each in recent) / len(recent)
        here_s = waiting / left if left > 0.0 else 8.0 * waiting / rate_bit_per_s
        return self.place.after(now_s, here_s, mean_s, shortest_s)

    def _usual_round_trip_s(self) -> float | None:
        """A long one of the usual round trips, queueing included."""
        picture = self.picture
        if picture is None or not picture.base_rtts_s:
            return None
        queued_s = 0.0
        if picture.rate_bit_per_s is not None:
            queued_s = 8.0 * self.history[-1].backlog_bytes / picture.rate_bit_per_s
        return picture.base_rtts_s[3 * len(picture.base_rtts_s) // 4] + queued_s

    def _familiarity(
        self, sample: Sample, activity: FlowActivity, one_in: int | None, familiar_s: float | None
    ) -> tuple[float | None, float]:
        """Return when the sampled flows will be familiar, and the weight of each.

        Another choice of flows says another number, as any other choice would. That is no news of
        the traffic, so that they stand for as many as there were before. Where every flow is looked
        at, there is nothing to be guessed.

        Args:
            sample: the latest.
            activity: what each flow moves, the latest interval included.
            one_in: one flow in so many is looked at.
            familiar_s: what was known before; ``None`` where they are.
        """
        before = self.picture
        if familiar_s is None:
            return None, self.each_counts
        if before is None or before.flows == 0:
            return None, 1.0
        if sample.time_s < familiar_s:
            return familiar_s, self.each_counts
        if one_in == 1:
            return None, 1.0
        counted, _ = activity.effective()
        if counted > 0.0:
            return None, before.flows / counted
        # Packets pass, but not one of the flows that are looked at.
        return (familiar_s if sample.packets > 0 else None), self.each_counts

    def _deaf_s(self, sample: Sample) -> float:
        """Time without round-trip samples while packets passed, s."""
        if sample.rtt_samples is None or sample.rtt_samples > 0:
            return 0.0
        return self.deaf_s + (sample.interval_s if sample.packets > 0 else 0.0)

    def _estimate(
        self,
        rate_bit_per_s: float | None,
        packet_bytes: float | None,
        observation: Observation,
        held: TrafficEstimate | None,
    ) -> tuple[TrafficEstimate, Guess | None]:
        """The picture, and what in it is a guess.

        Args:
            rate_bit_per_s: the link's service rate.
            packet_bytes: the mean size of the packets forwarded lately.
            observation: the latest.
            held: the picture whose flows are still the best that is known of them, if there is one.
        """
        sample = self.history[-1]
        recent = since(self.history, sample.time_s - _RECENT_S)
        drops = sum(one.drops for one in recent)
        marks = sum(one.marks for one in recent)
        picture = TrafficEstimate(
            time_s=sample.time_s,
            flows=0,
            base_rtts_s=(),
            rate_bit_per_s=rate_bit_per_s,
            packet_bytes=packet_bytes,
            marked_share=marks / (marks + drops) if marks + drops > 0 else None,
        )
        if held is not None:
            kept = ("time_s", "rate_bit_per_s", "packet_bytes", "marked_share")
            return replace(held, **{name: getattr(picture, name) for name in kept}), self.guess
        among = None
        counted: float | None = sample.active_flows
        doubt = _OPEN_DOUBT
        if observation.traffic is not None:
            counted, among = self.activity.effective()
            unresponsive = self.activity.unresponsive_bit_per_s()
            pausing = self.activity.pausing(counted)
            doubt = COUNTED_DOUBT + _PAUSING_DOUBT * pausing / max(counted, 1.0)
            counted *= self.each_counts
            picture = replace(
                picture,
                unresponsive_bit_per_s=unresponsive,
                selective_share=self.activity.selective_share(),
                ecn_capable_share=self.activity.ecn_capable_share(),
            )
            if packet_bytes is not None:
                sizes = self.activity.packet_sizes(among, round(counted))
                if len(sizes) > 1 or (sizes and not _is_about(sizes[0][0], packet_bytes)):
                    picture = replace(picture, packet_sizes=sizes)
        elif counted is None and observation.round_trips is not None:
            counted = self.round_trips.heard_since(sample.time_s - _RECENT_S)
        if counted is not None:
            picture = replace(picture, flows=round(counted), flows_doubt=min(doubt, _MOST_DOUBT))
            if observation.round_trips is not None and self.deaf_s <= _DEAF_S:
                trips = tuple(self.round_trips.estimates(picture.flows, among))
                unheard = 1.0 - len(trips) / max(1, picture.flows)
                rtts_doubt = MEASURED_DOUBT + UNHEARD_DOUBT * unheard
                if trips and rate_bit_per_s is not None and not self.fair:
                    # What is subtracted for a long queue is wrong by the error of the rate.
                    waited = sum(one.backlog_bytes for one in recent) / len(recent)
                    waited_s = 8.0 * waited / rate_bit_per_s
                    beyond = _RATE_DOUBT * waited_s * len(trips) / sum(trips) - MEASURED_DOUBT
                    if beyond > 0.0:
                        rtts_doubt += beyond
                        trips = _told_apart(trips, _APART_DOUBT * waited_s)
                rtts_doubt = min(rtts_doubt, _MOST_DOUBT)
                return replace(picture, base_rtts_s=trips, rtts_doubt=rtts_doubt), None
        return self._guessed(picture, counted)

    def _guessed(
        self, picture: TrafficEstimate, counted: float | None
    ) -> tuple[TrafficEstimate, Guess | None]:
        """The picture where round trips are not known, or not even the number of flows."""
        signals = Signals.latest(self.history)
        picture = replace(picture, knowledge="counters" if counted is None else "flow count")
        moves = any(one.packets > 0 for one in since(self.history, picture.time_s - LEAST_S))
        if picture.packet_bytes is None or signals.bytes == 0 or not moves or counted == 0.0:
            return replace(picture, rtts_doubt=USUAL_ROUND_TRIP.doubt), None
        fresh = self._fresh_guess(picture, signals, counted)
        guess = self.guess
        if guess is None or not _agree(fresh, guess):
            guess = fresh
        flows = picture.flows if counted is not None else max(1, round(guess.flows))
        flows_doubt = picture.flows_doubt if counted is not None else guess.flows_doubt
        return (
            replace(
                picture,
                flows=flows,
                base_rtts_s=(guess.base_s,) * flows,
                flows_doubt=min(flows_doubt, _MOST_DOUBT),
                rtts_doubt=min(guess.base_doubt, _MOST_DOUBT),
            ),
            guess,
        )

    def _fresh_guess(
        self, picture: TrafficEstimate, signals: Signals, counted: float | None
    ) -> Guess:
        rate = picture.rate_bit_per_s or signals.bit_per_s
        lately = since(self.history, picture.time_s - LEAST_S)
        backlog = sum(one.backlog_bytes for one in lately) / len(lately)
        queueing_s = 8.0 * backlog / rate
        packet_bytes = picture.packet_bytes or 1.0
        if counted is None:
            return from_counters(signals, queueing_s, packet_bytes)
        # What does not slow down takes its part of what goes through.
        got = max(signals.bit_per_s - picture.unresponsive_bit_per_s, 0.01 * signals.bit_per_s)
        return from_flow_count(max(counted, 1.0), got, signals, queueing_s, packet_bytes)


def _told_apart(trips: tuple[float, ...], error_s: float) -> tuple[float, ...]:
    """Round trips whose differences are no more than what is beyond their error.

    Beside a queue of a second nobody can say that one of two flows is 30 ms farther away, and a
    model in which it is would share otherwise.
    """
    mean = fmean(trips)
    spread = fmean((each - mean) ** 2 for each in trips)
    kept = max(0.0, 1.0 - error_s**2 / spread) if spread > 0.0 else 0.0
    return tuple(mean + kept * (each - mean) for each in trips)


def _stands(samples: tuple[Sample, ...]) -> bool:
    """Check whether packets have waited all the time."""
    return bool(samples) and all(
        min(each.backlog_before_packets, each.backlog_packets) > 0 for each in samples
    )


def _packet_bytes(samples: tuple[Sample, ...]) -> float | None:
    packets = sum(sample.packets for sample in samples)
    return sum(sample.bytes for sample in samples) / packets if packets > 0 else None


def _is_about(size: float, usual: float) -> bool:
    """Check whether the size is close to the usual one."""
    return 1.0 / ONE_SIZE <= size / usual <= ONE_SIZE


def _agree(fresh: Guess, standing: Guess) -> bool:
    """Check whether a new guess is close to the standing one."""
    return (
        abs(fresh.flows - standing.flows) <= _SAME_GUESS * standing.flows
        and abs(fresh.base_s - standing.base_s) <= _SAME_GUESS * standing.base_s
    )


def _join_reports(held: Observation | None, latest: Observation) -> Observation:
    """Join the monitor's reports of consecutive intervals."""
    if held is None:
        return latest
    return replace(
        latest,
        round_trips=_joined(held.round_trips, latest.round_trips),
        traffic=_joined(held.traffic, latest.traffic),
    )


_Report = TypeVar("_Report", "RttSamples", "FlowTraffic")


def _joined(held: _Report | None, latest: _Report | None) -> _Report | None:
    """The report of both intervals; a column that one of them lacks is not known."""
    if held is None or latest is None:
        return latest
    columns: dict[str, Any] = {}
    for name in (each.name for each in fields(latest)):
        before, column = getattr(held, name), getattr(latest, name)
        if isinstance(column, np.ndarray):
            columns[name] = None if before is None else np.concatenate((before, column))
    return replace(latest, **columns)
