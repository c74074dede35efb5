"""CoDel as RFC 8289 gives it (sections 5.5 to 5.8 for its rules), and as Linux 6.12 runs it.

The rules, for a link that asks the queue for a packet to send:

- A packet at the head is due if its sojourn time is at least `target`, more than
  `maximum_packet_size` bytes wait behind it, and both have been so for every packet (and the queue
  never empty) for an `interval`, which begins with the first such packet.
- Not dropping, and the head is due: it is dropped, the next packet is sent whatever it is, and
  dropping begins. With d the drops of the last spell (count now less count when that spell began),
  count becomes d if d > 1 and the last spell's next drop was due less than 16 intervals ago, else
  1. The next drop is due at now + interval / sqrt(count).
- Dropping, and the head is not due: dropping ends and the packet is sent. It is due, and so is a
  drop: count grows by 1, the packet is dropped, and the next one looked at. If that is not due,
  dropping ends; else the next drop moves by interval / sqrt(count), and so on. An empty queue ends
  dropping.
- ecn: an ECN-capable packet is marked and sent where it would be dropped, and the next drop moves
  as after a drop. With ce_threshold, an ECN-capable packet that is sent after a longer sojourn is
  marked, too.
- A packet that meets `limit` waiting packets is dropped.
- Linux: instants and times in units of 1024 ns, rounded down (so a sojourn is the difference of
  two rounded instants); the interval must be over, not just reached; interval / sqrt(count) is
  floor(interval r / 2^16), where r is 65535 when count becomes 1 and else, for each change of
  count, one step of Newton's method from the r before, in whole numbers: with i = 2^16 r, s =
  floor(i i / 2^32), v = floor((3 2^32 - count s) / 4): r = floor(v i / 2^47), in 64 bits
  without a sign, of which r keeps 16.
"""

from collections.abc import Callable, Generator
from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause, Program, Stretch, recorded
from by_hand import leave, step, verify
from exact import Comparison, TooCloseError
from vector_file import Arrival, Case, Departure, Link, Parameters, Settings, Step, VectorFile

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000

Answer = tuple[str, str | None]
SEND: Answer = ("accept", None)
MARK: Answer = ("mark", None)
DROP: Answer = ("drop", "forced")


