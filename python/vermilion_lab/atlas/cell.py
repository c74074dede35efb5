"""One cell of an atlas, in three steps that can be done anywhere.

1. :func:`tune_cell` tunes the discipline as ``vermilion tune`` does; the literature's settings are
   among the first that its search tries.
2. :func:`revise_cell` lets what was found meet what its neighbours found, on other seeds: the best
   of a few hundred settings is not the same in two neighbouring cells, but nearly as good.
3. :func:`judge_cell` measures the setting, the literature's rules and the fitted one on fresh seeds
   that nothing has been chosen by, and says how many times worse each is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from vermilion.objectives import constraints_of, objective_from_text, objective_of
from vermilion.search import Space
from vermilion.simulate.runs import run_many
from vermilion.simulate.statistics import mean_interval, ratio_of_means_interval
from vermilion.tuning import Seeds, tune
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.verdict import judge
from vermilion_lab.atlas.price import price
from vermilion_lab.atlas.rules import RED_LIKE, RULES
from vermilion_lab.atlas.scenarios import QUEUE, cell_scenario, size_of_a_target, tuned_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario
    from vermilion.tuning import TuningProgress
    from vermilion_lab.atlas.plan import Condition, Plan

TUNED: Final = "tuned"
DEFAULTS: Final = "defaults"
FITTED: Final = "fitted rule"

_SEARCH: Final = 0.8
"""About the part of a cell's tuning that is its search."""
_REVISION: Final = 1000
_JUDGEMENT: Final = 2000
"""What is added to the first seed, so that no step's seeds are another's."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A setting on the fresh seeds of a cell.

    Attributes:
        setting: values of its parameters; of the tuned ones alone where it is of the discipline.
        mean: of the objective.
        low: lower end of its 95 % interval.
        high: upper end.
        times_worse: than the tuned setting, 1 for as good; ``None`` where that cannot be computed.
        times_worse_low: lower end of the 95 % interval (Fieller's).
        times_worse_high: upper end.
        constraints: "met", "unproven" or "broken", the worst of them.
        price: what it gives and costs whatever the objective, as means
            (:data:`vermilion_lab.atlas.price.PRICE`); of the tuned setting and the defaults alone.
    """

    setting: Mapping[str, Any]
    mean: float
    low: float
    high: float
    times_worse: float | None
    times_worse_low: float | None
    times_worse_high: float | None
    constraints: str
    price: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """Results of an atlas under one condition.

    Attributes:
        condition: of the cell.
        target_packets: the queue that is allowed or wanted, and that boxes were laid around.
        setting: the best, by parameter.
        accepted: whether it was significantly better than the discipline's defaults; where not,
            the setting is the defaults.
        at_an_end: parameters at an end of the box that was searched; where the best may lie beyond.
        own: whether it is what the cell's own search found, and no neighbour's.
        reason: of the tuning.
        warnings: where the setting loses to the defaults around the condition, and values at an
            end of their box, a sentence each.
        judged: the tuned setting and others on fresh seeds, by name.
    """

    condition: Condition
    target_packets: float
    setting: Mapping[str, float]
    accepted: bool
    own: bool
    at_an_end: tuple[str, ...]
    reason: str
    judged: Mapping[str, Judged] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def tune_cell(
    plan: Plan,
    condition: Condition,
    *,
    threads: int | None,
    progress: Callable[[float], object] | None = None,
) -> dict[str, Any]:
    """The first step: the answer of the cell's own search.

    Args:
        plan: of the atlas.
        condition: of the cell.
        threads: simulations at a time.
        progress: called with the part that is done, 0 to 1.
    """
    names = tuned_parameters(plan)
    starts = []
    if plan.discipline.partition(":")[0] in RED_LIKE:
        for rule in RULES:
            queue = rule.queue(plan, condition)
            if all(isinstance(queue.get(name), float) for name in names):
                starts.append({name: queue[name] for name in names})
    return _tune(plan, condition, starts, plan.budget, plan.seed, threads, progress)


def revise_cell(
    plan: Plan,
    condition: Condition,
    own: Mapping[str, float],
    neighbours: Sequence[Mapping[str, float]],
    *,
    threads: int | None,
    progress: Callable[[float], object] | None = None,
) -> dict[str, Any]:
    """The second step: the best of its own and its neighbours' settings.

    Args:
        plan: of the atlas.
        condition: of the cell.
        own: what its search found.
        neighbours: what theirs found, as parts of the target where it is a length of a queue
            (:func:`per_target`).
        threads: simulations at a time.
        progress: as of :func:`tune_cell`.
    """
    known = [own, *(per_target(plan, condition, each, back=True) for each in neighbours)]
    # The defaults of some parameters are rules of the discipline's own, and no numbers to try.
    names = set(tuned_parameters(plan))
    starts = [start for start in known if names <= start.keys()]
    budget, seed = 1 + len(starts), plan.seed + _REVISION
    answer = _tune(plan, condition, starts, budget, seed, threads, progress, around=True)
    found = answer["setting"]
    same = found.keys() == own.keys() and all(
        math.isclose(found[name], own[name], rel_tol=1e-6) for name in own
    )
    return {**answer, "own": same or not answer["accepted"]}


