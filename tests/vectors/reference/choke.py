"""CHOKe on RED of 1993.

The rules:

- At each arrival RED's average takes its step (see `red.py`; what waits now, and when the queue
  last became empty).
- If the average is above min_threshold, `candidates` times, while something waits: a coin c draws
  the packet at the whole part of c x (packets that wait), counted from the head. If it is of the
  arriving packet's flow it is dropped. If any was, the arriving packet is dropped, too, and that
  is all.
- Else RED decides. If `limit` packets wait, the packet is dropped whatever RED decided, and RED's
  count starts anew.
- Packets leave in the order of their arrival.
"""

from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause
from exact import Comparison
from kept import Coin, Crowd, Hand, Outcome, Parcel, Source, recorded, verify
from red import Red
from vector_file import Arrival, Case, Link, Parameters, Settings, VectorFile

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000


class Choke(Red):
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 300.0,
        "min_threshold": 100.0,
        "max_threshold": 200.0,
        "max_probability": 0.02,
        "weight": 0.002,
        "candidates": 1.0,
        "ecn": True,
        "drop_above_maximum": False,
        "mean_packet_size": 1000.0,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._queue: list[Parcel] = []
        self._empty_since = 0
        super().__init__(parameters, link, comparison)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        super().reconfigure(parameters, link)
        self._candidates = int(Decimal(str(parameters["candidates"])))

    def offer(self, now: int, parcel: Parcel, idle_since: int | None, coin: Coin) -> Outcome:
        packets, size = self.waiting()
        capable = parcel.ecn is not None
        arrival = Arrival(now, parcel.size, capable, packets, size, self._empty_since, idle_since)
        self._measure(arrival)
        dropped: list[tuple[int, str]] = []
        if not self._compare.at_most(self._average, self._low):
            for _ in range(self._candidates):
                if not self._queue:
                    break
                place = self._compare.whole_part(coin() * len(self._queue))
                if self._queue[place].flow == parcel.flow:
                    dropped.append((self._queue[place].number, "early"))
                    self._remove(now, place)
        if dropped:
            return Outcome(dropped=(*dropped, (parcel.number, "early")))
        verdict, reason = self._decide(arrival, coin)
        if packets >= self._limit:
            self._let_through = 0
            verdict, reason = "drop", "overflow"
        if reason is not None:
            return Outcome(dropped=((parcel.number, reason),))
        self._queue.append(parcel)
        return Outcome(marked=verdict == "mark")

    def _remove(self, now: int, place: int) -> Parcel:
        parcel = self._queue.pop(place)
        if not self._queue:
            self._empty_since = now
        return parcel

    def turn(self, now: int, coin: Coin) -> Outcome:
        del coin
        return Outcome(self._remove(now, 0).number if self._queue else None)

    def waiting(self) -> tuple[int, int]:
        return len(self._queue), sum(parcel.size for parcel in self._queue)

    def probability(self) -> Decimal:
        figure = self.figures()["drop_probability"]
        assert figure is not None
        return figure


