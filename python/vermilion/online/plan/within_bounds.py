"""Another setting of a search, where the best of it breaks a bound on fresh seeds.

The best of many settings is the luckiest of them, and lies where a bound begins to be broken. So
on fresh seeds it often does harm by a hair, and to keep what is in force instead would give up all
that the search has found. Others meet the same seeds then: those that lead if only a part of each
margin of harm may be used up, and points on the way from the best to the setting in force, which is
where harm ends. The best of those that keep every bound is taken.

A network is one draw, not a mean: where bounds hold on average and harm would be seen in more than
a quarter of the runs, others are tried as well. One of which that is not so is preferred if it
costs little: not more than a tenth of the gain, and not as much again as what is minimised.

These are further looks at the same seeds, so that the best of them is lucky again, if only the best
of a few; what it does is measured on the network in any case.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from vermilion.objectives import feasible_first
from vermilion.tuning.engine import complete
from vermilion.tuning.verdict import judge, mean_violation, paired_margins

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vermilion.objectives import Constraint
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.engine import Tuning
    from vermilion.tuning.evaluation import Evaluation

_MARGINS: Final = (0.5, 0.2)
"""Parts of each margin of harm that leaders among the others may use up."""
_LEADERS: Final = 2
"""How many of each."""
_OFTEN: Final = 0.25
"""The part of the runs in which a bound of harm may be broken that holds on average."""
_PRICE: Final = 0.1
"""The part of the gain that it may cost to be less often harmful than that."""
_UNPROVEN: Final = 1e-9
"""How badly a bound counts as broken whose mean is kept, if not for sure."""
_BETWEEN: Final = (0.4, 0.7)
"""Shares of the way from the best to the setting in force."""


def best_within_bounds(
    tuning: Tuning, constraints: Sequence[Constraint], until: float | None
) -> Evaluation | None:
    """The best setting that keeps every bound on the seeds of the comparison, and is likely to.

    ``None`` where there is nothing better in this than the search's best.

    Args:
        tuning: whose best and incumbent have met those seeds.
        constraints: what has to hold, in the order of the evaluations.
        until: the moment, on the clock of ``time.monotonic``, after which no other is tried.
    """
    if tuning.compared is None or tuning.best is None:
        return None
    best, incumbent = tuning.compared
    seeds = incumbent.seeds
    if len(best.seeds) < len(seeds):
        return None
    found, least = None, _shortfall(constraints, best, incumbent)
    if least == (0.0, 0.0):
        return None
    mends = _shortfall(constraints, incumbent, incumbent)[0] > 0.0
    dearest = math.inf
    if least[0] == 0.0:
        gain = incumbent.objective - best.objective
        dearest = best.objective + min(_PRICE * max(gain, 0.0), abs(best.objective))
    for setting in _others(tuning, constraints, best.setting):
        if until is not None and time.monotonic() > until:
            break
        other = tuning.full.incumbent.another(setting)
        tuning.full.simulations.run([other], seeds, until=until, made_for="comparison")
        met = other.refusal is None and len(other.seeds) == len(seeds)
        if not met or other.not_measured is not None:
            continue
        if other.objective > dearest or not (mends or other.objective < incumbent.objective):
            continue
        shortfall = _shortfall(constraints, other, incumbent)
        objective = math.inf if found is None else found.objective
        if (*shortfall, other.objective) < (*least, objective):
            found, least = other, shortfall
    return found


def _shortfall(
    constraints: Sequence[Constraint], evaluation: Evaluation, incumbent: Evaluation
) -> tuple[float, float]:
    """What is missing: how badly bounds are broken, and how much too often harm would be seen."""
    verdicts = judge(constraints, evaluation, incumbent)
    broken = math.fsum(max(each.violation, _UNPROVEN) for each in verdicts if each.holds != "met")
    often = 0.0
    for constraint, phases in zip(
        constraints, paired_margins(constraints, evaluation, incumbent), strict=True
    ):
        if constraint.of_harm:
            for margins, _ in phases:
                harmed = sum(margin is not None and margin < 0.0 for margin in margins)
                often = max(often, harmed / len(margins))
    return broken, max(0.0, often - _OFTEN)


def _others(tuning: Tuning, constraints: Sequence[Constraint], best: Setting) -> Iterator[Setting]:
    """What is tried, each setting once."""
    tried = [dict(best), dict(tuning.full.incumbent.setting)]
    settings = list(_between(tuning, best))
    for margin in _MARGINS:
        settings[:0] = islice(_ranked(tuning, narrowed(constraints, margin), tried), _LEADERS)
    for setting in settings:
        if dict(setting) not in tried:
            tried.append(dict(setting))
            yield setting


def _ranked(
    tuning: Tuning, constraints: Sequence[Constraint], without: Sequence[Setting]
) -> Iterator[Setting]:
    """The settings tried, the best first if these constraints are to be kept."""
    incumbent, scale = tuning.full.incumbent, tuning.full.scale
    order = sorted(
        (
            feasible_first(
                evaluation.objective, mean_violation(constraints, evaluation, incumbent), scale
            ),
            number,
            evaluation.setting,
        )
        for _, number, evaluation in tuning.ranking
    )
    return (setting for _, _, setting in order if dict(setting) not in without)


def _between(tuning: Tuning, best: Setting) -> Iterator[Setting]:
    """Points on the way from the best to the setting in force."""
    space = tuning.space
    ends = [complete(setting) for setting in (best, tuning.full.incumbent.setting)]
    if not all(ends):
        return
    [start], [end] = ends
    pairs = list(zip(space.point(start), space.point(end), strict=True))
    for share in _BETWEEN:
        yield space.values(tuple(mine + share * (its - mine) for mine, its in pairs))


def narrowed(constraints: Sequence[Constraint], margin: float) -> list[Constraint]:
    """The constraints with a part of each margin of harm; others stay as they are."""
    return [
        replace(
            each,
            bound=1.0 + margin * (each.bound - 1.0),
            offset=margin * each.offset,
        )
        if margin < 1.0 and each.of_harm and each.of_reference
        else each
        for each in constraints
    ]
