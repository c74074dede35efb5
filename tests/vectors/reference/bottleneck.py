"""A small bottleneck that gives the references long, awkward and self-consistent arrivals.

Packets come in stretches of different load, wait for a transmitter that sends one at a time, and
are kept or dropped as the reference says. The packet in transmission is not part of the queue.
"""

import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from by_hand import answer
from exact import Comparison, TooCloseError
from vector_file import (
    Arrival,
    Case,
    Departure,
    Expected,
    Link,
    Machine,
    Parameters,
    Settings,
    Step,
    WatchesDepartures,
)

Program = Sequence["Stretch | Pause | Settings"]


class UnluckyCaseError(ValueError):
    """Every stream of random numbers brings some number too close to a boundary."""


@dataclass(frozen=True)
class Stretch:
    """Random arrivals that offer `load` times what the link carries; `sizes` in bytes.

    Packets are green, or of any of `colours`, each as likely; of flow 0, or of any of `flows`.
    """

    load: float
    packets: int
    sizes: tuple[int, ...] = (1000,)
    ecn_share: float = 0.5
    colours: tuple[str, ...] = ()
    flows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Pause:
    """Nothing arrives for so many nanoseconds."""

    duration_ns: int


# For a link that sends a packet in a millisecond: up through both thresholds, down to idleness,
# up again and out.
RISE_AND_FALL: Program = (
    Stretch(0.8, 20),
    Stretch(2.5, 60),
    Stretch(0.5, 30),
    Pause(15_000_000),
    Stretch(1.6, 40),
    Stretch(0.3, 20),
)


@dataclass(frozen=True)
class Waiting:
    """A packet in the queue."""

    size: int
    ecn_capable: bool
    arrived: int
    flow: int


class Transmitter:
    """Packets waiting for a link, and what an arrival finds of them.

    `turn` is asked about each packet whose turn it is, and says whether it is sent.
    """

    def __init__(self, rate_bit_per_s: float, turn: Callable[[Departure], bool]) -> None:
        self._nanoseconds_per_byte = 8e9 / rate_bit_per_s
        self._turn = turn
        self._waiting: deque[Waiting] = deque()
        self._free_at = 0
        self._empty_since = 0
        self._idle_since: int | None = 0

    def advance(self, now: int) -> None:
        """Sends what can be sent until `now`; at one instant sending comes before arriving."""
        while self._idle_since is None and self._free_at <= now:
            self._idle_since = self._free_at
            self._send_next(self._free_at)

    def meet(self, now: int, size: int, *, ecn_capable: bool) -> Arrival:
        """What a packet arriving now finds."""
        return Arrival(
            time_ns=now,
            size_bytes=size,
            ecn_capable=ecn_capable,
            queue_packets=len(self._waiting),
            queue_bytes=sum(packet.size for packet in self._waiting),
            empty_since_ns=self._empty_since,
            idle_since_ns=self._idle_since,
        )

    def remove(self, now: int, place: int) -> None:
        """Drops a packet that waits."""
        del self._waiting[place]
        if not self._waiting:
            self._empty_since = now

    def join(self, now: int, size: int, *, ecn_capable: bool, flow: int) -> None:
        """Takes a packet that was not dropped."""
        self._waiting.append(Waiting(size, ecn_capable, now, flow))
        if self._idle_since is not None:
            self._send_next(now)

    def _send_next(self, now: int) -> None:
        while self._waiting:
            packet = self._waiting.popleft()
            if not self._waiting:
                self._empty_since = now
            departure = Departure(
                time_ns=now,
                size_bytes=packet.size,
                ecn_capable=packet.ecn_capable,
                arrived_ns=packet.arrived,
                queue_packets=len(self._waiting),
                queue_bytes=sum(behind.size for behind in self._waiting),
                flow=packet.flow,
            )
            if self._turn(departure):
                self._free_at = now + round(packet.size * self._nanoseconds_per_byte)
                self._idle_since = None
                return


def recorded(
    kind: type[Machine],
    name: str,
    about: str,
    parameters: Parameters,
    link: Link,
    *,
    program: Program,
) -> Case:
    """What the reference answers to a program of arrivals.

    The random numbers of a case come from its name, so that a new case leaves the others alone. A
    stream in which some number comes too close to a boundary is passed over for the next.
    """
    for attempt in range(100):
        try:
            steps = _play(kind, parameters, link, program, random.Random(f"{name} {attempt}"))
        except TooCloseError:
            continue
        return Case(name, about, parameters, link, steps, by_hand=False)
    raise UnluckyCaseError(name)


def _play(
    kind: type[Machine],
    parameters: Parameters,
    link: Link,
    program: Program,
    source: random.Random,
) -> list[Step | Settings]:
    machine = kind({**kind.DEFAULTS, **parameters}, link, Comparison(ties=False))
    steps: list[Step | Settings] = []

    def turn(departure: Departure) -> bool:
        if not isinstance(machine, WatchesDepartures):
            return True
        step = _ask(machine, departure, source)
        steps.append(step)
        return step.expected.verdict != "drop"

    transmitter = Transmitter(link.rate_bit_per_s, turn)
    now = 0
    for part in program:
        if isinstance(part, Pause):
            now += part.duration_ns
            continue
        if isinstance(part, Settings):
            machine.reconfigure({**kind.DEFAULTS, **part.parameters}, part.link)
            steps.append(part)
            continue
        mean_gap = 8e9 * sum(part.sizes) / len(part.sizes) / (link.rate_bit_per_s * part.load)
        for _ in range(part.packets):
            now += round(source.expovariate(1) * mean_gap)
            transmitter.advance(now)
            size = source.choice(part.sizes)
            ecn_capable = source.random() < part.ecn_share
            arrival = transmitter.meet(now, size, ecn_capable=ecn_capable)
            arrival = _labelled(arrival, part, source)
            step = _ask(machine, arrival, source)
            steps.append(step)
            while step.expected.verdict.startswith("make-room"):
                transmitter.remove(now, int(step.expected.verdict.split()[1]))
                arrival = transmitter.meet(now, size, ecn_capable=ecn_capable)
                step = _ask(machine, arrival, source)
                steps.append(step)
            if step.expected.verdict != "drop":
                transmitter.join(now, size, ecn_capable=ecn_capable, flow=arrival.flow)
    return steps


def _labelled(arrival: Arrival, part: Stretch, source: random.Random) -> Arrival:
    """The arrival with a colour and a flow, where the stretch has some."""
    if part.colours:
        arrival = replace(arrival, colour=source.choice(part.colours))
    return replace(arrival, flow=source.choice(part.flows)) if part.flows else arrival


def _ask(machine: Machine, event: Arrival | Departure, source: random.Random) -> Step:
    coins: list[float] = []

    def coin() -> Decimal:
        coins.append(round(source.random(), 6))
        return Decimal(str(coins[-1]))

    verdict, reason = answer(machine, event, coin)
    figures: Mapping[str, float | None] = {
        name: None if figure is None else float(figure)
        for name, figure in machine.figures().items()
    }
    return Step(event, tuple(coins), Expected(verdict, reason, figures))
