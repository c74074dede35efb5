"""DualPI2 as Linux 6.17 runs it, in whole nanoseconds and 32-bit fractions.

The rules:

- ECT(1) and CE packets (or all ECN-capable ones) go into queue L, all others into queue C; each
  is first in, first out. A packet that finds `limit` packets in both is dropped.
- Both gains are numbers of 256ths, rounded; each becomes (number x (2^32 - 1) / 4) / 10^9, cut
  off after each division: steps of p for 64 ns.
- At every multiple of `interval`, before what happens then: d is how long the head of C or L has
  waited, whichever is longer, 0 if there is none; p moves by (alpha (d - target) + beta (d - d'))
  / 64, cut off towards 0, d' being d of the last time (0 at first). p stays within 0 and 2^32 -
  1, or, without drop_on_overload, that over the coupling, cut off.
- The turn is L's, if C is empty or the credit is not above 0, and C's otherwise or if L is empty.
  If both had packets, the credit grows by classic_share x size for a packet of L that is sent,
  and shrinks by (100 - classic_share) x size for one of C. It starts at (2 classic_share - 100) x
  maximum_packet_size, and so it does again when a packet finds an idle link, or the share or size
  changes.
- p acts on a packet whose turn it is (or, with drop_on_arrival, on one that arrives) unless p is
  0 or less than two of the largest packets wait without it. To strike with x is to draw a coin
  whose 32-bit fraction is not above x. With coupling x p above 2^32 - 1 there is overload. C:
  struck twice in a row with p, it is marked if it is ECN-capable and there is no overload, else
  dropped. L: struck with coupling x p it is marked; in overload it is dropped if drop_on_overload
  is on and it is struck twice in a row with p, else marked.
- A packet of L that leaves and is not marked yet is marked if it has waited longer than
  step_delay (or if more than step_packets wait in L behind it), provided that L had at least
  step_from packets when it came.
- After a drop the next packet's turn comes at once.
"""

from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from bottleneck import Pause
from exact import Comparison
from kept import Coin, Crowd, Hand, Outcome, Parcel, Source, recorded, verify
from vector_file import Case, Link, Parameters, Settings, VectorFile, Within

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = ms = 1_000_000
ALL = 2**32 - 1


