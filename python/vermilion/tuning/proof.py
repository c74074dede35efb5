"""The last stage of a tuning where the first comparison did not settle it.

- *Doubt buys more seeds.* Where a constraint is neither kept nor broken for sure, or a gain that
  matters may be chance, both settings meet as many fresh seeds again, and once more twice as many.
- *The way inward.* Where the best found still cannot be proven to keep the constraints, others are
  compared on the same seeds: settings that the search ranks first when it keeps two and three times
  the distance from the bounds, and points between the best found and both the setting that keeps
  them by most and the one in force. Of what a change may cost the search keeps no distance, because
  there the mean decides. Where that refuses the best found, the distances are none and what
  the search's seeds have flattered it by. The best of those that can be proven is taken; if there
  is none, the one that comes nearest meets as many seeds again.
- *The way outward.* Where it can be proven, and the search saw noticeably better ones that may keep
  the constraints too, those and points on the way to them are compared as well, on four times the
  seeds: what lies near the edge takes them.
- *The plainer.* Where a rule of thumb, or the best with two or three digits, can be proven too and
  the best is not clearly better than it, it is taken.

Who looks often enough finds merits that are chance. So all that comes after the first comparison is
decided at 99 % instead of 95 %. A setting that is no better passes the first look with 2.5 %, and
each of at most thirteen later ones with 0.5 %: together at most 9 %, and less, because all meet the
same seeds. The least of several means flatters the setting that has it, so the answer says among
how many it was chosen by these seeds.
"""

from __future__ import annotations

import math
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from vermilion.objectives.constraint import BROKEN, feasible_first
from vermilion.tuning.alternatives import SHARES, between, front_of_distance
from vermilion.tuning.verdict import judge, mean_margins, mean_violation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vermilion.search import Space
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.evaluation import Evaluation
    from vermilion.tuning.question import Compare
    from vermilion.tuning.state import TuningState

FIRST_LOOK: Final = 0.95
LATER_LOOKS: Final = 0.99
"""Confidence of the intervals that decide."""

_MOST_LOOKS: Final = 3
_INSIDE: Final = (2.0, 3.0)
"""Times the usual distance from the bounds, of the settings that are tried instead."""
_FLATTERED: Final = (0.0, 1.0)
"""Times what the search has flattered the best by, of those tried where harm refuses it."""
_FAR_INSIDE: Final = 20.0
"""The same of the setting that keeps the bounds by most, on the way to which points are tried."""
_OUTSIDE: Final = (1.0, 0.5)
"""The same of those that are tried besides."""
_EACH: Final = 2
"""How many settings at each distance."""
_GATE: Final = 10
"""Seeds after which those that are worse meet no more."""
_DIGITS: Final = (2, 3)
"""Digits of numbers that a person would write."""


