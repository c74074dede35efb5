"""The traffic as the monitor sees it: how many flows, how far away, at what rate.

Two pictures are compared by what makes a queue behave differently: the number of flows,
the service rate, and the round-trip times. Round-trip times are compared as distributions
(the area between their quantile functions), so that a mixture that drifts counts as well
as a shift of all flows, and relative to the whole round trip including the wanted queueing
delay: 10 ms more matter at a total of 50 ms, not at 200 ms.

The traffic of several queues: what each of them sees, and which flows cross which.

To whoever asks no more than that it is a picture of one queue with all flows of all queues and
with their capacity together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import Knowledge


_QUANTILES = 64  # points at which two distributions of round-trip times are compared
_ONE_CLASS = 1.35  # longest over shortest round trip (queueing included) within a class
_MOST_CLASSES = 8


@dataclass(frozen=True, slots=True)
class TrafficEstimate:
    """Traffic at one moment, estimated from observation alone.

    Attributes:
        time_s: when, in the network's time.
        flows: flows that moved packets through this queue lately and slow down when packets are
            lost, weighted by what they move; one that waits silently for a timeout is none.
        base_rtts_s: base round-trip times of the flows that gave samples lately, ascending;
            at most ``flows`` of them.
        rate_bit_per_s: the link's measured service rate; ``None`` while it was never busy.
        packet_bytes: mean size of the packets forwarded lately; ``None`` without any.
        marked_share: marks / (marks + drops) lately; ``None`` when there were neither.
        unresponsive_bit_per_s: what arrives whatever is lost: capacity that the flows do not have.
        packet_sizes: (bytes, flows) of each size of packets, ascending; empty where all flows send
            packets of about ``packet_bytes``.
        selective_share: share of the flows whose receivers have been seen to acknowledge
            selectively; 0 where nobody looks.
        ecn_capable_share: share of the flows whose packets can be marked instead of dropped;
            ``None`` where nobody looks.
        knowledge: what it is made from.
        flows_doubt: standard deviation of the number of flows, as a share of it.
        rtts_doubt: the same of the round trips.
    """

    time_s: float
    flows: int
    base_rtts_s: tuple[float, ...]
    rate_bit_per_s: float | None
    packet_bytes: float | None
    marked_share: float | None
    unresponsive_bit_per_s: float = 0.0
    packet_sizes: tuple[tuple[float, int], ...] = ()
    knowledge: Knowledge = "full"
    flows_doubt: float = 0.0
    rtts_doubt: float = 0.0
    selective_share: float = 0.0
    ecn_capable_share: float | None = None

    @property
    def parts(self) -> tuple[TrafficEstimate, ...]:
        """The pictures of the queues that are managed together; its own where there is one."""
        return (self,)

    @property
    def has_rate(self) -> bool:
        """True where the rate is known, in bits and in packets."""
        return self.rate_bit_per_s is not None and self.packet_bytes is not None

    @property
    def known_share(self) -> float:
        """The share of the active flows whose base round-trip time is known."""
        return len(self.base_rtts_s) / self.flows if self.flows > 0 else 0.0

    def describe(self) -> str:
        """One phrase: "16 flows, base round trip 28 ms, 10 Mbit/s"."""
        if not self.base_rtts_s:
            trips = "base round trip unknown"
        else:
            parts = [
                f"{count} x {seconds * 1e3:.0f} ms" for count, seconds in self.round_trip_classes()
            ]
            trips = "base round trips " + " + ".join(parts)
        rate = (
            "rate unknown"
            if self.rate_bit_per_s is None
            else f"{self.rate_bit_per_s / 1e6:.4g} Mbit/s"
        )
        return f"{how_many(self.flows, 'flow')}, {trips}, {rate}"

    def as_details(self) -> dict[str, object]:
        """The numbers of :meth:`describe`, for the journal."""
        return {
            "flows": self.flows,
            "base_round_trips": [
                {"flows": count, "base_round_trip_s": seconds}
                for count, seconds in self.round_trip_classes()
            ],
            "rate_bit_per_s": self.rate_bit_per_s,
        }

    def round_trip_classes(self, queueing_s: float = 0.0) -> list[tuple[int, float]]:
        """(number of flows, base round trip in s) per class, covering every active flow.

        Flows of nearly equal round-trip time form one class, at its mean. Flows that gave no
        sample yet are spread over the classes in proportion. Empty when nothing is known.

        Args:
            queueing_s: the usual queueing delay; the larger it is against the differences
                between base round trips, the less they matter.
        """
        if not self.base_rtts_s or self.flows == 0:
            return []
        groups = split_by_gaps(list(self.base_rtts_s), queueing_s, _MOST_CLASSES)
        known = len(self.base_rtts_s)
        shares = [self.flows * len(group) / known for group in groups]
        counts = rounded_to_total(shares, self.flows)
        return [
            (count, math.fsum(group) / len(group))
            for count, group in zip(counts, groups, strict=True)
            if count > 0
        ]


def round_trip_distance(now: TrafficEstimate, then: TrafficEstimate, queueing_s: float) -> float:
    """Distance of two distributions of round trips, relative to the earlier mean.

    0 for equal ones; 0.5 when, on average, a flow is half a round trip further or nearer.
    0 also when either is unknown.
    """
    if not now.base_rtts_s or not then.base_rtts_s:
        return 0.0
    apart = math.fsum(
        abs(now.base_rtts_s[i] - then.base_rtts_s[j])
        for i, j in zip(
            _quantile_places(len(now.base_rtts_s)),
            _quantile_places(len(then.base_rtts_s)),
            strict=True,
        )
    )
    mean_then = math.fsum(then.base_rtts_s) / len(then.base_rtts_s)
    return apart / _QUANTILES / (mean_then + queueing_s)


@cache
def _quantile_places(size: int) -> tuple[int, ...]:
    """Indices of the quantiles in a sorted sequence of this size."""
    return tuple(min(int((k + 0.5) / _QUANTILES * size), size - 1) for k in range(_QUANTILES))


def split_by_gaps(ascending: list[float], offset: float, most: int) -> list[list[float]]:
    """Cut at the widest relative gap until every group is one class or ``most`` is reached.

    Values are compared as ratios after ``offset`` has been added to each.
    """
    groups = [ascending]
    while len(groups) < most:
        widest = max(groups, key=lambda g: (g[-1] + offset) / (g[0] + offset))
        if (widest[-1] + offset) / (widest[0] + offset) <= _ONE_CLASS:
            break
        gaps = [(widest[i + 1] + offset) / (widest[i] + offset) for i in range(len(widest) - 1)]
        cut = gaps.index(max(gaps)) + 1
        at = groups.index(widest)
        groups[at : at + 1] = [widest[:cut], widest[cut:]]
    return groups


def rounded_to_total(shares: list[float], total: int) -> list[int]:
    """Whole numbers near ``shares`` that add up to ``total`` (largest remainders first)."""
    counts = [math.floor(share) for share in shares]
    by_remainder = sorted(range(len(shares)), key=lambda i: counts[i] - shares[i])
    for i in by_remainder[: total - sum(counts)]:
        counts[i] += 1
    return counts


_ONE_CLASS_APART = 0.0  # round trips are told apart as they are, whatever the queues add


@dataclass(frozen=True, slots=True)
class PathTraffic:
    """The flows that cross the same queues.

    Attributes:
        links: which queues, in their order.
        flows: how many there are.
        base_rtts_s: their base round trips, as far as they are known, ascending.
        packet_bytes: mean size of their packets.
    """

    links: tuple[str, ...]
    flows: int
    base_rtts_s: tuple[float, ...]
    packet_bytes: float

    def describe(self) -> str:
        """Like "8 flows of 48 ms through first, second"."""
        trips = "an unknown round trip"
        if self.base_rtts_s:
            trips = ", ".join(f"{1e3 * each:.0f}" for each in self._round_trips()) + " ms"
        return f"{self.flows} of {trips} through {', '.join(self.links)}"

    def as_details(self) -> dict[str, object]:
        """The same for machines."""
        return {
            "links": list(self.links),
            "flows": self.flows,
            "base_round_trips_s": self._round_trips(),
        }

    def _round_trips(self) -> list[float]:
        """The mean base round trip of each class, s; none where none is known."""
        if not self.base_rtts_s:
            return []
        groups = split_by_gaps(list(self.base_rtts_s), _ONE_CLASS_APART, 4)
        return [math.fsum(each) / len(each) for each in groups]


@dataclass(frozen=True, slots=True)
class SetEstimate(TrafficEstimate):
    """Traffic estimate of several queues.

    Attributes:
        queues: (link, what its queue sees), in the order of the links.
        paths: the flows, by the queues that they cross.
        unknown: what the queues cannot tell, and what is taken to be so instead, in words.
    """

    queues: tuple[tuple[str, TrafficEstimate], ...] = ()
    paths: tuple[PathTraffic, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[TrafficEstimate, ...]:
        """Estimate of each queue."""
        return tuple(picture for _, picture in self.queues)

    def describe(self) -> str:
        """One phrase: "40 flows: 8 of 48 ms through first, second; ..."."""
        paths = "; ".join(path.describe() for path in self.paths)
        rates = ", ".join(
            f"{link} unknown"
            if picture.rate_bit_per_s is None
            else f"{link} {picture.rate_bit_per_s / 1e6:.4g} Mbit/s"
            for link, picture in self.queues
        )
        missing = "".join(f"; {each}" for each in self.unknown)
        return f"{how_many(self.flows, 'flow')}: {paths or 'none'}; {rates}{missing}"

    def as_details(self) -> dict[str, object]:
        """The numbers of :meth:`describe`, for the journal."""
        return {
            "flows": self.flows,
            "paths": [path.as_details() for path in self.paths],
            "rates_bit_per_s": {link: picture.rate_bit_per_s for link, picture in self.queues},
            "unknown": list(self.unknown),
        }


def set_estimate(
    pictures: Mapping[str, TrafficEstimate],
    paths: Sequence[PathTraffic],
    unknown: Sequence[str],
) -> SetEstimate:
    """The picture of several queues.

    Args:
        pictures: what each queue sees; at least one.
        paths: the flows, by the queues that they cross.
        unknown: what is not known, in words.
    """
    parts = list(pictures.values())
    rates = [each.rate_bit_per_s for each in parts if each.rate_bit_per_s is not None]
    sizes = [each.packet_bytes for each in parts if each.packet_bytes is not None]
    return SetEstimate(
        time_s=max(each.time_s for each in parts),
        flows=sum(path.flows for path in paths),
        base_rtts_s=tuple(sorted(trip for path in paths for trip in path.base_rtts_s)),
        rate_bit_per_s=math.fsum(rates) if rates else None,
        packet_bytes=math.fsum(sizes) / len(sizes) if sizes else None,
        marked_share=_mean_of_known([each.marked_share for each in parts]),
        unresponsive_bit_per_s=math.fsum(each.unresponsive_bit_per_s for each in parts),
        knowledge="full" if all(each.knowledge == "full" for each in parts) else "counters",
        flows_doubt=max(each.flows_doubt for each in parts),
        rtts_doubt=max(each.rtts_doubt for each in parts),
        selective_share=min(
            (each.selective_share for each in parts if each.flows > 0), default=0.0
        ),
        ecn_capable_share=_mean_of_known([each.ecn_capable_share for each in parts]),
        queues=tuple(pictures.items()),
        paths=tuple(paths),
        unknown=tuple(unknown),
    )


def _mean_of_known(shares: Sequence[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return math.fsum(known) / len(known) if known else None
