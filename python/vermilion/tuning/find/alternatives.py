"""What else a search offers where its best does not do everywhere.

The best of a search often lies where a bound begins to be broken. What has given up some of the
objective to stay further away may hold under conditions where the best does not. Two kinds are
offered:

- of the settings that the search has simulated, those that no other one beats both in the objective
  and in the distance from the bounds, spread over that front;
- points on the way from the best to the one that keeps the largest distance, and to the setting in
  force, which is what people know to work.

The distance of a setting is that from its nearest bound, each measured by the largest distance that
any setting of the search keeps from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.objectives.feasible_first import BROKEN
from vermilion.tuning.find.between import between
from vermilion.tuning.judge.domination import non_dominated, thinned
from vermilion.tuning.judge.verdict import paired_margins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.tuning.find.state import TuningState
    from vermilion.tuning.measure.candidates import Setting
    from vermilion.tuning.measure.evaluation import Evaluation

MOST_OF_FRONT: Final = 6
"""Settings of the front that are offered, the ends among them."""


@dataclass(frozen=True, slots=True)
class _Distant:
    """A setting with its objective and, negative, its distance from the bounds."""

    setting: Setting
    means: tuple[float, float]


def alternatives(tuning: TuningState) -> tuple[Setting, ...]:
    """Settings that may hold where the best of a search does not; the best is not among them.

    Args:
        tuning: after its search.
    """
    if tuning.best is None:
        return ()
    horizon, best = tuning.horizon, tuning.best.setting
    known = [
        each
        for _, _, each in tuning.ranking
        if each.is_complete(tuning.seeds.search) and horizon.value(each) < BROKEN
    ]
    margins = [_margins(tuning, each) for each in known]
    widest = [max(column) for column in zip(*margins, strict=True)]
    entries = [
        _Distant(each.setting, (each.objective, -_nearest(row, widest)))
        for each, row in zip(known, margins, strict=True)
    ]
    front = thinned(non_dominated(entries), MOST_OF_FRONT)
    settings = [each.setting for each in front]
    found: list[Setting] = []
    for setting in (
        *settings,
        *between(tuning.space, best, settings[-1] if settings else best),
        *between(tuning.space, best, tuning.full.incumbent.setting),
    ):
        if setting != best and setting not in found:
            found.append(setting)
    return tuple(found)


def _margins(tuning: TuningState, evaluation: Evaluation) -> list[float]:
    """The mean distance from each bound in each phase; infinite where nothing is asked."""
    horizon = tuning.horizon
    rows = [
        row
        for phases in paired_margins(horizon.constraints, evaluation, horizon.incumbent)
        for row, _ in phases
    ]
    finite = [[each for each in row if each is not None and math.isfinite(each)] for row in rows]
    return [math.fsum(row) / len(row) if row else math.inf for row in finite]


def _nearest(margins: Sequence[float], widest: Sequence[float]) -> float:
    """The distance from the nearest bound, of those from which a distance can be kept."""
    shares = [
        margin / most
        for margin, most in zip(margins, widest, strict=True)
        if most > 0.0 and math.isfinite(most)
    ]
    return min(shares, default=0.0)
