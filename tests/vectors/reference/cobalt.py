"""COBALT as CAKE of Linux 6.12 has it, on one first-in-first-out queue, in whole nanoseconds.

The rules:

- Let m be the time in which the link sends `maximum_packet_size`. The target is at least 3/2 m;
  the interval is lengthened by as much as the target was raised, and at least twice the target.
- Signals follow an agenda: a count n (0 at first) and a time `next`. To move the agenda is to
  change n by one, and then to add interval x r(n) to `next`. r is a 32-bit fraction: for n < 16
  1 / sqrt(n) from a table; above, one step of Newton's method from the last r. Before any move r
  is 0.
- A packet leaves after a sojourn. It is late if that exceeds the target and 4 m. A signal is due
  if n > 0 and now has reached `next`, both as they were before. If this packet is late and the
  last was not, `next` = now + interval x r; if late and n = 0, n = 1. If due and late: the packet
  is marked if it can be, else to be dropped; n grows. If due and not late: n shrinks, again and
  again while it is above 0 and now has reached `next`.
- With a probability P above 0 a coin is drawn and the packet, marked or not, is to be dropped if
  it falls (both as 32-bit fractions).
- Then, if n = 0: `next` = now + interval; else, if `next`, before it was last reset to a new
  spell, lies in the past and the packet is not to be dropped: `next` = now.
- A packet with nothing behind it is sent even so.
- A packet that meets `limit` packets is dropped: P grows by `increment` (at most all ones) if
  more than the target has passed since it moved (or the start); the last packet counts as late,
  `next` = now, n is at least 1.
- When the link goes idle: P shrinks by `decrement` likewise, if it is not 0; the last packet
  counts as not late; if n > 0 and now has reached `next`, n shrinks once.
"""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
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
)

# A packet of 1000 bytes takes a millisecond, one of 1514 bytes 1.514.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000
ONE = 2**32


def _improved(root: int, count: int) -> int:
    """One step towards 1 / sqrt(count), cut off as the kernel cuts it off."""
    square = root * root // ONE
    return (3 * ONE - count * square) // 4 * root // 2**31


# 1 / sqrt(count), rounded; all ones for none and 1; four of the kernel's entries are one off.
ROOTS = [ONE - 1, ONE - 1]
ROOTS += [int((ONE / Decimal(count).sqrt()).to_integral_value()) for count in range(2, 16)]
for entry, error in ((4, -1), (10, 1), (12, 1), (15, 1)):
    ROOTS[entry] += error


