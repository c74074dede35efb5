"""Switches of a queue for marks and drops.

What the operator wants: the ``[tuning]`` section of a scenario, and what a controller may do.

This is the only part of a scenario besides the link's configuration that a controller may
know. It says nothing about the traffic.

A scenario whose ``[tuning]`` names parameters of several links asks for them to be set together,
for one objective over all. Where it names no objective, that is the default one of each link,
summed, each relative to what the setting in force reaches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from vermilion.objectives import (
    Constraint,
    FlowsObjective,
    constraints_of,
    default_link,
    objective_from_table,
    objective_of,
    stated_constraints,
)
from vermilion.objectives.completion_time import CompletionTime
from vermilion.objectives.delay_bound import DelayBound
from vermilion.objectives.harm import harm_bounds
from vermilion.objectives.knee import Knee
from vermilion.objectives.noticeable import KnowsRoundTrip
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.objectives.weighted_sum import WeightedSum
from vermilion.objectives.windows import ALL_FLOWS
from vermilion.routers.queue_set import BETWEEN, joint_name
from vermilion.scenario.errors import FieldError, ScenarioError, one_of
from vermilion.scenario.quantities import how_many
from vermilion.search.space import searched_box

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives import Objective
    from vermilion.routers.base import ParameterValue
    from vermilion.scenario import Scenario


DROPS_IN_EARNEST: Final = "drop_above_maximum"
"""The switch by which a queue drops above its maximum what it could mark (RFC 3168, section 7)."""


def carried(bound: Constraint, rate_bit_per_s: float | None) -> float:
    """The most that a link can carry, in the metric of a bound; infinite for other metrics."""
    if bound.path.metric == "utilization":
        return 1.0
    if bound.path.metric != "goodput_bit_per_s.total" or rate_bit_per_s is None:
        return math.inf
    return rate_bit_per_s


def marks(parameters: Mapping[str, object]) -> bool:
    """Check whether a queue with these parameters marks."""
    return parameters.get("ecn") is True


def marks_alone(parameters: Mapping[str, object]) -> bool:
    """Check whether early drops are off for packets that can be marked."""
    return marks(parameters) and parameters.get(DROPS_IN_EARNEST) is False


DEADLINE_S = 1.0
"""Network time that a search may take, unless the operator says otherwise."""

CHANGES_PER_MINUTE = 6
"""How often a controller may change the router, unless the operator says otherwise."""

BLIND_AFTER_S = 5.0
"""How long a router may be silent before the controller counts as blind."""

LAW_PARAMETERS: Final = ("adaptive", "gentle", "interval")
"""What a law may set besides the parameters that are searched (:mod:`.plan.laws`)."""

Mode: TypeAlias = Literal["observe", "propose", "control"]
"""``observe`` says what it would do; ``propose`` asks a person first; ``control`` does it."""

AtExit: TypeAlias = Literal["keep", "restore"]
"""What happens to the router when the controller ends: the setting stays, or the one that stood
before the first change comes back."""

LINKS_BETWEEN = "+"
"""Between the names of the links in the name of the set."""

_USUAL_DELAY_S = 0.010  # what a queue is about where the goal names neither length nor delay
_FEWEST_PACKETS = 5.0  # below which a length is a matter of single packets


@dataclass(frozen=True, slots=True)
class Policy:
    """Goal for a queue, the parameters to change, and limits on changes.

    Attributes:
        link: the link under control.
        objective: what is minimised (or maximised), told nothing of the traffic.
        parameters: the names of the discipline parameters that may be changed.
        switches: those of the discipline's switches that may be turned as well, where that matters
            (:mod:`vermilion.online.plan.problem`).
        constraints: conditions a setting must meet, as written in the scenario; ``None`` for
            the default ones.
        space: for each parameter (by its path) the ends between which to search, as written
            in the scenario, where the operator gave them.
        deadline_s: how long a search may take, in the network's time.
        harm: changes of the margins of harm, as ``[tuning] harm`` has them; ``None`` for none.
        bounds: the constraints and the bounds of harm, as they are checked on the network.
        mode: whether anything is changed.
        changes_per_minute: how often at most; a setting that is taken back is always allowed.
        at_exit: what stays in force.
        fall_back: parameters to put in force when the controller is blind; ``None`` for the last
            that were verified.
        blind_after_s: how long a router may be silent before the controller counts as blind.
        watch_first_s: how long the queue is watched before the first search. A simulation is
            answered at once; on a real router, what stood there is measured first.
        law_parameters: what the discipline's own law may set besides (:mod:`.plan.laws`).
        links: where several queues are controlled together, all of them, in the order of the
            scenario; empty for one. ``link`` is then what the set is called, and parameters have
            their link's name before them.
        paths: on which of them traffic goes, each in its order, where the operator says so; empty
            where that is to be inferred.
    """

    link: str
    objective: Objective
    parameters: tuple[str, ...]
    constraints: tuple[str, ...] | None = None
    space: Mapping[str, object] = field(default_factory=dict)
    deadline_s: float = DEADLINE_S
    harm: tuple[str, ...] | None = None
    bounds: tuple[Constraint, ...] = ()
    mode: Mode = "control"
    changes_per_minute: int = CHANGES_PER_MINUTE
    at_exit: AtExit = "keep"
    fall_back: Mapping[str, ParameterValue] | None = None
    blind_after_s: float = BLIND_AFTER_S
    watch_first_s: float = 0.0
    switches: tuple[str, ...] = ()
    law_parameters: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of_scenario(
        cls, scenario: Scenario, deadline_s: float = DEADLINE_S, several: Sequence[str] = ()
    ) -> Policy:
        """The policy in a scenario's ``[tuning]`` section, or the default one.

        Without an objective it is the knee; without parameters, those that the table of the
        discipline says are worth a search, and the switch by which it drops what it could mark.

        Args:
            scenario: with the section.
            deadline_s: how long a search may take.
            several: the links of which it names parameters, where these are more than one
                (:func:`stated_policy` finds out).

        Raises:
            ScenarioError: it cannot be pursued on line.
        """
        tuning = scenario.tuning
        objective = _untold(_objective(scenario, several) if several else objective_of(scenario))
        if isinstance(objective, QueueDeviation) and objective.target <= 0:
            raise ScenarioError(
                "tuning.objective.target",
                objective.target,
                'a number of packets above 0, like "30 packets"',
                scenario.origin,
            )
        links = tuple(several) or (next(iter(objective.links), default_link(scenario)),)
        _check_objective(scenario, objective, links)
        constraints = stated_constraints(scenario)
        _check_constraints(scenario, constraints or (), links)
        asked = constraints_of(scenario, objective, links=links)
        harm = None if tuning is None else tuning.harm
        link = LINKS_BETWEEN.join(links)
        return cls(
            link=link,
            objective=objective,
            parameters=_parameters(scenario, links),
            switches=() if several else _may_be_set(scenario, link, (DROPS_IN_EARNEST,)),
            law_parameters=() if several else _may_be_set(scenario, link, LAW_PARAMETERS),
            constraints=constraints,
            space={} if tuning is None else tuning.space,
            deadline_s=deadline_s,
            harm=harm,
            bounds=(
                *asked,
                *harm_bounds(scenario, links, harm, objectives=[objective], constraints=asked),
            ),
            links=tuple(several),
        )

    def with_paths(self, paths: Sequence[Sequence[str]]) -> Policy:
        """Add the paths that the operator has configured.

        Raises:
            ScenarioError: one names a link that is not under control, or one twice.
        """
        for path in paths:
            if not path or len(set(path)) < len(path) or not set(path) <= set(self.links):
                accepted = (
                    f"some of the links {', '.join(self.links)}, each once"
                    if self.links
                    else "a scenario whose tuning.parameters are of several links"
                )
                raise ScenarioError("path", ", ".join(path), accepted)
        return replace(self, paths=tuple(tuple(path) for path in paths))

    def of_queue(self, link: str) -> Policy:
        """Policy of one of several queues: its parameters and their space; itself for one."""
        if not self.links:
            return self
        prefix = joint_name(link, "")
        return Policy(
            link=link,
            objective=Knee(link),
            parameters=tuple(
                name.removeprefix(prefix) for name in self.parameters if name.startswith(prefix)
            ),
            space=self.space,
        )

    def harm_bounds(self, model: Scenario, links: Sequence[str]) -> tuple[Constraint, ...]:
        """Bounds on the harm that a change of these links' queues may do in a model.

        What flows get in order is more than links carry where a stretch begins with holes that
        are filled in it, as after the slow starts into a queue of a second.
        """
        asked = [bound for bound in self.bounds if not bound.of_harm]
        bounds = harm_bounds(
            model, links, self.harm, objectives=[self.objective], constraints=asked
        )
        rate_bit_per_s = sum(link.rate_bit_per_s for link in model.core().links)
        return tuple(replace(each, most=carried(each, rate_bit_per_s)) for each in bounds)

    @property
    def goal(self) -> str:
        """Description of the goal: "keep its queue at 30 packets", "minimise p95 delay"."""
        if self.target_packets is not None:
            return f"keep its queue at {how_many(self.target_packets, 'packet')}"
        return f"{'maximise' if self.objective.maximised else 'minimise'} {self.objective.label}"

    @property
    def absolute_bounds(self) -> tuple[Constraint, ...]:
        """Constraints with a number, which any setting may break."""
        return tuple(each for each in self.bounds if not (each.of_harm or each.of_reference))

    @property
    def target_packets(self) -> float | None:
        """Target of the queue; ``None`` for other goals, and for a set of queues."""
        if self.links or not isinstance(self.objective, QueueDeviation):
            return None
        return self.objective.target

    def scale_packets(self, packets_per_s: float) -> float:
        """The length of queue that the goal is about, packets: what counts as much or little.

        Args:
            packets_per_s: the link's rate.
        """
        if isinstance(self.objective, QueueDeviation):
            return self.objective.target
        bounded = isinstance(self.objective, DelayBound)
        delay_s = self.objective.at_most if isinstance(self.objective, DelayBound) else 0.0
        return max((delay_s if bounded else _USUAL_DELAY_S) * packets_per_s, _FEWEST_PACKETS)

    def path(self, parameter: str) -> str:
        """Scenario path of a parameter of the queue, or of one of the queues."""
        link, name = self.link, parameter
        if self.links:
            link, _, name = parameter.partition(BETWEEN)
        return f"links.{link}.queue.{name}"


def _may_be_set(scenario: Scenario, link: str, names: Sequence[str]) -> tuple[str, ...]:
    """Those parameters that the discipline has: none where the operator lists what may be set."""
    if scenario.tuning is not None and scenario.tuning.parameters:
        return ()
    table = scenario.links[link].queue.algorithm.parameters
    return tuple(name for name in names if name in table)


def _parameters(scenario: Scenario, links: Sequence[str]) -> tuple[str, ...]:
    """The names of the parameters to change."""
    listed = () if scenario.tuning is None else scenario.tuning.parameters
    if listed:
        return tuple(_name(path, links, scenario) for path in listed)
    [link] = links
    table = scenario.links[link].queue.algorithm.parameters
    boxed = () if scenario.tuning is None else scenario.tuning.space
    searched = tuple(
        name
        for name, row in table.items()
        if row.search is not None or f"links.{link}.queue.{name}" in boxed
    )
    if not searched:
        name = scenario.links[link].queue.algorithm.name
        accepted = "a discipline with parameters to search, or tuning.parameters"
        raise ScenarioError(f"links.{link}.queue.discipline", name, accepted, scenario.origin)
    return searched


def _name(path: str, links: Sequence[str], scenario: Scenario) -> str:
    """The name of a parameter of a queue: bare of the only one, joint of several.

    Raises:
        ScenarioError: it is something else's.
    """
    match path.split("."):
        case ["links", link, "queue", name] if link in links:
            return name if len(links) == 1 else joint_name(link, name)
        case _ if len(links) == 1:
            accepted = f"a parameter of the queue under control, links.{links[0]}.queue...."
        case _:
            accepted = "parameters of queues, links.NAME.queue..."
    raise ScenarioError("tuning.parameters", path, accepted, scenario.origin)


def tuned_links(scenario: Scenario) -> list[str]:
    """The links of which a scenario's ``[tuning]`` names parameters, in the scenario's order."""
    listed = () if scenario.tuning is None else scenario.tuning.parameters
    named = {path.split(".")[1] for path in listed if path.startswith("links.")}
    return [link for link in scenario.links if link in named]


def _untold(objective: Objective) -> Objective:
    """The objective without the shortest round trip of the scenario's flows: nobody's business."""
    if isinstance(objective, WeightedSum):
        parts = tuple(replace(part, objective=_untold(part.objective)) for part in objective.parts)
        return replace(objective, parts=parts)
    if isinstance(objective, KnowsRoundTrip):
        return replace(objective, shortest_round_trip_s=None)
    return objective


def _objective(scenario: Scenario, links: Sequence[str]) -> Objective:
    """Return the objective; by default the sum of every link's default."""
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
    if isinstance(objective, CompletionTime):
        accepted = "an objective that a router's counters or a monitor tell, not completion times"
        raise ScenarioError(f"{where}.name", objective.name, accepted, scenario.origin)
    if isinstance(objective, FlowsObjective) and objective.flows != ALL_FLOWS:
        accepted = 'all flows, "*": a controller sees no groups of them'
        raise ScenarioError(f"{where}.flows", objective.flows, accepted, scenario.origin)
    for link in objective.links:
        if link not in links:
            accepted = f"one of the links under control: {', '.join(links)}"
            raise ScenarioError(f"{where}.link", link, accepted, scenario.origin)


