"""One setting for several scenarios: tuned for the worst of them, or for their weighted mean.

A queue is set once and meets many conditions. Each scenario's objective is divided by what its own
incumbent reaches there, so that scenarios of different size can be compared: 1 is "as now", 0.8 is
a fifth better in a quantity that is minimised. (Of a quantity that is maximised the negative
counts, -1 being "as now".)

The engine is that of every tuning (:mod:`vermilion.tuning.engine`); a setting's evaluation is of
all scenarios together (:mod:`vermilion.tuning.joint`).

1. *Search.* Every candidate meets the same few seeds in every scenario. Its value is the largest
   of the scenarios' means ("worst"), or their weighted mean ("mean"). Constraints count in every
   scenario, each with its own. One seed in all scenarios may show a candidate to be hopeless.
   Where less of all scenarios ranks settings alike, less of them is simulated.
2. *Re-evaluation.* The few best settings race on more seeds in every scenario.
3. *Comparison* with the incumbents on fresh seeds. "worst": the setting is accepted if it is
   significantly better in every scenario, for then and only then it surely is in the worst; no
   correction for several tests is needed, because all of them have to be passed
   (intersection-union test, R. L. Berger 1982). "mean": it is accepted if the interval of the
   weighted mean of the differences, seed by seed, lies on the right side of zero. With either, all
   constraints must be kept beyond doubt in all scenarios.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from vermilion.objectives import NotMeasuredError, constraints_of, objective_of
from vermilion.objectives.registry import objective_from_text
from vermilion.scenario.errors import ScenarioError
from vermilion.search import AUTOMATIC, chosen_search, search_named
from vermilion.simulate.runs import run_many
from vermilion.simulate.statistics import Interval, mean_interval
from vermilion.tuning.candidates import Candidates
from vermilion.tuning.comparison import Comparison, compare
from vermilion.tuning.engine import Tuning, complete, race_budget_of
from vermilion.tuning.horizon import Horizon, Shorter
from vermilion.tuning.joint import Joining, JointEvaluation, Over
from vermilion.tuning.robust_recommendation import RobustCase, RobustRecommendation
from vermilion.tuning.seeds import Seeds
from vermilion.tuning.simulations import Measured, Simulations
from vermilion.tuning.study_plan import aim_of, robust_plan_of
from vermilion.tuning.tune import (
    check_search,
    on_device,
    searched_space,
    tuned_links,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.profiles import Place
    from vermilion.scenario import Scenario
    from vermilion.search import Space
    from vermilion.simulate.batches import BatchRunner
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.fidelity import Fidelity
    from vermilion.tuning.progress import ProgressReport
    from vermilion.tuning.study import Study

KINDS: Final[tuple[Over, ...]] = ("worst", "mean")


def tune_robust(
    scenarios: Sequence[Scenario],
    over: Over = "worst",
    *,
    weights: Sequence[float] | None = None,
    parameters: Iterable[str] | None = None,
    objective: str | None = None,
    constraints: Iterable[str] | None = None,
    boxes: Mapping[str, tuple[float, float]] | None = None,
    profile: str | None = None,
    place: Place | None = None,
    search: str = AUTOMATIC,
    budget: int = 400,
    seeds: Seeds | None = None,
    seed: int = 1,
    deadline_s: float | None = None,
    shortlist: int = 5,
    race_budget: int | None = None,
    fidelity: Fidelity = "auto",
    threads: int | None = None,
    workers: BatchRunner | None = None,
    progress: ProgressReport | None = None,
    study: Study | None = None,
) -> RobustRecommendation:
    """Searches one setting for several scenarios and compares it with each one's own.

    Ctrl-C ends it early with the best so far, which is then not accepted.

    Args:
        scenarios: at least two. Each has, in its ``[tuning]``, its own objective and constraints;
            the parameters and the box are those of the first.
        over: "worst" or "mean".
        weights: of the scenarios in the mean; equal unless given.
        parameters: paths like ``links.bottleneck.queue.weight``, which all scenarios must have.
        objective: the same for all, instead of their own, as a text.
        constraints: the same for all, instead of their own; an empty list means none.
        boxes: lower and upper ends of some parameters.
        profile: the name of a device profile; packet sizes are those of the first scenario.
        place: what the device's command is to name.
        search: the name of the search; by default one is chosen by the number of parameters.
        budget: settings that the search may use; each is simulated in every scenario.
        seeds: of the simulations.
        seed: of the search's random points, and the first one of the simulations.
        deadline_s: wall seconds for everything.
        shortlist: how many of the best settings race on further seeds.
        race_budget: of that race, settings times seeds, each of which is simulated in every
            scenario; by default so many that each of them and the incumbents could meet six seeds.
        fidelity: "auto" lets the search simulate less of all scenarios if that ranks settings
            alike; "full" does not.
        threads: simulations at a time; ``None`` for one on each core.
        workers: of a cluster, which simulate what is worth the way; the outcome is the same.
        progress: called now and then.
        study: keeps all of it in a file while it goes, or goes on with what is in it.

    Raises:
        StudyError: the study is of another tuning, or its file cannot be written.
        ScenarioError: a part of it that is not accepted.
    """
    from vermilion import _core

    start = time.monotonic()
    if len(scenarios) < 2:  # noqa: PLR2004 - one is not several
        raise ScenarioError("scenarios", f"{len(scenarios)} of them", "at least two")
    if over not in KINDS:
        raise ScenarioError("robust", over, f"one of: {', '.join(KINDS)}")
    check_search(search, budget)
    shares = _shares(scenarios, over, weights)
    first = scenarios[0]
    parameters = None if parameters is None else list(parameters)
    constraints = None if constraints is None else list(constraints)
    numbers = seeds or Seeds.counted(seed)
    given: dict[str, Any] = {
        "over": over,
        "weights": weights and list(weights),
        "parameters": parameters,
        "objective": objective,
        "constraints": constraints,
        "boxes": boxes and dict(boxes),
        "profile": profile,
        "place": place and asdict(place),
        "seed": seed,
        "seeds": asdict(numbers),
        "shortlist": shortlist,
        "race_budget": race_budget,
        "fidelity": fidelity,
    }
    space, device = searched_space(first, parameters, boxes, profile)
    search = given["search"] = chosen_search(search, len(space))
    _check_units(scenarios, space)
    cases = [
        _case(scenario, label, space, objective, constraints)
        for scenario, label in zip(scenarios, _labels(scenarios), strict=True)
    ]
    if study is not None:
        aims = [
            aim_of(scenario, case.objective, case.constraints)
            for scenario, case in zip(scenarios, cases, strict=True)
        ]
        study.begin(robust_plan_of(scenarios, space, aims, given), budget)
    joining = Joining(over, shares, [1.0] * len(cases))
    try:
        cases = [
            _relative(case, scenario, numbers.search, threads)
            for scenario, case in zip(scenarios, cases, strict=True)
        ]
        full = _horizon(cases, joining, threads, workers, study)
        tuning = Tuning(
            full=full,
            space=space,
            maximised=False,
            seeds=numbers,
            search=search_named(search)(
                len(space), seed=seed, start_points=dict.fromkeys(_starts(cases, space))
            ),
            shortlist=shortlist,
            race_budget=race_budget_of(shortlist, numbers) if race_budget is None else race_budget,
            progress=progress,
            start=start,
            until=None if deadline_s is None else start + deadline_s,
            shorter=Shorter(full, space, threads, workers),
            memory=study,
        )
        tuning.run(budget, seed if fidelity == "auto" else None)
    except NotMeasuredError as error:
        raise ScenarioError("tuning.objective", "it", f"another objective: {error}") from None
    accepted, reason, compared, change = _decision(tuning, cases, over, shares)
    best = None if tuning.best is None else tuning.best.setting
    recommendation = RobustRecommendation(
        over=over,
        parameters=best or {},
        accepted=accepted,
        reason=reason,
        cases=tuple(
            RobustCase(case.label, case.objective.label, case.incumbent, weight, each)
            for case, weight, each in zip(cases, shares, compared, strict=True)
        ),
        together=_together(tuning, over, shares),
        change=change,
        evaluations=tuning.evaluations,
        simulations=tuning.simulations,
        end=tuning.end,
        seeds=numbers,
        search=search,
        version=_core.VERSION,
        readable={
            path: first.parameter(path).readable(value) for path, value in (best or {}).items()
        },
        fidelity=tuning.fidelity,
        race=tuning.race and replace(tuning.race, simulations=len(cases) * tuning.race.simulations),
        device=on_device(device, best, place)
        if device is not None and best is not None and accepted
        else None,
    )
    if study is not None:
        study.conclude(recommendation)
    return recommendation


@dataclass(frozen=True, slots=True)
class _Case:
    """One of the scenarios.

    Attributes:
        label: its name, made unique.
        text: the scenario as the core reads it.
        candidates: writes it with a setting.
        objective: its own.
        constraints: its own.
        incumbent: its own setting.
    """

    label: str
    text: str
    candidates: Candidates
    objective: Objective
    constraints: tuple[Constraint, ...]
    incumbent: Setting


def _case(
    scenario: Scenario,
    label: str,
    space: Space,
    given: str | None,
    constraints: Sequence[str] | None,
) -> _Case:
    stated: tuple[str, ...] = ()
    if given is None:
        objective = objective_of(scenario)
    else:
        objective, stated = objective_from_text(given, scenario)
    texts = constraints if not stated else (*(constraints or ()), *stated)
    held = constraints_of(scenario, objective, texts, links=tuned_links(scenario, space.names))
    incumbent: Setting = {name: scenario.get(name) for name in space.names}
    text = scenario.core_json()
    return _Case(label, text, Candidates(text, space.names), objective, held, incumbent)


def _relative(case: _Case, scenario: Scenario, seeds: Sequence[int], threads: int | None) -> _Case:
    """The same, its objective told of the incumbent if it has to be."""
    if not case.objective.needs_incumbent:
        return case
    [now] = run_many([scenario], seeds, threads=threads)
    results = [result for result in now if result is not None]
    return replace(case, objective=case.objective.relative_to(results))


def _horizon(
    cases: Sequence[_Case],
    joining: Joining,
    threads: int | None,
    workers: BatchRunner | None,
    study: Study | None,
) -> Horizon:
    """All scenarios, as the engine simulates them."""
    first, *others = [
        Measured(
            case.candidates,
            case.objective,
            case.constraints,
            None if study is None else study.of_scenario(number),
        )
        for number, case in enumerate(cases)
    ]
    simulations = Simulations(
        first.candidates,
        first.objective,
        first.constraints,
        threads,
        workers,
        memory=first.memory,
        further=others,
    )
    incumbents = JointEvaluation.of_incumbents([case.incumbent for case in cases], joining)
    constraints = [constraint for case in cases for constraint in case.constraints]
    texts = [case.text for case in cases]
    return Horizon(texts, 1.0, simulations, constraints, incumbents)


def _starts(cases: Sequence[_Case], space: Space) -> list[tuple[float, ...]]:
    """Where the search begins: with what is in force."""
    return [space.point(known) for case in cases for known in complete(case.incumbent)]


def _decision(
    tuning: Tuning, cases: Sequence[_Case], over: Over, shares: Sequence[float]
) -> tuple[bool, str, Sequence[Comparison | None], Interval | None]:
    """Whether to accept, why, the comparisons, and the weighted mean of the relative changes."""
    nothing: list[Comparison | None] = [None] * len(cases)
    if tuning.compared is None or len(tuning.compared[0].seeds) < 2:  # noqa: PLR2004 - an interval
        return False, tuning.why_not_compared, nothing, None
    best, now = tuning.compared
    pairs = list(zip(cases, best.pieces, now.pieces, strict=True))
    for case, mine, other in pairs:
        absent = mine.not_measured or other.not_measured
        if absent is not None:
            return False, f"refused in {case.label}: {absent}", nothing, None
    compared = [
        compare(case.objective, case.constraints, mine, other) for case, mine, other in pairs
    ]
    missed = [
        (case.label, verdict)
        for case, each in zip(cases, compared, strict=True)
        for verdict in each.best_verdicts
        if verdict.holds != "met"
    ]
    changes = [
        [
            (new - old) / abs(math.fsum(other.objectives) / len(other.objectives) or 1.0)
            for new, old in zip(mine.objectives, other.objectives, strict=True)
        ]
        for _, mine, other in pairs
    ]
    overall = mean_interval(
        math.fsum(share * change for share, change in zip(shares, row, strict=True))
        for row in zip(*changes, strict=True)
    )
    if missed:
        return False, f"refused, because in {missed[0][0]} {missed[0][1]}", compared, overall
    if over == "mean":
        return *_by_mean(overall), compared, overall
    highs = [mean_interval(row).high for row in changes]
    return *_by_worst([case.label for case in cases], highs), compared, overall


def _together(
    tuning: Tuning, over: Over, shares: Sequence[float]
) -> tuple[Interval, Interval] | None:
    """The best and the incumbents in all scenarios, measured by the incumbents on fresh seeds."""
    if tuning.compared is None or len(tuning.compared[0].seeds) < 2:  # noqa: PLR2004 - an interval
        return None
    best, now = tuning.compared
    if best.not_measured is not None or now.not_measured is not None:
        return None
    joining = Joining(over, shares, [abs(each.objective) or 1.0 for each in now.pieces])
    rows = [joining.joined([each.objectives for each in one.pieces]) for one in (best, now)]
    return mean_interval(rows[0]), mean_interval(rows[1])


def _by_worst(labels: Sequence[str], highs: Sequence[float | None]) -> tuple[bool, str]:
    """The decision by the upper ends of the scenarios' relative changes."""
    unsure = [
        label for label, high in zip(labels, highs, strict=True) if high is None or high >= 0.0
    ]
    if not unsure:
        return True, "significantly better in every scenario, and every constraint is met"
    return False, (
        f"kept the incumbents, because it is not surely better in {' and '.join(unsure)}"
    )


