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

from bottleneck import Pause, Stretch
from exact import Comparison
from flow_turns import FlowTurns
from fq_codel import LINK, MILLISECOND, order_of_turns
from keeping import Coin, Flows, Kept, Report, Script, recorded, verify
from pie import Pie
from vector_file import Arrival, Case, Departure, Link, Parameters, Settings, VectorFile


class FqPie:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 10240.0,
        "flows": 1024.0,
        "quantum": 1514.0,
        **{name: value for name, value in Pie.DEFAULTS.items() if name != "limit"},
        "perturbation": 0.0,
    }

    def __init__(self, parameters: Parameters, link: Link) -> None:
        self._pies: dict[int, Pie] = {}
        self._turns = FlowTurns(single=parameters["flows"] == 1.0)
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        self._parameters = parameters
        self._link = link
        for pie in self._pies.values():
            pie.reconfigure(parameters, link)

    def _pie(self, queue: int) -> Pie:
        if queue not in self._pies:
            self._pies[queue] = Pie(self._parameters, self._link, Comparison(ties=True))
        return self._pies[queue]

    def offer(self, now: int, packet: Kept, coin: Coin) -> Report:
        queue = self._turns.queue_of(packet)
        arrival = Arrival(
            time_ns=now,
            size_bytes=packet.size,
            ecn_capable=packet.ecn_capable,
            queue_packets=len(self.waiting()),
            queue_bytes=self._turns.backlog(queue),
            empty_since_ns=0,
            idle_since_ns=None,
        )
        verdict, reason = self._pie(queue).arrive(arrival, coin)
        if reason is not None:
            return Report(dropped=[(packet.number, reason)])
        self._turns.join(packet, self._quantum)
        return Report(marked=verdict == "mark")

    @property
    def _quantum(self) -> int:
        return int(Decimal(str(self._parameters["quantum"])))

    def turn(self, now: int) -> Report:
        while (queue := self._turns.first(self._quantum)) is not None:
            packets = self._turns.queues[queue]
            if not packets:
                self._turns.found_empty(queue)
                continue
            packet = packets.popleft()
            self._turns.charge(queue, packet.size)
            departure = Departure(
                time_ns=now,
                size_bytes=packet.size,
                ecn_capable=packet.ecn_capable,
                arrived_ns=packet.arrived,
                queue_packets=len(packets),
                queue_bytes=self._turns.backlog(queue),
            )
            self._pie(queue).depart(departure, lambda: Decimal(0))
            return Report(sent=packet)
        return Report()

    def waiting(self) -> list[Kept]:
        return self._turns.waiting()

    def drop_probability(self) -> float | None:
        """The largest of the queues in which packets wait."""
        busy = [queue for queue, packets in self._turns.queues.items() if packets]
        figures = [self._pie(queue).figures()["drop_probability"] for queue in busy]
        return max((float(figure) for figure in figures if figure is not None), default=0.0)


def _full() -> tuple[str, str, Parameters, Script]:
    steps = Script()
    for flow in (1, 1, 2):
        steps.offer(0, flow)
    steps.offer(0, 3, dropped=[(3, "overflow")])
    steps.turn(0, 0)
    steps.offer(0, 3)
    for turn, packet in enumerate((1, 2, 4), start=1):
        steps.turn(turn * MILLISECOND, packet)
    steps.turn(4 * MILLISECOND, None)
    return (
        "the limit is for all flows together",
        "limit 3: two packets of flow 1 and one of flow 2 leave no room for flow 3's",
        {"limit": 3.0},
        steps,
    )


def _own_queue() -> tuple[str, str, Parameters, Script]:
    steps = Script()
    for _ in range(5):
        steps.offer(0, 1)
    second = 1000 * MILLISECOND
    steps.turn(second, 0)
    for _ in range(2):
        steps.offer(4 * second, 1, ecn=True, coins=[0.999], dropped=[(len(steps), "early")])
    for _ in range(4):
        steps.offer(4 * second, 2)
    steps.turn(4 * second, 1)
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
    hand = [*order_of_turns(), _full(), _own_queue()]
    cases = [
        Case(name, about, parameters, LINK, script.steps, by_hand=True, ties=True)
        for name, about, parameters, script in hand
    ]
    flows = Flows({1: 0.45, 2: 0.3, 3: 0.15, 4: 0.05, 5: 0.05}, ecn=frozenset({2, 4}))
    sizes = (40, 552, 1500)
    rise_and_fall = [
        Stretch(0.8, 30, sizes),
        Stretch(2.5, 250, sizes),
        Stretch(0.5, 60, sizes),
        Pause(25 * MILLISECOND),
        Stretch(1.6, 150, sizes),
        Stretch(0.3, 40, sizes),
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
            flows=flows,
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
            flows=flows,
            program=[
                *rise_and_fall[:2],
                Settings({**quick, "target": 0.006, "ecn": False, "limit": 80.0}, LINK),
                Stretch(2.0, 150, sizes),
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
