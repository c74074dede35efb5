"""The keywords of the functions that tune, and how they become a plan and a session.

What each of them means is told by the attributes of
:class:`vermilion.tuning.prepare.plan.TuningPlan` and of
:class:`vermilion.tuning.session.TuningSession`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypedDict

from vermilion.scenario.errors import did_you_mean
from vermilion.simulate.accepted import check_several, given_in_order
from vermilion.tuning.prepare.plan import TuningPlan
from vermilion.tuning.session import TuningSession

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from vermilion.profiles import Place
    from vermilion.scenario import Scenario
    from vermilion.simulate.batches import BatchRunner
    from vermilion.tuning.find.progress import ProgressReport
    from vermilion.tuning.keep.study import Study
    from vermilion.tuning.measure.fidelity import Fidelity
    from vermilion.tuning.measure.seeds import Seeds
    from vermilion.tuning.prepare.plan import Goal, Kind
    from vermilion.tuning.recall.answer_file import AnswerFile


class ResumptionOptions(TypedDict, total=False):
    """What may be said of any tuning each time that it is done."""

    deadline_s: float | None
    threads: int | None
    workers: BatchRunner | None
    progress: ProgressReport | None


class CommonOptions(ResumptionOptions, total=False):
    """What may be said of any tuning."""

    parameters: Iterable[str] | None
    discipline: str | None
    constraints: Iterable[str] | None
    harm: Iterable[str] | None
    minimum_improvement: float | None
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


class RobustOptions(CommonOptions, total=False):
    """What may be said of a tuning for several scenarios."""

    weights: Sequence[float] | None
    objective: Goal | None
    warm_starts: Iterable[Mapping[str, float]]
    shortlist: int
    race_budget: int | None
    fidelity: Fidelity


class SettingOptions(CommonOptions, total=False):
    """What may be said of a tuning of one scenario."""

    objective: Goal | None
    warm_starts: Iterable[Mapping[str, float]]
    shortlist: int
    race_budget: int | None
    fidelity: Fidelity
    required_improvement: float
    answers: AnswerFile | None
    resume: Mapping[str, Any] | None


class FrontOptions(CommonOptions, total=False):
    """What may be said of a search for a front."""

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
