"""Sequential tests: when does a stream of observations say "something changed"?

Two tests, each sound for its kind of stream. :class:`Persistence` is for quantities that
are exact but flicker (a flow count): outside the tolerance several times in a row. The
cumulative sum (E. S. Page, "Continuous inspection schemes", Biometrika 41, 1954) is for
noisy ones (a backlog): it adds up what exceeds a slack and alarms at a threshold, so that a
large shift is noticed quickly and a small one eventually, while noise around the reference
drains away.

Noticing, from observations alone, that the network is no longer what the model says.

Four watchers, each with the sequential test that suits its quantity:

========== ===================================== =========================================
watcher    quantity                              test
========== ===================================== =========================================
flows      active flows (exact)                  10 % off, 3 samples in a row
round trip distribution of base round trips      20 % of a round trip apart, 5 in a row
rate       service rate measured while busy      4 % off, 2 in a row (the estimator itself
                                                 waits for evidence before it moves)
queue      mean backlog per second               two-sided cumulative sum against the model
========== ===================================== =========================================

The first three see a change of conditions. The fourth sees that the model is wrong without
saying why; it is what remains when something changed that no router exports. Where flows or round
trips are only estimated, tolerances are at least twice the doubt.

Of several queues each one's traffic is watched as it would be if it were alone; what one of them
notices concerns all, because their model is one.

Whether a setting locks flows out of the network, more of them than its model allows.

A queue that hardly moves can be had by refusing some flows for good: their packets are dropped when
they come back from a timeout, and every timeout is twice as long as the one before. A model that
starts all its flows at an empty queue sees less of this than a network in which they come one after
the other. So starved flows are counted on the network too, over stretches as long as the model's,
and a setting goes where they are far more than the bound of harm allows.

What is far more was measured: 64 NewReno flows behind 10 Mbit/s and RED as published have 0 to 9
starved ones in a stretch of 10 s, by chance alone, and 2 to 3 on average.

Jain's index is bounded in the model only: where paths or senders are unequal it is low whatever the
queue does, and only a comparison under both settings could tell whose fault that is.

Loads that change faster than they can be answered.

On a radio link, or under traffic that comes and goes every few seconds, every answer is for
conditions that have passed when it is in force. Who chases them changes the router all the time and
is always late. So where conditions have changed often within a minute, one setting is sought for
all that were met in it, and what stays within their span is no change any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from vermilion.online.sense.stretch import STARVED_SHARE
from vermilion.online.sense.traffic_estimate import SetEstimate, round_trip_distance
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.sense.sampler import Sample
    from vermilion.online.sense.senses import Senses
    from vermilion.online.sense.traffic_estimate import TrafficEstimate


@dataclass(frozen=True, slots=True)
class Persistence:
    """True once a condition has held for a number of observations in a row.

    A value: every observation makes the next one.

    Attributes:
        hold: how many, at least 1.
        run: for how many it has held so far.
    """

    hold: int
    run: int = 0

    def after(self, *, outside: bool) -> Persistence:
        """The test after one more observation."""
        return replace(self, run=self.run + 1 if outside else 0)

    @property
    def alarmed(self) -> bool:
        """True once the condition has held long enough."""
        return self.run >= self.hold


@dataclass(frozen=True, slots=True)
class TwoSidedCusum:
    """Page's cumulative sum test for a shift of the mean, up or down.

    For independent normal observations of standard deviation s, slack 0.75 s and threshold
    6 s give one false alarm in about 20,000 observations, and notice a shift of 2 s after
    about 5 (Siegmund's approximation, *Sequential Analysis*, 1985).

    A value: every observation makes the next one.

    Attributes:
        reference: the mean expected.
        slack: the deviation from it that is tolerated, at least 0.
        threshold: the alarm's level, above 0.
        above: what has exceeded the slack upwards and not drained away.
        below: the same downwards.
    """

    reference: float
    slack: float
    threshold: float
    above: float = 0.0
    below: float = 0.0

    def after(self, observation: float) -> tuple[TwoSidedCusum, Literal["above", "below"] | None]:
        """The test after one observation, and which way the mean has shifted, if it has.

        With an alarm the sums begin anew.
        """
        excess = observation - self.reference
        above = max(0.0, self.above + excess - self.slack)
        below = max(0.0, self.below - excess - self.slack)
        if max(above, below) <= self.threshold:
            return replace(self, above=above, below=below), None
        direction: Literal["above", "below"] = "above" if above > below else "below"
        return replace(self, above=0.0, below=0.0), direction


Watcher: TypeAlias = Literal["flows", "round-trip", "rate", "queue"]

FLOW_TOLERANCE = 0.10
"""Relative change of the number of flows that is not worth a new model."""
ROUND_TRIP_TOLERANCE = 0.20
"""Distance of two round-trip distributions (share of a round trip) that is not, either."""
RATE_TOLERANCE = 0.04
"""Relative change of the service rate that is not, either."""

_FLOW_HOLD = 3
_ROUND_TRIP_HOLD = 5
_RATE_HOLD = 2
_BATCH_S = 1.0
_LEAST_SLACK = 0.10  # of the target: smaller errors are the outer correction's business
_SLACK_SD = 0.75
_THRESHOLD_SD = 6.0
_LEAST_THRESHOLD = 0.5  # of the target, times one second


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something changed.

    Attributes:
        watcher: who noticed.
        reason: what was seen, in words and numbers.
        details: the numbers of the reason, for the journal.
    """

    watcher: Watcher
    reason: str
    details: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConditionWatch:
    """Compares the traffic now with the traffic a model was built for.

    A value: every picture makes the next one.

    Attributes:
        modelled: the picture the model in use was built from.
        queueing_s: the usual queueing delay (length that the goal is about, over service rate).
        flows: the test of the number of flows.
        round_trips: the test of the round trips.
        rate: the test of the service rate.
        queues: of several queues (link, the watch of its traffic), in the order of the picture's
            parts; empty for one.
    """

    modelled: TrafficEstimate
    queueing_s: float
    flows: Persistence = field(default_factory=lambda: Persistence(_FLOW_HOLD))
    round_trips: Persistence = field(default_factory=lambda: Persistence(_ROUND_TRIP_HOLD))
    rate: Persistence = field(default_factory=lambda: Persistence(_RATE_HOLD))
    queues: tuple[tuple[str, ConditionWatch], ...] = ()

    def after(self, now: TrafficEstimate) -> tuple[ConditionWatch, Alarm | None]:
        """The watch after the picture of one more sample, and what has changed, if it has."""
        if self.queues:
            return self._after_all(now)
        then = self.modelled
        tolerance = max(FLOW_TOLERANCE, 2.0 * max(then.flows_doubt, now.flows_doubt))
        flows = self.flows.after(outside=abs(now.flows - then.flows) > tolerance * then.flows)
        apart = round_trip_distance(now, then, self.queueing_s)
        tolerance = max(ROUND_TRIP_TOLERANCE, 2.0 * max(then.rtts_doubt, now.rtts_doubt))
        round_trips = self.round_trips.after(outside=apart > tolerance)
        rate = self.rate.after(outside=_rate_has_moved(then, now))
        watch = replace(self, flows=flows, round_trips=round_trips, rate=rate)
        if rate.alarmed:
            return watch, _rate_alarm(then, now)
        if flows.alarmed:
            have = "has" if then.flows == 1 else "have"
            reason = f"{how_many(then.flows, 'flow')} {have} become {now.flows}"
            return watch, Alarm(
                "flows", reason, {"flows_before": then.flows, "flows_now": now.flows}
            )
        if round_trips.alarmed:
            return watch, _round_trip_alarm(then, now, apart)
        return watch, None

    def _after_all(self, now: TrafficEstimate) -> tuple[ConditionWatch, Alarm | None]:
        """The same of several queues: what one of them notices concerns all."""
        looks = [
            (link, *watch.after(part))
            for (link, watch), part in zip(self.queues, now.parts, strict=True)
        ]
        watch = replace(self, queues=tuple((link, following) for link, following, _ in looks))
        for link, _, alarm in looks:
            if alarm is not None:
                reason, details = f"{link}: {alarm.reason}", {"link": link, **alarm.details}
                return watch, replace(alarm, reason=reason, details=details)
        found = [
            link
            for (link, _), then, part in zip(
                self.queues, self.modelled.parts, now.parts, strict=True
            )
            if part.has_rate and not then.has_rate
        ]
        if not found:
            return watch, None
        reason = f"the rate of {', '.join(found)} has become known"
        return watch, Alarm("rate", reason, {"links": found})


def _rate_has_moved(then: TrafficEstimate, now: TrafficEstimate) -> bool:
    if then.rate_bit_per_s is None or now.rate_bit_per_s is None:
        return False
    moved = abs(now.rate_bit_per_s - then.rate_bit_per_s)
    return moved > RATE_TOLERANCE * then.rate_bit_per_s


def _rate_alarm(then: TrafficEstimate, now: TrafficEstimate) -> Alarm:
    rates = [0.0 if each.rate_bit_per_s is None else each.rate_bit_per_s for each in (then, now)]
    return Alarm(
        "rate",
        f"the service rate has gone from {rates[0] / 1e6:.4g} to {rates[1] / 1e6:.4g} Mbit/s",
        {"rate_before_bit_per_s": rates[0], "rate_now_bit_per_s": rates[1]},
    )


def _round_trip_alarm(then: TrafficEstimate, now: TrafficEstimate, apart: float) -> Alarm:
    before, after = (sum(each.base_rtts_s) / len(each.base_rtts_s) for each in (then, now))
    return Alarm(
        "round-trip",
        f"base round trips have moved by {apart:.0%} of a round trip: mean "
        f"{before * 1e3:.0f} ms has become {after * 1e3:.0f} ms",
        {
            "round_trips_apart_share": apart,
            "mean_round_trip_before_s": before,
            "mean_round_trip_now_s": after,
        },
    )


@dataclass(frozen=True, slots=True)
class QueueWatch:
    """Compares the backlog with what the model predicted for the setting in force.

    A value: every sample makes the next one.

    Attributes:
        test: the cumulative sum of the seconds' means.
        area: backlog times time of the second that is not full yet, packets times seconds.
        seconds: how much of it has passed.
    """

    test: TwoSidedCusum
    area: float = 0.0
    seconds: float = 0.0

    @classmethod
    def begin(cls, predicted_mean: float, noise: float, scale: float) -> QueueWatch:
        """Start watching.

        Args:
            predicted_mean: the model's mean backlog, in packets.
            noise: how far a second's mean backlog strays by chance, in packets
                (:func:`vermilion.online.model.prediction.queue_noise`).
            scale: the length of queue the goal is about, in packets: the measure of what matters.
        """
        return cls(
            TwoSidedCusum(
                reference=predicted_mean,
                slack=max(_LEAST_SLACK * scale, _SLACK_SD * noise),
                threshold=max(_LEAST_THRESHOLD * scale, _THRESHOLD_SD * noise),
            )
        )

    def after_silence(self, sample: Sample) -> QueueWatch:
        """The watch after a sample in which nothing left: a second that ends so does not count."""
        seconds = self.seconds + sample.interval_s
        if seconds > _BATCH_S - 1e-6:
            return QueueWatch(self.test)
        area = self.area + sample.backlog_packets * sample.interval_s
        return replace(self, area=area, seconds=seconds)

    def after(self, sample: Sample) -> tuple[QueueWatch, Alarm | None]:
        """The watch after one sample; alarms are given at the end of a batch of one second."""
        area = self.area + sample.backlog_packets * sample.interval_s
        seconds = self.seconds + sample.interval_s
        if seconds < _BATCH_S - 1e-6:
            return replace(self, area=area, seconds=seconds), None
        batch = area / seconds
        test, shifted = self.test.after(batch)
        watch = QueueWatch(test)
        if shifted is None:
            return watch, None
        return watch, Alarm(
            "queue",
            f"the queue has drifted {shifted} the {test.reference:.1f} packets predicted, "
            f"to {batch:.1f} in the last second",
            {"predicted_mean_queue_packets": test.reference, "mean_queue_packets": batch},
        )


def watch_of(picture: TrafficEstimate, queueing_s: float) -> ConditionWatch:
    """A watch that compares the traffic with this picture from now on.

    Args:
        picture: of one queue, or of several.
        queueing_s: the usual queueing delay.
    """
    queues = picture.queues if isinstance(picture, SetEstimate) else ()
    watches = tuple((link, ConditionWatch(part, queueing_s)) for link, part in queues)
    return ConditionWatch(picture, queueing_s, queues=watches)


STRETCHES = 3
"""Successive stretches that must all have too many: a flow that waits for one timeout is none."""

_BY_CHANCE = 0.15  # of the flows

_EPSILON_S = 1e-6


@dataclass(frozen=True, slots=True)
class StarvationWatch:
    """The starved flows of successive stretches under one setting.

    Attributes:
        most: how many may starve on average, by the bound of harm in the model.
        over_s: length of a stretch, which is the model's.
        since_s: when the present one began.
        counts: starved flows of the last stretches.
    """

    most: float
    over_s: float
    since_s: float
    counts: tuple[int, ...] = ()

    def after(self, senses: Senses, now_s: float) -> tuple[StarvationWatch, str, dict[str, object]]:
        """The watch after a sample, what is wrong in words ("" for nothing), and the numbers."""
        if now_s - self.since_s < self.over_s - _EPSILON_S:
            return self, "", {}
        starved = senses.starved_since(self.since_s)
        watch = replace(self, since_s=now_s)
        if starved is None:
            return watch, "", {}
        watch = replace(watch, counts=(*self.counts, starved)[-STRETCHES:])
        allowed = self.most + _BY_CHANCE * (senses.open_flows or 0)
        if len(watch.counts) < STRETCHES or min(watch.counts) <= allowed:
            return watch, "", {}
        *others, last = watch.counts
        counted = f"{', '.join(map(str, others))} and {last}"
        words = (
            f"in {len(watch.counts)} stretches of {self.over_s:.0f} s, {counted} flows "
            f"got less than 5 % of the mean share; the bound allows {self.most:.1f}, and "
            f"{allowed - self.most:.1f} more may be chance"
        )
        numbers: dict[str, object] = {
            "stretches": len(watch.counts),
            "stretch_s": self.over_s,
            "starved_flows": list(watch.counts),
            "starved_below_share": STARVED_SHARE,
            "starved_flows_allowed": self.most,
            "starved_flows_by_chance": allowed - self.most,
        }
        return watch, words, numbers


WITHIN_S = 60.0
"""Over which changes are counted."""

OFTEN = 4
"""Changes within that time from which on conditions count as fluctuating: one every quarter of a
minute, while an answer, its observation and its refinement take about ten seconds."""

CALM_S = 30.0
"""Conditions that have not changed for so long no longer fluctuate."""

_VARYING = 1.1  # times the least rate
_SLACK = 0.15  # share by which conditions may leave the span of those met


@dataclass(frozen=True, slots=True)
class Fluctuation:
    """Recent changes of the operating conditions, and their range.

    A value: every change makes the next one.

    Attributes:
        changes_s: when they changed, of the last minute, ascending.
        met: what they were while they fluctuated; empty while they do not.
    """

    changes_s: tuple[float, ...] = ()
    met: tuple[TrafficEstimate, ...] = ()

    @property
    def lasts(self) -> bool:
        """True while one setting is sought for all recent conditions."""
        return bool(self.met)

    @property
    def is_of_the_line(self) -> bool:
        """True while it is the rate of a line that changes."""
        rates = [rate for each in self.met for part in each.parts if (rate := _rate(part)) > 0.0]
        return bool(rates) and max(rates) > _VARYING * min(rates)

    @property
    def usual_s(self) -> float:
        """Mean time between recent changes; 0 while unknown."""
        if len(self.changes_s) < 2:  # noqa: PLR2004 - a change and the next
            return 0.0
        return (self.changes_s[-1] - self.changes_s[0]) / (len(self.changes_s) - 1)

    def changed(self, now_s: float) -> Fluctuation:
        """After one more change."""
        lately = tuple(time_s for time_s in self.changes_s if time_s > now_s - WITHIN_S)
        return replace(self, changes_s=(*lately, now_s))

    def with_conditions(self, pictures: Sequence[TrafficEstimate]) -> Fluctuation:
        """Once a model is due: whether it has to be one of all these conditions.

        Args:
            pictures: the conditions of the last models and of this one, oldest first.
        """
        if len(self.changes_s) < OFTEN and not self.lasts:
            return self
        return replace(self, met=tuple(pictures))

    def calmed(self, now_s: float) -> Fluctuation:
        """After a look at the clock: nothing has changed for a while."""
        if not self.lasts or (self.changes_s and now_s - self.changes_s[-1] < CALM_S):
            return self
        return Fluctuation()

    def spans(self, picture: TrafficEstimate) -> bool:
        """Check whether these conditions lie within the range seen."""
        return self.lasts and all(
            _within(of(part), [of(each.parts[place]) for each in self.met])
            for place, part in enumerate(picture.parts)
            for of in (_flows, _rate, _round_trip)
        )


def _flows(picture: TrafficEstimate) -> float:
    return float(picture.flows)


def _rate(picture: TrafficEstimate) -> float:
    return picture.rate_bit_per_s or 0.0


def _round_trip(picture: TrafficEstimate) -> float:
    trips = picture.base_rtts_s
    return sum(trips) / len(trips) if trips else 0.0


def _within(value: float, met: Sequence[float]) -> bool:
    return min(met) / (1.0 + _SLACK) <= value <= max(met) * (1.0 + _SLACK)
