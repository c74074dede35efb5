"""Noticing, from observations alone, that the network is no longer what the model says.

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
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from vermilion.online.decide.sequential import Persistence, TwoSidedCusum
from vermilion.online.sense.picture import round_trip_distance
from vermilion.scenario.how_many import how_many

if TYPE_CHECKING:
    from vermilion.online.sense.picture import TrafficPicture
    from vermilion.online.sense.sampler import Sample

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
        time_s: when it was noticed.
        watcher: who noticed.
        reason: what was seen, in words and numbers.
        details: the numbers of the reason, for the journal.
    """

    time_s: float
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
    """

    modelled: TrafficPicture
    queueing_s: float
    flows: Persistence = field(default_factory=lambda: Persistence(_FLOW_HOLD))
    round_trips: Persistence = field(default_factory=lambda: Persistence(_ROUND_TRIP_HOLD))
    rate: Persistence = field(default_factory=lambda: Persistence(_RATE_HOLD))

    def after(self, now: TrafficPicture) -> tuple[ConditionWatch, Alarm | None]:
        """The watch after the picture of one more sample, and what has changed, if it has."""
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
                now.time_s, "flows", reason, {"flows_before": then.flows, "flows_now": now.flows}
            )
        if round_trips.alarmed:
            return watch, _round_trip_alarm(then, now, apart)
        return watch, None


def _rate_has_moved(then: TrafficPicture, now: TrafficPicture) -> bool:
    if then.rate_bit_per_s is None or now.rate_bit_per_s is None:
        return False
    moved = abs(now.rate_bit_per_s - then.rate_bit_per_s)
    return moved > RATE_TOLERANCE * then.rate_bit_per_s


def _rate_alarm(then: TrafficPicture, now: TrafficPicture) -> Alarm:
    rates = [0.0 if each.rate_bit_per_s is None else each.rate_bit_per_s for each in (then, now)]
    return Alarm(
        now.time_s,
        "rate",
        f"the service rate has gone from {rates[0] / 1e6:.4g} to {rates[1] / 1e6:.4g} Mbit/s",
        {"rate_before_bit_per_s": rates[0], "rate_now_bit_per_s": rates[1]},
    )


def _round_trip_alarm(then: TrafficPicture, now: TrafficPicture, apart: float) -> Alarm:
    before, after = (sum(each.base_rtts_s) / len(each.base_rtts_s) for each in (then, now))
    return Alarm(
        now.time_s,
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
            sample.time_s,
            "queue",
            f"the queue has drifted {shifted} the {test.reference:.1f} packets the model "
            f"predicted, to {batch:.1f} in the last second",
            {"predicted_mean_queue_packets": test.reference, "mean_queue_packets": batch},
        )
