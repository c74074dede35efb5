"""Weighted RED of Cisco IOS, and the marking of DCQCN's switches.

The rules:

- At each arrival: if nothing waits, average <- (1 - weight)^m average, m being the time since the
  queue became empty, or since this was last done if that is later, over the transmission time of
  a packet of the mean size. Then, always, average <- average + weight (q - average), q being what
  waits, in packets or (byte mode) in bytes over the mean size.
- p is 0 up to the minimum threshold of the packet's colour, rises in a line to max_probability at
  the maximum threshold, and is 1 from there on.
- A packet that meets `limit` packets is dropped. Else it is struck surely at p = 1, and if a coin
  falls below p at p between 0 and 1.
- A struck packet is marked if it is ECN-capable and `ecn` is on, unless p is 1 and
  `drop_above_maximum` is on; else it is dropped.
"""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import ClassVar

import by_hand
from bottleneck import Pause, Program, Stretch, recorded
from by_hand import verify
from exact import ONE, ZERO, Comparison, power
from vector_file import Arrival, Case, Link, Parameters, Settings, Step, VectorFile, Within

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000


class Wred:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 100.0,
        "weight": 0.001953125,
        "green_min_threshold": 32.0,
        "green_max_threshold": 40.0,
        "green_max_probability": 0.1,
        "yellow_min_threshold": 28.0,
        "yellow_max_threshold": 40.0,
        "yellow_max_probability": 0.1,
        "red_min_threshold": 24.0,
        "red_max_threshold": 40.0,
        "red_max_probability": 0.1,
        "byte_mode": False,
        "mean_packet_size": 1000.0,
        "ecn": True,
        "drop_above_maximum": True,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._compare = comparison
        self._average = self._probability = ZERO
        self._decayed_until = 0
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        self._parameters = parameters
        self._packet_time = 10**9 / link.packets_per_second(self._number("mean_packet_size"))

    def _number(self, name: str) -> Decimal:
        return Decimal(str(self._parameters[name]))

    def _measure(self, arrival: Arrival) -> None:
        weight = self._number("weight")
        if arrival.queue_packets == 0:
            since = max(arrival.empty_since_ns, self._decayed_until)
            missed = (arrival.time_ns - since) / self._packet_time
            self._average *= power(ONE - weight, missed)
            self._decayed_until = arrival.time_ns
        queue = Decimal(arrival.queue_packets)
        if self._parameters["byte_mode"]:
            queue = arrival.queue_bytes / self._number("mean_packet_size")
        self._average = (ONE - weight) * self._average + weight * queue

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        self._measure(arrival)
        low = self._number(f"{arrival.colour}_min_threshold")
        high = self._number(f"{arrival.colour}_max_threshold")
        surely = not self._compare.at_most(self._average, high)
        part = max(ZERO, (self._average - low) / (high - low))
        self._probability = part * self._number(f"{arrival.colour}_max_probability")
        if surely:
            self._probability = ONE
        if arrival.queue_packets >= self._number("limit"):
            return "drop", "overflow"
        if not surely and self._compare.at_most(self._average, low):
            return "accept", None
        if not surely and not self._compare.below(coin(), self._probability):
            return "accept", None
        spared = not (surely and self._parameters["drop_above_maximum"])
        if self._parameters["ecn"] and arrival.ecn_capable and spared:
            return "mark", None
        return "drop", "forced" if surely else "early"

    def figures(self) -> dict[str, Decimal | None]:
        return {"average_queue_packets": self._average, "drop_probability": self._probability}


def _of(colour: str, step: Step) -> Step:
    assert isinstance(step.event, Arrival)
    return replace(step, event=replace(step.event, colour=colour))


AS_IT_IS: Parameters = {
    "weight": 1.0,
    "green_min_threshold": 10.0,
    "green_max_threshold": 20.0,
    "green_max_probability": 0.5,
    "yellow_min_threshold": 5.0,
    "yellow_max_threshold": 10.0,
    "yellow_max_probability": 0.5,
    "red_min_threshold": 2.0,
    "red_max_threshold": 6.0,
    "red_max_probability": 1.0,
}
DCQCN: Parameters = {
    "limit": 1000.0,
    "weight": 1.0,
    "byte_mode": True,
    "green_min_threshold": 5.0,
    "green_max_threshold": 200.0,
    "green_max_probability": 0.01,
    "drop_above_maximum": False,
}