def _hand_cases() -> list[Case]:
    bare: Parameters = {
        "weight": 1.0,
        "min_threshold": 2.0,
        "max_threshold": 10.0,
        "max_probability": 0.5,
    }
    own = Hand()
    own.offer(0, flow=1)
    own.offer(0, flow=2)
    own.offer(0, flow=1, coins=[0.9])
    own.offer(0, flow=1, coins=[0.5, 0.9], probability=0.0625)
    own.offer(0, flow=1, coins=[0.1], dropped=[(1, "early"), (5, "early")])
    own.offer(0, flow=3, coins=[0.99, 0.05], dropped=[(6, "early")])
    own.offer(0, flow=3, ecn="ect0", coins=[0.0, 0.05], marked=True)
    own.turn(0, 2)
    own.offer(0, flow=1, ecn="ect0", coins=[0.34], dropped=[(4, "early"), (8, "early")])
    own.turn(0, 3)
    own.turn(0, 7)
    own.turn(0, None)
    met = Hand()
    met.offer(0, flow=1)
    met.offer(0, flow=2)
    met.offer(0, flow=1, coins=[0.9])
    met.offer(0, flow=1, coins=[0.9, 0.0, 0.9], dropped=[(3, "early"), (1, "early"), (4, "early")])
    met.offer(0, flow=2)
    met.turn(0, 2)
    met.turn(0, 5)
    full = Hand()
    full.offer(0, flow=1)
    full.offer(0, flow=2)
    full.offer(0, flow=3, coins=[0.9])
    full.offer(0, flow=4, coins=[0.5, 0.9], dropped=[(4, "overflow")])
    full.offer(0, flow=2, coins=[0.5], dropped=[(2, "early"), (5, "early")])
    return [
        Case(
            name="who meets one of its own flow goes with it",
            about="weight 1, thresholds 2 and 10, up to 1/2. Up to 2 waiting nobody is drawn (at 2 "
            "RED asks a coin for its probability of 0). 3: a coin of 0.5 draws place 1, flow 2; "
            "RED's 1/16 misses with 0.9. 4: 0.1 draws place 0, of flow 1: both go. 3: flow 3 meets "
            "nobody at place 2; RED's 1/16 after two let through is 1/14, 0.05 strikes: dropped, "
            "and the next, ECN-capable, is marked. One leaves; 3 wait: 0.34 draws place 1, of flow "
            "1, and that costs an ECN-capable packet, too",
            parameters=bare,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=own.steps,
        ),
        Case(
            name="several candidates",
            about="three candidates, flows 1, 2, 1 wait. 0.9 draws place 2, flow 1: gone; 0 draws "
            "place 0 of the two left, flow 1: gone; 0.9 draws place 0 of one, flow 2. The arriving "
            "packet goes, too. One waits then: no coin for the next",
            parameters=bare | {"candidates": 3.0},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=met.steps,
        ),
        Case(
            name="a full buffer",
            about="limit 3: the fourth, of a flow of its own, overflows; the fifth meets its own "
            "flow",
            parameters=bare | {"limit": 3.0},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=full.steps,
        ),
    ]


def _simulated() -> list[Case]:
    lively: Parameters = {
        "limit": 30.0,
        "min_threshold": 5.0,
        "max_threshold": 15.0,
        "max_probability": 0.2,
        "weight": 0.1,
    }
    greedy = (
        Source(1, 0.6, sizes=(1000,)),
        Source(2, 0.2, "ect0", sizes=(552, 1514)),
        Source(3, 0.2, sizes=(40, 1000)),
    )
    return [
        recorded(
            Choke,
            "a flow that does not answer among others",
            "load rises and falls; flow 1 sends most of it",
            lively,
            LINK,
            program=[
                Crowd(0.8, 30, greedy),
                Crowd(2.0, 120, greedy),
                Crowd(0.5, 40, greedy),
                Pause(20 * MILLISECOND),
                Crowd(1.6, 80, greedy),
            ],
        ),
        recorded(
            Choke,
            "settings changed on the way",
            "three candidates and no ECN, then one, and drops above the maximum",
            lively | {"candidates": 3.0, "ecn": False},
            LINK,
            program=[
                Crowd(2.0, 100, greedy),
                Settings(
                    lively | {"drop_above_maximum": True, "max_threshold": 8.0, "weight": 0.7},
                    Link(rate_bit_per_s=4e6, delay_s=0.01),
                ),
                Crowd(1.5, 100, greedy),
                Pause(50 * MILLISECOND),
                Crowd(3.0, 60, greedy),
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="choke",
        source="R. Pan, B. Prabhakar, K. Psounis, CHOKe, A Stateless Active Queue Management "
        "Scheme for Approximating Fair Bandwidth Allocation, INFOCOM 2000; Linux, "
        "net/sched/sch_choke.c",
        machine=Choke,
        cases=[*(verify(case, Choke) for case in _hand_cases()), *_simulated()],
    )