class Cobalt:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 1000.0,
        "target": 0.005,
        "interval": 0.1,
        "maximum_packet_size": 1514.0,
        "increment": 0.00390625,
        "decrement": 0.000244140625,
        "ecn": True,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        del comparison
        self._n = self._r = self._next = 0
        self._late = False
        self._p = self._p_moved = 0
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        self._parameters = parameters
        bits = 8 * Fraction(str(parameters["maximum_packet_size"]))
        self._m = int(bits * 10**9 / Fraction(link.rate))
        target = self._nanoseconds("target")
        self._target = max(self._m * 3 // 2, target)
        longer = self._nanoseconds("interval") + self._target - target
        self._interval = max(longer, 2 * self._target)

    def use(self, m: int, target: int, interval: int) -> None:
        """These times, which have been made to fit."""
        self._m, self._target, self._interval = m, target, interval

    def rests(self, now: int) -> bool:
        """Whether nothing is left of the past."""
        return not self._n and not self._p and self._next <= now

    def _nanoseconds(self, name: str) -> int:
        return round(Fraction(str(self._parameters[name])) * 10**9)

    def _move(self, by: int) -> None:
        self._n += by
        self._r = ROOTS[self._n] if self._n < len(ROOTS) else _improved(self._r, self._n)
        self._next += self._interval * self._r // ONE

    def _step_of_p(self, now: int, name: str) -> int:
        if now - self._p_moved <= self._target:
            return 0
        self._p_moved = now
        return int(Fraction(str(self._parameters[name])) * ONE)

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        del coin
        if arrival.idle_since_ns is not None:
            if self._p:
                self._p = max(self._p - self._step_of_p(arrival.idle_since_ns, "decrement"), 0)
            self._late = False
            if self._n and arrival.idle_since_ns >= self._next:
                self._move(-1)
        limit = self._parameters["limit"]
        if Decimal(str(limit)) > arrival.queue_packets:
            return "accept", None
        now = arrival.time_ns
        self._p = min(self._p + self._step_of_p(now, "increment"), ONE - 1)
        self._late = True
        self._next = now
        self._n = max(self._n, 1)
        return "drop", "overflow"

    def depart(self, departure: Departure, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        now = departure.time_ns
        sojourn = now - departure.arrived_ns
        late = sojourn > max(self._target, 4 * self._m)
        due = self._n > 0 and now >= self._next
        passed = now > self._next
        if late and not self._late:
            self._next = now + self._interval * self._r // ONE
        if late and not self._n:
            self._n = 1
        self._late = late
        marked = False
        reason = None
        if due and late:
            self._move(+1)
            passed = now > self._next
            marked = bool(self._parameters["ecn"]) and departure.ecn_capable
            reason = None if marked else "forced"
        while due and not late:
            self._move(-1)
            passed = now > self._next
            due = self._n > 0 and now >= self._next
        if self._p and int(coin() * ONE) < self._p:
            reason = "early"
        if not self._n:
            self._next = now + self._interval
        elif passed and not reason:
            self._next = now
        if reason and departure.queue_packets:
            return "drop", reason
        return ("mark" if marked else "accept"), None

    def figures(self) -> dict[str, Decimal | None]:
        return {"average_queue_packets": None, "drop_probability": Decimal(self._p) / ONE}


def _waited(
    at: float,
    sojourn: float,
    verdict: str = "accept",
    *,
    behind: int = 50,
    ecn: bool = False,
    coins: tuple[float, ...] = (),
    probability: float | None = None,
) -> Step:
    """A departure at so many milliseconds after so many of waiting."""
    return leave(
        behind,
        verdict,
        time_ns=round(at * MILLISECOND),
        sojourn_ns=round(sojourn * MILLISECOND),
        ecn=ecn,
        coins=coins,
        probability=probability,
    )


def _hand_cases() -> list[Case]:
    ms = MILLISECOND
    return [
        Case(
            name="signals come at interval / sqrt(count), and the rate decays as it grew",
            about="target 5 ms, but 4 x 1.514 = 6.056 ms are needed. The first spell, at 1000 ms, "
            "does not wait: a signal at the next packet, count 2, then after 100 / sqrt 2: "
            "1070.71, count 3, and 100 / sqrt 3 later: 1128.45. At 1129 ms it is due and the "
            "sojourn short: count 2, due at 1199.16. Late again at 1130: due 100 / sqrt 2 after "
            "that: 1200.71",
            parameters={},
            link=LINK,
            by_hand=True,
            steps=[
                _waited(999, 6.056, probability=0.0),
                _waited(1000, 6.057),
                _waited(1001, 10, "drop forced"),
                _waited(1070.7, 10),
                _waited(1070.72, 10, "drop forced"),
                _waited(1128.4, 10),
                _waited(1129, 1),
                _waited(1130, 10),
                _waited(1200.7, 10),
                _waited(1200.72, 10, "drop forced", probability=0.0),
            ],
        ),
        Case(
            name="a later spell waits for an interval",
            about="as above up to count 2, due at 1070.71. At 2000 ms the sojourn is short: count "
            "1, due 100 ms later, at 1170.71; count 0. Late at 2050: due an interval later, at "
            "2150",
            parameters={},
            link=LINK,
            by_hand=True,
            steps=[
                _waited(995, 1),
                _waited(1000, 10),
                _waited(1001, 10, "drop forced"),
                _waited(2000, 1),
                _waited(2050, 10),
                _waited(2149.9, 10),
                _waited(2150.1, 10, "drop forced"),
            ],
        ),
        Case(
            name="ECN-capable packets are marked, and the last packet is not dropped",
            about="signals fall due at 1000, 1070.71, 1128.45 and 1178.45 ms (50 later). The third "
            "falls on a packet with nothing behind it: it is sent, and counts",
            parameters={},
            link=LINK,
            by_hand=True,
            steps=[
                _waited(995, 1),
                _waited(1000, 10, ecn=True),
                _waited(1001, 10, "mark", ecn=True),
                _waited(1002, 10, ecn=True),
                _waited(1071, 10, "drop forced"),
                _waited(1128.5, 10, behind=0),
                _waited(1178.4, 10, ecn=True),
                _waited(1178.5, 10, "mark", behind=0, ecn=True),
                Settings({"ecn": False}, LINK),
                # The fifth: 100 / sqrt 5 = 44.72 ms later.
                _waited(1223.2, 10, "drop forced", ecn=True),
            ],
        ),
        Case(
            name="overflows and idleness move the probability, once in a target",
            about="limit 10, target 5 ms: up by 1/256 at 10 ms, not at 15 ms, again 1 ns later. It "
            "falls on ECN-capable packets, too, at a coin below 1/128 = 0.0078125, but not on the "
            "last one. Idle since 21 ms: down by 1/4096; since 22 ms: not yet; since 27 ms: down",
            parameters={"limit": 10.0},
            link=LINK,
            by_hand=True,
            steps=[
                step(10, "drop overflow", time_ns=10 * ms, probability=1 / 256),
                step(10, "drop overflow", time_ns=15 * ms, probability=1 / 256),
                step(10, "drop overflow", ecn=True, time_ns=15 * ms + 1, probability=1 / 128),
                _waited(16, 1, "drop early", ecn=True, coins=(0.0078,)),
                _waited(16, 1, coins=(0.0079,)),
                _waited(16, 1, behind=0, coins=(0.0078,)),
                step(0, time_ns=22 * ms, idle_since_ns=21 * ms, probability=1 / 128 - 1 / 4096),
                step(0, time_ns=27 * ms, idle_since_ns=22 * ms, probability=1 / 128 - 1 / 4096),
                step(0, time_ns=28 * ms, idle_since_ns=27 * ms, probability=1 / 128 - 2 / 4096),
            ],
        ),
        Case(
            name="an overflow makes a signal due at once",
            about="at 10 ms count is 1 and the signal due: the next late packet is dropped, and "
            "the one after 100 / sqrt 2 = 70.71 ms more. The probability is 1/256",
            parameters={"limit": 10.0},
            link=LINK,
            by_hand=True,
            steps=[
                step(10, "drop overflow", time_ns=10 * ms),
                _waited(10, 7, "drop forced", coins=(0.5,)),
                _waited(80.7, 10, coins=(0.5,)),
                _waited(80.72, 10, "drop forced", coins=(0.5,)),
            ],
        ),
        Case(
            name="a slow link lengthens target and interval",
            about="1 Mbit/s: 1514 bytes take 12.112 ms, the target is 18.168 ms, the interval 100 "
            "+ 13.168 = 113.168 ms, and 48.448 ms make late. After a first spell at 1000 ms "
            "(count 2 at 1001) which is over by 2000 ms, late at 2050 ms, the signal is due at "
            "2163.168",
            parameters={},
            link=Link(rate_bit_per_s=1e6, delay_s=0.01),
            by_hand=True,
            steps=[
                _waited(995, 48.448),
                _waited(1000, 48.449),
                _waited(1001, 60, "drop forced"),
                _waited(2000, 48.448),
                _waited(2050, 60),
                _waited(2163.1, 60),
                _waited(2163.2, 60, "drop forced"),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    lively: Parameters = {
        "target": 0.004,
        "interval": 0.02,
        "maximum_packet_size": 500.0,
        "limit": 30.0,
    }
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
    return [
        recorded(
            Cobalt,
            "half of the packets ECN-capable",
            "load rises and falls",
            lively,
            LINK,
            program=program,
        ),
        recorded(
            Cobalt,
            "a steep agenda, no ECN",
            "three sizes and a pause; an interval so short that the count passes the table",
            lively | {"interval": 0.009, "ecn": False, "limit": 200.0},
            LINK,
            program=[Stretch(4.0, 300), *sizes],
        ),
        recorded(
            Cobalt,
            "a lively probability, settings changed on the way",
            "a small buffer that overflows, then another target and rate",
            lively | {"limit": 8.0, "increment": 0.05, "decrement": 0.01},
            LINK,
            program=[
                *program,
                Settings(
                    lively | {"target": 0.01, "maximum_packet_size": 1514.0, "ecn": False},
                    Link(rate_bit_per_s=4e6, delay_s=0.01),
                ),
                *sizes,
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="cobalt",
        source="Linux 6.12, net/sched/sch_cake.c",
        machine=Cobalt,
        cases=[*(verify(case, Cobalt) for case in _hand_cases()), *_simulated()],
    )
