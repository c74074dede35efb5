"""The same scenario with another queue discipline: what both can be told is carried over."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vermilion.scenario import algorithms
from vermilion.scenario.errors import FieldError
from vermilion.scenario.load import scenario_from_document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vermilion.scenario.algorithms import Algorithm
    from vermilion.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """What became of a queue's parameters when its discipline was replaced.

    Attributes:
        link: the link's name.
        before: the discipline that was replaced.
        after: the one that took its place.
        kept: the parameters that both have, with the same unit, and that were carried over.
        left: those that were set before and mean nothing to the new discipline.
    """

    link: str
    before: str
    after: str
    kept: tuple[str, ...]
    left: tuple[str, ...]

    def __str__(self) -> str:
        """A line about it."""
        kept = ", ".join(self.kept) or "nothing"
        left = f"; not known to it: {', '.join(self.left)}" if self.left else ""
        return f"{self.after} on {self.link} takes over from {self.before}: {kept}{left}"


def with_discipline(
    scenario: Scenario, name: str, links: Iterable[str] | None = None
) -> tuple[Scenario, list[CarriedOver]]:
    """A checked copy whose links have the discipline ``name``.

    Parameters that the scenario sets and that the new discipline has too, with the same unit,
    keep their values; its others have their defaults. A ``[tuning]`` table speaks of the
    parameters of the old discipline and is left out where one is replaced.

    Args:
        scenario: that is copied.
        name: of the discipline.
        links: whose queues it takes over; all of them unless given.

    Raises:
        ScenarioError: there is no such discipline, or it refuses a value carried over.
    """
    try:
        after = algorithms.discipline(name)
    except FieldError as error:
        raise error.at(scenario.origin) from None
    document = deepcopy(dict(scenario.document))
    reports = []
    for link in scenario.links if links is None else links:
        table = document["links"][link]
        before = scenario.links[link].queue.algorithm
        if before.name == after.name:
            continue
        report = _replace(link, table["queue"], before, after)
        table["queue"] = {
            "discipline": after.name,
            **{kept: table["queue"][kept] for kept in report.kept},
        }
        reports.append(report)
    if not reports:
        return scenario, reports
    document.pop("tuning", None)
    return scenario_from_document(document, scenario.origin), reports


def _replace(link: str, queue: dict[str, Any], before: Algorithm, after: Algorithm) -> CarriedOver:
    kept: list[str] = []
    left: list[str] = []
    for name, value in queue.items():
        if name == "discipline":
            continue
        row, other = before.parameters[name], after.parameters.get(name)
        same = other is not None and (row.kind, row.unit) == (other.kind, other.unit)
        (kept if same and _accepts(after, name, value) else left).append(name)
    return CarriedOver(link, before.name, after.name, tuple(kept), tuple(left))


def _accepts(algorithm: Algorithm, name: str, value: object) -> bool:
    """Whether the new discipline takes the value; "automatic" for one need not be for another."""
    try:
        algorithm.parse_one(name, value)
    except FieldError:
        return False
    return True
