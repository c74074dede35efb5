"""SFB as Linux 6.12 has it (net/sched/sch_sfb.c), with a given hash.

The rules:

- A filter has 8 levels of 16 bins. A flow f has the bin h >> 4 l mod 16 of level l; h is f
  exclusive or the key times 2654435769, stirred by the end of MurmurHash3 (32 bits). The first key
  is `perturbation`, each later one more.
- With `limit` packets waiting a packet is dropped. Else the filters change: after more than
  `rehash` the one that learns, or a fresh one, takes over; before, one begins to learn when
  `warm_up` is left.
- Each of the flow's bins in either filter: without packets its probability falls by `decrement`,
  with `target` or more it rises by `increment`, in 65535ths between 0 and 65535.
- The shortest bin and the least probability of the filter in force decide. With `max` packets in
  the shortest the packet is dropped. At a probability of 65535 it passes if there is a token, else
  it is dropped. Else a coin c of 16
  bits: at c below the probability p the packet is marked if it can be, unless c is below 2 (p -
  32767); else dropped.
- A packet that joins counts in its bins, and until it leaves. A filter does not know those that
  were there before it.
- Tokens: `penalty_burst` at first. When there are none, as many as `penalty_rate` gives since the
  last time there were new ones, of at most 10 s and at most `penalty_burst`.
"""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause, Program, Stretch, recorded
from by_hand import leave, step, verify
from exact import Comparison
from vector_file import Arrival, Case, Departure, Link, Parameters, Settings, Step, VectorFile

LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000
MOST = 65535
WORD = 2**32


def stirred(flow: int, key: int) -> int:
    """The hash of a flow."""
    state = flow ^ key * 0x9E3779B9 % WORD
    state = (state ^ state >> 16) * 0x85EBCA6B % WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 % WORD
    return state ^ state >> 16


class Filter:
    """Bins under one key: packets and probability of each."""

    def __init__(self, key: int, unknown: int) -> None:
        self._key, self.unknown = key, unknown
        self.bins = [[[0, 0] for _ in range(16)] for _ in range(8)]

    def of(self, flow: int) -> list[list[int]]:
        hash_ = stirred(flow, self._key)
        return [self.bins[level][hash_ >> 4 * level & 15] for level in range(8)]


