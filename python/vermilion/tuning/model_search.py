"""The best setting of one model beside the one in force: what a tuner and a controller call.

The stages are those of :mod:`vermilion.tuning.engine`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from vermilion.search import AUTOMATIC, chosen_search, search_from_state
from vermilion.simulate.accepted import check_seed
from vermilion.tuning.comparison import Comparison, compare
from vermilion.tuning.engine import Tuning, complete
from vermilion.tuning.neighbourhood import GIVEN_WEIGHT, constraints_around
from vermilion.tuning.question import Question
from vermilion.tuning.search_loop import new_search
from vermilion.tuning.simulations import Condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario
    from vermilion.search import Search, Space
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.evaluation import Evaluation, Seeds
    from vermilion.tuning.fidelity import Fidelity, FidelityReport
    from vermilion.tuning.memory import Memory, Runner
    from vermilion.tuning.neighbourhood import Around, Neighbour
    from vermilion.tuning.race import RaceReport
    from vermilion.tuning.state import End, ProgressReport


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """Outcome of a search, compared with what is in force.

    Attributes:
        best: the best setting found besides the incumbent; ``None`` if none was simulated.
        incumbent: the setting in force.
        accepted: whether the best should replace the incumbent.
        reason: why, in one sentence.
        comparison: of the two on fresh seeds; ``None`` if it did not come to that.
        best_results: the best setting's simulations with the fresh seeds.
        incumbent_results: the incumbent's, with the same seeds in the same order.
        end: what ended the search.
        evaluations: settings that the search has used; those that it simulated ahead of its
            time and took back are not counted.
        simulations: runs of the simulator, in all stages.
        seconds: of wall time, in all stages.
        search_state: of the search, to go on from, and the settings that raced as ``leaders``.
        race: how the re-evaluation went; ``None`` if it did not come to that.
        fidelity: whether short simulations were used; ``None`` if that was not asked for.
        around: the best under the conditions around; ``None`` where it has met none.
    """

    best: Setting | None
    incumbent: Setting
    accepted: bool
    reason: str
    comparison: Comparison | None
    best_results: tuple[Result, ...]
    incumbent_results: tuple[Result, ...]
    end: End
    evaluations: int
    simulations: int
    seconds: float
    search_state: Mapping[str, Any]
    race: RaceReport | None = None
    fidelity: FidelityReport | None = None
    around: Around | None = None


def search_best(
    model: Scenario | str,
    space: Space,
    objective: Objective,
    constraints: Sequence[Constraint] = (),
    *,
    incumbent: Setting,
    standing: Scenario | None = None,
    seeds: Seeds,
    budget: int,
    deadline_s: float | None = None,
    warm_starts: Iterable[Mapping[str, float]] = (),
    rules: Sequence[Mapping[str, float]] = (),
    search: str = AUTOMATIC,
    search_seed: int = 1,
    search_settings: Mapping[str, Any] | None = None,
    search_state: Mapping[str, Any] | None = None,
    shortlist: int = 5,
    race_budget: int | None = None,
    fidelity: Fidelity = "full",
    required_improvement: float = 0.0,
    least_gain: Callable[[float], float] | None = None,
    threads: int | None = None,
    workers: Runner | None = None,
    progress: ProgressReport | None = None,
    memory: Memory | None = None,
    conditions: Sequence[Neighbour] = (),
    condition_workers: Runner | None = None,
) -> SearchOutcome:
    """Searches the best setting of a model and compares it with the incumbent.

    Args:
        model: the scenario that is simulated, as loaded or as the core reads it.
        space: the parameters and the box in which they are searched.
        objective: what to minimise.
        constraints: what must hold; "of reference" refers to the incumbent.
        incumbent: the setting in force, a value for each parameter of the space (``None``:
            automatic). It need not lie in the box.
        standing: the scenario with what is in force, where that is no setting of these parameters
            but another discipline; ``incumbent`` is then only where the search begins.
        seeds: of the simulations.
        budget: settings that the search may use, start points included. Without a deadline
            the outcome depends on it, on the seeds, and on nothing else.
        deadline_s: wall seconds for all stages together.
        warm_starts: settings to try first, after the incumbent and the rules.
        rules: settings by rules of thumb; one is taken unless the best is clearly better.
        search: the name of the search.
        search_seed: of the search's own random points.
        search_settings: further arguments of the search, such as ``stop_side``.
        search_state: a search to go on with instead of a new one; then the four arguments
            before this do not matter.
        shortlist: how many of the best settings are re-evaluated.
        race_budget: simulations of the re-evaluation; by default so many that all of the
            shortlist and the incumbent could meet
            :data:`vermilion.tuning.question.RACE_SEEDS` of its seeds.
        fidelity: "auto" lets the search use short simulations where they rank settings alike;
            then the outcome without a deadline does not depend on more than it does otherwise.
        required_improvement: fraction of the incumbent's objective that must be gained beyond
            doubt.
        least_gain: from what the incumbent reaches to the gain that anyone would notice; ``None``
            where any gain is welcome.
        threads: simulations at a time; ``None`` for one on each core.
        workers: do the longer simulations, with the same outcome; ``None`` for this machine.
        progress: called now and then.
        memory: what an earlier call with the same arguments has simulated (another budget or
            deadline apart), and keeps what this one does.
        conditions: around the model's, under which a setting has to do as well; they share half
            of the weight.
        condition_workers: simulate these.

    Raises:
        ValueError: a model, space, incumbent or search that do not fit each other.
        NotMeasuredError: the model's discipline does not have what the objective measures.
        ScenarioError: the core refuses the incumbent or a seed.
    """
    start = time.monotonic()
    for seed in (*seeds.search, *seeds.re_evaluation, *seeds.comparison):
        check_seed(seed)
    text = model if isinstance(model, str) else model.core_json()
    bounds = constraints_around(constraints)

    def measured(text: str, held: Sequence[Constraint], other: Scenario | None) -> Condition:
        in_force = None if other is None else other.core_json()
        return Condition.of(text, incumbent, objective, held, in_force)

    around = [
        replace(
            measured(each.scenario.core_json(), bounds, each.standing),
            added=each.added,
            key=each.key,
            label=each.label,
            weight=(1.0 - GIVEN_WEIGHT) / len(conditions),
        )
        for each in conditions
    ]
    if search_state is not None:
        searcher = search_from_state(search_state)
    else:
        settings = (*complete(incumbent), *rules, *warm_starts)
        starts = [space.point(each) for each in settings]
        name = chosen_search(search, len(space))
        searcher = new_search(name, space, search_seed, starts, search_settings)

    def compared(best: Evaluation, other: Evaluation, confidence: float) -> Comparison:
        least = 0.0 if least_gain is None else least_gain(abs(other.objective))
        return compare(
            objective,
            constraints,
            best,
            other,
            required_improvement,
            least_gain=least,
            confidence=confidence,
        )

    question = Question(
        conditions=[measured(text, constraints, standing)],
        around=around,
        least_size=objective.least_size,
        space=space,
        search=searcher,
        rules=rules,
        earlier=[] if search_state is None else _leaders_of(search_state, searcher, space),
        seeds=seeds,
        budget=budget,
        shortlist=shortlist,
        race_runs=race_budget,
        pilot_seed=search_seed if fidelity == "auto" else None,
        compare=compared,
    )
    tuning = Tuning(
        question=question,
        full=question.horizon(threads, workers, memory, condition_workers),
        progress=progress,
        start=start,
        until=None if deadline_s is None else start + deadline_s,
        memory=memory,
    )
    tuning.run()
    accepted, reason, comparison = _decision(tuning)
    best_results, incumbent_results = (
        ([], []) if tuning.compared is None else (each.results for each in tuning.compared)
    )
    return SearchOutcome(
        best=None if tuning.best is None else tuning.best.setting,
        incumbent=incumbent,
        accepted=accepted,
        reason=reason,
        comparison=comparison,
        best_results=tuple(best_results),
        incumbent_results=tuple(incumbent_results),
        end=tuning.end,
        evaluations=tuning.evaluations,
        simulations=tuning.simulations,
        seconds=time.monotonic() - start,
        search_state={**searcher.state(), "leaders": _current_leaders(tuning)},
        race=tuning.race,
        fidelity=tuning.fidelity,
        around=tuning.around,
    )


def _current_leaders(tuning: Tuning) -> list[Setting]:
    """The best setting and those that it raced with, or that led in the search until now."""
    shortlist = tuning.question.shortlist
    led = tuning.leaders or [each.setting for each in tuning.ranked_by(1.0)[:shortlist]]
    best = [] if tuning.best is None else [tuning.best.setting]
    return [dict(each) for each in (*best, *(setting for setting in led if setting not in best))]


def _leaders_of(state: Mapping[str, Any], searcher: Search, space: Space) -> list[dict[str, float]]:
    """The settings that led in a search when it stopped, in this box.

    States of older versions have none; the best that their search was told stands for them.

    Raises:
        ValueError: settings of other parameters, or what is none; also TypeError.
    """
    if "leaders" not in state:
        return [space.values(searcher.recommend())] if searcher.evaluations else []
    found = []
    for given in state["leaders"]:
        setting = {name: given[name] for name in space.names}
        if not all(
            isinstance(each, int | float) and math.isfinite(each) for each in setting.values()
        ):
            message = f"{given!r} among its leaders is not accepted; expected a number for each"
            raise ValueError(message)
        found.append(space.nearest(setting))  # to the last digit as it was, but for another box
    return found


def _decision(tuning: Tuning) -> tuple[bool, str, Comparison | None]:
    """Decision on the best found, its reason, and the comparison behind it."""
    if tuning.compared is None or len(tuning.compared[0].seeds) < 2:  # noqa: PLR2004 - an interval
        return False, tuning.why_not_compared, None
    best, incumbent = tuning.compared
    absent = best.not_measured or incumbent.not_measured
    if absent is not None:
        return False, f"kept the incumbent, because {absent} (on the fresh seeds)", None
    if tuning.comparison is None:
        return False, tuning.why_not_compared, None
    return tuning.comparison.accepted, tuning.comparison.reason, tuning.comparison
