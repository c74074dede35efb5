"""One setting for several scenarios: tuned for the worst of them, or for their weighted mean.

A queue is set once and meets many conditions. Each scenario's objective is divided by what its own
incumbent reaches there, so that scenarios of different size can be compared: 1 is "as now", 0.8 is
a fifth better in a quantity that is minimised. (Of a quantity that is maximised the negative
counts, -1 being "as now".)

The engine is that of every tuning (:mod:`vermilion.tuning.engine`); a setting's evaluation is
of all scenarios together (:mod:`vermilion.tuning.evaluation`).

1. *Search.* Every candidate meets the same few seeds in every scenario. Its value is the largest
   of the scenarios' means ("worst"), or their weighted mean ("mean"). Constraints count in every
   scenario, each with its own. One seed in all scenarios may show a candidate to be hopeless.
   If a shorter simulation of all scenarios ranks settings in the same order, the search uses it.
2. *Re-evaluation.* The few best settings race on more seeds in every scenario.
3. *Comparison* with the incumbents on fresh seeds. "worst": the setting is accepted if it is
   significantly better in every scenario, for then and only then it surely is in the worst; no
   correction for several tests is needed, because all of them have to be passed
   (intersection-union test, R. L. Berger 1982). "mean": it is accepted if the interval of the
   weighted mean of the differences, seed by seed, lies on the right side of zero. With either, all
   constraints must be kept beyond doubt in all scenarios, and where an incumbent surely breaks one
   in its scenario, a setting that keeps them all replaces it, whatever the objectives say.

Of what a tuning for one scenario does, no later look on more seeds follows a doubt, and no settings
further inside the constraints or further outside are compared.
"""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.simulate.statistics import Interval, SettingPair, mean_interval
from vermilion.tuning.checks import (
    baselines_beside,
    box_warnings,
    paired_prices,
    search_seconds,
)
from vermilion.tuning.comparison import Comparison, chance_warnings, compare
from vermilion.tuning.engine import Tuning, complete
from vermilion.tuning.evaluation import Joining
from vermilion.tuning.question import Question
from vermilion.tuning.robust_recommendation import RobustCase, RobustRecommendation
from vermilion.tuning.search_loop import new_search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.tuning.evaluation import Evaluation, Over
    from vermilion.tuning.preparation import Case, PreparedTuning
    from vermilion.tuning.session import TuningSession

    Row = tuple[Case, Evaluation, Evaluation]
    """A scenario, and the best setting and the one in force on fresh seeds there."""


def best_for_all(prepared: PreparedTuning, session: TuningSession) -> RobustRecommendation:
    """Searches one setting for several scenarios and compares it with each one's own.

    Ctrl-C ends it early with the best so far, which is then not accepted.

    Args:
        prepared: of several scenarios.
        session: how it is done.

    Raises:
        NotMeasuredError: one scenario's discipline lacks what its objective measures.
        ScenarioError: the core refuses an incumbent.
        ValueError: a setting of the search that is not accepted.
    """
    from vermilion import _core

    plan, cases, shares = prepared.plan, prepared.cases, prepared.plan.shares
    numbers, space = prepared.seeds, prepared.space
    least = [case.objective.least_size for case in cases]
    seconds = search_seconds(session.deadline_s)
    known = [setting for case in cases for setting in complete(case.incumbent)]
    starts = [space.point(setting) for setting in (*known, *plan.warm_starts)]
    # 1 is "as now" of what is minimised and -1 of what is maximised: together they cancel.
    cancels = len({case.objective.maximised for case in cases}) > 1 or any(least)
    question = Question(
        conditions=[case.condition for case in cases],
        joining=Joining(plan.over, shares, [1.0] * len(cases), least),
        least_size=1.0 if cancels else 0.0,
        space=space,
        search=new_search(
            prepared.search, space, plan.seed, dict.fromkeys(starts), plan.search_settings
        ),
        seeds=numbers,
        budget=plan.budget,
        shortlist=plan.shortlist,
        race_runs=plan.race_budget,
        pilot_seed=plan.seed if plan.fidelity == "auto" else None,
    )
    tuning = Tuning(
        question=question,
        full=question.horizon(session.threads, session.workers, session.study),
        progress=session.progress,
        start=prepared.start,
        until=None if seconds is None else prepared.start + seconds,
        memory=session.study,
    )
    tuning.run()
    rows: list[Row] = []
    if tuning.compared is not None:
        rows = list(zip(cases, *(each.pieces for each in tuning.compared), strict=True))
    accepted, reason, compared, change = _decision(tuning, rows, plan.over, shares)
    best = None if tuning.best is None else tuning.best.setting
    first = cases[0].scenario
    runs = [now.results for *_, now in rows]
    rivals, end = baselines_beside(prepared, session, runs, tuning.end)
    prices = [
        paired_prices((mine.results, now.results), prepared.link_of(case), case.objective)
        for case, mine, now in rows
    ]
    warnings = [
        f"in {case.label}, {warning}"
        for case, mine, now in rows
        for warning in chance_warnings(mine.results, now.results)
    ]
    if best is not None and accepted:
        warnings += box_warnings(first, space, best)
    return RobustRecommendation(
        over=plan.over,
        parameters=best or {},
        accepted=accepted,
        reason=reason,
        cases=tuple(
            RobustCase(
                case.label,
                case.objective.label,
                case.standing_setting,
                weight,
                each,
                price,
                case.objective.unit,
                others,
            )
            for case, weight, each, price, others in zip(
                cases, shares, compared, prices or [{}] * len(cases), rivals, strict=True
            )
        ),
        together=_joint_comparison(tuning, rows, plan.over, shares),
        change=change,
        evaluations=tuning.evaluations,
        simulations=tuning.simulations,
        end=end,
        seeds=numbers,
        search=prepared.search,
        version=_core.VERSION,
        readable={
            path: first.parameter(path).readable(value) for path, value in (best or {}).items()
        },
        fidelity=tuning.fidelity,
        race=tuning.race and replace(tuning.race, simulations=len(cases) * tuning.race.simulations),
        device=prepared.on_device(best) if best is not None and accepted else None,
        warnings=tuple(warnings),
    )


