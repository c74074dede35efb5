"""fq: Linux 6.12, net/sched/sch_fq.c, of packets that a router forwards.

The rules:

- There is a queue that goes before all flows. A packet joins it if no packet waits in a queue of a
  flow and fewer than eight wait in the first queue. It is dropped never and marked never.
- Any other is dropped if `limit` packets wait in the queues of flows, or else if `flow_limit` wait
  in the one of its flow. Otherwise it joins that.
- A flow keeps its credit. At first it is `initial_quantum`. If a queue that is in no list gets a
  packet, it becomes the last of the new ones; if it left the lists more than `refill_delay` ago,
  its credit is raised to `quantum` unless it is more.
- At a turn with packets in the first queue, its first is sent. Otherwise, with packets in any
  other, turns go as in `flow_turns`, with two differences: an old queue that is found empty leaves
  the lists, and its flow remembers when; a new one that is found empty becomes the last old one,
  even if there are no others. With no packet anywhere, nothing happens to the lists.
- What has waited longer than `ce_threshold` in the queue of a flow is marked, if it is
  ECN-capable.
"""

from collections import deque
from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause
from exact import Comparison
from fq_codel import FIVE_FLOWS, LINK, MILLISECOND
from kept import Coin, Crowd, Hand, Outcome, Parcel, recorded, verify
from vector_file import Case, Link, Parameters, Settings, VectorFile

FIRST = 8


class Fq:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 10000.0,
        "flow_limit": 100.0,
        "flows": 1024.0,
        "quantum": 3028.0,
        "initial_quantum": 15140.0,
        "refill_delay": 0.04,
        "ce_threshold": None,
        "perturbation": None,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        del link
        self._compare = comparison
        self._parameters = parameters
        self._keyed = parameters["perturbation"] is not None
        self._single = parameters["flows"] == 1.0
        self._first: deque[tuple[int, Parcel]] = deque()
        self._flows: dict[int, deque[tuple[int, Parcel]]] = {}
        self._credit: dict[int, int] = {}
        self._left: dict[int, int] = {}
        self._new: deque[int] = deque()
        self._old: deque[int] = deque()

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        del link
        self._parameters = parameters

    def _whole(self, name: str) -> int:
        return int(Decimal(str(self._parameters[name])))

    def _longer(self, duration_ns: int, name: str) -> bool:
        limit = self._parameters[name]
        if limit is None:
            return False
        return not self._compare.at_most(Decimal(duration_ns), Decimal(str(limit)) * 10**9)

    def offer(self, now: int, parcel: Parcel, idle_since: int | None, coin: Coin) -> Outcome:
        del idle_since
        waiting = sum(map(len, self._flows.values()))
        if waiting == 0 and len(self._first) < FIRST:
            self._first.append((now, parcel))
            return Outcome()
        if waiting >= self._whole("limit"):
            return Outcome(dropped=((parcel.number, "overflow"),))
        if not self._keyed:
            coin()
            self._keyed = True
        flow = 0 if self._single else parcel.flow
        queue = self._flows.setdefault(flow, deque())
        if len(queue) >= self._whole("flow_limit"):
            return Outcome(dropped=((parcel.number, "overflow"),))
        if flow not in self._new and flow not in self._old:
            self._new.append(flow)
            if flow not in self._credit:
                self._credit[flow] = self._whole("initial_quantum")
            elif self._longer(now - self._left[flow], "refill_delay"):
                self._credit[flow] = max(self._credit[flow], self._whole("quantum"))
        queue.append((now, parcel))
        return Outcome()

    def turn(self, now: int, coin: Coin) -> Outcome:
        del coin
        if self._first:
            return Outcome(self._first.popleft()[1].number)
        if not any(self._flows.values()):
            return Outcome()
        while True:
            listed = self._new or self._old
            flow = listed[0]
            if self._credit[flow] <= 0:
                self._credit[flow] += self._whole("quantum")
                self._old.append(listed.popleft())
            elif self._flows[flow]:
                arrived, parcel = self._flows[flow].popleft()
                self._credit[flow] -= parcel.size
                late = self._longer(now - arrived, "ce_threshold")
                return Outcome(parcel.number, marked=late and parcel.ecn is not None)
            elif self._new:
                self._old.append(self._new.popleft())
            else:
                self._old.popleft()
                self._left[flow] = now

    def waiting(self) -> tuple[int, int]:
        parcels = [parcel for queue in (self._first, *self._flows.values()) for _, parcel in queue]
        return len(parcels), sum(parcel.size for parcel in parcels)

    def probability(self) -> Decimal | None:
        return None


