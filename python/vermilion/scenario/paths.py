"""Paths like ``links.bottleneck.queue.weight``: what they name and what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vermilion.scenario.errors import FieldError, did_you_mean
from vermilion.scenario.table import Table
from vermilion.scenario.tables import Queue, Sender
from vermilion.scenario.written_scenario import WrittenScenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic.fields import FieldInfo

    from vermilion.scenario.algorithms import Parameter


def value_at(scenario: WrittenScenario, path: str) -> Any:  # noqa: ANN401 - whatever is there
    """The value at a path, in SI units; see :meth:`Scenario.get`."""
    try:
        return _find(scenario, path)
    except FieldError as error:
        raise error.at(scenario.origin) from None


def parameter_at(scenario: WrittenScenario, path: str) -> Parameter:
    """The table row of a parameter; see :meth:`Scenario.parameter`."""
    try:
        return find_parameter(scenario, path)
    except FieldError as error:
        raise error.at(scenario.origin) from None


def find_parameter(scenario: WrittenScenario, path: str) -> Parameter:
    """The table row of a discipline's or sender's parameter.

    Raises:
        FieldError: the path names no such parameter.
    """
    parent, _, name = path.rpartition(".")
    holder = _find(scenario, parent) if parent else scenario
    if not isinstance(holder, Queue | Sender):
        accepted = "a parameter of a queue or a sender, like links.bottleneck.queue.limit"
        raise FieldError("path", path, accepted)
    table = holder.algorithm.parameters
    if name not in table:
        raise FieldError("path", path, _existing(parent, name, table))
    return table[name]


def fields_at(location: Sequence[str]) -> Mapping[str, FieldInfo]:
    """The fields of the table at a location of the scenario; none where there is no table."""
    fields: Mapping[str, FieldInfo] = WrittenScenario.model_fields
    for part in location:
        field = fields.get(part)
        if field is not None:
            table = _table_in(field.annotation)
            fields = {} if table is None else table.model_fields
        # Otherwise it is a link's or group's name or a change's number: the fields stay.
    return fields


def _table_in(annotation: Any) -> type[Table] | None:  # noqa: ANN401 - a type expression
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _table_in(argument)
        if found is not None:
            return found
    return None


def _find(scenario: WrittenScenario, path: str) -> Any:  # noqa: ANN401 - whatever is there
    here: Any = scenario
    walked = ""
    for part in path.split("."):
        names = names_in(here)
        if part not in names:
            raise FieldError("path", path, _existing(walked, part, names))
        here = _step(here, part)
        walked = f"{walked}.{part}" if walked else part
    return here


def names_in(holder: object) -> list[str]:
    """The names that may follow a path that leads to ``holder``."""
    if isinstance(holder, Queue):
        return ["discipline", *holder.algorithm.parameters]
    if isinstance(holder, Sender):
        return ["congestion_control", *holder.algorithm.parameters]
    if isinstance(holder, Table):
        return list(type(holder).model_fields)
    if isinstance(holder, dict):
        return list(holder)
    if isinstance(holder, tuple):
        return [str(index) for index in range(len(holder))]
    return []


def _step(holder: Any, part: str) -> Any:  # noqa: ANN401 - whatever is there
    if isinstance(holder, Queue | Sender) and part in holder.algorithm.parameters:
        return holder.algorithm.complete(holder.parameters)[part]
    if isinstance(holder, dict):
        return holder[part]
    if isinstance(holder, tuple):
        return holder[int(part)]
    return getattr(holder, part)


def _existing(walked: str, part: str, names: Iterable[str]) -> str:
    place = f"in {walked}: " if walked else ""
    return f"a path that exists, {place}{did_you_mean(part, names)}"
