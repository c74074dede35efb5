"""Going on with a study from its file alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.profiles import Place
from vermilion.scenario.load import scenario_from_document
from vermilion.tuning.seeds import Seeds
from vermilion.tuning.study_file import StudyError, damaged
from vermilion.tuning.tune import tune

if TYPE_CHECKING:
    from vermilion.scenario import Scenario
    from vermilion.tuning.answer_file import AnswerFile
    from vermilion.tuning.progress import ProgressReport
    from vermilion.tuning.recommendation import Recommendation
    from vermilion.tuning.study import Study


def scenario_of(study: Study) -> Scenario:
    """The scenario that a study is of.

    Raises:
        StudyError: the study has not begun.
        ScenarioError: the scenario names files that are not there any more.
    """
    if study.plan is None:
        message = f'"{study.path}" has no study "{study.name}"; expected a scenario to begin one'
        raise StudyError(message)
    return scenario_from_document(study.plan.document, study.plan.scenario)


def resume_study(
    study: Study,
    *,
    budget: int,
    deadline_s: float | None = None,
    answers: AnswerFile | None = None,
    threads: int | None = None,
    progress: ProgressReport | None = None,
) -> Recommendation:
    """Goes on with a study, with the scenario and the arguments that it was begun with.

    Args:
        study: that has begun.
        budget: settings that the search may use, those used before included.
        deadline_s: wall seconds for what is left.
        answers: to which an accepted recommendation is added.
        threads: simulations at a time; ``None`` for one on each core.
        progress: called now and then.

    Raises:
        StudyError: it has not begun, its objective is a function in Python, or its file is damaged.
        ScenarioError: the scenario names files that are not there any more.
    """
    scenario = scenario_of(study)
    plan = study.plan
    if plan is None or plan.is_of_python:
        message = (
            f'"{study.path}", study "{study.name}": its objective is a function in Python; '
            "expected it to be gone on with from there"
        )
        raise StudyError(message)
    try:
        arguments = dict(plan.arguments)
        place = arguments.pop("place")
        seeds = {stage: tuple(numbers) for stage, numbers in arguments.pop("seeds").items()}
        boxes = arguments.pop("boxes")
        arguments |= {
            "place": None if place is None else Place(**place),
            "seeds": Seeds(**seeds),
            "boxes": boxes and {path: (low, high) for path, (low, high) in boxes.items()},
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(study.path, error) from None
    return tune(
        scenario,
        **arguments,
        budget=budget,
        deadline_s=deadline_s,
        answers=answers,
        threads=threads,
        progress=progress,
        study=study,
    )
