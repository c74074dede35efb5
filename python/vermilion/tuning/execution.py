"""Doing what a plan says: one way for every kind of tuning, with a study or without."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from vermilion.objectives import NotMeasuredError
from vermilion.scenario.errors import ScenarioError
from vermilion.tuning.best_setting import best_setting
from vermilion.tuning.keep.study_plan import StudyPlan
from vermilion.tuning.pareto import front_of
from vermilion.tuning.prepare.preparation import prepare
from vermilion.tuning.recall.conditions import conditions_of
from vermilion.tuning.robust import best_for_all
from vermilion.tuning.session import TuningSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.tuning.keep.study import Concluded
    from vermilion.tuning.prepare.plan import TuningPlan
    from vermilion.tuning.prepare.preparation import Earlier, PreparedTuning
    from vermilion.tuning.recall.answer_file import AnswerFile
    from vermilion.tuning.recommend.front import Front
    from vermilion.tuning.recommend.recommendation import Recommendation
    from vermilion.tuning.recommend.robust_recommendation import RobustRecommendation

AnyOutcome = TypeVar("AnyOutcome", bound="Concluded")


def execute(
    plan: TuningPlan, session: TuningSession | None = None
) -> Recommendation | RobustRecommendation | Front:
    """Does what a plan says.

    Ctrl-C ends it early with what there is by then.

    Args:
        plan: what is asked for.
        session: how it is done: how long, with whom, kept where.

    Raises:
        StudyError: the study is of another tuning, or its file cannot be written.
        ScenarioError: a part of the plan that is not accepted.
        ValueError: a setting of the search, or a part of the session, that is not accepted.
    """
    session = session or TuningSession()
    if plan.kind == "robust":
        return execute_robust(plan, session)
    if plan.kind == "front":
        return execute_front(plan, session)
    return execute_setting(plan, session)


def execute_setting(plan: TuningPlan, session: TuningSession) -> Recommendation:
    """As :func:`execute`, of a plan for one scenario's best setting."""
    return _performed(plan, session, best_setting)


def execute_robust(plan: TuningPlan, session: TuningSession) -> RobustRecommendation:
    """As :func:`execute`, of a plan for one setting for several scenarios."""
    return _performed(plan, session, best_for_all)


def execute_front(plan: TuningPlan, session: TuningSession) -> Front:
    """As :func:`execute`, of a plan for a front."""
    return _performed(plan, session, front_of)


def _performed(
    plan: TuningPlan,
    session: TuningSession,
    search: Callable[[PreparedTuning, TuningSession], AnyOutcome],
) -> AnyOutcome:
    session.check(plan)
    tuning = prepare(plan)
    tuning = replace(tuning, earlier=_earlier(tuning, session.answers))
    if session.study is not None:
        begun = session.study.begin(StudyPlan.of(tuning), plan.budget)
        tuning = replace(tuning, earlier=tuple(begun.earlier))
    try:
        outcome = search(tuning.told_of_incumbents(session.threads), session)
    except NotMeasuredError as error:
        objectives = dict.fromkeys(
            objective.label for case in tuning.cases for objective in case.objectives
        )
        raise ScenarioError(
            "tuning.objective.name",
            ", ".join(objectives),
            f"another objective: {error}",
            plan.origin,
        ) from None
    if session.study is not None:
        session.study.conclude(outcome)
    return outcome


def _earlier(tuning: PreparedTuning, answers: AnswerFile | None) -> tuple[Earlier, ...]:
    """The earlier answers to begin with."""
    if answers is None:
        return ()
    case = tuning.cases[0]
    conditions = conditions_of(case.scenario, tuning.space.names, case.objective)
    return tuple(
        (answer.source, apart, answer.setting) for apart, answer in answers.nearest(conditions)
    )
