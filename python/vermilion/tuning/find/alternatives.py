"""What else a search offers where its best does not do everywhere.

The best of a search often lies where a bound begins to be broken. What has given up some of the
objective to stay further away may hold under conditions where the best does not. Two kinds are
offered:

- of the settings that the search has simulated, those that no other one beats both in the objective
  and in the distance from the bounds, spread over that front;
- points on the way from the best to the one that keeps the largest distance, and to the setting in
  force, which is what people know to work.

The distance of a setting is that from its nearest bound. Each is measured by what the setting in
force keeps: 0 is at the bound, and 1 is as far from it as the setting in force, or further. A bound
that the latter breaks is measured by the largest distance that any setting of the search keeps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.objectives.feasible_first import BROKEN
from vermilion.tuning.find.between import between
from vermilion.tuning.judge.domination import non_dominated, thinned
from vermilion.tuning.judge.verdict import mean_margins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.tuning.find.state import TuningState
    from vermilion.tuning.measure.candidates import Setting

MOST_OF_FRONT: Final = 6
"""Settings of the front that are offered, the ends among them."""


@dataclass(frozen=True, slots=True)
class Distant:
    """A setting of a search.

    Attributes:
        setting: values of the tuned parameters, by path.
        means: its objective, and less than 0 its distance from the bounds.
    """

    setting: Setting
    means: tuple[float, float]


def alternatives(tuning: TuningState) -> tuple[Setting, ...]:
    """Settings that may hold where the best of a search does not; the best is not among them.

    Args:
        tuning: after its search.
    """
    if tuning.best is None:
        return ()
    best = tuning.best.setting
    front = [each.setting for each in thinned(front_of_distance(tuning), MOST_OF_FRONT)]
    found: list[Setting] = []
    for setting in (
        *front,
        *between(tuning.space, best, front[-1] if front else best),
        *between(tuning.space, best, tuning.full.incumbent.setting),
    ):
        if setting != best and setting not in found:
            found.append(setting)
    return tuple(found)


def front_of_distance(tuning: TuningState) -> list[Distant]:
    """Settings of which no other gains more and keeps more distance; the one that gains most first.

    Args:
        tuning: after its search.
    """
    horizon = tuning.horizon
    known = [
        each
        for _, _, each in tuning.ranking
        if each.is_complete(tuning.seeds.search) and horizon.value(each) < BROKEN
    ]
    now, *margins = [
        [each for row in mean_margins(horizon.constraints, one, horizon.incumbent) for each in row]
        for one in (horizon.incumbent, *known)
    ]
    kept = [
        own if own > 0.0 else max(others)
        for own, others in zip(now, zip(*margins, strict=True), strict=False)
    ]
    return non_dominated(
        [
            Distant(each.setting, (each.objective, -_distance(row, kept)))
            for each, row in zip(known, margins, strict=True)
        ]
    )


def _distance(margins: Sequence[float], kept: Sequence[float]) -> float:
    """From the nearest bound, of those from which a distance can be kept: see above."""
    shares = [
        min(1.0, margin / most)
        for margin, most in zip(margins, kept, strict=True)
        if 0.0 < most < math.inf
    ]
    return min(shares, default=1.0)
