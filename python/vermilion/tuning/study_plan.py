"""Plan of a study: everything that its outcome depends on, and so what must not change.

A study is gone on with by executing the same plan again, which is in its file. A budget, a deadline
and a number of threads may differ; anything else would make another study of it, and is refused.
Beside the plan is what it meant in its scenarios when the study was begun, so that a list of
studies need not read any scenario, and a difference can be named.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence  # noqa: TC003 - pydantic reads them
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from vermilion.files.document import read_as
from vermilion.objectives import CalledFunction
from vermilion.tuning.evaluation import Seeds  # noqa: TC001 - pydantic reads it
from vermilion.tuning.plan import KINDS, Kind, TuningPlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion.objectives import Constraint, Objective
    from vermilion.tuning.preparation import Case, PreparedTuning

_KINDS: Final[Mapping[Kind, str]] = {
    "setting": "one setting",
    "robust": "one setting for several scenarios",
    "front": "a front",
}
"""Each in the words of a message."""

_SETTINGS: Final = (
    "over",
    "weights",
    "search_settings",
    "exactly",
    "seed",
    "seeds",
    "profile",
    "warm_starts",
    "shortlist",
    "race_budget",
    "fidelity",
    "required_improvement",
    "rivals",
    "points",
)
"""What of a plan has to be the same beside what the other fields hold."""

_LONGEST: Final = 60
"""Characters of a value in a message."""


@dataclass(frozen=True, slots=True)
class Aim:
    """Objective and constraints in one of several scenarios, or one objective of a front.

    Attributes:
        scenario: its file or name.
        title: of the scenario.
        document: of the scenario as it is tuned, overrides and the plan's discipline included.
        core: a digest of it as the core reads it, traces included.
        objective: what a report calls it.
        objective_details: all of it, as text.
        unit: of the objective, "" for a plain number.
        maximised: whether high values are wanted.
        constraints: as written.
        harm: what a change may cost at most, as constraints.
        minimum_improvement: the fraction of the objective that somebody would notice; ``None``
            for what is usual.
        least_size: what a share of the objective is a share of, at least.
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
    harm: Sequence[str]
    minimum_improvement: float | None
    least_size: float = 0.0

    @property
    def values_kept(self) -> int:
        """Number of values kept with the objective of each simulation."""
        return len(self.constraints) + len(self.harm)


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The plan of a study, and what it meant when the study was begun.

    Attributes:
        given: the plan, as :meth:`vermilion.tuning.plan.TuningPlan.to_data` has it.
        search: the name of the search.
        seeds: of the simulations.
        parameters: paths that are tuned.
        units: of these.
        space: the box: each dimension's fields.
        aims: of each scenario, or of each of a front's objectives.
        earlier: answers that it began with: scenario, distance, setting.
        version: of Vermilion.
        random_streams: of the core.
        space_edition: of the box (:class:`vermilion.search.Space`); studies of the first one do
            not name it.
    """

    given: Mapping[str, Any]
    search: str
    seeds: Seeds
    parameters: Sequence[str]
    units: Sequence[str]
    space: Sequence[Mapping[str, Any]]
    aims: Sequence[Aim]
    earlier: Sequence[tuple[str, float, Mapping[str, float]]]
    version: str
    random_streams: str
    space_edition: int = 1

    @classmethod
    def of(cls, tuning: PreparedTuning) -> StudyPlan:
        """Return the plan of a tuning before it begins."""
        from vermilion import _core

        names, first = tuning.space.names, tuning.cases[0].scenario
        return cls(
            given=tuning.plan.to_data(),
            search=tuning.search,
            seeds=tuning.seeds,
            parameters=list(names),
            units=[first.parameter(path).unit for path in names],
            space=[asdict(dimension) for dimension in tuning.space.dimensions],
            aims=[
                # Constraints and harm are of a front and not of its second objective.
                _make_aim(case, objective, () if number else case.constraints)
                for case in tuning.cases
                for number, objective in enumerate(case.objectives)
            ],
            earlier=list(tuning.earlier),
            version=_core.VERSION,
            random_streams=_core.RANDOM_STREAMS,
            space_edition=tuning.space.edition,
        )

    @property
    def kind(self) -> Kind:
        """Kind of tuning."""
        kind: Kind = self.given["kind"]
        return kind

    @property
    def is_of_python(self) -> bool:
        """True if an objective is a function that only the program that began the study has."""
        return not all(isinstance(each, str) for each in self.given["objectives"])

    @property
    def scenario(self) -> str:
        """The file or name of the scenario; of several that of the first, like the next two."""
        return self.aims[0].scenario

    @property
    def title(self) -> str:
        """Title of the scenario."""
        return self.aims[0].title

    @property
    def document(self) -> Mapping[str, Any]:
        """Document of the scenario, overrides included."""
        return self.aims[0].document

    @property
    def scenarios(self) -> list[str]:
        """The files or names of all its scenarios."""
        return [aim.scenario for aim in self.aims] if self.kind == "robust" else [self.scenario]

    @property
    def objective(self) -> str:
        """Objective as a report names it."""
        if self.kind == "robust":
            together = "worst" if self.given["over"] == "worst" else "weighted mean"
            return f"{together} of {len(self.aims)} scenarios (relative to now)"
        return " against ".join(aim.objective for aim in self.aims)

    @property
    def unit(self) -> str:
        """Unit of the objective, of a front that of the first; "" for a plain number."""
        return "" if self.kind == "robust" else self.aims[0].unit

    @property
    def maximised(self) -> bool:
        """True if high values of the objective, of a front of the first, are wanted."""
        return self.kind != "robust" and self.aims[0].maximised

    @property
    def constraints(self) -> list[str]:
        """Constraints of all scenarios, as written."""
        return list(dict.fromkeys(text for aim in self.aims for text in aim.constraints))

    def values_kept(self, scenario: int) -> int:
        """Number of values kept with the objective of each simulation."""
        if self.kind == "robust":
            return self.aims[scenario].values_kept
        return self.aims[0].values_kept + (self.kind == "front")

    def plan(self) -> TuningPlan:
        """The plan, to be executed again.

        Raises:
            ValueError: the file holds something else; also KeyError, TypeError or AttributeError.
            ScenarioError: a scenario names files that are not there any more.
        """
        return TuningPlan.from_data(self.given)

    def to_json(self) -> str:
        """Return the JSON text of a file."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> StudyPlan:
        """The plan whose :meth:`to_json` this was.

        Raises:
            ValueError: it is none; also KeyError.
        """
        plan: StudyPlan = read_as(cls, text)
        if unknown := set(json.loads(text)) - {each.name for each in fields(cls)}:
            raise KeyError(*sorted(unknown))
        missing = {each.name for each in fields(TuningPlan)} - set(plan.given)
        if missing:
            raise KeyError(*missing)
        aims = len(plan.aims)
        right = {"setting": aims == 1, "robust": aims > 1, "front": aims == 2}  # noqa: PLR2004 - two aims make a front
        if plan.kind not in KINDS or not right[plan.kind]:
            message = "what is searched is unknown"
            raise ValueError(message)
        return plan

    def difference(self, other: StudyPlan) -> str | None:
        """First difference from another tuning; ``None`` if it is the same."""
        mine, others = dict(self._identity()), dict(other._identity())
        if mine == others:
            return None
        for what, value in mine.items():
            if others[what] != value and what == "scenario":
                return self._scenario_difference(other)
            if others[what] != value:
                return f"{what} is {_shortened(value)} there and {_shortened(others[what])} here"
        return None

    def _scenario_difference(self, other: StudyPlan) -> str:
        """The first value of the first scenario that differs."""
        for number, (mine, its) in enumerate(zip(self.aims, other.aims, strict=True), start=1):
            if mine.core != its.core:
                what = f"scenario {number}" if self.kind == "robust" else "the scenario"
                return _document_difference(what, mine.document, its.document)
        return "a scenario differs"

    def _identity(self) -> Iterator[tuple[str, Any]]:
        """Parts that must be the same, as messages name them and in their order."""
        aims = self.aims
        yield "version of Vermilion", self.version
        yield "the random streams' version", self.random_streams
        yield "what is searched", _KINDS[self.kind]
        yield "the discipline", self.given["discipline"]
        yield "the number of scenarios", len(self.scenarios)
        yield "the list of tuned parameters", list(self.parameters)
        yield "the objective", self.objective
        yield "the objective's table", _collapse([aim.objective_details for aim in aims])
        yield "the list of constraints", self.constraints
        yield "scenario", [aim.core for aim in aims]
        yield "the list of objectives", [aim.objective for aim in aims]
        yield "the lists of constraints", [list(aim.constraints) for aim in aims]
        yield "what a change may cost", _json_value(_collapse([aim.harm for aim in aims]))
        yield "the least improvement", _collapse([aim.minimum_improvement for aim in aims])
        yield "the edition of the box (how ordered parameters are counted)", self.space_edition
        yield "the box", _json_value(self.space)
        yield "search", self.search
        for name in _SETTINGS:
            value = asdict(self.seeds) if name == "seeds" else self.given[name]
            yield name.replace("_", " "), _json_value(value)


