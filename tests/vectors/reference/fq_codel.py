"""FQ-CoDel: RFC 8290, and Linux 6.12 where it says nothing.

The rules besides those of `flow_turns` and `codel`:

- The queue whose turn it is gives packets to its own CoDel until that sends one. What CoDel
  compares with `maximum_packet_size` are the bytes of all queues.
- A queue that has nothing to give is told of: with no packet before it in this turn, dropping ends
  (RFC: and the time above the target is forgotten); after a packet dropped in a spell, both; after
  the packet whose drop began the spell, only the time above the target is forgotten.
- A packet joins first. If more than `limit` packets or `memory_limit` bytes wait then, the queue
  with most bytes gives up packets from its head until these were at least half of its bytes
  (rounded down), at least one, and at most `drop_batch`. Its CoDel's count grows by their number.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause
from codel import Codel
from exact import Comparison, TooCloseError
from flow_turns import FlowTurns
from kept import Coin, Crowd, Hand, Outcome, Parcel, Source, recorded, verify
from vector_file import Case, Departure, Link, Parameters, Settings, VectorFile

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000
SIZES = (40, 552, 1500)
FIVE_FLOWS = (
    Source(1, 0.45, None, SIZES),
    Source(2, 0.3, "ect0", SIZES),
    Source(3, 0.15, None, SIZES),
    Source(4, 0.05, "ect0", SIZES),
    Source(5, 0.05, None, SIZES),
)


class QueueCodel(Codel):
    """CoDel over one queue among many."""

    _began_with_last = False

    def depart(self, departure: Departure, coin: Coin) -> tuple[str, str | None]:
        was_dropping = self._dropping
        answer = super().depart(departure, coin)
        self._began_with_last = answer[0] == "drop" and not was_dropping
        return answer

    def find_nothing(self) -> None:
        """The queue has no packet (any more)."""
        looking, self._turn = self._turn is not None, None
        if looking or not self._linux:
            self._above_since = None
        if not (looking and self._began_with_last):
            self._dropping = False

    def count_overflow(self, packets: int) -> None:
        self._count += packets


class FqCodel:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 10240.0,
        "flows": 1024.0,
        "quantum": 1514.0,
        "memory_limit": 33554432.0,
        "drop_batch": 64.0,
        "target": 0.005,
        "interval": 0.1,
        "maximum_packet_size": 1514.0,
        "ecn": True,
        "ce_threshold": None,
        "dialect": "rfc8289",
        "perturbation": None,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._compare = comparison
        self._codels: dict[int, QueueCodel] = {}
        self._turns = FlowTurns(parameters)
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        self._parameters = parameters
        self._link = link
        for codel in self._codels.values():
            codel.reconfigure(parameters, link)

    def _whole(self, name: str) -> int:
        return int(Decimal(str(self._parameters[name])))

    def _codel(self, queue: int) -> QueueCodel:
        if queue not in self._codels:
            self._codels[queue] = QueueCodel(self._parameters, self._link, self._compare)
        return self._codels[queue]

    def offer(self, now: int, parcel: Parcel, idle_since: int | None, coin: Coin) -> Outcome:
        del idle_since
        self._turns.draw_key(coin)
        self._turns.join(parcel, now, self._whole("quantum"))
        packets, size = self.waiting()
        if packets > self._whole("limit") or size > self._whole("memory_limit"):
            return Outcome(dropped=self._shed())
        return Outcome()

    def _shed(self) -> tuple[tuple[int, str], ...]:
        backlogs = sorted((self._turns.backlog(queue), queue) for queue in self._turns.queues)
        most, fattest = backlogs[-1]
        if len(backlogs) > 1 and backlogs[-2][0] == most:
            # Which of two alike is first is the hash's affair.
            raise TooCloseError(Decimal(most), Decimal(most))
        queue, gone = self._turns.queues[fattest], 0
        dropped: list[tuple[int, str]] = []
        while queue and len(dropped) < self._whole("drop_batch"):
            parcel = queue.popleft().parcel
            dropped.append((parcel.number, "overflow"))
            gone += parcel.size
            if gone >= most // 2:
                break
        self._codel(fattest).count_overflow(len(dropped))
        return tuple(dropped)

    def turn(self, now: int, coin: Coin) -> Outcome:
        dropped: list[tuple[int, str]] = []
        while (queue := self._turns.first(self._whole("quantum"))) is not None:
            waiting, codel = self._turns.queues[queue], self._codel(queue)
            while waiting:
                queued = waiting.popleft()
                parcel = queued.parcel
                packets, size = self.waiting()
                departure = Departure(
                    time_ns=now,
                    size_bytes=parcel.size,
                    ecn_capable=parcel.ecn is not None,
                    arrived_ns=queued.arrived,
                    queue_packets=packets,
                    queue_bytes=size,
                )
                verdict, reason = codel.depart(departure, coin)
                if verdict == "drop":
                    assert reason is not None
                    dropped.append((parcel.number, reason))
                    continue
                self._turns.charge(queue, parcel.size)
                return Outcome(parcel.number, verdict == "mark", tuple(dropped))
            codel.find_nothing()
            self._turns.found_empty(queue)
        return Outcome(dropped=tuple(dropped))

    def waiting(self) -> tuple[int, int]:
        return self._turns.waiting()

    def probability(self) -> None:
        return None


def order_of_turns() -> list[tuple[str, str, Parameters, Hand]]:
    """What every discipline with turns owes: name, about, parameters, steps."""
    sparse = Hand()
    for number in range(5):
        sparse.offer(0, flow=1, idle_since_ns=0 if number == 0 else None)
    sparse.turn(0, 1)
    sparse.turn(1 * MILLISECOND, 2)
    sparse.offer(1_500_000, flow=2)
    sparse.turn(2 * MILLISECOND, 6)
    sparse.turn(3 * MILLISECOND, 3)
    sparse.turn(4 * MILLISECOND, 4)
    sparse.offer(4_500_000, flow=2)
    sparse.turn(5 * MILLISECOND, 7)
    sparse.turn(6 * MILLISECOND, 5)
    sparse.turn(7 * MILLISECOND, None)

    bytewise = Hand()
    for _ in range(3):
        bytewise.offer(0, flow=1, size=1500)
    for _ in range(7):
        bytewise.offer(0, flow=2, size=500)
    order = [1, 4, 5, 6, 2, 7, 8, 9, 3, 10]
    for turn, packet in enumerate(order):
        bytewise.turn(turn * MILLISECOND // 2, packet)
    bytewise.turn(10 * MILLISECOND, None)

    single = Hand()
    for flow in (3, 1, 2, 1):
        single.offer(0, flow=flow)
    for turn in range(4):
        single.turn(turn * MILLISECOND, turn + 1)
    return [
        (
            "a packet of a sparse flow goes before those of a bulk flow",
            (
                "Flow 1 sends two packets: its credit goes 1514, 514, -486. Flow 2's packet "
                "comes as that is so: at 2 ms flow 1 gets a quantum (1028) and becomes old, "
                "flow 2 is the only new one. At 3 ms flow 2 is empty and becomes old, behind "
                "flow 1, which sends (28) and at 4 ms again (-972). Flow 2's second packet "
                "finds it still old, and first as flow 1 (542) goes behind it: sent at 5 ms "
                "with the credit of 514 that was left (-486). At 6 ms flow 2 (1028) goes "
                "behind flow 1, which sends. At 7 ms all are empty"
            ),
            {},
            sparse,
        ),
        (
            "flows of large and of small packets send as many bytes",
            "quantum 1500, one packet of 1500 bytes uses it up, and so do three of 500",
            {"quantum": 1500.0},
            bytewise,
        ),
        (
            "with one queue for all packets leave in the order in which they came",
            "flows 3, 1, 2, 1",
            {"flows": 1.0},
            single,
        ),
    ]


def _overload() -> Sequence[tuple[str, str, Parameters, Hand]]:
    half = Hand()
    for flow in (1, 1, 1, 2):
        half.offer(0, flow=flow)
    half.offer(0, flow=2, dropped=[(1, "overflow"), (2, "overflow")])
    half.turn(0, 3)
    half.turn(1 * MILLISECOND, 4)
    half.turn(2 * MILLISECOND, 5)
    half.turn(3 * MILLISECOND, None)

    batch = Hand()
    for flow in (1, 1, 1, 2):
        batch.offer(0, flow=flow)
    batch.offer(0, flow=2, dropped=[(1, "overflow")])
    batch.turn(0, 2)

    memory = Hand()
    memory.offer(0, flow=1, size=400)
    memory.offer(0, flow=2, size=1500)
    memory.offer(0, flow=2, size=700, dropped=[(2, "overflow")])
    memory.offer(0, flow=1, size=1501, dropped=[(1, "overflow"), (4, "overflow")])
    memory.turn(0, 3)

    alone = Hand()
    alone.offer(0, flow=1)
    alone.offer(0, flow=2, size=1500, dropped=[(2, "overflow")])
    alone.turn(0, 1)
    return [
        (
            "a full buffer takes half of the longest queue from its head",
            (
                "limit 4: with the fifth packet flow 1 has 3000 bytes and flow 2 has 2000. 1000 "
                "dropped is less than 1500, 2000 is not"
            ),
            {"limit": 4.0},
            half,
        ),
        (
            "or a batch",
            "as before with a batch of one packet",
            {"limit": 4.0, "drop_batch": 1.0},
            batch,
        ),
        (
            "bytes may be what is full",
            (
                "2500 bytes: 400 and 1500 fit, with 700 of flow 2 there are 2600. It has 2200; "
                "1500 is more than half. Then 1501 make 2601: flow 1 has 1901, half is 950, "
                "400 are less, and the packet that has just come goes, too"
            ),
            {"memory_limit": 2500.0},
            memory,
        ),
        (
            "the packet that arrives may be what is dropped",
            "limit 1: the second packet is the whole of the longer queue",
            {"limit": 1.0},
            alone,
        ),
    ]


def _forgotten(*, linux: bool) -> tuple[str, str, Parameters, Hand]:
    steps = Hand()
    steps.offer(0, flow=1)
    for _ in range(9):
        steps.offer(0, flow=2)
    steps.turn(10 * MILLISECOND, 1)
    steps.turn(11 * MILLISECOND, 2)
    steps.turn(12 * MILLISECOND, 3)
    steps.turn(13 * MILLISECOND, 4)
    steps.turn(14 * MILLISECOND, 5)
    steps.offer(105 * MILLISECOND, flow=1)
    if linux:
        steps.turn(115 * MILLISECOND, 7, dropped=[(11, "forced"), (6, "forced")])
    else:
        steps.turn(115 * MILLISECOND, 11)
    name = "Linux remembers it" if linux else "the RFC has it forgotten"
    about = (
        "Flow 1's only packet waits 10 ms, above the target, with 9000 bytes behind it: its "
        "queue is above the target from 10 ms on, and empty when it is looked at next, at 12 "
        "ms. Its next packet has waited 10 ms at 115 ms. "
    )
    end = (
        "That is more than 100 ms later: it is dropped, and so is the first packet of flow 2, "
        "whose queue is above its target since 11 ms"
        if linux
        else "The time above the target begins anew, and the packet is sent"
    )
    return (
        f"a queue ran dry above its target: {name}",
        about + end,
        {
            "dialect": "linux" if linux else "rfc8289",
            "quantum": 1000.0,
        },
        steps,
    )


def vectors() -> VectorFile:
    told = [*order_of_turns(), *_overload(), _forgotten(linux=False), _forgotten(linux=True)]
    cases = [
        Case(
            name,
            about,
            parameters | {"perturbation": 0.0},
            LINK,
            hand.steps,
            by_hand=True,
            ties=True,
        )
        for name, about, parameters, hand in told
    ]
    rise_and_fall = [
        Crowd(0.8, 30, FIVE_FLOWS),
        Crowd(2.5, 200, FIVE_FLOWS),
        Crowd(0.5, 60, FIVE_FLOWS),
        Pause(25 * MILLISECOND),
        Crowd(1.6, 120, FIVE_FLOWS),
        Crowd(0.3, 40, FIVE_FLOWS),
    ]
    short: Parameters = {"target": 0.002, "interval": 0.02}
    simulated = [
        recorded(
            FqCodel,
            f"five flows, rise and fall, {dialect}",
            "three sizes of packets at 0.8, 2.5, 0.5, 1.6 and 0.3 times the link's rate, two flows "
            "ECN-capable, one of them sparse",
            {**short, "dialect": dialect},
            LINK,
            program=rise_and_fall,
        )
        for dialect in ("rfc8289", "linux")
    ]
    simulated += [
        recorded(
            FqCodel,
            f"a small buffer overflows, {dialect}",
            "as before with room for 30 packets or 20000 bytes, batches of 5, and a small quantum",
            {
                **short,
                "dialect": dialect,
                "limit": 30.0,
                "memory_limit": 20_000.0,
                "drop_batch": 5.0,
                "quantum": 300.0,
            },
            LINK,
            program=rise_and_fall,
        )
        for dialect in ("rfc8289", "linux")
    ]
    simulated.append(
        recorded(
            FqCodel,
            "settings change on the way",
            "marks from 1 ms on, then no ECN, another target and a lower limit, then ECN again",
            {**short, "ce_threshold": 0.001},
            LINK,
            program=[
                *rise_and_fall[:2],
                Settings({"target": 0.004, "interval": 0.03, "ecn": False, "limit": 60.0}, LINK),
                Crowd(2.0, 100, FIVE_FLOWS),
                Settings({"target": 0.004, "interval": 0.03}, LINK),
                *rise_and_fall[2:4],
            ],
        )
    )
    return VectorFile(
        discipline="fq-codel",
        source="RFC 8290; Linux 6.12, net/sched/sch_fq_codel.c",
        machine=FqCodel,
        cases=[*(verify(case, FqCodel) for case in cases), *simulated],
    )
