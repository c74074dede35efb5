"""A setting that holds around the conditions where the best found does not.

The best of a search pays as far as the bounds allow, and conditions a little different may be too
much for it. Somebody who does not know the conditions exactly is better served by a setting that
gains less and holds. Among other settings (:mod:`vermilion.tuning.find.alternatives`) one is looked
for that

- on the fresh seeds of the comparison is better than the one in force beyond doubt, and keeps every
  constraint and every bound of harm; at 99 %, because several are looked at;
- is worse than the one in force under fewer of the conditions around than the best found.

The better ones are tried first, and the first that is worse under none ends it; else the one that
loses under the fewest conditions counts. Of several settings one may hold by luck. So they are
tried with seeds that nothing else has met, and what is shown of the chosen one is from those
that the best found has met too. If it does not hold with those, the next one is tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from vermilion.simulate.statistics import Interval
    from vermilion.tuning.check.robustness import Robustness
    from vermilion.tuning.judge.comparison import Comparison
    from vermilion.tuning.measure.candidates import Setting

    Tried = Callable[[Setting], Robustness]
    """Tries a setting around its conditions."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another setting that is better than the one in force.

    Attributes:
        setting: values of the tuned parameters, by path.
        comparison: with the setting in force, on the fresh seeds of the comparison.
        metrics: its price on those, by metric.
    """

    setting: Setting
    comparison: Comparison
    metrics: Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class Sturdier:
    """A setting that is worse under fewer of the conditions around than the best found.

    Attributes:
        parameters: its values, by path.
        comparison: with the setting in force, on the fresh seeds of the comparison.
        metrics: its price on those, by metric.
        robustness: how it fares around the conditions, with the seeds of the best found.
    """

    parameters: Setting
    comparison: Comparison
    metrics: Mapping[str, Interval]
    robustness: Robustness


def sturdier_setting(
    best: Robustness,
    alternatives: Iterable[Alternative],
    with_others: Tried,
    with_same: Tried,
) -> Sturdier | None:
    """The setting to offer beside the best found; ``None`` if there is none.

    Args:
        best: how the best found fares around the conditions.
        alternatives: better than the setting in force, the best of them first.
        with_others: tries a setting with seeds that nothing else has met.
        with_same: tries it with those that the best found has met.
    """
    chosen: Sturdier | None = None
    fewest = len(best.lost)
    for each in alternatives:
        if fewest == 0:
            break
        first = with_others(each.setting)
        if first.untried or len(first.lost) >= fewest:
            continue
        shown = with_same(each.setting)
        if shown.untried or len(shown.lost) >= fewest:
            continue
        chosen = Sturdier(each.setting, each.comparison, each.metrics, shown)
        fewest = max(len(first.lost), len(shown.lost))
    return chosen