def _decision(
    tuning: Tuning, rows: Sequence[Row], over: Over, shares: Sequence[float]
) -> tuple[bool, str, Sequence[Comparison | None], Interval | None]:
    """Decision, its reason, the comparisons, and the weighted mean of the relative changes."""
    nothing: list[Comparison | None] = [None] * len(shares)
    if tuning.compared is None or len(tuning.compared[0].seeds) < 2:  # noqa: PLR2004 - an interval
        return False, tuning.why_not_compared, nothing, None
    for case, mine, other in rows:
        absent = mine.not_measured or other.not_measured
        if absent is not None:
            return False, f"kept the incumbents, because in {case.label} {absent}", nothing, None
    least = [case.least_gain(abs(other.objective)) for case, _, other in rows]
    compared = [
        compare(case.objective, case.constraints, mine, other, least_gain=gain)
        for (case, mine, other), gain in zip(rows, least, strict=True)
    ]
    labels = [case.label for case, *_ in rows]
    missed = [
        (label, verdict)
        for label, each in zip(labels, compared, strict=True)
        for verdict in each.best_verdicts
        if verdict.holds != "met"
    ]
    changes = [
        [
            (new - old) / (case.objective.size_of(other.objective) or 1.0)
            for new, old in zip(mine.objectives, other.objectives, strict=True)
        ]
        for case, mine, other in rows
    ]
    overall = mean_interval(
        math.fsum(share * change for share, change in zip(shares, row, strict=True))
        for row in zip(*changes, strict=True)
    )
    if missed:
        return False, f"refused, because in {missed[0][0]} {missed[0][1]}", compared, overall
    broken = [
        (label, verdict)
        for label, each in zip(labels, compared, strict=True)
        for verdict in each.incumbent_verdicts
        if verdict.holds == "broken"
    ]
    if broken:
        label, verdict = broken[0]
        what = "a bound of harm" if verdict.of_harm else "a constraint"
        why = f"in {label} the incumbent breaks {what} ({verdict.constraint}: {verdict.figures})"
        return True, f"{why}, and every constraint is met", compared, overall
    if over == "mean":
        accepted, reason = _decide_by_mean(overall)
    else:
        highs = [mean_interval(row).high for row in changes]
        accepted, reason = _decide_by_worst(labels, highs)
    gains = [other.objective - mine.objective for _, mine, other in rows]
    if accepted and not any(map(operator.ge, gains, least)):
        accepted = False
        reason = "kept the incumbents, because in no scenario the gain is worth a change"
    return accepted, reason, compared, overall


def _joint_comparison(
    tuning: Tuning, rows: Sequence[Row], over: Over, shares: Sequence[float]
) -> SettingPair | None:
    """The best and the incumbents in all scenarios, measured by the incumbents on fresh seeds."""
    if tuning.compared is None or len(tuning.compared[0].seeds) < 2:  # noqa: PLR2004 - an interval
        return None
    if any(each.not_measured is not None for each in tuning.compared):
        return None
    sizes = [case.objective.size_of(now.objective) or 1.0 for case, _, now in rows]
    joining = Joining(over, shares, sizes)
    best = joining.joined([mine.objectives for _, mine, _ in rows])
    incumbents = joining.joined([now.objectives for *_, now in rows])
    return SettingPair(mean_interval(best), mean_interval(incumbents))


def _decide_by_worst(labels: Sequence[str], highs: Sequence[float | None]) -> tuple[bool, str]:
    """The decision by the upper ends of the scenarios' relative changes."""
    unsure = [
        label for label, high in zip(labels, highs, strict=True) if high is None or high >= 0.0
    ]
    if not unsure:
        return True, "significantly better in every scenario, and every constraint is met"
    return False, (
        f"kept the incumbents, because it is not surely better in {' and '.join(unsure)}"
    )


def _decide_by_mean(change: Interval) -> tuple[bool, str]:
    """The decision by the weighted mean of the scenarios' relative changes."""
    said = f"{100 * change.mean:+.3g} %"
    if change.half_width is not None:
        said += f" +- {100 * change.half_width:.2g} %"
    if change.high is not None and change.high < 0.0:
        return True, (
            f"significantly better in the weighted mean ({said}; negative is better), and every "
            "constraint is met"
        )
    return False, f"kept the incumbents, because the weighted mean may be no better ({said})"
