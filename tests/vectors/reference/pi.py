"""The proportional integral controller of INFOCOM 2001, as ns-2.35 runs it.

The rules:

- At every multiple of 1 / `updates_per_second`, rounded to nanoseconds: p <- p + a (q - target) -
  b (q' - target), held between 0 and 1, where q packets wait and q' waited the last time (0 at
  first). An arrival or departure at that instant comes after it.
- A packet that meets `limit` waiting packets is dropped. Else one on which the coin falls (is
  below p) is marked if it is ECN-capable and `ecn` is on, else dropped. At p = 0 no coin is
  drawn.
- Byte mode: q in bytes over the mean size; p times size over mean size.
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


class Pi:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 100.0,
        "target_queue": 50.0,
        "a": 1.822e-5,
        "b": 1.816e-5,
        "updates_per_second": 170.0,
        "mean_packet_size": 500.0,
        "byte_mode": False,
        "ecn": True,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._comparison = comparison
        self._probability = ZERO
        # Packets and bytes that waited at the last sample.
        self._last = (0, 0)
        self._sampled = 0
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        del link
        self._parameters = parameters
        self._interval = round(10**9 / self._number("updates_per_second"))

    def _number(self, name: str) -> Decimal:
        return Decimal(str(self._parameters[name]))

    def _excess(self, queue: tuple[int, int]) -> Decimal:
        packets, size = queue
        measured = Decimal(packets)
        if self._parameters["byte_mode"]:
            measured = size / self._number("mean_packet_size")
        return measured - self._number("target_queue")

    def _sample_until(self, now: int, queue: tuple[int, int]) -> None:
        while self._sampled + self._interval <= now:
            self._sampled += self._interval
            proportional = self._number("a") * self._excess(queue)
            change = proportional - self._number("b") * self._excess(self._last)
            probability = min(max(self._probability + change, ZERO), ONE)
            if (probability, queue) == (self._probability, self._last):
                # Nothing moves any more, however many samples are still due.
                self._sampled += (now - self._sampled) // self._interval * self._interval
            self._probability, self._last = probability, queue

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        self._sample_until(arrival.time_ns, (arrival.queue_packets, arrival.queue_bytes))
        if arrival.queue_packets >= self._number("limit"):
            return "drop", "overflow"
        if self._probability == 0:
            return "accept", None
        chance = self._probability
        if self._parameters["byte_mode"]:
            chance *= arrival.size_bytes / self._number("mean_packet_size")
        if not self._comparison.below(coin(), chance):
            return "accept", None
        if self._parameters["ecn"] and arrival.ecn_capable:
            return "mark", None
        return "drop", "early"

    def depart(self, departure: Departure, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        del coin
        size = departure.queue_bytes + departure.size_bytes
        self._sample_until(departure.time_ns, (departure.queue_packets + 1, size))
        return "accept", None

    def figures(self) -> dict[str, Decimal | None]:
        return {"average_queue_packets": None, "drop_probability": self._probability}


# Exact in binary: a = 1/64, b = 1/128, a hundred samples a second.
EXACT: Parameters = {
    "a": 0.015625,
    "b": 0.0078125,
    "target_queue": 16.0,
    "updates_per_second": 100.0,
}


def _hand_cases() -> list[Case]:
    return [
        Case(
            name="the published coefficients",
            about="170 samples a second, target 50. At 5.88 ms 60 wait, after 0: 1.822e-5 x 10 + "
            "1.816e-5 x 50 = 1.0902e-3. At 11.76 ms 100 wait, after 60: 1.822e-5 x 50 - 1.816e-5 "
            "x 10 = 7.294e-4 more: 1.8196e-3",
            parameters={"limit": 200.0},
            link=LINK,
            by_hand=True,
            steps=[
                leave(59, time_ns=5_882_352, sojourn_ns=0, probability=0.0),
                leave(59, time_ns=5_882_353, sojourn_ns=0, probability=Within(1.0902e-3, 1e-12)),
                leave(99, time_ns=12_000_000, sojourn_ns=0, probability=Within(1.8196e-3, 1e-12)),
            ],
        ),
        Case(
            name="samples that were missed are made up for",
            about="a 1/64, b 1/128, target 16. 10 ms, 32 wait: 16/64 + 16/128 = 0.375. Until 45 ms "
            "24 wait: 8/64 - 16/128 = 0 at 20 ms, 8/128 = 0.0625 each at 30 and 40: 0.5. Then 0 "
            "wait: -16/64 - 8/128 = -0.3125 at 50 ms, -16/128 = -0.125 at 60: 0.0625; 0 at 70 "
            "and ever after",
            parameters=EXACT,
            link=LINK,
            by_hand=True,
            steps=[
                leave(31, time_ns=10 * MILLISECOND, sojourn_ns=0, probability=0.375),
                leave(23, time_ns=45 * MILLISECOND, sojourn_ns=0, probability=0.5),
                step(0, coins=[0.9], time_ns=65 * MILLISECOND, probability=0.0625),
                step(0, time_ns=3600 * 10**9, probability=0.0),
            ],
        ),
        Case(
            name="the coin falls on arrivals, ECN-capable packets are marked",
            about="probability 0.375 as above; coins 0.37 and 0.38",
            parameters=EXACT,
            link=LINK,
            by_hand=True,
            steps=[
                leave(31, time_ns=10 * MILLISECOND, sojourn_ns=0),
                step(31, "drop early", coins=[0.37], time_ns=10 * MILLISECOND),
                step(31, "mark", coins=[0.37], ecn=True, time_ns=10 * MILLISECOND),
                step(31, coins=[0.38], time_ns=10 * MILLISECOND),
                step(31, coins=[0.38], ecn=True, time_ns=10 * MILLISECOND),
                Settings(EXACT | {"ecn": False}, LINK),
                step(31, "drop early", coins=[0.37], ecn=True, time_ns=10 * MILLISECOND),
            ],
        ),
        Case(
            name="byte mode, a full buffer, and new settings",
            about="16000 bytes are 32 packets of 500: 0.375; 0.75 for 1000 bytes, 0.1875 for 250, "
            "certain for 1500. Full at 100 packets. A target of 0 in packets, and 16 wait, as at "
            "the last sample: 16/64 - 16/128 = 0.125 more, since the last sample is now counted in "
            "packets, too: 0.5",
            parameters=EXACT | {"byte_mode": True},
            link=LINK,
            by_hand=True,
            steps=[
                leave(
                    15,
                    time_ns=10 * MILLISECOND,
                    sojourn_ns=0,
                    size=250,
                    queue_bytes=15_750,
                    probability=0.375,
                ),
                step(15, "drop early", coins=[0.74], time_ns=10 * MILLISECOND),
                step(15, coins=[0.76], time_ns=10 * MILLISECOND),
                step(15, "drop early", size=250, coins=[0.187], time_ns=10 * MILLISECOND),
                step(15, size=250, coins=[0.188], time_ns=10 * MILLISECOND),
                step(15, "mark", size=1500, ecn=True, coins=[0.99], time_ns=10 * MILLISECOND),
                step(100, "drop overflow", ecn=True, time_ns=10 * MILLISECOND),
                Settings(EXACT | {"target_queue": 0.0}, LINK),
                step(16, coins=[0.6], time_ns=20 * MILLISECOND, probability=0.5),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    lively: Parameters = {"a": 0.01, "b": 0.009, "target_queue": 6.0}
    sizes: Program = [
        Stretch(1.5, 100, sizes=(40, 552, 1514)),
        Stretch(0.5, 30),
        Pause(50 * MILLISECOND),
        Stretch(2.0, 60),
    ]
    return [
        recorded(
            Pi,
            "half of the packets ECN-capable",
            "load rises and falls",
            lively,
            LINK,
            program=RISE_AND_FALL,
        ),
        recorded(
            Pi,
            "byte mode, a small buffer, no ECN",
            "three sizes and a pause",
            lively | {"byte_mode": True, "limit": 12.0, "ecn": False},
            LINK,
            program=sizes,
        ),
        recorded(
            Pi,
            "settings changed on the way",
            "as the paper samples, then in bytes with another target",
            lively | {"updates_per_second": 160.0},
            LINK,
            program=[
                *sizes,
                Settings(
                    lively | {"byte_mode": True, "target_queue": 10.0, "mean_packet_size": 1000.0},
                    LINK,
                ),
                *sizes,
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="pi",
        source="C. Hollot, V. Misra, D. Towsley, W. Gong, On Designing Improved Controllers for "
        "AQM Routers Supporting TCP Flows, INFOCOM 2001; ns-2.35, queue/pi.cc",
        machine=Pi,
        cases=[*(verify(case, Pi) for case in _hand_cases()), *_simulated()],
    )
