"""The example scenarios that come with the package, by name."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from vermilion.files.document import document

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


def scenario_names() -> list[str]:
    """The names that :func:`vermilion.load_scenario` knows, sorted.

    Those of the source papers' scenarios begin with "papers/".
    """
    shelves = [("", _directory()), ("papers/", _directory() / "papers")]
    return sorted(
        shelf + entry.name.removesuffix(".toml")
        for shelf, directory in shelves
        for entry in directory.iterdir()
        if entry.name.endswith(".toml")
    )


def scenario_text(name: str) -> str | None:
    """The TOML of a shipped scenario; ``None`` if there is none of this name."""
    if name not in scenario_names():
        return None
    return (_directory() / f"{name}.toml").read_text(encoding="utf-8")


@document("name title description")
class ScenarioSummary(NamedTuple):
    """A shipped scenario."""

    name: str
    title: str
    description: str


def scenario_summaries() -> list[ScenarioSummary]:
    """Name, title and description of each shipped scenario."""
    from vermilion.scenario.toml_text import parse_toml

    summaries = []
    for name in scenario_names():
        table = parse_toml(scenario_text(name) or "")
        summaries.append(ScenarioSummary(name, str(table["title"]), str(table["description"])))
    return summaries


def _directory() -> Traversable:
    return resources.files("vermilion.scenario") / "library"
