"""What a study is of: everything that its outcome depends on, and so what must not change.

A study is gone on with by making the same tuning again. A budget, a deadline and a number of
threads may differ; anything else would make another study of it, and is refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion.objectives import CalledFunction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario
    from vermilion.search import Space

_SETTINGS: Final = (
    "search",
    "search_settings",
    "seed",
    "seeds",
    "profile",
    "warm_starts",
    "shortlist",
    "race_budget",
    "fidelity",
    "required_improvement",
)
"""Arguments of a tuning that have to be the same, beside what the other fields hold."""

_LONGEST: Final = 60
"""Characters of a value in a message."""


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """A tuning, as far as its outcome depends on it.

    Attributes:
        scenario: its file or name.
        title: of the scenario.
        document: of the scenario, overrides included.
        core: a digest of the scenario as the core reads it, traces included.
        parameters: paths that are tuned.
        units: of these.
        space: the box: each dimension's fields.
        objective: what a report calls it.
        objective_details: all of it, as text.
        unit: of the objective, "" for a plain number.
        maximised: whether high values are wanted.
        constraints: as written.
        arguments: of :func:`vermilion.tuning.tune`, those from which the tuning can be made again.
        earlier: answers that it began with: scenario, distance, setting.
        version: of Vermilion.
        random_streams: of the core.
    """

    scenario: str
    title: str
    document: Mapping[str, Any]
    core: str
    parameters: Sequence[str]
    units: Sequence[str]
    space: Sequence[Mapping[str, Any]]
    objective: str
    objective_details: str
    unit: str
    maximised: bool
    constraints: Sequence[str]
    arguments: Mapping[str, Any]
    earlier: Sequence[tuple[str, float, Mapping[str, float]]]
    version: str
    random_streams: str

    @property
    def is_of_python(self) -> bool:
        """Whether the objective is one that only the program that began the study has."""
        return self.arguments["objective"] is not None and not isinstance(
            self.arguments["objective"], str
        )

    def to_json(self) -> str:
        """As text, for a file."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> StudyPlan:
        """The plan whose :meth:`to_json` this was.

        Raises:
            ValueError: it is none; also KeyError or TypeError.
        """
        data = json.loads(text)
        plan = cls(
            **{**data, "earlier": [(str(a), float(b), dict(c)) for a, b, c in data["earlier"]]}
        )
        for texts in (plan.parameters, plan.units, plan.constraints):
            if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
                message = "a list of texts is none"
                raise ValueError(message)
        for each in (plan.scenario, plan.title, plan.objective, plan.unit, plan.version):
            if not isinstance(each, str):
                message = "a text is none"
                raise TypeError(message)
        missing = {*_SETTINGS, "place", "objective", "parameters", "constraints", "boxes"} - set(
            plan.arguments
        )
        if missing or not isinstance(plan.document, dict):
            raise KeyError(*missing)
        return plan

    def difference(self, other: StudyPlan) -> str | None:
        """In which way another tuning is another one; ``None`` if it is the same."""
        mine, others = dict(self._identity()), dict(other._identity())
        if mine == others:
            return None
        for what, value in mine.items():
            if others[what] != value and what == "scenario":
                return _document_difference(self.document, other.document)
            if others[what] != value:
                return f"{what} is {_shown(value)} there and {_shown(others[what])} here"
        return None

    def _identity(self) -> Iterator[tuple[str, Any]]:
        """What must be the same, in the words of messages and in their order."""
        yield "version of Vermilion", self.version
        yield "the random streams' version", self.random_streams
        yield "the list of tuned parameters", list(self.parameters)
        yield "the objective", self.objective
        yield "the objective's table", self.objective_details
        yield "the list of constraints", list(self.constraints)
        yield "scenario", self.core
        yield "the box", _plain(self.space)
        for name in _SETTINGS:
            yield name.replace("_", " "), _plain(self.arguments[name])


def plan_of(
    scenario: Scenario,
    space: Space,
    objective: Objective,
    constraints: Sequence[Constraint],
    *,
    arguments: Mapping[str, Any],
    earlier: Iterable[tuple[str, float, Mapping[str, float]]],
) -> StudyPlan:
    """The plan of a tuning, from what it has been given and what that means."""
    from vermilion import _core

    of_python = isinstance(objective, CalledFunction)
    return StudyPlan(
        scenario=scenario.origin,
        title=scenario.title,
        document=dict(scenario.document),
        core=hashlib.sha256(scenario.core_json().encode()).hexdigest(),
        parameters=list(space.names),
        units=[scenario.parameter(path).unit for path in space.names],
        space=[asdict(dimension) for dimension in space.dimensions],
        objective=objective.label,
        # A function's text would hold its address.
        objective_details=objective.label if of_python else repr(objective),
        unit=objective.unit,
        maximised=objective.maximised,
        constraints=[constraint.text for constraint in constraints],
        arguments=_plain(arguments),
        earlier=list(earlier),
        version=_core.VERSION,
        random_streams=_core.RANDOM_STREAMS,
    )


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The same as JSON gives it back: lists for tuples."""
    return json.loads(json.dumps(value))


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _document_difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The first value of two scenarios that differs."""
    mine, others = dict(_leaves(there, "")), dict(_leaves(here, ""))
    for path in (*mine, *others):
        if mine.get(path) != others.get(path):
            known = [
                _shown(values[path]) if path in values else "not set" for values in (mine, others)
            ]
            return f"the scenario differs: {path} is {known[0]} there and {known[1]} here"
    return "the scenario differs in a file that it names"


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _leaves(entry, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            yield from _leaves(entry, f"{path}.{index}")
    else:
        yield path, value
