"""What a study is of: everything that its outcome depends on, and so what must not change.

A study is gone on with by making the same tuning again. A budget, a deadline and a number of
threads may differ; anything else would make another study of it, and is refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from vermilion.objectives import CalledFunction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario
    from vermilion.search import Space

Kind = Literal["setting", "robust", "front"]
"""What is searched: the best setting of one scenario, or for several, or the front of two
objectives."""

_KINDS: Final[Mapping[Kind, str]] = {
    "setting": "one setting",
    "robust": "one setting for several scenarios",
    "front": "a front",
}
"""Each in the words of a message."""

_SETTINGS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "setting": (
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
    ),
    "robust": (
        "over",
        "weights",
        "search",
        "seed",
        "seeds",
        "profile",
        "shortlist",
        "race_budget",
        "fidelity",
    ),
    "front": ("search", "seed", "seeds", "profile", "points"),
}
"""Arguments of a tuning that have to be the same, beside what the other fields hold."""

_LONGEST: Final = 60
"""Characters of a value in a message."""


@dataclass(frozen=True, slots=True)
class Aim:
    """An objective in a scenario: one of several scenarios, or one objective of a front.

    The attributes are those of a :class:`StudyPlan`.
    """

    scenario: str
    title: str
    document: Mapping[str, Any]
    core: str
    objective: str
    objective_details: str
    unit: str
    maximised: bool
    constraints: Sequence[str]


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """A tuning, as far as its outcome depends on it.

    Attributes:
        scenario: its file or name; of several that of the first, like the next three.
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
        arguments: of :func:`vermilion.tuning.tune`, or of what else the kind stands for: those from
            which the tuning can be made again.
        earlier: answers that it began with: scenario, distance, setting.
        version: of Vermilion.
        random_streams: of the core.
        kind: what is searched.
        aims: the scenarios of a robust tuning, or both objectives of a front; else none.
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
    kind: Kind = "setting"
    aims: Sequence[Aim] = ()

    @property
    def is_of_python(self) -> bool:
        """Whether the objective is one that only the program that began the study has."""
        if self.kind == "front":
            given = self.arguments["objectives"]
            return given is not None and not all(isinstance(each, str) for each in given)
        return self.arguments["objective"] is not None and not isinstance(
            self.arguments["objective"], str
        )

    @property
    def scenarios(self) -> list[str]:
        """The files or names of all its scenarios."""
        return [aim.scenario for aim in self.aims] if self.kind == "robust" else [self.scenario]

    def values_kept(self, scenario: int) -> int:
        """How many values are kept with the objective of each simulation of a scenario."""
        if self.kind == "robust":
            return len(self.aims[scenario].constraints)
        return len(self.constraints) + (self.kind == "front")

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
            **{
                **data,
                "earlier": [(str(a), float(b), dict(c)) for a, b, c in data["earlier"]],
                "aims": [Aim(**aim) for aim in data["aims"]],
            }
        )
        if plan.kind not in _KINDS or (plan.kind == "setting") == bool(plan.aims):
            message = "what is searched is unknown"
            raise ValueError(message)
        for texts in (plan.parameters, plan.units, plan.constraints):
            if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
                message = "a list of texts is none"
                raise ValueError(message)
        for each in (plan.scenario, plan.title, plan.objective, plan.unit, plan.version):
            if not isinstance(each, str):
                message = "a text is none"
                raise TypeError(message)
        objective = "objectives" if plan.kind == "front" else "objective"
        expected = {*_SETTINGS[plan.kind], "place", objective, "parameters", "constraints", "boxes"}
        missing = expected - set(plan.arguments)
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
                return self._scenario_difference(other)
            if others[what] != value:
                return f"{what} is {_shown(value)} there and {_shown(others[what])} here"
        return None

    def _scenario_difference(self, other: StudyPlan) -> str:
        """The first value of the first scenario that differs."""
        if self.kind != "robust":
            return _document_difference("the scenario", self.document, other.document)
        for number, (mine, its) in enumerate(zip(self.aims, other.aims, strict=True), start=1):
            if mine.core != its.core:
                return _document_difference(f"scenario {number}", mine.document, its.document)
        return "a scenario differs"

    def _identity(self) -> Iterator[tuple[str, Any]]:
        """What must be the same, in the words of messages and in their order."""
        yield "version of Vermilion", self.version
        yield "the random streams' version", self.random_streams
        yield "what is searched", _KINDS[self.kind]
        yield "the number of scenarios", len(self.scenarios)
        yield "the list of tuned parameters", list(self.parameters)
        yield "the objective", self.objective
        yield "the objective's table", self.objective_details
        yield "the list of constraints", list(self.constraints)
        yield "scenario", [aim.core for aim in self.aims] or self.core
        yield "the list of objectives", [aim.objective for aim in self.aims]
        yield "the objectives' tables", [aim.objective_details for aim in self.aims]
        yield "the lists of constraints", [list(aim.constraints) for aim in self.aims]
        yield "the box", _plain(self.space)
        for name in _SETTINGS[self.kind]:
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
    return _plan(
        "setting",
        scenario,
        space,
        aim_of(scenario, objective, constraints),
        arguments,
        earlier=earlier,
    )


