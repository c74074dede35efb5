"""A picture of the traffic in which nothing is missing that a model needs.

How long a model is simulated.

The shortest queue that marks can bring about.

For a mark, a Linux sender never makes its window smaller than two packets: it is cut to the
slow-start threshold, which is two at the least (RFC 5681, equation 4; RFC 3168, section 6.1.2). So
where a queue marks whatever it can, however long it is, flows that can be marked keep two packets
each under way, and what the round trip does not hold waits in the queue. Only a drop makes one of
them send less.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from vermilion.online.sense.traffic_estimate import SetEstimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.policy import Policy
    from vermilion.online.sense.traffic_estimate import TrafficEstimate


_FEW = 0.1  # share of marks below which no sender counts as ECN-capable; above 1 - this, all do


class TooLittleIsKnown(Exception):  # noqa: N818 - reads as what it says
    """The traffic cannot be modelled yet; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """A picture in which nothing is missing that a model needs.

    That of several queues is as if all flows crossed one queue with the rate of all.

    Attributes:
        flows: active flows.
        classes: (flows, base round trip in s) per class of round trips.
        rate_bit_per_s: the link's service rate.
        packet_bytes: mean size of a packet.
        queueing_s: the wanted queueing delay.
        ecn_share: share of the flows that understand marks.
        unresponsive_bit_per_s: what arrives whatever is lost.
        packet_sizes: (bytes, flows) of each size of packets; empty where all are of one.
        queues: of several queues what each whose rate is known sees, by its link; empty for one.
        paths: of several (links, the flows that take them), of these links only; empty for one.
    """

    flows: int
    classes: tuple[tuple[int, float], ...]
    rate_bit_per_s: float
    packet_bytes: float
    queueing_s: float
    ecn_share: float
    unresponsive_bit_per_s: float = 0.0
    packet_sizes: tuple[tuple[float, int], ...] = ()
    queues: Mapping[str, Traffic] = field(default_factory=dict)
    paths: tuple[tuple[tuple[str, ...], Traffic], ...] = ()

    @classmethod
    def of_picture(cls, picture: TrafficEstimate, policy: Policy) -> Traffic:
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
        traffic = cls(
            flows=picture.flows,
            classes=tuple(picture.round_trip_classes(queueing_s)),
            rate_bit_per_s=picture.rate_bit_per_s,
            packet_bytes=picture.packet_bytes,
            queueing_s=queueing_s,
            ecn_share=_ecn_share(picture.marked_share, picture.ecn_capable_share),
            unresponsive_bit_per_s=picture.unresponsive_bit_per_s,
            packet_sizes=picture.packet_sizes,
        )
        return traffic._of_set(picture, policy) if isinstance(picture, SetEstimate) else traffic

    def _of_set(self, picture: SetEstimate, policy: Policy) -> Traffic:
        """The same with what each of several queues and paths has."""
        queues: dict[str, Traffic] = {}
        for link, part in picture.queues:
            if part.has_rate:
                # Of a queue that nothing crosses now its rate is all that is needed.
                seen = (
                    part
                    if part.flows and part.base_rtts_s
                    else replace(part, flows=1, base_rtts_s=(self.longest_round_trip_s,))
                )
                queues[link] = Traffic.of_picture(seen, policy.of_queue(link))
        paths: list[tuple[tuple[str, ...], Traffic]] = []
        for path in picture.paths:
            links = tuple(link for link in path.links if link in queues)
            if not links or not path.flows:
                continue
            if not path.base_rtts_s:
                message = f"no round trip has been sampled of the flows through {', '.join(links)}"
                raise TooLittleIsKnown(message)
            alone = replace(
                dict(picture.queues)[links[0]],
                flows=path.flows,
                base_rtts_s=path.base_rtts_s,
                packet_bytes=path.packet_bytes,
            )
            paths.append((links, Traffic.of_picture(alone, policy.of_queue(links[0]))))
        if not paths:
            message = "no flow is active"
            raise TooLittleIsKnown(message)
        return replace(self, queues=queues, paths=tuple(paths))

    def at(self, link: str) -> Traffic | None:
        """Traffic that a queue sees; ``None`` where its rate is not known."""
        return self.queues.get(link) if self.queues else self

    def times(self, flows: float, longer: float) -> Traffic:
        """So many times the flows, and so many times as long round trips."""
        classes = tuple((max(1, round(flows * n)), longer * base_s) for n, base_s in self.classes)
        return replace(
            self,
            flows=sum(count for count, _ in classes),
            classes=classes,
            paths=tuple((links, part.times(flows, longer)) for links, part in self.paths),
        )

    @property
    def load(self) -> float:
        """Flows per packet in flight: the larger, the more of them have to be dropped."""
        return self.flows / (self.packets_per_s * self.longest_round_trip_s)

    @property
    def smallest_window(self) -> float:
        """Packets in flight per flow, at the queue where they are fewest."""
        return 1.0 / max((each.load for each in self.queues.values()), default=self.load)

    @property
    def packets_per_s(self) -> float:
        """The link's rate in packets per second."""
        return self.rate_bit_per_s / (8.0 * self.packet_bytes)

    @property
    def longest_round_trip_s(self) -> float:
        """The slowest class's round trip with the wanted queue."""
        return max(base_s for _, base_s in self.classes) + self.queueing_s


