"""Reading a file, a name of the library or a text into a checked :class:`Scenario`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario.checked import checked, nested_too_deeply
from vermilion.scenario.errors import FieldError, ScenarioError, likeliest, not_text
from vermilion.scenario.library import scenario_names, scenario_text
from vermilion.scenario.model import Scenario
from vermilion.scenario.overrides import apply_overrides
from vermilion.scenario.toml_text import TomlError, parse_toml

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST_FILE_BYTES: Final = 16 * 1024 * 1024
"""A scenario is a page of text; a file larger than this is something else."""


def load_scenario(name_or_path: str | Path, overrides: Sequence[str] = ()) -> Scenario:
    """Read a scenario from the library or a file.

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
        text = _read_text(origin)
    return _from_text(text, origin, overrides)


def parse_scenario(text: str, origin: str = "scenario") -> Scenario:
    """Read a scenario from TOML text; ``origin`` names it in messages.

    Raises:
        ScenarioError: whatever is wrong with it.
    """
    return _from_text(text, origin, ())


def scenario_from_document(document: Mapping[str, Any], origin: str = "scenario") -> Scenario:
    """Make a scenario from the nested dictionaries of its TOML.

    Raises:
        ScenarioError: whatever is wrong with it.
    """
    return checked(Scenario, _with_queue_tables(document), origin)


def _with_queue_tables(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document with ``queue = "codel"`` of a link as the table that it stands for."""
    links = document.get("links")
    if not isinstance(links, Mapping):
        return document
    written = {
        name: {**link, "queue": {"discipline": link["queue"]}}
        for name, link in links.items()
        if isinstance(link, Mapping) and isinstance(link.get("queue"), str)
    }
    return {**document, "links": {**links, **written}} if written else document


def _from_text(text: str, origin: str, overrides: Sequence[str]) -> Scenario:
    try:
        document = parse_toml(text)
    except TomlError as error:
        accepted = "a scenario in TOML (https://toml.io)"
        raise ScenarioError("", f"is not valid TOML: {error}", accepted, origin) from None
    try:
        apply_overrides(document, overrides)
        return checked(Scenario, _with_queue_tables(document), origin)
    except FieldError as error:
        raise error.at(origin) from None
    except RecursionError:
        raise nested_too_deeply(origin) from None


def _toml_files_beside(origin: str) -> list[str]:
    """TOML files in the folder of a missing one, as one would type them."""
    folder = Path(origin).parent
    try:
        return [str(each) for each in folder.iterdir() if each.suffix == ".toml"]
    except (OSError, ValueError):
        return []


def _read_text(origin: str) -> str:
    """Read a file, with an own message for each kind of failure."""
    accepted = "a TOML file or a shipped scenario (vermilion scenarios lists them)"
    if not origin:
        raise ScenarioError("scenario", origin, accepted)
    try:
        with Path(origin).open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        accepted += likeliest(origin, [*_toml_files_beside(origin), *scenario_names()])
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
        accepted = "a scenario: a text file in TOML and UTF-8"
        raise ScenarioError("", not_text(content, error), accepted, origin) from None
