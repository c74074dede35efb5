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
    from vermilion.simulate import Result, frames, grid, run, run_many
    from vermilion.tuning.tune import tune

    __version__: str

__all__ = [
    "ComparisonReport",
    "Result",
    "Scenario",
    "ScenarioError",
    "__version__",
    "compare",
    "frames",
    "grid",
    "load_scenario",
    "parse_scenario",
    "run",
    "run_many",
    "tune",
]

_HOMES = {
    "ComparisonReport": ("vermilion.report", "ComparisonReport"),
    "Result": ("vermilion.simulate", "Result"),
    "Scenario": ("vermilion.scenario", "Scenario"),
    "ScenarioError": ("vermilion.scenario", "ScenarioError"),
    "__version__": ("vermilion._core", "VERSION"),
    "compare": ("vermilion.report", "compare"),
    "frames": ("vermilion.simulate", "frames"),
    "grid": ("vermilion.simulate.variants", "grid"),
    "load_scenario": ("vermilion.scenario", "load_scenario"),
    "parse_scenario": ("vermilion.scenario", "parse_scenario"),
    "run": ("vermilion.simulate", "run"),
    "run_many": ("vermilion.simulate", "run_many"),
    "tune": ("vermilion.tuning", "tune"),
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
