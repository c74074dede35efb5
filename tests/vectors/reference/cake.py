"""CAKE of Linux 6.12 (net/sched/sch_cake.c), in nanoseconds, where each flow has its queue.

The rules:

- A packet weighs max(size + overhead - network_offset, mpu), or its size without an overhead; atm:
  53 for each 48 bytes begun; ptm: and one for each 64 begun.
- A rate of b bytes/s is a fraction of a nanosecond: 10^9 x 2^34 / max(b, 64), halved until it is
  below 2^34.
- The shaper has two times. It sends while now has reached either of them. What is charged is added
  to the first; of a packet that is sent, half as much again to the second.
- Each tin has a time by its threshold. What is charged is added to it if it is past; else it
  becomes now and that, unless it is later.
- An arrival at an empty tin raises its time to now, one at an empty queue both others, if the first
  is past.
- With a rate: of the tins with flows that are sparse or bulk, the last that is in time has the
  turn; if none is, the first to be, of those alike the last. Without: DRR with deficits that may
  become negative.
- A flow without state becomes the last of the new ones, sparse, with a quantum; a decaying one as
  well; one that is sparse and waiting becomes bulk.
- The turn is that of the first decaying flow if nobody has been looked at for this packet; else of
  the first new one, the first old one, the first decaying one. With a deficit that is not positive,
  sparse flows become bulk if they have packets, else they wait; it gets a quantum and becomes the
  last old one.
- A quantum is (q x (65535 / load) + coin of 16 bits) / 65536; load: the most bulk flows of those of
  its hosts that count, at least 1; q = the tin's rate / 4096, from 300 to 1514, or 1514 without a
  rate.
- A flow found empty tells its COBALT, and decays until that rests; then it has no state.
- In ingress mode a packet that COBALT drops is charged to all but the second time, and the turn
  begins anew. COBALT then wants a sojourn of two packets for each bulk flow, too.
- Beyond the limit the longest queue loses its head, and its COBALT hears of an overflow.
"""

from collections import deque
from collections.abc import Iterator
from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause
from cobalt import Cobalt
from exact import Comparison
from fq_codel import LINK, MILLISECOND
from kept import Coin, Crowd, Hand, Outcome, Parcel, Source, recorded, verify
from vector_file import Arrival, Case, Departure, Link, Parameters, Settings, VectorFile

TINS = {
    "besteffort": [(1, 1, 65535)],
    "diffserv3": [(1, 1, 1024), (1, 16, 64), (1, 4, 256)],
    "diffserv4": [(1, 1, 1024), (1, 16, 64), (1, 2, 512), (1, 4, 256)],
}
BULK = (1, 8)
VOICE = {"diffserv3": (4, 44, 46, 48, 56), "diffserv4": (32, 40, 44, 46, 48, 56)}
VIDEO = (4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38)
COUNTED = {"dual-srchost": (0,), "dual-dsthost": (1,), "triple-isolate": (0, 1)}


