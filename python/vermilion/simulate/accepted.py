"""Checks of the arguments of runs from Python: scenarios, seeds, threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion.scenario import Scenario, load_scenario
from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.quantities import whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST_SEED: Final = 2**64 - 1
"""Seeds are unsigned 64-bit numbers."""

MOST_THREADS: Final = 4096
"""More runs at a time than any machine has use for."""

_ACCEPTED_SCENARIO: Final = (
    "a shipped scenario's name, a TOML file's path, or a Scenario "
    "(vermilion.load_scenario(NAME), parse_scenario(TEXT), Network.scenario())"
)


def given_scenario(given: object, field: str = "scenario") -> Scenario:
    """The scenario that is meant: itself, or the one that has this name or path.

    Raises:
        ScenarioError: it is neither; or there is no such scenario, or something is wrong with it.
    """
    if isinstance(given, Scenario):
        return given
    if isinstance(given, str | Path):
        return load_scenario(given)
    raise ScenarioError(field, given, _ACCEPTED_SCENARIO)


def check_several(scenarios: object) -> None:
    """Refuse a single scenario, or its name, in place of a list.

    Raises:
        ScenarioError: it is one, or nothing like it.
    """
    # A scenario is a model, and those can be iterated over, too.
    if isinstance(scenarios, str | Scenario) or not isinstance(scenarios, Iterable):
        raise ScenarioError("scenarios", scenarios, "a list of scenarios, like [scenario]")


def given_scenarios(given: Mapping[str, object]) -> dict[str, Scenario]:
    """The scenarios that are meant, likewise, by the names of their fields.

    Raises:
        ScenarioError: naming the one that is not accepted.
    """
    return {name: given_scenario(each, f"scenarios.{name}") for name, each in given.items()}


def given_in_order(given: Iterable[object]) -> tuple[Scenario, ...]:
    """The scenarios of a list, likewise; the only one of a list is called the scenario.

    Raises:
        ScenarioError: naming the one that is not accepted.
    """
    listed = list(given)
    return tuple(
        given_scenario(each, f"scenarios.{place}" if len(listed) > 1 else "scenario")
        for place, each in enumerate(listed)
    )


def given_candidates(given: Mapping[str, object]) -> dict[str, Scenario | str]:
    """Scenarios to run: as :func:`given_scenarios`, or a text as the core reads it.

    Raises:
        ScenarioError: naming the one that is not accepted.
    """
    return {
        name: each
        if isinstance(each, str) and each.lstrip().startswith("{")
        else given_scenario(each, f"scenarios.{name}")
        for name, each in given.items()
    }


def check_seed(seed: object, origin: str = "", field: str = "seed") -> int:
    """A seed as Python's own whole number.

    Raises:
        ScenarioError: it is no unsigned 64-bit number.
    """
    number = whole_number(seed)
    if number is None or not 0 <= number <= LARGEST_SEED:
        raise ScenarioError(field, seed, f"a whole number from 0 to {LARGEST_SEED}", origin)
    return number


def check_seeds(seeds: object, origin: str = "") -> Sequence[int]:
    """Seeds likewise.

    Raises:
        ScenarioError: they are no list, or one of them is no seed.
    """
    if isinstance(seeds, str | bytes | Mapping) or not isinstance(seeds, Iterable):
        raise ScenarioError("seeds", seeds, "a list of seeds, like range(1, 11)", origin)
    return tuple(check_seed(seed, origin) for seed in seeds)


def check_threads(threads: object) -> int | None:
    """Return the number of parallel runs as an ``int``; ``None`` or 0 for one on each core.

    Raises:
        ScenarioError: it is neither.
    """
    if threads is None:
        return None
    number = whole_number(threads)
    if number is None or not 0 <= number <= MOST_THREADS:
        accepted = f"a whole number from 1 to {MOST_THREADS}, or None for one per core"
        raise ScenarioError("threads", threads, accepted)
    return number
