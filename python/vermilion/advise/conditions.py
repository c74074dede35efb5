"""The grid of conditions that an answer has to hold in, and the network of each.

Nominal are the corners and the middle (geometric, because twice as many flows mean the same
everywhere) of the ranges of flows and round trips, with today's senders: CUBIC as Linux has it,
round trips spread by a tenth (flows with equal ones fall into step with the queue: S. Floyd and V.
Jacobson, "On traffic phase effects in packet-switched gateways", 1992). Two more, in the middle,
are for robustness: a sixth of the rate is short web transfers; half of the senders are Reno and
BBR. Beside all of them one call sends a packet every 20 ms: the sparse flow, for which queues are
kept short.
Around the range lie the probes, which tell where an answer stops being true.

How long is simulated follows from the conditions alone: a CUBIC flow with a fair share W packets
takes (0.3 W / 0.4)^(1/3) seconds from one loss to the next (RFC 9438, section 4.2), or 0.6 W round
trips where that is less, as Reno would.

Before that, transfers begin: within a second they all start, double their windows for a few round
trips, fill a queue that takes up to seconds to drain, and go on to the first loss that is not of
their beginning. Only then is what is measured how the line stays. No run is shorter than that.

CoDel needs time to reach the drop rate that many transfers ask for: it drops the n-th of a series
an interval / sqrt(n) after the one before (RFC 8289, section 5.4), so t / (2 interval^2) a second
after t seconds. Transfers with a window of W packets need 0.75 / W^2 of them dropped (M. Mathis
et al., "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from vermilion.advise.scaled_line import ScaledLine
from vermilion.scenario import format_quantity, scenario_from_document
from vermilion.scenario.quantities import TIME, how_many
from vermilion.tuning.rules_of_thumb import LOCAL_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vermilion.advise.question import Question, QueueSetting
    from vermilion.profiles import DeviceProfile
    from vermilion.scenario import Scenario


Traffic = Literal["bulk", "web", "mixed"]

LINK: Final = "bottleneck"
WEB: Final = "web"
"""The group of short transfers."""

CALL: Final = "call"
"""The group of one call, beside them."""

CALL_PACKET_BYTES: Final = 214
_CALL_HEADER_BYTES: Final = 54
_CALL_BIT_PER_S: Final = 85.6e3
"""A packet every 20 ms: 160 bytes of voice (G.711), 40 of RTP, UDP and IP, and Ethernet's 14."""

_MOST_OF_CALL: Final = 0.1
_MOST_OF_FAIR_SHARE: Final = 0.5
"""Most that the sparse flow asks for, of the line and of a fair share. On slower lines, or among
very many, it sends fewer packets, as a game or DNS does: beyond a fair share it is not sparse."""

PACKET_BYTES: Final = 1514
"""A full packet on Ethernet, as a queue counts it."""

HEADER_BYTES: Final = 66
"""Of these Ethernet's 14, IP's 20, and TCP's 20 and 12 for timestamps."""

_SPREAD: Final = 0.1
_WEB_SHARE: Final = 0.15
_WEB_BYTES: Final = 30_000.0
_BETWEEN_LOSSES: Final = 0.3 / 0.4
_RENO_SHARE: Final = 0.6
_LEAST_MEASURED_S: Final = 1.5
_LEAST_ROUND_TRIPS: Final = 12.0
_LONGEST_S: Final = 90.0
_DRAINING_S: Final = 2.0
"""Slow start may leave packets that wait 500 ms. At every drop a sender goes to 0.7 of its window.
The next drop comes when these packets have left, or after CoDel's interval of 100 ms. Eleven drops
bring 500 ms to 10 ms, in 11 x 0.1 + 0.5 / (1 - 0.7) = 2.8 s, of which nearly one is in the full
warm-up anyway. As measured, 2 s more are enough for FQ-CoDel from 10 Mbit/s to 1 Gbit/s, with 1 to
200 flows over 12 to 200 ms."""

_LOCAL: Final = 0.3
"""In a building transfers begin within 0.3 s, and what they begin with is over, two timeouts of
0.2 s included, in twice that."""

