"""The test vectors of BBR: every event of small networks, and what follows from it.

A drop-tail link, which may also lose at random, and one sender. With each event are written
down the window and the pacing rate that follow from it. Lost segments are not sent again:
congestion control does not care which segment it is that arrives.
"""

import heapq
import json
import random
from dataclasses import dataclass

from bbr import SECOND, Bbr, Connection
from rows import row_lines


@dataclass
class Network:
    name: str
    about: str
    rate: float
    rtt_ns: int
    limit: int
    duration_s: float
    loss: float = 0.0
    bursts: tuple[float, int] = (0.0, 0)
    """Every so many seconds the application has so many segments; endless data without."""
    stretch: int = 1
    """Segments that one acknowledgement covers."""


class World:
    """One sender, paced and limited by what is computed here, and one link."""

    def __init__(self, network: Network, initial_window: float, seed: int) -> None:
        self.network = network
        self.chance = random.Random(seed)
        self.c = Connection()
        self.bbr = Bbr(self.c, initial_window)
        self.events: list[list[object]] = []
        self.sent: list[int] = []
        self.agenda: list[tuple[int, int]] = []
        self.departures: list[int] = []
        self.waiting: list[int] = []
        self.beyond: dict[int, int] = {}
        self.recover: int | None = None
        self.now = self.release = 0
        every, self.burst = network.bursts
        count = int(network.duration_s / every) if self.burst else 0
        self.bursts = [int(k * every * SECOND) for k in range(count)]
        self.supply = 0 if self.burst else 10**9

    def may_send(self) -> bool:
        return self.supply > 0 and len(self.c.in_flight) < int(self.bbr.cwnd)

    def run(self) -> None:
        end = self.network.duration_s * SECOND
        while True:
            due = [self.agenda[0][0]] if self.agenda else []
            due += self.bursts[:1]
            due += [max(self.release, self.now)] if self.may_send() else []
            if not due or min(due) >= end:
                return
            self.now = min(due)
            if self.agenda and self.agenda[0][0] == self.now:
                self.arrive(heapq.heappop(self.agenda)[1])
            elif self.bursts and self.bursts[0] == self.now:
                self.bursts.pop(0)
                self.check_app_limited()
                self.supply += self.burst
            else:
                self.send()

    def send(self) -> None:
        number = len(self.sent)
        self.c.on_sent(number, self.now)
        self.sent.append(self.now)
        self.supply -= 1
        self.events.append(["s", self.now])
        if self.bbr.pacing_rate > 0:
            self.release = self.now + max(int(1e9 / self.bbr.pacing_rate), 1)
        self.departures = [time for time in self.departures if time > self.now]
        lost = self.chance.random() < self.network.loss
        if len(self.departures) < self.network.limit:
            start = max([self.now, *self.departures[-1:]])
            self.departures.append(start + int(1e9 / self.network.rate))
            if not lost:
                heapq.heappush(self.agenda, (self.departures[-1] + self.network.rtt_ns, number))

    def check_app_limited(self) -> None:
        if self.supply <= 0 and len(self.c.in_flight) < self.bbr.cwnd:
            self.c.mark_app_limited()
            self.events.append(["l"])

    def arrive(self, number: int) -> None:
        self.waiting.append(number)
        if len(self.waiting) < self.network.stretch and self.agenda:
            return
        numbers, self.waiting = self.waiting, []
        self.check_app_limited()
        rtt = self.now - self.sent[numbers[0]]
        rs = self.c.on_ack(numbers, self.now, rtt)
        lost = self.find_lost(numbers)
        told = []
        for each in lost:
            packet = self.c.in_flight.pop(each)
            self.c.lost += 1
            told.append((packet.tx_in_flight, self.c.lost - packet.lost, packet.is_app_limited))
        rs.lost += len(told)
        if self.recover is not None and max(numbers) >= self.recover:
            self.recover = None
        if told and self.recover is None:
            self.recover = len(self.sent)
            self.bbr.on_enter_recovery()
        self.bbr.on_ack(self.now, rs, told, in_recovery=self.recover is not None)
        figures = [float(f"{each:.12g}") for each in (self.bbr.cwnd, self.bbr.pacing_rate)]
        in_recovery = int(self.recover is not None)
        self.events.append(["a", self.now, numbers, lost, rtt, in_recovery, *figures])

    def find_lost(self, numbers: list[int]) -> list[int]:
        """Those with three later arrivals."""
        earlier = [each for each in self.c.in_flight if each < numbers[-1]]
        for each in earlier:
            later = sum(number > each for number in numbers)
            self.beyond[each] = self.beyond.get(each, 0) + later
        return [each for each in earlier if self.beyond[each] >= 3]


NETWORKS = [
    Network(
        "plain", "startup, drain, probes of bandwidth and of the round trip", 100, 10**8, 100, 8
    ),
    Network("shallow", "a queue of three: the long-term bound", 100, 10**8, 3, 10),
    Network("losing", "one segment in thirty is lost", 100, 10**8, 100, 8, loss=0.03),
    Network("bursts", "twelve segments every 0.7 s", 100, 10**8, 100, 9, bursts=(0.7, 12)),
    Network(
        "idle",
        "the same every 0.8 s: idleness spares a probe",
        100,
        10**8,
        100,
        7,
        bursts=(0.8, 12),
    ),
    Network(
        "stretched", "every acknowledgement covers four segments", 100, 10**8, 100, 5, stretch=4
    ),
]


def vectors() -> str:
    """The file's text."""
    cases = []
    for seed, network in enumerate(NETWORKS):
        world = World(network, 10.0, seed)
        world.run()
        about = f"{network.about}; states: {' '.join(world.bbr.states)}"
        rows = row_lines(world.events)
        cases.append(
            f'  {{"name": {json.dumps(network.name)}, "about": {json.dumps(about)},\n'
            f'   "initial_window": 10.0, "events": [\n{rows}]}}'
        )
    head = (
        '{"format": 1, "sender": "bbr", "source": "draft-ietf-ccwg-bbr, August 2026", "cases": [\n'
    )
    return head + ",\n".join(cases) + "\n]}\n"
