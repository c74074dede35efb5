"""The traffic of several queues: what each of them sees, and which flows cross which.

To whoever asks no more than that it is a picture of one queue with all flows of all queues and
with their capacity together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vermilion.online.sense.picture import TrafficPicture, split_by_gaps
from vermilion.scenario.how_many import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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

    def in_words(self) -> str:
        """Like "8 flows of 48 ms through first, second"."""
        trips = "an unknown round trip"
        if self.base_rtts_s:
            trips = ", ".join(f"{1e3 * each:.0f}" for each in self._round_trips()) + " ms"
        return f"{self.flows} of {trips} through {', '.join(self.links)}"

    def in_numbers(self) -> dict[str, object]:
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
class SetPicture(TrafficPicture):
    """What is known of the traffic of several queues.

    Attributes:
        queues: (link, what its queue sees), in the order of the links.
        paths: the flows, by the queues that they cross.
        unknown: what the queues cannot tell, and what is taken to be so instead, in words.
    """

    queues: tuple[tuple[str, TrafficPicture], ...] = ()
    paths: tuple[PathTraffic, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[TrafficPicture, ...]:
        """What each queue sees."""
        return tuple(picture for _, picture in self.queues)

    @property
    def known_queues(self) -> tuple[str, ...]:
        """The links whose rate is known, so that they can be modelled."""
        return tuple(
            link
            for link, picture in self.queues
            if picture.rate_bit_per_s is not None and picture.packet_bytes is not None
        )

    def in_words(self) -> str:
        """One phrase: "40 flows: 8 of 48 ms through first, second; ..."."""
        paths = "; ".join(path.in_words() for path in self.paths)
        rates = ", ".join(
            f"{link} unknown"
            if picture.rate_bit_per_s is None
            else f"{link} {picture.rate_bit_per_s / 1e6:.4g} Mbit/s"
            for link, picture in self.queues
        )
        missing = "".join(f"; {each}" for each in self.unknown)
        return f"{how_many(self.flows, 'flow')}: {paths or 'none'}; {rates}{missing}"

    def in_numbers(self) -> dict[str, object]:
        """The numbers of :meth:`in_words`, for the journal."""
        return {
            "flows": self.flows,
            "paths": [path.in_numbers() for path in self.paths],
            "rates_bit_per_s": {link: picture.rate_bit_per_s for link, picture in self.queues},
            "unknown": list(self.unknown),
        }


def set_picture(
    pictures: Mapping[str, TrafficPicture],
    paths: Sequence[PathTraffic],
    unknown: Sequence[str],
) -> SetPicture:
    """The picture of several queues.

    Args:
        pictures: what each queue sees; at least one.
        paths: the flows, by the queues that they cross.
        unknown: what is not known, in words.
    """
    parts = list(pictures.values())
    rates = [each.rate_bit_per_s for each in parts if each.rate_bit_per_s is not None]
    sizes = [each.packet_bytes for each in parts if each.packet_bytes is not None]
    return SetPicture(
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


def picture_of(values: Mapping[str, Any]) -> TrafficPicture:
    """The picture, of one queue or of several, that was written down as JSON.

    Args:
        values: the fields of the picture.

    Raises:
        TypeError: something is missing, or there is something else.
    """
    own = dict(values)
    own["base_rtts_s"] = tuple(own["base_rtts_s"])
    own["packet_sizes"] = tuple((size, count) for size, count in own["packet_sizes"])
    if "queues" not in own:
        return TrafficPicture(**own)
    own["queues"] = tuple((link, picture_of(each)) for link, each in own["queues"])
    own["unknown"] = tuple(own["unknown"])
    own["paths"] = tuple(
        PathTraffic(
            tuple(each["links"]), each["flows"], tuple(each["base_rtts_s"]), each["packet_bytes"]
        )
        for each in own["paths"]
    )
    return SetPicture(**own)
