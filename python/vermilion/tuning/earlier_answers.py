"""Earlier answers: where to begin the next search.

Conditions come back (every evening, after every failover, in the next scenario of a study). The
setting that was best for the most similar conditions so far is a better first guess than any
random one; the search tries it, and the setting in force, before anything else.

Conditions and their distance are the caller's: here are those of a scenario, in
``vermilion.online`` those of a live network. For each tuned link of a scenario they are its rate,
the flows that cross it, their mean base round trip, their mean packet size, and the share of them
that understand marks. Flows count by the part of the measured time in which they are there, so that
a scenario with phases has the mean of its conditions.

The distance of two conditions is, on the mean over the tuned links, |ln(rate / rate')| +
|ln(flows / flows')| + |ln(round trip / round trip')| + |ln(packet / packet')| + |difference of the
shares of ECN|, and |ln(target / target')| where the objective has one: 0.69 for twice the flows. It
is infinite where an answer would not fit: for other parameters, disciplines or objectives.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Mapping  # noqa: TC003 - pydantic reads it
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from vermilion.files.document import read_as
from vermilion.files.file_lock import give_back, take
from vermilion.files.whole_file import whole_file

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from vermilion.objectives import Objective
    from vermilion.scenario import Scenario
    from vermilion.scenario.core_scenario import CoreScenario

Conditions = TypeVar("Conditions")


@dataclass(frozen=True, slots=True)
class EarlierAnswer(Generic[Conditions]):
    """A setting that was found for conditions.

    Attributes:
        conditions: what it was found for.
        setting: values of the tuned parameters.
        source: where it comes from, such as the scenario's name.
    """

    conditions: Conditions
    setting: Mapping[str, float]
    source: str = ""


def nearest_answers(
    answers: Iterable[EarlierAnswer[Conditions]], distance: Callable[[Conditions], float], most: int
) -> list[tuple[float, EarlierAnswer[Conditions]]]:
    """The answers for the most similar conditions, the most similar first.

    Args:
        answers: the oldest first.
        distance: of an answer's conditions from those asked about; infinite where its setting
            would not fit.
        most: how many at most; all their settings differ, the newest of equally similar ones
            coming first.
    """
    newest_first = list(answers)[::-1]
    ranked = sorted(
        ((distance(answer.conditions), answer) for answer in newest_first),
        key=lambda entry: entry[0],
    )
    found: list[tuple[float, EarlierAnswer[Conditions]]] = []
    for apart, answer in ranked:
        if len(found) == most or math.isinf(apart):
            break
        if all(dict(answer.setting) != dict(other.setting) for _, other in found):
            found.append((apart, answer))
    return found


def times_apart(one: float, other: float) -> float:
    """Logarithmic distance of two positive quantities: 0 for equal ones, ln 2 for twice as much."""
    return abs(math.log(one / other))


@dataclass(frozen=True, slots=True)
class LinkConditions:
    """Load of one link.

    Attributes:
        rate_bit_per_s: of the link; its nominal one where it varies.
        flows: that cross it, on average over the measured time.
        round_trip_s: their mean base round trip; 0 if there is none.
        packet_bytes: their mean packet size.
        ecn_share: of the flows that understand marks, 0 to 1.
    """

    rate_bit_per_s: float
    flows: float
    round_trip_s: float
    packet_bytes: float
    ecn_share: float


@dataclass(frozen=True, slots=True)
class ScenarioConditions:
    """Operating conditions of a scenario's tuned queues.

    Attributes:
        parameters: that are tuned, by path, in order.
        disciplines: of the tuned links, by name.
        objective: its label.
        target: of the objective, ``None`` where it has none.
        links: the tuned links' conditions, by name; all links where no link is tuned.
    """

    parameters: tuple[str, ...]
    disciplines: Mapping[str, str]
    objective: str
    target: float | None
    links: Mapping[str, LinkConditions]

    def __post_init__(self) -> None:
        for name, link in self.links.items():
            if not all(map(math.isfinite, astuple(link))) or link.rate_bit_per_s <= 0.0:
                message = f"conditions of link {name} are not numbers that a link can have"
                raise ValueError(message)


def conditions_of(
    scenario: Scenario, parameters: Sequence[str], objective: Objective
) -> ScenarioConditions:
    """The conditions of a tuning.

    Args:
        scenario: that is tuned.
        parameters: paths of what is tuned.
        objective: what for.
    """
    tuned = dict.fromkeys(path.split(".")[1] for path in parameters if path.startswith("links."))
    core = scenario.core()
    names = list(tuned) or list(scenario.links)
    target = getattr(objective, "target", None)
    return ScenarioConditions(
        parameters=tuple(parameters),
        disciplines={name: scenario.links[name].queue.discipline for name in names},
        objective=objective.label,
        target=None if target is None else float(target),
        links={name: _link(core, name) for name in names},
    )


def distance(one: ScenarioConditions, other: ScenarioConditions) -> float:
    """Distance of two conditions: see the head of this module."""
    same = (
        one.parameters == other.parameters
        and dict(one.disciplines) == dict(other.disciplines)
        and one.objective == other.objective
        and one.links.keys() == other.links.keys()
        and (one.target is None) == (other.target is None)
    )
    if not same or not one.links:
        return math.inf
    apart = [_log_distance(one.links[name], other.links[name]) for name in one.links]
    total = math.fsum(apart) / len(apart)
    if one.target and other.target:
        total += times_apart(one.target, other.target)
    return total


def _log_distance(one: LinkConditions, other: LinkConditions) -> float:
    pairs = (
        (one.rate_bit_per_s, other.rate_bit_per_s),
        (max(one.flows, 1.0), max(other.flows, 1.0)),
        (one.round_trip_s, other.round_trip_s),
        (one.packet_bytes, other.packet_bytes),
    )
    # A link that nothing crosses has no round trip and no packets to compare.
    logarithms = [times_apart(*pair) for pair in pairs if min(pair) > 0.0]
    return math.fsum(logarithms) + abs(one.ecn_share - other.ecn_share)


def _link(core: CoreScenario, name: str) -> LinkConditions:
    flows, packets, marked = 0.0, 0.0, 0.0
    for group, count in core.flows_across(name):
        flows += count
        packets += count * group.packet_size_bytes
        marked += count * group.understands_marks
    rate = float(core.link(name).rate_bit_per_s)
    trip = core.mean_round_trip(name)
    if trip is None:
        return LinkConditions(rate, 0.0, 0.0, 0.0, 0.0)
    return LinkConditions(rate, flows, trip, packets / flows, marked / flows)


MOST_ANSWERS: Final = 1000
"""Kept in a file; the oldest are forgotten first."""

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class _Answers:
    """Contents of a file."""

    version: int
    answers: list[EarlierAnswer[ScenarioConditions]]


class AnswerFileError(ValueError):
    """A file that holds no answers; the message says which and what was expected."""


class AnswerFile:
    """Earlier answers to scenarios.

    Args:
        path: of the file; it need not exist yet.

    Raises:
        AnswerFileError: it cannot be read, or holds something else.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.answers = _read(self.path)

    def nearest(
        self, conditions: ScenarioConditions, most: int = 3
    ) -> list[tuple[float, EarlierAnswer[ScenarioConditions]]]:
        """The answers for the most similar conditions, each after its distance."""
        return nearest_answers(self.answers, lambda other: distance(conditions, other), most)

    def add(self, answer: EarlierAnswer[ScenarioConditions]) -> None:
        """Adds an answer to what the file has by now, and writes it again in one piece.

        A tuning takes minutes, and others may have added theirs since the file was read. Two that
        end together wait for each other.

        Raises:
            AnswerFileError: the file holds something else by now.
            OSError: it cannot be written.
        """
        target = self.path.resolve()
        lock = target.with_name(f".{target.name}-lock")
        held = take(lock, waits=True)
        try:
            self.answers = _read(self.path)
            self.answers.append(answer)
            self._write()
        finally:
            give_back(lock, held)

    def _write(self) -> None:
        document = {
            "version": _VERSION,
            "answers": [asdict(each) for each in self.answers],
        }
        with whole_file(self.path) as file:
            file.write(f"{json.dumps(document, indent=1, allow_nan=False)}\n")


def _read(path: Path) -> deque[EarlierAnswer[ScenarioConditions]]:
    """The answers of a file, which need not exist yet.

    Raises:
        AnswerFileError: it cannot be read, or holds something else.
    """
    expected = "a file of an earlier tuning, or a new name"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not path.parent.is_dir():
            message = f'"{path}" cannot be written (no such directory); expected {expected}'
            raise AnswerFileError(message) from None
        return deque(maxlen=MOST_ANSWERS)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a text"
        message = f'"{path}" cannot be read ({reason}); expected {expected}'
        raise AnswerFileError(message) from None
    try:
        document = read_as(_Answers, text)
        if document.version != _VERSION or not all(map(_fits, document.answers)):
            raise ValueError  # noqa: TRY301 - one message for all that is wrong
    except (ValueError, RecursionError):
        message = f'"{path}" is not accepted; expected {expected}'
        raise AnswerFileError(message) from None
    return deque(document.answers, MOST_ANSWERS)


def _fits(answer: EarlierAnswer[ScenarioConditions]) -> bool:
    """True if a setting has numbers for the parameters of its conditions."""
    numbers = all(map(math.isfinite, answer.setting.values()))
    return numbers and set(answer.setting) == set(answer.conditions.parameters)
