"""A picture of the traffic in which nothing is missing that a model needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.online.policy import Policy
    from vermilion.online.sense.picture import TrafficPicture

_FEW = 0.1  # share of marks below which no sender counts as ECN-capable; above 1 - this, all do


class TooLittleIsKnown(Exception):  # noqa: N818 - reads as what it says
    """The traffic cannot be modelled yet; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """A picture in which nothing is missing that a model needs.

    Attributes:
        flows: active flows.
        classes: (flows, base round trip in s) per class of round trips.
        rate_bit_per_s: the link's service rate.
        packet_bytes: mean size of a packet.
        queueing_s: the wanted queueing delay.
        ecn_share: share of the flows that understand marks.
        unresponsive_bit_per_s: what arrives whatever is lost.
        packet_sizes: (bytes, flows) of each size of packets; empty where all are of one.
    """

    flows: int
    classes: tuple[tuple[int, float], ...]
    rate_bit_per_s: float
    packet_bytes: float
    queueing_s: float
    ecn_share: float
    unresponsive_bit_per_s: float = 0.0
    packet_sizes: tuple[tuple[float, int], ...] = ()

    @classmethod
    def of_picture(cls, picture: TrafficPicture, policy: Policy) -> Traffic:
        """The traffic of a picture, for the queue that is wanted.

        Raises:
            TooLittleIsKnown: saying what is missing.
        """
        if picture.flows == 0:
            message = "no flow is active"
            raise TooLittleIsKnown(message)
        if picture.rate_bit_per_s is None or picture.packet_bytes is None:
            message = "the link has not been busy long enough to measure its rate"
            raise TooLittleIsKnown(message)
        if not picture.base_rtts_s:
            message = "no round trip has been sampled"
            raise TooLittleIsKnown(message)
        bits = 8.0 * picture.packet_bytes
        wanted = policy.scale_packets(picture.rate_bit_per_s / bits)
        queueing_s = bits * wanted / picture.rate_bit_per_s
        return cls(
            flows=picture.flows,
            classes=tuple(picture.round_trip_classes(queueing_s)),
            rate_bit_per_s=picture.rate_bit_per_s,
            packet_bytes=picture.packet_bytes,
            queueing_s=queueing_s,
            ecn_share=_ecn_share(picture.marked_share, picture.ecn_capable_share),
            unresponsive_bit_per_s=picture.unresponsive_bit_per_s,
            packet_sizes=picture.packet_sizes,
        )

    @property
    def packets_per_s(self) -> float:
        """The link's rate in packets per second."""
        return self.rate_bit_per_s / (8.0 * self.packet_bytes)

    @property
    def longest_round_trip_s(self) -> float:
        """The slowest class's round trip with the wanted queue."""
        return max(base_s for _, base_s in self.classes) + self.queueing_s


def _ecn_share(marked_share: float | None, capable_share: float | None) -> float:
    """Which share of the flows to model as ECN-capable.

    A discipline that marks treats flows alike but for marking the capable and dropping the others,
    so the share of marks among its signals is the share of capable senders, as far as each sends.
    But a full buffer, or an average beyond the maximum threshold, may drop everything: then there
    are fewer marks than that. A monitor sees which flows are capable, and counts those in full that
    starve because they are not. So of the two the larger share is taken.

    Args:
        marked_share: marks / (marks + drops) lately; ``None`` when there were neither. A queue that
            marks nothing treats all alike.
        capable_share: share of the flows seen to be capable; ``None`` where nobody looks.
    """
    if marked_share is None or marked_share == 0.0:
        return 0.0
    share = max(marked_share, capable_share or 0.0)
    if share < _FEW:
        return 0.0
    return 1.0 if share > 1.0 - _FEW else share