def _ecn_share(marked_share: float | None, capable_share: float | None) -> float:
    """Share of the flows to model as ECN-capable.

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


GUESSED_PACKETS_PER_S = 1e7
"""What a machine simulates per second, where that is not known yet."""

_WARM_UP_S = 5.0  # a first packet lost costs 3 s (RFC 2988), and slow averages settle
_MEASURED_ROUND_TRIPS = 80.0
_MEASURED_S = (10.0, 16.0)
_EPOCHS = 2.0  # of the longest sawtooth
_LEAST_S = 2.0
_LEAST_ROUND_TRIPS = 30.0
_ENOUGH_SETTINGS = 200


@dataclass(frozen=True, slots=True)
class Horizon:
    """Simulated time of a model.

    Attributes:
        warm_up_s: time left out at the beginning.
        measured_s: time measured after it.
    """

    warm_up_s: float
    measured_s: float


def horizon_for(
    traffic: Traffic, deadline_s: float, packets_per_s: float | None, epoch_s: float = 0.0
) -> Horizon:
    """Choose the simulated time so that a search evaluates enough settings.

    Long enough for the slowest flows to show their sawtooth; shortened on fast links, whose
    packets take longer to simulate than they take to be sent, but never so far that nothing
    is left to measure.

    Args:
        traffic: what to simulate.
        deadline_s: how long the search may take.
        packets_per_s: how many packets this machine simulates per second of wall time;
            ``None`` for a guess.
        epoch_s: how long large windows take to grow back; 0 where that is within seconds.
    """
    round_trip_s = traffic.longest_round_trip_s
    wanted_s = min(max(_MEASURED_ROUND_TRIPS * round_trip_s, _MEASURED_S[0]), _MEASURED_S[1])
    wanted_s = max(wanted_s, _EPOCHS * epoch_s)
    warm_up_s = max(_WARM_UP_S, epoch_s)
    speed = packets_per_s or GUESSED_PACKETS_PER_S
    affordable_s = deadline_s * speed / (_ENOUGH_SETTINGS * traffic.packets_per_s)
    share = min(1.0, affordable_s / (warm_up_s + wanted_s))
    least_s = max(_LEAST_S, _LEAST_ROUND_TRIPS * round_trip_s)
    return Horizon(
        warm_up_s=round(max(share * warm_up_s, least_s), 3),
        measured_s=round(max(share * wanted_s, least_s), 3),
    )


_LEAST_WINDOW_PACKETS: Final = 2.0
_NEAR_ENOUGH_S: Final = 1e-6


def least_queue_packets(traffic: Traffic) -> float:
    """Least queue if flows that can be marked are never dropped, in packets.

    Each of them sends two packets in a round trip, its time in the queue included. The wait is the
    one with which all of them together fill the link; the other flows may send nothing. It is
    shorter only if some of them starve, whose repairs are dropped. 0 where marks can empty the
    queue.
    """

    def sent_per_s(wait_s: float) -> float:
        return sum(
            traffic.ecn_share * flows * _LEAST_WINDOW_PACKETS / (base_s + wait_s)
            for flows, base_s in traffic.classes
        )

    if sent_per_s(0.0) <= traffic.packets_per_s:
        return 0.0
    short_s, long_s = 0.0, 1.0
    while sent_per_s(long_s) > traffic.packets_per_s:
        long_s *= 2.0
    while long_s - short_s > _NEAR_ENOUGH_S:
        middle_s = (short_s + long_s) / 2.0
        if sent_per_s(middle_s) > traffic.packets_per_s:
            short_s = middle_s
        else:
            long_s = middle_s
    return long_s * traffic.packets_per_s
