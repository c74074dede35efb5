"""Watching a managed queue: a bounded memory of samples, and what they add up to.

The monitor asks a router only for what every router can export (its counters) and what a
passive monitor beside it can add (the number of flows, round-trip samples). Everything the
controller knows about the network comes through here.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from vermilion.online.sense.picture import TrafficPicture
from vermilion.online.sense.round_trips import BaseRoundTrips
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S, Sample, Sampler
from vermilion.online.sense.service_rate import ServiceRate

if TYPE_CHECKING:
    from vermilion.routers.base import ManagedQueue

_HISTORY_S = 120.0
_RECENT_S = 3.0  # over which packet size and marking are averaged


class Monitor:
    """Samples of one queue and what they add up to."""

    def __init__(self, router: ManagedQueue) -> None:
        self._sampler = Sampler(router)
        self._history: deque[Sample] = deque(maxlen=round(_HISTORY_S / SAMPLE_INTERVAL_S))
        self._rate = ServiceRate()
        self._round_trips = BaseRoundTrips()

    def take(self) -> Sample | None:
        """Take a sample in; ``None`` where there is none (see :meth:`Sampler.take`)."""
        taken = self._sampler.take()
        if taken is None:
            return None
        sample, trips = taken
        self._history.append(sample)
        self._rate.update(
            sample.interval_s,
            sample.bytes,
            sample.packets,
            sample.backlog_before_packets,
            sample.backlog_packets,
        )
        self._round_trips.note_backlog(sample.time_s, sample.backlog_bytes)
        rate, packet_bytes = self._rate.bit_per_s, self._packet_bytes()
        if rate is not None and packet_bytes is not None:
            self._round_trips.update(sample.time_s, sample.interval_s, trips, rate, packet_bytes)
        return sample

    @property
    def latest(self) -> Sample | None:
        """The last sample taken."""
        return self._history[-1] if self._history else None

    def since(self, time_s: float) -> list[Sample]:
        """The samples whose interval ended after ``time_s``, oldest first."""
        recent: list[Sample] = []
        for sample in reversed(self._history):
            if sample.time_s <= time_s:
                break
            recent.append(sample)
        recent.reverse()
        return recent

    def picture(self) -> TrafficPicture | None:
        """The traffic as it looks now; ``None`` before the first sample."""
        latest = self.latest
        if latest is None:
            return None
        recent = self.since(latest.time_s - _RECENT_S)
        drops = sum(sample.drops for sample in recent)
        marks = sum(sample.marks for sample in recent)
        return TrafficPicture(
            time_s=latest.time_s,
            flows=latest.active_flows,
            base_rtts_s=tuple(self._round_trips.estimates(latest.active_flows)),
            rate_bit_per_s=self._rate.bit_per_s,
            packet_bytes=self._packet_bytes(),
            marked_share=marks / (marks + drops) if marks + drops > 0 else None,
        )

    def _packet_bytes(self) -> float | None:
        latest = self.latest
        if latest is None:
            return None
        recent = self.since(latest.time_s - _RECENT_S)
        packets = sum(sample.packets for sample in recent)
        return sum(sample.bytes for sample in recent) / packets if packets > 0 else None
