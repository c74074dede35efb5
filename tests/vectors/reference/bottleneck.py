"""A small bottleneck that gives the references long, awkward and self-consistent arrivals.

Packets come in stretches of different load, wait for a transmitter that sends one at a time, and
are kept or dropped as the reference says. The packet in transmission is not part of the queue.
"""

import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from exact import Comparison, TooCloseError
from vector_file import Arrival, Case, Expected, Link, Machine, Parameters, Settings, Step

Program = Sequence["Stretch | Pause | Settings"]


class UnluckyCaseError(ValueError):
    """Every stream of random numbers brings some number too close to a boundary."""


@dataclass(frozen=True)
class Stretch:
    """Random arrivals that offer `load` times what the link carries; `sizes` in bytes."""

    load: float
    packets: int
    sizes: tuple[int, ...] = (1000,)
    ecn_share: float = 0.5


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


class Transmitter:
    """Packets waiting for a link, and what an arrival finds of them."""

    def __init__(self, rate_bit_per_s: float) -> None:
        self._nanoseconds_per_byte = 8e9 / rate_bit_per_s
        self._waiting: deque[int] = deque()
        self._free_at = 0
        self._empty_since = 0
        self._idle_since: int | None = 0

    def advance(self, now: int) -> None:
        """Sends what can be sent until `now`; at one instant sending comes before arriving."""
        while self._idle_since is None and self._free_at <= now:
            if self._waiting:
                self._send(self._waiting.popleft(), self._free_at)
            else:
                self._idle_since = self._free_at

    def meet(self, now: int, size: int, *, ecn_capable: bool) -> Arrival:
        """What a packet arriving now finds."""
        return Arrival(
            time_ns=now,
            size_bytes=size,
            ecn_capable=ecn_capable,
            queue_packets=len(self._waiting),
            queue_bytes=sum(self._waiting),
            empty_since_ns=self._empty_since,
            idle_since_ns=self._idle_since,
        )

    def join(self, now: int, size: int) -> None:
        """Takes a packet that was not dropped."""
        if self._idle_since is None:
            self._waiting.append(size)
        else:
            self._idle_since = None
            self._send(size, now)

    def _send(self, size: int, start: int) -> None:
        self._free_at = start + round(size * self._nanoseconds_per_byte)
        if not self._waiting:
            self._empty_since = start


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
    transmitter = Transmitter(link.rate_bit_per_s)
    now = 0
    steps: list[Step | Settings] = []
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
            step = _ask(machine, arrival, source)
            steps.append(step)
            if step.expected.verdict != "drop":
                transmitter.join(now, size)
    return steps


def _ask(machine: Machine, arrival: Arrival, source: random.Random) -> Step:
    coins: list[float] = []

    def coin() -> Decimal:
        coins.append(round(source.random(), 6))
        return Decimal(str(coins[-1]))

    verdict, reason = machine.arrive(arrival, coin)
    figures: Mapping[str, float | None] = {
        name: None if figure is None else float(figure)
        for name, figure in machine.figures().items()
    }
    return Step(arrival, tuple(coins), Expected(verdict, reason, figures))
