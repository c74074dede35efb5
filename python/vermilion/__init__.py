"""Vermilion simulates, tunes and keeps tuned the queue at a bottleneck.

The names below are loaded when they are first used, so that ``import vermilion`` and
``vermilion --help`` cost nothing.

    >>> import vermilion
    >>> scenario = vermilion.load_scenario("varying-load")
    >>> result = vermilion.run(scenario, seed=1)
    >>> result.link("bottleneck").total["queue_packets"]["mean"]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.online.drive.run import run_online
    from vermilion.online.record.entries import Decision, OnlineRun, SettingInForce
    from vermilion.online.record.journal import JournalError
    from vermilion.report import ComparisonReport, compare, online_report
    from vermilion.report.run_figure import RunFigure, run_figure
    from vermilion.scenario import Scenario, ScenarioError, load_scenario, parse_scenario
    from vermilion.scenario.errors import DisciplineError
    from vermilion.scenario.own_discipline import (
        Discipline,
        Verdict,
        choice,
        number,
        register_discipline,
        switch,
        unregister_discipline,
    )
    from vermilion.scenario.plugins import load_plugins
    from vermilion.simulate import Result, frames, grid, run, run_many
    from vermilion.tuning import (
        Front,
        FrontPoint,
        Recommendation,
        RobustCase,
        RobustRecommendation,
        Seeds,
        Study,
        StudyError,
        StudyRecord,
        TuningPlan,
        TuningSession,
        execute,
        read_studies,
        resume_study,
    )
    from vermilion.tuning.tune import tune, tune_front, tune_robust

    __version__: str

__all__ = [
    "ComparisonReport",
    "Decision",
    "Discipline",
    "DisciplineError",
    "Front",
    "FrontPoint",
    "JournalError",
    "OnlineRun",
    "Recommendation",
    "Result",
    "RobustCase",
    "RobustRecommendation",
    "RunFigure",
    "Scenario",
    "ScenarioError",
    "Seeds",
    "SettingInForce",
    "Study",
    "StudyError",
    "StudyRecord",
    "TuningPlan",
    "TuningSession",
    "Verdict",
    "__version__",
    "choice",
    "compare",
    "execute",
    "frames",
    "grid",
    "load_plugins",
    "load_scenario",
    "number",
    "online_report",
    "parse_scenario",
    "read_studies",
    "register_discipline",
    "resume_study",
    "run",
    "run_figure",
    "run_many",
    "run_online",
    "switch",
    "tune",
    "tune_front",
    "tune_robust",
    "unregister_discipline",
]

_HOMES = {
    "Front": ("vermilion.tuning", "Front"),
    "FrontPoint": ("vermilion.tuning", "FrontPoint"),
    "Recommendation": ("vermilion.tuning", "Recommendation"),
    "RobustCase": ("vermilion.tuning", "RobustCase"),
    "RobustRecommendation": ("vermilion.tuning", "RobustRecommendation"),
    "Seeds": ("vermilion.tuning", "Seeds"),
    "Study": ("vermilion.tuning", "Study"),
    "StudyError": ("vermilion.tuning", "StudyError"),
    "StudyRecord": ("vermilion.tuning", "StudyRecord"),
    "TuningPlan": ("vermilion.tuning", "TuningPlan"),
    "TuningSession": ("vermilion.tuning", "TuningSession"),
    "execute": ("vermilion.tuning", "execute"),
    "read_studies": ("vermilion.tuning", "read_studies"),
    "resume_study": ("vermilion.tuning", "resume_study"),
    "tune_front": ("vermilion.tuning", "tune_front"),
    "tune_robust": ("vermilion.tuning", "tune_robust"),
    "run_online": ("vermilion.online.drive.run", "run_online"),
    "Decision": ("vermilion.online.record.entries", "Decision"),
    "OnlineRun": ("vermilion.online.record.entries", "OnlineRun"),
    "SettingInForce": ("vermilion.online.record.entries", "SettingInForce"),
    "JournalError": ("vermilion.online.record.journal", "JournalError"),
    "online_report": ("vermilion.report", "online_report"),
    "RunFigure": ("vermilion.report.run_figure", "RunFigure"),
    "run_figure": ("vermilion.report.run_figure", "run_figure"),
    "ComparisonReport": ("vermilion.report", "ComparisonReport"),
    "Discipline": ("vermilion.scenario.own_discipline", "Discipline"),
    "DisciplineError": ("vermilion.scenario.errors", "DisciplineError"),
    "Result": ("vermilion.simulate", "Result"),
    "Scenario": ("vermilion.scenario", "Scenario"),
    "ScenarioError": ("vermilion.scenario", "ScenarioError"),
    "Verdict": ("vermilion.scenario.own_discipline", "Verdict"),
    "__version__": ("vermilion._core", "VERSION"),
    "choice": ("vermilion.scenario.own_discipline", "choice"),
    "compare": ("vermilion.report", "compare"),
    "frames": ("vermilion.simulate", "frames"),
    "grid": ("vermilion.simulate.variants", "grid"),
    "load_plugins": ("vermilion.scenario.plugins", "load_plugins"),
    "load_scenario": ("vermilion.scenario", "load_scenario"),
    "number": ("vermilion.scenario.own_discipline", "number"),
    "parse_scenario": ("vermilion.scenario", "parse_scenario"),
    "register_discipline": ("vermilion.scenario.own_discipline", "register_discipline"),
    "run": ("vermilion.simulate", "run"),
    "run_many": ("vermilion.simulate", "run_many"),
    "switch": ("vermilion.scenario.own_discipline", "switch"),
    "tune": ("vermilion.tuning", "tune"),
    "unregister_discipline": ("vermilion.scenario.own_discipline", "unregister_discipline"),
}


if not TYPE_CHECKING:  # a type checker knows every name from the imports above

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        module, attribute = _HOMES[name]
        value: object = getattr(import_module(module), attribute)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
