"""The best setting of one model, or of several of which each may be the network.

One model is searched as a tuning searches one scenario. Several are searched together, as one
setting for several scenarios, but they are different guesses at one place: the mean of the
objective is weighted by how likely each guess is. Constraints and bounds of harm have to hold in
each.

The best of many settings is the luckiest of them, and lies where a bound begins to be broken, so
that on fresh seeds it often does harm by a hair (:func:`best_within_bounds`). Others meet the same
seeds then: those that lead if only a part of each margin of harm may be used up, and points on the
way from the best to the setting in force. The best of those that keep every bound is taken. Where
bounds hold on average and harm would be seen in more than a quarter of the runs, one of which that
is not so is preferred if it costs at most a tenth of the gain, and not as much again as what is
minimised.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal

from vermilion.objectives import feasible_first
from vermilion.online.model.prediction import Outcome, Prediction, outcome_of
from vermilion.online.model.traffic import TooLittleIsKnown
from vermilion.tuning.alternatives import between
from vermilion.tuning.engine import Tuning, complete
from vermilion.tuning.evaluation import Evaluation, Joining
from vermilion.tuning.question import Question
from vermilion.tuning.search_loop import new_search
from vermilion.tuning.simulations import Condition
from vermilion.tuning.verdict import ConstraintOnKnown, judge, mean_violation, paired_margins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario
    from vermilion.search import Space
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.evaluation import Seeds
    from vermilion.tuning.memory import Runner
    from vermilion.tuning.verdict import ConstraintVerdict


_MARGINS: Final = (0.5, 0.2)
"""Parts of each margin of harm that leaders among the others may use up."""
_LEADERS: Final = 2
"""How many of each."""
_OFTEN: Final = 0.25
"""The part of the runs in which a bound of harm may be broken that holds on average."""
_PRICE: Final = 0.1
"""The part of the gain that it may cost to be less often harmful than that."""
_UNPROVEN: Final = 1e-9
"""How badly a bound counts as broken whose mean is kept, if not for sure."""
_BETWEEN: Final = (0.4, 0.7)
"""Shares of the way from the best to the setting in force."""


def best_within_bounds(
    tuning: Tuning, constraints: Sequence[Constraint], until: float | None
) -> Evaluation | None:
    """The best setting that keeps every bound on the seeds of the comparison, and is likely to.

    ``None`` where there is nothing better in this than the search's best.

    Args:
        tuning: whose best and incumbent have met those seeds.
        constraints: what has to hold, in the order of the evaluations.
        until: the moment, on the clock of ``time.monotonic``, after which no other is tried.
    """
    if tuning.compared is None or tuning.best is None:
        return None
    best, incumbent = tuning.compared
    seeds = incumbent.seeds
    if len(best.seeds) < len(seeds):
        return None
    found, least = None, _shortfall(constraints, best, incumbent)
    if least == (0.0, 0.0):
        return None
    mends = _shortfall(constraints, incumbent, incumbent)[0] > 0.0
    dearest = math.inf
    if least[0] == 0.0:
        gain = incumbent.objective - best.objective
        dearest = best.objective + min(_PRICE * max(gain, 0.0), abs(best.objective))
    for setting in _others(tuning, constraints, best.setting):
        if until is not None and time.monotonic() > until:
            break
        other = tuning.full.incumbent.another(setting)
        tuning.full.simulations.run([other], seeds, until=until, made_for="comparison")
        met = other.refusal is None and len(other.seeds) == len(seeds)
        if not met or other.not_measured is not None:
            continue
        if other.objective > dearest or not (mends or other.objective < incumbent.objective):
            continue
        shortfall = _shortfall(constraints, other, incumbent)
        objective = math.inf if found is None else found.objective
        if (*shortfall, other.objective) < (*least, objective):
            found, least = other, shortfall
    return found


def _shortfall(
    constraints: Sequence[Constraint], evaluation: Evaluation, incumbent: Evaluation
) -> tuple[float, float]:
    """Return the excess over the bounds, and the excess risk of harm."""
    verdicts = judge(constraints, evaluation, incumbent)
    broken = math.fsum(max(each.violation, _UNPROVEN) for each in verdicts if each.holds != "met")
    often = 0.0
    for constraint, phases in zip(
        constraints, paired_margins(constraints, evaluation, incumbent), strict=True
    ):
        if constraint.of_harm:
            for margins, _ in phases:
                harmed = sum(margin is not None and margin < 0.0 for margin in margins)
                often = max(often, harmed / len(margins))
    return broken, max(0.0, often - _OFTEN)


def _others(tuning: Tuning, constraints: Sequence[Constraint], best: Setting) -> Iterator[Setting]:
    """Yield settings to compare besides the best, each once."""
    in_force = tuning.full.incumbent.setting
    tried = [dict(best), dict(in_force)]
    settings = between(tuning.question.space, best, in_force, _BETWEEN)
    for margin in _MARGINS:
        settings[:0] = islice(_ranked(tuning, narrowed(constraints, margin), tried), _LEADERS)
    for setting in settings:
        if dict(setting) not in tried:
            tried.append(dict(setting))
            yield setting


def _ranked(
    tuning: Tuning, constraints: Sequence[Constraint], without: Sequence[Setting]
) -> Iterator[Setting]:
    """The settings tried, the best first if these constraints are to be kept."""
    incumbent, scale = tuning.full.incumbent, tuning.full.scale
    order = sorted(
        (
            feasible_first(
                evaluation.objective, mean_violation(constraints, evaluation, incumbent), scale
            ),
            number,
            evaluation.setting,
        )
        for _, number, evaluation in tuning.ranking
    )
    return (setting for _, _, setting in order if dict(setting) not in without)


def narrowed(constraints: Sequence[Constraint], margin: float) -> list[Constraint]:
    """The constraints with a part of each margin of harm; others stay as they are."""
    return [
        replace(
            each,
            bound=1.0 + margin * (each.bound - 1.0),
            offset=margin * each.offset,
        )
        if margin < 1.0 and each.of_harm and each.of_reference
        else each
        for each in constraints
    ]


_MOST_EVALUATIONS = 2000
_SHORTLIST = 5
# Good from the first few dozen settings on: docs/laboratory/search-benchmark.md.
_SEARCH = "recursive-random-search"
# Where the best breaks a bound, others may take so much longer, as a part of the time given.
_FURTHER = 0.12
# A local search ends at a twentieth of each parameter's range.
_SETTINGS: Final[Mapping[str, Any]] = {"stop_side": 0.05}


@dataclass(frozen=True, slots=True)
class ModelCase:
    """A model, and what is wanted in it.

    Attributes:
        model: with the setting in force.
        goal: what is minimised or maximised.
        constraints: what has to hold, bounds of harm among them.
        share: how much the model counts; those of all add up to 1. Of one that counts for nothing
            only the constraints matter.
        margin: the part of each margin of harm that the settings tried may use up; what is found
            may use up all of it.
    """

    model: Scenario
    goal: Objective
    constraints: tuple[Constraint, ...]
    share: float
    margin: float = 1.0

    @property
    def aims(self) -> tuple[Constraint, ...]:
        """Constraints that candidates must meet."""
        return tuple(narrowed(self.constraints, self.margin))


@dataclass(frozen=True, slots=True)
class Compared:
    """A setting on the seeds of a comparison.

    Attributes:
        prediction: of the likely models together.
        by_model: of each of them, in their order.
        pieces: its runs, one evaluation for each model.
    """

    prediction: Prediction
    by_model: tuple[Prediction, ...]
    pieces: tuple[Evaluation, ...]


@dataclass(frozen=True, slots=True)
class FoundSetting:
    """The best setting and the one in force, on the same fresh seeds.

    Attributes:
        setting: the best, by path.
        candidate: what it does.
        incumbent: the same of the setting in force.
        evaluations: settings tried.
        packets_per_s: simulated per second of wall time, all cores.
    """

    setting: Setting
    candidate: Compared
    incumbent: Compared
    evaluations: int
    packets_per_s: float | None


def evaluated(case: ModelCase, results: Sequence[Result]) -> Evaluation:
    """Runs of a setting, by the goal and the constraints of a model."""
    seeds = [result.data["seed"] for result in results]
    found = Evaluation.of(seeds, results, case.goal, case.constraints)
    return replace(found, results=list(results))


class _Averaging(Joining):
    """The mean of the models' objectives, weighted, in the objective's own unit."""

    __slots__ = ()

    def joined(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """One number for each seed."""
        return [
            math.fsum(share * value for share, value in zip(self.shares, values, strict=True))
            for values in zip(*rows, strict=True)
        ]


def best_of(
    cases: Sequence[ModelCase],
    *,
    links: Sequence[str],
    space: Space,
    incumbent: Setting,
    starts: Sequence[Mapping[str, float]],
    seeds: Seeds,
    search_seed: int,
    evaluations: int | None,
    deadline_s: float,
    workers: Runner | None,
    name_of: Callable[[str], str],
    search: str = _SEARCH,
) -> FoundSetting:
    """Searches the best setting for a model, or for several together.

    Args:
        cases: the models.
        links: under control.
        space: the parameters and the box in which they are searched.
        incumbent: the setting in force, by path.
        starts: settings to try first, by path.
        seeds: of the simulations.
        search_seed: of the search's own random points.
        evaluations: settings to try; ``None`` for as many as the deadline allows.
        deadline_s: wall seconds, where the number of settings is not given.
        workers: simulate; ``None`` for this machine as it is.
        name_of: what the controller calls the parameter with a path.
        search: which.
    """
    start = time.monotonic()
    points = [space.point(each) for each in (*complete(incumbent), *starts)]
    question = Question(
        conditions=[
            Condition.of(case.model.core_json(), incumbent, case.goal, case.aims) for case in cases
        ],
        joining=_Averaging("mean", [case.share for case in cases], [1.0] * len(cases)),
        space=space,
        seeds=seeds,
        budget=evaluations or _MOST_EVALUATIONS,
        search=new_search(
            search,
            space,
            search_seed,
            list(dict.fromkeys(points)),
            _SETTINGS if search == _SEARCH else {},
        ),
        shortlist=_SHORTLIST,
    )
    tuning = Tuning(
        question=question,
        full=question.horizon(workers=workers),
        start=start,
        until=None if evaluations is not None else start + deadline_s,
    )
    tuning.run()
    met = 0 if tuning.compared is None else len(tuning.compared[0].seeds)
    _check(tuning.end, met, tuning.why_not_compared)
    best, now = tuning.compared or (tuning.full.incumbent, tuning.full.incumbent)
    asked = [constraint for case in cases for constraint in case.constraints]
    until = None if tuning.until is None else tuning.until + _FURTHER * (tuning.until - start)
    best = best_within_bounds(tuning, asked, until) or best
    for evaluation in (best, now):
        if evaluation.not_measured is not None:
            raise evaluation.not_measured
    compared = partial(compared_in, cases, links=links, name_of=name_of)
    return FoundSetting(
        setting=best.setting,
        candidate=compared(best.setting, best.pieces),
        incumbent=compared(incumbent, now.pieces),
        evaluations=tuning.evaluations,
        packets_per_s=_speed(now.pieces, tuning.simulations, time.monotonic() - start),
    )


def verdicts_on(
    cases: Sequence[ModelCase],
    mine: Compared,
    reference: Compared,
    *,
    models: Literal["all", "believed", "others"] = "all",
    aims: bool = False,
) -> tuple[ConstraintVerdict, ...]:
    """On each constraint in each model.

    Args:
        cases: the models.
        mine: the setting that is judged.
        reference: beside which.
        models: all, only those that are believed, or only those that count for nothing.
        aims: whether it has to keep what the settings tried had to.
    """
    return tuple(
        verdict
        for case, piece, other in zip(cases, mine.pieces, reference.pieces, strict=True)
        if models == "all" or (case.share > 0.0) == (models == "believed")
        for verdict in judge(case.aims if aims else case.constraints, piece, other)
    )


def compared_in(
    cases: Sequence[ModelCase],
    setting: Setting,
    pieces: Sequence[Evaluation],
    links: Sequence[str],
    name_of: Callable[[str], str],
) -> Compared:
    """A setting and its runs, with what the likely models say of it."""
    rows = [
        [outcome_of(result, links, case.goal, case.constraints) for result in piece.results]
        for case, piece in zip(cases, pieces, strict=True)
        if case.share > 0.0
    ]
    shares = [case.share for case in cases if case.share > 0.0]
    named = {name_of(path): value for path, value in setting.items() if value is not None}
    return Compared(
        Prediction(named, tuple(_mean(each, shares) for each in zip(*rows, strict=True))),
        tuple(Prediction(named, tuple(row)) for row in rows),
        tuple(pieces),
    )


def _check(end: str, fresh_seeds: int, why: str) -> None:
    """Check that there is something to compare."""
    if end == "interrupted":
        raise KeyboardInterrupt
    if fresh_seeds < 2:  # noqa: PLR2004 - an interval
        message = f"the search did not get far enough: {why}"
        raise TooLittleIsKnown(message)


def _mean(outcomes: Sequence[Outcome], shares: Sequence[float]) -> Outcome:
    """The mean of what several models say with one seed."""
    if len(outcomes) == 1:
        return outcomes[0]

    def mean(values: Sequence[float]) -> float:
        return math.fsum(share * value for share, value in zip(shares, values, strict=True))

    metrics: dict[str, float | None] = {}
    for path in outcomes[0].metrics:
        known = [value for each in outcomes if (value := each.metrics.get(path)) is not None]
        metrics[path] = mean(known) if len(known) == len(outcomes) else None
    return Outcome(
        mean=mean([each.mean for each in outcomes]),
        sd=mean([each.sd for each in outcomes]),
        utilization=mean([each.utilization for each in outcomes]),
        signal_rate=mean([each.signal_rate for each in outcomes]),
        value=mean([each.value for each in outcomes]),
        metrics=metrics,
    )


def _speed(pieces: Sequence[Evaluation], simulations: int, seconds: float) -> float | None:
    """Packets simulated per second on this machine, for the next horizon."""
    packets = [result.data["packets_forwarded"] for piece in pieces for result in piece.results]
    if not packets or seconds <= 0:
        return None
    return math.fsum(packets) / len(packets) * simulations / seconds


def first_beside_in_force(cases: Sequence[ModelCase], incumbent: Prediction) -> dict[str, float]:
    """Excess of bounded metrics under the first setting, mean of the likely models.

    What a change may cost counts from the first setting, and the network shows only the one in
    force: the models know the difference. Empty while the first setting is in force.

    Args:
        cases: the models, with the bounds of harm that each asks for.
        incumbent: what they say of the setting in force.

    Returns:
        By the path of a metric, in its unit.
    """
    known: dict[str, list[tuple[float, float]]] = {}
    for case in cases:
        for bound in case.constraints:
            if case.share > 0.0 and isinstance(bound, ConstraintOnKnown):
                phases = [value for value in bound.known if value is not None]
                if phases:
                    mean = math.fsum(phases) / len(phases)
                    known.setdefault(str(bound.path), []).append((case.share, mean))
    beside: dict[str, float] = {}
    for path, shares in known.items():
        stands = incumbent.metric(path)
        total = math.fsum(share for share, _ in shares)
        if stands is not None:
            first = math.fsum(share * value for share, value in shares) / total
            beside[path] = first - stands.mean
    return beside


def most_starved(cases: Sequence[ModelCase], incumbent: Prediction) -> float | None:
    """Greatest number of starved flows allowed, of all likely models."""
    limits: list[float] = []
    for case in cases:
        for bound in case.constraints:
            if case.share == 0.0 or not bound.of_harm or bound.path.metric != "starved":
                continue
            stood = incumbent.metric(str(bound.path))
            reference = [None if stood is None else stood.mean]
            limits.extend(each for each in bound.bounds([None], reference) if each is not None)
    return max(limits, default=None)