class Proof:
    """The comparison of a tuning, from the first look to the last.

    Args:
        tuning: whose best and incumbent have met the first fresh seeds.
        compare: decides between two settings at a confidence.
    """

    def __init__(self, tuning: TuningState, compare: Compare) -> None:
        self._tuning = tuning
        self._compare = compare
        seeds = tuning.question.seeds
        self._further = list(seeds.further((2**_MOST_LOOKS - 1) * len(seeds.comparison)))

    def run(self) -> None:
        """Leaves the comparison, and perhaps another best, with the tuning."""
        tuning = self._tuning
        if tuning.compared is None or self._is_unmeasured(tuning.compared):
            return
        tuning.comparison = self._compare(*tuning.compared, FIRST_LOOK)
        for look in range(_MOST_LOOKS - 1):
            if not tuning.comparison.decision.doubtful or not self._add_seeds(2**look):
                break
        settings: list[Setting] = []
        if tuning.comparison.accepted and (settings := self._outer_settings()):
            met = len(tuning.compared[0].seeds) // len(tuning.question.seeds.comparison)
            most = 2 ** (_MOST_LOOKS - 1)
            if met < most and not self._add_seeds(most - met):
                return
        if tuning.comparison.decision.refused:
            settings += self._inner_settings()
        if tuning.end == "budget":
            tried = self._prove_best_of(settings)
            if tuning.comparison.decision.refused and tried:
                self._retry_nearest(tried)
        self._take_plainer()

    def _take_plainer(self) -> None:
        """Takes a rule of thumb or rounder numbers, unless the best is clearly better."""
        tuning = self._tuning
        if tuning.comparison is None or tuning.compared is None or tuning.end != "budget":
            return
        best, incumbent = tuning.compared
        accepted = tuning.comparison.accepted
        settings = [
            each for each in tuning.question.rules if each not in (best.setting, incumbent.setting)
        ]
        settings += [
            each
            for digits in _DIGITS
            if accepted and (each := _rounded(tuning.question.space, best.setting, digits))
        ]
        among = tuning.comparison.among
        for setting in settings:
            plain = tuning.full.incumbent.another(setting)
            tuning.meet(incumbent.seeds[:_GATE], [plain])
            among += 1
            if accepted and self._compare(best.first(_GATE), plain, LATER_LOOKS).accepted:
                continue
            if rest := incumbent.seeds[_GATE:]:
                tuning.meet(rest, [plain])
            if len(plain.seeds) < len(incumbent.seeds) or self._is_unmeasured((plain,)):
                continue
            comparison = self._compare(plain, incumbent, LATER_LOOKS)
            better = accepted and self._compare(best, plain, FIRST_LOOK).accepted
            if comparison.accepted and not better:
                was_chosen = tuning.comparison.among > 1
                tuning.comparison = comparison.chosen_among(among) if was_chosen else comparison
                tuning.best, tuning.compared = plain, (plain, incumbent)
                return
        if tuning.comparison.among > 1:
            tuning.comparison = tuning.comparison.chosen_among(among)

    def _add_seeds(self, times: int) -> bool:
        """Lets both meet so many times the seeds of the comparison; whether that was possible."""
        tuning = self._tuning
        if tuning.compared is None or tuning.end != "budget":
            return False
        count = times * len(tuning.question.seeds.comparison)
        some, self._further = self._further[:count], self._further[count:]
        tuning.meet(some, tuning.compared)
        if self._is_unmeasured(tuning.compared):
            return False
        tuning.comparison = self._compare(*tuning.compared, LATER_LOOKS)
        return True

    def _prove_best_of(self, settings: Sequence[Setting]) -> list[Evaluation]:
        """Takes the best of some settings that can be proven, if it is better than the best.

        Returns:
            Those that were measured.
        """
        tuning = self._tuning
        if not settings or tuning.compared is None or tuning.comparison is None:
            return []
        measured = []
        best, incumbent = tuning.compared
        others = [tuning.full.incumbent.another(setting) for setting in settings]
        tuning.meet(incumbent.seeds[:_GATE], others)
        count = 1 + sum(bool(each.seeds) for each in others)
        if tuning.comparison.accepted:  # those that a few seeds show to be worse meet no more
            most = best.first(_GATE).objective
            others = [each for each in others if each.objective < most]
        if rest := incumbent.seeds[_GATE:]:
            tuning.meet(rest, others)
        least = best.objective if tuning.comparison.accepted else math.inf
        first = tuning.comparison
        for evaluation in others:
            met = evaluation.refusal is None and len(evaluation.seeds) == len(incumbent.seeds)
            if not met or self._is_unmeasured((evaluation,)):
                continue
            if evaluation.objective >= least:
                continue
            measured.append(evaluation)
            comparison = self._compare(evaluation, incumbent, LATER_LOOKS)
            if comparison.accepted:
                least = evaluation.objective
                tuning.comparison, tuning.best = comparison, evaluation
                tuning.compared = evaluation, incumbent
        if tuning.comparison is not first:
            tuning.comparison = tuning.comparison.chosen_among(count)
        return measured

    def _retry_nearest(self, tried: Sequence[Evaluation]) -> None:
        """Lets whatever came nearest to being proven meet as many seeds again."""
        tuning = self._tuning
        if tuning.compared is None:
            return
        incumbent = tuning.compared[1]

        def missing(evaluation: Evaluation) -> float:
            verdicts = judge(tuning.full.constraints, evaluation, incumbent, LATER_LOOKS)
            return math.fsum(verdict.cautious_violation for verdict in verdicts)

        nearest = min(tried, key=missing)
        if self._compare(nearest, incumbent, LATER_LOOKS).decision.doubtful:
            tuning.best, tuning.compared = nearest, (nearest, incumbent)
            self._add_seeds(len(nearest.seeds) // len(tuning.question.seeds.comparison))

    def _inner_settings(self) -> list[Setting]:
        """Settings to try where the best found cannot be proven: they keep more distance."""
        tuning = self._tuning
        if tuning.best is None or tuning.comparison is None:
            return []
        best, found = tuning.best.setting, _Settings(self._compared_settings)
        bound = tuning.comparison.decision.bound
        if bound is not None and bound.of_harm:
            for times in _FLATTERED:
                found.add(_EACH, self._settings_within_harm(times))
            safest = next((each.setting for each in reversed(front_of_distance(tuning))), best)
        else:
            for inside in _INSIDE:
                found.add(_EACH, (each.setting for each in tuning.ranked_by(inside)))
            safest = next((each.setting for each in tuning.ranked_by(_FAR_INSIDE)), best)
        found.add(len(SHARES), between(tuning.question.space, best, safest))
        incumbent = tuning.full.incumbent.setting
        found.add(len(SHARES), between(tuning.question.space, best, incumbent))
        return found.settings

    def _outer_settings(self) -> list[Setting]:
        """Settings to try where the best found is proven: they looked better, maybe as sure."""
        tuning = self._tuning
        constraints = tuning.full.constraints
        if tuning.best is None or tuning.comparison is None:
            return []
        if all(constraint.of_harm for constraint in constraints):
            return []
        if tuning.horizon is not tuning.full or len(tuning.question.seeds.search) == 1:
            return []  # nothing is known of them at this length, or of their noise
        best, found = tuning.best.setting, _Settings(self._compared_settings)
        reached = next((each for each in tuning.ranked_by(0.0) if each.setting == best), None)
        if reached is None:
            return []
        most, joined = tuning.horizon.value(reached, inside=0.0), tuning.horizon.joined
        least = joined(reached, reached.objective) - tuning.comparison.least_gain
        for inside in _OUTSIDE:
            promising = [
                each.setting
                for each in tuning.ranked_by(inside)
                if joined(each, each.objective) < least
                and tuning.horizon.value(each, inside=inside) < min(BROKEN, most)
            ]
            found.add(_EACH, promising)
            middle = between(tuning.question.space, best, promising[0])[1:2] if promising else ()
            found.add(1, middle)
        return found.settings

    def _settings_within_harm(self, times: float) -> list[Setting]:
        """The settings of the search, the best first, if as much more is kept from every bound.

        Args:
            times: what the search has shown of the best, less what fresh seeds show, so often.
        """
        tuning = self._tuning
        if tuning.compared is None:
            return []
        horizon, (best, incumbent) = tuning.horizon, tuning.compared
        constraints = horizon.constraints
        searched = next((each for *_, each in tuning.ranking if each.setting == best.setting), None)
        if searched is None:
            return []
        allowances = [
            [times * max(0.0, shown - fresh) for shown, fresh in zip(*phases, strict=True)]
            for phases in zip(
                mean_margins(constraints, searched, horizon.incumbent),
                mean_margins(constraints, best, incumbent),
                strict=True,
            )
        ]
        order = []
        for _, number, each in tuning.ranking:
            violation = mean_violation(constraints, each, horizon.incumbent, allowances)
            value = feasible_first(each.objective, violation, horizon.scale)
            order.append((value, number, each.setting))
        return [setting for _, _, setting in sorted(order, key=itemgetter(0, 1))]

    @property
    def _compared_settings(self) -> list[Setting]:
        """Settings that have been compared already."""
        compared = self._tuning.compared
        return [] if compared is None else [each.setting for each in compared]

    @staticmethod
    def _is_unmeasured(evaluations: Sequence[Evaluation]) -> bool:
        return any(each.not_measured is not None for each in evaluations)


def _rounded(space: Space, setting: Setting, digits: int) -> Setting | None:
    """A setting with so many digits; ``None`` where it is none of the box."""
    numbers = {
        name: value if isinstance(value, bool) else float(f"{value:.{digits}g}")
        for name, value in setting.items()
        if value is not None
    }
    if len(numbers) < len(setting) or numbers == setting:
        return None
    return numbers if space.nearest(numbers) == numbers else None


class _Settings:
    """Settings, each of them once.

    Args:
        known: those that are not to be among them.
    """

    def __init__(self, known: Sequence[Setting]) -> None:
        self._compared_settings = [dict(each) for each in known]
        self.settings: list[Setting] = []

    def add(self, most: int, settings: Iterable[Setting]) -> None:
        """Takes up the first so many that are new."""
        for setting in settings:
            if most == 0:
                return
            if dict(setting) not in self._compared_settings:
                self._compared_settings.append(dict(setting))
                self.settings.append(setting)
                most -= 1