_LOCAL_PACKETS: Final = 20.0
"""There a sparse flow sends a packet each millisecond."""

_SHARE_THAT_SHOWS: Final = 0.05
_MOST_PACKETS: Final = 10_240
"""A full queue shows in a 95th percentile while a twentieth of what leaves comes from it, so for
twenty times as long as all of it takes on the line: of FQ-CoDel's 10,240 packets 0.25 s at
10 Gbit/s."""

_PACKETS_WANTED: Final = 4000.0
_EACH_RUN: Final = 5400.0
_EACH_FLOW: Final = 75.0
"""What a run and each of its flows cost before a packet is sent, and what it costs to read the
outcome: in packets."""

_OTHER_TRAFFIC: Final = 0.6
"""What a packet costs more where transfers come and go, or senders differ."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One point of the grid.

    Attributes:
        flows: long transfers.
        round_trip_s: their mean base round trip.
        traffic: "bulk": CUBIC alone; "web": with short transfers besides; "mixed": with Reno and
            BBR. A call is beside them everywhere.
        warm_up_s: simulated and not measured: until the beginning of the transfers has left the
            queue.
        measured_s: measured, in full length.
        least_measured_s: the shortest that shows how the line stays: from one loss of a transfer to
            its next, within which windows only grow.
    """

    flows: int
    round_trip_s: float
    traffic: Traffic
    warm_up_s: float
    measured_s: float
    least_measured_s: float

    @property
    def round_trip_ms(self) -> float:
        """The round trip in milliseconds."""
        return 1e3 * self.round_trip_s

    @property
    def robustness(self) -> bool:
        """True if it is one that nobody asked for, and that had better hold too."""
        return self.traffic != "bulk"

    @property
    def name(self) -> str:
        """Description like "40 flows, 60 ms"."""
        flows = how_many(self.flows, "flow")
        trip = format_quantity(float(f"{self.round_trip_s:.3g}"), TIME)
        also = {"bulk": "", "web": ", and web traffic", "mixed": ", some Reno and BBR"}
        return f"{flows}, {trip}{also[self.traffic]}"

    def seconds(self, length: float) -> float:
        """Measured seconds at a length from 0, the least, to 1, the full."""
        return self.least_measured_s + length * (self.measured_s - self.least_measured_s)

    def cost(self, question: Question, length: float) -> float:
        """About how many packets' work a run with the simplest queue is."""
        a_second = question.simulated_rate_bit_per_s / (8.0 * PACKET_BYTES)
        each = 1.0 + _OTHER_TRAFFIC * self.robustness
        packets = a_second * (self.warm_up_s + self.seconds(length))
        flows = self.flows / ScaledLine.of(self.flows, question.scale).flows
        return _EACH_RUN + _EACH_FLOW * flows + each * packets


def grid(question: Question, buffer_bytes: float) -> list[Condition]:
    """The conditions of a question; nominal ones first.

    Args:
        question: with its ranges.
        buffer_bytes: what the queue in force can hold; filling it takes time too.
    """
    fewest, most = question.flows
    short, long = question.round_trip_s
    middle = round(math.sqrt(fewest * most)), math.sqrt(short * long)
    corners = [(count, trip) for count in (fewest, most) for trip in (short, long)]
    nominal = list(dict.fromkeys([*corners, middle]))
    asked = [condition(question, count, trip, "bulk", buffer_bytes) for count, trip in nominal]
    if question.scale > 1:  # short transfers and BBR do not shrink
        return asked
    return [
        *asked,
        condition(question, *middle, "web", buffer_bytes),
        condition(question, *middle, "mixed", buffer_bytes),
    ]


