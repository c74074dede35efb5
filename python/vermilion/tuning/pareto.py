"""The front of two objectives: what each gives up for the other.

A front is searched by epsilon-constraint (Y. Y. Haimes, L. S. Lasdon, D. A. Wismer, "On a
bicriterion formulation of the problems of integrated system identification and system
optimization", IEEE Transactions on Systems, Man, and Cybernetics 1, 1971): the first objective is
minimised under a bound on the second, for one bound after the other. That also finds points where
the front is not convex, which no weighted sum does.

1. *Ends.* Each objective is minimised alone.
2. *Gaps.* Again and again, a bound halves the widest gap between neighbours on the front so far,
   both objectives being measured by their ranges on it. While there is no gap, because one setting
   is better in both than all others, the ends are searched further. Every setting that was ever
   simulated is in one archive, and each search begins with the archive's best for its question.
   All searches have the same seed, so what they explore at random is the same and is simulated
   once.
3. *Fresh seeds.* The settings of the archive that none other dominates, thinned to as many as are
   asked for, meet seeds that nothing was chosen by, together with the setting in force. What is
   reported are these means with their intervals, and those settings that are still not
   dominated by another's.

Only constraints that are asked for hold: the usual one on utilisation would cut off the front.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from vermilion.objectives import Constraint, NotMeasuredError
from vermilion.objectives.registry import objective_from_text
from vermilion.scenario.errors import ScenarioError
from vermilion.search import AUTOMATIC, chosen_search
from vermilion.simulate.statistics import Interval, mean_interval
from vermilion.tuning.candidates import Candidates
from vermilion.tuning.domination import non_dominated, thinned
from vermilion.tuning.engine import complete
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.front import Front, FrontPoint
from vermilion.tuning.front_search import Archive, Entry, Hunt, Second, keeps
from vermilion.tuning.seeds import Seeds
from vermilion.tuning.simulations import Simulations
from vermilion.tuning.study_plan import aim_of, front_plan_of
from vermilion.tuning.tune import check_search, searched_space, tuned_links

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.objectives import Objective
    from vermilion.profiles import Device, Place
    from vermilion.scenario import Scenario
    from vermilion.search import Space
    from vermilion.simulate.batches import BatchRunner
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.progress import ProgressReport
    from vermilion.tuning.study import Study

DEFAULT_PAIR: Final = ("links.{link}.sojourn_ms.mean", "links.{link}.utilization")
"""The objectives unless others are named: the delay of a queue against the use of its link."""

MOST_POINTS: Final = 12
"""Settings of the front that meet fresh seeds, unless told otherwise."""

_Pair = tuple["Objective", "Objective"]


def tune_front(
    scenario: Scenario,
    objectives: Sequence[Objective | str] | None = None,
    *,
    parameters: Iterable[str] | None = None,
    constraints: Iterable[str] = (),
    boxes: Mapping[str, tuple[float, float]] | None = None,
    profile: str | None = None,
    place: Place | None = None,
    search: str = AUTOMATIC,
    budget: int = 400,
    seeds: Seeds | None = None,
    seed: int = 1,
    points: int = MOST_POINTS,
    deadline_s: float | None = None,
    threads: int | None = None,
    workers: BatchRunner | None = None,
    progress: ProgressReport | None = None,
    study: Study | None = None,
) -> Front:
    """Searches the settings of which none is better in both of two objectives.

    Ctrl-C ends the search early; what it has found still meets fresh seeds. A second one ends that
    too: then the front is of the fresh seeds met so far, or of the search's own.

    Args:
        scenario: gives the parameters that may change, in its ``[tuning]``, unless they are given.
        objectives: two, as for :func:`vermilion.tuning.tune`; by default the mean waiting time
            and the utilisation of the first link whose queue is tuned.
        parameters: paths like ``links.bottleneck.queue.weight``.
        constraints: what every setting of the front must keep; none unless given.
        boxes: lower and upper ends of some parameters.
        profile: the name of a device profile: only what the device has is proposed.
        place: what the device's commands are to name.
        search: the name of the search; by default one is chosen by the number of parameters.
        budget: settings to simulate, in all searches together.
        seeds: of the simulations: those of the search and those of the comparison are used.
        seed: of the searches' random points, and the first one of the simulations.
        points: settings that meet fresh seeds.
        deadline_s: wall seconds for everything.
        threads: simulations at a time; ``None`` for one on each core.
        workers: of a cluster, which simulate what is worth the way; the front is the same.
        progress: called now and then.
        study: keeps all of it in a file while it goes, or goes on with what is in it. With another
            budget the front is that of a search with this budget from the beginning.

    Raises:
        StudyError: the study is of another search, or its file cannot be written.
        ScenarioError: a part of it that is not accepted.
    """
    start = time.monotonic()
    check_search(search, budget, scenario)
    numbers = seeds or Seeds.counted(seed)
    parameters = None if parameters is None else list(parameters)
    constraints = list(constraints)
    given: dict[str, Any] = {
        "parameters": parameters,
        "objectives": objectives and [each if isinstance(each, str) else {} for each in objectives],
        "constraints": constraints,
        "boxes": boxes and dict(boxes),
        "profile": profile,
        "place": place and asdict(place),
        "seed": seed,
        "seeds": asdict(numbers),
        "points": points,
    }
    space, device = searched_space(scenario, parameters, boxes, profile)
    search = given["search"] = chosen_search(search, len(space))
    chosen, stated = _objectives(scenario, space, objectives)
    held = tuple(
        Constraint.parse(text, field=f"tuning.constraints.{index}", scenario=scenario)
        for index, text in enumerate((*constraints, *stated))
    )
    if study is not None:
        aims = [aim_of(scenario, chosen[0], held), aim_of(scenario, chosen[1], ())]
        study.begin(front_plan_of(scenario, space, aims, given), budget)
    simulations = Simulations(
        Candidates(scenario, space.names),
        chosen[0],
        (*held, Second(chosen[1])),
        threads,
        workers,
        memory=study,
    )
    now: Setting = {name: scenario.get(name) for name in space.names}
    hunt = Hunt(
        archive=Archive(simulations, chosen[1], held, numbers.search, Entry(Evaluation(now))),
        space=space,
        search=search,
        seed=seed,
        budget=budget,
        points=points,
        comparison=numbers.comparison,
        progress=progress,
        memory=study,
        until=None if deadline_s is None else start + deadline_s,
    )
    try:
        hunt.run()
    except NotMeasuredError as error:
        raise ScenarioError(
            "tuning.objective", str(chosen[0].label), f"another objective: {error}", scenario.origin
        ) from None
    front = _compared(hunt, chosen, numbers, device, place, scenario)
    if study is not None:
        study.conclude(front)
    return front


def _compared(
    hunt: Hunt,
    objectives: _Pair,
    seeds: Seeds,
    device: Device | None,
    place: Place | None,
    scenario: Scenario,
) -> Front:
    """What leads in the archive, on fresh seeds as far as there is time for them."""
    from vermilion import _core

    archive, held = hunt.archive, hunt.archive.constraints
    leaders = thinned(non_dominated(archive.feasible()), hunt.points)
    now, *entries = (Entry(each.evaluation.fresh()) for each in (archive.incumbent, *leaders))
    if archive.entries:
        hunt.compare([now, *entries])
    fresh = len(now.evaluation.seeds) > 1
    if fresh:
        kept = non_dominated([entry for entry in entries if keeps(held, entry, now)])
    else:
        now, kept = archive.incumbent, leaders
    return Front(
        scenario=scenario.origin,
        objectives=(objectives[0].label, objectives[1].label),
        units=(_unit(objectives[0]), _unit(objectives[1])),
        maximised=(objectives[0].maximised, objectives[1].maximised),
        constraints=tuple(constraint.text for constraint in held),
        points=tuple(
            FrontPoint(
                entry.setting,
                _intervals(entry, objectives),
                _better(entry, now) if fresh else (False, False),
                _command(entry.setting, device, place),
            )
            for entry in sorted(kept, key=lambda entry: entry.means)
        ),
        incumbent=FrontPoint(now.setting, _intervals(now, objectives), (False, False))
        if archive.entries
        else None,
        dropped=len(leaders) - len(kept),
        tried=tuple(
            _natural(entry.means, objectives) for entry in archive.entries if entry.is_measured
        ),
        evaluations=max(len(archive.entries) - 1, 0),
        simulations=archive.simulations.count,
        seeds=seeds,
        search=hunt.search,
        end=hunt.end,
        version=_core.VERSION,
        parameters=tuple(now.setting),
        parameter_units=tuple(scenario.parameter(path).unit for path in now.setting),
        fresh=fresh,
    )


def _objectives(
    scenario: Scenario, space: Space, given: Sequence[Objective | str] | None
) -> tuple[tuple[Objective, Objective], tuple[str, ...]]:
    """Both objectives, and the constraints that their texts state."""
    if given is None:
        link = tuned_links(scenario, space.names)[0]
        given = [text.format(link=link) for text in DEFAULT_PAIR]
    if len(given) != 2:  # noqa: PLR2004 - a front of two
        raise ScenarioError("objectives", f"{len(given)} of them", "two", scenario.origin)
    chosen: list[Objective] = []
    stated: list[str] = []
    for objective in given:
        if isinstance(objective, str):
            read, texts = objective_from_text(objective, scenario)
            chosen.append(read)
            stated += texts
        else:
            chosen.append(objective)
    for objective in chosen:
        if objective.needs_incumbent:
            accepted = "an objective of its own, or a sum whose parts all state a scale"
            raise ScenarioError("objectives", objective.label, accepted, scenario.origin)
    return (chosen[0], chosen[1]), tuple(stated)


def _unit(objective: Objective) -> str:
    path = getattr(objective, "path", None)
    return objective.unit if path is None else str(path.unit)


def _natural(means: tuple[float, float], objectives: _Pair) -> tuple[float, float]:
    """Both objectives in their own direction."""
    first, second = (
        -mean if objective.maximised else mean
        for mean, objective in zip(means, objectives, strict=True)
    )
    return first, second


def _intervals(entry: Entry, objectives: _Pair) -> tuple[Interval, Interval]:
    """Both objectives in their own direction, with their intervals."""
    first, second = (
        mean_interval(-value if objective.maximised else value for value in values)
        for values, objective in zip(entry.both, objectives, strict=True)
    )
    return first, second


def _better(entry: Entry, now: Entry) -> tuple[bool, bool]:
    """For each objective, whether it is significantly better than now, seed by seed."""
    first, second = (
        mean_interval(mine - other for mine, other in zip(own, others, strict=True)).high
        for own, others in zip(entry.both, now.both, strict=True)
    )
    return first is not None and first < 0.0, second is not None and second < 0.0


def _command(setting: Setting, device: Device | None, place: Place | None) -> str:
    known = complete(setting)
    return device.command(known[0], place) if device is not None and known else ""