class Sfb:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 1000.0,
        "target": 20.0,
        "max": 25.0,
        "increment": 0.0005,
        "decrement": 0.00005,
        "penalty_rate": 10.0,
        "penalty_burst": 20.0,
        "rehash": 600.0,
        "warm_up": 60.0,
        "ecn": True,
        "perturbation": None,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        del comparison
        self._keys = int(Decimal(str(parameters["perturbation"])))
        self._filters: list[Filter] = []
        self._began = self._tokens_at = 0
        self._tokens = int(Decimal(str(parameters["penalty_burst"])))
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        del link
        self._parameters = parameters

    def _number(self, name: str) -> Decimal:
        return Decimal(str(self._parameters[name]))

    def _fresh(self, unknown: int) -> Filter:
        self._keys += 1
        return Filter(self._keys - 1, unknown)

    def _turn_over(self, now: int, waiting: int) -> None:
        self._filters = self._filters or [self._fresh(0)]
        rehash, warm_up = (self._number(name) * 10**9 for name in ("rehash", "warm_up"))
        age = now - self._began
        if not rehash:
            return
        if age > rehash:
            self._filters = self._filters[1:] or [self._fresh(waiting)]
            self._began = now
        elif len(self._filters) == 1 and warm_up and age > max(rehash - warm_up, 0):
            self._filters.append(self._fresh(waiting))

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        if arrival.queue_packets >= self._number("limit"):
            return "drop", "overflow"
        self._turn_over(arrival.time_ns, arrival.queue_packets)
        verdict = self._judged(arrival, coin)
        if verdict[0] != "drop":
            for each in self._filters:
                for bin_ in each.of(arrival.flow):
                    bin_[0] += 1
        return verdict

    def _judged(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        up, down = (round(self._number(name) * MOST) for name in ("increment", "decrement"))
        for each in self._filters:
            for bin_ in each.of(arrival.flow):
                if not bin_[0]:
                    bin_[1] = max(bin_[1] - down, 0)
                elif bin_[0] >= self._number("target"):
                    bin_[1] = min(bin_[1] + up, MOST)
        bins = self._filters[0].of(arrival.flow)
        if min(packets for packets, _ in bins) >= self._number("max"):
            return "drop", "overflow"
        least = min(probability for _, probability in bins)
        if least == MOST:
            return ("accept", None) if self._token(arrival.time_ns) else ("drop", "forced")
        drawn = int(coin() * 65536)
        if drawn >= least:
            return "accept", None
        high = drawn < 2 * max(least - 32767, 0)
        if self._parameters["ecn"] and arrival.ecn_capable and not high:
            return "mark", None
        return "drop", "early"

    def _token(self, now: int) -> bool:
        rate, burst = self._number("penalty_rate"), self._number("penalty_burst")
        if not rate or not burst:
            return False
        if not self._tokens:
            age = min(now - self._tokens_at, 10**10)
            self._tokens = int(min(age * int(rate) // 10**9, burst))
            if not self._tokens:
                return False
            self._tokens_at = now
        self._tokens -= 1
        return True

    def depart(self, departure: Departure, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        del coin
        for each in self._filters:
            if each.unknown:
                each.unknown -= 1
                continue
            for bin_ in each.of(departure.flow):
                bin_[0] = max(bin_[0] - 1, 0)
        return "accept", None

    def figures(self) -> dict[str, Decimal | None]:
        levels = self._filters[0].bins if self._filters else []
        largest = max((bin_[1] for level in levels for bin_ in level), default=0)
        return {"average_queue_packets": None, "drop_probability": Decimal(largest) / MOST}


def _of_flow(flow: int, given: Step) -> Step:
    return replace(given, event=replace(given.event, flow=flow))


KEYED: Parameters = {"perturbation": 0.0}
QUICK: Parameters = KEYED | {
    "limit": 40.0,
    "target": 5.0,
    "max": 12.0,
    "increment": 0.05,
    "decrement": 0.02,
    "penalty_rate": 50.0,
    "penalty_burst": 3.0,
}


def _hand_cases() -> list[Case]:
    part = 6554 / MOST
    return [
        Case(
            name="a flow with a queue is noticed, one without is not",
            about="increment 0.1 (6554 of 65535), target 2: flow 1's third packet meets two of "
            "its own, the least of its bins is 6554, and the coin 0.09 (5898) falls on it; "
            "0.21 does not, at twice that. Flow 2 has at least one bin of its own at 0. "
            "When flow 1's packets have left, its next finds empty bins: 2 x 6554 less "
            "0.05, 3277",
            parameters=KEYED | {"increment": 0.1, "decrement": 0.05, "target": 2.0},
            link=LINK,
            by_hand=True,
            steps=[
                _of_flow(1, step(0, coins=(0.5,), probability=0.0)),
                _of_flow(1, step(1, coins=(0.5,), probability=0.0)),
                _of_flow(1, step(2, "drop early", coins=(0.09,), probability=part)),
                _of_flow(2, step(2, coins=(0.0,), probability=part)),
                _of_flow(1, step(3, coins=(0.21,), probability=2 * part)),
                *(
                    _of_flow(flow, leave(behind, time_ns=MILLISECOND, sojourn_ns=MILLISECOND))
                    for behind, flow in ((3, 1), (2, 1), (1, 2), (0, 1))
                ),
                _of_flow(
                    1,
                    step(
                        0, coins=(0.5,), time_ns=MILLISECOND, probability=(2 * 6554 - 3277) / MOST
                    ),
                ),
            ],
        ),
        Case(
            name="marks below a half, drops among them above",
            about="increment 0.3 (19660 or 19661), target 1. The second packet meets one: 19660.5"
            " is rounded to even, 19660; the coin 0.29 (19005) marks. The third: 39320; 2 "
            "(39320 - 32767) = 13106, so that 0.19 (12451) drops and 0.21 (13762) marks",
            parameters=KEYED | {"increment": 0.3, "target": 1.0, "max": 50.0},
            link=LINK,
            by_hand=True,
            steps=[
                _of_flow(1, step(0, ecn=True, coins=(0.5,), probability=0.0)),
                _of_flow(1, step(1, "mark", ecn=True, coins=(0.29,))),
                _of_flow(1, step(2, "drop early", ecn=True, coins=(0.19,))),
            ],
        ),
        Case(
            name="who does not answer has a few packets a second",
            about="increment 1: the second packet meets one, and its probability is 1. Two tokens "
            "let it and the third pass; the next come at 10 a second: none after 99 ms, one after "
            "100",
            parameters=KEYED | {"increment": 1.0, "target": 1.0, "max": 50.0, "penalty_burst": 2.0},
            link=LINK,
            by_hand=True,
            steps=[
                _of_flow(1, step(0, coins=(0.5,), probability=0.0)),
                _of_flow(1, step(1, probability=1.0)),
                _of_flow(1, step(2)),
                _of_flow(1, step(3, "drop forced", time_ns=99 * MILLISECOND)),
                _of_flow(1, step(3, time_ns=100 * MILLISECOND)),
                _of_flow(1, step(4, "drop forced", time_ns=199 * MILLISECOND)),
            ],
        ),
        Case(
            name="limits of a bin and of the buffer",
            about="max 2: the third packet of flow 1 finds two in all its bins. Flow 2 passes, and "
            "limit 3 is full",
            parameters=KEYED | {"limit": 3.0, "max": 2.0, "target": 1.0, "increment": 0.0},
            link=LINK,
            by_hand=True,
            steps=[
                _of_flow(1, step(0, coins=(0.5,))),
                _of_flow(1, step(1, coins=(0.5,))),
                _of_flow(1, step(2, "drop overflow")),
                _of_flow(2, step(2, coins=(0.5,))),
                _of_flow(3, step(3, "drop overflow")),
            ],
        ),
    ]


def vectors() -> VectorFile:
    crowd = (1, 1, 1, 2, 2, 3, 4, 5)
    program: Program = [
        Stretch(0.8, 30, flows=crowd),
        Stretch(2.5, 200, flows=crowd),
        Stretch(0.5, 60, flows=crowd),
        Pause(60 * MILLISECOND),
        Stretch(1.6, 100, flows=crowd),
    ]
    simulated = [
        recorded(Sfb, name, about, parameters, LINK, program=program)
        for name, about, parameters in (
            ("five flows, rise and fall", "one sends three times as much as another", QUICK),
            (
                "other bins take over",
                "every 80 ms, after they have learned for 30",
                QUICK | {"rehash": 0.08, "warm_up": 0.03},
            ),
        )
    ]
    simulated.append(
        recorded(
            Sfb,
            "settings change on the way",
            "no marks, other steps, bins that take over without having learned",
            QUICK,
            LINK,
            program=[
                *program[:2],
                Settings(
                    QUICK
                    | {"ecn": False, "increment": 0.2, "rehash": 0.05, "warm_up": 0.0, "max": 8.0},
                    LINK,
                ),
                *program,
            ],
        )
    )
    return VectorFile(
        discipline="sfb",
        source="Linux 6.12, net/sched/sch_sfb.c",
        machine=Sfb,
        cases=[*(verify(case, Sfb) for case in _hand_cases()), *simulated],
    )
