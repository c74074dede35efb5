"""BLUE.

The rules:

- The probability starts at 0. It rises by `increment`, to at most 1, when a packet meets `limit`
  waiting packets (which drops it) or more than `high_queue`, if `freeze_time` has passed since it
  last moved or it never has.
- While the link is idle it falls by `decrement`, to at least 0, as soon as `freeze_time` has
  passed since it last moved, and again each `freeze_time`; also at the instant of an arrival that
  finds the link idle, before that packet is looked at. At 0 it does not move.
- Otherwise an arriving packet on which the coin falls is marked if it is ECN-capable and `ecn` is
  on, else dropped. At 0 no coin is drawn.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause, Program, Stretch, recorded
from by_hand import step, verify
from exact import ONE, ZERO, Comparison
from vector_file import Arrival, Case, Link, Parameters, Settings, VectorFile

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000
LONG_AGO = -(10**15)


class Blue:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 100.0,
        "increment": 0.0025,
        "decrement": 0.00025,
        "freeze_time": 0.1,
        "high_queue": None,
        "ecn": True,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._comparison = comparison
        self._probability = ZERO
        self._moved = LONG_AGO
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        del link
        self._parameters = parameters
        self._freeze = int(self._number("freeze_time") * 10**9)

    def _number(self, name: str) -> Decimal:
        return Decimal(str(self._parameters[name]))

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        now, queue = arrival.time_ns, arrival.queue_packets
        if arrival.idle_since_ns is not None:
            instant = max(arrival.idle_since_ns, self._moved + self._freeze)
            while instant <= now and self._probability > 0:
                self._probability = max(self._probability - self._number("decrement"), ZERO)
                self._moved = instant
                instant += self._freeze
        full = queue >= self._number("limit")
        long = self._parameters["high_queue"] is not None and queue > self._number("high_queue")
        if (full or long) and now >= self._moved + self._freeze:
            self._probability = min(self._probability + self._number("increment"), ONE)
            self._moved = now
        if full:
            return "drop", "overflow"
        if self._probability == 0 or not self._comparison.below(coin(), self._probability):
            return "accept", None
        if self._parameters["ecn"] and arrival.ecn_capable:
            return "mark", None
        return "drop", "early"

    def figures(self) -> dict[str, Decimal | None]:
        return {"average_queue_packets": None, "drop_probability": self._probability}


SMALL: Parameters = {"limit": 4.0, "increment": 0.25, "decrement": 0.0625, "freeze_time": 0.01}


def _hand_cases() -> list[Case]:
    ms = MILLISECOND
    return [
        Case(
            name="losses raise the probability, once in a freeze time",
            about="up by 1/4 at 3 ms; not at 12.999999 ms; again at 13 ms: 1/2. Coins 0.49 and "
            "0.51",
            parameters=SMALL,
            link=LINK,
            by_hand=True,
            steps=[
                step(3, time_ns=2 * ms, probability=0.0),
                step(4, "drop overflow", time_ns=3 * ms, probability=0.25),
                step(4, "drop overflow", ecn=True, time_ns=13 * ms - 1, probability=0.25),
                step(4, "drop overflow", time_ns=13 * ms, probability=0.5),
                step(3, "drop early", coins=[0.49], time_ns=13 * ms, probability=0.5),
                step(3, "mark", coins=[0.49], ecn=True, time_ns=13 * ms),
                step(3, coins=[0.51], time_ns=13 * ms),
                Settings(SMALL | {"ecn": False}, LINK),
                step(3, "drop early", coins=[0.49], ecn=True, time_ns=13 * ms, probability=0.5),
            ],
        ),
        Case(
            name="an idle link lowers it, once in a freeze time",
            about="1/4 at 3 ms. Idle from 5 to 38 ms: down by 1/16 at 13, 23 and 33: 1/16. Idle "
            "from 39 to 42 ms: nothing is due before 43. Idle from 41 to 43: down to 0, and no "
            "coin is drawn. After an hour of idleness an overflow raises it at once",
            parameters=SMALL,
            link=LINK,
            by_hand=True,
            steps=[
                step(4, "drop overflow", time_ns=3 * ms, probability=0.25),
                step(0, coins=[0.9], time_ns=38 * ms, idle_since_ns=5 * ms, probability=0.0625),
                step(0, coins=[0.9], time_ns=42 * ms, idle_since_ns=39 * ms, probability=0.0625),
                step(0, time_ns=43 * ms, idle_since_ns=41 * ms, probability=0.0),
                step(4, "drop overflow", time_ns=52 * ms, probability=0.0),
                step(0, time_ns=3600 * 1000 * ms, idle_since_ns=60 * ms, probability=0.0),
                step(4, "drop overflow", time_ns=3600 * 1000 * ms, probability=0.25),
            ],
        ),
        Case(
            name="a long queue raises it, too, and it ends at 1",
            about="high_queue 2, increment 3/4: 3 waiting at 1 ms make it 3/4, and the coin 0.74 "
            "falls on that packet; at 11 ms it is 1, and every coin falls; 2 waiting are not more",
            parameters=SMALL | {"high_queue": 2.0, "increment": 0.75},
            link=LINK,
            by_hand=True,
            steps=[
                step(2, time_ns=ms, probability=0.0),
                step(3, "drop early", coins=[0.74], time_ns=ms, probability=0.75),
                step(2, coins=[0.76], time_ns=11 * ms, probability=0.75),
                step(3, "drop early", coins=[0.999], time_ns=11 * ms, probability=1.0),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    lively: Parameters = {"limit": 12.0, "freeze_time": 0.008}
    lively |= {"increment": 0.0625, "decrement": 0.03125}
    program: Program = [
        Stretch(0.8, 20),
        Stretch(2.5, 80),
        Stretch(0.4, 60),
        Pause(17 * MILLISECOND),
        Stretch(1.8, 60),
        Stretch(0.3, 30),
    ]
    return [
        recorded(
            Blue,
            "half of the packets ECN-capable",
            "load rises and falls",
            lively,
            LINK,
            program=program,
        ),
        recorded(
            Blue,
            "settings changed on the way",
            "without ECN and with a high queue, then as before",
            lively | {"high_queue": 5.0, "ecn": False},
            LINK,
            program=[*program, Settings(lively | {"freeze_time": 0.003}, LINK), *program],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="blue",
        source="W. Feng, K. Shin, D. Kandlur, D. Saha, The BLUE Active Queue Management "
        "Algorithms, IEEE/ACM Transactions on Networking 10(4), 2002",
        machine=Blue,
        cases=[*(verify(case, Blue) for case in _hand_cases()), *_simulated()],
    )
