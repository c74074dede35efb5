"""PIE as RFC 8033 gives it and as Linux 6.12 runs it, in whole numbers as the kernel has them.

The rules. Instants are counted in units of 64 ns, rounded down, except those of updates; a
probability is a whole number of parts of ALL = 2^56 - 1.

- Arrival: `limit` packets wait: dropped (overflow). Else it may be dropped early unless some burst
  allowance is left, or the delay is below half the target (rounded down) and the probability below
  ALL / 5, or fewer than two times `maximum_packet_size` bytes wait. If it may: p, the probability
  (byte mode, for packets up to the maximum: size times floor(probability / maximum)), is added to
  the sum S (p = 0: S becomes 0). S below 85 floor(ALL / 100): accepted. At least 17 floor(ALL / 2):
  dropped. Else a coin of 56 bits is drawn; below p: dropped, and S becomes 0. In place of the drop
  an ECN-capable packet is marked, with ecn, while the probability is at most mark_probability. A
  packet dropped for any reason makes S 0.
- Departure: the delay is what the packet has waited, or 0 if none waits behind. The burst allowance
  shrinks by the time since the last departure.
- With estimate_rate instead: a measurement begins when at least 16384 bytes wait behind the packet,
  that packet being the first of it. When it has 16384 bytes or more (and has lasted), its rate is
  floor(256 bytes / time); the average is the first, then A - floor(A / 8) + floor(rate / 8). The
  burst allowance shrinks by the time of the measurement. Another begins with the next packet if
  16384 bytes wait, else as at first.
- Every interval: (estimate_rate: last delay <- delay, delay <- floor(256 backlog / A), 0 without.)
  With gains a = floor(alpha G), b = floor(beta G), G = floor(ALL / 15625000), halved below ALL / 10
  and quartered again for each of 10^2..10^6 that ALL / probability exceeds (all rounded down), the
  step is a (delay - target) + b (delay - last delay). If above ALL / 50, it is 2 floor(ALL / 100)
  where the probability is at least ALL / 10. If the delay exceeds 250 ms, ALL / 50 is added. The
  probability moves by the step, within 0..ALL. If both delays are 0 and none waits, it then loses a
  64th. If both are below half the target and the probability is 0 (estimate_rate: and there is an
  A), all starts afresh: full burst allowance, S 0, no last departure, no measurement, no A. Then
  last delay <- delay.
- In the dialect `linux` (net/sched/sch_pie.c, pie_init and pie_calculate_probability) the first
  update comes after 500 ms, whatever the interval, and the probability ends at 2^64 - 1 instead of
  ALL: what would exceed that becomes ALL.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause, Program, Stretch, recorded
from by_hand import leave, step, verify
from exact import Comparison
from vector_file import (
    Arrival,
    Case,
    Departure,
    Link,
    Parameters,
    Settings,
    Step,
    VectorFile,
    Within,
)

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000
ALL = 2**56 - 1
GAIN = ALL // 15_625_000

Answer = tuple[str, str | None]
ACCEPT: Answer = ("accept", None)


class Pie:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 1000.0,
        "target": 0.015,
        "interval": 0.015,
        "alpha": 0.125,
        "beta": 1.25,
        "burst_allowance": 0.15,
        "maximum_packet_size": 1514.0,
        "byte_mode": False,
        "ecn": True,
        "mark_probability": 0.1,
        "estimate_rate": False,
        "dialect": "rfc8033",
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        del comparison
        self._probability = 0
        self._delay = 0
        self._last_delay = 0
        self._updates = 0
        self._linux = parameters.get("dialect") == "linux"
        self.reconfigure(parameters, link)
        self._start_afresh()

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        del link
        self._parameters = parameters
        self._target = self._units("target")
        self._largest = int(self._number("maximum_packet_size"))

    def _number(self, name: str) -> Decimal:
        return Decimal(str(self._parameters[name]))

    def _units(self, name: str) -> int:
        return int(self._number(name) * 10**9) // 64

    def _start_afresh(self) -> None:
        self._allowance = self._units("burst_allowance")
        self._sum = 0
        self._last_departure: int | None = None
        self._measurement: tuple[int, int] | None = None
        self._rate = 0

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> Answer:
        self._update_until(arrival.time_ns, arrival.queue_bytes)
        if arrival.queue_packets >= self._number("limit"):
            self._sum = 0
            return "drop", "overflow"
        if not self._strikes(arrival, coin):
            return ACCEPT
        rare = self._probability <= int(self._number("mark_probability") * ALL)
        if self._parameters["ecn"] and arrival.ecn_capable and rare:
            return "mark", None
        self._sum = 0
        return "drop", "early"

    def _strikes(self, arrival: Arrival, coin: Callable[[], Decimal]) -> bool:
        if self._allowance > 0 or arrival.queue_bytes < 2 * self._largest:
            return False
        if self._delay < self._target // 2 and self._probability < ALL // 5:
            return False
        chance = self._probability
        if self._parameters["byte_mode"] and arrival.size_bytes <= self._largest:
            chance = arrival.size_bytes * (self._probability // self._largest)
        self._sum = self._sum + chance if chance else 0
        if self._sum < 85 * (ALL // 100):
            return False
        if self._sum >= 17 * (ALL // 2):
            return True
        struck = int(coin() * 2**56) < chance
        if struck:
            self._sum = 0
        return struck

    def depart(self, departure: Departure, coin: Callable[[], Decimal]) -> Answer:
        del coin
        behind, size = departure.queue_bytes, departure.size_bytes
        self._update_until(departure.time_ns, behind + size)
        now = departure.time_ns // 64
        elapsed = 0
        if not self._parameters["estimate_rate"]:
            self._delay = now - departure.arrived_ns // 64 if behind else 0
            if self._last_departure is not None:
                elapsed = now - self._last_departure
            self._last_departure = now
        else:
            if self._measurement is None and behind >= 16384:
                self._measurement = (now, 0)
            if self._measurement is not None:
                begun, counted = self._measurement
                counted += size
                self._measurement = (begun, counted)
                if counted >= 16384 and now > begun:
                    elapsed = now - begun
                    rate = counted * 256 // elapsed
                    mixed = self._rate - self._rate // 8 + rate // 8
                    self._rate = mixed if self._rate else rate
                    self._measurement = (now, 0) if behind >= 16384 else None
        self._allowance = max(self._allowance - elapsed, 0)
        return ACCEPT

    def _update_until(self, now: int, backlog: int) -> None:
        interval = int(self._number("interval") * 10**9)
        first = 500 * MILLISECOND if self._linux else interval
        while first + self._updates * interval <= now:
            self._updates += 1
            self._update(backlog)

    def _update(self, backlog: int) -> None:
        estimate = self._parameters["estimate_rate"]
        if estimate:
            self._last_delay = self._delay
            self._delay = backlog * 256 // self._rate if self._rate else 0
        alpha, beta = int(self._number("alpha") * GAIN), int(self._number("beta") * GAIN)
        if self._probability < ALL // 10:
            reductions = [2] + [4 for power in range(2, 7) if self._probability < ALL // 10**power]
            for reduction in reductions:
                alpha, beta = alpha // reduction, beta // reduction
        change = alpha * (self._delay - self._target) + beta * (self._delay - self._last_delay)
        if change > ALL // 50 and self._probability >= ALL // 10:
            change = ALL // 100 * 2
        if self._delay > 250 * MILLISECOND // 64:
            change += ALL // 50
        self._probability = max(self._probability + change, 0)
        if self._probability > (2**64 - 1 if self._linux else ALL):
            self._probability = ALL
        if self._delay == 0 and self._last_delay == 0 and backlog == 0:
            self._probability -= self._probability // 64
        quiet = max(self._delay, self._last_delay) < self._target // 2
        if quiet and self._probability == 0 and (self._rate or not estimate):
            self._start_afresh()
        if not estimate:
            self._last_delay = self._delay

    def figures(self) -> dict[str, Decimal | None]:
        probability = Decimal(min(self._probability, ALL)) / ALL
        return {"average_queue_packets": None, "drop_probability": probability}


# Updates every 10 ms, no burst allowance.
BARE: Parameters = {"interval": 0.01, "burst_allowance": 0.0}


def _waits(
    at: int, sojourn: int, probability: Within | float | None = None, behind: int = 50
) -> Step:
    """A departure at so many milliseconds after so many of waiting."""
    return leave(
        behind,
        time_ns=at * MILLISECOND,
        sojourn_ns=sojourn * MILLISECOND,
        probability=probability,
    )


def _up(at: int, value: float) -> Step:
    return _waits(at, 30, Within(value, 1e-6))


def _hand_cases() -> list[Case]:
    climb = BARE | {"alpha": 0.0, "beta": 20.0}
    return [
        Case(
            name="the gains grow with the probability",
            about="target 15 ms, alpha 0.125, beta 1.25. Delays of 1 s then 1 s: at 10 ms, from "
            "0, the gains are reduced by 2048: 0.125 x 0.985 + 1.25 x 1 = 1.373125, / 2048 "
            "= 0.00067047, and 0.02 for a delay beyond 250 ms: 0.02067. Between 1/100 and "
            "1/10 the gains are halved: 0.125 x 0.985 / 2 = 0.0615625 and 0.02 make it "
            "0.10223. From 1/10 on the step of 0.123 is cut to 0.02, and 0.02 are added: "
            "0.14223",
            parameters=BARE,
            link=LINK,
            by_hand=True,
            steps=[
                _waits(1_005, 1_000, 0.0),
                Settings(BARE, LINK),
                _waits(1_015, 1_000, Within(0.0206705, 1e-6)),
                _waits(1_025, 1_000, Within(0.1022330, 1e-6)),
                _waits(1_035, 1_000, Within(0.1422330, 1e-6)),
            ],
        ),
        Case(
            name="the delay is that of the last packet, 0 if none is behind it",
            about="beta 20, alpha 0. From 0, reduced by 2048: a delay of 30 ms adds 0.6 / 2048 = "
            "0.00029297; then, at less than 1/1000, reduced by 128: falling to 20 ms takes "
            "0.2 / 128 = 0.0015625: 0. A delay of 0 after that is below 0, too",
            parameters=climb,
            link=LINK,
            by_hand=True,
            steps=[
                _waits(5, 5, 0.0, behind=0),
                _waits(15, 3, 0.0, behind=0),
                leave(50, time_ns=35 * MILLISECOND, sojourn_ns=30 * MILLISECOND, probability=0.0),
                _waits(45, 20, Within(0.00029297, 1e-8)),
                _waits(55, 20, 0.0),
            ],
        ),
        Case(
            name="an idle queue lets the probability fade",
            about="a second of delay makes it 0.02067 (see the first case). The queue is empty: "
            "the update at 1020 ms takes beta 1.25 and alpha 0.125 x 0.015, halved: more "
            "than all of it",
            parameters=BARE,
            link=LINK,
            by_hand=True,
            steps=[
                _waits(1_005, 1_000, 0.0),
                _waits(1_015, 1_000, Within(0.0206705, 1e-6), behind=0),
                step(0, time_ns=1_025 * MILLISECOND, idle_since_ns=0, probability=0.0),
            ],
        ),
        Case(
            name="nothing is dropped in the burst allowance, which departures use up",
            about="allowance 100 ms from the first departure on; target 0, so that no delay is "
            "below half of it. The probability is 0.02067 + 0.0625 + 0.02 = 0.10317 (alpha "
            "0.125 x 1 / 2), then 0.14317, 0.18317, ... by 0.02 + 0.02 for each 10 ms: "
            "0.42317 at 1100 ms. Arrivals after 99 ms pass; after 100 ms they count, and of "
            "0.42317 it takes three for more than 0.85",
            parameters={"interval": 0.01, "burst_allowance": 0.1, "target": 0.0},
            link=LINK,
            by_hand=True,
            steps=[
                _waits(1_005, 1_000),
                _waits(1_104, 1_000),
                step(50, times=3, time_ns=1_104 * MILLISECOND),
                _waits(1_105, 1_000),
                step(50, times=2, time_ns=1_105 * MILLISECOND, probability=Within(0.42317, 1e-5)),
                step(50, coins=[0.5], time_ns=1_105 * MILLISECOND),
                step(50, "drop early", coins=[0.4], time_ns=1_105 * MILLISECOND),
                step(50, time_ns=1_105 * MILLISECOND),
            ],
        ),
        Case(
            name="Linux begins after half a second",
            about="target 15 ms, a delay of 0.4 s from 400 ms on: the updates at 400 to 490 ms are "
            "left out. The one at 500 ms adds (0.125 x 0.385 + 1.25 x 0.4) / 2048 = 0.00026764, "
            "and 0.02",
            parameters=BARE | {"dialect": "linux"},
            link=LINK,
            by_hand=True,
            steps=[
                _waits(400, 400, 0.0),
                _waits(495, 400, 0.0),
                _waits(505, 400, Within(0.0202676, 1e-6)),
            ],
        ),
        Case(
            name="Linux runs on beyond 1",
            about="target 0, a delay of 1 s: 0.42317 at 1100 ms (see above), 4.42317 at 2100 ms. "
            "Then the queue is empty: 1.25 x 1 less at 2110 ms, and a 64th at each of the next: "
            "3.17317 x (63/64)^73 = 1.00511 at 2840 ms, 0.98941 at 2850 ms. What is told ends "
            "at 1",
            parameters={
                "interval": 0.01,
                "burst_allowance": 0.0,
                "target": 0.0,
                "dialect": "linux",
            },
            link=LINK,
            by_hand=True,
            steps=[
                _waits(1_005, 1_000),
                _waits(1_105, 1_000, Within(0.42317, 1e-5)),
                _waits(2_105, 1_000, 1.0),
                _waits(2_106, 1_000, 1.0, behind=0),
                step(0, time_ns=2_845 * MILLISECOND, idle_since_ns=0, probability=1.0),
                step(0, time_ns=2_855 * MILLISECOND, probability=Within(0.98941, 1e-5)),
            ],
        ),
        Case(
            name="a short queue, and a full one",
            about="limit 60, the allowance used up, probability 0.42317 (see above): 3027 bytes "
            "are less than two packets of 1514, 3028 are not. 60 packets: full, and the sum "
            "starts anew",
            parameters={"interval": 0.01, "burst_allowance": 0.0, "target": 0.0, "limit": 60.0},
            link=LINK,
            by_hand=True,
            steps=[
                _waits(1_005, 1_000),
                _waits(1_105, 1_000, Within(0.42317, 1e-5)),
                step(3, times=5, queue_bytes=3027, time_ns=1_105 * MILLISECOND),
                step(3, queue_bytes=3028, time_ns=1_105 * MILLISECOND),
                step(60, "drop overflow", ecn=True, time_ns=1_105 * MILLISECOND),
                step(59, times=2, time_ns=1_105 * MILLISECOND),
                step(59, "drop early", ecn=True, coins=[0.1], time_ns=1_105 * MILLISECOND),
            ],
        ),
        Case(
            name="up to 10 % ECN-capable packets are marked",
            about="at 0.02067, 42 packets sum up to 0.868 and the 42nd draws a coin; then each "
            "one does, until it falls. A drop starts the sum anew, a coin that fell, too",
            parameters=BARE,
            link=LINK,
            by_hand=True,
            steps=[
                _waits(1_005, 1_000, 0.0),
                _waits(1_015, 1_000, Within(0.0206705, 1e-6)),
                step(50, times=41, ecn=True, time_ns=1_015 * MILLISECOND),
                step(50, times=3, coins=[0.03], ecn=True, time_ns=1_015 * MILLISECOND),
                step(50, "mark", coins=[0.02], ecn=True, time_ns=1_015 * MILLISECOND),
                step(50, times=41, time_ns=1_015 * MILLISECOND),
                step(50, "drop early", coins=[0.02], time_ns=1_015 * MILLISECOND),
                step(50, ecn=True, time_ns=1_015 * MILLISECOND),
                Settings(BARE | {"ecn": False}, LINK),
                step(50, times=40, ecn=True, time_ns=1_015 * MILLISECOND),
                step(50, "drop early", coins=[0.02], ecn=True, time_ns=1_015 * MILLISECOND),
            ],
        ),
        Case(
            name="when the sum reaches 8.5 no coin is asked",
            about="at 0.02067, 412 packets make 8.516: 41 pass without a coin, 370 with one that "
            "does not fall, the 412th is dropped without",
            parameters=BARE,
            link=LINK,
            by_hand=True,
            steps=[
                _waits(1_005, 1_000, 0.0),
                _waits(1_015, 1_000),
                step(50, times=41, time_ns=1_015 * MILLISECOND),
                step(50, times=370, coins=[0.9], time_ns=1_015 * MILLISECOND),
                step(50, "drop early", time_ns=1_015 * MILLISECOND),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    lively: Parameters = {"target": 0.004, "interval": 0.005, "burst_allowance": 0.02}
    lively |= {"alpha": 2.0, "beta": 20.0, "maximum_packet_size": 1000.0}
    program: Program = [
        Stretch(0.8, 20),
        Stretch(2.5, 200),
        Stretch(0.5, 60),
        Pause(60 * MILLISECOND),
        Stretch(1.6, 150),
        Stretch(0.3, 40),
    ]
    sizes: Program = [
        Stretch(2.0, 250, sizes=(40, 552, 1514)),
        Stretch(0.4, 40),
        Pause(100 * MILLISECOND),
        Stretch(2.0, 150),
    ]
    estimated = lively | {"estimate_rate": True}
    return [
        recorded(
            Pie,
            "half of the packets ECN-capable",
            "load rises and falls",
            lively,
            LINK,
            program=program,
        ),
        recorded(
            Pie,
            "byte mode, a small buffer, no ECN",
            "three sizes and a pause",
            lively
            | {"byte_mode": True, "limit": 40.0, "ecn": False, "maximum_packet_size": 1514.0},
            LINK,
            program=sizes,
        ),
        recorded(
            Pie,
            "delay from the departure rate",
            "long queues, then short ones",
            estimated | {"target": 0.02},
            LINK,
            program=[
                Stretch(3.0, 250),
                Stretch(0.3, 80),
                Pause(80 * MILLISECOND),
                Stretch(2.0, 150),
            ],
        ),
        recorded(
            Pie,
            "the dialect of Linux",
            "it begins late, and long queues take its probability beyond 1",
            lively | {"dialect": "linux", "alpha": 2.0, "target": 0.001},
            LINK,
            program=[Stretch(0.8, 300), Stretch(3.0, 400), Stretch(0.3, 80), Stretch(2.0, 150)],
        ),
        recorded(
            Pie,
            "settings changed on the way",
            "another target and gain, then the other delay",
            lively,
            LINK,
            program=[
                *program,
                Settings(lively | {"target": 0.01, "alpha": 0.3, "mark_probability": 0.3}, LINK),
                *sizes,
                Settings(estimated, LINK),
                *program,
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="pie",
        source="RFC 8033, 2017; Linux 6.12, net/sched/sch_pie.c and include/net/pie.h",
        machine=Pie,
        cases=[*(verify(case, Pie) for case in _hand_cases()), *_simulated()],
    )
