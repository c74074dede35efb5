"""RED Light: what the talk on "RED in a Different Light" (1998, 1999) says, filled up.

The rules:

- The queue is sampled, first at time 0. Samples due at or before an arrival or departure are taken
  before it, and see the queue that it meets (a packet whose turn it is still waits). After each a
  coin u is drawn (none if jitter is 0) and the next is due interval (1 + jitter (2 u - 1)) later,
  rounded to nanoseconds and at least one.
- Exception: if a sample is due more than 100 intervals ago, as many samples as whole intervals have
  passed are taken at once, and the next is counted from now.
- A sample is the time s that the link takes for the bytes that wait. "follow-down": f <- s if
  s < f, else f <- f + gain (s - f). "follow-up": f <- f + gain (s - f) if s < f, else f <- s.
- p = 0 if f < threshold, else base_probability^((c - f / threshold) / (c - 1)), at most 1, c being
  certain_at: base_probability at the threshold, 1 at c thresholds, and an exponential between.
- A packet that meets `limit` packets is dropped; the count starts anew. At p = 0 it is accepted,
  and the count starts anew. If fewer than least_queue packets wait, or the queue is by more than
  `emptying` packets shorter than at the last sample, it is accepted and not counted.
- Else p = 1: notify, without a coin. "uniform": notify with probability p / (1 - n p), n being the
  packets counted since the last notification. "regular": notify if n + 1 >= 1 / p. Otherwise the
  packet is counted. To notify is to mark an ECN-capable packet (with ecn) and to drop any other.
- Automatic, with the largest packet's time L: interval the larger of 1 ms and L; gain the inverse
  of round_trip / interval rounded down to a power of 2 (at least 1); threshold 0.3 round trips
  below 4 Mbit/s and else 0.2, at least 2 L.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from bottleneck import RISE_AND_FALL, Pause, Program, Settings, Stretch, recorded
from by_hand import leave, step, verify
from exact import ONE, ZERO, Comparison
from vector_file import Arrival, Case, Departure, Link, Parameters, VectorFile

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000
BILLION = Decimal(10) ** 9

Answer = tuple[str, str | None]


class RedLight:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 100.0,
        "round_trip": 0.1,
        "interval": None,
        "jitter": 0.5,
        "gain": None,
        "filter": "follow-down",
        "threshold": None,
        "base_probability": 0.01,
        "certain_at": 4.0,
        "spacing": "uniform",
        "emptying": 1.0,
        "least_queue": 2.0,
        "max_packet_size": 1500.0,
        "ecn": True,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._compare = comparison
        self._filter = ZERO
        self._sampled = 0
        self._next_sample = 0
        self._count = 0
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        self._parameters = parameters
        self._byte_time = 8 / link.rate
        largest = self._number("max_packet_size") * self._byte_time
        self._interval = self._given("interval", max(Decimal("0.001"), largest))
        # A share of the round trip; equal numbers are exact here.
        samples = self._number("round_trip") / self._interval
        power = 0
        while 2 ** (power + 1) <= samples:
            power += 1
        self._gain = self._given("gain", ONE / 2**power)
        share = Decimal("0.3") if link.rate < 4 * 10**6 else Decimal("0.2")
        self._threshold = self._given(
            "threshold", max(share * self._number("round_trip"), 2 * largest)
        )

    def _given(self, name: str, automatic: Decimal) -> Decimal:
        value = self._parameters[name]
        return automatic if value is None else Decimal(str(value))

    def _number(self, name: str) -> Decimal:
        return Decimal(str(self._parameters[name]))

    def _catch_up(self, now: int, packets: int, size: int, coin: Callable[[], Decimal]) -> None:
        delay = size * self._byte_time
        while self._next_sample <= now:
            due = (now - self._next_sample) / (self._interval * BILLION)
            if self._compare.below(Decimal(100), due):
                for _ in range(self._compare.whole_part(due)):
                    self._sample(delay)
                self._next_sample = now
            else:
                self._sample(delay)
            self._sampled = packets
            turn = ZERO
            if self._number("jitter") > 0:
                turn = self._number("jitter") * (2 * coin() - 1)
            until_next = self._interval * (1 + turn) * BILLION
            # Which way a half is rounded must not matter.
            self._compare.whole_part(until_next + Decimal("0.5"))
            self._next_sample += max(1, round(until_next))

    def _sample(self, delay: Decimal) -> None:
        # Where the two are close both branches give the same.
        falls = delay < self._filter
        if falls == (self._parameters["filter"] == "follow-down"):
            self._filter = delay
        else:
            self._filter += self._gain * (delay - self._filter)

    def _probability(self) -> Decimal:
        if self._compare.below(self._filter, self._threshold):
            return ZERO
        end = self._number("certain_at")
        part = (end - self._filter / self._threshold) / (end - 1)
        law = self._number("base_probability") ** part
        return law if self._compare.below(law, ONE) else ONE

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> Answer:
        self._catch_up(arrival.time_ns, arrival.queue_packets, arrival.queue_bytes, coin)
        if arrival.queue_packets >= self._number("limit"):
            self._count = 0
            return "drop", "overflow"
        probability = self._probability()
        if probability == ZERO:
            self._count = 0
            return "accept", None
        few = arrival.queue_packets < self._number("least_queue")
        if few or self._sampled - arrival.queue_packets > self._number("emptying"):
            return "accept", None
        if self._spares(probability, coin):
            self._count += 1
            return "accept", None
        self._count = 0
        if self._parameters["ecn"] and arrival.ecn_capable:
            return "mark", None
        return "drop", "forced" if probability == ONE else "early"

    def _spares(self, probability: Decimal, coin: Callable[[], Decimal]) -> bool:
        if probability == ONE:
            return False
        if self._parameters["spacing"] == "regular":
            return self._compare.below((self._count + 1) * probability, ONE)
        left = ONE - self._count * probability
        return not self._compare.below(coin() * left, probability)

    def depart(self, departure: Departure, coin: Callable[[], Decimal]) -> Answer:
        size = departure.queue_bytes + departure.size_bytes
        self._catch_up(departure.time_ns, departure.queue_packets + 1, size, coin)
        return "accept", None

    def figures(self) -> dict[str, Decimal | None]:
        return {"average_queue_packets": None, "drop_probability": self._probability()}


# Samples each 10 ms without chance, a threshold of 8 packets (8 ms), and the law
# 2^(f / 8 ms - 1) / 16: 1/16 at 8, 1/8 at 16, 1 at 40.
EVEN: Parameters = {
    "interval": 0.01,
    "jitter": 0.0,
    "gain": 0.5,
    "threshold": 0.008,
    "base_probability": 0.0625,
    "certain_at": 5.0,
}


def _hand() -> list[Case]:
    return [
        Case(
            name="up by an average, down at once",
            about="samples at 0 (empty), 10, 20, 30 ... ms, each of what the next event meets: 16 "
            "packets, f = 8 ms, p = 1/16; 24: f = 16, p = 1/8; 10: f = 10 at once, "
            "2^(1/4) / 16; 14: 12, 2^(1/2) / 16; 0: 0",
            parameters=EVEN,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(0, probability=0.0),
                step(16, time_ns=10 * MILLISECOND, coins=[0.9], probability=0.0625),
                step(24, time_ns=20 * MILLISECOND, coins=[0.9], probability=0.125),
                leave(
                    9,
                    time_ns=30 * MILLISECOND,
                    sojourn_ns=MILLISECOND,
                    probability=0.07432544468767006,
                ),
                leave(
                    13,
                    time_ns=40 * MILLISECOND,
                    sojourn_ns=MILLISECOND,
                    probability=0.08838834764831845,
                ),
                step(0, time_ns=50 * MILLISECOND, probability=0.0),
            ],
        ),
        Case(
            name="read the other way: up at once, down by an average",
            about="16: f = 16 ms, p = 1/8; 0: f = 8, 1/16; 48: f = 48, certain; 0: f = 24, 1/4",
            parameters=EVEN | {"filter": "follow-up"},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(0),
                step(16, time_ns=10 * MILLISECOND, coins=[0.9], probability=0.125),
                step(0, time_ns=20 * MILLISECOND, probability=0.0625),
                step(48, "drop forced", time_ns=30 * MILLISECOND, probability=1.0),
                step(0, time_ns=40 * MILLISECOND, probability=0.25),
            ],
        ),
        Case(
            name="the samples that were due see the queue since the last event",
            about="nothing for 35 ms: three samples (10, 20, 30) of the 16 packets met: 8, 12, "
            "14 ms: 2^(3/4) / 16; the next at 40: 15 ms",
            parameters=EVEN,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(0),
                step(16, time_ns=35 * MILLISECOND, coins=[0.9], probability=0.10511205190671433),
                step(16, time_ns=39 * MILLISECOND, coins=[0.9], probability=0.10511205190671433),
                step(16, time_ns=40 * MILLISECOND, coins=[0.9], probability=0.1146255054005839),
            ],
        ),
        Case(
            name="more than a hundred samples are taken by their number",
            about="gain 1/1024: at 1015 ms 100.5 intervals have passed since 10 ms: 100 samples, "
            "f = 16 (1 - (1023/1024)^100) = 1.49 ms; the next at 1025 ms. The threshold is 1 ms "
            "and p doubles with each: 2^0.49 / 16",
            parameters=EVEN | {"gain": 0.0009765625, "threshold": 0.001},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(0),
                step(
                    16,
                    time_ns=1015 * MILLISECOND,
                    coins=[0.9],
                    probability=0.08773659357254059,
                ),
                step(
                    16,
                    time_ns=1024 * MILLISECOND,
                    coins=[0.9],
                    probability=0.08773659357254059,
                ),
            ],
        ),
        Case(
            name="who is spared",
            about="p = 1/8 with f = 16. Fewer than 2 wait; by 2 fewer than the 32 of the last "
            "sample; by 1 fewer is tested. Neither of the spared is counted: the coin 0.13 is "
            "above 1/8, and then 0.14 x 7/8 is below it. The full buffer comes first",
            parameters=EVEN,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(0),
                step(32, time_ns=10 * MILLISECOND, coins=[0.13], probability=0.125),
                step(1, time_ns=11 * MILLISECOND),
                step(30, time_ns=12 * MILLISECOND),
                step(31, "drop early", time_ns=13 * MILLISECOND, coins=[0.14], probability=0.125),
                step(100, "drop overflow", time_ns=14 * MILLISECOND),
                step(32, "mark", time_ns=15 * MILLISECOND, ecn=True, coins=[0.12]),
            ],
        ),
        Case(
            name="every eighth packet",
            about="p = 1/8, regular: seven pass and the eighth does not, without a coin",
            parameters=EVEN | {"spacing": "regular"},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(0),
                step(32, times=7, time_ns=10 * MILLISECOND, probability=0.125),
                step(32, "drop early", time_ns=10 * MILLISECOND),
                step(32, times=7, time_ns=10 * MILLISECOND),
                step(32, "mark", time_ns=10 * MILLISECOND, ecn=True),
            ],
        ),
        Case(
            name="the times of the samples are drawn",
            about="coin 0: the next sample after 5 ms; 0.75: after 12.5 ms more. f = 8 at 5 ms; "
            "12 at 17.5 ms, not a nanosecond before",
            parameters=EVEN | {"jitter": 0.5},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(0, coins=[0.0]),
                step(16, time_ns=5 * MILLISECOND, coins=[0.75, 0.9], probability=0.0625),
                step(16, time_ns=17_499_999, coins=[0.9], probability=0.0625),
                step(16, time_ns=17_500_000, coins=[0.5, 0.9], probability=0.08838834764831845),
            ],
        ),
        Case(
            name="what is automatic at 1.5 Mbit/s",
            about="a packet of 1500 bytes takes 8 ms, the interval; 12.5 samples in 100 ms, so a "
            "gain of 1/8; a threshold of 30 ms. 44 packets of 1000 bytes for one sample are 29.3 "
            "ms, below; 46 are 30.67 ms: 0.01 x 100^(0.67 / 90)",
            parameters={"jitter": 0.0},
            link=Link(rate_bit_per_s=1.5e6, delay_s=0.01),
            by_hand=True,
            ties=True,
            steps=[
                step(0, probability=0.0),
                step(44, time_ns=8 * MILLISECOND, probability=0.0),
                step(0, time_ns=16 * MILLISECOND, probability=0.0),
                step(46, time_ns=24 * MILLISECOND, coins=[0.9], probability=0.010347008713411985),
            ],
        ),
        Case(
            name="what is automatic at 8 Mbit/s",
            about="1.5 ms; 66.7 samples, 1/64; 20 ms. One sample of 1270 packets is 19.8 ms, "
            "below; one of 6400 is 100 ms, five thresholds",
            parameters={"jitter": 0.0, "limit": 10000.0},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(0, probability=0.0),
                step(1270, time_ns=1_500_000, probability=0.0),
                step(0, time_ns=3_000_000, probability=0.0),
                step(6400, "drop forced", time_ns=4_500_000, probability=1.0),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    lively: Parameters = {
        "interval": 0.0013001,
        "gain": 0.25,
        "threshold": 0.0031,
        "base_probability": 0.05,
        "certain_at": 3.0,
    }
    sizes: Program = [
        Stretch(1.5, 100, sizes=(40, 552, 1514)),
        Stretch(0.5, 30),
        Pause(50 * MILLISECOND),
        Stretch(2.0, 60),
    ]
    return [
        recorded(
            RedLight,
            "the load rises and falls",
            "half of the packets can be marked",
            lively,
            LINK,
            program=RISE_AND_FALL,
        ),
        recorded(
            RedLight,
            "three sizes, a small buffer, a long pause",
            "many samples at once after the pause",
            lively | {"limit": 12.0, "emptying": 0.0},
            LINK,
            program=[*sizes, Pause(3000 * MILLISECOND), *sizes],
        ),
        recorded(
            RedLight,
            "read otherwise, settings and link changed on the way",
            "up at once, regular drops; then down at once with other times",
            lively | {"filter": "follow-up", "spacing": "regular", "ecn": False},
            LINK,
            program=[
                *sizes,
                Settings(
                    lively | {"interval": 0.0027001, "jitter": 0.9, "threshold": 0.0047},
                    Link(rate_bit_per_s=4e6, delay_s=0.01),
                ),
                *sizes,
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="red-light",
        source="after V. Jacobson, K. Nichols, K. Poduri, RED in a Different Light, draft, 1999, "
        "as read in crates/aqm/src/red_light.rs",
        machine=RedLight,
        cases=[*(verify(case, RedLight) for case in _hand()), *_simulated()],
    )