def _filled_first() -> Hand:
    """Packets 1 to 8 of flow 1 wait in the first queue."""
    steps = Hand()
    for _ in range(FIRST):
        steps.offer(0, flow=1)
    return steps


def _before_all() -> tuple[str, str, Parameters, Hand]:
    steps = _filled_first()
    steps.offer(0, flow=1)
    steps.offer(0, flow=2)
    for turn in range(FIRST):
        steps.turn(turn * MILLISECOND, turn + 1)
    for turn, packet in ((8, 9), (9, 10), (10, None)):
        steps.turn(turn * MILLISECOND, packet)
    return (
        "eight packets go before all flows",
        (
            "eight packets of flow 1 find no flow waiting. The ninth begins the queue of flow 1, "
            "the tenth that of flow 2. They leave after the eight, in the order of the new flows"
        ),
        {},
        steps,
    )


def _only_while_none_waits() -> tuple[str, str, Parameters, Hand]:
    steps = _filled_first()
    steps.offer(0, flow=1)
    for turn in range(3):
        steps.turn(turn * MILLISECOND, turn + 1)
    steps.offer(3 * MILLISECOND, flow=2)
    for turn, packet in enumerate((4, 5, 6, 7, 8, 9, 10), start=3):
        steps.turn(turn * MILLISECOND, packet)
    steps.offer(10 * MILLISECOND, flow=3)
    steps.turn(10 * MILLISECOND, 11)
    return (
        "nothing goes before a flow that waits",
        (
            "three of the eight have left when flow 2 comes, but flow 1's ninth waits in its own "
            "queue: flow 2 goes behind it. When no flow waits, packets go before all again"
        ),
        {},
        steps,
    )


def _limits() -> tuple[str, str, Parameters, Hand]:
    steps = _filled_first()
    for _ in range(2):
        steps.offer(0, flow=1)
    steps.offer(0, flow=1, dropped=[(11, "overflow")])
    steps.offer(0, flow=2)
    steps.offer(0, flow=3, dropped=[(13, "overflow")])
    for turn in range(FIRST):
        steps.turn(turn * MILLISECOND, turn + 1)
    for turn, packet in ((8, 9), (9, 10), (10, 12), (11, None)):
        steps.turn(turn * MILLISECOND, packet)
    return (
        "a limit for each flow, and one for all",
        (
            "flow_limit 2 and limit 3: beyond the eight that do not count, flow 1 has two and "
            "loses the third, flow 2 has one, and flow 3 finds three waiting"
        ),
        {"flow_limit": 2.0, "limit": 3.0},
        steps,
    )


def _turns() -> tuple[str, str, Parameters, Hand]:
    steps = _filled_first()
    for _ in range(5):
        steps.offer(0, flow=1)
    for _ in range(5):
        steps.offer(0, flow=2)
    for turn in range(FIRST):
        steps.turn(turn * MILLISECOND, turn + 1)
    order = (9, 10, 11, 14, 15, 16, 12, 17, 13, 18)
    for turn, packet in enumerate(order, start=FIRST):
        steps.turn(turn * MILLISECOND, packet)
    return (
        "the first turn is longer than those that follow",
        (
            "initial_quantum 2500, quantum 1000, packets of 1000 bytes. Flow 1 sends three, which "
            "leaves -500; it gets 500 as the last old one. Flow 2 does the same. Then each sends "
            "one with a credit of 500, has -500, and gets 1000 again"
        ),
        {"initial_quantum": 2500.0, "quantum": 1000.0},
        steps,
    )


def _credit_is_kept() -> tuple[str, str, Parameters, Hand]:
    steps = _filled_first()
    steps.offer(0, flow=1)
    for turn in range(FIRST + 1):
        steps.turn(turn * MILLISECOND, turn + 1)
    for _ in range(FIRST):
        steps.offer(50 * MILLISECOND, flow=2)
    for _ in range(2):
        steps.offer(50 * MILLISECOND, flow=2)
    steps.offer(50 * MILLISECOND, flow=1)
    for turn in range(FIRST):
        steps.turn((50 + turn) * MILLISECOND, 10 + turn)
    for turn, packet in ((58, 18), (59, 20), (60, 19), (61, None)):
        steps.turn(turn * MILLISECOND, packet)
    return (
        "a flow keeps what it owes while it stays in a list",
        (
            "initial_quantum 500, quantum 1000. Flow 1 has sent a packet of 1000 bytes beyond its "
            "credit and is still the first of the new ones when it comes back. At the next turn "
            "it has -500, gets 500 as an old one, and the new flow 2 has 500: it sends one and has "
            "-500, gets 500 as the last old one. Flow 1 sends one, and flow 2 its second"
        ),
        {"initial_quantum": 500.0, "quantum": 1000.0},
        steps,
    )