def _make_aim(case: Case, objective: Objective, constraints: Sequence[Constraint]) -> Aim:
    scenario = case.scenario
    of_python = isinstance(objective, CalledFunction)
    return Aim(
        scenario=scenario.origin,
        title=scenario.title,
        document=dict(scenario.document),
        core=hashlib.sha256(case.text.encode()).hexdigest(),
        objective=objective.label,
        # A function's text would hold its address.
        objective_details=objective.label if of_python else repr(objective),
        unit=objective.unit,
        maximised=objective.maximised,
        constraints=[constraint.text for constraint in constraints if not constraint.of_harm],
        harm=[constraint.text for constraint in constraints if constraint.of_harm],
        minimum_improvement=case.minimum_improvement,
        least_size=objective.least_size,
    )


def _collapse(values: Sequence[Any]) -> Any:  # noqa: ANN401 - any JSON
    """Common value of a list, or the list."""
    return values[0] if all(value == values[0] for value in values) else list(values)


def _json_value(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return as JSON gives it back: lists for tuples."""
    return json.loads(json.dumps(value))


def _shortened(value: object) -> str:
    if value is None:
        return "not set"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _document_difference(what: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The first value of two scenarios that differs."""
    mine, others = dict(_leaves(there, "")), dict(_leaves(here, ""))
    for path in (*mine, *others):
        if mine.get(path) != others.get(path):
            known = [
                _shortened(values[path]) if path in values else "not set"
                for values in (mine, others)
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