def _hand_cases() -> list[Case]:
    step = by_hand.step
    return [
        Case(
            name="each colour has its own thresholds",
            about="weight 1: the queue as it is. At 7 packets green (10 to 20) pass without a "
            "coin, yellow (5 to 10, up to 1/2) go with 1/2 x 2/5 = 0.2, red (2 to 6, up to 1) all; "
            "at 4, red go with 1/2. At their maximum of 10 yellow still go with 1/2. What can "
            "be marked is, but not above the maximum, unless "
            "drop_above_maximum is off",
            parameters=AS_IT_IS,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(7, average=7.0, probability=0.0),
                _of("yellow", step(7, "drop early", coins=[0.19], probability=0.2)),
                _of("yellow", step(7, "mark", coins=[0.19], ecn=True)),
                _of("yellow", step(7, coins=[0.21])),
                _of("red", step(7, "drop forced", probability=1.0)),
                _of("red", step(7, "drop forced", ecn=True)),
                _of("red", step(6, "drop early", coins=[0.999], probability=1.0)),
                _of("yellow", step(10, "drop early", coins=[0.49], probability=0.5)),
                _of("yellow", step(10, coins=[0.51])),
                _of("yellow", step(11, "drop forced", probability=1.0)),
                _of("red", step(4, "drop early", coins=[0.49], probability=0.5)),
                _of("red", step(4, coins=[0.51])),
                _of("red", step(2, probability=0.0)),
                step(100, "drop overflow", ecn=True, probability=1.0),
                Settings(AS_IT_IS | {"drop_above_maximum": False}, LINK),
                _of("red", step(7, "mark", ecn=True)),
                _of("red", step(7, "drop forced")),
                Settings(AS_IT_IS | {"drop_above_maximum": False, "ecn": False}, LINK),
                _of("red", step(7, "drop forced", ecn=True)),
            ],
        ),
        Case(
            name="one average for all, which decays while nothing waits",
            about="weight 1/2. 8 packets: 4. 8: 6, for all colours. Empty for two milliseconds, "
            "which are two packets: 6/4 = 1.5, and half a step to 0 for the packet that comes: "
            "0.75. At once another: 0.375. With weight 1 an empty queue is an average of 0",
            parameters={"weight": 0.5},
            link=LINK,
            by_hand=True,
            steps=[
                step(8, average=4.0),
                _of("red", step(8, average=6.0)),
                step(0, time_ns=5 * MILLISECOND, empty_since_ns=3 * MILLISECOND, average=0.75),
                step(0, time_ns=5 * MILLISECOND, empty_since_ns=3 * MILLISECOND, average=0.375),
                Settings({"weight": 1.0}, LINK),
                step(9, time_ns=6 * MILLISECOND, average=9.0),
                step(0, time_ns=7 * MILLISECOND, average=0.0),
            ],
        ),
        Case(
            name="DCQCN's switch",
            about="Kmin 5000 bytes, Kmax 200000, Pmax 1 %. 5000 bytes: none. 102500 are half way: "
            "1/2 %. 200000: 1 %. Above, all are marked",
            parameters=DCQCN,
            link=Link(rate_bit_per_s=40e9, delay_s=1e-6),
            by_hand=True,
            ties=True,
            steps=[
                step(5, ecn=True, queue_bytes=5000, probability=0.0),
                step(
                    80,
                    "mark",
                    ecn=True,
                    queue_bytes=102_500,
                    coins=[0.0049],
                    average=102.5,
                    probability=Within(0.005, 1e-12),
                ),
                step(80, ecn=True, queue_bytes=102_500, coins=[0.0051]),
                step(160, ecn=True, queue_bytes=199_999, coins=[0.0101]),
                step(160, ecn=True, queue_bytes=200_000, coins=[0.0101]),
                step(160, "mark", ecn=True, queue_bytes=200_001, probability=1.0),
                step(999, "mark", ecn=True, queue_bytes=999_000),
                step(1000, "drop overflow", ecn=True, queue_bytes=999_000),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    colours = ("green", "yellow", "red")
    program: Program = [
        Stretch(0.8, 30, colours=colours),
        Stretch(2.5, 100, colours=colours),
        Stretch(0.5, 40, colours=colours),
        Pause(15 * MILLISECOND),
        Stretch(1.6, 60, colours=colours),
    ]
    sizes: Program = [
        Stretch(2.0, 100, sizes=(40, 552, 1514), colours=colours),
        Pause(30 * MILLISECOND),
        Stretch(1.2, 60, sizes=(40, 552, 1514), colours=colours),
    ]
    averaged = AS_IT_IS | {"weight": 0.2}
    return [
        recorded(
            Wred,
            "three colours, half of the packets ECN-capable",
            "load rises and falls",
            averaged,
            LINK,
            program=program,
        ),
        recorded(
            Wred,
            "byte mode, marks above the maximum, a small buffer",
            "three sizes and a pause, the queue as it is",
            AS_IT_IS
            | {"byte_mode": True, "mean_packet_size": 600.0, "limit": 18.0}
            | {"drop_above_maximum": False},
            LINK,
            program=sizes,
        ),
        recorded(
            Wred,
            "settings changed on the way",
            "no ECN and an average, then bytes as they are on a slower link",
            averaged | {"ecn": False},
            LINK,
            program=[
                *program,
                Settings(AS_IT_IS | {"byte_mode": True}, Link(rate_bit_per_s=4e6, delay_s=0.01)),
                *sizes,
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="wred",
        source="Cisco IOS, Congestion Avoidance Overview; Y. Zhu et al., Congestion Control for "
        "Large-Scale RDMA Deployments, SIGCOMM 2015",
        machine=Wred,
        cases=[*(verify(case, Wred) for case in _hand_cases()), *_simulated()],
    )
