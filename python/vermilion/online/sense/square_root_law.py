"""Number of flows or round trip by the square root law, without a monitor.

A flow of congestion avoidance that halves its window at a loss gets, on average,

    rate = packet / round trip * sqrt(3 / (2 p))

for a share p of its packets lost or marked (Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior
of the TCP congestion avoidance algorithm", ACM CCR 27(3), 1997, with an acknowledgement for every
packet). N flows that share a rate C therefore have N = C * round trip / (packet * sqrt(3 / (2 p))).
Of N and the round trip, one gives the other. C and p are in every router's counters.

What the law leaves out is in the doubt: unequal round trips and delayed acknowledgements always;
timeouts where losses are many (flows then get less than the law says, so there are fewer than it
says); and CUBIC where they are few, whose mean window is 1.054 (round trip / p)^(3/4) (RFC 9438,
section 5.1, for beta 0.7 and C 0.4) and grows beyond the law's: then there are fewer flows, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.sense.sampler import Sample


@dataclass(frozen=True, slots=True)
class RoundTripPrior:
    """Prior of base round trips.

    Attributes:
        median_s: as many lie below as above.
        doubt: standard deviation of the logarithm.
    """

    median_s: float
    doubt: float


USUAL_ROUND_TRIP = RoundTripPrior(0.1, math.log(10.0) / 2.0)
"""100 ms; 95 % lie between 10 ms and 1 s. That is the range of round trips for which CoDel's
authors chose its one interval of 100 ms (RFC 8289). An operator who knows better says so."""

FEWEST_SIGNALS = 50
"""Drops and marks from which on their share of the packets is taken from the latest only."""
LONGEST_S = 60.0
"""How far back is looked for so many."""
LEAST_S = 5.0
"""How far back is looked at least."""

_LAW_DOUBT = 0.3  # unequal round trips, delayed acknowledgements, senders that differ
_CLUSTERED = 2.0  # losses come in bursts of about so many
_TIMEOUT_S = 1.0  # the shortest of RFC 6298; Linux has 0.2 s
_MOST_FLOWS = 10_000
_EPSILON_S = 1e-6  # times are sums of tenths


@dataclass(frozen=True, slots=True)
class Signals:
    """Congestion signals of a queue, and its throughput.

    Attributes:
        seconds: over how long.
        packets: packets forwarded.
        bytes: bytes forwarded.
        signals: packets dropped or marked.
        offered: packets forwarded or dropped.
    """

    seconds: float
    packets: int
    bytes: int
    signals: int
    offered: int

    @classmethod
    def latest(cls, samples: Sequence[Sample]) -> Signals:
        """Sum up the latest samples, enough to estimate the share of losses."""
        seconds, packets, sizes, drops, marks = 0.0, 0, 0, 0, 0
        for sample in reversed(samples):
            enough = drops + marks >= FEWEST_SIGNALS and seconds >= LEAST_S - _EPSILON_S
            if enough or seconds >= LONGEST_S - _EPSILON_S:
                break
            seconds += sample.interval_s
            packets += sample.packets
            sizes += sample.bytes
            drops += sample.drops
            marks += sample.marks
        return cls(seconds, packets, sizes, drops + marks, packets + drops)

    @property
    def share(self) -> float:
        """The share of packets lost or marked; half a packet where none was, for none is known."""
        return min(1.0, max(self.signals, 0.5) / max(self.offered, 1))

    @property
    def bit_per_s(self) -> float:
        """Throughput."""
        return 8.0 * self.bytes / self.seconds if self.seconds > 0.0 else 0.0

    def doubt(self, round_trip_s: float) -> float:
        """Standard deviation of the logarithm of what the law says.

        Args:
            round_trip_s: queueing included.
        """
        counted = 0.5 * math.sqrt(_CLUSTERED / max(self.signals, 0.5))
        timeouts = math.log(1.0 + _waiting_s(self.share) * window(self.share) / round_trip_s)
        cubic = 1.054 * (round_trip_s / self.share) ** 0.75
        fewer = max(0.0, 0.5 * math.log(cubic / window(self.share)))
        return math.hypot(_LAW_DOUBT, counted, timeouts, fewer)


def _waiting_s(share: float) -> float:
    """The time that a flow waits for timeouts, for each packet it gets through.

    The second term of the formula of Padhye, Firoiu, Towsley, Kurose (SIGCOMM 1998).
    """
    waits = min(1.0, 3.0 * math.sqrt(3.0 * share / 8.0))
    return _TIMEOUT_S * waits * share * (1.0 + 32.0 * share**2)


def window(share: float) -> float:
    """The mean window in packets of a flow of which this share is lost or marked; 1 at least."""
    return max(1.0, math.sqrt(1.5 / share))


def flows_by_law(bit_per_s: float, round_trip_s: float, packet_bytes: float, share: float) -> float:
    """Number of flows that make up a rate; at least 1.

    Args:
        bit_per_s: what all of them get.
        round_trip_s: of each of them, queueing included.
        packet_bytes: the size of a packet.
        share: of the packets, lost or marked.
    """
    flows = bit_per_s * round_trip_s / (8.0 * packet_bytes * window(share))
    return min(max(1.0, flows), _MOST_FLOWS)


def round_trip_by_law(bit_per_s: float, flows: float, packet_bytes: float, share: float) -> float:
    """Round trip, queueing included, at which so many flows make up a rate."""
    return flows * 8.0 * packet_bytes * window(share) / bit_per_s


@dataclass(frozen=True, slots=True)
class Guess:
    """Flows and their base round trip where not both were measured.

    Attributes:
        flows: how many.
        flows_doubt: standard deviation of the logarithm of that.
        base_s: base round trip.
        base_doubt: standard deviation of the logarithm of that.
    """

    flows: float
    flows_doubt: float
    base_s: float
    base_doubt: float


def from_counters(
    signals: Signals, queueing_s: float, packet_bytes: float, prior: RoundTripPrior
) -> Guess:
    """Estimate flows from counters and a prior of the round trip."""
    trip_s = prior.median_s + queueing_s
    flows = flows_by_law(signals.bit_per_s, trip_s, packet_bytes, signals.share)
    # The queueing delay is measured: only the rest of the round trip is in doubt.
    trip_doubt = prior.doubt * prior.median_s / trip_s
    doubt = math.hypot(signals.doubt(trip_s), trip_doubt)
    return Guess(flows, doubt, prior.median_s, prior.doubt)


def from_flow_count(
    flows: float,
    bit_per_s: float,
    signals: Signals,
    queueing_s: float,
    packet_bytes: float,
    prior: RoundTripPrior,
) -> Guess:
    """Estimate the round trip from counters and flows, weighed against the prior.

    Args:
        flows: how many.
        bit_per_s: what all of them get.
        signals: drops and marks.
        queueing_s: time in the queue.
        packet_bytes: the size of a packet.
        prior: what is believed.
    """
    trip_s = round_trip_by_law(bit_per_s, flows, packet_bytes, signals.share)
    law = signals.doubt(trip_s)
    # In a long queue most of the round trip is known, and little of what is left.
    base_s = max(trip_s - queueing_s, 0.1 * trip_s)
    law *= trip_s / base_s
    weight = law**-2 / (law**-2 + prior.doubt**-2)
    logarithm = weight * math.log(base_s) + (1.0 - weight) * math.log(prior.median_s)
    doubt = (law**-2 + prior.doubt**-2) ** -0.5
    return Guess(flows, 0.0, math.exp(logarithm), doubt)
