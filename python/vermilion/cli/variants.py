"""The variants that the options of ``vermilion compare`` ask for."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from vermilion.scenario import load_scenario
from vermilion.scenario.carry_over import with_discipline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.scenario import Scenario


def make_variants(
    name: str, disciplines: Sequence[str], overrides: Sequence[str]
) -> tuple[dict[str, Scenario], list[str]]:
    """Every combination of the disciplines and of the values of paths that are set repeatedly.

    Returns:
        The scenarios by what sets them apart, and a remark for each discipline replaced.

    Raises:
        ScenarioError: a variant that is not accepted.
    """
    by_path: dict[str, list[str]] = {}
    for override in overrides:
        by_path.setdefault(override.partition("=")[0].strip(), []).append(override)
    repeated = [choices for choices in by_path.values() if len(choices) > 1]
    common = [choices[0] for choices in by_path.values() if len(choices) == 1]

    variants: dict[str, Scenario] = {}
    remarks: dict[str, None] = {}
    for choice in product(*repeated):
        settings = load_scenario(name, [*common, *choice])
        if not disciplines:
            variants[", ".join(choice) or "as written"] = settings
        for discipline in disciplines:
            scenario, reports = with_discipline(settings, discipline)
            variants[", ".join([discipline, *choice])] = scenario
            remarks.update((str(report), None) for report in reports)
    return variants, list(remarks)


def objective_measure(
    variants: Mapping[str, Scenario],
) -> dict[str, Callable[[Mapping[str, Any]], float | None]]:
    """The objective that the scenario names, by its name, if it is of the only link there is.

    A comparison shows the same metrics of every link, and an objective belongs to one.
    """
    from vermilion.objectives import NotMeasuredError, objective_of

    tuned = next((entry for entry in variants.values() if entry.tuning is not None), None)
    if tuned is None or len(tuned.links) > 1:
        return {}
    objective = objective_of(tuned)

    def measure(window: Mapping[str, Any]) -> float | None:
        try:
            return objective.value(window)
        except NotMeasuredError:
            return None

    return {objective.name: measure}
