"""Going on with a study from its file alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vermilion.profiles import Place
from vermilion.scenario.load import scenario_from_document
from vermilion.tuning.pareto import tune_front
from vermilion.tuning.robust import tune_robust
from vermilion.tuning.seeds import Seeds
from vermilion.tuning.study_file import StudyError, damaged
from vermilion.tuning.tune import tune

if TYPE_CHECKING:
    from vermilion.scenario import Scenario
    from vermilion.simulate.batches import BatchRunner
    from vermilion.tuning.answer_file import AnswerFile
    from vermilion.tuning.front import Front
    from vermilion.tuning.progress import ProgressReport
    from vermilion.tuning.recommendation import Recommendation
    from vermilion.tuning.robust_recommendation import RobustRecommendation
    from vermilion.tuning.study import Study
    from vermilion.tuning.study_plan import StudyPlan


def scenarios_of(study: Study) -> list[Scenario]:
    """The scenarios that a study is of; one, unless it is of a setting for several.

    Raises:
        StudyError: the study has not begun.
        ScenarioError: a scenario names files that are not there any more.
    """
    plan = _begun(study)
    of = plan.aims if plan.kind == "robust" else [plan]
    return [scenario_from_document(each.document, each.scenario) for each in of]


def resume_study(
    study: Study,
    *,
    budget: int,
    deadline_s: float | None = None,
    answers: AnswerFile | None = None,
    threads: int | None = None,
    workers: BatchRunner | None = None,
    progress: ProgressReport | None = None,
) -> Recommendation | RobustRecommendation | Front:
    """Goes on with a study, with the scenarios and the arguments that it was begun with.

    Args:
        study: that has begun.
        budget: settings that the search may use, those used before included.
        deadline_s: wall seconds for what is left.
        answers: to which an accepted recommendation is added; only of one scenario's best setting.
        threads: simulations at a time; ``None`` for one on each core.
        workers: of a cluster, which simulate what is worth the way; ``None`` for this machine.
        progress: called now and then.

    Raises:
        StudyError: it has not begun, its objective is a function in Python, or its file is damaged.
        ScenarioError: a scenario names files that are not there any more.
        ValueError: answers for a study of another kind.
    """
    scenarios = scenarios_of(study)
    plan = _begun(study)
    if plan.is_of_python:
        message = (
            f'"{study.path}", study "{study.name}": its objective is a function in Python; '
            "expected it to be gone on with from there"
        )
        raise StudyError(message)
    if answers is not None and plan.kind != "setting":
        message = "answers are of one scenario's best setting; expected none for this study"
        raise ValueError(message)
    try:
        arguments = _arguments(plan)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(study.path, error) from None
    arguments |= {
        "budget": budget,
        "deadline_s": deadline_s,
        "threads": threads,
        "workers": workers,
        "progress": progress,
        "study": study,
    }
    if plan.kind == "robust":
        return tune_robust(scenarios, **arguments)
    if plan.kind == "front":
        return tune_front(scenarios[0], **arguments)
    return tune(scenarios[0], answers=answers, **arguments)


def _begun(study: Study) -> StudyPlan:
    if study.plan is None:
        message = f'"{study.path}" has no study "{study.name}"; expected a scenario to begin one'
        raise StudyError(message)
    return study.plan


def _arguments(plan: StudyPlan) -> dict[str, Any]:
    """What the tuning was called with, in the types that it was called with."""
    arguments = dict(plan.arguments)
    place = arguments.pop("place")
    seeds = {stage: tuple(numbers) for stage, numbers in arguments.pop("seeds").items()}
    boxes = arguments.pop("boxes")
    return arguments | {
        "place": None if place is None else Place(**place),
        "seeds": Seeds(**seeds),
        "boxes": boxes and {path: (low, high) for path, (low, high) in boxes.items()},
    }
