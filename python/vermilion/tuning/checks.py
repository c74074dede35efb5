"""Checks of a recommendation: baselines, and values at an end of their box.

Baselines are simulated after the tuning, in the time that is left. No run is made twice
(:mod:`vermilion.tuning.memory`).
"""

from __future__ import annotations

import math
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from vermilion.objectives.price import over_of, price_intervals
from vermilion.scenario.algorithms import discipline
from vermilion.simulate.statistics import SettingPair, mean_interval
from vermilion.tuning.baselines import Baseline, expert_baselines
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.recommendation import BaselineOutcome
from vermilion.tuning.state import TuningProgress
from vermilion.tuning.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vermilion.objectives import Objective
    from vermilion.scenario import Scenario
    from vermilion.search import Dimension, Space
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.preparation import Case, PreparedTuning
    from vermilion.tuning.session import TuningSession
    from vermilion.tuning.state import End


AT_THE_END: Final = 0.01
"""The part of the box, on the scale on which it is searched, that counts as its end."""


def box_warnings(scenario: Scenario, space: Space, setting: Setting) -> tuple[str, ...]:
    """A sentence for each value that lies at an end of its box.

    An end beyond which the parameter itself does not go, like a probability of 1, is none; nor is
    the least distance to another parameter.

    Args:
        scenario: to which the parameters belong.
        space: that was searched.
        setting: what was found; automatic values lie at no end.
    """
    return tuple(
        _end_warning(scenario, dimension, end)
        for dimension in space.dimensions
        for end in _ends_reached(scenario, dimension, setting.get(dimension.name))
    )


def _ends_reached(scenario: Scenario, dimension: Dimension, value: float | None) -> Iterator[str]:
    """The names of the ends where a value lies."""
    if value is None or dimension.switch:
        return
    parameter = scenario.parameter(dimension.name)
    if not _equals_limit(parameter.minimum, dimension.lower) and _is_at_end(dimension, value, 0.0):
        yield "lower"
    if not _equals_limit(parameter.maximum, dimension.upper) and _is_at_end(dimension, value, 1.0):
        yield "upper"


def _is_at_end(dimension: Dimension, value: float, end: float) -> bool:
    """True if a value lies at the end whose coordinate is 0 or 1, or beyond."""
    if dimension.integer:
        return value <= dimension.lower if end == 0.0 else value >= dimension.upper
    return abs(dimension.coordinate(value) - end) <= AT_THE_END


def _equals_limit(limit: float | None, end: float) -> bool:
    return limit is not None and math.isclose(limit, end, rel_tol=1e-9, abs_tol=1e-12)


def _end_warning(scenario: Scenario, dimension: Dimension, end: str) -> str:
    value = dimension.lower if end == "lower" else dimension.upper
    readable = scenario.parameter(dimension.name).readable(value)
    return (
        f"{dimension.name} is at the {end} end of its box ({readable}): "
        "a better value may lie beyond"
    )


def paired_prices(
    runs: tuple[Sequence[Result], Sequence[Result]], link: str, objective: Objective
) -> dict[str, SettingPair]:
    """The price of two settings, as far as every run has measured it."""
    best, incumbent = (price_intervals(results, link, over_of(objective)) for results in runs)
    return {name: SettingPair(best[name], incumbent[name]) for name in best if name in incumbent}


LEAST_DEADLINE_S: Final = 10.0
"""Deadlines from which on there is time to look beyond the setting itself."""

BESIDE: Final = 0.25
"""The part of such a deadline that is set aside for that."""


def is_time_for_more(session: TuningSession) -> bool:
    """True if there is time for checks, which is not within short deadlines."""
    return session.deadline_s is None or session.deadline_s >= LEAST_DEADLINE_S


def search_seconds(seconds: float | None) -> float | None:
    """Of the seconds that are left for a tuning, those for all but what stands beside it."""
    if seconds is None or seconds < LEAST_DEADLINE_S:
        return seconds
    return (1.0 - BESIDE) * seconds


def baselines_beside(
    tuning: PreparedTuning,
    session: TuningSession,
    incumbents: Sequence[Sequence[Result]],
    end: End,
) -> tuple[list[tuple[BaselineOutcome, ...]], End]:
    """Queues set by rules of thumb beside what was found in each scenario, and the end.

    Ctrl-C leaves out what was not measured yet; what was decided before stands.

    Args:
        tuning: whose plan says what is wanted.
        session: how it is done.
        incumbents: of each scenario simulations of what is in force, with the first seeds of the
            comparison; none where it did not come to that.
        end: what has ended the tuning.
    """
    found: list[tuple[BaselineOutcome, ...]] = [()] * len(tuning.cases)
    if end == "interrupted" or not is_time_for_more(session):
        return found, end
    try:
        for number, (case, results) in enumerate(zip(tuning.cases, incumbents, strict=False)):
            left = tuning.seconds_left(session.deadline_s)
            share = None if left is None else left / (len(tuning.cases) - number)
            found[number] = _baselines(tuning, session, case, results, share)
    except KeyboardInterrupt:
        return found, "interrupted"
    return found, end


def _baselines(
    tuning: PreparedTuning,
    session: TuningSession,
    case: Case,
    incumbent: Sequence[Result],
    deadline_s: float | None,
) -> tuple[BaselineOutcome, ...]:
    """Baselines of one scenario, the new discipline as it takes over first, then the best."""
    plan, seeds = tuning.plan, tuning.seeds.comparison[: len(incumbent)]
    links = [link for link in tuning.named_links if plan.rivals]
    if not links or len(seeds) < 2:  # noqa: PLR2004 - an interval needs two
        return ()
    if session.progress is not None:
        session.progress(TuningProgress("rivals", 0, 1, inf))
    untuned = []
    if case.before is not None:
        names = dict.fromkeys(
            discipline(case.scenario.links[report.link].queue.discipline).title
            for report in tuning.carried_over
            if report.link in case.scenario.links
        )
        label = f"{' and '.join(names)}, not tuned"
        untuned = [Baseline(label, case.incumbent, case.scenario)]
    measured = expert_baselines(
        case.standing,
        case.objective,
        case.stated,
        links=links,
        seeds=seeds,
        device=plan.profile,
        threads=session.threads,
        workers=session.runner,
        deadline_s=deadline_s,
        besides=untuned,
        flow_delays=case.condition.needs_flow_delays,
    )
    now = Evaluation.of(seeds, incumbent, case.objective, case.constraints)
    sign = -1.0 if case.objective.maximised else 1.0
    found = []
    for each in measured:
        own = Evaluation.of(seeds, each.results, case.objective, case.constraints)
        if own.not_measured is not None:
            continue
        verdicts = judge(case.constraints, own, now)
        outcome = BaselineOutcome(
            label=each.name,
            parameters=each.parameters,
            objective=mean_interval(sign * value for value in own.objectives),
            metrics=price_intervals(each.results, tuning.link_of(case), over_of(case.objective)),
            missed=tuple(dict.fromkeys(str(each) for each in verdicts if each.holds != "met")),
        )
        rank = each.scenario is not case.scenario, bool(outcome.missed), own.objective
        found.append((rank, outcome))
    return tuple(outcome for _, outcome in sorted(found, key=itemgetter(0)))
