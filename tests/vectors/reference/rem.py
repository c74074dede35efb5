"""Random Exponential Marking as ns-2.35 runs it, and with the constants of the paper before.

The rules:

- At every multiple of `interval`: a <- (1 - rate_weight) a + rate_weight n, where n packets
  arrived (dropped or not) since the last one; price <- price + gain (a + queue_weight (q -
  target_queue) - c), at least 0, q being the packets that wait and c those of the mean size that
  the link can send in an interval. An arrival or departure at that instant comes after it.
- The probability is 1 - base^-price.
- A packet that meets `limit` waiting packets is dropped. Else one that is ECN-capable, with ecn,
  joins and is marked with the probability when it leaves; any other is dropped with the
  probability when it arrives.
- Byte mode: n and q in bytes over the mean size; the probability times size over mean size.
- At probability 0 no coin is drawn.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from bottleneck import RISE_AND_FALL, Pause, Program, Stretch, recorded
from by_hand import leave, step, verify
from exact import ONE, ZERO, Comparison
from vector_file import Arrival, Case, Departure, Link, Parameters, Settings, VectorFile, Within

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000

Answer = tuple[str, str | None]

# What is in force where nothing is given.
FORMS: dict[str, dict[str, float | bool | str | None]] = {
    "ieee-network": {
        "target_queue": 20.0,
        "base": 1.001,
        "rate_weight": 1.0,
        "interval": 0.002,
    },
    "source-paper": {
        "target_queue": 0.0,
        "base": 1.04,
        "rate_weight": 0.02,
        "interval": 0.001,
    },
}


class Rem:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "form": "ieee-network",
        "limit": 100.0,
        "target_queue": None,
        "gain": 0.001,
        "base": None,
        "rate_weight": None,
        "queue_weight": 0.1,
        "interval": None,
        "mean_packet_size": 1000.0,
        "byte_mode": False,
        "ecn": True,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._comparison = comparison
        self._price = ZERO
        self._average = ZERO
        self._arrived = ZERO
        self._updated = 0
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        given = {name: value for name, value in parameters.items() if value is not None}
        self._parameters = FORMS[str(parameters["form"])] | given
        self._interval = int(self._number("interval") * 10**9)
        per_second = link.packets_per_second(self._number("mean_packet_size"))
        self._capacity = per_second * self._number("interval")

    def _number(self, name: str) -> Decimal:
        return Decimal(str(self._parameters[name]))

    def _packets(self, packets: int, size: int) -> Decimal:
        """So many packets of so many bytes altogether, in the unit in force."""
        if self._parameters["byte_mode"]:
            return size / self._number("mean_packet_size")
        return Decimal(packets)

    def _catch_up(self, now: int, queue: Decimal) -> None:
        while self._updated + self._interval <= now:
            self._updated += self._interval
            weight = self._number("rate_weight")
            self._average = (1 - weight) * self._average + weight * self._arrived
            self._arrived = ZERO
            excess = self._number("queue_weight") * (queue - self._number("target_queue"))
            change = self._number("gain") * (self._average + excess - self._capacity)
            self._price = max(ZERO, self._price + change)
            if change <= 0 and (self._average, self._price) == (ZERO, ZERO):
                # Nothing moves any more, however many intervals are still due.
                self._updated += (now - self._updated) // self._interval * self._interval

    def _probability(self) -> Decimal:
        return ONE - self._number("base") ** -self._price

    def _falls_on(self, size: int, coin: Callable[[], Decimal]) -> bool:
        probability = self._probability()
        if probability == 0:
            return False
        if self._parameters["byte_mode"]:
            probability *= size / self._number("mean_packet_size")
        return self._comparison.below(coin(), probability)

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> Answer:
        queue = self._packets(arrival.queue_packets, arrival.queue_bytes)
        self._catch_up(arrival.time_ns, queue)
        self._arrived += self._packets(1, arrival.size_bytes)
        if arrival.queue_packets >= self._number("limit"):
            return "drop", "overflow"
        marked_later = self._parameters["ecn"] and arrival.ecn_capable
        if not marked_later and self._falls_on(arrival.size_bytes, coin):
            return "drop", "early"
        return "accept", None

    def depart(self, departure: Departure, coin: Callable[[], Decimal]) -> Answer:
        packets = departure.queue_packets + 1
        queue = self._packets(packets, departure.queue_bytes + departure.size_bytes)
        self._catch_up(departure.time_ns, queue)
        markable = self._parameters["ecn"] and departure.ecn_capable
        if markable and self._falls_on(departure.size_bytes, coin):
            return "mark", None
        return "accept", None

    def figures(self) -> dict[str, Decimal | None]:
        return {"average_queue_packets": None, "drop_probability": self._probability()}


# Two packets to an interval of 2 ms; price 1 is a probability of 1/2, price 2 one of 3/4.
TWO: Parameters = {"base": 2.0, "gain": 0.5, "queue_weight": 0.5, "target_queue": 2.0}


def _hand_cases() -> list[Case]:
    return [
        Case(
            name="one update of the published example",
            about="32 Mbit/s, 1000 bytes: 8 packets to 2 ms. 10 arrive, 40 wait: the price becomes "
            "0.001 (10 + 0.1 (40 - 20) - 8) = 0.004, the probability 0.004 ln 1.001 = 3.998e-6",
            parameters={},
            link=Link(rate_bit_per_s=32e6, delay_s=0.01),
            by_hand=True,
            steps=[
                step(40, times=10, time_ns=MILLISECOND, probability=0.0),
                leave(
                    39,
                    time_ns=2 * MILLISECOND,
                    sojourn_ns=MILLISECOND,
                    probability=Within(3.998e-6, 1e-9),
                ),
            ],
        ),
        Case(
            name="the form of the source paper",
            about="4 packets to a millisecond. 104 arrive in the first: in is 0.02 x 104 = 2.08, "
            "and 40 wait: the price would move by 0.001 (0.1 x 40 + 2.08 - 4) = 0.00208. In the "
            "next nothing arrives: in is 2.0384, 0.001 (4 + 2.0384 - 4) more: 0.0041184. The "
            "probability is that times ln 1.04 = 0.0392207, 1.61513e-4 to first order. An "
            "ECN-capable packet is marked when it leaves",
            parameters={"form": "source-paper", "limit": 200.0},
            link=Link(rate_bit_per_s=32e6, delay_s=0.01),
            by_hand=True,
            steps=[
                step(40, times=104, ecn=True, time_ns=MILLISECOND // 2, probability=0.0),
                leave(
                    39,
                    ecn=True,
                    coins=[0.5],
                    time_ns=2 * MILLISECOND,
                    sojourn_ns=MILLISECOND,
                    probability=Within(1.6151e-4, 3e-8),
                ),
                step(40, ecn=True, time_ns=2 * MILLISECOND),
                leave(
                    39,
                    "mark",
                    ecn=True,
                    coins=[0.00016],
                    time_ns=2 * MILLISECOND,
                    sojourn_ns=MILLISECOND,
                ),
            ],
        ),
        Case(
            name="the price moves with arrivals and queue, once for each interval",
            about="base 2, gain 1/2, half weight for the queue, target 2, capacity 2. 4 arrivals, "
            "2 wait: (4 + 0 - 2) / 2 = 1: 1/2. Nothing arrives in the next interval, 6 "
            "wait: (0 + 2 - 2) / 2 = 0. In the next two, 4 wait: each (0 + 1 - 2) / 2: "
            "price 0",
            parameters=TWO,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(2, times=4, time_ns=MILLISECOND, probability=0.0),
                leave(1, time_ns=2 * MILLISECOND, sojourn_ns=0, probability=0.5),
                leave(5, time_ns=4 * MILLISECOND, sojourn_ns=0, probability=0.5),
                leave(3, time_ns=8 * MILLISECOND, sojourn_ns=0, probability=0.0),
                leave(0, time_ns=3600 * 10**9, sojourn_ns=0, probability=0.0),
            ],
        ),
        Case(
            name="packets are dropped on arrival, ECN-capable ones marked on leaving",
            about="4 arrivals and 2 waiting make the probability 1/2: coins 0.49 and 0.51 on each "
            "side; without ecn the ECN-capable packet is dropped, too",
            parameters=TWO,
            link=LINK,
            by_hand=True,
            steps=[
                step(2, times=4, time_ns=MILLISECOND),
                step(2, "drop early", coins=[0.49], time_ns=2 * MILLISECOND, probability=0.5),
                step(2, coins=[0.51], time_ns=2 * MILLISECOND),
                step(2, ecn=True, time_ns=2 * MILLISECOND),
                leave(1, time_ns=2 * MILLISECOND, sojourn_ns=0),
                leave(1, "mark", coins=[0.49], ecn=True, time_ns=2 * MILLISECOND, sojourn_ns=0),
                leave(1, coins=[0.51], ecn=True, time_ns=2 * MILLISECOND, sojourn_ns=0),
                Settings(TWO | {"ecn": False}, LINK),
                step(2, "drop early", coins=[0.49], ecn=True, time_ns=2 * MILLISECOND),
                leave(1, ecn=True, time_ns=2 * MILLISECOND, sojourn_ns=0),
            ],
        ),
        Case(
            name="arrivals are averaged with their weight",
            about="weight 1/4, no weight for the queue, gain 1: 12 arrivals make the average 3 and "
            "the price 3 - 2 = 1 (probability 1/2). None: 2.25, price 1.25. Then two "
            "intervals at once: 1.6875 and 1.265625, price 1.25 - 0.3125 - 0.734375 = 0.203125, "
            "probability 1 - 2^-0.203125 = 0.13133",
            parameters={"base": 2.0, "gain": 1.0, "queue_weight": 0.0, "rate_weight": 0.25},
            link=LINK,
            by_hand=True,
            steps=[
                step(2, times=12, time_ns=MILLISECOND),
                leave(1, time_ns=2 * MILLISECOND, sojourn_ns=0, probability=0.5),
                leave(1, time_ns=4 * MILLISECOND, sojourn_ns=0, probability=Within(0.57955, 1e-5)),
                leave(1, time_ns=8 * MILLISECOND, sojourn_ns=0, probability=Within(0.13133, 1e-5)),
            ],
        ),
        Case(
            name="byte mode",
            about="mean size 500, so 4 packets to an interval. Two of 1500 bytes are 6; 1500 bytes "
            "wait, which are 3, one above the target: (6 + 1/2 - 4) / 2 = 1.25. The probability "
            "1 - 2^-1.25 = 0.579552; for 100 bytes a fifth, 0.11591; for 1000 bytes 1.16, certain",
            parameters=TWO | {"byte_mode": True, "mean_packet_size": 500.0},
            link=LINK,
            by_hand=True,
            steps=[
                step(1, times=2, size=1500, queue_bytes=1500, time_ns=MILLISECOND),
                step(
                    1,
                    "drop early",
                    size=100,
                    queue_bytes=1500,
                    coins=[0.1159],
                    time_ns=2 * MILLISECOND,
                    probability=Within(0.579552, 1e-6),
                ),
                step(1, size=100, queue_bytes=1500, coins=[0.116], time_ns=2 * MILLISECOND),
                step(1, "drop early", queue_bytes=1500, coins=[0.999], time_ns=2 * MILLISECOND),
            ],
        ),
        Case(
            name="the buffer, and a rate that changes",
            about="limit 3. 3 arrivals with 2 waiting, one of them dropped: (3 + 0 - 2) / 2 = "
            "1/2. At half the rate the capacity is 1: 3 more make it 1/2 + (3 + 0 - 1) / 2 "
            "= 1.5",
            parameters=TWO | {"limit": 3.0},
            link=LINK,
            by_hand=True,
            steps=[
                step(2, times=2, time_ns=MILLISECOND),
                step(3, "drop overflow", ecn=True, time_ns=MILLISECOND),
                leave(1, time_ns=2 * MILLISECOND, sojourn_ns=0, probability=1 - 2**-0.5),
                Settings(TWO | {"limit": 3.0}, Link(rate_bit_per_s=4e6, delay_s=0.01)),
                step(2, times=3, ecn=True, time_ns=3 * MILLISECOND),
                leave(1, time_ns=4 * MILLISECOND, sojourn_ns=0, probability=1 - 2**-1.5),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    lively: Parameters = {"base": 1.1, "gain": 0.05, "target_queue": 5.0}
    sizes: Program = [
        Stretch(1.5, 100, sizes=(40, 552, 1514)),
        Stretch(0.5, 30),
        Pause(50 * MILLISECOND),
        Stretch(2.0, 60),
    ]
    return [
        recorded(
            Rem,
            "half of the packets ECN-capable",
            "load rises and falls",
            lively,
            LINK,
            program=RISE_AND_FALL,
        ),
        recorded(
            Rem,
            "byte mode, averaged arrivals, a small buffer",
            "three sizes and a pause",
            lively
            | {"byte_mode": True, "mean_packet_size": 600.0, "rate_weight": 0.1, "limit": 15.0},
            LINK,
            program=sizes,
        ),
        recorded(
            Rem,
            "the form without a target, settings changed on the way",
            "no ECN, then with",
            lively | {"target_queue": 0.0, "rate_weight": 0.02, "interval": 0.001, "ecn": False},
            LINK,
            program=[
                *sizes,
                Settings(
                    lively | {"target_queue": 0.0, "rate_weight": 0.5, "interval": 0.001},
                    Link(rate_bit_per_s=4e6, delay_s=0.01),
                ),
                *sizes,
            ],
        ),
        recorded(
            Rem,
            "from one form to the other",
            "the source paper's at its own pace, then that of IEEE Network",
            {"form": "source-paper", "gain": 0.05},
            LINK,
            program=[
                Stretch(2.0, 150),
                Stretch(0.5, 50),
                Settings({"gain": 0.5}, LINK),
                Stretch(2.0, 150),
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="rem",
        source="S. Athuraliya, V. Li, S. Low, Q. Yin, REM: Active Queue Management, IEEE Network "
        "15(3), 2001; ns-2.35, queue/rem.cc",
        machine=Rem,
        cases=[*(verify(case, Rem) for case in _hand_cases()), *_simulated()],
    )
