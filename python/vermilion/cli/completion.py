"""Completion in a shell: scenarios, disciplines, profiles, searches, paths.

These run at every Tab, so they load no more than they need, and a mistake in what is typed offers
nothing rather than an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST: Final = 200


def scenario_names(incomplete: str) -> list[str]:
    """Shipped scenarios, and files of TOML."""
    from vermilion.scenario.library import scenario_names as shipped

    return _beginning(incomplete, [*shipped(), *_files(incomplete, ".toml")])


def plugin_files(incomplete: str) -> list[str]:
    """Files of Python, and libraries."""
    return _beginning(incomplete, _files(incomplete, ".py", ".so"))


def discipline_names(incomplete: str) -> list[str]:
    """Queue disciplines."""
    from vermilion.scenario.algorithms import disciplines

    return _beginning(incomplete, disciplines())


def sender_names(incomplete: str) -> list[str]:
    """Senders."""
    from vermilion.scenario.algorithms import senders

    return _beginning(incomplete, senders())


def objective_names(incomplete: str) -> list[str]:
    """Objectives."""
    from vermilion.objectives import OBJECTIVES

    return _beginning(incomplete, OBJECTIVES)


def profile_names(incomplete: str) -> list[str]:
    """Device profiles."""
    from vermilion.profiles import PROFILES

    return _beginning(incomplete, PROFILES)


def search_names(incomplete: str) -> list[str]:
    """Searches."""
    from vermilion.search.registry import SEARCHES

    return _beginning(incomplete, ["automatic", *SEARCHES])


def paths(ctx: Any, incomplete: str) -> list[str]:  # noqa: ANN401 - typer has no public name for it
    """Paths of the scenario that stands on the line: "links.bottleneck.queue.weight"."""
    return _beginning(incomplete, _paths_of(ctx))


def overrides(ctx: Any, incomplete: str) -> list[str]:  # noqa: ANN401 - as above
    """Paths with the sign that a value follows."""
    return _beginning(incomplete, (f"{path}=" for path in _paths_of(ctx)))


def _paths_of(ctx: Any) -> Iterator[str]:  # noqa: ANN401 - as above
    from vermilion.scenario import ScenarioError, load_scenario

    given = ctx.params.get("scenario") or ctx.params.get("scenarios")
    name = given[0] if isinstance(given, list | tuple) and given else given
    if not isinstance(name, str):
        return
    try:
        scenario = load_scenario(name)
    except ScenarioError:
        return
    yield from ("duration", "warm_up", "settle")
    for link, table in scenario.links.items():
        yield from (f"links.{link}.{key}" for key in ("rate", "delay", "queue.discipline"))
        yield from (f"links.{link}.queue.{key}" for key in table.queue.algorithm.parameters)
    for group in scenario.flows:
        keys = ("count", "rtt", "packet_size", "start", "stop", "sender.congestion_control")
        yield from (f"flows.{group}.{key}" for key in keys)


def _files(incomplete: str, *suffixes: str) -> list[str]:
    """Files and folders that begin so, as a shell would offer them."""
    given = Path(incomplete)
    folder = given if incomplete.endswith("/") else given.parent
    try:
        found = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError:
        return []
    return [
        f"{each}/" if each.is_dir() else str(each)
        for each in found
        if each.suffix in suffixes or (each.is_dir() and not each.name.startswith("."))
    ]


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)][:_MOST]
