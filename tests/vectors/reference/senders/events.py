"""What a file of a sender's test vectors is made of, and a small connection that makes events."""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from decimal import Decimal, getcontext
from typing import ClassVar, Protocol

from rows import as_rows, row_lines

getcontext().prec = 50

MARGIN = Decimal("1e-9")
Parameters = Mapping[str, float | bool | str | None]


class TooCloseError(ValueError):
    """Two numbers that double precision might not tell apart."""

    def __init__(self, left: Decimal, right: Decimal) -> None:
        super().__init__(f"{left} and {right}")


def below(left: Decimal, right: Decimal) -> bool:
    """Whether `left` is less than `right`; refuses to say where rounding could turn the answer.

    Equal numbers are let through: in these rules they come from the same assignment.
    """
    if left != right and abs(left - right) <= MARGIN * max(abs(left), abs(right)):
        raise TooCloseError(left, right)
    return left < right


@dataclass
class Window:
    """Windows in segments."""

    congestion: Decimal
    slow_start_threshold: Decimal
    cap: Decimal


@dataclass(frozen=True)
class Acknowledgement:
    """An acknowledgement; times in nanoseconds. `None`: not timed."""

    now_ns: int
    delivered: int
    counted: int
    marked: int
    round_trip_ns: int | None
    smoothed_ns: int | None
    unacknowledged: int
    highest: int
    in_recovery: bool = False
    forward_delay_ns: int | None = None


@dataclass(frozen=True)
class Sign:
    """A sign of congestion: `loss`, `mark` or `timeout`, for `base` segments."""

    now_ns: int
    sign: str
    base: float


Event = Acknowledgement | Sign


class Machine(Protocol):
    """A reference of a window rule."""

    OWN: ClassVar[Parameters]

    def __init__(self, parameters: Parameters) -> None: ...

    def acknowledge(self, event: Acknowledgement, window: Window) -> None:
        """Grows the window."""

    def reduce(self, event: Sign, window: Window) -> Decimal:
        """What the sign leaves of the window."""


@dataclass(frozen=True)
class Step:
    """An event and what is in force after it."""

    event: Event
    window: float
    slow_start_threshold: float


@dataclass(frozen=True)
class Case:
    """A fresh connection and its windows, step by step."""

    name: str
    about: str
    parameters: Parameters
    start: tuple[float, float, float]
    steps: Sequence[Step]
    by_hand: bool


def apply(machine: Machine, event: Event, window: Window) -> None:
    """One event, and what the sender makes of the rule's answer."""
    if isinstance(event, Acknowledgement):
        machine.acknowledge(event, window)
        return
    reduced = machine.reduce(event, window)
    window.slow_start_threshold = max(Decimal(int(reduced)), Decimal(2))
    window.congestion = Decimal(1) if event.sign == "timeout" else max(reduced, Decimal(1))


def opened(start: tuple[float, float, float]) -> Window:
    """The windows at the beginning: congestion window, slow start threshold, cap."""
    return Window(*(Decimal(str(number)) for number in start))


class WrongError(AssertionError):
    """The reference does not give what was worked out by hand."""

    def __init__(self, case: str, step: int, got: Decimal, expected: float) -> None:
        super().__init__(f"{case}, step {step}: {got} instead of {expected}")


def by_hand(machine: type[Machine], case: Case) -> Case:
    """The case, after the reference has been held against it."""
    running, window = machine({**machine.OWN, **case.parameters}), opened(case.start)
    for number, step in enumerate(case.steps, 1):
        apply(running, step.event, window)
        for got, expected in (
            (window.congestion, step.window),
            (window.slow_start_threshold, step.slow_start_threshold),
        ):
            if abs(got - Decimal(expected)) > MARGIN * abs(got):
                raise WrongError(case.name, number, got, expected)
    return case


@dataclass(frozen=True)
class Path:
    """What a recorded connection meets; probabilities for each acknowledgement."""

    round_trip_us: int
    jitter_us: int
    segments: tuple[int, ...] = (1,)
    mark: float = 0.0
    loss: float = 0.0
    timeout: float = 0.0
    recovery: int = 0
    queue_us: float = 0.0
    byte_counting: bool = False
    forward_us: int = 0


