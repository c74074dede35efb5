"""Robust alternative: a setting that holds around the conditions where the best found does not.

The best of a search pays as far as the bounds allow, and conditions a little different may be too
much for it. Somebody who does not know the conditions exactly is better served by a setting that
gains less and holds. Among other settings (:mod:`vermilion.tuning.alternatives`) one is looked
for that

- on the fresh seeds of the comparison is better than the one in force beyond doubt, and keeps every
  constraint and every bound of harm; at 99 %, because several are looked at;
- is worse than the one in force under fewer of the conditions around than the best found. What may
  be worse counts as what is: a setting is offered for what is known of it.

The better ones are tried first, and the first that is worse under none ends it; else the one that
loses under the fewest conditions counts. Then the way from the best found to that one is halved
twice: what lies nearer to the best gains more, and is taken if it loses no more often. Of several
settings one may hold by luck. So they are tried with seeds that nothing else has met, and what is
shown of the chosen one is from those that the best found has met too. If it does not hold with
those, the next one is tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from vermilion.simulate.statistics import Interval
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.comparison import Comparison
    from vermilion.tuning.robustness import Robustness

    Tried = Callable[[Setting], Robustness]
    """Tries a setting around its conditions."""

    Halfway = Callable[[Setting, Setting], "Alternative | None"]

Losses = tuple[int, int]
"""The smaller the better, the first number first: see :func:`losses`."""

_HALVED: Final = 2
"""How often the way from the best found is halved."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Setting beside the best that is better than the incumbent.

    Attributes:
        setting: values of the tuned parameters, by path.
        comparison: with the setting in force, on the fresh seeds of the comparison.
        metrics: its price on those, by metric.
        value: what the objective asks to be minimised, on average.
    """

    setting: Setting
    comparison: Comparison
    metrics: Mapping[str, Interval]
    value: float


@dataclass(frozen=True, slots=True)
class RobustAlternative(Alternative):
    """Setting that is worse under fewer of the conditions around than the best found.

    Attributes:
        robustness: how it fares around the conditions, with the seeds of the best found.
    """

    robustness: Robustness


@dataclass(frozen=True, slots=True)
class BestFound:
    """Best setting found, beside which a robust alternative is to stand.

    Attributes:
        setting: its values, by path.
        robustness: how it fares around the conditions.
    """

    setting: Setting
    robustness: Robustness


def find_robust_alternative(
    best: BestFound,
    alternatives: Iterable[Alternative],
    halfway: Halfway,
    with_others: Tried,
    with_same: Tried,
) -> RobustAlternative | None:
    """The setting to offer beside the best found; ``None`` if there is none.

    Args:
        best: the best found.
        alternatives: better than the setting in force, the best of them first.
        halfway: what lies in the middle between two settings, if it is better than what is in
            force.
        with_others: tries a setting with seeds that nothing else has met.
        with_same: tries it with those that the best found has met.
    """

    def tried(
        each: Alternative, most: Losses, *, fewer: bool
    ) -> tuple[Losses, RobustAlternative] | None:
        """Count the losses of one with either seeds; ``None`` if there are too many."""
        first = with_others(each.setting)
        lost = losses(first)
        if first.untried or lost > most or (fewer and lost == most):
            return None
        shown = with_same(each.setting)
        lost = max(lost, losses(shown))
        if shown.untried or lost > most or (fewer and lost == most):
            return None
        return lost, RobustAlternative(
            each.setting, each.comparison, each.metrics, each.value, shown
        )

    chosen: RobustAlternative | None = None
    fewest = losses(best.robustness)
    for each in alternatives:
        if fewest == (0, 0):
            break
        fewest, chosen = tried(each, fewest, fewer=True) or (fewest, chosen)
    near = best.setting
    for _ in range(_HALVED):
        middle = None if chosen is None else halfway(near, chosen.setting)
        if chosen is None or middle is None:
            break
        found = tried(middle, fewest, fewer=False) if middle.value < chosen.value else None
        if found is None:
            near = middle.setting
        else:
            fewest, chosen = found
    return chosen


def losses(robustness: Robustness) -> Losses:
    """Number of conditions under which a setting is or may be worse, and of those where it is."""
    lost = len(robustness.lost)
    return lost + len(robustness.doubtful), lost
