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
    from vermilion.report import ComparisonReport, compare
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
    from vermilion.simulate.instruments import FlowSeries, PacketTrace, RawDistributions
    from vermilion.tuning.tune import tune

    __version__: str

__all__ = [
    "ComparisonReport",
    "Discipline",
    "DisciplineError",
    "FlowSeries",
    "PacketTrace",
    "RawDistributions",
    "Result",
    "Scenario",
    "ScenarioError",
    "Verdict",
    "__version__",
    "choice",
    "compare",
    "frames",
    "grid",
    "load_plugins",
    "load_scenario",
    "number",
    "parse_scenario",
    "register_discipline",
    "run",
    "run_many",
    "switch",
    "tune",
    "unregister_discipline",
]

_HOMES = {
    "ComparisonReport": ("vermilion.report", "ComparisonReport"),
    "Discipline": ("vermilion.scenario.own_discipline", "Discipline"),
    "DisciplineError": ("vermilion.scenario.errors", "DisciplineError"),
    "FlowSeries": ("vermilion.simulate.instruments", "FlowSeries"),
    "PacketTrace": ("vermilion.simulate.instruments", "PacketTrace"),
    "RawDistributions": ("vermilion.simulate.instruments", "RawDistributions"),
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
