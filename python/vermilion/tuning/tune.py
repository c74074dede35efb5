"""Tuning from Python: the plan of each kind of tuning in keywords, and its execution.

The keywords are the attributes of :class:`vermilion.tuning.prepare.plan.TuningPlan`, which say what
is asked for, with ``objective`` for the only one of its objectives, and those of
:class:`vermilion.tuning.session.TuningSession`, which say how it is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.tuning.execution import execute_front, execute_robust, execute_setting
from vermilion.tuning.options import planned

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Unpack

    from vermilion.scenario import Scenario
    from vermilion.tuning.measure.joint import Over
    from vermilion.tuning.options import FrontOptions, RobustOptions, SettingOptions
    from vermilion.tuning.prepare.plan import Goal
    from vermilion.tuning.recommend.front import Front
    from vermilion.tuning.recommend.recommendation import Recommendation
    from vermilion.tuning.recommend.robust_recommendation import RobustRecommendation


def tune(scenario: Scenario | str | Path, **options: Unpack[SettingOptions]) -> Recommendation:
    """Searches the best setting for a scenario and compares it with the scenario's own.

    Ctrl-C ends it early with the best so far, which is then not accepted.

        >>> found = vermilion.tune(scenario, objective="flows.*.jain_index", budget=100)

    Args:
        scenario: itself, or the name or path from which it is loaded. It gives, in its
            ``[tuning]``, whatever is not said.
        options: attributes of :class:`vermilion.tuning.prepare.plan.TuningPlan` (``objective``
            instead of ``objectives``) and of :class:`vermilion.tuning.session.TuningSession`.

    Raises:
        StudyError: the study is of another tuning, or its file cannot be written.
        ScenarioError: a part of the tuning that is not accepted.
        ValueError: a setting of the search, or of the session, that is not accepted.
    """
    return execute_setting(*planned("setting", [scenario], options))


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
    return execute_robust(*planned("robust", scenarios, options, over=over))


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
    return execute_front(*planned("front", [scenario], options, objectives=objectives or ()))