def around(question: Question) -> dict[str, tuple[int, float]]:
    """Conditions around the range, by their description: flows and a round trip, s.

    Half of a single flow there is not.
    """
    fewest, most = question.flows
    short, long = question.round_trip_s
    flows, trip = round(math.sqrt(fewest * most)), math.sqrt(short * long)
    found = {
        "twice the flows": (2 * most, trip),
        "twice the round trip": (flows, 2.0 * long),
        "half the round trip": (flows, 0.5 * short),
    }
    return {**found, "half the flows": (fewest // 2, trip)} if fewest > 1 else found


def probes(question: Question, buffer_bytes: float) -> list[Condition]:
    """The conditions around the range."""
    places = around(question).values()
    return [condition(question, *each, "bulk", buffer_bytes) for each in places]


def condition(
    question: Question, flows: int, round_trip_s: float, traffic: Traffic, buffer_bytes: float
) -> Condition:
    """A condition with the times that suit it."""
    packets_per_second = question.packet_rate_bit_per_s / (8.0 * PACKET_BYTES)
    window = packets_per_second * (round_trip_s + question.bound_s) / flows
    between = min((_BETWEEN_LOSSES * window) ** (1.0 / 3.0), _RENO_SHARE * window * round_trip_s)
    filling = min(8.0 * buffer_bytes / question.packet_rate_bit_per_s, 8.0)
    draining = min(_DRAINING_S, _MOST_PACKETS / packets_per_second / _SHARE_THAT_SHOWS)
    pace = _LOCAL if is_local(question) else 1.0
    warm_up = min(2.0 * pace + 20.0 * round_trip_s + between + filling + draining, _LONGEST_S)
    wanted = max(
        8.0 * pace, 60.0 * round_trip_s, 3.0 * between, _PACKETS_WANTED / packets_per_second
    )
    least = max(pace * _LEAST_MEASURED_S, _LEAST_ROUND_TRIPS * round_trip_s)
    measured = max(min(wanted, _LONGEST_S), least)
    least = min(max(least, between), measured)
    return Condition(flows, round_trip_s, traffic, warm_up, measured, least)


def is_local(question: Question) -> bool:
    """Check whether all are in one building: a sparse flow then sends more often."""
    return question.round_trip_s[1] < LOCAL_S


def packet_time_s(question: Question) -> float:
    """Seconds that a full packet takes on the line.

    Queues that hold a delay are never told less: none that holds a packet could be that short
    (RFC 8290, section 5.2.1).
    """
    return 8.0 * PACKET_BYTES / question.packet_rate_bit_per_s


def nominal(conditions: Iterable[Condition]) -> list[Condition]:
    """The conditions that were asked for."""
    return [each for each in conditions if not each.robustness]


def most_goodput(question: Question) -> float:
    """Bits that can arrive for good in a second: the rate without headers."""
    return question.packet_rate_bit_per_s * (1.0 - HEADER_BYTES / PACKET_BYTES)


def subset(conditions: Sequence[Condition]) -> list[Condition]:
    """Conditions in which a candidate is screened first: two corners and the middle."""
    own = nominal(conditions)
    hard = max(own, key=lambda each: (each.flows / each.round_trip_s, each.flows))
    easy = min(own, key=lambda each: (each.flows / each.round_trip_s, each.flows))
    return list(dict.fromkeys([hard, easy, own[-1]]))


def _call_bit_per_s(question: Question, flows: int) -> float:
    usual = _CALL_BIT_PER_S * (_LOCAL_PACKETS if is_local(question) else 1.0)
    share = min(_MOST_OF_CALL, _MOST_OF_FAIR_SHARE / (flows + 1))
    return min(usual, share * question.simulated_rate_bit_per_s)


def network(
    question: Question, at: Condition, queue: QueueSetting, length: float = 1.0
) -> Scenario:
    """The scenario of a condition with a queue.

    Args:
        question: with the rate and whether the senders understand marks.
        at: the condition.
        queue: at the bottleneck.
        length: of what is measured, from 0 to 1.

    Raises:
        ScenarioError: the queue is not accepted.
    """
    trip = at.round_trip_s
    model = ScaledLine.of(at.flows, question.scale)
    start = f"0 s .. {_LOCAL if is_local(question) else 1.0!r} s"
    common = {
        "path": [LINK],
        "rtt": f"{(1.0 - _SPREAD) * trip!r} s .. {(1.0 + _SPREAD) * trip!r} s",
        "packet_size": f"{PACKET_BYTES} bytes",
        "header_size": f"{HEADER_BYTES} bytes",
        "ack_size": f"{HEADER_BYTES} bytes",
        "start": start,
    }

    def sender(name: str) -> dict[str, Any]:
        own = {"congestion_control": name, "option_set": "linux", "ecn": question.ecn}
        return {**own, **model.senders(name)}

    shares = {"cubic": max(at.flows // model.flows, 1)}
    if at.traffic == "mixed":
        others = max(1, at.flows // 4)
        shares = {"cubic": max(1, at.flows - 2 * others), "newreno": others, "bbr": others}
    groups: dict[str, Any] = {
        name: {**common, "count": count, "sender": sender(name)} for name, count in shares.items()
    }
    if at.traffic == WEB:
        gap = 8.0 * _WEB_BYTES / (_WEB_SHARE * question.simulated_rate_bit_per_s)
        size = {"distribution": "exponential", "mean": f"{_WEB_BYTES:.0f} bytes"}
        groups[WEB] = {
            **common,
            "sender": sender("cubic"),
            "traffic": {"kind": "web", "mean_gap": f"{gap!r} s", "size": size},
        }
    call = _call_bit_per_s(question, sum(shares.values()))
    groups[CALL] = {
        "path": [LINK],
        "rtt": f"{trip!r} s",
        "packet_size": f"{CALL_PACKET_BYTES} bytes",
        "header_size": f"{_CALL_HEADER_BYTES} bytes",
        "start": start,
        "traffic": {
            "kind": "constant-rate",
            "rate": f"{call!r} bit/s",
        },
    }
    warm_up, seconds = at.warm_up_s, at.seconds(length)
    rate = f"{question.simulated_rate_bit_per_s!r} bit/s"
    return scenario_from_document(
        {
            "title": at.name,
            "duration": f"{warm_up + seconds!r} s",
            "warm_up": f"{warm_up!r} s",
            "links": {
                LINK: {
                    "rate": rate,
                    "delay": "0 s",
                    "queue": model.queue(queue.among(at.flows)).table(),
                }
            },
            "flows": groups,
        },
        "advise",
    )


def plain_network(question: Question, queue: QueueSetting) -> Scenario:
    """The scenario of the fewest transfers over the shortest round trip with a queue.

    Raises:
        ScenarioError: the queue is not accepted.
    """
    fewest, shortest = question.flows[0], question.round_trip_s[0]
    return network(question, condition(question, fewest, shortest, "bulk", 0.0), queue)


def on_device(
    profile: type[DeviceProfile], question: Question, queue: QueueSetting
) -> DeviceProfile:
    """A queue at the bottleneck, as a device has it.

    Raises:
        ScenarioError: the queue is not accepted.
    """
    return profile(plain_network(question, queue), LINK)


_INTERVAL_S: Final = 0.1
_TARGET_S: Final = 0.005
_DROPS_OF_A_WINDOW: Final = 0.75
_MOST_DROPS: Final = 0.3
"""Share of the packets beyond which transfers wait for timeouts, and the rule does not hold."""


def with_ramp(
    conditions: Sequence[Condition], question: Question, queue: QueueSetting
) -> list[Condition]:
    """The conditions, with the time that a queue needs in each before it drops often enough.

    Args:
        conditions: without it.
        question: with the rate.
        queue: in force.
    """
    if queue.discipline != "codel":
        return list(conditions)
    interval = float(queue.parameters.get("interval") or _INTERVAL_S)
    target = float(queue.parameters.get("target") or _TARGET_S)
    a_second = 1.0 / packet_time_s(question)

    def ramp_s(at: Condition) -> float:
        window = a_second * (at.round_trip_s + target) / at.flows
        drops = min(_DROPS_OF_A_WINDOW / window**2, _MOST_DROPS) * a_second
        return 2.0 * interval**2 * drops

    return [replace(at, warm_up_s=at.warm_up_s + ramp_s(at)) for at in conditions]
