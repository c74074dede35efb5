"""A plan in its scenarios: what is searched, for what, under which constraints, from where.

Here, and only here, a plan's words become objectives, constraints, a box, a device and a search,
for every kind of tuning. What is made of it is in :mod:`vermilion.tuning.best_setting`,
:mod:`vermilion.tuning.robust` and :mod:`vermilion.tuning.pareto`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from vermilion.objectives import (
    CalledFunction,
    Constraint,
    Objective,
    constraints_of,
    objective_from_text,
    objective_of,
)
from vermilion.objectives.harm import harm_bounds
from vermilion.profiles import Device
from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.load import scenario_from_document
from vermilion.scenario.other_values import CarriedOver, with_discipline
from vermilion.search import CountedFromBelow, SettableSpace, Space, chosen_search, setting_names
from vermilion.search.space import searchable
from vermilion.simulate.runs import run_many
from vermilion.tuning.evaluation import Seeds
from vermilion.tuning.recommendation import OnDevice
from vermilion.tuning.simulations import Condition, needs_flow_delays

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vermilion.scenario import Scenario
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.plan import Goal, TuningPlan


@dataclass(frozen=True, slots=True)
class TunedScenario:
    """A scenario of a plan as it is tuned.

    Attributes:
        scenario: the same as given, unless its discipline was replaced.
        carried_over: what became of the parameters of each queue whose discipline was.
    """

    scenario: Scenario
    carried_over: tuple[CarriedOver, ...] = ()


def tuned_scenarios(plan: TuningPlan) -> tuple[TunedScenario, ...]:
    """The plan's scenarios, with its discipline if it names one.

    It takes over the tuned queues: those of the links that the plan's parameters name, or the
    scenario's own list, or the first link. Where it is replaced, the scenario's list and its boxes,
    which are of the old discipline, make way for all that has a box in the table of the new
    one; its objective and its constraints stay.

    Raises:
        ScenarioError: there is no such discipline, or it refuses a value carried over.
    """
    name = plan.discipline
    if name is None:
        return tuple(map(TunedScenario, plan.scenarios))
    return tuple(_converted(each, name, plan.parameters) for each in plan.scenarios)


def tuned_links(scenario: Scenario, paths: Iterable[str]) -> tuple[str, ...]:
    """The links whose queues are tuned; where none is, all of the scenario."""
    return _named_links(scenario, paths) or tuple(scenario.links)


def _named_links(scenario: Scenario, paths: Iterable[str]) -> tuple[str, ...]:
    """The links that paths name, as far as the scenario has them."""
    named = dict.fromkeys(path.split(".")[1] for path in paths if path.startswith("links."))
    return tuple(link for link in named if link in scenario.links)


def _converted(scenario: Scenario, name: str, given: Sequence[str] | None) -> TunedScenario:
    tuning = scenario.tuning
    listed = () if tuning is None else tuning.parameters
    links = _named_links(scenario, listed if given is None else given) or tuple(scenario.links)[:1]
    other, reports = with_discipline(scenario, name, links)
    searched = [path for link in links for path in searchable(other, link)]
    if reports and given is None and not searched:
        accepted = "a discipline of which a parameter has a box to search, or a list of parameters"
        raise ScenarioError("discipline", name, accepted, scenario.origin)
    if not reports or tuning is None:
        return TunedScenario(other, tuple(reports))
    elsewhere = [path for path in listed if not _named_links(scenario, [path])]
    parameters = [*elsewhere, *searched] if given is None else list(given)
    own = deepcopy(scenario.document["tuning"])
    own["parameters"] = parameters
    own["space"] = {path: box for path, box in own.get("space", {}).items() if path in elsewhere}
    document = {**other.document, "tuning": own}
    return TunedScenario(scenario_from_document(document, scenario.origin), tuple(reports))


DEFAULT_PAIR: Final = ("links.{link}.sojourn_ms.mean", "links.{link}.utilization")
"""The objectives of a front unless others are named: the delay of a queue against the use of its
link."""

Earlier = tuple[str, float, Mapping[str, float]]
"""An earlier answer: its scenario, how far its conditions lie from these, and the setting."""


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario of a tuning, and what is wanted in it.

    Attributes:
        label: its name, made unique.
        scenario: as it is tuned: with the plan's discipline, if it names one.
        text: the same as the core reads it.
        objectives: of a front two, else one.
        constraints: what must hold, and but for a front what a change may cost at most.
        incumbent: the setting in force, or where another discipline is, what the new one has taken
            over from it.
        before: the scenario with the discipline in force, where the plan names another one.
        minimum_improvement: the fraction of the objective that somebody would notice; ``None``
            for what is usual.
        harm: what a change may cost at most, also of a front, which it does not cut off.
    """

    label: str
    scenario: Scenario
    text: str
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    incumbent: Setting
    minimum_improvement: float | None
    before: Scenario | None = None
    harm: tuple[Constraint, ...] = ()

    @property
    def standing(self) -> Scenario:
        """The scenario with what is in force."""
        return self.scenario if self.before is None else self.before

    @property
    def queues(self) -> list[str]:
        """The links whose queues are tuned."""
        paths = (path.split(".") for path in self.incumbent)
        links = (path[1] for path in paths if (path[0], path[2]) == ("links", "queue"))
        return list(dict.fromkeys(links))

    @property
    def standing_setting(self) -> dict[str, float | None]:
        """Setting in force: of the searched parameters, or of another discipline its own."""
        if self.before is None:
            return dict(self.incumbent)
        found: dict[str, float | None] = {}
        for link in self.queues:
            for name in self.before.links[link].queue.parameters:
                value = self.before.get(f"links.{link}.queue.{name}")
                if isinstance(value, int | float) and not isinstance(value, bool):
                    found[f"links.{link}.queue.{name}"] = float(value)
        return found

    @property
    def condition(self) -> Condition:
        """The scenario as something to measure settings in."""
        standing = None if self.before is None else self.before.core_json()
        return Condition.of(self.text, self.incumbent, self.objective, self.constraints, standing)

    @property
    def objective(self) -> Objective:
        """The first objective."""
        return self.objectives[0]

    @property
    def stated(self) -> tuple[Constraint, ...]:
        """The constraints without those of harm."""
        return tuple(each for each in self.constraints if not each.of_harm)

    def least_gain(self, incumbent: float) -> float:
        """Least noticeable gain, where the incumbent reaches so much."""
        return self.objective.least_gain(incumbent, self.minimum_improvement)

    def with_incumbent_results(self, seeds: Sequence[int], threads: int | None) -> Case:
        """Return the same case, with objectives relative to the incumbent where they need it."""
        if not any(each.needs_incumbent for each in self.objectives):
            return self
        # What they are relative to may be what packets feel, which runs measure if asked.
        needed = any(needs_flow_delays(each) for each in self.objectives)
        [now] = run_many([self.standing], seeds, threads=threads, flow_delays=needed)
        results = [result for result in now if result is not None]
        told = tuple(
            each.relative_to(results) if each.needs_incumbent else each for each in self.objectives
        )
        return replace(self, objectives=told)


