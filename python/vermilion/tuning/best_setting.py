"""The best setting of one scenario: from a prepared tuning to a recommendation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.objectives import (
    Objective,
    WindowObjective,
    link_windows,
    metric_of,
    weighted_mean,
)
from vermilion.simulate.statistics import Interval, mean_interval
from vermilion.tuning.answers import Answer
from vermilion.tuning.conditions import conditions_of
from vermilion.tuning.engine import search_best
from vermilion.tuning.recommendation import Recommendation

if TYPE_CHECKING:
    from vermilion.objectives.windows import Over
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.engine import SearchOutcome
    from vermilion.tuning.preparation import PreparedTuning
    from vermilion.tuning.session import TuningSession

SUMMARY: Final = (
    "utilization",
    "queue_packets.mean",
    "queue_packets.sd",
    "queue_packets.p95",
    "drop_rate",
)
"""Metrics of a link that accompany a recommendation, whatever the objective."""


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
    # What plan.robustness, case.harm and case.minimum_improvement ask for is handed over here as
    # soon as the engine takes it.
    outcome = search_best(
        case.text,
        tuning.space,
        case.objective,
        case.constraints,
        incumbent=case.incumbent,
        seeds=tuning.seeds,
        budget=plan.budget,
        deadline_s=tuning.seconds_left(session),
        warm_starts=warm_starts,
        search=tuning.search,
        search_seed=plan.seed,
        search_settings=plan.search_settings,
        search_state=session.resume,
        shortlist=plan.shortlist,
        race_budget=plan.race_budget,
        fidelity=plan.fidelity,
        required_improvement=plan.required_improvement,
        threads=session.threads,
        workers=session.workers,
        progress=session.progress,
        memory=session.study,
    )
    scenario = case.scenario
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
        metrics=_metrics(outcome, (*case.objective.links, *tuning.links)[0], case.objective),
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
    )


def _chosen(outcome: SearchOutcome) -> Setting:
    """The best setting, or the incumbent if it stays."""
    return outcome.best if outcome.accepted and outcome.best is not None else outcome.incumbent


def _metrics(
    outcome: SearchOutcome, link: str, objective: Objective
) -> dict[str, tuple[Interval, Interval]]:
    """The best's and the incumbent's metrics, those that every run has measured."""
    over = objective.over if isinstance(objective, WindowObjective) else "phases"
    metrics = {}
    for name in SUMMARY:
        values = [
            [_mean_metric(result, link, over, name) for result in results]
            for results in (outcome.best_results, outcome.incumbent_results)
        ]
        best, incumbent = ([value for value in row if value is not None] for row in values)
        if best and len(best) == len(values[0]) and len(incumbent) == len(values[1]):
            metrics[name] = (mean_interval(best), mean_interval(incumbent))
    return metrics


def _mean_metric(result: Result, link: str, over: Over, name: str) -> float | None:
    """A metric's mean over the windows, weighted by their durations."""
    windows = link_windows(result, link, over)
    values = [metric_of(window, name) for window in windows]
    known = [value for value in values if value is not None]
    return weighted_mean(known, windows) if len(known) == len(values) else None


def _readable(scenario: Scenario, outcome: SearchOutcome) -> dict[str, tuple[str, str]]:
    """Both settings as one would write them: the incumbent's and the best's value."""
    texts = {}
    for path, value in outcome.incumbent.items():
        parameter = scenario.parameter(path)
        best = "" if outcome.best is None else parameter.readable(outcome.best[path])
        texts[path] = (parameter.readable(value), best)
    return texts
