"""The best setting of one scenario: from a prepared tuning to a recommendation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vermilion.scenario.errors import ScenarioError
from vermilion.tuning.baselines import rule_settings
from vermilion.tuning.checks import (
    baselines_beside,
    box_warnings,
    is_time_for_more,
    paired_prices,
    search_seconds,
)
from vermilion.tuning.comparison import chance_warnings
from vermilion.tuning.earlier_answers import EarlierAnswer, conditions_of
from vermilion.tuning.model_search import search_best
from vermilion.tuning.neighbourhood import neighbours
from vermilion.tuning.recommendation import Recommendation, WarmStart, is_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vermilion.scenario import Scenario
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.model_search import SearchOutcome
    from vermilion.tuning.neighbourhood import Neighbour
    from vermilion.tuning.preparation import Case, PreparedTuning
    from vermilion.tuning.recommendation import BaselineOutcome
    from vermilion.tuning.session import TuningSession


def best_setting(tuning: PreparedTuning, session: TuningSession) -> Recommendation:
    """Searches the best setting for a scenario and compares it with the scenario's own.

    Ctrl-C ends it early with the best so far, which is then not accepted.

    Args:
        tuning: of one scenario.
        session: how it is done.

    Raises:
        NotMeasuredError: the scenario's discipline lacks what the objective measures.
        ScenarioError: the core refuses the incumbent or a seed.
        ValueError: a setting of the search that is not accepted.
    """
    from vermilion import _core

    plan, [case] = tuning.plan, tuning.cases
    rules = rule_settings(case.scenario, case.objective, case.stated, case.incumbent)
    warm_starts = [*plan.warm_starts, *(setting for _, _, setting in tuning.earlier)]
    outcome = search_best(
        case.text,
        tuning.space,
        case.objective,
        case.constraints,
        incumbent=case.incumbent,
        standing=case.before,
        seeds=tuning.seeds,
        budget=plan.budget,
        deadline_s=search_seconds(tuning.seconds_left(session.deadline_s)),
        warm_starts=warm_starts,
        rules=[tuning.space.nearest(each) for each in rules],
        search=tuning.search,
        search_seed=plan.seed,
        search_settings=plan.search_settings,
        search_state=session.resume,
        shortlist=plan.shortlist,
        race_budget=plan.race_budget,
        fidelity=plan.fidelity,
        required_improvement=plan.required_improvement,
        least_gain=case.least_gain,
        threads=session.threads,
        workers=session.workers,
        progress=session.progress,
        memory=session.study,
        **_conditions(tuning, session),
    )
    scenario = case.scenario
    runs = [] if outcome.comparison is None else [outcome.incumbent_results]
    [rivals], end = baselines_beside(tuning, session, runs, outcome.end)
    if session.answers is not None and outcome.accepted:
        numbers = {path: value for path, value in (outcome.best or {}).items() if value is not None}
        conditions = conditions_of(scenario, tuning.space.names, case.objective)
        session.answers.add(EarlierAnswer(conditions, numbers, scenario.origin))
    return Recommendation(
        scenario=scenario.origin,
        objective=case.objective.label,
        parameters=outcome.best or {},
        incumbent=case.standing_setting,
        accepted=outcome.accepted,
        reason=outcome.reason,
        comparison=outcome.comparison,
        metrics=paired_prices(
            (outcome.best_results, outcome.incumbent_results), tuning.link_of(case), case.objective
        ),
        evaluations=outcome.evaluations,
        simulations=outcome.simulations,
        seconds=outcome.seconds,
        end=end,
        seeds=tuning.seeds,
        search=str((session.resume or {}).get("search", tuning.search)),
        search_state=outcome.search_state,
        version=_core.VERSION,
        readable=_readable(case, outcome),
        race=outcome.race,
        fidelity=outcome.fidelity,
        warm_starts=tuple(WarmStart(source, apart) for source, apart, _ in tuning.earlier),
        device=tuning.on_device(_final_setting(case, outcome)),
        unit=case.objective.unit,
        rivals=rivals,
        robustness=outcome.around,
        warnings=(*_warnings(tuning, outcome), *_as_good_baselines(case, outcome, rivals)),
    )


def _conditions(tuning: PreparedTuning, session: TuningSession) -> dict[str, Any]:
    """The conditions around the scenario, as arguments of the search; none where time is short."""
    [case] = tuning.cases
    if tuning.plan.exactly or not is_time_for_more(session):
        return {}

    def around(scenario: Scenario, paths: Iterable[str]) -> dict[str, Neighbour]:
        found = {}
        for each in neighbours(scenario, tuning.links):
            try:
                for path in paths:
                    each.scenario.parameter(path)
            except ScenarioError:
                continue  # another sender may not have its own
            found[each.key] = each
        return found

    found = around(case.scenario, tuning.space.names)
    if case.before is not None:
        before = around(case.before, ())
        found = {
            key: replace(each, standing=before[key].scenario)
            for key, each in found.items()
            if key in before
        }
    return {"conditions": list(found.values()), "condition_workers": session.runner}


def _final_setting(case: Case, outcome: SearchOutcome) -> Setting:
    """The best setting, or the incumbent if it stays; of another discipline no values are known."""
    if outcome.accepted and outcome.best is not None:
        return outcome.best
    return case.condition.standing_evaluation().setting


def _warnings(tuning: PreparedTuning, outcome: SearchOutcome) -> tuple[str, ...]:
    """Warnings about the comparison, and about using a recommended setting."""
    found: list[str] = []
    if outcome.comparison is not None:
        found += chance_warnings(outcome.best_results, outcome.incumbent_results)
    if outcome.accepted and outcome.best is not None:
        found += box_warnings(tuning.cases[0].scenario, tuning.space, outcome.best)
        found += () if outcome.around is None else outcome.around.warnings
    return tuple(found)


def _as_good_baselines(
    case: Case, outcome: SearchOutcome, baselines: Sequence[BaselineOutcome]
) -> tuple[str, ...]:
    """Sentence on what a rule of thumb does as well, without a search."""
    if not outcome.accepted or outcome.comparison is None:
        return ()
    sign = -1.0 if case.objective.maximised else 1.0
    best = outcome.comparison.best

    def is_as_good(each: BaselineOutcome) -> bool:
        spread = (each.objective.half_width or 0.0) + (best.half_width or 0.0)
        return not each.missed and sign * (each.objective.mean - best.mean) <= spread

    chosen = outcome.best or {}
    others = [each for each in baselines if not is_within(each.parameters, chosen)]
    names = [each.label for each in others if is_as_good(each)]
    return (f"without a search, as good on these seeds: {'; '.join(names)}",) if names else ()


def _readable(case: Case, outcome: SearchOutcome) -> dict[str, tuple[str, str]]:
    """Format both settings: the incumbent's and the best's value."""
    texts = {}
    before = case.standing
    if case.before is not None:
        for link in case.queues:
            path = f"links.{link}.queue.discipline"
            texts[path] = (
                before.links[link].queue.discipline,
                case.scenario.links[link].queue.discipline,
            )
    standing, best = case.standing_setting, outcome.best or {}
    for path in dict.fromkeys([*standing, *best]):
        now = before.parameter(path).readable(standing[path]) if path in standing else ""
        then = case.scenario.parameter(path).readable(best[path]) if path in best else ""
        texts[path] = (now, then)
    return texts