@dataclass(frozen=True, slots=True)
class PreparedTuning:
    """A plan, as far as its words have a meaning in its scenarios.

    Attributes:
        plan: as it was asked for.
        cases: the scenarios.
        space: the box, of the first scenario.
        device: if only what one has is to be proposed.
        search: the name of the search.
        seeds: of the simulations.
        carried_over: what became of the parameters of queues whose discipline was replaced.
        earlier: answers that the search begins with.
        start: when it began, on the clock of ``time.monotonic``.
    """

    plan: TuningPlan
    cases: tuple[Case, ...]
    space: Space
    device: Device | None
    search: str
    seeds: Seeds
    carried_over: tuple[CarriedOver, ...]
    start: float
    earlier: tuple[Earlier, ...] = ()

    @property
    def links(self) -> tuple[str, ...]:
        """The links whose queues are tuned; where none is, all of the first scenario."""
        return tuned_links(self.cases[0].scenario, self.space.names)

    @property
    def named_links(self) -> tuple[str, ...]:
        """The links whose queues are tuned."""
        return _named_links(self.cases[0].scenario, self.space.names)

    def link_of(self, case: Case) -> str:
        """Link whose price is shown of a scenario."""
        return [*(link for each in case.objectives for link in each.links), *self.links][0]

    def until(self, deadline_s: float | None) -> float | None:
        """The moment when all must be over, on the clock of ``time.monotonic``.

        Args:
            deadline_s: wall seconds for everything; ``None`` for no end.
        """
        return None if deadline_s is None else self.start + deadline_s

    def seconds_left(self, deadline_s: float | None) -> float | None:
        """Wall seconds until that moment."""
        until = self.until(deadline_s)
        return None if until is None else max(0.0, until - time.monotonic())

    def on_device(self, setting: Setting) -> OnDevice | None:
        """A setting in the device's own words, if there is a device."""
        device = self.device
        if device is None:
            return None
        known = {path: value for path, value in setting.items() if value is not None}
        if len(known) < len(setting):
            return OnDevice(device.name, "", ())
        command = device.command(known, self.plan.place)
        return OnDevice(device.name, command, tuple(device.notes(known)))

    def with_incumbent_results(self, threads: int | None) -> PreparedTuning:
        """Return the same tuning, with objectives relative to the incumbents where they need it.

        Raises:
            NotMeasuredError: an incumbent lacks what an objective needs.
        """
        told = (each.with_incumbent_results(self.seeds.search, threads) for each in self.cases)
        return replace(self, cases=tuple(told))


