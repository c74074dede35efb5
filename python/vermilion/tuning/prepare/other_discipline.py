"""The scenarios of a plan as they are tuned: with another discipline, if the plan names one."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.scenario.carry_over import CarriedOver, with_discipline
from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.load import scenario_from_document
from vermilion.search.space import searchable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vermilion.scenario import Scenario
    from vermilion.tuning.prepare.plan import TuningPlan


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
    return _links_of(scenario, paths) or tuple(scenario.links)


def _links_of(scenario: Scenario, paths: Iterable[str]) -> tuple[str, ...]:
    """The links that paths name, as far as the scenario has them."""
    named = dict.fromkeys(path.split(".")[1] for path in paths if path.startswith("links."))
    return tuple(link for link in named if link in scenario.links)


def _converted(scenario: Scenario, name: str, given: Sequence[str] | None) -> TunedScenario:
    tuning = scenario.tuning
    listed = () if tuning is None else tuning.parameters
    links = _links_of(scenario, listed if given is None else given) or tuple(scenario.links)[:1]
    other, reports = with_discipline(scenario, name, links)
    searched = [path for link in links for path in searchable(other, link)]
    if reports and given is None and not searched:
        accepted = "a discipline of which a parameter has a box to search, or a list of parameters"
        raise ScenarioError("discipline", name, accepted, scenario.origin)
    if not reports or tuning is None:
        return TunedScenario(other, tuple(reports))
    elsewhere = [path for path in listed if not _links_of(scenario, [path])]
    parameters = [*elsewhere, *searched] if given is None else list(given)
    own = deepcopy(scenario.document["tuning"])
    own["parameters"] = parameters
    own["space"] = {path: box for path, box in own.get("space", {}).items() if path in elsewhere}
    document = {**other.document, "tuning": own}
    return TunedScenario(scenario_from_document(document, scenario.origin), tuple(reports))