def robust_plan_of(
    scenarios: Sequence[Scenario], space: Space, aims: Sequence[Aim], arguments: Mapping[str, Any]
) -> StudyPlan:
    """The plan of a tuning for several scenarios, each with its aim."""
    together = "worst" if arguments["over"] == "worst" else "weighted mean"
    first = replace(
        aims[0],
        objective=f"{together} of {len(aims)} scenarios (relative to now)",
        objective_details="",
        unit="",
        maximised=False,
        constraints=list(dict.fromkeys(text for aim in aims for text in aim.constraints)),
    )
    return _plan("robust", scenarios[0], space, first, arguments, aims=aims)


def front_plan_of(
    scenario: Scenario, space: Space, aims: Sequence[Aim], arguments: Mapping[str, Any]
) -> StudyPlan:
    """The plan of a search for a front, each objective with its aim."""
    first = replace(aims[0], objective=" against ".join(aim.objective for aim in aims))
    return _plan("front", scenario, space, first, arguments, aims=aims)


def aim_of(scenario: Scenario, objective: Objective, constraints: Sequence[Constraint]) -> Aim:
    """An objective in a scenario."""
    of_python = isinstance(objective, CalledFunction)
    return Aim(
        scenario=scenario.origin,
        title=scenario.title,
        document=dict(scenario.document),
        core=hashlib.sha256(scenario.core_json().encode()).hexdigest(),
        objective=objective.label,
        # A function's text would hold its address.
        objective_details=objective.label if of_python else repr(objective),
        unit=objective.unit,
        maximised=objective.maximised,
        constraints=[constraint.text for constraint in constraints],
    )


def _plan(
    kind: Kind,
    scenario: Scenario,
    space: Space,
    first: Aim,
    arguments: Mapping[str, Any],
    *,
    aims: Sequence[Aim] = (),
    earlier: Iterable[tuple[str, float, Mapping[str, float]]] = (),
) -> StudyPlan:
    from vermilion import _core

    return StudyPlan(
        **{each.name: getattr(first, each.name) for each in fields(first)},
        parameters=list(space.names),
        units=[scenario.parameter(path).unit for path in space.names],
        space=[asdict(dimension) for dimension in space.dimensions],
        arguments=_plain(arguments),
        earlier=list(earlier),
        version=_core.VERSION,
        random_streams=_core.RANDOM_STREAMS,
        kind=kind,
        aims=aims,
    )


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The same as JSON gives it back: lists for tuples."""
    return json.loads(json.dumps(value))


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _document_difference(what: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The first value of two scenarios that differs."""
    mine, others = dict(_leaves(there, "")), dict(_leaves(here, ""))
    for path in (*mine, *others):
        if mine.get(path) != others.get(path):
            known = [
                _shown(values[path]) if path in values else "not set" for values in (mine, others)
            ]
            return f"{what} differs: {path} is {known[0]} there and {known[1]} here"
    return f"{what} differs in a file that it names"


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _leaves(entry, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            yield from _leaves(entry, f"{path}.{index}")
    else:
        yield path, value