class DualPi2:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 10000.0,
        "target": 0.015,
        "interval": 0.016,
        "alpha": 0.16,
        "beta": 3.2,
        "coupling": 2.0,
        "step_delay": 0.001,
        "step_packets": None,
        "step_from": 0.0,
        "classic_share": 10.0,
        "maximum_packet_size": 1514.0,
        "low_latency": "ect1",
        "drop_on_arrival": False,
        "drop_on_overload": True,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        del comparison
        # Each packet with its arrival and whether the step applies to it.
        self._queues: dict[str, list[tuple[Parcel, int, bool]]] = {"L": [], "C": []}
        self._p = self._last_delay = self._updates = 0
        self._parameters = parameters
        self._credit = self._first_credit()
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        del link
        before = self._first_credit()
        self._parameters = parameters
        if self._first_credit() != before:
            self._credit = self._first_credit()

    def _number(self, name: str) -> Fraction:
        return Fraction(str(self._parameters[name]))

    def _nanoseconds(self, name: str) -> int:
        return round(self._number(name) * 10**9)

    def _gain(self, name: str) -> int:
        return round(self._number(name) * 256) * ALL // 4 // 10**9

    def _first_credit(self) -> int:
        return int((2 * self._number("classic_share") - 100) * self._number("maximum_packet_size"))

    def waiting(self) -> tuple[int, int]:
        parcels = [parcel for queue in self._queues.values() for parcel, _, _ in queue]
        return len(parcels), sum(parcel.size for parcel in parcels)

    def probability(self) -> Decimal:
        return Decimal(self._p) / ALL

    def _update_until(self, now: int) -> None:
        interval = self._nanoseconds("interval")
        while (self._updates + 1) * interval <= now:
            self._updates += 1
            instant = self._updates * interval
            waits = [instant - queue[0][1] for queue in self._queues.values() if queue]
            delay = max(waits, default=0)
            change = self._gain("alpha") * (delay - self._nanoseconds("target"))
            change += self._gain("beta") * (delay - self._last_delay)
            self._last_delay = delay
            moved = abs(change) // 64
            highest = ALL
            if not self._parameters["drop_on_overload"]:
                highest = int(ALL // self._number("coupling"))
            self._p = min(max(self._p + (moved if change > 0 else -moved), 0), highest)

    def _fate(self, parcel: Parcel, queue: str, coin: Coin) -> str:
        if self._p == 0 or self.waiting()[1] < 2 * self._number("maximum_packet_size"):
            return "pass"

        def struck(probability: int) -> bool:
            return int(coin() * 2**32) <= probability

        coupled = int(self._number("coupling")) * self._p
        overload = coupled > ALL
        if queue == "C":
            if not (struck(self._p) and struck(self._p)):
                return "pass"
            return "drop" if overload or parcel.ecn is None else "mark"
        if not overload:
            return "mark" if struck(coupled) else "pass"
        drops = bool(self._parameters["drop_on_overload"])
        return "drop" if drops and struck(self._p) and struck(self._p) else "mark"

    def offer(self, now: int, parcel: Parcel, idle_since: int | None, coin: Coin) -> Outcome:
        self._update_until(now)
        packets, _ = self.waiting()
        if idle_since is not None and packets == 0:
            self._credit = self._first_credit()
        if packets >= self._number("limit"):
            return Outcome(dropped=((parcel.number, "overflow"),))
        everything = self._parameters["low_latency"] == "ecn-capable"
        low = parcel.ecn in {"ect1", "ce"} or (everything and parcel.ecn == "ect0")
        queue = "L" if low else "C"
        fate = "pass"
        if self._parameters["drop_on_arrival"]:
            fate = self._fate(parcel, queue, coin)
        if fate == "drop":
            return Outcome(dropped=((parcel.number, "early"),))
        step = low and fate == "pass" and len(self._queues["L"]) >= self._number("step_from")
        self._queues[queue].append((parcel, now, step))
        return Outcome(marked=fate == "mark")

    def turn(self, now: int, coin: Coin) -> Outcome:
        self._update_until(now)
        dropped: list[tuple[int, str]] = []
        while any(self._queues.values()):
            low, classic = self._queues["L"], self._queues["C"]
            queue = "L" if low and (not classic or self._credit <= 0) else "C"
            both = bool(low and classic)
            parcel, arrived, step = self._queues[queue].pop(0)
            fate = "pass"
            if not self._parameters["drop_on_arrival"]:
                fate = self._fate(parcel, queue, coin)
            if fate == "drop":
                dropped.append((parcel.number, "early"))
                continue
            if both:
                share = int(self._number("classic_share"))
                self._credit += parcel.size * (share if queue == "L" else share - 100)
            marked = fate == "mark" or (step and self._is_above_step(now - arrived))
            return Outcome(parcel.number, marked, tuple(dropped))
        return Outcome(dropped=tuple(dropped))

    def _is_above_step(self, waited: int) -> bool:
        if self._parameters["step_packets"] is not None:
            return len(self._queues["L"]) > self._number("step_packets")
        return waited > self._nanoseconds("step_delay")


# p moves by growth alone, and acts while 1000 bytes wait; no step.
GROWTH: Parameters = {
    "alpha": 0.0,
    "beta": 3.125,
    "maximum_packet_size": 500.0,
    "step_delay": 1.0,
}


def _controller() -> Case:
    hand = Hand()
    hand.offer(12 * ms)
    hand.offer(18 * ms, probability=Within(0.01104, 1e-4))
    hand.turn(33 * ms, 1, probability=Within(0.06304, 1e-4))
    hand.turn(49 * ms, 2, probability=Within(0.09744, 1e-4))
    hand.turn(1_000 * ms, None, probability=0.0)
    return Case(
        name="p moves by the distance from the target and by growth",
        about="target 15 ms, alpha 0.16, beta 3.2, each within 1/1000 after rounding. 16 ms: the "
        "head has waited 4 ms: 0.16 x -11 ms + 3.2 x 4 ms = 0.01104. 32 ms: 20 ms: 0.16 x 5 ms + "
        "3.2 x 16 ms = 0.052 more. 48 ms: 30 ms after 20 ms: 0.16 x 15 ms + 3.2 x 10 ms = 0.0344 "
        "more: 0.09744. With nothing waiting it falls to 0",
        parameters={},
        link=LINK,
        by_hand=True,
        steps=hand.steps,
    )


def _coupled() -> Case:
    hand = Hand()
    for ecn in ("ect1", None, "ect0", "ect1", None, None, None, None):
        hand.offer(0, ecn=ecn)
    hand.turn(33 * ms, 1, coins=[0.1997], marked=True, probability=Within(0.1, 2e-4))
    hand.turn(33 * ms, 4, coins=[0.2])
    coins = [0.0998, 0.0998, 0.0998, 0.0998]
    hand.turn(33 * ms, 3, coins=coins, marked=True, dropped=[(2, "early")])
    hand.turn(33 * ms, 5, coins=[0.0998, 0.1])
    hand.turn(33 * ms, 6, coins=[0.1])
    hand.turn(33 * ms, 7, coins=[0.5])
    hand.turn(33 * ms, 8)
    return Case(
        name="twice p for low latency, p squared for the others",
        about="beta 3.125, alpha 0: 16 ms of growth are 0.05 twice, so p is 0.1 (rounded 0.09988): "
        "marks in L with 0.2, in C with 0.01, which is two coins below 0.1. Packet 2 cannot be "
        "marked and is dropped, packet 3 is marked. With nothing behind it a packet has no coin",
        parameters=GROWTH,
        link=LINK,
        by_hand=True,
        steps=hand.steps,
    )


def _shares() -> Case:
    hand = Hand()
    for number in range(1, 24):
        hand.offer(0, ecn="ect1" if number <= 20 else "ect0")
    for number in (*range(1, 10), 21, *range(10, 19), 22, 19, 20, 23):
        hand.turn(0, number)
    hand.turn(0, None)
    hand.offer(ms, idle_since_ns=0)
    hand.offer(ms, ecn="ce")
    hand.turn(ms, 25)
    return Case(
        name="one byte in ten for the classic queue",
        about="the credit starts at (10 - 90) x 1000 = -80000. A packet of L adds 10 x 1000, one "
        "of C takes 90 x 1000: L sends nine until the credit is above 0, C one, and so on; "
        "without L, C sends. When a packet finds an idle link the credit is as at the start: L "
        "first",
        parameters={"maximum_packet_size": 1000.0},
        link=LINK,
        by_hand=True,
        steps=hand.steps,
    )


def _steps() -> Case:
    hand = Hand()
    for ecn in ("ect1", "ect1", "ect0"):
        hand.offer(0, ecn=ecn)
    hand.turn(ms, 1)
    hand.turn(ms + 1, 2, marked=True)
    hand.turn(2 * ms, 3)
    packets = {"step_packets": 1.0, "step_from": 1.0}
    hand.settings(packets, LINK)
    for _ in range(4):
        hand.offer(3 * ms, ecn="ect1")
    hand.turn(3 * ms, 4)
    hand.turn(3 * ms, 5, marked=True)
    hand.turn(9 * ms, 6)
    hand.turn(9 * ms, 7)
    return Case(
        name="the step of the low-latency queue",
        about="a wait of a millisecond is not above it, one of a nanosecond more is. ECT(0) "
        "belongs to the others. Then: more than one packet behind, for those that found one at "
        "least: of four packets the second, behind which two wait; the third has one",
        parameters={},
        link=LINK,
        by_hand=True,
        steps=hand.steps,
    )


def _overload() -> Case:
    hand = Hand()
    for ecn in ("ect1", "ect1", "ect0", "ect0", None, None):
        hand.offer(0, ecn=ecn)
    coins = [0.5, 0.5]
    hand.turn(17 * ms, 2, coins=[*coins, 0.6], marked=True, dropped=[(1, "early")])
    hand.turn(17 * ms, 4, coins=[*coins, 0.52], dropped=[(3, "early")])
    hand.settings(GROWTH | {"beta": 32.0, "drop_on_overload": False}, LINK)
    hand.offer(17 * ms, ecn="ect1")
    # At 32 ms p would be above 1.
    hand.turn(33 * ms, 7, coins=[0.999], marked=True, probability=Within(0.5, 1e-9))
    hand.turn(33 * ms, 5, coins=[0.51])
    return Case(
        name="overload",
        about="beta 32: 16 ms make p 0.512, and twice that is more than 1. L drops with p squared "
        "and marks all else, C drops what it would have marked. Without drop_on_overload p ends "
        "at a half, and L marks everything",
        parameters=GROWTH | {"beta": 32.0},
        link=LINK,
        by_hand=True,
        steps=hand.steps,
    )


def _on_arrival() -> Case:
    hand = Hand()
    hand.offer(0)
    hand.offer(0)
    hand.offer(17 * ms, ecn="ect1", coins=[0.5, 0.5], dropped=[(3, "early")])
    hand.offer(17 * ms, coins=[0.5, 0.52])
    hand.offer(17 * ms, ecn="ect1", dropped=[(5, "overflow")])
    hand.turn(17 * ms, 1)
    hand.offer(17 * ms, ecn="ect1", coins=[0.6], marked=True)
    hand.turn(17 * ms, 6)
    return Case(
        name="p acts on arrivals, and the buffer",
        about="p is 0.512 as in overload. With drop_on_arrival coins are drawn when packets "
        "arrive, and none when they leave; both queues together hold 3",
        parameters=GROWTH | {"beta": 32.0, "drop_on_arrival": True, "limit": 3.0},
        link=LINK,
        by_hand=True,
        steps=hand.steps,
    )


def _simulated() -> list[Case]:
    lively: Parameters = {
        "target": 0.006,
        "interval": 0.004,
        "alpha": 2.0,
        "beta": 10.0,
        "maximum_packet_size": 1000.0,
        "limit": 60.0,
    }
    mixed = (
        Source(1, 0.4, "ect1"),
        Source(2, 0.3, "ect0", (552, 1514)),
        Source(3, 0.25, None, (40, 1000)),
        Source(4, 0.05, "ce"),
    )
    rise_and_fall = (
        Crowd(0.8, 40, mixed),
        Crowd(1.8, 120, mixed),
        Crowd(0.5, 60, mixed),
        Pause(30 * MILLISECOND),
        Crowd(1.4, 100, mixed),
    )
    return [
        recorded(
            DualPi2,
            "four kinds of packets",
            "load rises and falls",
            lively,
            LINK,
            program=rise_and_fall,
        ),
        recorded(
            DualPi2,
            "all that may be marked, and a step in packets",
            "a classic share of a third, no drops on overload, a small buffer",
            lively
            | {"low_latency": "ecn-capable", "step_packets": 3.0, "step_from": 2.0}
            | {"classic_share": 33.0, "drop_on_overload": False, "limit": 25.0},
            LINK,
            program=(*rise_and_fall, Crowd(3.0, 100, mixed)),
        ),
        recorded(
            DualPi2,
            "settings changed on the way",
            "on arrival, then on departure, with another coupling and share",
            lively | {"drop_on_arrival": True},
            LINK,
            program=(
                *rise_and_fall,
                Settings(lively | {"coupling": 3.0, "classic_share": 50.0, "target": 0.003}, LINK),
                *rise_and_fall,
            ),
        ),
    ]


def vectors() -> VectorFile:
    hand = [_controller(), _coupled(), _shares(), _steps(), _overload(), _on_arrival()]
    return VectorFile(
        discipline="dualpi2",
        source="RFC 9332, 2023; Linux 6.17, net/sched/sch_dualpi2.c",
        machine=DualPi2,
        cases=[*(verify(case, DualPi2) for case in hand), *_simulated()],
    )