class Codel:
    """The reference: one turn of the link is a generator that is given packet after packet."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 1000.0,
        "target": 0.005,
        "interval": 0.1,
        "maximum_packet_size": 1514.0,
        "ecn": True,
        "ce_threshold": None,
        "dialect": "rfc8289",
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        del comparison
        self._above_since: int | None = None
        self._dropping = False
        self._drop_next = 0
        self._count = 0
        self._count_at_entry = 0
        self._root = 0
        self._turn: Generator[Answer, Departure | None, None] | None = None
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        del link
        self._parameters = parameters
        self._linux = parameters["dialect"] == "linux"
        self._target = self._time(parameters["target"])
        self._interval = self._time(parameters["interval"])

    def _time(self, seconds: object) -> int:
        nanoseconds = int(Decimal(str(seconds)) * 10**9)
        return self._instant(nanoseconds)

    def _instant(self, nanoseconds: int) -> int:
        return nanoseconds // 1024 if self._linux else nanoseconds

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> Answer:
        del coin
        if arrival.idle_since_ns is not None:
            self._find_nothing()
        full = arrival.queue_packets >= Decimal(str(self._parameters["limit"]))
        return ("drop", "overflow") if full else SEND

    def _find_nothing(self) -> None:
        """The link has asked and nothing waited; it asks twice, as it does after a drop."""
        self._turn = None
        self._above_since = None
        self._dropping = False

    def depart(self, departure: Departure, coin: Callable[[], Decimal]) -> Answer:
        del coin
        if self._turn is None:
            self._turn = self._one_turn(departure)
            answer = next(self._turn)
        else:
            answer = self._turn.send(departure)
        if answer[0] != "drop":
            self._turn = None
            if answer == SEND and self._too_late(departure):
                return MARK
        return answer

    def _one_turn(self, first: Departure) -> Generator[Answer, Departure | None, None]:
        packet = first
        due = self._is_due(packet)
        now = self._instant(packet.time_ns)
        if self._dropping:
            if not due:
                self._dropping = False
            while self._dropping and now >= self._drop_next:
                self._change_count(self._count + 1)
                if self._markable(packet):
                    self._drop_next += self._spacing()
                    yield MARK
                    return
                following = yield DROP
                assert following is not None
                packet = following
                if self._is_due(packet):
                    self._drop_next += self._spacing()
                else:
                    self._dropping = False
            yield SEND
        elif due:
            found = self._count - self._count_at_entry
            if found > 1 and now - self._drop_next < 16 * self._interval:
                self._change_count(found)
            else:
                self._count = 1
                self._root = 65535
            self._count_at_entry = self._count
            self._drop_next = now + self._spacing()
            self._dropping = True
            if self._markable(packet):
                yield MARK
                return
            following = yield DROP
            assert following is not None
            self._is_due(following)
            yield SEND
        else:
            yield SEND

    def _sojourn(self, packet: Departure) -> int:
        return self._instant(packet.time_ns) - self._instant(packet.arrived_ns)

    def _is_due(self, packet: Departure) -> bool:
        few = packet.queue_bytes <= Decimal(str(self._parameters["maximum_packet_size"]))
        if few or self._sojourn(packet) < self._target:
            self._above_since = None
            return False
        now = self._instant(packet.time_ns)
        if self._above_since is None:
            self._above_since = now
            return False
        lasted = now - self._above_since
        return lasted > self._interval if self._linux else lasted >= self._interval

    def _markable(self, packet: Departure) -> bool:
        return bool(self._parameters["ecn"]) and packet.ecn_capable

    def _too_late(self, packet: Departure) -> bool:
        threshold = self._parameters["ce_threshold"]
        if threshold is None or not self._markable(packet):
            return False
        return self._sojourn(packet) > self._time(threshold)

    def _change_count(self, count: int) -> None:
        self._count = count
        inverse = self._root << 16
        square = inverse * inverse >> 32
        # After a leap of the count the step misses: 64 bits without a sign, of which 16 are kept.
        left = (3 * 2**32 - count * square) % 2**64
        self._root = (left // 4 * inverse % 2**64 >> 47) % 2**16

    def _spacing(self) -> int:
        if self._linux:
            return self._interval * self._root >> 16
        spacing = self._interval / Decimal(self._count).sqrt()
        nearest = spacing.to_integral_value()
        # Double precision knows times of this size to better than a millionth of a nanosecond.
        if spacing != nearest and abs(spacing - nearest) < Decimal("1e-6"):
            raise TooCloseError(spacing, nearest)
        return int(spacing)

    def figures(self) -> dict[str, Decimal | None]:
        return {"average_queue_packets": None, "drop_probability": None}


def _at(milliseconds: float) -> int:
    return round(milliseconds * MILLISECOND)


def _hand_cases() -> list[Case]:
    """Instants in `about` count from 10 ms on, except in Linux's case."""

    def late(milliseconds: float, verdict: str = "accept", *, ecn: bool = False) -> Step:
        return leave(50, verdict, time_ns=_at(10 + milliseconds), sojourn_ns=_at(6), ecn=ecn)

    return [
        Case(
            name="drops come at intervals over the square root of their number",
            about="every packet has waited 6 ms. The first starts the interval, which is reached "
            "at 100 ms: a drop, and the next packet is sent whatever it is. From then on "
            "drops are due after 100, 170.7, 228.4, 278.4 ms (sums of 100 / sqrt(n)): at "
            "200, 270.7, 328.4, 378.4",
            parameters={},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                late(0),
                late(99.999),
                late(100, "drop forced"),
                late(100),
                late(199.999),
                late(200, "drop forced"),
                late(200),
                late(270.71),
                late(270.7107, "drop forced"),
                late(270.7107),
                late(328.445),
                late(328.446, "drop forced"),
                late(328.446),
                late(378.44),
                late(378.4458, "drop forced"),
            ],
        ),
        Case(
            name="a link that asks late drops all that is due at once",
            about="as above, but nothing asks from 100 ms to 300 ms: the drops due at 200 and "
            "270.7 come together, the one at 328.4 does not",
            parameters={},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                late(0),
                late(100, "drop forced"),
                late(100),
                late(300, "drop forced"),
                late(300, "drop forced"),
                late(300),
                late(328.446, "drop forced"),
            ],
        ),
        Case(
            name="one packet in time starts the interval anew",
            about="4.999999 ms at 50 ms: the interval begins again at 51 ms and is reached at 151. "
            "A queue of one packet's bytes does the same",
            parameters={},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                late(0),
                leave(50, time_ns=_at(10 + 50), sojourn_ns=4_999_999),
                late(51),
                late(150.999),
                leave(50, time_ns=_at(10 + 151), sojourn_ns=_at(6), queue_bytes=1514),
                late(152),
                leave(50, time_ns=_at(10 + 251.999), sojourn_ns=_at(6)),
                leave(2, "drop forced", time_ns=_at(10 + 252), sojourn_ns=_at(5), queue_bytes=1515),
            ],
        ),
        Case(
            name="an empty queue starts the interval anew and ends dropping",
            about="the arrival at 120 ms finds the link idle: the packet at 200 ms, at which a "
            "drop was due, only starts an interval",
            parameters={},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                late(0),
                late(100, "drop forced"),
                late(100),
                step(0, time_ns=_at(10 + 120), idle_since_ns=_at(129)),
                late(200),
                late(299.9),
                late(300, "drop forced"),
            ],
        ),
        Case(
            name="a spell soon after the last goes on from its rate",
            about="drops at 100, 200, 270.7107, 328.446: count 4, less the 1 at the beginning: 3. "
            "At 400 the sojourn falls short and dropping ends. From 410 on it is long "
            "again, so due at 510, as 3: the next drop at 510 + 57.735 = 567.735",
            parameters={},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                late(0),
                late(100, "drop forced"),
                late(100),
                late(200, "drop forced"),
                late(200),
                late(270.7107, "drop forced"),
                late(270.7107),
                late(328.446, "drop forced"),
                late(328.446),
                leave(50, time_ns=_at(10 + 400), sojourn_ns=_at(1)),
                late(410),
                late(510, "drop forced"),
                late(510),
                late(567.73),
                late(567.736, "drop forced"),
            ],
        ),
        Case(
            name="and long after it begins from 1",
            about="the same, but the second spell begins 1600 ms after 378.446, when the first's "
            "next drop was due, at 1978.446: with 1, the next drop after 100 ms. A nanosecond "
            "earlier in the case after this one",
            parameters={},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                late(0),
                late(100, "drop forced"),
                late(100),
                late(200, "drop forced"),
                late(200),
                late(270.7107, "drop forced"),
                late(270.7107),
                late(328.446, "drop forced"),
                late(328.446),
                leave(50, time_ns=_at(10 + 370), sojourn_ns=_at(1)),
                late(1800),
                late(1978.5, "drop forced"),
                late(1978.5),
                late(2078.49),
                late(2078.5, "drop forced"),
            ],
        ),
        Case(
            name="ECN-capable packets are marked in the place of drops",
            about="marks at 100 and 200 send the packet, so no other follows; the drop of a packet "
            "that is not ECN-capable is due at 270.71. Without ecn in force, dropped at 328.446",
            parameters={},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                late(0, ecn=True),
                late(100, "mark", ecn=True),
                late(150, ecn=True),
                late(200, "mark", ecn=True),
                late(270.71, ecn=True),
                late(270.7107, "drop forced"),
                late(270.7107, ecn=True),
                Settings({"ecn": False}, LINK),
                late(328.446, "drop forced", ecn=True),
            ],
        ),
        Case(
            name="ce_threshold marks every packet that waited longer",
            about="threshold 1 ms: 1 ms is not longer, 1.000001 ms is, if ECN-capable",
            parameters={"ce_threshold": 0.001},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                leave(3, time_ns=_at(10 + 10), sojourn_ns=_at(1), ecn=True),
                leave(3, "mark", time_ns=_at(10 + 11), sojourn_ns=1_000_001, ecn=True),
                leave(3, time_ns=_at(10 + 12), sojourn_ns=1_000_001),
            ],
        ),
        Case(
            name="the buffer",
            about="limit 2: two waiting leave no room, ECN or not",
            parameters={"limit": 2.0},
            link=LINK,
            by_hand=True,
            steps=[
                step(1),
                step(2, "drop overflow"),
                step(2, "drop overflow", ecn=True),
            ],
        ),
        Case(
            name="Linux counts in units of 1024 ns and approximates the root",
            about="target 4882 units, interval 97656. First at unit 10000: the interval is over "
            "after unit 107656, that is from 107657 x 1024 = 110240768 ns on. Then r = "
            "65535: the next drop is 97656 x 65535 / 65536 = 97654 units later, in unit "
            "205311 (from 210238464 ns). There count 2 and one step from r = 65535: i = "
            "4294901760, s = 4294836225, v = (12884901888 - 8589672450) / 4 = 1073807359, r "
            "= v i / 2^47 = 32769: 97656 x 32769 / 65536 = 48829 units later, 254140 (from "
            "260239360 ns; by the root it would be 281 ms)",
            parameters={"dialect": "linux"},
            link=LINK,
            by_hand=True,
            steps=[
                late(0.24),
                late(100.240767),
                late(100.240768, "drop forced"),
                late(100.240768),
                late(200.238463),
                late(200.238464, "drop forced"),
                late(200.238464),
                late(250.239359),
                late(250.23936, "drop forced"),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    overload: Program = [
        Stretch(0.7, 20),
        Stretch(1.6, 150),
        Stretch(0.4, 60),
        Pause(20 * MILLISECOND),
        Stretch(1.8, 150),
        Stretch(0.9, 80),
    ]
    quick: Parameters = {"target": 0.003, "interval": 0.02, "maximum_packet_size": 1000.0}
    sizes: Program = [Stretch(1.5, 200, sizes=(40, 552, 1514)), Stretch(0.5, 60), Stretch(3.0, 60)]
    return [
        recorded(
            Codel,
            "overload, recovery, overload",
            "quick times; half of the packets ECN-capable",
            quick,
            LINK,
            program=overload,
        ),
        recorded(
            Codel,
            "without ECN, in a small buffer",
            "three sizes",
            quick | {"ecn": False, "limit": 20.0},
            LINK,
            program=sizes,
        ),
        recorded(
            Codel,
            "Linux: overload, recovery, overload",
            "as above in Linux's arithmetic",
            quick | {"dialect": "linux"},
            LINK,
            program=overload,
        ),
        recorded(
            Codel,
            "Linux: without ECN, with a threshold that is then without effect",
            "three sizes",
            quick | {"dialect": "linux", "ecn": False, "ce_threshold": 0.001},
            LINK,
            program=[
                *sizes,
                Settings(quick | {"dialect": "linux", "ce_threshold": 0.01}, LINK),
                *sizes,
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="codel",
        source="RFC 8289, 2018; Linux 6.12, include/net/codel_impl.h",
        machine=Codel,
        cases=[*(verify(case, Codel) for case in _hand_cases()), *_simulated()],
    )
