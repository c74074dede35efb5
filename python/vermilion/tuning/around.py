"""The last stage of a tuning with further conditions: what is recommended meets all of them.

The search, the climb and the race have ranked settings by one or two runs under each condition. Now
the best and the setting in force meet fresh seeds there. Where it is worse under one
(:func:`vermilion.tuning.neighbourhood.judge_condition`), those that raced with it are compared in
its place, first under the condition that sank it: each stops at the first in which it is worse. The
one that is worse under fewest, by weight, is recommended.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from vermilion.tuning.horizon import NEARLY
from vermilion.tuning.neighbourhood import Around, judge_condition
from vermilion.tuning.proof import LATER_LOOKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.tuning.evaluation import Evaluation
    from vermilion.tuning.horizon import Horizon
    from vermilion.tuning.neighbourhood import ConditionOutcome
    from vermilion.tuning.question import Compare
    from vermilion.tuning.state import TuningState

AROUND_SEEDS: Final = 5
"""Fresh seeds that the recommended setting and the incumbent meet under each condition."""

_MOST_TRIED: Final = 3
"""Settings that are tried in place of one that is worse somewhere."""


class Neighbourhood:
    """The conditions around those that are given, at the end of a tuning.

    Args:
        tuning: whose best has been compared with the incumbent.
        compare: decides between two settings at a confidence.
    """

    def __init__(self, tuning: TuningState, compare: Compare) -> None:
        self._tuning = tuning
        self._compare = compare
        self._conditions = tuning.full.around
        conditions = (each.condition for each in self._conditions)
        self._weights = {each.key: each.weight for each in conditions}
        self._seeds = tuning.question.seeds.comparison[:AROUND_SEEDS]
        self._now: dict[str, Evaluation] = {}
        self._done = 0

    def run(self) -> None:
        """Leaves the outcomes with the tuning, and perhaps another best."""
        tuning = self._tuning
        if not self._conditions or tuning.comparison is None or not tuning.comparison.accepted:
            return
        if tuning.compared is None or tuning.end == "interrupted":
            return
        found, order = self._outcomes(tuning.compared[0]), self._conditions
        for evaluation in self._others()[:_MOST_TRIED]:
            if not any(each.verdict == "worse" for each in found):
                break
            worse = {each.key for each in found if each.verdict == "worse"}
            order = sorted(order, key=lambda each: each.condition.key not in worse)
            most = self._lost(found)
            other = self._outcomes(evaluation, order, most)
            if self._lost(other) < most and self._takes(evaluation):
                found = other
        known = {each.key: each for each in found}
        outcomes = tuple(known[key] for key in self._weights if key in known)
        unit = tuning.full.condition.objective.unit
        tuning.around = Around(unit, tuple(self._seeds), outcomes)

    def _outcomes(
        self,
        best: Evaluation,
        order: Sequence[Horizon] | None = None,
        most: float = math.inf,
    ) -> list[ConditionOutcome]:
        """A setting under the conditions, until it has lost so much."""
        found: list[ConditionOutcome] = []
        for own in order or self._conditions:
            condition = own.condition
            now = self._now.get(condition.key) or own.incumbent.fresh()
            other = own.incumbent.another(best.setting)
            new = [each for each in (now, other) if not each.is_complete(self._seeds)]
            total = 2 * len(self._conditions) * len(self._seeds)
            report = self._tuning.report("neighbourhood", total, min(self._done, total))
            own.simulations.run(new, self._seeds, until=self._tuning.until, progress=report)
            self._done += len(new) * len(self._seeds)
            if not all(each.is_complete(self._seeds) for each in (now, other)) or other.refusal:
                break
            self._now[condition.key] = now
            found.append(judge_condition(condition, other, now))
            if self._lost(found) >= most:
                break
        return found

    def _lost(self, outcomes: Sequence[ConditionOutcome]) -> float:
        """Weight of the conditions under which a setting is worse."""
        return math.fsum(self._weights[each.key] for each in outcomes if each.verdict == "worse")

    def _others(self) -> list[Evaluation]:
        """The settings that raced with the best, the likely best first."""
        tuning = self._tuning
        best = None if tuning.best is None else tuning.best.setting
        return [each for each in tuning.raced if each.setting != best]

    def _takes(self, evaluation: Evaluation) -> bool:
        """Takes another setting for the best, if it is better than what is in force."""
        tuning = self._tuning
        if tuning.compared is None:
            return False
        incumbent, other = tuning.compared[1], evaluation.fresh()
        tuning.meet(incumbent.seeds, [other])
        if len(other.seeds) < len(incumbent.seeds) or other.not_measured is not None:
            return False
        comparison = self._compare(other, incumbent, LATER_LOOKS)
        best = tuning.compared[0].objective
        nearly = max(comparison.least_gain, NEARLY * abs(best))
        if not comparison.accepted or other.objective - best > nearly:
            return False
        tuning.comparison, tuning.best = comparison, evaluation
        tuning.compared = other, incumbent
        return True