_TWO_QUEUES: Final = "dualpi2"


def _check_constraints(
    scenario: Scenario, constraints: Sequence[str], links: Sequence[str]
) -> None:
    """Check that the constraints concern metrics that a controller can see.

    Raises:
        ScenarioError: one speaks of another link, of a group of flows, of what neither counters nor
            a monitor tell, or of percentiles of the delay of two queues, of which only the whole
            backlog is known.
    """
    from vermilion.online.sense.stretch import FAIRNESS, MEASURED

    for index, text in enumerate(constraints):
        path = Constraint.parse(text, field=f"tuning.constraints.{index}", scenario=scenario).path
        of_flows = path.room == "flows"
        accepted = ""
        if path.name not in ((ALL_FLOWS,) if of_flows else links):
            accepted = (
                f"a metric of a link under control ({', '.join(links)}), or of all flows, "
                '"flows.*..."'
            )
        elif path.metric not in MEASURED and not (of_flows and path.metric in FAIRNESS):
            accepted = f"a metric that counters or a monitor tell: {one_of(sorted(MEASURED))}"
        elif (
            not of_flows
            and path.metric.startswith("sojourn_ms.p")
            and scenario.links[path.name].queue.algorithm.name == _TWO_QUEUES
        ):
            accepted = "a mean: DualPI2 has two queues, and counters tell their backlog together"
        if accepted:
            raise ScenarioError(f"tuning.constraints.{index}", text, accepted, scenario.origin)


def stated_policy(scenario: Scenario, deadline_s: float = DEADLINE_S) -> Policy:
    """The policy in a scenario's ``[tuning]`` section, or the default one.

    Where it names parameters of several links it is one for all of them.

    Raises:
        ScenarioError: it cannot be pursued on line.
    """
    links = tuned_links(scenario)
    policy = Policy.of_scenario(scenario, deadline_s, links if len(links) > 1 else ())
    for name in policy.parameters:
        try:
            searched_box(scenario, policy.path(name))
        except FieldError as error:
            raise ScenarioError(error.field, error.value, error.accepted, scenario.origin) from None
    return policy
