"""References of disciplines that keep the packets themselves: told, checked and recorded.

Such a reference is given packets, and asked for one at each turn of the link; it says what was
sent, marked and dropped. The packet in transmission is not part of the queue.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar, Protocol

from bottleneck import Pause, Stretch, UnluckyCaseError
from by_hand import DisagreementError
from exact import TooCloseError
from vector_file import Case, Link, Parameters, Settings

Coin = Callable[[], Decimal]


@dataclass(frozen=True)
class Offer:
    """A packet arrives; `idle_since_ns`: since when the link has had nothing to do."""

    time_ns: int
    packet: int
    flow: int
    size_bytes: int
    ecn_capable: bool
    idle_since_ns: int | None


@dataclass(frozen=True)
class Turn:
    """The link is free."""

    time_ns: int


@dataclass(frozen=True)
class Outcome:
    """What a step came to, and what waits after it."""

    queue_packets: int
    queue_bytes: int
    packet: int | None = None
    """The packet that is sent."""
    marked: bool = False
    dropped: tuple[tuple[int, str], ...] = ()
    drop_probability: float | None = None


@dataclass(frozen=True)
class KeptStep:
    """An event and what comes of it."""

    event: Offer | Turn
    outcome: Outcome
    coins: tuple[float, ...] = ()

    def written(self) -> dict[str, object]:
        """The step as it stands in a file."""
        event, outcome = self.event, self.outcome
        expected: dict[str, object] = {}
        written: dict[str, object] = {"time_ns": event.time_ns}
        if isinstance(event, Offer):
            written |= {
                "packet": event.packet,
                "flow": event.flow,
                "size_bytes": event.size_bytes,
                "ecn_capable": event.ecn_capable,
                "idle_since_ns": event.idle_since_ns,
            }
        else:
            expected["packet"] = outcome.packet
        if outcome.marked:
            expected["marked"] = True
        if outcome.dropped:
            expected["dropped"] = [list(dropped) for dropped in outcome.dropped]
        expected |= {"queue_packets": outcome.queue_packets, "queue_bytes": outcome.queue_bytes}
        if outcome.drop_probability is not None:
            expected["drop_probability"] = outcome.drop_probability
        coins = {"coins": list(self.coins)} if self.coins else {}
        return written | coins | {"expected": expected}


@dataclass(frozen=True)
class Kept:
    """A packet in a queue."""

    number: int
    flow: int
    size: int
    ecn_capable: bool
    arrived: int


@dataclass
class Report:
    """What a reference reports of one step."""

    sent: Kept | None = None
    marked: bool = False
    dropped: list[tuple[int, str]] = field(default_factory=list)


class Keeper(Protocol):
    """A reference discipline that keeps the packets."""

    DEFAULTS: ClassVar[Parameters]

    def __init__(self, parameters: Parameters, link: Link) -> None: ...

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        """Takes new settings and keeps its state."""

    def offer(self, now: int, packet: Kept, coin: Coin) -> Report:
        """A packet arrives."""

    def turn(self, now: int) -> Report:
        """The link asks for a packet."""

    def waiting(self) -> list[Kept]:
        """All packets that wait."""

    def drop_probability(self) -> float | None:
        """What the discipline publishes of itself."""


def _perform(keeper: Keeper, event: Offer | Turn, coin: Coin) -> tuple[Report, Outcome]:
    if isinstance(event, Offer):
        packet = Kept(event.packet, event.flow, event.size_bytes, event.ecn_capable, event.time_ns)
        report = keeper.offer(event.time_ns, packet, coin)
    else:
        report = keeper.turn(event.time_ns)
    waiting = keeper.waiting()
    return report, Outcome(
        queue_packets=len(waiting),
        queue_bytes=sum(packet.size for packet in waiting),
        packet=None if report.sent is None else report.sent.number,
        marked=report.marked,
        dropped=tuple(report.dropped),
        drop_probability=keeper.drop_probability(),
    )


class Script:
    """Writes the steps of a case by hand: packets are numbered as they are offered."""

    def __init__(self) -> None:
        self.steps: list[KeptStep | Settings] = []
        self._sizes: dict[int, int] = {}
        self._offered = 0

    def __len__(self) -> int:
        """Packets offered so far: the number of the next."""
        return self._offered

    def offer(
        self,
        time_ns: int,
        flow: int,
        *,
        size: int = 1000,
        ecn: bool = False,
        marked: bool = False,
        dropped: Sequence[tuple[int, str]] = (),
        coins: Sequence[float] = (),
        idle_since_ns: int | None = None,
    ) -> None:
        """A packet of `flow` arrives, and so many others are dropped for it."""
        number = self._offered
        self._offered += 1
        self._sizes[number] = size
        event = Offer(time_ns, number, flow, size, ecn, idle_since_ns)
        self._add(event, None, marked, dropped, coins)

    def turn(
        self,
        time_ns: int,
        packet: int | None,
        *,
        marked: bool = False,
        dropped: Sequence[tuple[int, str]] = (),
    ) -> None:
        """The link is free: `packet` is sent."""
        self._add(Turn(time_ns), packet, marked, dropped, ())

    def settings(self, parameters: Parameters, link: Link) -> None:
        """New settings."""
        self.steps.append(Settings(parameters, link))

    def _add(
        self,
        event: Offer | Turn,
        packet: int | None,
        marked: bool,  # noqa: FBT001
        dropped: Sequence[tuple[int, str]],
        coins: Sequence[float],
    ) -> None:
        for number in [number for number, _ in dropped] + ([] if packet is None else [packet]):
            del self._sizes[number]
        waiting = (len(self._sizes), sum(self._sizes.values()))
        outcome = Outcome(*waiting, packet=packet, marked=marked, dropped=tuple(dropped))
        self.steps.append(KeptStep(event, outcome, tuple(coins)))


def verify(case: Case, kind: type[Keeper]) -> Case:
    """The case, if the reference does as the hand did."""
    keeper = kind({**kind.DEFAULTS, **case.parameters}, case.link)
    for number, step in enumerate(case.steps, start=1):
        if isinstance(step, Settings):
            keeper.reconfigure({**kind.DEFAULTS, **step.parameters}, step.link)
            continue
        assert isinstance(step, KeptStep)
        coins = [Decimal(str(coin)) for coin in reversed(step.coins)]
        _, outcome = _perform(keeper, step.event, coins.pop)
        stated = {"drop_probability": None}
        given = {**outcome.__dict__, **stated}
        if given != {**step.outcome.__dict__, **stated} or coins:
            raise DisagreementError(case, number, outcome)
    return case


@dataclass(frozen=True)
class Flows:
    """How much of the traffic each flow sends, and whether it is ECN-capable."""

    shares: Mapping[int, float]
    ecn: frozenset[int] = frozenset()


def recorded(
    kind: type[Keeper],
    name: str,
    about: str,
    parameters: Parameters,
    link: Link,
    *,
    flows: Flows,
    program: Sequence[Stretch | Pause | Settings],
) -> Case:
    """What the reference does with a program of arrivals, and the link's turns between them.

    The random numbers of a case come from its name. A stream in which something hangs on rounding
    or on the numbers of queues is passed over for the next.
    """
    for attempt in range(100):
        try:
            source = random.Random(f"{name} {attempt}")
            steps = _play(kind, parameters, link, flows, program, source)
        except TooCloseError:
            continue
        return Case(name, about, parameters, link, steps, by_hand=False)
    raise UnluckyCaseError(name)


class _Recorder:
    """A keeper before a link, and what happens at both."""

    def __init__(self, keeper: Keeper, link: Link, source: random.Random) -> None:
        self._keeper = keeper
        self._nanoseconds_per_byte = 8e9 / link.rate_bit_per_s
        self._source = source
        self._free_at = 0
        self._idle_since: int | None = 0
        self._offered = 0
        self.steps: list[KeptStep | Settings] = []

    def advance(self, now: int) -> None:
        """Sends what can be sent until `now`; at one instant sending comes before arriving."""
        while self._idle_since is None and self._free_at <= now:
            self._turn(self._free_at)

    def offer(self, now: int, flow: int, size: int, *, ecn: bool) -> None:
        """A packet arrives."""
        self._record(Offer(now, self._offered, flow, size, ecn, self._idle_since))
        self._offered += 1
        if self._idle_since is not None:
            self._turn(now)

    def _turn(self, now: int) -> None:
        sent = self._record(Turn(now)).sent
        if sent is not None:
            self._free_at = now + round(sent.size * self._nanoseconds_per_byte)
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now

    def _record(self, event: Offer | Turn) -> Report:
        coins: list[float] = []

        def coin() -> Decimal:
            coins.append(round(self._source.random(), 6))
            return Decimal(str(coins[-1]))

        report, outcome = _perform(self._keeper, event, coin)
        self.steps.append(KeptStep(event, outcome, tuple(coins)))
        return report


def _play(
    kind: type[Keeper],
    parameters: Parameters,
    link: Link,
    flows: Flows,
    program: Sequence[Stretch | Pause | Settings],
    source: random.Random,
) -> list[KeptStep | Settings]:
    keeper = kind({**kind.DEFAULTS, **parameters}, link)
    recorder = _Recorder(keeper, link, source)
    numbers, shares = list(flows.shares), list(flows.shares.values())
    now = 0
    for part in program:
        if isinstance(part, Pause):
            now += part.duration_ns
            continue
        if isinstance(part, Settings):
            keeper.reconfigure({**kind.DEFAULTS, **part.parameters}, part.link)
            recorder.steps.append(part)
            continue
        mean_gap = 8e9 * sum(part.sizes) / len(part.sizes) / (link.rate_bit_per_s * part.load)
        for _ in range(part.packets):
            now += round(source.expovariate(1) * mean_gap)
            recorder.advance(now)
            (flow,) = source.choices(numbers, shares)
            recorder.offer(now, flow, source.choice(part.sizes), ecn=flow in flows.ecn)
    return recorder.steps
