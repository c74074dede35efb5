"""What the operator wants of several queues together.

A scenario whose ``[tuning]`` names parameters of several links asks for them to be set together,
for one objective over all. Where it names no objective, that is the default one of each link,
summed, each relative to what the setting in force reaches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vermilion.objectives import (
    Constraint,
    FlowsObjective,
    constraints_of,
    objective_from_table,
    objective_of,
    stated_constraints,
)
from vermilion.objectives.harm import harm_bounds
from vermilion.objectives.knee import Knee
from vermilion.objectives.noticeable import KnowsRoundTrip
from vermilion.objectives.weighted_sum import WeightedSum
from vermilion.objectives.windows import ALL_FLOWS
from vermilion.online.policy import DEADLINE_S, Policy
from vermilion.routers.queue_set import BETWEEN, joint_name
from vermilion.scenario import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Objective
    from vermilion.scenario import Scenario

LINKS_BETWEEN = "+"
"""Between the names of the links in the name of the set."""


@dataclass(frozen=True, slots=True)
class SetPolicy(Policy):
    """What to pursue with several queues.

    ``parameters`` have their link's name before them, and ``link`` is what the set is called.

    Attributes:
        links: the links under control, in the order of the scenario.
        paths: on which of them traffic goes, each in its order, where the operator says so; empty
            where that is to be inferred.
    """

    links: tuple[str, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of_links(
        cls, scenario: Scenario, links: Sequence[str], deadline_s: float = DEADLINE_S
    ) -> SetPolicy:
        """The policy in a scenario's ``[tuning]`` section, which names parameters of these links.

        Raises:
            ScenarioError: it cannot be pursued on line.
        """
        tuning = scenario.tuning
        listed = () if tuning is None else tuning.parameters
        objective = _untold(_objective(scenario, links))
        _check_objective(scenario, objective, links)
        constraints = stated_constraints(scenario)
        _check_constraints(scenario, constraints or (), links)
        harm = None if tuning is None else tuning.harm
        asked = constraints_of(scenario, objective, links=links)
        return cls(
            link=LINKS_BETWEEN.join(links),
            objective=objective,
            parameters=tuple(_joint(path, scenario) for path in listed),
            constraints=constraints,
            space={} if tuning is None else tuning.space,
            deadline_s=deadline_s,
            harm=harm,
            bounds=(
                *asked,
                *harm_bounds(scenario, links, harm, objectives=[objective], constraints=asked),
            ),
            links=tuple(links),
        )

    def with_paths(self, paths: Sequence[Sequence[str]]) -> SetPolicy:
        """With the paths that the operator knows.

        Raises:
            ScenarioError: one names a link that is not under control, or one twice.
        """
        for path in paths:
            if not path or len(set(path)) < len(path) or not set(path) <= set(self.links):
                accepted = f"some of the links {', '.join(self.links)}, each once"
                raise ScenarioError("path", ", ".join(path), accepted)
        return replace(self, paths=tuple(tuple(path) for path in paths))

    def check_steps(self, origin: str) -> None:
        """Whether the network itself can tell if a step without a model helps, if any is wanted.

        Raises:
            ScenarioError: it cannot.
        """
        sum_of = self.objective.parts if isinstance(self.objective, WeightedSum) else ()
        if self.without_model == "step" and any(part.scale is None for part in sum_of):
            accepted = (
                '"stay", or an objective that several queues can be measured by: a weighted-sum '
                "whose parts each state a scale, or goodput-variation"
            )
            raise ScenarioError("without_model", self.without_model, accepted, origin)

    @property
    def target_packets(self) -> float | None:
        """None: a set is never held at one length, even where each of its queues is to be."""
        return None

    def path(self, parameter: str) -> str:
        """Where a scenario keeps a parameter of one of the queues."""
        link, _, name = parameter.partition(BETWEEN)
        return f"links.{link}.queue.{name}"

    def of_queue(self, link: str) -> Policy:
        """What of it concerns one queue: its parameters, and where to search them."""
        prefix = f"{link}{BETWEEN}"
        return Policy(
            link=link,
            objective=Knee(link),
            parameters=tuple(
                name.removeprefix(prefix) for name in self.parameters if name.startswith(prefix)
            ),
            space=self.space,
        )


def tuned_links(scenario: Scenario) -> list[str]:
    """The links of which a scenario's ``[tuning]`` names parameters, in the scenario's order."""
    listed = () if scenario.tuning is None else scenario.tuning.parameters
    named = {path.split(".")[1] for path in listed if path.startswith("links.")}
    return [link for link in scenario.links if link in named]


def _joint(path: str, scenario: Scenario) -> str:
    """The joint name of a parameter of a queue.

    Raises:
        ScenarioError: it is something else's.
    """
    match path.split("."):
        case ["links", link, "queue", name]:
            return joint_name(link, name)
        case _:
            accepted = "parameters of queues, links.NAME.queue..."
            raise ScenarioError("tuning.parameters", path, accepted, scenario.origin)


def _untold(objective: Objective) -> Objective:
    """The objective without the shortest round trip of the scenario's flows: nobody's business."""
    if isinstance(objective, WeightedSum):
        parts = tuple(replace(part, objective=_untold(part.objective)) for part in objective.parts)
        return replace(objective, parts=parts)
    if isinstance(objective, KnowsRoundTrip):
        return replace(objective, shortest_round_trip_s=None)
    return objective


def _objective(scenario: Scenario, links: Sequence[str]) -> Objective:
    """What is asked for; by default the knee of every link, each as much as the others."""
    stated = None if scenario.tuning is None else scenario.tuning.objective
    said = stated is not None and (
        stated.statement is not None
        or stated.target_delay_s is not None
        or bool(stated.model_dump(exclude_none=True))
    )
    if said:
        return objective_of(scenario)
    parts = [{"weight": 1, "name": Knee.name, "link": link} for link in links]
    return objective_from_table({"name": "weighted-sum", "parts": parts}, scenario)


def _check_objective(scenario: Scenario, objective: Objective, links: Sequence[str]) -> None:
    where = "tuning.objective"
    if isinstance(objective, FlowsObjective) and objective.flows != ALL_FLOWS:
        accepted = 'all flows, "*", because a controller sees no groups of them'
        raise ScenarioError(f"{where}.flows", objective.flows, accepted, scenario.origin)
    for link in objective.links:
        if link not in links:
            accepted = f"one of the links under control: {', '.join(links)}"
            raise ScenarioError(f"{where}.link", link, accepted, scenario.origin)


def _check_constraints(
    scenario: Scenario, constraints: Sequence[str], links: Sequence[str]
) -> None:
    """Whether they speak of what a controller can see.

    Raises:
        ScenarioError: one speaks of another link, or of a group of flows.
    """
    for index, text in enumerate(constraints):
        where = f"tuning.constraints.{index}"
        metric = Constraint.parse(text, field=where, scenario=scenario).path
        known = (ALL_FLOWS,) if metric.room == "flows" else tuple(links)
        if metric.name not in known:
            accepted = (
                f"a metric of a link under control ({', '.join(links)}), or of all flows, "
                '"flows.*...", because a controller sees no other links and no groups'
            )
            raise ScenarioError(where, text, accepted, scenario.origin)
