"""The same scenario with other values: those of a search, or of a user in Python."""

from __future__ import annotations

from copy import deepcopy
from numbers import Real
from typing import TYPE_CHECKING, TypeGuard, get_args

from vermilion.scenario.algorithms import AUTOMATIC
from vermilion.scenario.carry_over import with_discipline
from vermilion.scenario.checked import checked
from vermilion.scenario.errors import FieldError, ScenarioError
from vermilion.scenario.overrides import set_value
from vermilion.scenario.paths import fields_at, find_parameter, value_at
from vermilion.scenario.quantities import Quantity, QuantityRange, exact_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario.written_scenario import AnyScenario, WrittenScenario


def with_values(scenario: AnyScenario, values: Mapping[str, object]) -> AnyScenario:
    """A checked copy with other values; see :meth:`Scenario.with_values`."""
    rest = {path: value for path, value in values.items() if not _link_of(scenario, path)}
    if len(rest) < len(values):
        scenario = _with_disciplines(scenario, values)
        if not rest:
            return scenario
    document = deepcopy(dict(scenario.document))
    try:
        for path, value in rest.items():
            set_value(document, path, _as_written(scenario, path, value))
    except FieldError as error:
        raise error.at(scenario.origin) from None
    return checked(type(scenario), document, scenario.origin)


def _with_disciplines(scenario: AnyScenario, values: Mapping[str, object]) -> AnyScenario:
    """With the disciplines among the values, which other values may be parameters of."""
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
    """The link whose discipline is at a path; "" for any other path."""
    link = path.removeprefix("links.").removesuffix(".queue.discipline")
    known = path == f"links.{link}.queue.discipline" and link in scenario.links
    return link if known else ""


def _as_written(scenario: WrittenScenario, path: str, value: object) -> object:
    """A value in SI units as a scenario would spell it."""
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
        rule = _rule(parts)
        if rule is None:
            return value
        dimension = rule.dimension
    if isinstance(value, list | tuple):
        if not all(map(_is_number, value)):
            return value  # what it should be is said where it is checked
        return " .. ".join(exact_text(float(end), dimension) for end in value)
    return exact_text(float(value), dimension) if _is_number(value) else value


def _is_number(value: object) -> TypeGuard[Real]:
    """Whether it can be a quantity in SI units."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and float(value) is not None
    except OverflowError:  # a whole number beyond all that has a unit
        return False


def _rule(parts: Sequence[str]) -> Quantity | QuantityRange | None:
    """What the field at a path accepts, if that is a quantity."""
    field = fields_at(parts[:-1]).get(parts[-1])
    if field is None:
        return None
    # The rules of an optional field are those of the part that is not None.
    rules = [*field.metadata]
    for part in get_args(field.annotation):
        rules += [*getattr(part, "__metadata__", ()), getattr(part, "quantity", None)]
    return next((rule for rule in rules if isinstance(rule, Quantity | QuantityRange)), None)
