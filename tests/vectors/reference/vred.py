"""VRED (Jamali, Alipasandi and Alipasandi 2013), with the readings that the repository offers.

The machine is that of `ns2_red`. At each arrival, after the average has moved, with q the queue met
(in packets; byte mode: bytes over the mean size), and change and elapsed those since the last
observation (at first: an empty queue at time 0):

- threshold_role "trigger": an observation is made if |change| >= growth_threshold or elapsed >=
  observation_time. "dead-band": if elapsed >= observation_time, and a change below growth_threshold
  counts as none.
- An observation has the velocity v = change / elapsed over the packets of the mean size that the
  link sends in a second; a change in no time is faster than all. Its level: the first of edge_1,
  edge_2, edge_3 that is at least |v|, else the fourth. r = 1 + gain of the level if the queue grew,
  1 - gain if it shrank, 1 if it did not change.
- action "multiply": from then on the probability is r times that of RED, at most 1.
- action "integrate": max_probability <- max_probability r, kept between lowest_probability and
  highest_probability (if r is not 1); the probability is RED's.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from bottleneck import RISE_AND_FALL, Pause, Settings, Stretch, recorded
from by_hand import step, verify
from exact import ONE, ZERO, Comparison
from ns2_red import Ns2Red
from vector_file import Arrival, Case, Link, Parameters, VectorFile

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000

# Weight 1: the average is the queue; at q packets RED's probability is 0.01 (q - 4).
DIRECT: Parameters = {
    "weight": 1.0,
    "min_threshold": 4.0,
    "max_threshold": 24.0,
    "max_probability": 0.2,
    "mark_probability": 1.0,
    "gentle": False,
    "threshold_role": "trigger",
}
PASS = [0.999999]


class Vred(Ns2Red):
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        **Ns2Red.DEFAULTS,
        "action": "multiply",
        "threshold_role": "dead-band",
        "growth_threshold": 5.0,
        "observation_time": 0.1,
        "edge_1": 0.1,
        "edge_2": 0.3,
        "edge_3": 0.6,
        "gain_1": 0.05,
        "gain_2": 0.1,
        "gain_3": 0.2,
        "gain_4": 0.4,
        "lowest_probability": 0.01,
        "highest_probability": 0.5,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        # In bytes or packets, as RED measures.
        self._seen = ZERO
        self._seen_at = 0
        self._ratio = ONE
        super().__init__(parameters, link, comparison)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        super().reconfigure(parameters, link)
        self._own = parameters
        self._unit = self._mean_size if "byte_mode" in self._on else ONE
        if parameters["action"] == "integrate":
            self._ratio = ONE

    def _number(self, name: str) -> Decimal:
        return Decimal(str(self._own[name]))

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        in_bytes = "byte_mode" in self._on
        self._met = Decimal(arrival.queue_bytes if in_bytes else arrival.queue_packets)
        return super().arrive(arrival, coin)

    def adapt(self, now_ns: int) -> None:
        change = (self._met - self._seen) / self._unit
        elapsed = now_ns - self._seen_at
        is_small = self.compare.below(abs(change), self._number("growth_threshold"))
        is_late = elapsed >= int(self._number("observation_time") * 10**9)
        is_dead_band = self._own["threshold_role"] == "dead-band"
        if not is_late and (is_small or is_dead_band):
            return
        self._seen, self._seen_at = self._met, now_ns
        if is_dead_band and is_small:
            change = ZERO
        ratio = self._ratio_of(change, elapsed)
        if self._own["action"] == "multiply":
            self._ratio = ratio
        elif ratio != ONE:
            lowest, highest = (
                self._number("lowest_probability"),
                self._number("highest_probability"),
            )
            self.max_probability = min(highest, max(lowest, self.max_probability * ratio))

    def _ratio_of(self, change: Decimal, elapsed_ns: int) -> Decimal:
        if change == 0:
            return ONE
        level = 4
        if elapsed_ns > 0:
            velocity = abs(change) / (Decimal(elapsed_ns) / 10**9) / self._pace
            for number in (3, 2, 1):
                if self.compare.at_most(velocity, self._number(f"edge_{number}")):
                    level = number
        gain = self._number(f"gain_{level}")
        return ONE + gain if change > 0 else ONE - gain

    def _line(self) -> Decimal:
        line = super()._line() * self._ratio
        return min(ONE, line)

    def figures(self) -> dict[str, Decimal | None]:
        return super().figures() | {"max_probability": self.max_probability}


def _hand() -> list[Case]:
    return [
        Case(
            name="the velocity multiplies the probability",
            about="a packet to a millisecond. 10 packets in 10 ms: 1, the fourth level, 1.4 x "
            "0.06; in force at 11 ms too. 6 in 21 ms: 0.29, the second, 1.1 x 0.12. -5 in 49 ms: "
            "0.102, 0.9 x 0.07. Nothing new until 100 ms have passed; then the queue stands "
            "still: 0.07. 6 in no time: 1.4 x 0.13. -5 in 1 ms: 0.6 x 0.08. 5 in 10 ms: 0.5, the "
            "third, 1.2 x 0.13",
            parameters=DIRECT,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(10, time_ns=10 * MILLISECOND),
                step(10, time_ns=11 * MILLISECOND, coins=PASS, probability=0.084),
                step(16, time_ns=31 * MILLISECOND, coins=PASS, probability=0.132),
                step(11, time_ns=80 * MILLISECOND, coins=PASS, probability=0.063),
                step(11, time_ns=179 * MILLISECOND, coins=PASS, probability=0.063),
                step(11, time_ns=180 * MILLISECOND, coins=PASS, probability=0.07),
                step(17, time_ns=180 * MILLISECOND, coins=PASS, probability=0.182),
                step(12, time_ns=181 * MILLISECOND, coins=PASS, probability=0.048),
                step(17, time_ns=191 * MILLISECOND, coins=PASS, probability=0.156),
            ],
        ),
        Case(
            name="as a trigger, time alone makes a small velocity count",
            about="4 packets in 100 ms: 0.04, the first level: at 5 1.05 x 0.01 (the range is "
            "entered there); 99 ms later 1 packet is nothing new, 100 ms later 1.05 x 0.02",
            parameters=DIRECT,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(4, time_ns=99 * MILLISECOND),
                step(4, time_ns=100 * MILLISECOND, coins=PASS, probability=0.0),
                step(5, time_ns=199 * MILLISECOND, coins=PASS, probability=0.0105),
                step(6, time_ns=200 * MILLISECOND, coins=PASS, probability=0.021),
            ],
        ),
        Case(
            name="a dead band: a change below the threshold is none",
            about="nothing is looked at before 100 ms: 0.06 at 10. 10 packets in 100 ms: 0.1, the "
            "first level, 1.05. 4 more in 100 ms: none, 0.1. -5 in 100 ms: 0.95 x 0.05",
            parameters=DIRECT | {"threshold_role": "dead-band"},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(10, time_ns=10 * MILLISECOND),
                step(10, time_ns=11 * MILLISECOND, coins=PASS, probability=0.06),
                step(10, time_ns=100 * MILLISECOND, coins=PASS, probability=0.063),
                step(14, time_ns=199 * MILLISECOND, coins=PASS, probability=0.105),
                step(14, time_ns=200 * MILLISECOND, coins=PASS, probability=0.1),
                step(9, time_ns=300 * MILLISECOND, coins=PASS, probability=0.0475),
            ],
        ),
        Case(
            name="the velocity moves max_probability",
            about="0.2 x 1.4 = 0.28 at 10 ms, 0.084 at 10; 1.4 x 0.28 = 0.392, and 0.5 is the "
            "most; then 0.6 x 0.5 = 0.3 and 0.6 x 0.3 = 0.18, each 5 packets in 1 ms",
            parameters=DIRECT | {"action": "integrate"},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(10, time_ns=10 * MILLISECOND, max_probability=0.28),
                step(
                    10,
                    time_ns=11 * MILLISECOND,
                    coins=PASS,
                    max_probability=0.28,
                    probability=0.084,
                ),
                step(15, time_ns=12 * MILLISECOND, coins=PASS, max_probability=0.392),
                step(
                    20,
                    "drop early",
                    time_ns=13 * MILLISECOND,
                    coins=[0.9],
                    max_probability=0.5,
                    probability=0.4,
                ),
                step(15, time_ns=14 * MILLISECOND, coins=PASS, max_probability=0.3),
                step(
                    10,
                    time_ns=15 * MILLISECOND,
                    coins=PASS,
                    max_probability=0.18,
                    probability=0.054,
                ),
                step(0, time_ns=16 * MILLISECOND, max_probability=0.108),
            ],
        ),
        Case(
            name="a growing queue can make a drop certain, a shrinking one takes certainty away",
            about="max_probability 1: at 20 0.8 x 1.4 is 1; at 26, above the range, 0.6 x 1 once "
            "the queue has fallen from 31",
            parameters=DIRECT | {"max_probability": 1.0},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(10, time_ns=10 * MILLISECOND),
                step(20, "drop forced", time_ns=20 * MILLISECOND, coins=PASS, probability=1.0),
                step(31, "drop forced", time_ns=21 * MILLISECOND, coins=PASS, probability=1.0),
                step(26, time_ns=22 * MILLISECOND, coins=PASS, probability=0.6),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    lively: Parameters = {
        "threshold_role": "trigger",
        "weight": 0.1,
        "min_threshold": 2.0,
        "max_threshold": 8.0,
        "growth_threshold": 2.2,
        "observation_time": 0.012,
        "mark_probability": 0.5,
    }
    in_bytes = lively | {"byte_mode": True, "mean_packet_size": 600.0, "limit": 30.0}
    two_sizes = Stretch(2.0, 60, sizes=(300, 1200))
    return [
        recorded(
            Vred,
            "the load rises and falls",
            "the velocity multiplies; without wait",
            lively | {"wait": False},
            LINK,
            program=RISE_AND_FALL,
        ),
        recorded(
            Vred,
            "the load rises and falls, max_probability with it",
            "a dead band; without wait",
            lively | {"wait": False, "action": "integrate", "threshold_role": "dead-band"},
            LINK,
            program=RISE_AND_FALL,
        ),
        recorded(
            Vred,
            "byte mode, settings and link changed on the way",
            "multiplied, then integrated on a slower link",
            in_bytes,
            LINK,
            program=[
                two_sizes,
                Pause(20 * MILLISECOND),
                two_sizes,
                Settings(
                    in_bytes | {"action": "integrate", "gain_3": 0.3, "edge_1": 0.2},
                    Link(rate_bit_per_s=4e6, delay_s=0.01),
                ),
                two_sizes,
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="vred",
        source="S. Jamali, B. Alipasandi, N. Alipasandi, VRED, J. Advances in Computer Research "
        "4(1), 2013, as read in crates/aqm/src/vred.rs",
        machine=Vred,
        cases=[*(verify(case, Vred) for case in _hand()), *_simulated()],
    )
