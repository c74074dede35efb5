"""Copies of a scenario with other values, from a search or from Python."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeGuard, get_args

from vermilion.scenario import algorithms
from vermilion.scenario.algorithms import AUTOMATIC
from vermilion.scenario.checked import checked
from vermilion.scenario.errors import FieldError, ScenarioError, errors_of
from vermilion.scenario.overrides import set_value, value_of_text
from vermilion.scenario.quantities import Quantity, QuantityRange, exact_text
from vermilion.scenario.structure import fields_at, find_parameter, value_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vermilion.scenario.algorithms import Algorithm
    from vermilion.scenario.written_scenario import AnyScenario, WrittenScenario


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """Parameters of a queue after its discipline was replaced: kept, and left behind.

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
    with errors_of(scenario.origin):
        after, own = _parse_algorithm(name, "discipline", algorithms.discipline)
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
    with errors_of(scenario.origin):
        after, own = _parse_algorithm(
            name, "sender", lambda named: algorithms.sender(named, "sender")
        )
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


def _parse_algorithm(
    given: object, field: str, known: Callable[[object], Algorithm]
) -> tuple[Algorithm, dict[str, object]]:
    """Read an algorithm and its parameters from "codel:target=10 ms"."""
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
    """Return whether a parameter means the same to another algorithm, which accepts its value."""
    row, other = before.parameters[name], after.parameters.get(name)
    same = other is not None and (row.kind, row.unit) == (other.kind, other.unit)
    return same and _accepts(after, name, value)


def _accepts(algorithm: Algorithm, name: str, value: object) -> bool:
    """Return whether the new discipline accepts the value; "automatic" may be for one only."""
    try:
        algorithm.parse_one(name, value)
    except FieldError:
        return False
    return True


def with_values(scenario: AnyScenario, values: Mapping[str, object]) -> AnyScenario:
    """A checked copy with other values; see :meth:`Scenario.with_values`."""
    rest = {path: value for path, value in values.items() if not _link_of(scenario, path)}
    if len(rest) < len(values):
        scenario = _with_disciplines(scenario, values)
        if not rest:
            return scenario
    document = deepcopy(dict(scenario.document))
    with errors_of(scenario.origin):
        for path, value in rest.items():
            set_value(document, path, _to_scenario_value(scenario, path, value))
    return checked(type(scenario), document, scenario.origin)


def _with_disciplines(scenario: AnyScenario, values: Mapping[str, object]) -> AnyScenario:
    """Set the disciplines first: other values may be parameters of them."""
    for path, value in values.items():
        link = _link_of(scenario, path)
        if link:
            try:
                scenario, _ = with_discipline(scenario, value, [link])
            except ScenarioError as error:
                # Where it is written is known here.
                place = path if error.field == "discipline" else error.field
                raise ScenarioError(place, error.value, error.accepted, error.origin) from None
    return scenario


def _link_of(scenario: WrittenScenario, path: str) -> str:
    """Link whose discipline is at a path; "" for any other path."""
    link = path.removeprefix("links.").removesuffix(".queue.discipline")
    known = path == f"links.{link}.queue.discipline" and link in scenario.links
    return link if known else ""


def _to_scenario_value(scenario: WrittenScenario, path: str, value: object) -> object:
    """Spell a value in SI units as a scenario would."""
    if value is None:
        return AUTOMATIC
    if isinstance(value, bool | str):
        return value
    parts = path.split(".")
    if parts[0] == "changes" and parts[2:3] == ["queue"] and parts[1].isdecimal():
        change = value_at(scenario, ".".join(parts[:2]))
        path = ".".join(["links", change.link, *parts[2:]])
    try:
        dimension = find_parameter(scenario, path).dimension
    except FieldError:
        rule = _quantity_at(parts)
        if rule is None:
            return value
        dimension = rule.dimension
    if isinstance(value, list | tuple):
        if not all(map(_is_number, value)):
            return value  # what it should be is said where it is checked
        return " .. ".join(exact_text(float(end), dimension) for end in value)
    return exact_text(float(value), dimension) if _is_number(value) else value


def _is_number(value: object) -> TypeGuard[Real]:
    """Return whether it can be a quantity in SI units."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and float(value) is not None
    except OverflowError:  # a whole number beyond all that has a unit
        return False


def _quantity_at(parts: Sequence[str]) -> Quantity | QuantityRange | None:
    """Quantity that the field at a path accepts, if it accepts one."""
    field = fields_at(parts[:-1]).get(parts[-1])
    if field is None:
        return None
    # The rules of an optional field are those of the part that is not None.
    rules = [*field.metadata]
    for part in get_args(field.annotation):
        rules += [*getattr(part, "__metadata__", ()), getattr(part, "quantity", None)]
    return next((rule for rule in rules if isinstance(rule, Quantity | QuantityRange)), None)
