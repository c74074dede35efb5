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
   dominated by another's, the one in force included where it keeps the constraints.

Only constraints that are asked for hold, and those that are a part of an objective, like the bound
of ``delay-bound``: the usual one on utilisation would cut off the front, and so would the bounds of
harm. What each setting costs is shown beside its objectives instead.
"""

from __future__ import annotations

import math
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING

from vermilion.objectives.price import over_of, price_intervals
from vermilion.simulate.statistics import Interval, mean_interval
from vermilion.tuning.alternatives import non_dominated, thinned
from vermilion.tuning.comparison import chance_warnings_of_front
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.front import Front, FrontPoint, NearestSetting
from vermilion.tuning.front_search import Archive, FrontEntry, Hunt, Second, keeps
from vermilion.tuning.simulations import Simulations
from vermilion.tuning.verdict import judge, mean_violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Objective
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.preparation import PreparedTuning
    from vermilion.tuning.session import TuningSession

_Pair = tuple["Objective", ...]


def front_of(tuning: PreparedTuning, session: TuningSession) -> Front:
    """Searches the settings of which none is better in both of two objectives.

    Ctrl-C ends the search early; what it has found still meets fresh seeds. A second one ends that
    too: then the front is of the fresh seeds met so far, or of the search's own.

    Args:
        tuning: of one scenario with two objectives.
        session: how it is done.

    Raises:
        NotMeasuredError: the scenario's discipline lacks what an objective measures.
        ScenarioError: the core refuses the incumbent.
        ValueError: a setting of the search that is not accepted.
    """
    [case] = tuning.cases
    second = case.objectives[1]
    condition = replace(case.condition, besides=(Second(second),))
    simulations = Simulations([condition], session.threads, session.workers, session.study)
    incumbent = FrontEntry(condition.standing_evaluation())
    seeds = tuning.seeds.search
    archive = Archive(simulations, second, case.constraints, seeds, incumbent)
    hunt = Hunt(archive, tuning, session)
    hunt.run()
    return _compare(hunt, tuning)


def _compare(hunt: Hunt, tuning: PreparedTuning) -> Front:
    """Compare the leaders of the archive on fresh seeds, as far as there is time."""
    from vermilion import _core

    archive, held = hunt.archive, hunt.archive.constraints
    [case] = tuning.cases
    scenario, objectives = case.scenario, case.objectives
    found = archive.feasible()
    leading = _pareto_front(archive.incumbent, found, archive)
    beaten = len(non_dominated(found)) - len(leading)
    leaders = thinned(leading, tuning.plan.points)
    now, *entries = (FrontEntry(each.evaluation.fresh()) for each in (archive.incumbent, *leaders))
    if archive.entries:
        hunt.compare([now, *entries])
    fresh = len(now.evaluation.seeds) > 1
    if fresh:
        sure = [entry for entry in entries if keeps(held, entry, now)]
        kept = _pareto_front(now, sure, archive)
        beaten += len(non_dominated(sure)) - len(kept)
    else:
        now, kept = archive.incumbent, leaders
    kept = sorted(kept, key=lambda entry: entry.means)
    return Front(
        scenario=scenario.origin,
        objectives=(objectives[0].label, objectives[1].label),
        units=(objectives[0].unit, objectives[1].unit),
        maximised=(objectives[0].maximised, objectives[1].maximised),
        constraints=tuple(constraint.text for constraint in held),
        points=tuple(
            FrontPoint(
                entry.setting,
                _intervals(entry, objectives),
                _better(entry, now) if fresh else (False, False),
                _command(entry.setting, tuning),
                _price(entry, tuning) if fresh else {},
                _harm_violations(entry, now, tuning) if fresh else (),
            )
            for entry in kept
        ),
        incumbent=FrontPoint(
            now.setting if case.before is None else {},
            _intervals(now, objectives),
            (False, False),
            metrics=_price(now, tuning) if fresh else {},
        )
        if archive.entries
        else None,
        dropped=len(leaders) - len(kept),
        tried=tuple(
            _natural_values(entry.means, objectives)
            for entry in archive.entries
            if entry.is_measured
        ),
        evaluations=max(len(archive.entries) - 1, 0),
        simulations=archive.simulations.count,
        seeds=tuning.seeds,
        search=tuning.search,
        end=hunt.end,
        version=_core.VERSION,
        parameters=tuple(now.setting),
        parameter_units=tuple(scenario.parameter(path).unit for path in now.setting),
        fresh=fresh,
        beaten=beaten,
        nearest=None if kept or beaten else _nearest_miss(archive, entries if fresh else [], now),
        warnings=_insensitivity_warnings(kept, now) if fresh and kept else (),
    )


def _pareto_front(
    now: FrontEntry, entries: Sequence[FrontEntry], archive: Archive
) -> list[FrontEntry]:
    """Pareto front, the setting in force included where it keeps the constraints.

    Args:
        now: the setting in force, which is left out itself.
        entries: on the same seeds.
        archive: of the search.
    """
    takes_part = bool(archive.entries) and keeps(archive.constraints, now, now)
    # First among equals: what only does the same is no reason to change anything.
    known = non_dominated([now, *entries] if takes_part else entries)
    return [entry for entry in known if entry is not now]


def _insensitivity_warnings(kept: Sequence[FrontEntry], now: FrontEntry) -> tuple[str, ...]:
    """Warnings about settings that fresh seeds change next to nothing of."""
    runs = [entry.evaluation.results for entry in kept]
    return chance_warnings_of_front(runs, now.evaluation.results)


def _nearest_miss(
    archive: Archive, compared: Sequence[FrontEntry], now: FrontEntry
) -> NearestSetting | None:
    """Setting that misses the constraints by least, where none surely keeps them.

    Args:
        archive: of the search.
        compared: those that led in it, on fresh seeds.
        now: the setting in force, on fresh seeds.
    """
    constraints = archive.constraints
    entries, reference = (compared, now) if compared else (archive.entries[1:], archive.incumbent)

    def missing(entry: FrontEntry) -> tuple[float, float]:
        both = entry.evaluation, reference.evaluation
        cautious = (verdict.cautious_violation for verdict in judge(constraints, *both))
        return mean_violation(constraints, *both), math.fsum(cautious)

    measured = [(missing(entry), entry) for entry in entries if entry.evaluation.refusal is None]
    known = [pair for pair in measured if math.isfinite(pair[0][0])]
    if not known or not constraints:
        return None
    _, nearest = min(known, key=itemgetter(0))
    verdicts = judge(constraints, nearest.evaluation, reference.evaluation)
    missed = tuple(str(verdict) for verdict in verdicts if verdict.holds != "met")
    return NearestSetting(nearest.setting, missed)


def _natural_values(means: tuple[float, float], objectives: _Pair) -> tuple[float, float]:
    """Both objectives in their own direction."""
    first, second = (
        -mean if objective.maximised else mean
        for mean, objective in zip(means, objectives, strict=True)
    )
    return first, second


def _intervals(entry: FrontEntry, objectives: _Pair) -> tuple[Interval, Interval]:
    """Both objectives in their own direction, with their intervals."""
    first, second = (
        mean_interval(-value if objective.maximised else value for value in values)
        for values, objective in zip(entry.both, objectives, strict=True)
    )
    return first, second


def _better(entry: FrontEntry, now: FrontEntry) -> tuple[bool, bool]:
    """Check for each objective whether it is significantly better than now, seed by seed."""
    first, second = (
        mean_interval(mine - other for mine, other in zip(own, others, strict=True)).high
        for own, others in zip(entry.both, now.both, strict=True)
    )
    return first is not None and first < 0.0, second is not None and second < 0.0


def _price(entry: FrontEntry, tuning: PreparedTuning) -> dict[str, Interval]:
    """Price of a setting, at the link that the first objective is about or that is tuned."""
    [case] = tuning.cases
    over = over_of(case.objective)
    return price_intervals(entry.evaluation.results, tuning.link_of(case), over)


def _harm_violations(entry: FrontEntry, now: FrontEntry, tuning: PreparedTuning) -> tuple[str, ...]:
    """The bounds of harm that a setting breaks, for which a tuning would refuse it."""
    [case] = tuning.cases
    bounds = case.harm

    def bounded(entry: FrontEntry) -> Evaluation:
        seen = entry.evaluation
        values: list[list[Sequence[float | None]]] = [
            [bound.values(result) for result in seen.results] for bound in bounds
        ]
        return Evaluation(seen.setting, list(seen.seeds), list(seen.objectives), constrained=values)

    verdicts = judge(bounds, bounded(entry), bounded(now))
    return tuple(verdict.constraint for verdict in verdicts if verdict.holds == "broken")


def _command(setting: Setting, tuning: PreparedTuning) -> str:
    known = tuning.on_device(setting)
    return "" if known is None else known.command