def judge_cell(
    plan: Plan,
    condition: Condition,
    setting: Mapping[str, float],
    fitted: Mapping[str, float] | None,
    *,
    threads: int | None,
    progress: Callable[[float], object] | None = None,
) -> dict[str, dict[str, Any]]:
    """The third step: everything on the same fresh seeds.

    Args:
        plan: of the atlas.
        condition: of the cell.
        setting: the tuned one.
        fitted: what the rule fitted to all other cells says, before it is put into the box.
        threads: simulations at a time.
        progress: as of :func:`tune_cell`.
    """
    base = cell_scenario(plan, condition)
    variants: dict[str, tuple[Mapping[str, Any], Scenario]] = {
        DEFAULTS: ({}, base),
        TUNED: (setting, base.with_values(_paths(setting))),
    }
    if fitted is not None:
        space = Space.from_scenario(base)
        nearest = _names(space.values(space.point(_paths(fitted))))
        variants[FITTED] = (nearest, base.with_values(_paths(nearest)))
    if plan.discipline.partition(":")[0] in RED_LIKE:
        for rule in RULES:
            queue = rule.queue(plan, condition)
            variants[rule.name] = (queue, cell_scenario(plan, condition, queue))
    objective, constraints = _goal(plan, base)
    seeds = Seeds.counted(plan.seed + _JUDGEMENT).comparison
    total = len(variants) * len(seeds)
    rows = run_many(
        [scenario for _, scenario in variants.values()],
        seeds,
        threads=threads,
        progress=None if progress is None else lambda done: progress(done / total),
    )
    evaluations = {}
    prices = {}
    for (name, (own, _)), row in zip(variants.items(), rows, strict=True):
        evaluations[name] = Evaluation.of(seeds, row, objective, constraints, own)
        prices[name] = price([result for result in row if result is not None])
    return {
        name: _evaluate(evaluation, evaluations, objective, constraints)
        | ({"price": prices[name]} if name in {TUNED, DEFAULTS} else {})
        for name, evaluation in evaluations.items()
        if all(map(math.isfinite, evaluation.objectives))
    }


def per_target(
    plan: Plan, condition: Condition, setting: Mapping[str, float], *, back: bool = False
) -> dict[str, float]:
    """A setting with its lengths of queues as parts of the cell's target, or back again."""
    table = cell_scenario(plan, condition).links["bottleneck"].queue.algorithm.parameters
    found = {}
    for name, value in setting.items():
        size = size_of_a_target(plan, condition, table[name]) or 1.0
        found[name] = value * size if back else value / size
    return found


def _tune(
    plan: Plan,
    condition: Condition,
    starts: Sequence[Mapping[str, float]],
    budget: int,
    seed: int,
    threads: int | None,
    progress: Callable[[float], object] | None,
    *,
    around: bool = False,
) -> dict[str, Any]:
    scenario = cell_scenario(plan, condition)

    def report(moment: TuningProgress) -> None:
        if progress is not None:
            done = moment.done / max(1, moment.total)
            progress(_SEARCH * done if moment.stage == "search" else _SEARCH)

    outcome = tune(
        scenario,
        budget=budget,
        search=plan.search,
        seed=seed,
        warm_starts=[_paths(start) for start in starts],
        fidelity="full",
        rivals=False,
        exactly=not around,
        threads=threads,
        progress=None if progress is None else report,
    )
    chosen = _names(outcome.chosen)
    dimensions = {
        each.name.rpartition(".")[2]: each for each in Space.from_scenario(scenario).dimensions
    }
    return {
        "setting": chosen,
        "at_an_end": [
            name
            for name, value in chosen.items()
            if outcome.accepted and dimensions[name].coordinate(value) in {0.0, 1.0}
        ],
        "accepted": outcome.accepted,
        "reason": outcome.reason,
        "warnings": list(outcome.warnings),
        "end": outcome.end,
    }


def _goal(plan: Plan, scenario: Scenario) -> tuple[Objective, tuple[Constraint, ...]]:
    """The objective and the constraints of a cell."""
    stated: tuple[str, ...] = ()
    if plan.objective is None:
        objective = objective_of(scenario)
    else:
        objective, stated = objective_from_text(plan.objective, scenario)
    texts = (
        None if plan.constraints is None and not stated else (*(plan.constraints or ()), *stated)
    )
    return objective, constraints_of(scenario, objective, texts)


def _evaluate(
    evaluation: Evaluation,
    all_of_them: Mapping[str, Evaluation],
    objective: Objective,
    constraints: Sequence[Constraint],
) -> dict[str, Any]:
    best = all_of_them[TUNED].objectives
    pairs = list(zip(evaluation.objectives, best, strict=True))
    if objective.maximised:
        pairs = [(second, first) for first, second in pairs]
    ratio = ratio_of_means_interval(pairs)
    sign = -1.0 if objective.maximised else 1.0
    interval = mean_interval(sign * value for value in evaluation.objectives)
    holds = {verdict.holds for verdict in judge(constraints, evaluation, all_of_them[DEFAULTS])}
    worst = "broken" if holds & {"broken", "not measured"} else "unproven"
    return {
        "setting": dict(evaluation.setting),
        "mean": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "times_worse": None if ratio is None else ratio.mean,
        "times_worse_low": None if ratio is None else ratio.low,
        "times_worse_high": None if ratio is None else ratio.high,
        "constraints": "met" if holds <= {"met"} else worst,
    }


def _paths(setting: Mapping[str, float]) -> dict[str, float]:
    return {f"{QUEUE}.{name}": value for name, value in setting.items()}


def _names(setting: Mapping[str, float | None]) -> dict[str, float]:
    return {path.rpartition(".")[2]: value for path, value in setting.items() if value is not None}
