"""Every objective by name: one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vermilion.objectives.constraint import Constraint
from vermilion.objectives.published_queue_variance import PublishedQueueVariance
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.scenario.errors import MISSING, ScenarioError, did_you_mean
from vermilion.scenario.quantities import PACKETS, Quantity, QuantityError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.objectives.interface import Objective
    from vermilion.scenario import Scenario

_OBJECTIVES: Final[tuple[type[Objective], ...]] = (
    QueueDeviation,
    PublishedQueueVariance,
)

OBJECTIVES: Final[Mapping[str, type[Objective]]] = {
    objective.name: objective for objective in _OBJECTIVES
}
"""The objectives by name, the default first."""

DEFAULT_CONSTRAINT: Final = "links.{link}.utilization >= 0.95 of reference"
"""What every objective is subject to when nothing is said: no more than a twentieth of what the
setting in force carries may be given up."""


def objective_from_table(table: Mapping[str, Any], scenario: Scenario) -> Objective:
    """The objective that a table like ``[tuning] objective = { ... }`` describes.

    Args:
        table: ``name`` (by default the first of :data:`OBJECTIVES`), ``link``, ``target``
            (packets, or a text like "30 packets") and optionally ``over``.
        scenario: to which the link belongs.

    Raises:
        ScenarioError: naming the field that is not accepted.
    """

    def refused(field: str, accepted: str) -> ScenarioError:
        value = table.get(field, MISSING)
        return ScenarioError(f"tuning.objective.{field}", value, accepted, scenario.origin)

    name = table.get("name", QueueDeviation.name)
    if name not in OBJECTIVES:
        raise refused("name", did_you_mean(str(name), OBJECTIVES))
    link, over = table.get("link"), table.get("over", "phases")
    if link not in scenario.links:
        raise refused("link", f"a link of this scenario, {did_you_mean(str(link), scenario.links)}")
    if over not in ("phases", "total"):
        raise refused("over", 'one of: "phases", "total"')
    target = table.get("target")
    quantity = Quantity(PACKETS)
    if isinstance(target, int | float) and not isinstance(target, bool):
        target = f"{target!r} packets"  # a bare number is packets, as in a scenario's model
    try:
        packets = float(quantity.parse(target))
    except QuantityError:
        raise refused("target", quantity.accepted()) from None
    return OBJECTIVES[name](link, packets, over)


def objective_of(scenario: Scenario) -> Objective:
    """The objective that the scenario itself names.

    Raises:
        ScenarioError: it names none.
    """
    if scenario.tuning is None:
        accepted = 'a table, like { name = "queue-deviation", link = "...", target = "30 packets" }'
        raise ScenarioError("tuning.objective", MISSING, accepted, scenario.origin)
    table = scenario.tuning.objective.model_dump(exclude_none=True)
    return objective_from_table(table, scenario)


def constraints_of(
    scenario: Scenario, objective: Objective, texts: Iterable[str] | None = None
) -> tuple[Constraint, ...]:
    """The constraints of a tuning.

    Args:
        scenario: to which the links belong.
        objective: what they accompany.
        texts: the constraints; by default the scenario's own, and if it has none,
            :data:`DEFAULT_CONSTRAINT` for the objective's link. An empty list means none.

    Raises:
        ScenarioError: a text that is not accepted.
    """
    if texts is None and scenario.tuning is not None:
        texts = scenario.tuning.constraints
    if texts is None:
        texts = (DEFAULT_CONSTRAINT.format(link=objective.link),)
    return tuple(
        Constraint.parse(text, field=f"tuning.constraints.{index}", scenario=scenario)
        for index, text in enumerate(texts)
    )
