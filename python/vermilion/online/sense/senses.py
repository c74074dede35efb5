"""Everything that was seen of a managed queue, and what it adds up to.

:class:`Senses` is a value: an observation makes the next one of it, and the one before stays as it
was. Nothing else tells the controller about the network.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from vermilion.online.sense.flow_activity import ONE_SIZE, FlowActivity, FlowShares, flow_shares
from vermilion.online.sense.link_state import (
    SIGNALS_S,
    Blackout,
    LinkState,
    LinkWatch,
    ServiceRate,
    WaitingPlace,
    blackout_of,
)
from vermilion.online.sense.round_trips import BaseRoundTrips
from vermilion.online.sense.sampler import Sample, began_anew, fell, is_a_reading, is_frozen
from vermilion.online.sense.square_root_law import (
    LEAST_S,
    USUAL_ROUND_TRIP,
    Guess,
    RoundTripPrior,
    Signals,
    from_counters,
    from_flow_count,
)
from vermilion.online.sense.stretch import Stretch
from vermilion.online.sense.traffic_estimate import TrafficEstimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.routers.base import FlowTraffic, Observation, Reading, RttSamples

HISTORY_S = 120.0
"""How long samples are kept."""

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
_STANDS_S = 3.0  # so long packets must wait here before a longer round trip is a longer path
_PLACE_S = 3.0  # over which it is told where packets wait
_FAIR = frozenset({"fq", "fq-codel", "fq-pie"})  # flows have queues of their own
_MOST_DOUBT = 2.0  # of a logarithm: a factor of 7; more than that is "unknown"


@dataclass(frozen=True, slots=True)
class Senses:
    """Knowledge of one queue and its traffic.

    Attributes:
        history: the samples of the last :data:`HISTORY_S`, oldest first.
        reading: the router's last that makes sense; the next sample begins there.
        held: what the monitor told since then, where the counters said nothing.
        rate: the link's service rate.
        round_trips: base round trips of the flows.
        activity: what each flow moves.
        watch: what the link is doing.
        prior: what is believed of round trips that nobody measures.
        guess: what stands for what nobody measures; ``None`` where all is measured.
        deaf_s: how long packets have passed since a round trip was last sampled.
        one_in: one flow in so many is looked at; ``None`` before anybody has looked.
        familiar_s: when what flows move will tell how many there are, after another share of them
            began to be looked at; ``None`` where it tells that already.
        each_counts: so many flows each one that is counted stands for, besides ``one_in``.
        place: where packets wait.
        fair: whether flows have queues of their own here.
    """

    round_trips: BaseRoundTrips
    activity: FlowActivity
    history: tuple[Sample, ...] = ()
    reading: Reading | None = None
    held: Observation | None = None
    rate: ServiceRate = field(default_factory=ServiceRate)
    watch: LinkWatch = field(default_factory=LinkWatch)
    prior: RoundTripPrior = USUAL_ROUND_TRIP
    guess: Guess | None = None
    deaf_s: float = 0.0
    one_in: int | None = None
    familiar_s: float | None = None
    each_counts: float = 1.0
    place: WaitingPlace = field(default_factory=WaitingPlace)
    fair: bool = False
    _picture: TrafficEstimate | None = None

    @classmethod
    def begin(cls, prior: RoundTripPrior = USUAL_ROUND_TRIP, discipline: str = "") -> Senses:
        """Nothing has been seen.

        Args:
            prior: what is believed of round trips that nobody measures.
            discipline: of the queue.
        """
        trips, activity = BaseRoundTrips.begin(), FlowActivity.begin()
        return cls(trips, activity, prior=prior, fair=discipline in _FAIR)

    def restarted(self, observation: Observation) -> frozenset[str]:
        """The queue, named "", if its counters have fallen since it was last read."""
        before, now = self.reading, observation.reading
        has = before is not None and is_a_reading(now) and fell(before, now)
        return frozenset({""} if has else ())

    def after(self, observation: Observation) -> tuple[Senses, Sample | None]:
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
            if now.time_s - before.time_s > _FLUSHED_S and not _saw_packets(observation):
                # Nothing moves and nothing waits any more: what waited was thrown away uncounted.
                return replace(self, reading=now, held=None), None
            return replace(self, held=observation), None
        sample = Sample.between(before, observation)
        oldest_s = sample.time_s - HISTORY_S
        begin = bisect_right(self.history, oldest_s + 1e-6, key=lambda kept: kept.time_s)
        history = (*self.history[begin:], sample)
        short = sample.interval_s <= LONGEST_LEARNT_S
        rate = self.rate
        if short:
            rate = rate.updated(
                sample.interval_s,
                sample.bytes,
                sample.packets,
                sample.backlog_before_packets,
                sample.backlog_packets,
            )
        trips = self.round_trips.with_backlog(sample.time_s, sample.backlog_bytes)
        packet_bytes = _packet_bytes(_since(history, sample.time_s - _RECENT_S))
        heard, rate_bit_per_s = observation.round_trips, rate.bit_per_s
        if short and heard is not None and rate_bit_per_s is not None and packet_bytes is not None:
            trips = trips.updated(
                sample.time_s,
                sample.interval_s,
                heard,
                rate_bit_per_s,
                packet_bytes,
                rises=_stands(_since(history, sample.time_s - _STANDS_S)),
                fair=self.fair,
            )
        activity, one_in, familiar_s = self.activity, self.one_in, self.familiar_s
        if observation.traffic is not None:
            if one_in not in {None, observation.traffic.one_in}:
                familiar_s = sample.time_s + activity.lately_s
                activity = FlowActivity.begin()
            one_in = observation.traffic.one_in
            activity = activity.updated(
                sample.time_s,
                sample.interval_s,
                observation.traffic,
                observation.active_flows,
                self._usual_round_trip_s(),
            )
        familiar_s, each_counts = self._familiarity(sample, activity, one_in, familiar_s)
        watched = _since(history, sample.time_s - 2.0 * SIGNALS_S)
        after = Senses(
            history=history,
            reading=now,
            held=None,
            rate=rate,
            round_trips=trips,
            activity=activity,
            watch=self.watch.updated(watched, rate_bit_per_s, sample.active_flows),
            deaf_s=self._deaf_s(sample),
            one_in=one_in,
            familiar_s=familiar_s,
            each_counts=each_counts,
            _picture=None,
            place=self._place(history, trips, rate_bit_per_s),
            prior=self.prior,
            guess=self.guess,
            fair=self.fair,
        )
        held = None if familiar_s is None else self._picture
        picture, guess = after._estimate(rate_bit_per_s, packet_bytes, observation, held)
        return replace(after, guess=guess, _picture=picture), sample

    @property
    def latest(self) -> Sample | None:
        """The last sample taken."""
        return self.history[-1] if self.history else None

    @property
    def link_state(self) -> LinkState:
        """State of the link; only a busy one may be judged or learned from."""
        return self.watch.state

    @property
    def seems_silent(self) -> bool:
        """True if the link has been silent lately, perhaps briefly."""
        return self.watch.seems_silent

    @property
    def may_be_silent(self) -> bool:
        """True if nothing leaves now; it may be an outage."""
        return self.watch.may_be_silent

    @property
    def silent_s(self) -> float:
        """Last time at which the link seemed silent."""
        return self.watch.silent_s

    @property
    def blackouts(self) -> Mapping[str, Blackout]:
        """The queue under "" while it drops every packet although none waits; else nothing."""
        found = blackout_of(self.history)
        return {} if found is None else {"": found}

    def since(self, time_s: float) -> tuple[Sample, ...]:
        """The samples whose interval ended after ``time_s``, oldest first."""
        return _since(self.history, time_s)

    def samples_since_silence(self, time_s: float) -> tuple[Sample, ...]:
        """Samples since then and since the last silence."""
        return self.since(max(time_s, self.silent_s))

    def stretch(self, time_s: float) -> Stretch | None:
        """Measurements since then; ``None`` where they are too few."""
        goodput = self.activity.goodputs_since(time_s)
        return Stretch.of(self.since(time_s), self.rate.bit_per_s, goodput)

    def picture(self) -> TrafficEstimate | None:
        """The traffic as it looks now; ``None`` before the first sample."""
        return self._picture

    def flow_shares(self, link: str = "") -> tuple[FlowShares, ...]:
        """Recent sharing of the queue among flows; none without a monitor.

        Args:
            link: which of several queues this is; "" where there is one.
        """
        shares = flow_shares(self.activity, link)
        return () if shares is None else (shares,)

    # --- what a sample adds up to ------------------------------------------------------------

    def _place(
        self, history: tuple[Sample, ...], trips: BaseRoundTrips, rate_bit_per_s: float | None
    ) -> WaitingPlace:
        """Where packets wait, as far as round trips tell."""
        now_s = history[-1].time_s
        recent = _since(history, now_s - _PLACE_S)
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
        picture, latest = self._picture, self.latest
        if picture is None or latest is None or not picture.base_rtts_s:
            return None
        queued_s = 0.0
        if picture.rate_bit_per_s is not None:
            queued_s = 8.0 * latest.backlog_bytes / picture.rate_bit_per_s
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
        before = self._picture
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
        recent = _since(self.history, sample.time_s - _RECENT_S)
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
                    rtts_doubt += max(0.0, _RATE_DOUBT * waited_s * len(trips) / sum(trips) - 0.05)
                rtts_doubt = min(rtts_doubt, _MOST_DOUBT)
                return replace(picture, base_rtts_s=trips, rtts_doubt=rtts_doubt), None
        return self._guessed(picture, counted)

    def _guessed(
        self, picture: TrafficEstimate, counted: float | None
    ) -> tuple[TrafficEstimate, Guess | None]:
        """The picture where round trips are not known, or not even the number of flows."""
        signals = Signals.latest(self.history)
        picture = replace(picture, knowledge="counters" if counted is None else "flow count")
        moves = any(one.packets > 0 for one in _since(self.history, picture.time_s - LEAST_S))
        if picture.packet_bytes is None or signals.bytes == 0 or not moves or counted == 0.0:
            return replace(picture, rtts_doubt=self.prior.doubt), None
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
        lately = _since(self.history, picture.time_s - LEAST_S)
        backlog = sum(one.backlog_bytes for one in lately) / len(lately)
        queueing_s = 8.0 * backlog / rate
        packet_bytes = picture.packet_bytes or 1.0
        if counted is None:
            return from_counters(signals, queueing_s, packet_bytes, self.prior)
        # What does not slow down takes its part of what goes through.
        got = max(signals.bit_per_s - picture.unresponsive_bit_per_s, 0.01 * signals.bit_per_s)
        return from_flow_count(
            max(counted, 1.0), got, signals, queueing_s, packet_bytes, self.prior
        )


def _stands(samples: tuple[Sample, ...]) -> bool:
    """Check whether packets have waited all the time."""
    return bool(samples) and all(
        min(each.backlog_before_packets, each.backlog_packets) > 0 for each in samples
    )


def _since(history: tuple[Sample, ...], time_s: float) -> tuple[Sample, ...]:
    return history[bisect_right(history, time_s, key=lambda sample: sample.time_s) :]


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


def _saw_packets(observation: Observation) -> bool:
    """Check whether the monitor saw packets."""
    return observation.traffic is not None and int(observation.traffic.packets.sum()) > 0


def _join_reports(held: Observation | None, latest: Observation) -> Observation:
    """Join the monitor's reports of consecutive intervals."""
    if held is None:
        return latest
    return replace(
        latest,
        round_trips=_joined_trips(held.round_trips, latest.round_trips),
        traffic=_joined_traffic(held.traffic, latest.traffic),
    )


def _joined_trips(held: RttSamples | None, latest: RttSamples | None) -> RttSamples | None:
    import numpy as np

    if held is None or latest is None:
        return latest
    return replace(
        latest,
        flows=np.concatenate((held.flows, latest.flows)),
        seconds=np.concatenate((held.seconds, latest.seconds)),
    )


def _joined_traffic(held: FlowTraffic | None, latest: FlowTraffic | None) -> FlowTraffic | None:
    import numpy as np

    if held is None or latest is None:
        return latest

    def joined(
        one: NDArray[np.bool_] | None, other: NDArray[np.bool_] | None
    ) -> NDArray[np.bool_] | None:
        return None if one is None or other is None else np.concatenate((one, other))

    return replace(
        latest,
        flows=np.concatenate((held.flows, latest.flows)),
        packets=np.concatenate((held.packets, latest.packets)),
        bytes=np.concatenate((held.bytes, latest.bytes)),
        responsive=np.concatenate((held.responsive, latest.responsive)),
        selective=joined(held.selective, latest.selective),
        ecn_capable=joined(held.ecn_capable, latest.ecn_capable),
    )
