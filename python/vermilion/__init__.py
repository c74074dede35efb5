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
    from vermilion.networks import Network
    from vermilion.online.drive.run import run_online
    from vermilion.online.entries import Decision, OnlineRun, SettingInForce
    from vermilion.online.record.journal import JournalError
    from vermilion.report import ComparisonReport, compare, online_report
    from vermilion.report.run_figure import RunFigure, run_figure
    from vermilion.scenario import Scenario, ScenarioError, load_scenario, parse_scenario
    from vermilion.scenario.errors import (
        CongestionControlError,
        DisciplineError,
        PacketPredicateError,
    )
    from vermilion.scenario.own_class import choice, number, switch
    from vermilion.scenario.own_congestion_control import (
        CongestionControl,
        register_congestion_control,
        unregister_congestion_control,
    )
    from vermilion.scenario.own_discipline import (
        Discipline,
        Scheduler,
        Verdict,
        register_discipline,
        unregister_discipline,
    )
    from vermilion.scenario.own_predicate import packet_predicate, unregister_packet_predicate
    from vermilion.scenario.plugins import load_plugins
    from vermilion.simulate import Result, Sweep, frames, grid, run, run_many, sweep
    from vermilion.simulate.instruments import (
        FlowSeries,
        PacketTrace,
        RawDistributions,
        Transfers,
    )
    from vermilion.simulate.kept import Simulation
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
    from vermilion.tuning.execution import tune, tune_front, tune_robust

    __version__: str

__all__ = [
    "ComparisonReport",
    "CongestionControl",
    "CongestionControlError",
    "Decision",
    "Discipline",
    "DisciplineError",
    "FlowSeries",
    "Front",
    "FrontPoint",
    "JournalError",
    "Network",
    "OnlineRun",
    "PacketPredicateError",
    "PacketTrace",
    "RawDistributions",
    "Recommendation",
    "Result",
    "RobustCase",
    "RobustRecommendation",
    "RunFigure",
    "Scenario",
    "ScenarioError",
    "Scheduler",
    "Seeds",
    "SettingInForce",
    "Simulation",
    "Study",
    "StudyError",
    "StudyRecord",
    "Sweep",
    "Transfers",
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
    "packet_predicate",
    "parse_scenario",
    "read_studies",
    "register_congestion_control",
    "register_discipline",
    "resume_study",
    "run",
    "run_figure",
    "run_many",
    "run_online",
    "sweep",
    "switch",
    "tune",
    "tune_front",
    "tune_robust",
    "unregister_congestion_control",
    "unregister_discipline",
    "unregister_packet_predicate",
]

_HOMES = {
    "ComparisonReport": ("vermilion.report", "ComparisonReport"),
    "CongestionControl": ("vermilion.scenario.own_congestion_control", "CongestionControl"),
    "CongestionControlError": ("vermilion.scenario.errors", "CongestionControlError"),
    "Decision": ("vermilion.online.entries", "Decision"),
    "Discipline": ("vermilion.scenario.own_discipline", "Discipline"),
    "DisciplineError": ("vermilion.scenario.errors", "DisciplineError"),
    "FlowSeries": ("vermilion.simulate.instruments", "FlowSeries"),
    "Front": ("vermilion.tuning", "Front"),
    "FrontPoint": ("vermilion.tuning", "FrontPoint"),
    "JournalError": ("vermilion.online.record.journal", "JournalError"),
    "Network": ("vermilion.networks", "Network"),
    "OnlineRun": ("vermilion.online.entries", "OnlineRun"),
    "PacketPredicateError": ("vermilion.scenario.errors", "PacketPredicateError"),
    "PacketTrace": ("vermilion.simulate.instruments", "PacketTrace"),
    "RawDistributions": ("vermilion.simulate.instruments", "RawDistributions"),
    "Recommendation": ("vermilion.tuning", "Recommendation"),
    "Result": ("vermilion.simulate", "Result"),
    "RobustCase": ("vermilion.tuning", "RobustCase"),
    "RobustRecommendation": ("vermilion.tuning", "RobustRecommendation"),
    "RunFigure": ("vermilion.report.run_figure", "RunFigure"),
    "Scenario": ("vermilion.scenario", "Scenario"),
    "ScenarioError": ("vermilion.scenario", "ScenarioError"),
    "Scheduler": ("vermilion.scenario.own_discipline", "Scheduler"),
    "Seeds": ("vermilion.tuning", "Seeds"),
    "SettingInForce": ("vermilion.online.entries", "SettingInForce"),
    "Simulation": ("vermilion.simulate.kept", "Simulation"),
    "Study": ("vermilion.tuning", "Study"),
    "StudyError": ("vermilion.tuning", "StudyError"),
    "StudyRecord": ("vermilion.tuning", "StudyRecord"),
    "Sweep": ("vermilion.simulate", "Sweep"),
    "Transfers": ("vermilion.simulate.instruments", "Transfers"),
    "TuningPlan": ("vermilion.tuning", "TuningPlan"),
    "TuningSession": ("vermilion.tuning", "TuningSession"),
    "Verdict": ("vermilion.scenario.own_discipline", "Verdict"),
    "__version__": ("vermilion._core", "VERSION"),
    "choice": ("vermilion.scenario.own_class", "choice"),
    "compare": ("vermilion.report", "compare"),
    "execute": ("vermilion.tuning", "execute"),
    "frames": ("vermilion.simulate", "frames"),
    "grid": ("vermilion.simulate.sweeps", "grid"),
    "load_plugins": ("vermilion.scenario.plugins", "load_plugins"),
    "load_scenario": ("vermilion.scenario", "load_scenario"),
    "number": ("vermilion.scenario.own_class", "number"),
    "online_report": ("vermilion.report", "online_report"),
    "packet_predicate": ("vermilion.scenario.own_predicate", "packet_predicate"),
    "parse_scenario": ("vermilion.scenario", "parse_scenario"),
    "read_studies": ("vermilion.tuning", "read_studies"),
    "register_congestion_control": (
        "vermilion.scenario.own_congestion_control",
        "register_congestion_control",
    ),
    "register_discipline": ("vermilion.scenario.own_discipline", "register_discipline"),
    "resume_study": ("vermilion.tuning", "resume_study"),
    "run": ("vermilion.simulate", "run"),
    "run_figure": ("vermilion.report.run_figure", "run_figure"),
    "run_many": ("vermilion.simulate", "run_many"),
    "run_online": ("vermilion.online.drive.run", "run_online"),
    "sweep": ("vermilion.simulate", "sweep"),
    "switch": ("vermilion.scenario.own_class", "switch"),
    "tune": ("vermilion.tuning", "tune"),
    "tune_front": ("vermilion.tuning", "tune_front"),
    "tune_robust": ("vermilion.tuning", "tune_robust"),
    "unregister_congestion_control": (
        "vermilion.scenario.own_congestion_control",
        "unregister_congestion_control",
    ),
    "unregister_discipline": ("vermilion.scenario.own_discipline", "unregister_discipline"),
    "unregister_packet_predicate": (
        "vermilion.scenario.own_predicate",
        "unregister_packet_predicate",
    ),
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
