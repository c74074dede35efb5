"""Vectors of disciplines that keep the packets themselves: what is offered, and what leaves.

The README beside `reference/` describes the format. A reference here answers two questions: what
becomes of a packet that arrives, and which packet is sent when the link is free. The packet in
transmission is not part of the queue.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import ClassVar, Protocol

from bottleneck import Pause, UnluckyCaseError
from by_hand import FLOOR, TOLERANCE, DisagreementError
from exact import Comparison, TooCloseError
from vector_file import Case, Figure, Link, Parameters, Settings, Within


@dataclass(frozen=True)
class Parcel:
    """A packet; `ecn` is None (it may only be dropped), "ect0", "ect1" or "ce"."""

    number: int
    size: int
    flow: int
    ecn: str | None = None
    dscp: int = 0
    hosts: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Outcome:
    """What a step comes to: the packet that is sent, if any, a mark, and packets dropped."""

    packet: int | None = None
    marked: bool = False
    dropped: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Waiting:
    """What a step leaves behind, and the probability, if it is stated."""

    packets: int
    size: int
    probability: Figure = None


@dataclass(frozen=True)
class Offer:
    """A packet arrives."""

    time_ns: int
    parcel: Parcel
    idle_since_ns: int | None
    coins: tuple[float, ...]
    outcome: Outcome
    left: Waiting

    def written(self) -> dict[str, object]:
        """The step as it stands in a file."""
        written: dict[str, object] = {
            "time_ns": self.time_ns,
            "packet": self.parcel.number,
            "size_bytes": self.parcel.size,
            "ecn_capable": self.parcel.ecn is not None,
            "flow": self.parcel.flow,
        }
        if self.parcel.ecn is not None:
            written["ecn"] = self.parcel.ecn
        if self.parcel.dscp:
            written["dscp"] = self.parcel.dscp
        if self.parcel.hosts != (0, 0):
            written["hosts"] = list(self.parcel.hosts)
        written |= {"idle_since_ns": self.idle_since_ns, "coins": list(self.coins)}
        return written | {"expected": _expected(self.outcome, self.left)}


@dataclass(frozen=True)
class Turn:
    """The link is free."""

    time_ns: int
    coins: tuple[float, ...]
    outcome: Outcome
    left: Waiting

    def written(self) -> dict[str, object]:
        """The step as it stands in a file."""
        expected = {"packet": self.outcome.packet} | _expected(self.outcome, self.left)
        return {"time_ns": self.time_ns, "coins": list(self.coins), "expected": expected}


def _expected(outcome: Outcome, left: Waiting) -> dict[str, object]:
    expected: dict[str, object] = {}
    if outcome.marked:
        expected["marked"] = True
    if outcome.dropped:
        expected["dropped"] = [list(dropped) for dropped in outcome.dropped]
    expected |= {"queue_packets": left.packets, "queue_bytes": left.size}
    if isinstance(left.probability, Within):
        expected["drop_probability"] = asdict(left.probability)
    elif left.probability is not None:
        expected["drop_probability"] = left.probability
    return expected


Step = Offer | Turn
Coin = Callable[[], Decimal]


class Machine(Protocol):
    """A reference discipline that keeps packets."""

    DEFAULTS: ClassVar[Parameters]

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None: ...

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        """Takes new settings and keeps its state and its packets."""

    def offer(self, now: int, parcel: Parcel, idle_since: int | None, coin: Coin) -> Outcome:
        """A packet arrives."""

    def turn(self, now: int, coin: Coin) -> Outcome:
        """The link is free."""

    def waiting(self) -> tuple[int, int]:
        """Packets and bytes that wait."""

    def probability(self) -> Decimal | None:
        """What it publishes of itself, if anything."""

    def ready_at(self) -> int:
        """When a packet that is held back may be sent."""
        return 0


def verify(case: Case, kind: type[Machine]) -> Case:
    """The case, if the reference answers as the hand did."""
    machine = kind({**kind.DEFAULTS, **case.parameters}, case.link, Comparison(ties=case.ties))
    for number, step in enumerate(case.steps, start=1):
        if isinstance(step, Settings):
            machine.reconfigure({**kind.DEFAULTS, **step.parameters}, step.link)
            continue
        assert isinstance(step, Offer | Turn)
        coins = [Decimal(str(coin)) for coin in reversed(step.coins)]
        if isinstance(step, Offer):
            given = machine.offer(step.time_ns, step.parcel, step.idle_since_ns, coins.pop)
        else:
            given = machine.turn(step.time_ns, coins.pop)
        left = (step.left.packets, step.left.size)
        if given != step.outcome or coins or machine.waiting() != left:
            raise DisagreementError(case, number, (given, machine.waiting()))
        if not _agree(step.left.probability, machine.probability()):
            raise DisagreementError(case, number, machine.probability())
    return case


def _agree(by_hand: Figure, reference: Decimal | None) -> bool:
    if by_hand is None:
        return True
    if reference is None:
        return False
    if isinstance(by_hand, Within):
        return abs(reference - Decimal(str(by_hand.value))) <= Decimal(str(by_hand.within))
    return abs(reference - Decimal(by_hand)) <= TOLERANCE * abs(Decimal(by_hand)) + FLOOR


@dataclass
class Hand:
    """Writes steps by hand: keeps the numbers of packets and what must be waiting."""

    steps: list[Step | Settings] = field(default_factory=list)
    _parcels: dict[int, Parcel] = field(default_factory=dict)
    _number: int = 0

    def offer(
        self,
        time_ns: int,
        *,
        size: int = 1000,
        flow: int = 0,
        ecn: str | None = None,
        dscp: int = 0,
        hosts: tuple[int, int] = (0, 0),
        coins: Sequence[float] = (),
        marked: bool = False,
        dropped: Sequence[tuple[int, str]] = (),
        idle_since_ns: int | None = None,
        probability: Figure = None,
    ) -> int:
        """A packet arrives; its number, packets being numbered from 1."""
        self._number += 1
        parcel = Parcel(self._number, size, flow, ecn, dscp, hosts)
        self._parcels[parcel.number] = parcel
        outcome = Outcome(None, marked, tuple(dropped))
        left = self._left(outcome, probability)
        self.steps.append(Offer(time_ns, parcel, idle_since_ns, tuple(coins), outcome, left))
        return parcel.number

    def turn(
        self,
        time_ns: int,
        packet: int | None,
        *,
        coins: Sequence[float] = (),
        marked: bool = False,
        dropped: Sequence[tuple[int, str]] = (),
        probability: Figure = None,
    ) -> None:
        """The link is free, and `packet` is sent."""
        outcome = Outcome(packet, marked, tuple(dropped))
        left = self._left(outcome, probability)
        self.steps.append(Turn(time_ns, tuple(coins), outcome, left))

    def settings(self, parameters: Parameters, link: Link) -> None:
        """New settings."""
        self.steps.append(Settings(parameters, link))

    def _left(self, outcome: Outcome, probability: Figure) -> Waiting:
        for gone in (outcome.packet, *(number for number, _ in outcome.dropped)):
            if gone is not None:
                del self._parcels[gone]
        size = sum(parcel.size for parcel in self._parcels.values())
        return Waiting(len(self._parcels), size, probability)


@dataclass(frozen=True)
class Source:
    """A flow, its share of the packets, and what they are like."""

    flow: int
    share: float
    ecn: str | None = None
    sizes: tuple[int, ...] = (1000,)
    dscp: int = 0
    hosts: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Crowd:
    """Random arrivals of several flows that offer `load` times what the link carries."""

    load: float
    packets: int
    sources: tuple[Source, ...]


Program = Sequence[Crowd | Pause | Settings]


def recorded(
    kind: type[Machine],
    name: str,
    about: str,
    parameters: Parameters,
    link: Link,
    *,
    program: Program,
) -> Case:
    """What the reference answers to a program of arrivals; see `bottleneck.recorded`."""
    for attempt in range(100):
        try:
            steps = _Play(kind, parameters, link, f"{name} {attempt}").run(program)
        except TooCloseError:
            continue
        return Case(name, about, parameters, link, steps, by_hand=False)
    raise UnluckyCaseError(name)


class _Play:
    """A link in front of which a reference keeps its packets."""

    def __init__(self, kind: type[Machine], parameters: Parameters, link: Link, seed: str) -> None:
        self._kind = kind
        self._machine = kind({**kind.DEFAULTS, **parameters}, link, Comparison(ties=False))
        self._rate = link.rate_bit_per_s
        self._random = random.Random(seed)
        self._steps: list[Step | Settings] = []
        self._sizes: dict[int, int] = {}
        self._free_at = 0
        self._idle_since: int | None = 0
        self._coins: list[float] = []

    def run(self, program: Program) -> list[Step | Settings]:
        now = number = 0
        for part in program:
            if isinstance(part, Pause):
                now += part.duration_ns
                continue
            if isinstance(part, Settings):
                settings = {**self._kind.DEFAULTS, **part.parameters}
                self._machine.reconfigure(settings, part.link)
                self._steps.append(part)
                continue
            shares = [source.share for source in part.sources]
            mean = sum(
                source.share * sum(source.sizes) / len(source.sizes) for source in part.sources
            ) / sum(shares)
            for _ in range(part.packets):
                now += round(self._random.expovariate(1) * 8e9 * mean / (self._rate * part.load))
                source = self._random.choices(part.sources, shares)[0]
                number += 1
                size = self._random.choice(source.sizes)
                it = Parcel(number, size, source.flow, source.ecn, source.dscp, source.hosts)
                self._arrive(now, it)
        return self._steps

    def _coin(self) -> Decimal:
        self._coins.append(round(self._random.random(), 6))
        return Decimal(str(self._coins[-1]))

    def _taken_coins(self) -> tuple[float, ...]:
        coins = tuple(self._coins)
        self._coins.clear()
        return coins

    def _left(self) -> Waiting:
        packets, size = self._machine.waiting()
        probability = self._machine.probability()
        return Waiting(packets, size, None if probability is None else float(probability))

    def _arrive(self, now: int, parcel: Parcel) -> None:
        while self._idle_since is None and self._free_at <= now:
            self._send(self._free_at)
        idle = self._idle_since
        self._sizes[parcel.number] = parcel.size
        outcome = self._machine.offer(now, parcel, idle, self._coin)
        coins = self._taken_coins()
        self._steps.append(Offer(now, parcel, idle, coins, outcome, self._left()))
        if idle is not None:
            self._send(now)

    def _send(self, now: int) -> None:
        outcome = self._machine.turn(now, self._coin)
        self._steps.append(Turn(now, self._taken_coins(), outcome, self._left()))
        if outcome.packet is None and self._machine.waiting()[0]:
            self._idle_since, self._free_at = None, self._machine.ready_at()
        elif outcome.packet is None:
            self._idle_since = now if self._idle_since is None else self._idle_since
        else:
            self._idle_since = None
            self._free_at = now + round(self._sizes[outcome.packet] * 8e9 / self._rate)