def prepare(plan: TuningPlan) -> PreparedTuning:
    """Works out what a plan means in its scenarios; simulates nothing.

    Raises:
        ScenarioError: a part of the plan that is not accepted.
    """
    start = time.monotonic()
    tuned = tuned_scenarios(plan)
    scenarios = [each.scenario for each in tuned]
    first = scenarios[0]
    box = CountedFromBelow if plan.kind == "front" else Space
    space: Space = box.from_scenario(first, plan.parameters, plan.boxes)
    device = None
    if plan.profile is not None:
        device = Device(plan.profile, first, space.names)
        space = SettableSpace(space, device)
    _check_units(scenarios, space.names)
    return PreparedTuning(
        plan=plan,
        cases=tuple(
            _make_case(plan, each, given, label, space.names)
            for each, given, label in zip(tuned, plan.scenarios, _labels(scenarios), strict=True)
        ),
        space=space,
        device=device,
        search=_search_name(plan, len(space)),
        seeds=plan.seeds or Seeds.counted(plan.seed),
        carried_over=tuple(report for each in tuned for report in each.carried_over),
        start=start,
    )


def _search_name(plan: TuningPlan, parameters: int) -> str:
    """The name of the search that is used.

    Raises:
        ScenarioError: a setting that it does not have.
    """
    given = plan.search_settings or {}
    use: Final = "front" if plan.kind == "front" else "tuning"
    search = chosen_search(plan.search, parameters, use)
    if use == "front" and not set(given) <= set(setting_names(search)):
        # They may be of the search that fronts had before they fitted surfaces.
        search = chosen_search(plan.search, parameters, "hurry")
    for name in given:
        if name not in setting_names(search):
            accepted = f"a setting of {search}: {', '.join(setting_names(search)) or 'it has none'}"
            raise ScenarioError("search_settings", name, accepted, plan.origin)
    return search


def _make_case(
    plan: TuningPlan, tuned: TunedScenario, given: Scenario, label: str, paths: Sequence[str]
) -> Case:
    scenario = tuned.scenario
    links = tuned_links(scenario, paths)
    objectives, constraints = (
        _prepare_front(plan, scenario, links)
        if plan.kind == "front"
        else _prepare_scenario(plan, scenario, links)
    )
    text = scenario.core_json()
    tuning = scenario.tuning
    harm, least = plan.harm, plan.minimum_improvement
    if tuning is not None:
        harm = tuning.harm if harm is None else harm
        least = tuning.minimum_improvement if least is None else least
    bounds = harm_bounds(scenario, links, harm, objectives=objectives, constraints=constraints)
    if plan.kind != "front":
        constraints = (*constraints, *bounds)
    return Case(
        label=label,
        scenario=scenario,
        text=text,
        objectives=objectives,
        constraints=constraints,
        harm=bounds,
        incumbent={path: scenario.get(path) for path in paths},
        minimum_improvement=least,
        before=given if tuned.carried_over else None,
    )


def _prepare_scenario(
    plan: TuningPlan, scenario: Scenario, links: Iterable[str]
) -> tuple[tuple[Objective, ...], tuple[Constraint, ...]]:
    """The objective that is meant, and the constraints, those that a text states among them."""
    stated: tuple[str, ...] = ()
    if plan.objectives:
        objective, stated = _parse_objective(plan.objectives[0], scenario)
    else:
        objective = objective_of(scenario)
    texts = (*(plan.constraints or ()), *stated) if stated else plan.constraints
    return (objective,), constraints_of(scenario, objective, texts, links=links)


def _prepare_front(
    plan: TuningPlan, scenario: Scenario, links: Sequence[str]
) -> tuple[tuple[Objective, ...], tuple[Constraint, ...]]:
    """Both objectives of a front, and the constraints that are asked for or a part of one."""
    goals = plan.objectives or tuple(text.format(link=links[0]) for text in DEFAULT_PAIR)
    read = [_parse_objective(goal, scenario) for goal in goals]
    for objective, _ in read:
        if objective.needs_incumbent:
            accepted = "an objective of its own, or a sum whose parts all state a scale"
            raise ScenarioError("objectives", objective.label, accepted, scenario.origin)
    texts = dict.fromkeys(
        (
            *(plan.constraints or ()),
            *(text for objective, stated in read for text in (*stated, *objective.own_constraints)),
        )
    )
    held = tuple(
        Constraint.parse(text, field=f"tuning.constraints.{index}", scenario=scenario)
        for index, text in enumerate(texts)
    )
    return tuple(objective for objective, _ in read), held


def _parse_objective(goal: Goal, scenario: Scenario) -> tuple[Objective, tuple[str, ...]]:
    """An objective, and the constraints that a text states with it."""
    if isinstance(goal, str):
        return objective_from_text(goal, scenario)
    return goal if isinstance(goal, Objective) else CalledFunction(goal), ()


def _labels(scenarios: Sequence[Scenario]) -> list[str]:
    """Each scenario's name, numbered where several have the same."""
    names = [scenario.origin for scenario in scenarios]
    return [
        name if names.count(name) == 1 else f"{name} #{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def _check_units(scenarios: Sequence[Scenario], paths: Iterable[str]) -> None:
    """Refuses parameters that mean something else in another of the scenarios."""
    for path in paths:
        unit = scenarios[0].parameter(path).dimension.unit
        for scenario in scenarios[1:]:
            if scenario.parameter(path).dimension.unit != unit:
                accepted = f"a parameter in {unit or 'the same unit'}, as in {scenarios[0].origin}"
                raise ScenarioError("tuning.parameters", path, accepted, scenario.origin)
