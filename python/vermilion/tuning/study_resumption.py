"""Going on with a study from its file alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.scenario.errors import ScenarioError
from vermilion.tuning.execution import execute
from vermilion.tuning.keep.study_file import StudyError, damaged
from vermilion.tuning.session import TuningSession

if TYPE_CHECKING:
    from typing import Unpack

    from vermilion.tuning.keep.study import Study
    from vermilion.tuning.keep.study_plan import StudyPlan
    from vermilion.tuning.options import ResumptionOptions
    from vermilion.tuning.prepare.plan import TuningPlan
    from vermilion.tuning.recall.answer_file import AnswerFile
    from vermilion.tuning.recommend.front import Front
    from vermilion.tuning.recommend.recommendation import Recommendation
    from vermilion.tuning.recommend.robust_recommendation import RobustRecommendation


def plan_of(study: Study) -> TuningPlan:
    """The plan that a study was begun with.

    Raises:
        StudyError: it has not begun, its objective is a function in Python, or its file is damaged.
        ScenarioError: a scenario names files that are not there any more.
    """
    plan = _begun(study)
    if plan.is_of_python:
        message = (
            f'"{study.path}", study "{study.name}": its objective is a function in Python; '
            "expected it to be gone on with from there"
        )
        raise StudyError(message)
    try:
        return plan.plan()
    except ScenarioError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(study.path, error) from None


def resume_study(
    study: Study,
    *,
    budget: int,
    answers: AnswerFile | None = None,
    **options: Unpack[ResumptionOptions],
) -> Recommendation | RobustRecommendation | Front:
    """Goes on with a study, with the plan that it was begun with.

    Args:
        study: that has begun.
        budget: settings that the search may use, those used before included.
        answers: to which an accepted recommendation is added; only of one scenario's best setting.
        options: attributes of :class:`vermilion.tuning.session.TuningSession`; the deadline is for
            what is left.

    Raises:
        StudyError: it has not begun, its objective is a function in Python, or its file is damaged.
        ScenarioError: a scenario names files that are not there any more.
        ValueError: answers for a study of another kind.
    """
    plan = replace(plan_of(study), budget=budget)
    return execute(plan, TuningSession(study=study, answers=answers, **options))


def _begun(study: Study) -> StudyPlan:
    if study.plan is None:
        message = f'"{study.path}" has no study "{study.name}"; expected a scenario to begin one'
        raise StudyError(message)
    return study.plan
