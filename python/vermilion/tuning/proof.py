"""The last stage of a tuning where the first comparison did not settle it.

- *Doubt buys more seeds.* Where a constraint is neither kept nor broken for sure, or a gain that
  matters may be chance, both settings meet as many fresh seeds again, and once more twice as many.
- *The way inward.* Where the best found still cannot be proven to keep the constraints, others are
  compared on the same seeds: settings that the search ranks first when it keeps two and three times
  the distance from the bounds, and points between the best found and the setting in force. The best
  of those that can be proven is taken.

Who looks often enough finds merits that are chance. So all that comes after the first comparison is
decided at 99 % instead of 95 %. A setting that is no better passes the first look with 2.5 %, and
each of at most nine later ones with 0.5 %: together at most 7 %, and less, because all meet the
same seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.search import Point
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.comparison import Comparison
    from vermilion.tuning.engine import Tuning
    from vermilion.tuning.evaluation import Evaluation

    Compare = Callable[[Evaluation, Evaluation, float], Comparison]

FIRST_LOOK: Final = 0.95
LATER_LOOKS: Final = 0.99
"""Confidence of the intervals that decide."""

_MOST_LOOKS: Final = 3
_INSIDE: Final = (2.0, 3.0)
"""Times the usual distance from the bounds, of the settings that are tried instead."""
_EACH: Final = 2
"""How many settings at each distance."""
_BETWEEN: Final = (0.25, 0.5, 0.75)
"""Shares of the way from the best found to the setting in force."""


class Proof:
    """The comparison of a tuning, from the first look to the last.

    Args:
        tuning: whose best and incumbent have met the first fresh seeds.
        compare: decides between two settings at a confidence.
    """

    def __init__(self, tuning: Tuning, compare: Compare) -> None:
        self._tuning = tuning
        self._compare = compare

    def run(self) -> None:
        """Leaves the comparison, and perhaps another best, with the tuning."""
        tuning = self._tuning
        if tuning.compared is None or self._is_unmeasured(tuning.compared):
            return
        tuning.comparison = self._compare(*tuning.compared, FIRST_LOOK)
        seeds = tuning.seeds
        more = seeds.further((2**_MOST_LOOKS - 1) * len(seeds.comparison))
        met = 0
        for look in range(_MOST_LOOKS - 1):
            if not tuning.comparison.decision.doubtful or tuning.end != "budget":
                break
            some = more[met : met + 2**look * len(seeds.comparison)]
            met += len(some)
            for kept, new in zip(tuning.results, tuning.meet(some, tuning.compared), strict=True):
                kept.extend(new)
            if self._is_unmeasured(tuning.compared):
                return
            tuning.comparison = self._compare(*tuning.compared, LATER_LOOKS)
        if tuning.comparison.decision.refused and tuning.end == "budget":
            self._look_inward()

    def _look_inward(self) -> None:
        """Takes the best setting that can be proven, if there is one."""
        tuning = self._tuning
        if tuning.compared is None or tuning.best is None:
            return
        incumbent = tuning.compared[1]
        settings = self._instead(tuning.best.setting)
        if not settings:
            return
        others = [tuning.full.incumbent.another(setting) for setting in settings]
        results = tuning.meet(incumbent.seeds, others)
        proven: list[tuple[float, Comparison, Evaluation, list[Result]]] = []
        for evaluation, row in zip(others, results, strict=True):
            if evaluation.refusal is not None or len(evaluation.seeds) < len(incumbent.seeds):
                continue
            if self._is_unmeasured((evaluation,)):
                continue
            comparison = self._compare(evaluation, incumbent, LATER_LOOKS)
            if comparison.accepted:
                proven.append((evaluation.objective, comparison, evaluation, row))
        if proven:
            _, tuning.comparison, best, row = min(proven, key=lambda entry: entry[0])
            tuning.best, tuning.compared = best, (best, incumbent)
            tuning.results[0] = row

    def _instead(self, best: Setting) -> list[Setting]:
        """The settings that are tried instead of the best found."""
        tuning = self._tuning
        found: list[Setting] = []

        def add(setting: Setting) -> bool:
            known = [dict(each) for each in (best, tuning.full.incumbent.setting, *found)]
            if dict(setting) in known:
                return False
            found.append(setting)
            return True

        for inside in _INSIDE:
            left = _EACH
            for evaluation in tuning.ranked_by(inside):
                left -= add(evaluation.setting)
                if left == 0:
                    break
        for setting in self._between(best):
            add(setting)
        return found

    def _between(self, best: Setting) -> list[Setting]:
        """Points on the way from the best found to the setting in force."""
        space, incumbent = self._tuning.space, self._tuning.full.incumbent.setting
        known = {name: value for name, value in incumbent.items() if value is not None}
        start = {name: value for name, value in best.items() if value is not None}
        if len(known) < len(space) or len(start) < len(space):
            return []
        one, other = space.point(start), space.point(known)
        return [space.values(_mixed(one, other, share)) for share in _BETWEEN]

    @staticmethod
    def _is_unmeasured(evaluations: Sequence[Evaluation]) -> bool:
        return any(each.not_measured is not None for each in evaluations)


def _mixed(one: Point, other: Point, share: float) -> Point:
    """A point so far on the way from one to another."""
    return tuple((1.0 - share) * mine + share * its for mine, its in zip(one, other, strict=True))