def recorded(
    machine: type[Machine],
    name: str,
    about: str,
    parameters: Parameters,
    start: tuple[float, float, float],
    path: Path,
    length: int,
) -> Case:
    """A connection over `path` for `length` events, answered by the reference.

    The round trip is the path's, plus `queue_us` for each segment of the window. With `forward_us`
    acknowledgements tell a one-way delay: that, the queue, the jitter, and a clock set differently.
    """
    dice = random.Random(name)
    running, window = machine({**machine.OWN, **parameters}), opened(start)
    now, unacknowledged = 0, 1
    highest = unacknowledged + int(window.congestion)
    smoothed: int | None = None
    recovering = 0
    steps = []
    for number in range(length):
        usable = int(min(window.congestion, window.cap))
        base = 1000 * (path.round_trip_us + int(path.queue_us * usable))
        delivered = min(dice.choice(path.segments), highest - unacknowledged)
        now += 1000 * (delivered * base // 1000 // max(usable, 1))
        roll = dice.random()
        event: Event
        if roll < path.loss + path.timeout and number > 0 and recovering == 0:
            sign = "loss" if roll < path.loss else "timeout"
            event = Sign(now, sign, float(min(window.congestion, window.cap)))
            recovering = path.recovery if sign == "loss" else 0
        else:
            unacknowledged += delivered
            round_trip = base + 1000 * dice.randint(0, path.jitter_us)
            smoothed = round_trip if smoothed is None else (7 * smoothed + round_trip) // 8
            event = Acknowledgement(
                now,
                delivered,
                delivered if path.byte_counting else 1,
                sum(dice.random() < path.mark for _ in range(delivered)),
                round_trip,
                smoothed,
                unacknowledged,
                highest,
                recovering > 0,
                _forward_delay(path, round_trip) if path.forward_us else None,
            )
            recovering = max(recovering - 1, 0)
        apply(running, event, window)
        steps.append(Step(event, float(window.congestion), float(window.slow_start_threshold)))
        usable = int(min(window.congestion, window.cap))
        highest = max(highest, unacknowledged + max(usable, 1))
    return Case(name, about, parameters, start, steps, by_hand=False)


def _forward_delay(path: Path, round_trip_ns: int) -> int:
    others_clock_ns = 3_600_000_000_000
    back_us = path.round_trip_us - path.forward_us
    return others_clock_ns + round_trip_ns - 1000 * back_us


def text(sender: str, source: str, machine: type[Machine], cases: Iterable[Case]) -> str:
    """Return the file as it is stored: a line for each step by hand, rows for the others."""
    head = {"format": 2, "sender": sender, "source": source, "own": dict(machine.OWN)}
    lines = ["{", *(f"{_json(key)}: {_json(value)}," for key, value in head.items()), '"cases": [']
    written = []
    for case in cases:
        about = {
            "name": case.name,
            "origin": "by hand" if case.by_hand else "reference",
            "about": case.about,
            "parameters": dict(case.parameters),
            "window": case.start[0],
            "slow_start_threshold": case.start[1],
            "window_cap": case.start[2],
        }
        steps = [_step(step) for step in case.steps]
        if case.by_hand:
            lists = '"steps": [\n' + ",\n".join(map(_json, steps)) + "\n]"
        else:
            kinds, rows = as_rows(steps)
            lists = f'"kinds": {_json(kinds)},\n"rows": [\n{row_lines(rows)}\n]'
        written.append(f"{_json(about)[:-1]},\n{lists}}}")
    return "\n".join([*lines, ",\n".join(written), "]", "}"]) + "\n"


def _step(step: Step) -> dict[str, object]:
    kind = "acknowledgement" if isinstance(step.event, Acknowledgement) else "congestion"
    expected = {"window": step.window, "slow_start_threshold": step.slow_start_threshold}
    defaults = {field.name: field.default for field in fields(step.event)}
    event = {key: value for key, value in asdict(step.event).items() if value is not defaults[key]}
    return {kind: event, "expected": expected}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
