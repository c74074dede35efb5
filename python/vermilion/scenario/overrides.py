"""Changing a scenario before it is checked: ``--set path=value`` and values of a search."""

from __future__ import annotations

import fnmatch
import tomllib
from copy import deepcopy
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, get_args

from vermilion.scenario.algorithms import AUTOMATIC
from vermilion.scenario.errors import FieldError, ScenarioError, did_you_mean
from vermilion.scenario.paths import fields_at, find_parameter
from vermilion.scenario.quantities import Quantity, QuantityRange, exact_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario.model import Scenario

# Tables that may be written as a single word, and the key which that word is the value of.
_SHORT_FORMS: Final = {"sender": "congestion_control", "traffic": "kind"}
_OPTIONAL_TABLES: Final = {"loss", "queue", "space", "traffic", "tuning"}
_NAMED_TABLES: Final = (["links"], ["flows"])


def apply_overrides(document: dict[str, Any], overrides: Sequence[str]) -> None:
    """Applies texts "path=value" to a document, in order.

    A value is read as TOML if it is TOML, and taken as a text otherwise, so that
    ``links.bottleneck.rate=8 Mbit/s`` needs no quotes within the shell's. A ``*`` in the name of a
    link or of a group of flows stands for any letters: ``flows.*.count=4`` sets all groups.

    Raises:
        FieldError: no "=", or a path that leads nowhere.
    """
    for override in overrides:
        path, equals, text = override.partition("=")
        path = path.strip()
        if not equals or not path:
            accepted = "path=value, like links.bottleneck.rate='8 Mbit/s'"
            raise FieldError("--set", override, accepted)
        try:
            for one in _paths_meant(document, path):
                set_value(document, one, value_of_text(text))
        except FieldError as error:
            raise FieldError("--set", error.value, error.accepted) from None


def with_values(scenario: Scenario, values: Mapping[str, object]) -> Scenario:
    """A checked copy with other values; see :meth:`Scenario.with_values`."""
    from vermilion.scenario.load import scenario_from_document

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
    return scenario_from_document(document, scenario.origin)


def _with_disciplines(scenario: Scenario, values: Mapping[str, object]) -> Scenario:
    """With the disciplines among the values, which other values may be parameters of."""
    from vermilion.scenario.carry_over import with_discipline

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


def _link_of(scenario: Scenario, path: str) -> str:
    """The link whose discipline is at a path; "" for any other path."""
    link = path.removeprefix("links.").removesuffix(".queue.discipline")
    known = path == f"links.{link}.queue.discipline" and link in scenario.links
    return link if known else ""


def _paths_meant(document: dict[str, Any], path: str) -> list[str]:
    """The path itself, or those that its name with ``*`` stands for."""
    table, _, rest = path.partition(".")
    pattern, dot, below = rest.partition(".")
    if "*" not in pattern or [table] not in _NAMED_TABLES:
        return [path]
    here = document.get(table)
    names = [str(name) for name in here] if isinstance(here, dict) else []
    # Only "*" is special here: names have no other letters that fnmatch knows.
    meant = fnmatch.filter(names, pattern)
    if not meant:
        raise _leads_nowhere(path, [table], pattern, names)
    return [f"{table}.{name}{dot}{below}" for name in meant]


def set_value(document: dict[str, Any], path: str, value: object) -> None:
    """Sets one value; tables that may stay away are made on the way.

    What a table accepts is said when the scenario is checked; here only the way to it counts.

    Raises:
        FieldError: the path leads nowhere.
    """
    parts = path.split(".")
    if parts[:2] == ["tuning", "space"] and len(parts) > 2:  # noqa: PLR2004 - below the table
        # The keys of this table are paths themselves.
        parts = ["tuning", "space", ".".join(parts[2:])]
    here: Any = document
    for position, part in enumerate(parts[:-1]):
        here = _descend(here, part, parts[:position], path)
    last, walked = parts[-1], parts[:-1]
    if isinstance(here, list):
        here[_index(here, last, walked, path)] = value
    elif not isinstance(here, dict) or (walked in _NAMED_TABLES and last not in here):
        raise _leads_nowhere(path, walked, last, here)
    else:
        here[last] = value


def _descend(here: Any, part: str, walked: list[str], path: str) -> Any:  # noqa: ANN401 - TOML
    if isinstance(here, list):
        return here[_index(here, part, walked, path)]
    if not isinstance(here, dict):
        raise _leads_nowhere(path, walked, part, here)
    below = here.get(part)
    if isinstance(below, str) and part in _SHORT_FORMS:
        below = here[part] = {_SHORT_FORMS[part]: below}
    if below is None and part in _OPTIONAL_TABLES:
        below = here[part] = {}
    if not isinstance(below, dict | list):
        raise _leads_nowhere(path, walked, part, here)
    return below


def _index(here: list[Any], part: str, walked: list[str], path: str) -> int:
    indices = [str(index) for index in range(len(here))]
    if part not in indices:
        raise _leads_nowhere(path, walked, part, indices)
    return int(part)


def _leads_nowhere(path: str, walked: list[str], part: str, here: object) -> FieldError:
    names = [str(name) for name in here] if isinstance(here, dict | list) else []
    place = f"in {'.'.join(walked)}: " if walked else ""
    return FieldError("path", path, f"a path that exists, {place}{did_you_mean(part, names)}")


def value_of_text(text: str) -> object:
    """What a text stands for: a TOML value if it is one, and itself otherwise."""
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text.strip()
    # A line break in the text could have added keys of its own.
    return read["value"] if len(read) == 1 else text.strip()


def _as_written(scenario: Scenario, path: str, value: object) -> object:
    """A value in SI units as a scenario would spell it."""
    if value is None:
        return AUTOMATIC
    if isinstance(value, bool | str):
        return value
    parts = path.split(".")
    if parts[0] == "changes" and parts[2:3] == ["queue"] and parts[1].isdecimal():
        change = scenario.get(".".join(parts[:2]))
        path = ".".join(["links", change.link, *parts[2:]])
    try:
        dimension = find_parameter(scenario, path).dimension
    except FieldError:
        rule = _rule(parts)
        if rule is None:
            return value
        dimension = rule.dimension
    if isinstance(value, list | tuple):
        return " .. ".join(exact_text(float(end), dimension) for end in value)
    return exact_text(float(value), dimension) if isinstance(value, Real) else value


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
