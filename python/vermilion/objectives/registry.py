"""Every objective by name: one line each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from vermilion.objectives.chosen_metric import ChosenMetric
from vermilion.objectives.completion_time import CompletionTime
from vermilion.objectives.constraint import Constraint
from vermilion.objectives.delay_bound import DelayBound
from vermilion.objectives.drop_rate import DropRate
from vermilion.objectives.fields import fields_of, required_fields
from vermilion.objectives.goodput import Goodput
from vermilion.objectives.goodput_variation import GoodputVariation
from vermilion.objectives.jain_index import JainIndex
from vermilion.objectives.knee import Knee
from vermilion.objectives.latency_under_load import LatencyUnderLoad
from vermilion.objectives.mark_rate import MarkRate
from vermilion.objectives.mean_sojourn import MeanSojourn
from vermilion.objectives.metrics import guards_of
from vermilion.objectives.power import Power
from vermilion.objectives.published_queue_variance import PublishedQueueVariance
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.objectives.slowest_flow import SlowestFlow
from vermilion.objectives.sojourn_percentile import SojournPercentile
from vermilion.objectives.utilization import Utilization
from vermilion.objectives.weighted_sum import WeightedSum
from vermilion.scenario.errors import (
    MISSING,
    FieldError,
    ScenarioError,
    did_you_mean,
    errors_of,
    errors_under,
)
from vermilion.scenario.toml_text import parse_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.objectives.interface import Objective
    from vermilion.scenario import Scenario

_OBJECTIVES: Final[tuple[type[Objective], ...]] = (
    QueueDeviation,
    PublishedQueueVariance,
    Knee,
    DelayBound,
    LatencyUnderLoad,
    GoodputVariation,
    MeanSojourn,
    SojournPercentile,
    Utilization,
    DropRate,
    MarkRate,
    Goodput,
    JainIndex,
    SlowestFlow,
    CompletionTime,
    Power,
    ChosenMetric,
    WeightedSum,
)

OBJECTIVES: Final[Mapping[str, type[Objective]]] = {
    objective.name: objective for objective in _OBJECTIVES
}
"""The objectives by name; first the one that a table without a name means if it has a target."""

DEFAULT_CONSTRAINT: Final = "links.{link}.utilization >= 0.95 of reference"
"""What every objective without constraints of its own is subject to when nothing is said: no more
than a twentieth of what the setting in force carries may be given up."""

_PLACE: Final = "tuning.objective"
_STATEMENT: Final = re.compile(
    r"\s*(?:(?P<direction>minimi[sz]e|maximi[sz]e)\s+)?(?P<path>\S+)"
    r"(?:\s+subject\s+to\s+(?P<constraints>\S.*?))?\s*"
)


def objective_from_table(table: Mapping[str, Any], scenario: Scenario) -> Objective:
    """The objective that a table like ``[tuning] objective = { ... }`` describes.

    Args:
        table: ``name`` and the fields of that objective, such as ``link`` and ``target`` (packets,
            or a text like "30 packets" or "20 ms"). Without a name a ``path`` means that metric, a
            ``target`` the first of :data:`OBJECTIVES`, and anything else the knee. Without a
            ``link`` the knee is that of :func:`default_link`.
        scenario: to which links and flows belong.

    Raises:
        ScenarioError: naming the field that is not accepted.
    """
    with errors_of(scenario.origin), errors_under(_PLACE):
        return read_table(table, scenario)


def objective_from_text(text: str, scenario: Scenario) -> tuple[Objective, tuple[str, ...]]:
    """The objective, and the constraints, that a short form states.

    Args:
        text: "minimise PATH", "maximise PATH" or a PATH alone, each optionally followed by
            "subject to CONSTRAINT and CONSTRAINT ..."; or a table as TOML writes it, like
            '{ name = "jain-index" }'.
        scenario: to which links and flows belong.

    Raises:
        ScenarioError: the text is no such statement.
    """
    if text.lstrip().startswith("{"):
        return objective_from_table(_inline_table(text, scenario), scenario), ()
    try:
        table, constraints = _statement(text)
        return read_table(table, scenario), constraints
    except FieldError as error:
        raise ScenarioError(_PLACE, text, error.accepted, scenario.origin) from None


def objective_of(scenario: Scenario, *, links: Iterable[str] | None = None) -> Objective:
    """The objective that the scenario itself names; where it names none, the knee.

    Args:
        scenario: in which ``[tuning]``, or its objective, may be missing or empty.
        links: whose queues are tuned, the first of which the default is about; by default what
            :func:`default_link` finds.

    Raises:
        ScenarioError: what it names is not accepted.
    """
    stated = None if scenario.tuning is None else scenario.tuning.objective
    if stated is not None and stated.statement is not None:
        return objective_from_text(stated.statement, scenario)[0]
    table = {} if stated is None else stated.model_dump(exclude_none=True)
    if stated is not None and stated.target_delay_s is not None:
        table["target"] = f"{stated.target_delay_s!r} s"
    if not table and links is not None:
        table["link"] = next(iter(links), default_link(scenario))
    return objective_from_table(table, scenario)


def default_link(scenario: Scenario) -> str:
    """The link that is meant where none is named.

    The first of those whose queues the scenario's ``[tuning]`` changes; else the first that data
    crosses and whose queue has something to tune; else the first that data crosses.
    """
    tuned = () if scenario.tuning is None else scenario.tuning.parameters
    for path in tuned:
        room, _, rest = path.partition(".")
        if room == "links":
            return rest.partition(".")[0]
    crossed = {link for group in scenario.flows.values() for link in group.path}
    links = [name for name in scenario.links if name in crossed] or list(scenario.links)
    for name in links:
        table = scenario.links[name].queue.algorithm.parameters.values()
        if any(row.search is not None for row in table):
            return name
    return links[0]


def constraints_of(
    scenario: Scenario,
    objective: Objective,
    texts: Iterable[str] | None = None,
    *,
    links: Iterable[str] | None = None,
) -> tuple[Constraint, ...]:
    """The constraints of a tuning.

    Args:
        scenario: to which the links and flows belong.
        objective: what they accompany.
        texts: the constraints; by default the scenario's own, and if there are none,
            :data:`DEFAULT_CONSTRAINT` where the objective has no constraints of its own. To any of
            these come the objective's guards, unless the list is empty, its own in any case, and
            the guard of a constraint on what a discipline computes for itself.
        links: for the default, where the objective itself is not of a link; by default all.

    Raises:
        ScenarioError: a text that is not accepted.
    """
    if texts is None:
        texts = stated_constraints(scenario)
    own = list(objective.own_constraints)
    nothing_said = texts is None
    if texts is None:
        about = objective.links or tuple(scenario.links if links is None else links)
        texts = () if own else (DEFAULT_CONSTRAINT.format(link=link) for link in about)
    listed = tuple(texts)
    if listed or nothing_said:
        own += objective.guarding
    listed += tuple(text for text in own if text not in listed)
    found = _parse_constraints(listed, scenario)
    guards = dict.fromkeys(text for each in found for text in guards_of(each.path))
    return (*found, *_parse_constraints((text for text in guards if text not in listed), scenario))


def _parse_constraints(texts: Iterable[str], scenario: Scenario) -> tuple[Constraint, ...]:
    return tuple(
        Constraint.parse(text, field=f"tuning.constraints.{index}", scenario=scenario)
        for index, text in enumerate(texts)
    )


def stated_constraints(scenario: Scenario) -> tuple[str, ...] | None:
    """List the constraints that the scenario states, in its list and in its objective's statement.

    ``None`` where it says nothing of them; an empty list asks for none.
    """
    tuning = scenario.tuning
    if tuning is None:
        return None
    stated: tuple[str, ...] = ()
    if tuning.objective.statement is not None:
        stated = objective_from_text(tuning.objective.statement, scenario)[1]
    if tuning.constraints is None:
        return stated or None
    return (*tuning.constraints, *stated)


def read_table(table: Mapping[str, Any], scenario: Scenario) -> Objective:
    """Read the objective of a table, with errors that do not say yet where the table stands.

    Raises:
        FieldError: a field of the table that is not accepted.
    """
    name = table.get("name", _default_name(table))
    if not isinstance(name, str) or name not in OBJECTIVES:
        raise FieldError("name", name, did_you_mean(str(name), OBJECTIVES))
    objective = OBJECTIVES[name]
    if objective is Knee:
        table = {"link": default_link(scenario), **table}
    kinds = fields_of(objective)
    for key in table:
        if key != "name" and key not in kinds:
            raise FieldError(key, table[key], f"no such field; {did_you_mean(key, kinds)}")
    values = {}
    for field in [*required_fields(objective), *(key for key in table if key in kinds)]:
        with errors_under(field):
            values[field] = kinds[field].read(table.get(field, MISSING), scenario, read_table)
    return objective.from_values(values, scenario)


def _default_name(table: Mapping[str, Any]) -> str:
    """Name of the objective of a table that names none."""
    if "path" in table:
        return ChosenMetric.name
    return QueueDeviation.name if "target" in table else Knee.name


def _inline_table(text: str, scenario: Scenario) -> dict[str, Any]:
    try:
        [(key, table)] = parse_toml(f"objective = {text}").items()
    except ValueError:
        key, table = "", None
    if key != "objective" or not isinstance(table, dict):
        accepted = """a table in TOML, like '{ name = "jain-index" }'"""
        raise ScenarioError(_PLACE, text, accepted, scenario.origin)
    return table


def _statement(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    form = _STATEMENT.fullmatch(text)
    if form is None:
        accepted = (
            '"minimise METRIC" or "maximise METRIC", optionally "subject to CONSTRAINT", like '
            '"minimise links.bottleneck.sojourn_ms.p99 subject to '
            'links.bottleneck.utilization >= 0.98"'
        )
        raise FieldError("", text, accepted)
    table = {"name": ChosenMetric.name, "path": form["path"]}
    if form["direction"] is not None:
        table["direction"] = form["direction"]
    constraints = form["constraints"]
    return table, () if constraints is None else tuple(re.split(r"\s+and\s+", constraints))
