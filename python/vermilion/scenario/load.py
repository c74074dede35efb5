"""From a file, a name or a text to a checked :class:`Scenario`."""

from __future__ import annotations

import os
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from vermilion.scenario.errors import (
    MISSING,
    FieldError,
    ScenarioError,
    did_you_mean,
    from_core,
    likeliest,
)
from vermilion.scenario.library import scenario_names, scenario_text
from vermilion.scenario.model import Scenario, Source
from vermilion.scenario.overrides import apply_overrides
from vermilion.scenario.paths import fields_at
from vermilion.scenario.quantities import Quantity, QuantityRange
from vermilion.scenario.queue_target import with_target_in_packets
from vermilion.scenario.structure import check_structure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

LARGEST_FILE_BYTES: Final = 16 * 1024 * 1024
"""A scenario is a page of text; a file larger than this is something else."""


def load_scenario(name_or_path: str | Path, overrides: Sequence[str] = ()) -> Scenario:
    """Reads a scenario from the library or a file.

    Args:
        name_or_path: a shipped scenario's name ("varying-load") or the path of a TOML file.
        overrides: texts "path=value", applied in order before anything is checked.

    Raises:
        ScenarioError: whatever is wrong with the file or the scenario.
    """
    origin = os.fspath(name_or_path)
    text = None
    if not isinstance(name_or_path, Path):
        text = scenario_text(name_or_path)
    if text is None:
        text = _read(origin)
    return _from_text(text, origin, overrides)


def parse_scenario(text: str, origin: str = "scenario") -> Scenario:
    """Reads a scenario from TOML text; ``origin`` names it in messages.

    Raises:
        ScenarioError: whatever is wrong with it.
    """
    return _from_text(text, origin, ())


def scenario_from_document(document: Mapping[str, Any], origin: str = "scenario") -> Scenario:
    """Makes a scenario from nested dictionaries that hold what TOML would hold.

    Raises:
        ScenarioError: whatever is wrong with it.
    """
    try:
        return _build(deepcopy(dict(document)), origin)
    except RecursionError:
        raise ScenarioError("", "nested too deeply", "the tables of a scenario", origin) from None


def _from_text(text: str, origin: str, overrides: Sequence[str]) -> Scenario:
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise ScenarioError("", "nested too deeply", "the tables of a scenario", origin) from None
    except ValueError as error:  # TOMLDecodeError is one; integers of 5000 digits are another
        problem = "a number of too many digits"
        if isinstance(error, tomllib.TOMLDecodeError):
            problem = _one_line(error)
        accepted = "a scenario in TOML (https://toml.io)"
        raise ScenarioError("", f"is not valid TOML: {problem}", accepted, origin) from None
    try:
        apply_overrides(document, overrides)
        return _build(document, origin)
    except FieldError as error:
        raise error.at(origin) from None
    except RecursionError:
        raise ScenarioError("", "nested too deeply", "the tables of a scenario", origin) from None


def _read(origin: str) -> str:
    """The text of a file; every way in which that fails has its own words."""
    accepted = "a TOML file or a shipped scenario (vermilion scenarios lists them)"
    try:
        with Path(origin).open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        accepted += likeliest(origin, scenario_names())
        raise ScenarioError("", "no such file", accepted, origin) from None
    except IsADirectoryError:
        raise ScenarioError("", "is a directory", accepted, origin) from None
    except OSError as error:
        raise ScenarioError("", f"cannot be read ({error.strerror})", accepted, origin) from None
    except ValueError:
        raise ScenarioError("", "is not a file name", accepted, ascii(origin)) from None
    if len(content) > LARGEST_FILE_BYTES:
        raise ScenarioError("", "is larger than 16 MiB", accepted, origin)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is not text in UTF-8 (byte {error.start})"
        raise ScenarioError("", problem, accepted, origin) from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _build(document: dict[str, Any], origin: str) -> Scenario:
    try:
        scenario = Scenario.model_validate(document, context=Source(document, origin))
        check_structure(scenario)
        scenario.read_transfers()
    except ValidationError as error:
        raise _first_problem(error).at(origin) from None
    except FieldError as error:
        raise error.at(origin) from None
    check_with_core(scenario)
    try:
        return with_target_in_packets(scenario)
    except FieldError as error:
        raise error.at(origin) from None


def check_with_core(scenario: Scenario) -> None:
    """Lets the core build the scenario, which knows rules of its algorithms that no table says.

    Raises:
        ScenarioError: the core refuses it.
    """
    from vermilion import _core

    try:
        _core.check(scenario.core_json())
    except _core.ParameterError as error:
        raise from_core(error, scenario.origin) from None


def _first_problem(error: ValidationError) -> FieldError:
    """The error to show: a misspelt key before the missing key that it stands for."""
    details = error.errors(include_url=False)
    unknown = [detail for detail in details if detail["type"] == "extra_forbidden"]
    return _field_error((unknown or details)[0])


def _field_error(detail: ErrorDetails) -> FieldError:
    location = [str(part) for part in detail["loc"]]
    path = ".".join(location)
    kind = detail["type"]
    if kind == "value_error":
        raised = detail["ctx"]["error"]
        if isinstance(raised, FieldError):
            return raised.under(path) if path else raised
    if kind == "extra_forbidden":
        known = fields_at(location[:-1])
        place = ".".join(location[:-1]) or "a scenario"
        return FieldError(
            path, detail["input"], f"a key of {place}: {did_you_mean(location[-1], known)}"
        )
    if kind == "missing":
        fields = fields_at(location[:-1])
        return FieldError(path, MISSING, _accepted_by(fields.get(location[-1])))
    accepted = _EXPECTED.get(kind)
    return FieldError(path, detail["input"], accepted or _plain(detail["msg"]))


_EXPECTED: Final = {
    "bool_type": "true or false",
    "dict_type": "a table",
    "model_type": "a table",
    "string_type": "a text in quotes",
    "tuple_type": "a list",
}


def _plain(message: str) -> str:
    text = message.removeprefix("Input should be ")
    return text[:1].lower() + text[1:]


def _accepted_by(field: FieldInfo | None) -> str:
    if field is None:
        return "a value"
    for entry in field.metadata:
        if isinstance(entry, Quantity | QuantityRange):
            return entry.accepted()
    return field.description or "a value"
