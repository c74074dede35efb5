"""RED as Linux 6.12 runs it and as iproute2 6.1 sets it, in whole numbers as the kernel has them.

The rules, for a packet that meets B bytes waiting; A is the average with W = weight_log binary
places, min and max the thresholds in bytes:

- Not idle: A <- A + B - floor(A / 2^W). Idle for t microseconds (whole ones; at most the table's
  end, 255 cells of 2^C): with s the table's entry for floor(t / 2^C), A <- floor(A / 2^s) if s > 0,
  else A <- A - floor(A t / 2^C), but not below floor(A / 2), which it becomes then. The idle clock
  runs, unless shaped, while nothing is in transmission; every arrival starts it anew.
- Table: entry i is floor(i 2^C L), at most 31, and 31 for i = 255, L = -ln(1 - 2^-W) / packet time;
  C is the smallest with 31 / L / 2^C < 512. The packet time is that of the mean size, in
  microseconds, or (table "tc") in units of 64 ns.
- A < min 2^W: accept, and the range is left. A >= max 2^W: notify (forced), the range is left. Else
  the first packet in the range draws a number R = floor(r / K), r uniform on 0..2^32 - 1, and is
  accepted; the n-th after it is notified (early) if n floor((A - min 2^W) / 2^W) >= R, then a new
  number is drawn and n starts at 0. K = floor(P / (max - min)), at least 1, P the maximum
  probability times 2^32, rounded down.
- Notify: without ecn, or forced and drop_above_maximum: drop. ECN-capable: mark. Else drop, unless
  no_drop.
- A packet for which B plus its size exceeds the limit is dropped, whatever was decided.
- adaptive: every 500 ms, with a the average (decayed, if idle) in whole bytes and d = floor((max -
  min) / 5): if a > min + 3 d and P is at most 50 %, P grows by the smaller of 1 % and floor(P / 4);
  else if a < min + 2 d and P is at least 1 %, P <- 9 floor(P / 10). Then K = P / (max - min),
  rounded to the nearest. (1 % is 42949673 / 2^32, 50 % is fifty times that.)
- New settings: A <- 0, the range is left, P as set. The same settings: nothing.
- weight_log, unless given: the smallest w in 1..31 for which burst + 1 - min / size is at most
  (1 - (1 - 2^-w)^burst) 2^w, or 1 if there is none; burst, unless given, floor((2 min + max) /
  (3 size)).
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from bottleneck import RISE_AND_FALL, Pause, Program, Stretch, recorded
from by_hand import step, verify
from exact import ONE, Comparison
from vector_file import Arrival, Case, Link, Parameters, Settings, VectorFile

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000
HALF_SECOND = 500 * MILLISECOND
FULL = 2**32
PERCENT = 42949673

Answer = tuple[str, str | None]


class LinuxRed:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 150000.0,
        "min_threshold": None,
        "max_threshold": None,
        "max_probability": 0.02,
        "weight_log": None,
        "burst": None,
        "mean_packet_size": 1000.0,
        "ecn": True,
        "drop_above_maximum": False,
        "no_drop": False,
        "adaptive": False,
        "shaped": True,
        "keep_packets": False,
        "idle_table": "tc",
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._comparison = comparison
        self._given: tuple[Parameters, Link] | None = None
        self._last_arrival = 0
        self._next_adaptation = HALF_SECOND
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        if self._given == (parameters, link):
            return
        self._given = (parameters, link)
        self._parameters = parameters
        self._limit = self._whole("limit", 0)
        if parameters["max_threshold"] is not None:
            self._max = self._whole("max_threshold", 0)
        elif parameters["min_threshold"] is not None:
            self._max = 3 * self._whole("min_threshold", 0)
        else:
            self._max = self._limit // 4
        self._min = self._whole("min_threshold", self._max // 3)
        self._size = Decimal(str(parameters["mean_packet_size"]))
        self._places = self._whole("weight_log", 0) or self._from_burst()
        self._maximum = int(Decimal(str(parameters["max_probability"])) * FULL)
        self._per_byte = max(self._maximum // (self._max - self._min), 1)
        self._make_table(link)
        self._average = 0
        self._count: int | None = None
        self._drawn = 0

    def _whole(self, name: str, automatic: int) -> int:
        value = self._parameters[name]
        return automatic if value is None else int(Decimal(str(value)))

    def _from_burst(self) -> int:
        burst = self._whole("burst", int((2 * self._min + self._max) / (3 * self._size)))
        needed = burst + 1 - self._min / self._size
        for places in range(1, 32):
            weight = ONE / 2**places
            if self._comparison.at_most(needed, (1 - (1 - weight) ** burst) / weight):
                return places
        return 1

    def _make_table(self, link: Link) -> None:
        unit = Decimal(1_000_000)
        if self._parameters["idle_table"] == "tc":
            unit *= Decimal("15.625")
        packet_time = unit / link.packets_per_second(self._size)
        decay = -(1 - ONE / 2**self._places).ln() / packet_time
        self._cell = 0
        while not self._comparison.below(31 / decay / 2**self._cell, Decimal(512)):
            self._cell += 1
        entries = (int((i << self._cell) * decay) for i in range(255))
        self._table = [*(min(entry, 31) for entry in entries), 31]

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> Answer:
        now = arrival.time_ns
        idle_since = None
        if arrival.idle_since_ns is not None and not self._parameters["shaped"]:
            idle_since = max(arrival.idle_since_ns, self._last_arrival)
        if self._parameters["adaptive"]:
            while self._next_adaptation <= now:
                self._adapt(self._next_adaptation, idle_since)
                self._next_adaptation += HALF_SECOND
        if idle_since is None:
            self._average += arrival.queue_bytes - self._average // 2**self._places
        else:
            self._average = self._decayed(now - idle_since)
        self._last_arrival = now
        answer = self._decide(arrival, coin)
        if arrival.queue_bytes + arrival.size_bytes > self._limit:
            return "drop", "overflow"
        return answer

    def _decayed(self, nanoseconds: int) -> int:
        microseconds = min(nanoseconds // 1000, 255 << self._cell)
        shift = self._table[microseconds >> self._cell]
        if shift:
            return self._average >> shift
        fall = (self._average * microseconds) >> self._cell
        return self._average - fall if fall < self._average // 2 else self._average // 2

    def _decide(self, arrival: Arrival, coin: Callable[[], Decimal]) -> Answer:
        if self._average < self._min << self._places:
            self._count = None
            return "accept", None
        if self._average >= self._max << self._places:
            self._count = None
            return self._notify(arrival, "forced")
        if self._count is None:
            self._start_count(coin)
            return "accept", None
        self._count += 1
        if self._count * self._above() < self._drawn:
            return "accept", None
        self._start_count(coin)
        return self._notify(arrival, "early")

    def _above(self) -> int:
        return (self._average - (self._min << self._places)) >> self._places

    def _start_count(self, coin: Callable[[], Decimal]) -> None:
        self._count = 0
        # A coin of six digits times 2^32 is a whole number, or at least 2^-14 away from one.
        self._drawn = int(coin() * FULL) // self._per_byte

    def _notify(self, arrival: Arrival, reason: str) -> Answer:
        forced = reason == "forced" and self._parameters["drop_above_maximum"]
        if not self._parameters["ecn"] or forced:
            return "drop", reason
        if arrival.ecn_capable:
            return "mark", None
        return ("accept", None) if self._parameters["no_drop"] else ("drop", reason)

    def _adapt(self, at: int, idle_since: int | None) -> None:
        idle = idle_since is not None and idle_since <= at
        average = self._decayed(at - (idle_since or 0)) if idle else self._average
        average >>= self._places
        fifth = (self._max - self._min) // 5
        if average > self._min + 3 * fifth and self._maximum <= 50 * PERCENT:
            self._maximum += min(PERCENT, self._maximum // 4)
        elif average < self._min + 2 * fifth and self._maximum >= PERCENT:
            self._maximum = self._maximum // 10 * 9
        spread = self._max - self._min
        self._per_byte = max((self._maximum + spread // 2) // spread, 1)

    def figures(self) -> dict[str, Decimal | None]:
        probability = Decimal(0)
        if self._average >= self._max << self._places:
            probability = ONE
        elif self._average >= self._min << self._places:
            probability = min(ONE, Decimal(self._above() * self._per_byte) / FULL)
        average = Decimal(self._average) / 2**self._places / self._size
        return {"average_queue_packets": average, "drop_probability": probability}


# Weight 1/2, thresholds of 4000 and 12000 bytes, at most 1/2: with 8000 bytes above the minimum the
# whole range is 2^32 / 2 / 8000 = 268435 for each byte. A number drawn with the coin c is
# c 2^32 / 268435 = 16000.03 c, rounded down.
HALF: Parameters = {
    "weight_log": 1.0,
    "min_threshold": 4000.0,
    "max_threshold": 12000.0,
    "max_probability": 0.5,
}


def _average_cases() -> list[Case]:
    return [
        Case(
            name="the average is kept in bytes with as many binary places as the weight has",
            about="weight 1/8 (3 places): 2500 bytes make it 2500 / 8 = 312.5; then 2500 + 2500 - "
            "floor(2500 / 8) = 4688, /8 = 586; empty: 4688 - 586 = 4102, /8 = 512.75. In "
            "packets of 1000 bytes",
            parameters={"weight_log": 3.0},
            link=LINK,
            by_hand=True,
            steps=[
                step(2, queue_bytes=2500, average=0.3125, probability=0.0),
                step(2, queue_bytes=2500, average=0.586),
                step(0, average=0.51275),
            ],
        ),
        Case(
            name="behind a shaper nothing decays while idle",
            about="weight 1/2: 8000 bytes make the average 4000; idle for a second, the arrival "
            "takes one step like any other: 2000",
            parameters=HALF,
            link=LINK,
            by_hand=True,
            steps=[
                step(8, coins=[0.5], average=4.0),
                step(0, time_ns=1000 * MILLISECOND, idle_since_ns=0, average=2.0),
            ],
        ),
        Case(
            name="the intended table, in microseconds",
            about="weight 1/2, a packet takes 1000 us: L = ln 2 / 1000, 31 / L = 44724 us, so "
            "cells of 128 us (44724 / 128 = 349; / 64 = 699). Idle 500 us: cell 3, 384 L = "
            "0.27, no shift: the average 4000 (8000 with its place) would fall by 8000 * "
            "500 / 128, more than half, so it halves: 2000. Idle 3000 us: cell 23, 2944 L = "
            "2.04: two places, 500",
            parameters=HALF | {"shaped": False, "idle_table": "microseconds"},
            link=LINK,
            by_hand=True,
            steps=[
                step(8, coins=[0.5], average=4.0),
                step(0, time_ns=2_500_000, idle_since_ns=2_000_000, average=2.0),
                step(0, time_ns=7_500_000, idle_since_ns=4_500_000, average=0.5),
            ],
        ),
        Case(
            name="tc's table, in units of 64 ns",
            about="as before, but a packet takes 15625 units: L = ln 2 / 15625, 31 / L = 698800, "
            "cells of 2048 (341). Idle 3000 us: cell 1, 2048 L = 0.09: no shift, the fall would be "
            "8000 * 3000 / 2048, half: 2000. Idle 200 us: 4000 * 200 / 2048 = 390, so 3610 / 2 = "
            "1805. Idle 40 ms: cell 19, 38912 L = 1.7: one place, 902.5. Idle for an hour: the "
            "table's end, 31 places: 0",
            parameters=HALF | {"shaped": False},
            link=LINK,
            by_hand=True,
            steps=[
                step(8, coins=[0.5], average=4.0),
                step(0, time_ns=5_000_000, idle_since_ns=2_000_000, average=2.0),
                step(0, time_ns=8_000_000, idle_since_ns=7_800_000, average=1.805),
                step(0, time_ns=50_000_000, idle_since_ns=10_000_000, average=0.9025),
                step(0, time_ns=3600 * 10**9, idle_since_ns=51_000_000, average=0.0),
            ],
        ),
        Case(
            name="an arrival starts the idle clock anew even if it is dropped",
            about="limit 900: nothing joins. Thresholds far away; the second arrival meets a link "
            "idle since 2 ms, but 200 us after the last arrival: as before 200 us, not 3200",
            parameters={
                "weight_log": 1.0,
                "limit": 900.0,
                "min_threshold": 40000.0,
                "max_threshold": 80000.0,
                "shaped": False,
            },
            link=LINK,
            by_hand=True,
            steps=[
                step(8, "drop overflow", average=4.0),
                step(
                    0,
                    "drop overflow",
                    time_ns=5 * MILLISECOND,
                    idle_since_ns=2_000_000,
                    average=2.0,
                ),
                step(0, "drop overflow", time_ns=5_200_000, idle_since_ns=2_000_000, average=1.805),
            ],
        ),
        Case(
            name="the automatic weight follows from burst, thresholds from the limit",
            about="tc's own figures: min 15000, max 45000, mean size 1000, burst 16 make the "
            "weight 1/4 (2 places); 4000 bytes in one step are 1000",
            parameters={"min_threshold": 15000.0, "max_threshold": 45000.0, "burst": 16.0},
            link=LINK,
            by_hand=True,
            steps=[step(4, average=1.0)],
        ),
        Case(
            name="and burst follows from the thresholds",
            about="min 15000: max 45000, burst (30000 + 45000) / 3000 = 25, for which tc has the "
            "weight 1/16; 16000 bytes in one step are 1000",
            parameters={"min_threshold": 15000.0},
            link=LINK,
            by_hand=True,
            steps=[step(16, average=1.0)],
        ),
    ]


def _law_cases() -> list[Case]:
    return [
        Case(
            name="a number is drawn, and the drop comes when count times excess reaches it",
            about="8000 bytes, twice: averages 4000 and 6000 (the first is at the minimum: in the "
            "range). Coin 0.5 draws 8000.0. Then averages 6000, 7000, 7500 with excesses "
            "2000, 3000, 3500: 1 x 2000 and 2 x 3000 are less, 3 x 3500 is not. Coin 0 "
            "draws 0: the next goes, too",
            parameters=HALF,
            link=LINK,
            by_hand=True,
            steps=[
                step(8, coins=[0.5], average=4.0, probability=0.0),
                step(8, average=6.0, probability=2000 * 268435 / FULL),
                step(8, average=7.0),
                step(8, "drop early", coins=[0.0], average=7.5),
                step(8, "mark", ecn=True, coins=[0.9]),
                step(8, average=7.875),
            ],
        ),
        Case(
            name="from the maximum on everything goes and the range is left",
            about="24000 bytes make the average 12000, the maximum: forced, without a coin. Then "
            "none waits: 6000, in the range, so a number is drawn and the packet passes",
            parameters=HALF,
            link=LINK,
            by_hand=True,
            steps=[
                step(24, "drop forced", average=12.0, probability=1.0),
                step(12, "mark", ecn=True, average=12.0),
                step(0, coins=[0.1], average=6.0),
                step(0, average=3.0, probability=0.0),
            ],
        ),
        Case(
            name="drop_above_maximum, no_drop, and ecn off",
            about="harddrop: the ECN-capable packet is dropped at the maximum. nodrop lets one "
            "pass that cannot be marked. Without ecn nothing is marked and nothing spared",
            parameters=HALF | {"drop_above_maximum": True, "no_drop": True},
            link=LINK,
            by_hand=True,
            steps=[
                step(24, "drop forced", ecn=True),
                step(4, coins=[0.0], average=8.0),
                step(8, coins=[0.0]),
                step(8, "mark", ecn=True, coins=[0.0]),
                Settings(HALF | {"drop_above_maximum": False, "no_drop": True}, LINK),
                step(24),
                step(12, "mark", ecn=True),
                Settings(HALF | {"ecn": False, "no_drop": True}, LINK),
                step(24, "drop forced"),
                step(12, "drop forced", ecn=True),
            ],
        ),
        Case(
            name="the limit is in bytes and counts the packet",
            about="limit 10000: 9000 bytes leave room for 1000, not for 1001, nor 9960 for 41",
            parameters={"limit": 10000.0, "min_threshold": 90000.0, "max_threshold": 120000.0},
            link=LINK,
            by_hand=True,
            steps=[
                step(9),
                step(9, "drop overflow", size=1001, ecn=True),
                step(9, size=40, queue_bytes=9960),
                step(9, "drop overflow", size=41, queue_bytes=9960),
            ],
        ),
        Case(
            name="new settings set the average to 0, the same settings do not",
            about="average 4000 after 8000 bytes; given again, 6000 after the next. Another limit: "
            "from 0 again, and a number is drawn again",
            parameters=HALF,
            link=LINK,
            by_hand=True,
            steps=[
                step(8, coins=[0.9], average=4.0),
                Settings(HALF, LINK),
                step(8, average=6.0),
                Settings(HALF | {"limit": 100000.0}, LINK),
                step(8, coins=[0.9], average=4.0),
            ],
        ),
    ]


def _adaptive_cases() -> list[Case]:
    tenth = HALF | {"adaptive": True, "max_probability": 0.02}
    grown = 85899345 + 85899345 // 4
    return [
        Case(
            name="every half second the maximum probability moves",
            about="0.02 is 85899345 / 2^32. Mid-range is 4000 + 2 x 1600 to 4000 + 3 x 1600 = "
            "8800. Average 8000: nothing. At 9000 (20000 / 2 - 1000, from 8000 and 10000) "
            "it grows by a quarter, 21474836 (1 % would be 42949673), when the half second "
            "is over, before the next packet, whose 9000 leave the average there: 5000 "
            "bytes above at (107374181 + 4000) / 8000 = 13422 each",
            parameters=tenth,
            link=LINK,
            by_hand=True,
            steps=[
                step(16, coins=[0.99], average=8.0),
                step(10, average=9.0, time_ns=400 * MILLISECOND, probability=5000 * 10737 / FULL),
                step(
                    9,
                    average=9.0,
                    time_ns=500 * MILLISECOND,
                    probability=5000 * ((grown + 4000) // 8000) / FULL,
                ),
            ],
        ),
        Case(
            name="a pause of many half seconds is made up for",
            about="0.02 shrinks by a tenth while it is at least 1 %: 7 times, to 0.0096 (0.9^7 = "
            "0.478), in the ten half seconds of the pause; 8000 bytes above 4000 are the same 4000",
            parameters=tenth,
            link=LINK,
            by_hand=True,
            steps=[
                step(12, coins=[0.99], average=6.0),
                step(
                    10,
                    time_ns=5_000 * MILLISECOND,
                    average=8.0,
                    probability=4000 * _shrunk() / FULL,
                ),
            ],
        ),
    ]


def _shrunk() -> int:
    """What 0.02 comes to for each of 8000 bytes when it has shrunk seven times."""
    maximum = 85899345
    for _ in range(7):
        maximum = maximum // 10 * 9
    return (maximum + 4000) // 8000


def _simulated() -> list[Case]:
    sizes = (40, 552, 1514)
    three_sizes: Program = [
        Stretch(1.0, 20, sizes=sizes),
        Stretch(3.0, 80, sizes=sizes),
        Stretch(0.4, 20, sizes=sizes),
        Pause(30 * MILLISECOND),
        Stretch(1.3, 60, sizes=sizes),
    ]
    quick: Parameters = {
        "weight_log": 4.0,
        "min_threshold": 4000.0,
        "max_threshold": 12000.0,
        "max_probability": 0.1,
    }
    return [
        recorded(
            LinuxRed,
            "behind a shaper",
            "load rises and falls; the average crosses both thresholds and stays while idle",
            quick,
            LINK,
            program=RISE_AND_FALL,
        ),
        recorded(
            LinuxRed,
            "on a bare link, with the intended table",
            "packets of 40, 552 and 1514 bytes; idle times of all lengths",
            quick | {"shaped": False, "idle_table": "microseconds"},
            Link(rate_bit_per_s=1.5e6, delay_s=0.05),
            program=three_sizes,
        ),
        recorded(
            LinuxRed,
            "on a bare link, with tc's table and a small buffer",
            "as above; the buffer overflows",
            quick | {"shaped": False, "limit": 15000.0, "weight_log": 2.0},
            Link(rate_bit_per_s=1.5e6, delay_s=0.05),
            program=three_sizes,
        ),
        recorded(
            LinuxRed,
            "adaptive on a slow link",
            "half seconds end under load, in pauses and while idle",
            quick | {"adaptive": True, "shaped": False, "idle_table": "microseconds"},
            Link(rate_bit_per_s=2e5, delay_s=0.05),
            program=[
                Stretch(2.0, 60),
                Stretch(1.2, 60),
                Pause(2_000 * MILLISECOND),
                Stretch(0.3, 20),
                Stretch(3.0, 60),
            ],
        ),
        recorded(
            LinuxRed,
            "settings changed on the way",
            "each change starts the average at 0",
            quick,
            LINK,
            program=[
                Stretch(2.0, 60),
                Settings(quick | {"weight_log": 3.0, "max_probability": 0.5}, LINK),
                Stretch(1.5, 60),
                Settings(quick | {"weight_log": 3.0, "ecn": False}, LINK),
                Stretch(1.5, 60),
            ],
        ),
    ]


def vectors() -> VectorFile:
    hand = [*_average_cases(), *_law_cases(), *_adaptive_cases()]
    return VectorFile(
        discipline="linux-red",
        source="Linux 6.12, include/net/red.h and net/sched/sch_red.c; iproute2 6.1, tc/tc_red.c "
        "and tc/q_red.c",
        machine=LinuxRed,
        cases=[*(verify(case, LinuxRed) for case in hand), *_simulated()],
    )
