"""What the page about a study of several scenarios shows otherwise than that of one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from vermilion.tuning.evaluation import Joining

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.tuning import StudyRecord
    from vermilion.tuning.study_record import Simulated

Values = dict[tuple[float | None, ...], list[float]]
"""Of each setting, the objective with each seed."""


def joined_values(record: StudyRecord, seeds: Sequence[int]) -> tuple[Values, list[float]]:
    """All scenarios in one number with each of these seeds that a setting has met in all of them.

    Returns:
        Of each setting but the incumbents, and of these, each in its own scenario.
    """
    joining = _joining(record)
    own = _own(record)
    if joining is None:
        return {}, []
    met: dict[tuple[float | None, ...], list[dict[int, float]]] = {}
    wanted = set(seeds)
    for each in record.simulations:
        if each.seed in wanted and each.length == 1.0:
            by_scenario = met.setdefault(each.setting, [{} for _ in own])
            by_scenario[each.scenario][each.seed] = each.objective
    incumbents: list[dict[int, float]] = [
        met.get(setting, [{} for _ in own])[scenario] for scenario, setting in enumerate(own)
    ]
    joined = {setting: _joined(joining, rows, seeds) for setting, rows in met.items()}
    if len(set(own)) == 1:
        joined.pop(own[0], None)
    return {setting: row for setting, row in joined.items() if row}, _joined(
        joining, incumbents, seeds
    )


def incumbents_in_search(record: StudyRecord) -> float | None:
    """What the incumbents reach together: 1, or less where high values are wanted somewhere."""
    joining, means = _joining(record), _means(record)
    return None if joining is None else joining.joined([[mean] for mean in means])[0]


def _joined(
    joining: Joining, rows: Sequence[Mapping[int, float]], seeds: Sequence[int]
) -> list[float]:
    common = [seed for seed in seeds if all(seed in row for row in rows)]
    return joining.joined([[row[seed] for seed in common] for row in rows]) if common else []


def _own(record: StudyRecord) -> list[tuple[float | None, ...]]:
    """The incumbents, by scenario."""
    own: dict[int, tuple[float | None, ...]] = {}
    for each in record.simulations:
        if each.made_for == "incumbent":
            own.setdefault(each.scenario, each.setting)
    return [own.get(scenario, ()) for scenario in range(len(record.plan.aims))]


def _joining(record: StudyRecord) -> Joining | None:
    """How the tuning has made one number; ``None`` before the incumbents have been simulated."""
    given, aims = record.plan.given, record.plan.aims
    means = _means(record)
    if not means:
        return None
    weights = given["weights"] or [1.0] * len(aims)
    return Joining(
        given["over"],
        [weight / math.fsum(weights) for weight in weights],
        [max(abs(mean), aim.least_size) or 1.0 for mean, aim in zip(means, aims, strict=True)],
    )


def _means(record: StudyRecord) -> list[float]:
    """What each incumbent reaches in its scenario with the seeds of the search; none if unknown."""
    seeds = set(record.plan.seeds.search)
    values = [
        [each.objective for each in record.simulations if _is_of(each, scenario, setting, seeds)]
        for scenario, setting in enumerate(_own(record))
    ]
    return [math.fsum(row) / len(row) for row in values] if all(values) else []


def _is_of(
    each: Simulated, scenario: int, setting: tuple[float | None, ...], seeds: set[int]
) -> bool:
    return (
        each.scenario == scenario
        and each.setting == setting
        and each.seed in seeds
        and each.length == 1.0
    )
