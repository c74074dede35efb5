"""The same scenario with another discipline or sender: what both can be told is carried over."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vermilion.scenario import algorithms
from vermilion.scenario.checked import checked
from vermilion.scenario.errors import FieldError
from vermilion.scenario.overrides import value_of_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from vermilion.scenario.algorithms import Algorithm
    from vermilion.scenario.written_scenario import AnyScenario


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
    scenario: AnyScenario, name: object, links: Iterable[str] | None = None
) -> tuple[AnyScenario, list[CarriedOver]]:
    """A checked copy whose links have another discipline.

    Parameters that the scenario sets and that the new discipline has too, with the same unit,
    keep their values; its others have their defaults. A ``[tuning]`` table speaks of the
    parameters of the old discipline and is left out where one is replaced.

    Args:
        scenario: that is copied.
        name: of the discipline, and after a colon parameters of its own if it is to have any:
            "codel" or "codel:target=10 ms,interval=50 ms".
        links: whose queues it takes over; all of them unless given.

    Raises:
        ScenarioError: there is no such discipline, or it refuses a value given or carried over.
    """
    try:
        after, own = _named(name, "discipline", algorithms.discipline)
    except FieldError as error:
        raise error.at(scenario.origin) from None
    document = deepcopy(dict(scenario.document))
    reports = []
    for link in scenario.links if links is None else links:
        table = document["links"][link]
        before = scenario.links[link].queue.algorithm
        if before.name != after.name:
            report = _replace(link, table["queue"], before, after, own)
            kept = {each: table["queue"][each] for each in report.kept}
            table["queue"] = {"discipline": after.name, **kept}
            reports.append(report)
        table["queue"].update(own)
    if not reports and not own:
        return scenario, reports
    if reports:
        document.pop("tuning", None)
    return checked(type(scenario), document, scenario.origin), reports


def with_sender(
    scenario: AnyScenario, name: object, groups: Iterable[str] | None = None
) -> AnyScenario:
    """A checked copy whose flows have another sender, parameters carried over likewise.

    Args:
        scenario: that is copied.
        name: of the sender, and after a colon parameters of its own if it is to have any: "cubic"
            or "cubic:hystart=false,recovery=rack".
        groups: of flows that have it then; all that have a sender unless given.

    Raises:
        ScenarioError: there is no such sender, or it refuses a value given or carried over.
    """
    try:
        after, own = _named(name, "sender", lambda named: algorithms.sender(named, "sender"))
    except FieldError as error:
        raise error.at(scenario.origin) from None
    document = deepcopy(dict(scenario.document))
    chosen = [group for group, table in scenario.flows.items() if table.sender is not None]
    for group in chosen if groups is None else groups:
        given = document["flows"][group].get("sender")
        table = dict(given) if isinstance(given, dict) else {}
        sender = scenario.flows[group].sender
        before = after if sender is None else sender.algorithm
        kept = {
            key: value
            for key, value in table.items()
            if key != "congestion_control" and _is_shared(before, after, key, value)
        }
        if before.name != after.name:
            document.pop("tuning", None)
        document["flows"][group]["sender"] = {"congestion_control": after.name, **kept, **own}
    return checked(type(scenario), document, scenario.origin)


def _named(
    given: object, field: str, known: Callable[[object], Algorithm]
) -> tuple[Algorithm, dict[str, object]]:
    """An algorithm and the parameters of its own, from "codel:target=10 ms"."""
    if not isinstance(given, str):
        return known(given), {}
    name, _, settings = given.partition(":")
    after = known(name)
    own: dict[str, object] = {}
    for setting in filter(str.strip, settings.split(",")):
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            accepted = 'path=value for each parameter after the colon, like "codel:target=10 ms"'
            raise FieldError(field, given, accepted)
        own[key.strip()] = value_of_text(value)
    return after, own


def _replace(
    link: str,
    queue: dict[str, Any],
    before: Algorithm,
    after: Algorithm,
    own: Mapping[str, object],
) -> CarriedOver:
    kept: list[str] = []
    left: list[str] = []
    for name, value in queue.items():
        if name == "discipline" or name in own:
            continue
        (kept if _is_shared(before, after, name, value) else left).append(name)
    return CarriedOver(link, before.name, after.name, tuple(kept), tuple(left))


def _is_shared(before: Algorithm, after: Algorithm, name: str, value: object) -> bool:
    """Whether a parameter means the same to another algorithm, which takes its value."""
    row, other = before.parameters[name], after.parameters.get(name)
    same = other is not None and (row.kind, row.unit) == (other.kind, other.unit)
    return same and _accepts(after, name, value)


def _accepts(algorithm: Algorithm, name: str, value: object) -> bool:
    """Whether the new discipline takes the value; "automatic" for one need not be for another."""
    try:
        algorithm.parse_one(name, value)
    except FieldError:
        return False
    return True
