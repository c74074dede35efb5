"""Every flow's base round-trip time, from samples that include queueing.

A sample is base round trip + time in this queue + one transmission. The time in the queue
is not exported per packet, but the backlog is, and backlog over service rate is the delay
of a packet that arrives then. A single difference is off by the queue's movement between
two readings. So a flow's estimate is the median of its last ten intervals' differences,
weighted by how little the queue moved in each: an interval in which the queue stood still
says more than one in which it doubled.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vermilion.routers.base import RttSamples

_INTERVALS_KEPT = 10  # intervals with samples per flow: about 1 s at 100 ms
_BACKLOGS_KEPT = 100  # readings: 10 s, longer than any round trip worth modelling
_FORGET_S = 10.0  # a flow silent for longer (a backed-off timer lasts seconds) has gone
_SHORTEST_S = 1e-6  # a base round trip is above 0 whatever the noise says
_STILL_S = 2e-3  # a movement of the queueing delay below this is as good as none


@dataclass(slots=True)
class _Flow:
    last_seen_s: float
    # (base round trip, weight) and the shortest sample, one per interval
    base_s: deque[tuple[float, float]] = field(
        default_factory=lambda: deque(maxlen=_INTERVALS_KEPT)
    )
    shortest_s: deque[float] = field(default_factory=lambda: deque(maxlen=_INTERVALS_KEPT))
    estimate_s: float | None = None  # once worked out from these, until the next sample

    def estimate(self) -> float:
        """The base round trip: no sample can be shorter, a bound on what the median says."""
        if self.estimate_s is None:
            self.estimate_s = max(_SHORTEST_S, min(_weighted_median(self.base_s), *self.shortest_s))
        return self.estimate_s


class BaseRoundTrips:
    """Estimates of base round-trip times, one per flow seen lately."""

    def __init__(self) -> None:
        self._flows: dict[int, _Flow] = {}
        self._backlogs: deque[tuple[float, float]] = deque(maxlen=_BACKLOGS_KEPT)

    def note_backlog(self, time_s: float, backlog_bytes: float) -> None:
        """Remember what was waiting at ``time_s``; call before ``update``."""
        self._backlogs.append((time_s, backlog_bytes))

    def update(
        self,
        time_s: float,
        interval_s: float,
        samples: RttSamples,
        rate_bit_per_s: float,
        packet_bytes: float,
    ) -> None:
        """Take in the samples of the interval that ended at ``time_s``.

        Args:
            time_s: the interval's end.
            interval_s: its length.
            samples: what the passive monitor saw during it.
            rate_bit_per_s: the link's service rate.
            packet_bytes: the size of a packet.
        """
        import numpy as np

        if len(samples.flows) > 0 and self._backlogs:
            transmission_s = 8.0 * packet_bytes / rate_bit_per_s
            history = np.array(self._backlogs)
            delays = 8.0 * history[:, 1] / rate_bit_per_s
            flows, positions = np.unique(samples.flows, return_inverse=True)
            counts = np.bincount(positions)
            means = np.bincount(positions, weights=samples.seconds) / counts
            shortest = np.full(len(flows), np.inf)
            np.minimum.at(shortest, positions, samples.seconds)
            # The packet was in this queue about half a base round trip before its
            # acknowledgement passed the monitor, which was mid-interval on average.
            half_base = np.maximum(means - delays[-1], 0.0) / 2.0
            queued = time_s - interval_s / 2.0 - half_base
            waited = np.interp(queued, history[:, 0], delays)
            before = np.interp(queued - interval_s / 2.0, history[:, 0], delays)
            after = np.interp(queued + interval_s / 2.0, history[:, 0], delays)
            bases = means - waited - transmission_s
            weights = 1.0 / (_STILL_S + np.abs(after - before))
            for flow, base, weight, least in zip(
                flows.tolist(), bases.tolist(), weights.tolist(), shortest.tolist(), strict=True
            ):
                known = self._flows.setdefault(flow, _Flow(time_s))
                known.last_seen_s = time_s
                known.base_s.append((base, weight))
                known.shortest_s.append(least - transmission_s)
                known.estimate_s = None
        self._forget(time_s)

    def estimates(self, most: int) -> list[float]:
        """Base round trips in s of the flows seen last, ``most`` at most, ascending.

        A flow that ended is not seen again, so where more are known than are active the ones
        seen longest ago are the ones that ended.
        """
        latest = sorted(self._flows.values(), key=lambda known: -known.last_seen_s)[:most]
        return sorted(known.estimate() for known in latest)

    def _forget(self, time_s: float) -> None:
        gone = [f for f, known in self._flows.items() if time_s - known.last_seen_s > _FORGET_S]
        for flow in gone:
            del self._flows[flow]


def _weighted_median(weighted: Iterable[tuple[float, float]]) -> float:
    """The value that splits the total weight of (value, weight) pairs in half."""
    ascending = sorted(weighted)
    half = 0.0
    for _, weight in ascending:
        half += weight
    half /= 2.0
    passed = 0.0
    for value, weight in ascending:
        passed += weight
        if passed >= half:
            return value
    return ascending[-1][0]
