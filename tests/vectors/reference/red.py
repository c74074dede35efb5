"""RED as published by Floyd and Jacobson in 1993, with Floyd's gentle option of 2000.

The rules, for a packet that meets q waiting packets:

- q > 0: average <- (1 - weight) average + weight q. q = 0: average <- (1 - weight)^m average, where
  m is the time since the queue became empty over the transmission time of a typical packet (no
  step for the arrival itself, and m need not be whole). Time that has been counted once, because a
  packet was dropped at the empty queue, is not counted again.
- Below min_threshold: accept. At or above it the probability rises in a line from 0 there to
  max_probability at max_threshold. From there on it is 1; gentle: it rises in a line from
  max_probability to 1 at twice max_threshold.
- Probability 1: notify, without a coin. Otherwise notify with probability p / (1 - n p), n being
  the packets let through, with the average in the range, since the last notification. So the
  packets from one notification to the next are uniform on 1..1/p, as the paper's text has it.
  Leaving the range downwards starts n anew.
- Byte mode: p is first multiplied by the packet's size over the typical size, and is at most 1.
- To notify is to mark an ECN-capable packet (if ecn is on; at probability 1 only if
  drop_above_maximum is off) and to drop any other.
- A full buffer drops the packet whatever was decided, and starts n anew.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from bottleneck import RISE_AND_FALL, Pause, Stretch, recorded
from by_hand import step, verify
from exact import ONE, ZERO, Comparison, power
from vector_file import Arrival, Case, Link, Parameters, Settings, VectorFile, Within

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000


class Red:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 100.0,
        "min_threshold": 5.0,
        "max_threshold": 15.0,
        "max_probability": 0.02,
        "weight": 0.002,
        "gentle": False,
        "byte_mode": False,
        "ecn": True,
        "drop_above_maximum": False,
        "mean_packet_size": 1000.0,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._compare = comparison
        self._average = ZERO
        self._decayed_until_ns = ZERO
        self._let_through = 0
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        number = {
            name: Decimal(str(value))
            for name, value in parameters.items()
            if not isinstance(value, bool)
        }
        self._limit = number["limit"]
        self._low = number["min_threshold"]
        self._high = number["max_threshold"]
        self._ceiling = number["max_probability"]
        self._weight = number["weight"]
        self._typical_size = number["mean_packet_size"]
        self._typical_time_ns = Decimal(10) ** 9 / link.packets_per_second(self._typical_size)
        self._on = {name for name, value in parameters.items() if value is True}

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        self._measure(arrival)
        answer = self._decide(arrival, coin)
        if arrival.queue_packets >= self._limit:
            self._let_through = 0
            return "drop", "overflow"
        return answer

    def figures(self) -> dict[str, Decimal | None]:
        return {
            "average_queue_packets": self._average,
            "drop_probability": ZERO if self._is_below_range() else min(self._line(), ONE),
        }

    def _measure(self, arrival: Arrival) -> None:
        if arrival.queue_packets > 0:
            kept = (ONE - self._weight) * self._average
            self._average = kept + self._weight * arrival.queue_packets
        else:
            since = max(arrival.empty_since_ns, self._decayed_until_ns)
            missed = (arrival.time_ns - since) / self._typical_time_ns
            self._average *= power(ONE - self._weight, missed)
            self._decayed_until_ns = arrival.time_ns

    def _is_below_range(self) -> bool:
        return self._compare.below(self._average, self._low)

    def _line(self) -> Decimal:
        if self._compare.below(self._average, self._high):
            return self._ceiling * (self._average - self._low) / (self._high - self._low)
        if "gentle" not in self._on:
            return ONE
        return self._ceiling + (ONE - self._ceiling) * (self._average / self._high - ONE)

    def _decide(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        if self._is_below_range():
            self._let_through = 0
            return "accept", None
        probability = self._line()
        if probability == ONE or not self._compare.below(probability, ONE):
            self._let_through = 0
            return self._notify(arrival, "forced")
        if "byte_mode" in self._on:
            probability = min(ONE, probability * arrival.size_bytes / self._typical_size)
        left = ONE - self._let_through * probability
        if self._compare.below(coin() * left, probability):
            self._let_through = 0
            return self._notify(arrival, "early")
        self._let_through += 1
        return "accept", None

    def _notify(self, arrival: Arrival, reason: str) -> tuple[str, str | None]:
        spared = not (reason == "forced" and "drop_above_maximum" in self._on)
        if "ecn" in self._on and arrival.ecn_capable and spared:
            return "mark", None
        return "drop", reason


def _average_cases() -> list[Case]:
    published = {
        arrivals: Within(average, 0.0005)
        for arrivals, average in {10: 0.109, 20: 0.415, 50: 2.469, 100: 9.465}.items()
    }
    wide = {"limit": 1000.0, "min_threshold": 500.0, "max_threshold": 900.0}
    return [
        Case(
            name="the average while the queue grows by one packet an arrival",
            about="after L arrivals that meet 1, 2, ... L packets the average is L + 1 + "
            "((1 - w)^(L + 1) - 1) / w: 0.109, 0.415, 2.469, 9.465 for w = 0.002 and L = 10, 20, "
            "50, 100",
            parameters=wide | {"weight": 0.002},
            link=LINK,
            by_hand=True,
            steps=[step(queue, average=published.get(queue)) for queue in range(1, 101)],
        ),
        Case(
            name="the largest weight that lets a burst of 50 packets pass",
            about="with w = 0.0042 the same 50 arrivals bring the average to 5.005, the paper's "
            "minimum threshold of 5",
            parameters=wide | {"weight": 0.0042},
            link=LINK,
            by_hand=True,
            steps=[
                *(step(queue) for queue in range(1, 50)),
                step(50, average=Within(5.005, 0.0005)),
            ],
        ),
        Case(
            name="the answer to a step",
            about="a queue that jumps from 0 to 100: 100 (1 - 0.998^n) after n arrivals, so one "
            "half is passed between the 346th and 347th (346.2) and 63.212 % between the 499th "
            "and 500th (499.5 = -1 / ln 0.998)",
            parameters=wide | {"weight": 0.002},
            link=LINK,
            by_hand=True,
            steps=[
                step(100, times=346, average=49.977282015141),
                step(100, average=50.077327451111),
                step(100, times=152, average=63.175224964213),
                step(100, average=63.248874514284),
            ],
        ),
        Case(
            name="the average decays while the queue is empty",
            about="weight 1/2, typical packets of 1 ms: 8; empty for 3 ms: 8 / 2^3 = 1, with no "
            "step for the arrival itself; empty for half a millisecond: 1 / sqrt 2; empty only "
            "just now: unchanged. It makes no difference whether the link is busy",
            parameters={"weight": 0.5},
            link=LINK,
            by_hand=True,
            steps=[
                step(16, "accept", coins=[0.99], average=8.0, probability=0.006),
                step(0, time_ns=10 * MILLISECOND, empty_since_ns=7 * MILLISECOND, average=1.0),
                step(
                    0,
                    time_ns=20 * MILLISECOND,
                    empty_since_ns=19_500_000,
                    idle_since_ns=19_900_000,
                    average=0.7071067811865476,
                ),
                step(0, time_ns=21 * MILLISECOND, average=0.7071067811865476, probability=0.0),
                step(4, time_ns=22 * MILLISECOND, average=2.3535533905932738),
            ],
        ),
        Case(
            name="time for which the average has decayed is not counted again",
            about="weight 1/2, typical packets of 1 ms: 8; empty for 3 ms: 1, which is above the "
            "range, so that packet is dropped and the queue stays empty; the next comes 2 ms "
            "later: 1/4, not 1/32",
            parameters={"weight": 0.5, "min_threshold": 0.125, "max_threshold": 0.1875},
            link=LINK,
            by_hand=True,
            steps=[
                step(16, "drop forced", average=8.0),
                step(
                    0,
                    "drop forced",
                    time_ns=10 * MILLISECOND,
                    empty_since_ns=7 * MILLISECOND,
                    average=1.0,
                ),
                step(
                    0,
                    "drop forced",
                    time_ns=12 * MILLISECOND,
                    empty_since_ns=7 * MILLISECOND,
                    average=0.25,
                ),
            ],
        ),
        Case(
            name="the pace of the decay is that of the typical packet",
            about="weight 1/2, typical packets of 500 bytes at 4 Mbit/s take 1 ms: 4, then 2 ms "
            "empty: 1; whatever the size of the packets that arrive",
            parameters={"weight": 0.5, "mean_packet_size": 500.0},
            link=Link(rate_bit_per_s=4e6, delay_s=0.0),
            by_hand=True,
            steps=[
                step(8, size=40, average=4.0),
                step(0, size=1500, time_ns=5_000_000, empty_since_ns=3_000_000, average=1.0),
            ],
        ),
    ]


def _law_cases() -> list[Case]:
    # Weight 1: the average is the queue, so that probabilities can be read off.
    quarter = {
        "weight": 1.0,
        "min_threshold": 4.0,
        "max_threshold": 12.0,
        "max_probability": 0.5,
    }
    return [
        Case(
            name="at the thresholds and between",
            about="weight 1, so the average is the queue; thresholds 5 and 15, at most 0.02: 4 is "
            "below; at 5 the probability is 0 and nothing is dropped, whatever the coin; at 10 it "
            "is 0.01; at 14 0.018; at 15 everything goes, without a coin",
            parameters={"weight": 1.0},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(4, probability=0.0),
                step(5, coins=[0.0], probability=0.0),
                step(10, coins=[0.02], probability=0.01),
                step(4, probability=0.0),
                step(10, "drop early", coins=[0.0099], probability=0.01),
                step(14, "drop early", coins=[0.0179], probability=0.018),
                step(14, coins=[0.0181], probability=0.018),
                step(15, "drop forced", probability=1.0),
                step(16, "mark", ecn=True, probability=1.0),
            ],
        ),
        Case(
            name="the wait for a drop is uniform",
            about="p = 1/4: the chances of the packets after a drop are 1/4, 1/3, 1/2 and 1, so "
            "the drop comes with the first, second, third or fourth, each as likely. Below the "
            "range the count starts anew: the packet after is dropped with 1/4 again, not 1/3",
            parameters=quarter,
            link=LINK,
            by_hand=True,
            steps=[
                step(8, coins=[0.26], probability=0.25),
                step(8, coins=[0.34]),
                step(8, coins=[0.51]),
                step(8, "drop early", coins=[0.999999]),
                step(8, "drop early", coins=[0.24]),
                step(8, coins=[0.26]),
                step(8, "drop early", coins=[0.33]),
                step(8, coins=[0.26]),
                step(3, probability=0.0),
                step(8, coins=[0.3]),
                step(8, "drop early", coins=[0.3]),
            ],
        ),
        Case(
            name="a forced drop starts the count anew",
            about="p = 1/4: two packets pass, the queue reaches the maximum threshold, and the "
            "next in the range has the chance 1/4 of a first one",
            parameters=quarter,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(8, coins=[0.26]),
                step(8, coins=[0.34]),
                step(12, "drop forced", probability=1.0),
                step(8, coins=[0.26]),
                step(8, "drop early", coins=[0.32]),
            ],
        ),
        Case(
            name="ECN-capable packets are marked, others dropped",
            about="p = 1/4 and every coin is 0.1; full buffers (limit 20) mark nothing",
            parameters=quarter | {"limit": 20.0},
            link=LINK,
            by_hand=True,
            steps=[
                step(8, "mark", ecn=True, coins=[0.1]),
                step(8, "drop early", coins=[0.1]),
                step(13, "mark", ecn=True, probability=1.0),
                step(13, "drop forced"),
                step(20, "drop overflow", ecn=True),
            ],
        ),
        Case(
            name="with ECN off everything is dropped",
            about="as before, ecn off",
            parameters=quarter | {"ecn": False},
            link=LINK,
            by_hand=True,
            steps=[
                step(8, "drop early", ecn=True, coins=[0.1]),
                step(13, "drop forced", ecn=True),
            ],
        ),
        Case(
            name="RFC 3168's advice above the maximum threshold",
            about="drop_above_maximum: ECN-capable packets are marked in the range, dropped above",
            parameters=quarter | {"drop_above_maximum": True},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(8, "mark", ecn=True, coins=[0.1]),
                step(12, "drop forced", ecn=True),
                step(11, "mark", ecn=True, coins=[0.4]),
            ],
        ),
        Case(
            name="the gentle slope",
            about="thresholds 8 and 16, at most 1/4: at 16 1/4; at 24 1/4 + 3/4 of 1/2 = 5/8; at "
            "31 1/4 + 3/4 of 15/16 = 61/64; at 32, twice the threshold, everything goes",
            parameters={
                "weight": 1.0,
                "min_threshold": 8.0,
                "max_threshold": 16.0,
                "max_probability": 0.25,
                "gentle": True,
            },
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(15, "drop early", coins=[0.21], probability=0.21875),
                step(16, "drop early", coins=[0.24], probability=0.25),
                step(16, coins=[0.26], probability=0.25),
                step(24, "drop early", coins=[0.999], probability=0.625),
                step(24, coins=[0.63], probability=0.625),
                step(7, probability=0.0),
                step(31, "drop early", coins=[0.95], probability=0.953125),
                step(31, coins=[0.96], probability=0.953125),
                step(32, "drop forced", probability=1.0),
                step(33, "drop forced", probability=1.0),
            ],
        ),
        Case(
            name="byte mode",
            about="p = 1/4 for 1000 bytes: 1/8 for 500, 3/8 for 1500, 1 (at most) for 5000; after "
            "a first packet of 500 has passed, one of 1500 has 3/8 / (1 - 3/8) = 3/5. The "
            "published probability is that of the typical packet; above the maximum threshold "
            "size is nothing",
            parameters=quarter | {"byte_mode": True},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(8, "drop early", size=500, coins=[0.124], probability=0.25),
                step(8, size=500, coins=[0.126]),
                step(8, "drop early", size=1500, coins=[0.59]),
                step(8, size=1500, coins=[0.376]),
                step(8, "drop early", size=5000, coins=[0.999]),
                step(8, "drop early", size=5000, coins=[0.999]),
                step(12, "drop forced", size=40),
            ],
        ),
    ]


def _buffer_cases() -> list[Case]:
    return [
        Case(
            name="a full buffer drops, whatever the average says",
            about="limit 10, an average that hardly moves: queue 9 leaves room, 10 does not; ECN "
            "does not help",
            parameters={"limit": 10.0, "min_threshold": 5.0, "max_threshold": 8.0},
            link=LINK,
            by_hand=True,
            steps=[
                step(9, average=0.018),
                step(10, "drop overflow", average=0.037964),
                step(10, "drop overflow", ecn=True),
                step(9),
            ],
        ),
        Case(
            name="an overflow starts the count anew",
            about="p = 1/4 at 8 packets, limit 10 (p = 3/8 there): one packet passes, the next "
            "overflows though its coin would have let it pass, and the next has 1/4 again",
            parameters={
                "weight": 1.0,
                "min_threshold": 4.0,
                "max_threshold": 12.0,
                "max_probability": 0.5,
                "limit": 10.0,
            },
            link=LINK,
            by_hand=True,
            steps=[
                step(8, coins=[0.26]),
                step(10, "drop overflow", coins=[0.99], probability=0.375),
                step(8, coins=[0.26]),
                step(8, "drop early", coins=[0.32]),
            ],
        ),
        Case(
            name="new settings keep the average and the count",
            about="weight 1/2: average 8 after a queue of 16; p = 1/4 by the first settings. Then "
            "at most 1/4, so p = 1/8 at 8: with one packet already let through, 1/8 / (1 - 1/8) = "
            "1/7 = 0.1429. Twice the rate halves the time of a packet: 1 ms empty is two packets",
            parameters={
                "weight": 0.5,
                "min_threshold": 4.0,
                "max_threshold": 12.0,
                "max_probability": 0.5,
            },
            link=LINK,
            by_hand=True,
            steps=[
                step(16, coins=[0.3], average=8.0, probability=0.25),
                Settings(
                    {
                        "weight": 0.5,
                        "min_threshold": 4.0,
                        "max_threshold": 12.0,
                        "max_probability": 0.25,
                    },
                    Link(rate_bit_per_s=16e6, delay_s=0.01),
                ),
                step(8, "drop early", coins=[0.142], average=8.0, probability=0.125),
                step(0, time_ns=3 * MILLISECOND, empty_since_ns=2 * MILLISECOND, average=2.0),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    sizes = (40, 552, 1500)
    return [
        recorded(
            Red,
            "as published, with a quick average",
            "load rises and falls; the average crosses both thresholds and the queue empties",
            {"weight": 0.08, "max_probability": 0.1, "max_threshold": 14.0},
            LINK,
            program=RISE_AND_FALL,
        ),
        recorded(
            Red,
            "gentle, byte mode, three sizes",
            "packets of 40, 552 and 1500 bytes, the typical one of 600",
            {
                "weight": 0.1,
                "max_probability": 0.2,
                "min_threshold": 3.0,
                "max_threshold": 9.0,
                "gentle": True,
                "byte_mode": True,
                "mean_packet_size": 600.0,
                "drop_above_maximum": True,
            },
            Link(rate_bit_per_s=1.5e6, delay_s=0.05),
            program=[
                Stretch(1.0, 20, sizes=sizes),
                Stretch(3.0, 80, sizes=sizes),
                Stretch(0.4, 20, sizes=sizes),
                Stretch(1.2, 40, sizes=sizes),
            ],
        ),
        recorded(
            Red,
            "a slow average and a small buffer",
            "overflow long before the average notices; all packets ECN-capable",
            {"weight": 0.01, "limit": 12.0, "min_threshold": 2.0, "max_threshold": 6.0},
            LINK,
            program=[
                Stretch(4.0, 80, ecn_share=1.0),
                Pause(60 * MILLISECOND),
                Stretch(3.0, 60, ecn_share=1.0),
            ],
        ),
        recorded(
            Red,
            "settings and rate changed on the way",
            "three settings, the last at a quarter of the first rate",
            {"weight": 0.1, "max_probability": 0.3},
            LINK,
            program=[
                Stretch(2.0, 40),
                Settings({"weight": 0.05, "gentle": True, "max_probability": 0.5}, LINK),
                Stretch(1.5, 40),
                Settings(
                    {"weight": 0.2, "min_threshold": 1.0, "max_threshold": 4.0, "ecn": False},
                    Link(rate_bit_per_s=2e6, delay_s=0.01),
                ),
                Stretch(0.2, 30),
                Pause(5 * MILLISECOND),
                Stretch(0.6, 30),
            ],
        ),
    ]


def vectors() -> VectorFile:
    hand = [*_average_cases(), *_law_cases(), *_buffer_cases()]
    return VectorFile(
        discipline="red",
        source="S. Floyd, V. Jacobson, Random Early Detection Gateways for Congestion Avoidance, "
        "IEEE/ACM Transactions on Networking 1(4), 1993; S. Floyd, Recommendation on using the "
        "gentle_ variant of RED, 2000",
        machine=Red,
        cases=[*(verify(case, Red) for case in hand), *_simulated()],
    )
