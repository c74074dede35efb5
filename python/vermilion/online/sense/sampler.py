"""One :class:`Sample` per interval, from the differences between a router's counters."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.routers.base import Observation, Reading


SAMPLE_INTERVAL_S = 0.1
"""Time between two readings."""

HISTORY_S = 120.0
"""How long samples are kept."""

_SAME_S = 1e-6  # times are sums of tenths
_SECOND_S = 1.0 - _SAME_S
_FEWEST_SECONDS = 3
_LARGEST_COUNT = 1 << 64  # no counter has more bits
_LARGEST_PACKET = 1 << 20  # bytes; offloads hand a queue packets of up to half a megabyte


@dataclass(frozen=True, slots=True)
class Sample:
    """Measurements of one interval; ``None`` where unknown.

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
        mean_rtt_s: their mean, queueing included; ``None`` also without samples.
        timed_by_senders: whether round trips were sampled by the senders themselves.
        links: of several queues, whose sum this is, their links; empty for one.
        queues: what happened at each, in the same order.
        delivered: of several (numbers of flows, bytes that left the last queue of their path);
            ``None`` where nobody looks at packets.
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
    active_flows: int | None = None
    heard_flows: int | None = None
    rtt_samples: int | None = None
    mean_rtt_s: float | None = None
    timed_by_senders: bool = False
    links: tuple[str, ...] = ()
    queues: tuple[Sample, ...] = ()
    delivered: tuple[NDArray[np.int64], NDArray[np.int64]] | None = field(
        default=None, compare=False
    )

    @property
    def parts(self) -> tuple[Sample, ...]:
        """Those of the queues that are managed together; itself where there is one."""
        return self.queues or (self,)

    @classmethod
    def between(cls, before: Reading, observation: Observation) -> Sample:
        """Sample from ``before`` to a valid observation (see :func:`is_a_reading`)."""
        now, trips = observation.reading, observation.round_trips
        heard = None if trips is None else len(set(trips.flows.tolist()))
        return cls(
            time_s=now.time_s,
            interval_s=now.time_s - before.time_s,
            backlog_before_packets=before.backlog_packets,
            backlog_packets=now.backlog_packets,
            backlog_bytes=now.backlog_bytes,
            packets=now.forwarded_packets - before.forwarded_packets,
            bytes=now.forwarded_bytes - before.forwarded_bytes,
            drops=now.drops - before.drops,
            marks=now.marks - before.marks,
            active_flows=observation.active_flows,
            heard_flows=heard,
            rtt_samples=None if trips is None else len(trips.seconds),
            mean_rtt_s=float(trips.seconds.mean()) if trips is not None and heard else None,
            timed_by_senders=trips is not None and trips.timed_by_senders,
        )


@dataclass(frozen=True, slots=True)
class FlowShares:
    """Sharing of a queue's throughput among its flows.

    Attributes:
        time_s: the end of what was looked at, in the network's time.
        link: which of several queues; "" where there is one.
        seconds: how long that was.
        flows: flows of which data were seen lately.
        silent_flows: open ones of which none were; ``None`` where nobody counts those that are
            open at this queue.
        compared_flows: those that slow down, and were there for long enough.
        jain_index: of those, 1 where all got alike, 1 / flows where one got everything (R. Jain,
            D. Chiu and W. Hawe, "A Quantitative Measure of Fairness", DEC-TR-301, 1984); ``None``
            of fewer than two.
        largest_share: of the flow that got most, of what they all got, 0 to 1; ``None`` likewise.
        smallest_share: of the flow that got least.
    """

    time_s: float
    link: str
    seconds: float
    flows: int
    silent_flows: int | None
    compared_flows: int
    jain_index: float | None = None
    largest_share: float | None = None
    smallest_share: float | None = None


def is_due(sample: Sample) -> bool:
    """Check whether a second ended in this interval."""
    begun_s = sample.time_s - sample.interval_s
    return (sample.time_s + _SAME_S) // 1.0 > (begun_s + _SAME_S) // 1.0


def since(samples: tuple[Sample, ...], time_s: float) -> tuple[Sample, ...]:
    """Those whose interval ended after ``time_s``; oldest first, as they are."""
    return samples[bisect_right(samples, time_s, key=lambda each: each.time_s) :]


def lengthened(history: tuple[Sample, ...], sample: Sample) -> tuple[Sample, ...]:
    """The samples of the last :data:`HISTORY_S`, oldest first, with one more."""
    return (*since(history, sample.time_s - HISTORY_S + 1e-6), sample)


def mean_and_seconds(samples: Sequence[Sample]) -> tuple[float, float]:
    """The mean backlog of some samples, packets, and how long they lasted, s."""
    return (
        fmean(sample.backlog_packets for sample in samples),
        sum(sample.interval_s for sample in samples),
    )


def scatter(samples: Sequence[Sample]) -> float:
    """Noise of the mean backlog of a second, packets; 0 for less than three seconds.

    From one second to the next, so that a queue which has moved does not count as a rough one (J.
    von Neumann, "Distribution of the ratio of the mean square successive difference to the
    variance", Annals of Mathematical Statistics 12, 1941). Where the backlog is read less often
    than once a second, each second tells so much less.
    """
    means: list[float] = []
    lengths: list[float] = []
    open_samples: list[Sample] = []
    for sample in samples:
        open_samples.append(sample)
        mean, seconds = mean_and_seconds(open_samples)
        if seconds > _SECOND_S:
            means.append(mean)
            lengths.append(seconds)
            open_samples = []
    if len(means) < _FEWEST_SECONDS:
        return 0.0
    apart = fmean((after - before) ** 2 for before, after in pairwise(means))
    return math.sqrt(apart / 2.0 * fmean(lengths))


def is_a_reading(reading: Reading) -> bool:
    """Check whether a reading is possible at all."""
    counts = (
        reading.backlog_packets,
        reading.backlog_bytes,
        reading.forwarded_packets,
        reading.forwarded_bytes,
        reading.drops,
        reading.marks,
    )
    return math.isfinite(reading.time_s) and min(counts) >= 0 and max(counts) < _LARGEST_COUNT


def fell(before: Reading, now: Reading) -> bool:
    """Check whether a counter fell: a restart of router or queue, or a wrap."""
    return (
        now.forwarded_packets < before.forwarded_packets
        or now.forwarded_bytes < before.forwarded_bytes
        or now.drops < before.drops
        or now.marks < before.marks
    )


def began_anew(before: Reading, now: Reading) -> bool:
    """Check whether counters do not continue those of ``before``.

    They went backwards (the router or its queue restarted, or a counter wrapped at 32 bits), or
    they jumped by what no packets can add up to.
    """
    packets = now.forwarded_packets - before.forwarded_packets
    forwarded = now.forwarded_bytes - before.forwarded_bytes
    return fell(before, now) or not packets <= forwarded <= packets * _LARGEST_PACKET


def saw_packets(observation: Observation) -> bool:
    """Check whether the monitor saw packets."""
    return observation.traffic is not None and int(observation.traffic.packets.sum()) > 0


def is_frozen(before: Reading, observation: Observation) -> bool:
    """Check whether the counters stand still though the queue cannot have.

    An agent that answers from a cache shows it: packets of flows passed, or the backlog fell, while
    nothing was forwarded or dropped. A link that really carries nothing shows neither.
    """
    now = observation.reading
    moved = now.forwarded_packets > before.forwarded_packets or now.drops > before.drops
    if moved:
        return False
    return saw_packets(observation) or now.backlog_packets < before.backlog_packets
