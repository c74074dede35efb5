"""What a file of test vectors is made of; the README beside `reference/` describes the format."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import ClassVar, Protocol, runtime_checkable

from exact import Comparison
from rows import as_rows, row_lines

Parameters = Mapping[str, float | bool | str | None]


@dataclass(frozen=True)
class Link:
    """The link behind the queue: rate in bit/s, propagation delay in seconds."""

    rate_bit_per_s: float
    delay_s: float

    @property
    def rate(self) -> Decimal:
        return Decimal(str(self.rate_bit_per_s))

    @property
    def delay(self) -> Decimal:
        return Decimal(str(self.delay_s))

    def packets_per_second(self, size: Decimal) -> Decimal:
        return self.rate / (8 * size)


@dataclass(frozen=True)
class Arrival:
    """A packet, and the queue it meets; times in nanoseconds, sizes in bytes."""

    time_ns: int
    size_bytes: int
    ecn_capable: bool
    queue_packets: int
    queue_bytes: int
    empty_since_ns: int
    idle_since_ns: int | None
    ecn: str | None = None
    flow: int = 0
    colour: str = "green"


@dataclass(frozen=True)
class Departure:
    """A packet whose turn it is to leave, and the queue that stays behind it."""

    time_ns: int
    size_bytes: int
    ecn_capable: bool
    arrived_ns: int
    queue_packets: int
    queue_bytes: int
    ecn: str | None = None
    flow: int = 0
    colour: str = "green"


@dataclass(frozen=True)
class Within:
    """A number quoted with few digits: what is expected lies at most `within` away from it."""

    value: float
    within: float


Figure = float | Within | None


@dataclass(frozen=True)
class Expected:
    """A verdict and the discipline's own figures after it; a figure not stated is absent.

    "make-room 3" is a verdict: the packet at place 3 has to go.
    """

    verdict: str
    reason: str | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One event (several in a row, all alike, if `times` > 1; figures hold after the last)."""

    event: Arrival | Departure
    coins: tuple[float, ...]
    expected: Expected
    times: int = 1


@dataclass(frozen=True)
class Settings:
    """A step at which the settings in force and the link are replaced."""

    parameters: Parameters
    link: Link


@dataclass(frozen=True)
class Case:
    """A fresh discipline and what it answers, step by step."""

    name: str
    about: str
    parameters: Parameters
    link: Link
    steps: Sequence["Step | Settings | Written"]
    by_hand: bool
    # Numbers meet thresholds exactly, on purpose, and are exact in binary.
    ties: bool = False


class Written(Protocol):
    """A step of another kind, which knows how it is written."""

    def written(self) -> dict[str, object]:
        """The step as it stands in a file."""


class SameNameError(ValueError):
    """Two cases of one discipline have one name."""


class HasDefaults(Protocol):
    """A reference discipline of any kind."""

    DEFAULTS: ClassVar[Parameters]


class Machine(HasDefaults, Protocol):
    """A reference discipline that advises a queue."""

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None: ...

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        """Takes new settings and keeps its state."""

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        """The verdict and, if a packet is dropped, the reason.

        After "make-room" and a place the same packet arrives again.
        """

    def figures(self) -> dict[str, Decimal | None]:
        """What the discipline publishes of itself; None for what it has not."""


@runtime_checkable
class WatchesDepartures(Protocol):
    """What a reference discipline that is also asked about departures has besides."""

    def depart(self, departure: Departure, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        """The verdict over a packet whose turn it is and, for a drop, its reason."""


@dataclass(frozen=True)
class VectorFile:
    """All cases of one discipline."""

    discipline: str
    source: str
    machine: type["HasDefaults"]
    cases: Sequence[Case]

    def text(self) -> str:
        """Return the file as it is stored: a line for each step by hand, rows for the others."""
        names = [case.name for case in self.cases]
        if len(set(names)) != len(names):
            raise SameNameError(self.discipline)
        head = {
            "format": 2,
            "discipline": self.discipline,
            "source": self.source,
            "defaults": dict(self.machine.DEFAULTS),
        }
        lines = ["{"]
        lines += [f"{_json(key)}: {_json(value)}," for key, value in head.items()]
        lines.append('"cases": [')
        for case in self.cases:
            lines += _case_lines(case)
            lines.append("]}" if case is self.cases[-1] else "]},")
        lines += ["]", "}"]
        return "\n".join(lines) + "\n"


def _case_lines(case: Case) -> list[str]:
    head = {
        "name": case.name,
        "origin": "by hand" if case.by_hand else "reference",
        "about": case.about,
        "parameters": dict(case.parameters),
        "link": _link(case.link),
    }
    lines = ["{" + ", ".join(f"{_json(key)}: {_json(value)}" for key, value in head.items()) + ","]
    if not case.by_hand:
        kinds, rows = as_rows([_step(step) for step in case.steps])
        return [*lines, f'"kinds": {_json(kinds)},', '"rows": [', row_lines(rows)]
    lines.append('"steps": [')
    steps = [_json(_step(step)) for step in case.steps]
    return lines + [f"{step}," for step in steps[:-1]] + steps[-1:]


def _step(step: Step | Settings | Written) -> dict[str, object]:
    if isinstance(step, Settings):
        return {"parameters": dict(step.parameters), "link": _link(step.link)}
    if not isinstance(step, Step):
        return step.written()
    event = step.event
    verdict, _, place = step.expected.verdict.partition(" ")
    expected: dict[str, object] = {"verdict": verdict}
    if place:
        expected["place"] = int(place)
    if step.expected.reason is not None:
        expected["reason"] = step.expected.reason
    for name, figure in step.expected.figures.items():
        if isinstance(figure, Within):
            expected[name] = {"value": figure.value, "within": figure.within}
        else:
            expected[name] = None if figure is None else float(figure)
    written: dict[str, object] = {} if step.times == 1 else {"times": step.times}
    label = {"ecn": None, "flow": 0, "colour": "green"}
    given = {key: value for key, value in asdict(event).items() if label.get(key, ...) != value}
    return written | given | {"coins": list(step.coins), "expected": expected}


def _link(link: Link) -> dict[str, float]:
    return {"rate_bit_per_s": link.rate_bit_per_s, "delay_s": link.delay_s}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