def _by_mean(change: Interval) -> tuple[bool, str]:
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


def _labels(scenarios: Sequence[Scenario]) -> list[str]:
    """Each scenario's name, numbered where several have the same."""
    names = [scenario.origin for scenario in scenarios]
    return [
        name if names.count(name) == 1 else f"{name} #{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def _shares(
    scenarios: Sequence[Scenario], over: Over, weights: Sequence[float] | None
) -> tuple[float, ...]:
    """The weights, which add up to 1."""
    if weights is None:
        return tuple(1.0 / len(scenarios) for _ in scenarios)
    right = len(weights) == len(scenarios) and all(
        math.isfinite(weight) and weight > 0.0 for weight in weights
    )
    if not right or over != "mean":
        accepted = 'one number above 0 for each scenario, with "mean"'
        raise ScenarioError("weights", ", ".join(map(str, weights)), accepted)
    return tuple(weight / math.fsum(weights) for weight in weights)


def _check_units(scenarios: Sequence[Scenario], space: Space) -> None:
    """Refuses parameters that mean something else in another of the scenarios."""
    for name in space.names:
        unit = scenarios[0].parameter(name).dimension.unit
        for scenario in scenarios[1:]:
            if scenario.parameter(name).dimension.unit != unit:
                accepted = f"a parameter in {unit or 'the same unit'}, as in {scenarios[0].origin}"
                raise ScenarioError("tuning.parameters", name, accepted, scenario.origin)