class Pace:
    """How long bytes take."""

    def __init__(self, rate: int) -> None:
        self._fraction, self._places = (2**34 * 10**9 // max(rate, 64), 34) if rate else (0, 0)
        while self._fraction >= 2**34:
            self._fraction //= 2
            self._places -= 1

    def time(self, size: int) -> int:
        return size * self._fraction // 2**self._places


class Flow:
    """A flow of a tin."""

    def __init__(self, hosts: tuple[int, int]) -> None:
        self.packets: deque[tuple[int, Parcel]] = deque()
        self.state = "none"
        self.deficit = 0
        self.hosts = hosts
        self.control = Cobalt({**Cobalt.DEFAULTS}, LINK, Comparison(ties=True))

    def backlog(self) -> int:
        return sum(parcel.size for _, parcel in self.packets)


class Tin:
    """Flows of some codepoints."""

    def __init__(self, counted: tuple[int, ...]) -> None:
        self.flows: dict[int, Flow] = {}
        self.lists: dict[str, deque[Flow]] = {"new": deque(), "old": deque(), "decaying": deque()}
        self.time = self.deficit = 0
        self._counted = counted

    def allot(self, rate: int, quantum: int, rtt: int, largest: int) -> None:
        self.pace, self.quantum = Pace(rate), quantum
        self.flow_quantum = min(max(rate // 4096, 300), 1514) if rate else 1514
        m, target = self.pace.time(largest), rtt // 20
        longer = max(m * 3 // 2, target)
        self.times = (m, longer, max(rtt + longer - target, 2 * longer))

    def in_state(self, *states: str) -> list[Flow]:
        return [flow for flow in self.flows.values() if flow.state in states]

    def is_busy(self) -> bool:
        return bool(self.in_state("sparse", "waiting", "bulk"))

    def backlog(self) -> int:
        return sum(flow.backlog() for flow in self.flows.values())

    def move(self, flow: Flow, to: str | None) -> None:
        for listed in self.lists.values():
            if flow in listed:
                listed.remove(flow)
        if to:
            self.lists[to].append(flow)

    def quantum_of(self, flow: Flow, coin: Coin) -> int:
        bulk = self.in_state("bulk")
        loads = [sum(it.hosts[side] == flow.hosts[side] for it in bulk) for side in self._counted]
        share = self.flow_quantum * (65535 // max(1, *loads, 1))
        return (share + int(coin() * 65536)) // 65536

    def turn(self, first: list[bool], coin: Coin) -> Flow | None:
        while any(self.lists.values()):
            order = ("decaying", "new", "old") if first[0] else ("new", "old", "decaying")
            flow = next(self.lists[name][0] for name in order if self.lists[name])
            first[0] = False
            if flow.deficit > 0:
                return flow
            if flow.state == "sparse":
                flow.state = "bulk" if flow.packets else "waiting"
            flow.deficit += self.quantum_of(flow, coin)
            self.move(flow, "old")
        return None


class Cake:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "bandwidth": None,
        "rtt": 0.1,
        "tins": "diffserv3",
        "isolation": "triple-isolate",
        "overhead": None,
        "atm": "noatm",
        "mpu": 0.0,
        "network_offset": 0.0,
        "maximum_packet_size": 1514.0,
        "ingress": False,
        "ack_filter": "no-ack-filter",
        "split_gso": True,
        "memory_limit": None,
        "perturbation": None,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        del comparison
        self._keyed = parameters["perturbation"] is not None
        self._times = [0, 0]
        counted = COUNTED.get(str(parameters["isolation"]), ())
        self._tins = [Tin(counted) for _ in TINS[str(parameters["tins"])]]
        self._current = 0
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        del link
        self._parameters = parameters
        self._rate = self._whole("bandwidth") // 8 if parameters["bandwidth"] else 0
        self._pace = Pace(self._rate)
        rtt = round(Decimal(str(parameters["rtt"])) * 10**9)
        for tin, (part, of, quantum) in zip(self._tins, TINS[str(parameters["tins"])], strict=True):
            tin.allot(self._rate * part // of, quantum, rtt, self._whole("maximum_packet_size"))
        self._limit = max(4 * 2**20, 4 * self._rate * rtt // 10**9)
        if parameters["memory_limit"]:
            self._limit = self._whole("memory_limit")

    def _whole(self, name: str) -> int:
        return int(Decimal(str(self._parameters[name])))

    def _weight(self, size: int) -> int:
        if self._parameters["overhead"] is not None:
            size += self._whole("overhead") - self._whole("network_offset")
        size = max(size, self._whole("mpu"), 0)
        return {"noatm": size, "atm": -(-size // 48) * 53, "ptm": size - (-size // 64)}[
            str(self._parameters["atm"])
        ]

    def _charge(self, tin: Tin, flow: Flow | None, size: int, now: int, *, sent: bool) -> None:
        weight = self._weight(size)
        time = self._pace.time(weight)
        self._times[0] += time
        self._times[1] += (time + time // 2) if sent else 0
        time = tin.pace.time(weight)
        tin.time = tin.time + time if tin.time < now else max(tin.time, now + time)
        if flow:
            flow.deficit -= weight
            tin.deficit -= weight

    def _tin_of(self, dscp: int) -> int:
        tins = str(self._parameters["tins"])
        if tins == "besteffort":
            return 0
        if dscp in BULK:
            return 1
        if dscp in VOICE[tins]:
            return len(self._tins) - 1
        return 2 if tins == "diffserv4" and dscp in VIDEO else 0

    def offer(self, now: int, parcel: Parcel, idle_since: int | None, coin: Coin) -> Outcome:
        del idle_since
        key = 0
        if self._parameters["isolation"] != "flowblind":
            key = parcel.flow
            if not self._keyed:
                coin()
            self._keyed = True
        tin = self._tins[self._tin_of(parcel.dscp)]
        if not tin.backlog():
            tin.time = max(tin.time, now)
            if not self.waiting()[0] and self._times[0] < now:
                self._times = [now, now]
        flow = tin.flows.setdefault(key, Flow(parcel.hosts))
        flow.packets.append((now, parcel))
        if flow.state == "waiting":
            flow.state = "bulk"
        elif flow.state in {"none", "decaying"}:
            flow.state = "sparse"
            tin.move(flow, "new")
            flow.deficit = tin.quantum_of(flow, coin)
        dropped = []
        while self.waiting()[1] > self._limit:
            dropped.append(self._shed(now))
        return Outcome(dropped=tuple(dropped))

    def _shed(self, now: int) -> tuple[int, str]:
        flows = [(flow, tin) for tin in self._tins for flow in tin.flows.values()]
        flow, tin = max(flows, key=lambda it: it[0].backlog())
        _, parcel = flow.packets.popleft()
        full = Arrival(now, parcel.size, ecn_capable=False, queue_packets=2000, queue_bytes=0,
                       empty_since_ns=0, idle_since_ns=None)  # fmt: skip
        flow.control.use(*tin.times)
        flow.control.arrive(full, Decimal)
        if self._parameters["ingress"]:
            self._charge(tin, None, parcel.size, now, sent=False)
        return parcel.number, "overflow"

    def _due(self, now: int) -> Tin:
        busy = [tin for tin in self._tins if tin.is_busy()]
        in_time = [tin for tin in busy if tin.time <= now]
        return in_time[-1] if in_time else min(reversed(busy), key=lambda tin: tin.time)

    def _in_turn(self) -> Tin:
        while True:
            tin = self._tins[self._current]
            if tin.deficit >= 0 and tin.is_busy():
                return tin
            if tin.deficit <= 0:
                tin.deficit += tin.quantum
            self._current = (self._current + 1) % len(self._tins)

    def turn(self, now: int, coin: Coin) -> Outcome:
        dropped: list[tuple[int, str]] = []
        first = [True]
        while self.waiting()[0] and (not self._rate or min(self._times) <= now):
            tin = self._due(now) if self._rate else self._in_turn()
            for parcel, marked in self._of_tin(tin, now, first, coin, dropped):
                return Outcome(parcel.number, marked, tuple(dropped))
        return Outcome(dropped=tuple(dropped))

    def _of_tin(
        self,
        tin: Tin,
        now: int,
        first: list[bool],
        coin: Coin,
        dropped: list[tuple[int, str]],
    ) -> Iterator[tuple[Parcel, bool]]:
        """The packet that a tin sends, if it does."""
        while flow := tin.turn(first, coin):
            while True:
                flow.control.use(*tin.times)
                if not flow.packets:
                    self._found_empty(tin, flow, now)
                    return
                arrived, parcel = flow.packets.popleft()
                if self._parameters["ingress"]:
                    m, target, interval = tin.times
                    # COBALT itself asks for four packets.
                    bulk = len(tin.in_state("bulk"))
                    flow.control.use(max(m, m * bulk // 2), target, interval)
                leaving = Departure(now, parcel.size, ecn_capable=parcel.ecn is not None,
                                    arrived_ns=arrived, queue_packets=len(flow.packets),
                                    queue_bytes=0)  # fmt: skip
                verdict, reason = flow.control.depart(leaving, coin)
                if verdict != "drop":
                    self._charge(tin, flow, parcel.size, now, sent=True)
                    yield parcel, verdict == "mark"
                    return
                dropped.append((parcel.number, str(reason)))
                if self._parameters["ingress"]:
                    self._charge(tin, flow, parcel.size, now, sent=False)
                    break

    def _found_empty(self, tin: Tin, flow: Flow, now: int) -> None:
        empty = Arrival(now, 0, ecn_capable=False, queue_packets=0, queue_bytes=0,
                        empty_since_ns=0, idle_since_ns=now)  # fmt: skip
        flow.control.arrive(empty, Decimal)
        rests = flow.control.rests(now)
        flow.state = "none" if rests else "decaying"
        tin.move(flow, None if rests else "decaying")

    def ready_at(self) -> int:
        return min(self._times) if self._rate else 0

    def waiting(self) -> tuple[int, int]:
        parcels = [
            parcel
            for tin in self._tins
            for flow in tin.flows.values()
            for _, parcel in flow.packets
        ]
        return len(parcels), sum(parcel.size for parcel in parcels)

    def probability(self) -> Decimal | None:
        controls = [flow.control for tin in self._tins for flow in tin.flows.values()]
        figures = [control.figures()["drop_probability"] for control in controls]
        return max((figure for figure in figures if figure is not None), default=Decimal(0))


PLAIN: Parameters = {"perturbation": 0.0, "tins": "besteffort", "isolation": "flows"}
HALF = (0.5,)
"""The coin of a quantum: 300 x 65535 + 32768 are 300 x 65536 and some."""
TENTH = 300_000
"""How long 300 bytes take at 8 Mbit/s."""
Told = tuple[str, str, Parameters, Hand]


def _shaped() -> Told:
    steps = Hand()
    steps.offer(0, size=300, flow=1, coins=HALF)
    for _ in range(3):
        steps.offer(0, size=300, flow=1)
    steps.turn(0, 1)
    steps.turn(TENTH - 1, None)
    steps.turn(TENTH, 2, coins=HALF)
    steps.turn(750_000, 3, coins=HALF)
    steps.turn(3 * TENTH - 1, None)
    steps.turn(3 * TENTH, 4, coins=HALF)
    for _ in range(2):
        steps.offer(9 * MILLISECOND, size=300, flow=1)
    steps.turn(9 * MILLISECOND, 5, coins=HALF)
    steps.turn(9 * MILLISECOND + TENTH - 1, None)
    steps.turn(9 * MILLISECOND + TENTH, 6, coins=HALF)
    return (
        "a shaper without burst, which makes up for lateness alone",
        (
            "8 Mbit/s: 300 bytes take 0.3 ms. The third packet leaves 0.15 ms late, and the fourth "
            "at 0.9 ms all the same. An idle line saves nothing up: one packet at 9 ms, the next "
            "at 9.3. A quantum is 300 bytes, the least, and each packet takes one"
        ),
        {"bandwidth": 8e6},
        steps,
    )


def _rate_changes() -> Told:
    steps = Hand()
    steps.offer(0, size=300, flow=1, coins=HALF)
    for _ in range(3):
        steps.offer(0, size=300, flow=1)
    steps.turn(0, 1)
    steps.settings({**PLAIN, "bandwidth": 4e6}, LINK)
    steps.turn(TENTH - 1, None)
    steps.turn(TENTH, 2, coins=HALF)
    steps.turn(3 * TENTH - 1, None)
    steps.turn(3 * TENTH, 3, coins=HALF)
    steps.settings({**PLAIN, "bandwidth": 16e6}, LINK)
    steps.turn(5 * TENTH - 1, None)
    steps.turn(5 * TENTH, 4, coins=HALF)
    return (
        "another rate leaves what has been charged",
        (
            "300 bytes take 0.3 ms at 8 Mbit/s and 0.6 at 4. The first packet is charged at 8, so "
            "the second leaves at 0.3 ms, the third at 0.9; 16 Mbit/s do not hasten the fourth"
        ),
        {"bandwidth": 8e6},
        steps,
    )


def _framing() -> Told:
    steps = Hand()
    steps.offer(0, size=200, flow=1, coins=HALF)
    for _ in range(2):
        steps.offer(0, size=200, flow=1)
    steps.turn(0, 1)
    steps.turn(317_999, None)
    # A deficit of 300 - 318, and one more quantum.
    steps.turn(318_000, 2, coins=HALF)
    # 282 - 318 = -36, and 264.
    steps.turn(636_000, 3, coins=HALF)
    return (
        "cells of an ATM line",
        (
            "200 bytes less 14 of Ethernet and 44 of the line are 230, in 5 cells of 48. With an "
            "MPU of 256 they are 6 cells, 318 bytes, which take 0.318 ms at 8 Mbit/s"
        ),
        {"bandwidth": 8e6, "overhead": 44.0, "atm": "atm", "mpu": 256.0, "network_offset": 14.0},
        steps,
    )


def _tins() -> Told:
    steps = Hand()
    for flow, dscp in ((1, 0), (2, 46), (3, 8)):
        steps.offer(0, size=300, flow=flow, dscp=dscp, coins=HALF)
        steps.offer(0, size=300, flow=flow, dscp=dscp)
    steps.turn(0, 3)
    steps.turn(TENTH, 5)
    steps.turn(2 * TENTH, 1)
    steps.turn(3 * TENTH, 2, coins=HALF)
    steps.turn(4 * TENTH, 4, coins=HALF)
    steps.turn(5 * TENTH, 6, coins=3 * HALF)
    return (
        "tins within their thresholds go first, and thresholds are soft",
        (
            "diffserv4 at 8 Mbit/s. 300 bytes take 0.3 ms of the rate, 1.2 of voice (a quarter) "
            "and 4.8 of bulk (a sixteenth). All are in time at 0: voice is the highest. At 0.3 ms"
            " bulk is in time, and its number is above best effort's; then best effort alone is. "
            "At 1.2 ms voice is in time again. At 1.5 ms the two others get a quantum, are found "
            "empty, and bulk goes, though it is due at 5.1 ms"
        ),
        {"bandwidth": 8e6, "tins": "diffserv4"},
        steps,
    )


def _hosts() -> Told:
    steps = Hand()
    for flow, host, packets in ((1, 1, 5), (2, 1, 4), (3, 2, 6)):
        for number in range(packets):
            coins = () if number else HALF
            steps.offer(0, size=757, flow=flow, hosts=(host, 9), coins=coins)
    order = [1, 2, 6, 7, 10, 11, 3, 4, 8, 12, 13, 5, 9, 14, 15]
    for turn, packet in enumerate(order):
        coins = HALF if packet in {6, 10, 3, 8, 12, 5, 9, 14} else ()
        steps.turn(turn * TENTH, packet, coins=coins)
    return (
        "hosts have equal shares, and their flows within",
        (
            "no rate, so a quantum is 1514 bytes, two packets of 757. Flows 1 and 2 are of one "
            "source, flow 3 of another. At first each has a quantum. Flow 1 becomes bulk with a "
            "whole one, then flow 2, when their host has two: 1514 x 32767 / 65536 = 756.98, with"
            " the coin 757. Flow 3 gets 1514. In the next round flow 1 gets 757 as well"
        ),
        {"isolation": "dual-srchost"},
        steps,
    )


def _memory() -> Told:
    steps = Hand()
    for number in range(3):
        steps.offer(0, flow=1, coins=() if number else HALF)
    steps.offer(0, flow=2, coins=HALF)
    steps.offer(0, flow=2, dropped=[(1, "overflow")], probability=0.0)
    steps.offer(6 * MILLISECOND, flow=2, dropped=[(4, "overflow")], probability=1 / 256)
    return (
        "beyond the buffer the longest queue loses its head",
        (
            "4000 bytes: the fifth packet finds them full, and flow 1 has three of 1000. Later "
            "flow 2 has three, more than a target after the beginning: BLUE moves"
        ),
        {"memory_limit": 4000.0},
        steps,
    )


SIZES = (60, 552, 1514)
HOUSEHOLD = (
    Source(1, 0.3, None, SIZES, hosts=(1, 1)),
    Source(2, 0.2, "ect0", SIZES, hosts=(1, 2)),
    Source(3, 0.25, None, SIZES, hosts=(2, 1)),
    Source(4, 0.15, None, SIZES, dscp=8, hosts=(2, 2)),
    Source(5, 0.1, "ect0", (200,), dscp=46, hosts=(3, 3)),
)


def vectors() -> VectorFile:
    told = [_shaped(), _rate_changes(), _framing(), _tins(), _hosts(), _memory()]
    cases = [
        Case(name, about, PLAIN | parameters, LINK, hand.steps, by_hand=True, ties=True)
        for name, about, parameters, hand in told
    ]
    program = [
        Crowd(0.8, 20, HOUSEHOLD),
        Crowd(2.5, 120, HOUSEHOLD),
        Crowd(0.4, 40, HOUSEHOLD),
        Pause(60 * MILLISECOND),
        Crowd(1.6, 60, HOUSEHOLD),
        Crowd(0.3, 20, HOUSEHOLD),
    ]
    quick: Parameters = {"rtt": 0.02, "maximum_packet_size": 500.0}
    shaped: Parameters = quick | {"bandwidth": 6.4e6}
    simulated = [
        recorded(
            Cake,
            f"a household, rise and fall, {more}",
            "three hosts, one flow marked CS1 and one EF, at 0.8, 2.5, 0.4, 1.6 and 0.3 times the "
            "link's rate",
            parameters,
            LINK,
            program=program,
        )
        for more, parameters in (
            ("no rate", quick),
            ("a rate and three tins", shaped),
            (
                "a rate, four tins and an ADSL line",
                shaped | {"tins": "diffserv4", "overhead": 40.0, "atm": "atm"},
            ),
            (
                "one tin, shares by destination",
                shaped
                | {
                    "tins": "besteffort",
                    "isolation": "dual-dsthost",
                    "atm": "ptm",
                    "overhead": 22.0,
                },
            ),
            ("behind the bottleneck", shaped | {"ingress": True, "isolation": "flows"}),
            ("a small buffer", shaped | {"memory_limit": 20000.0, "rtt": 0.1}),
            ("one queue for all", shaped | {"isolation": "flowblind"}),
        )
    ]
    simulated.append(
        recorded(
            Cake,
            "settings change on the way",
            "half of the rate, other round trips and another line",
            shaped,
            LINK,
            program=[
                *program[:2],
                Settings({**shaped, "bandwidth": 3.2e6, "rtt": 0.05, "overhead": 30.0}, LINK),
                *program[2:],
            ],
        )
    )
    return VectorFile(
        discipline="cake",
        source="Linux 6.12, net/sched/sch_cake.c",
        machine=Cake,
        cases=[*(verify(case, Cake) for case in cases), *simulated],
    )
