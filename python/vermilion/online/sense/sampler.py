"""One :class:`Sample` per interval, from the differences between a router's counters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.routers.base import ManagedQueue, Reading, RttSamples

SAMPLE_INTERVAL_S = 0.1
"""Time between two readings."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What happened in one interval.

    Attributes:
        time_s: the interval's end, in the network's time.
        interval_s: its length.
        backlog_before_packets: packets waiting at its beginning.
        backlog_packets: packets waiting at its end.
        backlog_bytes: bytes waiting at its end.
        packets: packets forwarded during it.
        bytes: bytes forwarded during it.
        drops: packets dropped during it.
        marks: packets marked during it.
        active_flows: flows that had begun and not ended, at its end.
        heard_flows: flows of which a round trip was sampled during it; the others waited for
            a timeout, or for a round trip longer than the interval.
        rtt_samples: round-trip samples taken during it.
        mean_rtt_s: their mean, queueing included; ``None`` without samples.
    """

    time_s: float
    interval_s: float
    backlog_before_packets: int
    backlog_packets: int
    backlog_bytes: int
    packets: int
    bytes: int
    drops: int
    marks: int
    active_flows: int
    heard_flows: int
    rtt_samples: int
    mean_rtt_s: float | None


class Sampler:
    """Reads a router and tells what happened since the last reading."""

    def __init__(self, router: ManagedQueue) -> None:
        self._router = router
        self._previous: Reading | None = None

    def take(self) -> tuple[Sample, RttSamples] | None:
        """The interval since the last reading, and the round trips sampled in it.

        ``None`` for the first reading, when no time has passed, and when a counter went
        backwards (the router restarted): such an interval says nothing.
        """
        import numpy as np

        now = self._router.read()
        trips = self._router.rtt_samples()
        before, self._previous = self._previous, now
        if before is None or now.time_s <= before.time_s or _went_backwards(before, now):
            return None
        sample = Sample(
            time_s=now.time_s,
            interval_s=now.time_s - before.time_s,
            backlog_before_packets=before.backlog_packets,
            backlog_packets=now.backlog_packets,
            backlog_bytes=now.backlog_bytes,
            packets=now.forwarded_packets - before.forwarded_packets,
            bytes=now.forwarded_bytes - before.forwarded_bytes,
            drops=now.drops - before.drops,
            marks=now.marks - before.marks,
            active_flows=self._router.active_flows(),
            heard_flows=len(np.unique(trips.flows)),
            rtt_samples=len(trips.seconds),
            mean_rtt_s=float(trips.seconds.mean()) if len(trips.seconds) > 0 else None,
        )
        return sample, trips


def _went_backwards(before: Reading, now: Reading) -> bool:
    return (
        now.forwarded_packets < before.forwarded_packets
        or now.forwarded_bytes < before.forwarded_bytes
        or now.drops < before.drops
        or now.marks < before.marks
    )
