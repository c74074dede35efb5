"""Variants of a scenario that are to be compared: other disciplines, other settings."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from typing import TYPE_CHECKING, Final

from vermilion.scenario import Scenario, load_scenario, scenario_from_document
from vermilion.scenario import disciplines as known_disciplines
from vermilion.scenario.carry_over import with_discipline
from vermilion.scenario.errors import FieldError, ScenarioError
from vermilion.scenario.overrides import apply_overrides

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

ALL: Final = "all"
"""In place of a discipline's name: every one there is."""


def make_variants(
    scenario: Scenario | str | Path, disciplines: Sequence[str] = (), settings: Sequence[str] = ()
) -> tuple[dict[str, Scenario], list[str]]:
    """Every combination of the disciplines and of the values of paths that are set repeatedly.

    Args:
        scenario: itself, or the name or path from which it is loaded.
        disciplines: the name of each, and after a colon parameters of its own if it is to have
            any: "codel" or "codel:target=10 ms,interval=50 ms". The scenario's own discipline
            keeps its parameters; others take over those that they share with it, and have
            their defaults for the rest. "all" means every discipline there is.
        settings: texts "path=value". The same path given several times makes a variant of each
            of its values; a path given once is set in all variants.

    Returns:
        The scenarios by what sets them apart, and a remark for each discipline replaced.

    Raises:
        ScenarioError: a variant that is not accepted.
    """
    by_path: dict[str, list[str]] = {}
    for setting in settings:
        by_path.setdefault(setting.partition("=")[0].strip(), []).append(setting)
    repeated = [choices for choices in by_path.values() if len(choices) > 1]
    common = [choices[0] for choices in by_path.values() if len(choices) == 1]

    variants: dict[str, Scenario] = {}
    remarks: dict[str, None] = {}
    for choice in product(*repeated):
        changed = _with_settings(scenario, [*common, *choice])
        if not disciplines:
            variants[", ".join(choice) or "as written"] = changed
        for discipline in _named(disciplines):
            name, _, parameters = discipline.partition(":")
            variant, reports = with_discipline(changed, name)
            own = [text for text in parameters.split(",") if text.strip()]
            if own:
                links = variant.links
                paths = [f"links.{link}.queue.{text.strip()}" for link in links for text in own]
                variant = _with_settings(variant, paths)
            variants[", ".join([discipline, *choice])] = variant
            remarks.update((str(report), None) for report in reports)
    return variants, list(remarks)


def grid(scenario: Scenario, values: Mapping[str, Iterable[object]]) -> dict[str, Scenario]:
    """Every combination of the values of some paths: a full factorial design.

        >>> weights = {"links.bottleneck.queue.weight": [0.002, 0.01], "flows.early.count": [4, 16]}
        >>> results = vermilion.run_many(vermilion.grid(scenario, weights), seeds=range(1, 11))
        >>> frame = vermilion.frames(results)

    Args:
        scenario: what all of them have in common.
        values: by path, as :meth:`Scenario.with_values` takes them.

    Returns:
        The scenarios by what sets them apart, like "flows.early.count=4, ...", the values of the
        last path changing fastest.

    Raises:
        ScenarioError: an unknown path or a value that is not accepted.
    """
    return {
        ", ".join(f"{path}={value}" for path, value in zip(values, combination, strict=True)): (
            scenario.with_values(dict(zip(values, combination, strict=True)))
        )
        for combination in product(*values.values())
    }


def _named(choices: Iterable[str]) -> list[str]:
    """Each discipline once, every one there is in place of "all"."""
    named: dict[str, None] = {}
    for choice in choices:
        named.update(dict.fromkeys(known_disciplines() if choice == ALL else [choice]))
    return list(named)


def _with_settings(scenario: Scenario | str | Path, settings: Sequence[str]) -> Scenario:
    if not isinstance(scenario, Scenario):
        return load_scenario(scenario, settings)
    if not settings:
        return scenario
    document = deepcopy(dict(scenario.document))
    try:
        apply_overrides(document, settings)
    except FieldError as error:
        raise error.at(scenario.origin) from None
    return scenario_from_document(document, scenario.origin)


def chosen_seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """The seeds that are meant: so many from 1 on, or those that are listed.

    Raises:
        ScenarioError: there are none.
    """
    chosen = tuple(range(1, seeds + 1)) if isinstance(seeds, int) else tuple(seeds)
    if not chosen:
        raise ScenarioError("seeds", seeds, "at least one seed")
    return chosen
