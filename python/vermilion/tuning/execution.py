"""Execution of plans, tuning from Python in keywords, and going on with a study.

The keywords are the attributes of :class:`vermilion.tuning.plan.TuningPlan`, which say what
is asked for, with ``objective`` for the only one of its objectives, and those of
:class:`vermilion.tuning.session.TuningSession`, which say how it is done.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from typing_extensions import TypedDict

from vermilion.objectives import NotMeasuredError
from vermilion.scenario.errors import ScenarioError, did_you_mean
from vermilion.simulate.accepted import check_several, given_in_order
from vermilion.tuning.best_setting import best_setting
from vermilion.tuning.earlier_answers import conditions_of
from vermilion.tuning.pareto import front_of
from vermilion.tuning.plan import TuningPlan
from vermilion.tuning.preparation import prepare
from vermilion.tuning.robust import best_for_all
from vermilion.tuning.session import TuningSession
from vermilion.tuning.study_file import StudyError, damaged
from vermilion.tuning.study_plan import StudyPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias, Unpack

    from vermilion.profiles import Place
    from vermilion.scenario import Scenario
    from vermilion.simulate.batches import BatchRunner
    from vermilion.tuning.earlier_answers import AnswerFile
    from vermilion.tuning.evaluation import Over, Seeds
    from vermilion.tuning.fidelity import Fidelity
    from vermilion.tuning.front import Front
    from vermilion.tuning.plan import Goal, Kind
    from vermilion.tuning.preparation import Earlier, PreparedTuning
    from vermilion.tuning.recommendation import Recommendation
    from vermilion.tuning.robust_recommendation import RobustRecommendation
    from vermilion.tuning.state import ProgressReport
    from vermilion.tuning.study import Concluded, Study

    AnyKind: TypeAlias = Recommendation | RobustRecommendation | Front

AnyOutcome = TypeVar("AnyOutcome", bound="Concluded")


def execute(plan: TuningPlan, session: TuningSession | None = None) -> AnyKind:
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
    return execute_by(_SEARCHES[plan.kind], plan, session or TuningSession())


_SEARCHES: Final[Mapping[Kind, Callable[[PreparedTuning, TuningSession], AnyKind]]] = {
    "setting": best_setting,
    "robust": best_for_all,
    "front": front_of,
}


def execute_by(
    search: Callable[[PreparedTuning, TuningSession], AnyOutcome],
    plan: TuningPlan,
    session: TuningSession,
) -> AnyOutcome:
    """Run :func:`execute` by the search of the plan's kind.

    Args:
        search: of it.
        plan: what is asked for.
        session: how it is done.
    """
    session.check(plan)
    tuning = prepare(plan)
    tuning = replace(tuning, earlier=_earlier_answers(tuning, session.answers))
    if session.study is not None:
        begun = session.study.begin(StudyPlan.of(tuning), plan.budget)
        tuning = replace(tuning, earlier=tuple(begun.earlier))
    try:
        outcome = search(tuning.with_incumbent_results(session.threads), session)
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


def _earlier_answers(tuning: PreparedTuning, answers: AnswerFile | None) -> tuple[Earlier, ...]:
    """The earlier answers to begin with."""
    if answers is None:
        return ()
    case = tuning.cases[0]
    conditions = conditions_of(case.scenario, tuning.space.names, case.objective)
    return tuple(
        (answer.source, apart, answer.setting) for apart, answer in answers.nearest(conditions)
    )


class ResumptionOptions(TypedDict, total=False):
    """Keywords of every session."""

    deadline_s: float | None
    threads: int | None
    workers: BatchRunner | None
    progress: ProgressReport | None


class CommonOptions(ResumptionOptions, total=False):
    """Keywords of every tuning."""

    parameters: Iterable[str] | None
    discipline: str | None
    constraints: Iterable[str] | None
    harm: Iterable[str] | None
    minimum_improvement: float | None
    exactly: bool
    robustness: bool
    rivals: bool
    boxes: Mapping[str, tuple[float, float]] | None
    profile: str | None
    place: Place | None
    search: str
    search_settings: Mapping[str, Any] | None
    budget: int
    seeds: Seeds | None
    seed: int
    study: Study | None


class OneSettingOptions(CommonOptions, total=False):
    """Keywords of every tuning that ends with one setting."""

    objective: Goal | None
    warm_starts: Iterable[Mapping[str, float]]
    shortlist: int
    race_budget: int | None
    fidelity: Fidelity


class RobustOptions(OneSettingOptions, total=False):
    """Keywords of a tuning for several scenarios."""

    weights: Sequence[float] | None


class SettingOptions(OneSettingOptions, total=False):
    """Keywords of a tuning of one scenario."""

    required_improvement: float
    answers: AnswerFile | None
    resume: Mapping[str, Any] | None


class FrontOptions(CommonOptions, total=False):
    """Keywords of a search for a front."""

    points: int


_OF_A_SESSION = frozenset(each.name for each in fields(TuningSession))
_OF_A_PLAN = frozenset(each.name for each in fields(TuningPlan)) - {"scenarios", "kind"}


def planned(
    kind: Kind,
    scenarios: Sequence[Scenario | str | Path],
    options: Mapping[str, Any],
    **more: object,
) -> tuple[TuningPlan, TuningSession]:
    """The plan and the session that keywords mean.

    Args:
        kind: of the tuning.
        scenarios: its scenarios, or what they are loaded from.
        options: the keywords; ``objective`` is the only one of ``objectives``.
        more: further attributes of the plan.

    Raises:
        TypeError: a keyword that neither a plan nor a session has.
        ScenarioError: a value that no plan has.
    """
    check_several(scenarios)
    if "robustness" in options:  # the name until 0.9 of the opposite
        options = {**options, "exactly": not options["robustness"]}
        del options["robustness"]
    known = sorted({*_OF_A_SESSION, *_OF_A_PLAN, "objective"})
    for name in options:
        if name not in known:
            message = f'"{name}" is no keyword of a tuning; expected {did_you_mean(name, known)}'
            raise TypeError(message)
    said = {name: value for name, value in options.items() if name not in _OF_A_SESSION}
    if "objective" in said and kind != "front":
        objective = said.pop("objective")
        more["objectives"] = () if objective is None else (objective,)
    plan: dict[str, Any] = {**said, **more}
    session = {name: value for name, value in options.items() if name in _OF_A_SESSION}
    return TuningPlan(scenarios=given_in_order(scenarios), kind=kind, **plan), TuningSession(
        **session
    )


def tune(scenario: Scenario | str | Path, **options: Unpack[SettingOptions]) -> Recommendation:
    """Searches the best setting for a scenario and compares it with the scenario's own.

    Ctrl-C ends it early with the best so far, which is then not accepted.

        >>> found = vermilion.tune(scenario, objective="flows.*.jain_index", budget=100)

    Args:
        scenario: itself, or the name or path from which it is loaded. It gives, in its
            ``[tuning]``, whatever is not said.
        options: attributes of :class:`vermilion.tuning.plan.TuningPlan` (``objective``
            instead of ``objectives``) and of :class:`vermilion.tuning.session.TuningSession`.

    Raises:
        StudyError: the study is of another tuning, or its file cannot be written.
        ScenarioError: a part of the tuning that is not accepted.
        ValueError: a setting of the search, or of the session, that is not accepted.
    """
    return execute_by(best_setting, *planned("setting", [scenario], options))


def tune_robust(
    scenarios: Sequence[Scenario | str | Path],
    over: Over = "worst",
    **options: Unpack[RobustOptions],
) -> RobustRecommendation:
    """Searches one setting for several scenarios and compares it with each one's own.

    Ctrl-C ends it early with the best so far, which is then not accepted.

    Args:
        scenarios: at least two, or what they are loaded from. Each has, in its ``[tuning]``, its
            own objective and constraints, unless they are said; the parameters and the box are
            those of the first.
        over: "worst" or "mean".
        options: as of :func:`tune`.

    Raises:
        StudyError: the study is of another tuning, or its file cannot be written.
        ScenarioError: a part of the tuning that is not accepted.
        ValueError: a setting of the search that is not accepted.
    """
    return execute_by(best_for_all, *planned("robust", scenarios, options, over=over))


def tune_front(
    scenario: Scenario | str | Path,
    objectives: Sequence[Goal] | None = None,
    **options: Unpack[FrontOptions],
) -> Front:
    """Searches the settings of which none is better in both of two objectives.

    Ctrl-C ends the search early; what it has found still meets fresh seeds. A second one ends that
    too: then the front is of the fresh seeds met so far, or of the search's own.

    Args:
        scenario: itself, or the name or path from which it is loaded. It gives the parameters
            that may change, in its ``[tuning]``, unless they are said.
        objectives: two; by default the mean queueing delay and the utilisation of the first link
            whose queue is tuned.
        options: as of :func:`tune`, but for what the attributes say is of other kinds.

    Raises:
        StudyError: the study is of another search, or its file cannot be written.
        ScenarioError: a part of it that is not accepted.
        ValueError: a setting of the search that is not accepted.
    """
    return execute_by(front_of, *planned("front", [scenario], options, objectives=objectives or ()))


def plan_of(study: Study) -> TuningPlan:
    """The plan that a study was begun with.

    Raises:
        StudyError: it has not begun, its objective is a function in Python, or its file is damaged.
        ScenarioError: a scenario names files that are not there any more.
    """
    plan = study.plan
    if plan is None:
        message = f'"{study.path}" has no study "{study.name}"; expected a scenario to begin one'
        raise StudyError(message)
    if plan.is_of_python:
        message = (
            f'"{study.path}", study "{study.name}": its objective is a Python function; '
            "expected it to be continued from there"
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
) -> AnyKind:
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
