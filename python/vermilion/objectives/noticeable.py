"""Smallest difference that anyone would notice.

With seeds enough, any difference is significant; most are of no use to anybody. A gain is worth a
change where it is a part of what there was, and more than a floor in the objective's own unit. A
floor on delays of 1 ms would forbid every improvement in a data centre: where the shortest base
round trip is below 10 ms, the floor is a tenth of it. Likewise completion times: 10 ms, or the
shortest base round trip.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario import Scenario

NOTICEABLE_SHARE: Final = 0.05
"""Default fraction of the incumbent's value."""

SHARE_OF_GOODPUT: Final = 0.005
"""The same of what a link carries: nobody gives half a percent of it away for nothing."""

_ROUND_TRIPS_OF_A_DELAY: Final = 0.1
_ROUND_TRIPS_OF_A_TRANSFER: Final = 1.0


@dataclass(frozen=True, slots=True)
class Noticeable:
    """The smallest gain that anyone would notice.

    Attributes:
        floor: in the unit of what is measured.
        share: of what the setting in force reaches.
        round_trips: the floor is at most so many of the shortest base round trips; ``None`` where
            it has nothing to do with them.
        per_second: units per second, where it has.
    """

    floor: float
    share: float = NOTICEABLE_SHARE
    round_trips: float | None = None
    per_second: float = 1.0

    def least_gain(self, incumbent: float, share: float | None = None) -> float:
        """Return the larger of floor and share, in the metric's unit.

        Args:
            incumbent: what the setting in force reaches.
            share: of that, if another one is asked for.
        """
        return max((self.share if share is None else share) * abs(incumbent), self.floor)

    def with_round_trip(self, shortest_s: float | None) -> Noticeable:
        """The same in a network whose shortest base round trip is known, s."""
        if self.round_trips is None or shortest_s is None:
            return self
        return replace(self, floor=min(self.floor, self.round_trips * shortest_s * self.per_second))


def of_delay(floor_ms: float) -> Noticeable:
    """Smallest noticeable difference of a delay, in ms."""
    return Noticeable(floor_ms, round_trips=_ROUND_TRIPS_OF_A_DELAY, per_second=1e3)


def of_transfers(floor_s: float) -> Noticeable:
    """Smallest noticeable difference of completion times, in s."""
    return Noticeable(floor_s, round_trips=_ROUND_TRIPS_OF_A_TRANSFER)


_GOODPUT: Final = Noticeable(0.0, SHARE_OF_GOODPUT)
_RATE_OF_LOSS: Final = Noticeable(0.001)
_PACKET: Final = Noticeable(1.0)

OF_METRICS: Final[Mapping[str, Noticeable]] = {
    "utilization": Noticeable(0.005, SHARE_OF_GOODPUT),
    "drop_rate": _RATE_OF_LOSS,
    "mark_rate": _RATE_OF_LOSS,
    "loss_rate": _RATE_OF_LOSS,
    "packet_loss_rate": _RATE_OF_LOSS,
    "packets_forwarded": Noticeable(1.0, SHARE_OF_GOODPUT),
    "queue_packets": _PACKET,
    "average_queue_packets": _PACKET,
    "queue_bytes": Noticeable(1500.0),
    "sojourn_ms": of_delay(1.0),
    "delay_ms": of_delay(1.0),
    "jitter_ms": of_delay(1.0),
    "goodput_bit_per_s": Noticeable(0.0),
    "goodput_bit_per_s.total": _GOODPUT,
    "goodput_bit_per_s.mean": _GOODPUT,
    "jain_index": Noticeable(0.01, SHARE_OF_GOODPUT),
    "goodput_cov": Noticeable(0.01),
    "slowest_share": Noticeable(0.01),
    "completed": Noticeable(1.0, SHARE_OF_GOODPUT),
    "completion_time_s": of_transfers(0.01),
}
"""By a metric's name, or by its first part; one of anything that is counted and not listed."""


def of_metric(metric: str) -> Noticeable:
    """Smallest noticeable difference of a metric.

    Args:
        metric: dotted, like "sojourn_ms.p95".
    """
    return OF_METRICS.get(metric, OF_METRICS.get(metric.partition(".")[0], _PACKET))


def shortest_round_trip(scenario: Scenario) -> float | None:
    """The shortest base round trip of a scenario's flows, s; ``None`` if none has one."""
    from vermilion.scenario.round_trips import smallest

    trips = [smallest(group.rtt) for group in scenario.flows.values() if group.rtt is not None]
    return min(trips, default=None)


@dataclass(frozen=True)
class KnowsRoundTrip:
    """A part of objectives that notice the less the shorter the round trips are.

    Attributes:
        shortest_round_trip_s: without queues, of all flows; ``None`` where it is not known.
    """

    shortest_round_trip_s: float | None = field(default=None, kw_only=True, repr=False)

    def for_scenario(self, scenario: Scenario) -> Self:
        """Return the same for a scenario's round trips."""
        return replace(self, shortest_round_trip_s=shortest_round_trip(scenario))


@dataclass(frozen=True)
class NoticesDelay(KnowsRoundTrip):
    """The same of objectives that are a delay in ms."""

    noticeable: ClassVar[float] = 1.0

    @property
    def noticed(self) -> Noticeable:
        """1 ms, or a tenth of the shortest base round trip."""
        return of_delay(self.noticeable).with_round_trip(self.shortest_round_trip_s)
