"""Cases whose answers were worked out with pencil and paper: how they are written and checked.

Every case by hand is replayed through the reference of its discipline. The two were derived
separately from the same rules, so a slip in either is found before a vector is written.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

from exact import Comparison
from vector_file import (
    Arrival,
    Case,
    Departure,
    Expected,
    Figure,
    Machine,
    Settings,
    Step,
    WatchesDepartures,
    Within,
)

TOLERANCE = Decimal("1e-9")
FLOOR = Decimal("1e-12")


class DisagreementError(ValueError):
    """A case by hand and the reference do not answer alike."""

    def __init__(self, case: Case, step_number: int, answer: object) -> None:
        super().__init__(f"{case.name}, step {step_number}: the reference gives {answer}")


def step(
    queue: int,
    verdict: str = "accept",
    *,
    coins: Sequence[float] = (),
    time_ns: int = 0,
    size: int = 1000,
    ecn: bool = False,
    queue_bytes: int | None = None,
    empty_since_ns: int | None = None,
    idle_since_ns: int | None = None,
    times: int = 1,
    average: Figure = None,
    probability: Figure = None,
    max_probability: Figure = None,
) -> Step:
    """A packet that meets `queue` waiting packets.

    "drop early" is a verdict and its reason, "make-room 0 overflow" a verdict, its place and its
    reason.

    Where nothing else is said the waiting packets have 1000 bytes each, the link is busy and the
    queue, if empty, has only just become so. A figure that is not given is not stated.
    """
    given = {
        "average_queue_packets": average,
        "drop_probability": probability,
        "max_probability": max_probability,
    }
    word, reason = _words(verdict)
    arrival = Arrival(
        time_ns=time_ns,
        size_bytes=size,
        ecn_capable=ecn,
        queue_packets=queue,
        queue_bytes=1000 * queue if queue_bytes is None else queue_bytes,
        empty_since_ns=time_ns if empty_since_ns is None else empty_since_ns,
        idle_since_ns=idle_since_ns,
    )
    figures = {name: figure for name, figure in given.items() if figure is not None}
    return Step(arrival, tuple(coins), Expected(word, reason, figures), times)


def leave(
    behind: int,
    verdict: str = "accept",
    *,
    time_ns: int,
    sojourn_ns: int,
    coins: Sequence[float] = (),
    size: int = 1000,
    ecn: bool = False,
    queue_bytes: int | None = None,
    times: int = 1,
    average: Figure = None,
    probability: Figure = None,
) -> Step:
    """A packet whose turn it is after `sojourn_ns`, with `behind` packets waiting behind it.

    They have 1000 bytes each unless `queue_bytes` says otherwise.
    """
    given = {"average_queue_packets": average, "drop_probability": probability}
    word, reason = _words(verdict)
    departure = Departure(
        time_ns=time_ns,
        size_bytes=size,
        ecn_capable=ecn,
        arrived_ns=time_ns - sojourn_ns,
        queue_packets=behind,
        queue_bytes=1000 * behind if queue_bytes is None else queue_bytes,
    )
    figures = {name: figure for name, figure in given.items() if figure is not None}
    return Step(departure, tuple(coins), Expected(word, reason, figures), times)


def _words(verdict: str) -> tuple[str, str | None]:
    """A verdict, with its place if it has one, and its reason."""
    word, _, reason = verdict.rpartition(" ")
    return (word, reason) if word else (reason, None)


def without_figures(steps: Sequence[Step | Settings]) -> list[Step | Settings]:
    """The same steps, each stating that the discipline has no average and no probability."""
    none: dict[str, Figure] = {"average_queue_packets": None, "drop_probability": None}
    return [
        stage
        if isinstance(stage, Settings)
        else replace(stage, expected=replace(stage.expected, figures=none))
        for stage in steps
    ]


class NotWatchingError(TypeError):
    """A departure for a discipline that does not watch them."""


def answer(
    machine: Machine, event: Arrival | Departure, coin: Callable[[], Decimal]
) -> tuple[str, str | None]:
    """What a reference says to an arrival or a departure."""
    if isinstance(event, Arrival):
        return machine.arrive(event, coin)
    if not isinstance(machine, WatchesDepartures):
        raise NotWatchingError
    return machine.depart(event, coin)


def verify(case: Case, kind: type[Machine]) -> Case:
    """The case, if the reference answers as the hand did."""
    comparison = Comparison(ties=case.ties)
    machine = kind({**kind.DEFAULTS, **case.parameters}, case.link, comparison)
    for number, stage in enumerate(case.steps, start=1):
        if isinstance(stage, Settings):
            machine.reconfigure({**kind.DEFAULTS, **stage.parameters}, stage.link)
            continue
        for _ in range(stage.times):
            coins = [Decimal(str(coin)) for coin in reversed(stage.coins)]
            given = answer(machine, stage.event, coins.pop)
            if given != (stage.expected.verdict, stage.expected.reason) or coins:
                raise DisagreementError(case, number, given)
        figures = machine.figures()
        for name, figure in stage.expected.figures.items():
            if not _agree(figure, figures[name]):
                raise DisagreementError(case, number, f"{name} {figures[name]}")
    return case


def _agree(by_hand: Figure, reference: Decimal | None) -> bool:
    if by_hand is None or reference is None:
        return by_hand is None and reference is None
    if isinstance(by_hand, Within):
        return abs(reference - Decimal(str(by_hand.value))) <= Decimal(str(by_hand.within))
    return abs(reference - Decimal(by_hand)) <= TOLERANCE * abs(Decimal(by_hand)) + FLOOR