def _refilled() -> tuple[str, str, Parameters, Hand]:
    steps = _filled_first()
    for flow in (1, 2):
        steps.offer(0, flow=flow)
    for turn in range(FIRST + 2):
        steps.turn(turn * MILLISECOND, turn + 1)
    for _ in range(FIRST + 2):
        steps.offer(11 * MILLISECOND, flow=3)
    for turn in range(FIRST + 2):
        steps.turn((11 + turn) * MILLISECOND, 11 + turn)
    for _ in range(FIRST + 1):
        steps.offer(60 * MILLISECOND, flow=4)
    for _ in range(2):
        steps.offer(60 * MILLISECOND, flow=1, size=500)
    for _ in range(2):
        steps.offer(60 * MILLISECOND + 1, flow=2, size=500)
    order = (*range(21, 30), 30, 32, 33, 31, None)
    for turn, packet in enumerate(order):
        steps.turn((61 + turn) * MILLISECOND, packet)
    return (
        "after refill_delay a flow has a whole quantum again",
        (
            "initial_quantum 500, quantum 1000. Flows 1 and 2 have sent 1000 bytes each, and "
            "have 500 as old ones. At the second turn of flow 3, at 20 ms, they are found "
            "empty and leave the lists. Flow 1 comes back after 40 ms, which is not longer "
            "than refill_delay, and sends one packet of 500 bytes; flow 2 comes 1 ns later, "
            "has 1000, and sends two"
        ),
        {"initial_quantum": 500.0, "quantum": 1000.0},
        steps,
    )


def _marks() -> tuple[str, str, Parameters, Hand]:
    steps = _filled_first()
    steps.offer(0, flow=1, ecn="ect0")
    steps.offer(0, flow=1)
    steps.offer(0, flow=1, ecn="ect1")
    for turn in range(FIRST):
        steps.turn(turn * MILLISECOND, turn + 1)
    steps.turn(8 * MILLISECOND, 9)
    steps.turn(8 * MILLISECOND + 1, 10)
    steps.turn(9 * MILLISECOND, 11, marked=True)
    return (
        "what has waited longer than ce_threshold is marked",
        (
            "ce_threshold 8 ms: the first of flow 1 has waited exactly so long, the second is not "
            "ECN-capable, and the third has waited longer"
        ),
        {"ce_threshold": 0.008},
        steps,
    )


def vectors() -> VectorFile:
    told = [
        _before_all(),
        _only_while_none_waits(),
        _limits(),
        _turns(),
        _credit_is_kept(),
        _refilled(),
        _marks(),
    ]
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
        Crowd(0.8, 40, FIVE_FLOWS),
        Crowd(2.5, 250, FIVE_FLOWS),
        Crowd(0.5, 60, FIVE_FLOWS),
        Pause(100 * MILLISECOND),
        Crowd(1.6, 150, FIVE_FLOWS),
        Crowd(0.3, 40, FIVE_FLOWS),
        Crowd(1.3, 100, FIVE_FLOWS),
    ]
    simulated = [
        recorded(
            Fq,
            f"five flows, rise and fall{more}",
            "three sizes of packets at 0.8, 2.5, 0.5, 1.6, 0.3 and 1.3 times the link's rate, two "
            "flows ECN-capable, one of them sparse",
            parameters,
            LINK,
            program=rise_and_fall,
        )
        for more, parameters in (
            ("", {"flow_limit": 30.0}),
            (
                ", small quanta and few places",
                {"quantum": 300.0, "initial_quantum": 700.0, "limit": 40.0, "flow_limit": 20.0},
            ),
            (
                ", with marks and a short delay before a refill",
                {"ce_threshold": 0.02, "refill_delay": 0.004, "quantum": 600.0},
            ),
        )
    ]
    simulated.append(
        recorded(
            Fq,
            "settings change on the way",
            "another quantum, fewer places and marks from the second half of the overload on",
            {"flow_limit": 60.0},
            LINK,
            program=[
                *rise_and_fall[:2],
                Settings({"flow_limit": 15.0, "quantum": 500.0, "ce_threshold": 0.01}, LINK),
                Crowd(2.0, 150, FIVE_FLOWS),
                *rise_and_fall[2:4],
            ],
        )
    )
    return VectorFile(
        discipline="fq",
        source="Linux 6.12, net/sched/sch_fq.c",
        machine=Fq,
        cases=[*(verify(case, Fq) for case in cases), *simulated],
    )
