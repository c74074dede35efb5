"""Tuning a scenario: from what it says to a recommendation."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from vermilion.objectives import (
    CalledFunction,
    NotMeasuredError,
    Objective,
    WindowObjective,
    constraints_of,
    link_windows,
    metric_of,
    objective_from_text,
    objective_of,
    weighted_mean,
)
from vermilion.profiles import Device, SettableSpace
from vermilion.scenario.errors import ScenarioError
from vermilion.search import AUTOMATIC, SEARCHES, Space, chosen_search
from vermilion.simulate.runs import run_many
from vermilion.simulate.statistics import Interval, mean_interval
from vermilion.tuning.answers import Answer
from vermilion.tuning.conditions import conditions_of
from vermilion.tuning.engine import search_best
from vermilion.tuning.recommendation import OnDevice, Recommendation
from vermilion.tuning.seeds import Seeds
from vermilion.tuning.study_plan import plan_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from vermilion.objectives.windows import Over
    from vermilion.profiles import Place
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.simulate.batches import BatchRunner
    from vermilion.tuning.answer_file import AnswerFile
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.engine import SearchOutcome
    from vermilion.tuning.fidelity import Fidelity
    from vermilion.tuning.progress import ProgressReport
    from vermilion.tuning.study import Study

DEFAULT_BUDGET: Final = 400
"""Settings that are simulated unless told otherwise."""

SUMMARY: Final = (
    "utilization",
    "queue_packets.mean",
    "queue_packets.sd",
    "queue_packets.p95",
    "drop_rate",
)
"""Metrics of a link that accompany a recommendation, whatever the objective."""


def tune(
    scenario: Scenario,
    *,
    parameters: Iterable[str] | None = None,
    objective: Objective | Callable[[Result], float | None] | str | None = None,
    constraints: Iterable[str] | None = None,
    boxes: Mapping[str, tuple[float, float]] | None = None,
    profile: str | None = None,
    place: Place | None = None,
    search: str = AUTOMATIC,
    search_settings: Mapping[str, Any] | None = None,
    budget: int = DEFAULT_BUDGET,
    seeds: Seeds | None = None,
    seed: int = 1,
    deadline_s: float | None = None,
    warm_starts: Iterable[Mapping[str, float]] = (),
    answers: AnswerFile | None = None,
    resume: Mapping[str, Any] | None = None,
    shortlist: int = 6,
    race_budget: int | None = None,
    fidelity: Fidelity = "auto",
    required_improvement: float = 0.0,
    threads: int | None = None,
    workers: BatchRunner | None = None,
    progress: ProgressReport | None = None,
    study: Study | None = None,
) -> Recommendation:
    """Searches the best setting for a scenario and compares it with the scenario's own.

    Ctrl-C ends it early with the best so far, which is then not accepted.

    Args:
        scenario: gives, in its ``[tuning]``, whatever the next four arguments do not.
        parameters: paths like ``links.bottleneck.queue.weight``.
        objective: what to minimise or maximise, also as a text like "minimise
            links.bottleneck.sojourn_ms.p99 subject to links.bottleneck.utilization >= 0.98", or
            as a function of a result, to be minimised.
        constraints: like "links.bottleneck.utilization >= 0.95"; an empty list means none.
        boxes: lower and upper ends of some parameters, in the units of their tables.
        profile: the name of a device profile; then only what the device can be set to is
            proposed, and the recommendation has the device's own command.
        place: what that command is to name, such as the network interface.
        search: the name of the search; by default one is chosen by the number of parameters.
        search_settings: further arguments of the search, such as ``stop_side``.
        budget: settings that the search may simulate.
        seeds: of the simulations; by default 3, 15 and 10 seeds, counted from ``seed`` on.
        seed: of the search's random points, and the first one of the simulations.
        deadline_s: wall seconds for everything.
        warm_starts: settings to try first, after the scenario's own.
        answers: earlier answers; those to the most similar conditions are tried after these,
            and an accepted recommendation is added.
        resume: the ``search_state`` of an earlier recommendation, to go on with it.
        shortlist: how many of the best settings race on further seeds.
        race_budget: simulations of that race; by default so many that each of them and the
            incumbent could meet six seeds.
        fidelity: "auto" lets the search simulate less than the scenario's duration if that ranks
            settings alike; "full" does not.
        required_improvement: the fraction of the incumbent's objective that must be gained
            for the recommendation to be accepted.
        threads: simulations at a time; ``None`` for one on each core.
        workers: of a cluster (:func:`vermilion.simulate.dask_cluster.dask_workers`), which simulate
            what is worth the way; the recommendation is the same.
        progress: called now and then.
        study: keeps all of it in a file while it goes. If this tuning is the one that the study
            was begun with, it goes on where that stopped, with the outcome of a tuning that never
            stopped; the budget, the deadline and the threads may be others.

    Raises:
        StudyError: the study is of another tuning, or its file cannot be written.
        ScenarioError: a part of the tuning that is not accepted.
        ValueError: a search or a setting of it that is not accepted.
    """
    from vermilion import _core

    check_search(search, budget, scenario)
    if study is not None and resume is not None:
        message = "a study has its own search; expected resume or a study"
        raise ValueError(message)
    # What comes in any form is needed twice: now, and to make the same tuning again.
    parameters = None if parameters is None else list(parameters)
    constraints = None if constraints is None else list(constraints)
    warm_starts = [dict(start) for start in warm_starts]
    given: dict[str, Any] = {
        "parameters": parameters,
        "objective": objective if objective is None or isinstance(objective, str) else {},
        "constraints": constraints,
        "boxes": boxes and dict(boxes),
        "profile": profile,
        "place": place and asdict(place),
        "search_settings": search_settings and dict(search_settings),
        "seed": seed,
        "seeds": asdict(seeds or Seeds.counted(seed)),
        "warm_starts": warm_starts,
        "shortlist": shortlist,
        "race_budget": race_budget,
        "fidelity": fidelity,
        "required_improvement": required_improvement,
    }
    objective, stated = _objective(objective, scenario)
    if stated:
        constraints = (*(constraints or ()), *stated)
    space, device = searched_space(scenario, parameters, boxes, profile)
    search = given["search"] = chosen_search(search, len(space))
    if resume is not None:
        search = str(resume.get("search", search))
    links = tuned_links(scenario, space.names)
    held = constraints_of(scenario, objective, constraints, links=links)
    seeds = seeds or Seeds.counted(seed)
    conditions = conditions_of(scenario, space.names, objective)
    nearest = [] if answers is None else answers.nearest(conditions)
    earlier = [(answer.source, apart, answer.setting) for apart, answer in nearest]
    if study is not None:
        plan = plan_of(scenario, space, objective, held, arguments=given, earlier=earlier)
        earlier = [*study.begin(plan, budget).earlier]
    try:
        if objective.needs_incumbent:
            [now] = run_many([scenario], seeds.search, threads=threads)
            objective = objective.relative_to([result for result in now if result is not None])
        outcome = search_best(
            scenario,
            space,
            objective,
            held,
            incumbent={name: scenario.get(name) for name in space.names},
            seeds=seeds,
            budget=budget,
            deadline_s=deadline_s,
            warm_starts=[*warm_starts, *(setting for _, _, setting in earlier)],
            search=search,
            search_seed=seed,
            search_settings=search_settings,
            search_state=resume,
            shortlist=shortlist,
            race_budget=race_budget,
            fidelity=fidelity,
            required_improvement=required_improvement,
            threads=threads,
            workers=workers,
            progress=progress,
            memory=study,
        )
    except NotMeasuredError as error:
        raise ScenarioError(
            "tuning.objective.name", objective.label, f"another objective: {error}", scenario.origin
        ) from None
    numbers = {path: value for path, value in (outcome.best or {}).items() if value is not None}
    if answers is not None and outcome.accepted:
        answers.add(Answer(conditions, numbers, scenario.origin))
    recommendation = Recommendation(
        scenario=scenario.origin,
        objective=objective.label,
        parameters=outcome.best or {},
        incumbent=outcome.incumbent,
        accepted=outcome.accepted,
        reason=outcome.reason,
        comparison=outcome.comparison,
        metrics=_metrics(outcome, (*objective.links, *links)[0], objective),
        evaluations=outcome.evaluations,
        simulations=outcome.simulations,
        seconds=outcome.seconds,
        end=outcome.end,
        seeds=seeds,
        search=search,
        search_state=outcome.search_state,
        version=_core.VERSION,
        readable=_readable(scenario, outcome),
        race=outcome.race,
        fidelity=outcome.fidelity,
        warm_starts=tuple((source, apart) for source, apart, _ in earlier),
        device=None if device is None else on_device(device, _chosen(outcome), place),
    )
    if study is not None:
        study.conclude(recommendation)
    return recommendation


def _objective(
    given: Objective | Callable[[Result], float | None] | str | None, scenario: Scenario
) -> tuple[Objective, Iterable[str]]:
    """The objective that is meant, and the constraints that a text states with it."""
    if given is None:
        return objective_of(scenario), ()
    if isinstance(given, str):
        return objective_from_text(given, scenario)
    return (given if isinstance(given, Objective) else CalledFunction(given)), ()


def check_search(search: str, budget: int, scenario: Scenario | None = None) -> None:
    """Refuses a search that there is not, and a budget that is none.

    Raises:
        ScenarioError: naming the scenario, if one is given.
    """
    origin = "" if scenario is None else scenario.origin
    if search not in (AUTOMATIC, *SEARCHES):
        accepted = f"{AUTOMATIC}, or one of: {', '.join(SEARCHES)}"
        raise ScenarioError("search", search, accepted, origin)
    if budget < 1:
        raise ScenarioError("budget", budget, "at least 1 setting", origin)


def searched_space(
    scenario: Scenario,
    parameters: Iterable[str] | None,
    boxes: Mapping[str, tuple[float, float]] | None,
    profile: str | None,
) -> tuple[Space, Device | None]:
    """The box to search, and the device if only what one has is to be proposed.

    Raises:
        ScenarioError: a parameter, a box or a profile that is not accepted.
    """
    space = Space.from_scenario(scenario, parameters, boxes)
    if profile is None:
        return space, None
    device = Device(profile, scenario, space.names)
    return SettableSpace(space, device), device


def _chosen(outcome: SearchOutcome) -> Setting:
    """The best setting, or the incumbent if it stays."""
    return outcome.best if outcome.accepted and outcome.best is not None else outcome.incumbent


def on_device(device: Device, chosen: Setting, place: Place | None) -> OnDevice:
    """A setting in the device's own words."""
    known = {path: value for path, value in chosen.items() if value is not None}
    if len(known) < len(chosen):
        return OnDevice(device.name, "", ())
    return OnDevice(device.name, device.command(known, place), tuple(device.notes(known)))


def tuned_links(scenario: Scenario, paths: Iterable[str]) -> tuple[str, ...]:
    """The links whose queues are tuned; where none is, all of the scenario."""
    named = dict.fromkeys(path.split(".")[1] for path in paths if path.startswith("links."))
    return tuple(named or scenario.links)


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
