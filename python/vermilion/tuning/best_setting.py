"""The best setting of one scenario: from a prepared tuning to a recommendation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.objectives.price import over_of, price_intervals
from vermilion.tuning.answers import Answer
from vermilion.tuning.box_warnings import box_warnings
from vermilion.tuning.conditions import conditions_of
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.model_search import search_best
from vermilion.tuning.recommendation import Recommendation, RivalOutcome
from vermilion.tuning.rivals import RIVAL_BUDGET, simple_rivals
from vermilion.tuning.robustness import check_robustness
from vermilion.tuning.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Objective
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.simulate.statistics import Interval
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.model_search import SearchOutcome
    from vermilion.tuning.preparation import Case, PreparedTuning
    from vermilion.tuning.robustness import Robustness
    from vermilion.tuning.session import TuningSession

ROBUSTNESS_SEEDS: Final = 5
"""Fresh seeds that the chosen setting and the incumbent meet under each neighbouring condition."""

LEAST_DEADLINE_S: Final = 10.0
"""Deadlines from which on there is time to look beyond the setting itself."""

_BESIDE: Final = 0.25
"""The part of such a deadline that is set aside for that."""


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
    warm_starts = [*plan.warm_starts, *(setting for _, _, setting in tuning.earlier)]
    left = tuning.seconds_left(session)
    if left is not None and left >= LEAST_DEADLINE_S:
        left *= 1.0 - _BESIDE
    outcome = search_best(
        case.text,
        tuning.space,
        case.objective,
        case.constraints,
        incumbent=case.incumbent,
        seeds=tuning.seeds,
        budget=plan.budget,
        deadline_s=left,
        warm_starts=warm_starts,
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
        refines=True,
    )
    scenario = case.scenario
    link = (*case.objective.links, *tuning.links)[0]
    robustness = _robustness(tuning, session, outcome)
    if session.answers is not None and outcome.accepted:
        numbers = {path: value for path, value in (outcome.best or {}).items() if value is not None}
        conditions = conditions_of(scenario, tuning.space.names, case.objective)
        session.answers.add(Answer(conditions, numbers, scenario.origin))
    return Recommendation(
        scenario=scenario.origin,
        objective=case.objective.label,
        parameters=outcome.best or {},
        incumbent=outcome.incumbent,
        accepted=outcome.accepted,
        reason=outcome.reason,
        comparison=outcome.comparison,
        metrics=_price(outcome, link, case.objective),
        evaluations=outcome.evaluations,
        simulations=outcome.simulations,
        seconds=outcome.seconds,
        end=outcome.end,
        seeds=tuning.seeds,
        search=str((session.resume or {}).get("search", tuning.search)),
        search_state=outcome.search_state,
        version=_core.VERSION,
        readable=_readable(scenario, outcome),
        race=outcome.race,
        fidelity=outcome.fidelity,
        warm_starts=tuple((source, apart) for source, apart, _ in tuning.earlier),
        device=tuning.on_device(_chosen(outcome)),
        unit=case.objective.unit,
        rivals=_rivals(tuning, session, outcome, link),
        robustness=robustness,
        warnings=_warnings(tuning, outcome, robustness),
    )


def _chosen(outcome: SearchOutcome) -> Setting:
    """The best setting, or the incumbent if it stays."""
    return outcome.best if outcome.accepted and outcome.best is not None else outcome.incumbent


def _price(
    outcome: SearchOutcome, link: str, objective: Objective
) -> dict[str, tuple[Interval, Interval]]:
    """The best's and the incumbent's price, as far as every run has measured it."""
    best, incumbent = (
        price_intervals(results, link, over_of(objective))
        for results in (outcome.best_results, outcome.incumbent_results)
    )
    return {name: (best[name], incumbent[name]) for name in best if name in incumbent}


def _time_is_left(session: TuningSession, outcome: SearchOutcome) -> bool:
    """Whether to look beyond the setting itself: not after Ctrl-C, nor within short deadlines."""
    deadline = session.deadline_s
    return outcome.end != "interrupted" and (deadline is None or deadline >= LEAST_DEADLINE_S)


def _rivals(
    tuning: PreparedTuning, session: TuningSession, outcome: SearchOutcome, link: str
) -> tuple[RivalOutcome, ...]:
    """The simplest things that might do the same, beside what was found."""
    plan, [case] = tuning.plan, tuning.cases
    links = list(
        dict.fromkeys(path.split(".")[1] for path in tuning.space.names if path.startswith("links"))
    )
    if not plan.rivals or not links or outcome.comparison is None:
        return ()
    if not _time_is_left(session, outcome):
        return ()
    rivals = simple_rivals(
        case.scenario,
        case.objective,
        case.asked,
        links=links,
        seeds=tuning.seeds,
        budget=min(RIVAL_BUDGET, plan.budget),
        device=plan.profile,
        search_seed=plan.seed,
        threads=session.threads,
        workers=session.workers,
        deadline_s=tuning.seconds_left(session),
    )
    incumbent = _evaluated(case, tuning.seeds.comparison, outcome.incumbent_results)
    found = []
    for rival in rivals:
        if rival.objective is None:
            continue
        evaluation = _evaluated(case, rival.seeds, rival.results)
        verdicts = judge(case.constraints, evaluation, incumbent)
        found.append(
            RivalOutcome(
                label=rival.name,
                parameters=rival.parameters,
                objective=rival.objective,
                metrics=price_intervals(rival.results, link, over_of(case.objective)),
                missed=tuple(str(each) for each in verdicts if each.holds != "met"),
            )
        )
    return tuple(found)


def _evaluated(case: Case, seeds: Sequence[int], results: Sequence[Result]) -> Evaluation:
    """Runs of whatever stands in the scenario's queue, by its objective and all its constraints."""
    evaluation = Evaluation({})
    for seed, result in zip(seeds, results, strict=False):
        evaluation.add(seed, result, case.objective, case.constraints)
    return evaluation


def _robustness(
    tuning: PreparedTuning, session: TuningSession, outcome: SearchOutcome
) -> Robustness | None:
    """How an accepted setting fares around the conditions that it was found for."""
    plan, [case] = tuning.plan, tuning.cases
    if not plan.robustness or not outcome.accepted or outcome.best is None:
        return None
    if not _time_is_left(session, outcome):
        return None
    return check_robustness(
        case.scenario,
        tuning.space.names,
        outcome.best,
        outcome.incumbent,
        case.objective,
        case.constraints,
        seeds=tuning.seeds.comparison[:ROBUSTNESS_SEEDS],
        least_loss=case.objective.least_gain(0.0),
        threads=session.threads,
        workers=session.workers,
        deadline_s=tuning.seconds_left(session),
    )


def _warnings(
    tuning: PreparedTuning, outcome: SearchOutcome, robustness: Robustness | None
) -> tuple[str, ...]:
    """What to know before using the setting."""
    if not outcome.accepted or outcome.best is None:
        return ()
    ends = box_warnings(tuning.cases[0].scenario, tuning.space, outcome.best)
    return (*ends, *(() if robustness is None else robustness.warnings))


def _readable(scenario: Scenario, outcome: SearchOutcome) -> dict[str, tuple[str, str]]:
    """Both settings as one would write them: the incumbent's and the best's value."""
    texts = {}
    for path, value in outcome.incumbent.items():
        parameter = scenario.parameter(path)
        best = "" if outcome.best is None else parameter.readable(outcome.best[path])
        texts[path] = (parameter.readable(value), best)
    return texts
