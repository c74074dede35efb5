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
saying why; it is what remains when something changed that no router exports. (A fifth name,
"setting", stands for parameters that somebody else has changed; the loop sees those itself.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from vermilion.online.decide.sequential import Persistence, TwoSidedCusum
from vermilion.online.sense.picture import round_trip_distance

if TYPE_CHECKING:
    from vermilion.online.sense.picture import TrafficPicture
    from vermilion.online.sense.sampler import Sample

Watcher: TypeAlias = Literal["flows", "round-trip", "rate", "queue", "setting"]

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
    """

    time_s: float
    watcher: Watcher
    reason: str


class ConditionWatch:
    """Compares the traffic now with the traffic a model was built for."""

    def __init__(self, modelled: TrafficPicture, queueing_s: float) -> None:
        """Start watching.

        Args:
            modelled: the picture the model in use was built from.
            queueing_s: the wanted queueing delay (target over service rate).
        """
        self._modelled = modelled
        self._queueing_s = queueing_s
        self._flows = Persistence(_FLOW_HOLD)
        self._round_trips = Persistence(_ROUND_TRIP_HOLD)
        self._rate = Persistence(_RATE_HOLD)

    def update(self, now: TrafficPicture) -> Alarm | None:
        """Take in the picture after one more sample."""
        return self._check_rate(now) or self._check_flows(now) or self._check_round_trips(now)

    def _check_flows(self, now: TrafficPicture) -> Alarm | None:
        then = self._modelled.flows
        outside = abs(now.flows - then) > FLOW_TOLERANCE * then
        if not self._flows.update(outside=outside):
            return None
        return Alarm(now.time_s, "flows", f"{then} flows have become {now.flows}")

    def _check_rate(self, now: TrafficPicture) -> Alarm | None:
        then, rate = self._modelled.rate_bit_per_s, now.rate_bit_per_s
        if then is None or rate is None:
            return None
        outside = abs(rate - then) > RATE_TOLERANCE * then
        if not self._rate.update(outside=outside):
            return None
        return Alarm(
            now.time_s,
            "rate",
            f"the service rate has gone from {then / 1e6:.4g} to {rate / 1e6:.4g} Mbit/s",
        )

    def _check_round_trips(self, now: TrafficPicture) -> Alarm | None:
        apart = round_trip_distance(now, self._modelled, self._queueing_s)
        if not self._round_trips.update(outside=apart > ROUND_TRIP_TOLERANCE):
            return None
        mean_then = sum(self._modelled.base_rtts_s) / len(self._modelled.base_rtts_s)
        mean_now = sum(now.base_rtts_s) / len(now.base_rtts_s)
        return Alarm(
            now.time_s,
            "round-trip",
            f"base round trips have moved by {apart:.0%} of a round trip: mean "
            f"{mean_then * 1e3:.0f} ms has become {mean_now * 1e3:.0f} ms",
        )


class QueueWatch:
    """Compares the backlog with what the model predicted for the setting in force."""

    def __init__(self, predicted_mean: float, noise: float, target: float) -> None:
        """Start watching.

        Args:
            predicted_mean: the model's mean backlog, in packets.
            noise: how far a second's mean backlog strays by chance, in packets
                (:func:`vermilion.online.model.prediction.queue_noise`).
            target: the operator's target, in packets: the measure of what matters.
        """
        self._test = TwoSidedCusum(
            reference=predicted_mean,
            slack=max(_LEAST_SLACK * target, _SLACK_SD * noise),
            threshold=max(_LEAST_THRESHOLD * target, _THRESHOLD_SD * noise),
        )
        self._area = 0.0
        self._seconds = 0.0

    def update(self, sample: Sample) -> Alarm | None:
        """Take in one sample; alarms are given at the end of a batch of one second."""
        self._area += sample.backlog_packets * sample.interval_s
        self._seconds += sample.interval_s
        if self._seconds < _BATCH_S - 1e-6:
            return None
        batch = self._area / self._seconds
        self._area = self._seconds = 0.0
        shifted = self._test.update(batch)
        if shifted is None:
            return None
        return Alarm(
            sample.time_s,
            "queue",
            f"the queue has drifted {shifted} the {self._test.reference:.1f} packets the model "
            f"predicted: {batch:.1f} in the last second",
        )
