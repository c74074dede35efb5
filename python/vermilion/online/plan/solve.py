"""Thinking: from what is seen to an answer. A pure function of its task, for any process to do.

Nothing here touches the network, and nothing is remembered between two tasks but what findings
bring back.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from vermilion.objectives import NotMeasuredError, constraints_of
from vermilion.objectives.harm import harm_bounds
from vermilion.online.model.examination import examine
from vermilion.online.model.horizon import horizon_for
from vermilion.online.model.network import build_model
from vermilion.online.model.prediction import Prediction, outcome_of, queue_noise
from vermilion.online.model.traffic import TooLittleIsKnown, Traffic
from vermilion.online.plan.answer import Answer
from vermilion.online.plan.first_guesses import first_guesses
from vermilion.online.plan.goal import goal_of
from vermilion.online.plan.judgement import judge
from vermilion.online.plan.task import Finding
from vermilion.search import Space
from vermilion.simulate import run_many
from vermilion.tuning.known_reference import on_known
from vermilion.tuning.model_search import search_best
from vermilion.tuning.seeds import Seeds
from vermilion.tuning.simulations import needs_flow_delays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.online.model.horizon import Horizon
    from vermilion.online.plan.task import Task
    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import ParameterValue
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.tuning.model_search import SearchOutcome

_EXAMINING_SHARE = 0.3  # of a refined answer's time
_SEEDS_TO_EXAMINE = 100
_SEARCH_SEEDS = {"quick": 1, "refined": 2}  # runs per setting; more are slower and surer
_NOISE_RUNS = 3
_HARM_RUNS = 6
_MOST_EVALUATIONS = 2000
_TIME_FOR_THE_SEARCH = 0.85  # of the deadline; the rest is for building models and noise
# Good from the first few dozen settings on: docs/search-benchmark.md.
_SEARCH = "recursive-random-search"
_STOP_SIDE = 0.05  # where a local search ends: a twentieth of each parameter's range


def solve(task: Task) -> Finding:
    """Do a task.

    A quick one searches the best setting for the traffic as it looks. A refined one first finds out
    which senders explain what was seen under the setting in force; where none do, the model has no
    word on other settings and there is no answer.

    Raises:
        KeyboardInterrupt: at Ctrl-C.
    """
    try:
        traffic = Traffic.of_picture(task.picture, task.policy)
    except TooLittleIsKnown as missing:
        return _nothing(task, str(missing))
    if task.kind == "quick":
        return _answered(task, traffic, task.deadline_s, task.first_seed)
    examination, belief = None, task.belief
    correction = task.correction
    if task.settled:
        examining_s = _EXAMINING_SHARE * task.deadline_s
        examination, belief = examine(task, traffic, examining_s)
        if task.policy.target_packets is not None:
            measured, seconds = mean_and_seconds(task.settled)
            correction = correction.learned(
                measured, seconds, examination.noise, examination.predicted_mean
            )
    learned = replace(task, belief=belief, correction=correction)
    if examination is not None and not examination.explained:
        nothing = _nothing(learned, examination.in_words())
        return replace(nothing, explanation=examination)
    finding = _answered(
        learned,
        traffic,
        (1.0 - _EXAMINING_SHARE) * task.deadline_s,
        task.first_seed + _SEEDS_TO_EXAMINE,
    )
    return replace(finding, explanation=examination)


def mean_and_seconds(samples: Sequence[Sample]) -> tuple[float, float]:
    """The mean backlog of some samples, and how long they lasted."""
    return (
        fmean(sample.backlog_packets for sample in samples),
        sum(sample.interval_s for sample in samples),
    )


def _nothing(task: Task, obstacle: str) -> Finding:
    """A finding without an answer."""
    return Finding(
        answer=None,
        obstacle=obstacle,
        explanation=None,
        correction=task.correction,
        belief=task.belief,
        packets_per_s=None,
    )


def _answered(task: Task, traffic: Traffic, deadline_s: float, first_seed: int) -> Finding:
    """The best setting for the traffic, found within a deadline."""
    try:
        answer, packets_per_s = _search(task, traffic, deadline_s, first_seed)
    except (TooLittleIsKnown, NotMeasuredError) as missing:
        return _nothing(task, str(missing))
    return replace(_nothing(task, ""), answer=answer, packets_per_s=packets_per_s)


def _search(
    task: Task, traffic: Traffic, deadline_s: float, first_seed: int
) -> tuple[Answer, float | None]:
    """The answer, and how many packets this machine simulates per second.

    Raises:
        TooLittleIsKnown: the search did not get far enough.
        NotMeasuredError: the model lacks what the goal is about.
    """
    policy = task.policy
    horizon = horizon_for(traffic, deadline_s, task.packets_per_s)
    model = _model(task, task.in_force, traffic, horizon)
    internal = None if policy.target_packets is None else task.correction.internal_target
    target = policy.scale_packets(traffic.packets_per_s) if internal is None else internal
    goal = goal_of(policy, model, target)
    seeds = Seeds.counted(
        first_seed,
        search=_SEARCH_SEEDS[task.kind],
        re_evaluation=task.re_evaluations,
        comparison=task.comparisons,
    )
    if goal.needs_incumbent:
        [row] = run_many([model], seeds.search, flow_delays=needs_flow_delays(goal))
        goal = goal.relative_to([result for result in row if result is not None])
    constraints = (
        *constraints_of(model, goal, policy.constraints, links=[policy.link]),
        *_harm_bounds(task, model, traffic, horizon, seeds.comparison),
    )
    starts = (*task.starts, *first_guesses(policy.parameters, traffic, target))
    outcome = search_best(
        model,
        Space.from_scenario(model),
        goal,
        constraints,
        incumbent={policy.path(name): model.get(policy.path(name)) for name in policy.parameters},
        seeds=seeds,
        budget=task.evaluations or _MOST_EVALUATIONS,
        deadline_s=None if task.evaluations is not None else _TIME_FOR_THE_SEARCH * deadline_s,
        warm_starts=[
            {policy.path(name): value for name, value in start.items()} for start in starts
        ],
        search=_SEARCH,
        search_seed=first_seed,
        search_settings={"stop_side": _STOP_SIDE},
    )
    if outcome.end == "interrupted":
        raise KeyboardInterrupt
    if outcome.best is None or len(outcome.best_results) < 2:  # noqa: PLR2004 - an interval
        message = f"the search did not get far enough: {outcome.reason}"
        raise TooLittleIsKnown(message)
    best, before = (
        _prediction(setting, results, policy.link, goal, constraints)
        for setting, results in (
            (outcome.best, outcome.best_results),
            (outcome.incumbent, outcome.incumbent_results),
        )
    )
    compared = outcome.comparison
    verdicts = () if compared is None else (compared.best_verdicts, compared.incumbent_verdicts)
    noise_seeds = seeds.comparison[:_NOISE_RUNS]
    answer = Answer(
        kind=task.kind,
        picture=task.picture,
        in_force=task.in_force,
        internal_target=internal,
        goal=goal.label,
        unit=goal.unit,
        setting=best.setting,
        candidate=best,
        incumbent=before,
        verdict=judge(best, before, goal, *verdicts),
        candidate_noise=queue_noise(model.with_values(outcome.best), policy.link, noise_seeds),
        incumbent_noise=queue_noise(model, policy.link, noise_seeds),
        evaluations=outcome.evaluations,
        took_s=outcome.seconds,
    )
    # What answers must repeat on depends on nothing of the machine.
    return answer, None if task.evaluations is not None else _speed(outcome)


def _harm_bounds(
    task: Task, model: Scenario, traffic: Traffic, horizon: Horizon, seeds: Sequence[int]
) -> list[Constraint]:
    """What a setting may cost, against the one that the controller met when it began.

    Against the setting in force each of many small steps could cost as much again.
    """
    bounds = harm_bounds(model, [task.policy.link], task.policy.harm)
    if all(task.original[name] == value for name, value in task.in_force.items()):
        return list(bounds)
    untouched = _model(task, task.original, traffic, horizon)
    [row] = run_many([untouched], seeds[:_HARM_RUNS])
    results = [result for result in row if result is not None]
    return [on_known(bound, results) for bound in bounds]


def _model(
    task: Task, in_force: Mapping[str, ParameterValue], traffic: Traffic, horizon: Horizon
) -> Scenario:
    return build_model(
        task.configuration, in_force, traffic, task.belief.best, task.policy, horizon
    )


def _prediction(
    setting: Mapping[str, float | None],
    results: Sequence[Result],
    link: str,
    goal: Objective,
    constraints: Sequence[Constraint],
) -> Prediction:
    return Prediction(
        setting={
            path.rpartition(".")[2]: value for path, value in setting.items() if value is not None
        },
        outcomes=tuple(outcome_of(result, link, goal, constraints) for result in results),
    )


def _speed(outcome: SearchOutcome) -> float | None:
    """How many packets this machine simulates per second, for the next horizon."""
    packets = [result.data["packets_forwarded"] for result in outcome.incumbent_results]
    if not packets or outcome.seconds <= 0:
        return None
    return fmean(packets) * outcome.simulations / outcome.seconds
