"""FQ-PIE as Linux 6.12 runs it.

The rules besides those of `flow_turns` and `pie`:

- A packet that meets `limit` packets, of all flows, is dropped, and the probabilities that its
  queue's PIE has added up begin anew.
- Else the PIE of its queue decides, to which the bytes waiting are those of this queue.
- The queue whose turn it is sends its first packet, and its PIE is told.
- Every queue's PIE is updated at the same instants, from the start.
"""

from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause
from exact import ZERO, Comparison
from flow_turns import FlowTurns
from fq_codel import FIVE_FLOWS, LINK, MILLISECOND, order_of_turns
from kept import Coin, Crowd, Hand, Outcome, Parcel, recorded, verify
from pie import Pie
from vector_file import Arrival, Case, Departure, Link, Parameters, Settings, VectorFile


class FqPie:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 10240.0,
        "flows": 1024.0,
        "quantum": 1514.0,
        **{name: value for name, value in Pie.DEFAULTS.items() if name not in {"limit", "dialect"}},
        "perturbation": None,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._compare = comparison
        self._pies: dict[int, Pie] = {}
        self._turns = FlowTurns(parameters)
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        self._parameters = parameters
        self._link = link
        for pie in self._pies.values():
            pie.reconfigure(parameters, link)

    def _pie(self, queue: int) -> Pie:
        if queue not in self._pies:
            self._pies[queue] = Pie(self._parameters, self._link, self._compare)
        return self._pies[queue]

    def offer(self, now: int, parcel: Parcel, idle_since: int | None, coin: Coin) -> Outcome:
        del idle_since
        self._turns.draw_key(coin)
        queue = self._turns.queue_of(parcel)
        packets, _ = self.waiting()
        arrival = Arrival(
            time_ns=now,
            size_bytes=parcel.size,
            ecn_capable=parcel.ecn is not None,
            queue_packets=packets,
            queue_bytes=self._turns.backlog(queue),
            empty_since_ns=0,
            idle_since_ns=None,
        )
        verdict, reason = self._pie(queue).arrive(arrival, coin)
        if reason is not None:
            return Outcome(dropped=((parcel.number, reason),))
        self._turns.join(parcel, now, self._quantum)
        return Outcome(marked=verdict == "mark")

    @property
    def _quantum(self) -> int:
        return int(Decimal(str(self._parameters["quantum"])))

    def turn(self, now: int, coin: Coin) -> Outcome:
        while (queue := self._turns.first(self._quantum)) is not None:
            waiting = self._turns.queues[queue]
            if not waiting:
                self._turns.found_empty(queue)
                continue
            queued = waiting.popleft()
            parcel = queued.parcel
            self._turns.charge(queue, parcel.size)
            departure = Departure(
                time_ns=now,
                size_bytes=parcel.size,
                ecn_capable=parcel.ecn is not None,
                arrived_ns=queued.arrived,
                queue_packets=len(waiting),
                queue_bytes=self._turns.backlog(queue),
            )
            self._pie(queue).depart(departure, coin)
            return Outcome(parcel.number)
        return Outcome()

    def waiting(self) -> tuple[int, int]:
        return self._turns.waiting()

    def probability(self) -> Decimal:
        """The largest of the queues in which packets wait."""
        busy = [queue for queue, waiting in self._turns.queues.items() if waiting]
        figures = [self._pie(queue).figures()["drop_probability"] for queue in busy]
        return max((figure for figure in figures if figure is not None), default=ZERO)


def _full() -> tuple[str, str, Parameters, Hand]:
    steps = Hand()
    for flow in (1, 1, 2):
        steps.offer(0, flow=flow)
    steps.offer(0, flow=3, dropped=[(4, "overflow")])
    steps.turn(0, 1)
    steps.offer(0, flow=3)
    for turn, packet in enumerate((2, 3, 5), start=1):
        steps.turn(turn * MILLISECOND, packet)
    steps.turn(4 * MILLISECOND, None)
    return (
        "the limit is for all flows together",
        "limit 3: two packets of flow 1 and one of flow 2 leave no room for flow 3's",
        {"limit": 3.0},
        steps,
    )


def _own_queue() -> tuple[str, str, Parameters, Hand]:
    steps = Hand()
    for _ in range(5):
        steps.offer(0, flow=1)
    second = 1000 * MILLISECOND
    steps.turn(second, 1)
    for number in (6, 7):
        dropped = [(number, "early")]
        steps.offer(4 * second, flow=1, ecn="ect0", coins=[0.999], dropped=dropped)
    for _ in range(4):
        steps.offer(4 * second, flow=2)
    steps.turn(4 * second, 2)
    return (
        "a flow answers for its own queue only",
        (
            "Flow 1's first packet has waited a second when it is sent. A delay above 250 ms "
            "adds 0.02 to the probability at each of the 200 updates that follow, so that it "
            "is 1: packets are dropped whatever the coin, and none is marked above 0.1. Flow 2 "
            "has no delay and no probability, and no coin is drawn for it"
        ),
        {"burst_allowance": 0.0},
        steps,
    )


def vectors() -> VectorFile:
    told = [*order_of_turns(), _full(), _own_queue()]
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
        Crowd(2.5, 250, FIVE_FLOWS),
        Crowd(0.5, 60, FIVE_FLOWS),
        Pause(25 * MILLISECOND),
        Crowd(1.6, 150, FIVE_FLOWS),
        Crowd(0.3, 40, FIVE_FLOWS),
    ]
    quick: Parameters = {"target": 0.003, "interval": 0.004, "burst_allowance": 0.01}
    simulated = [
        recorded(
            FqPie,
            f"five flows, rise and fall{more}",
            "three sizes of packets at 0.8, 2.5, 0.5, 1.6 and 0.3 times the link's rate, two flows "
            "ECN-capable, one of them sparse",
            {**quick, "alpha": 4.0, "beta": 16.0, **parameters},
            LINK,
            program=rise_and_fall,
        )
        for more, parameters in (
            ("", {"mark_probability": 0.6}),
            (
                ", byte mode, a small quantum and few places",
                {"byte_mode": True, "quantum": 300.0, "limit": 60.0},
            ),
            (", departure rate measured", {"estimate_rate": True}),
        )
    ]
    simulated.append(
        recorded(
            FqPie,
            "settings change on the way",
            "without ECN and with another target from the second half of the overload on",
            {**quick, "alpha": 4.0, "beta": 16.0},
            LINK,
            program=[
                *rise_and_fall[:2],
                Settings({**quick, "target": 0.006, "ecn": False, "limit": 80.0}, LINK),
                Crowd(2.0, 150, FIVE_FLOWS),
                *rise_and_fall[2:4],
            ],
        )
    )
    return VectorFile(
        discipline="fq-pie",
        source="Linux 6.12, net/sched/sch_fq_pie.c; RFC 8033 and RFC 8290",
        machine=FqPie,
        cases=[*(verify(case, FqPie) for case in cases), *simulated],
    )
