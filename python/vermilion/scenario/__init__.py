"""Scenarios: TOML with units, validated into a :class:`Scenario`.

A scenario that loads can be simulated: every field has been checked, the discipline and
sender parameters against the tables of the core, and the core itself has built it once.
Whatever is wrong ends in one :class:`ScenarioError` naming the field, the value and what
would be accepted.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.scenario.algorithms import Algorithm, Parameter, disciplines, senders
    from vermilion.scenario.core_scenario import CoreScenario
    from vermilion.scenario.errors import ScenarioError
    from vermilion.scenario.library import scenario_names
    from vermilion.scenario.load import load_scenario, parse_scenario, scenario_from_document
    from vermilion.scenario.model import Scenario
    from vermilion.scenario.quantities import (
        PACKETS,
        RATE,
        RATIO,
        SIZE,
        TIME,
        Dimension,
        QuantityError,
        format_quantity,
        parse_quantity,
    )
    from vermilion.scenario.tables import Change, FlowGroup, Link, Queue, Sender
    from vermilion.scenario.traffic import Traffic
    from vermilion.scenario.tuning_table import Tuning, TuningObjective

_HOMES = {
    "Algorithm": "algorithms",
    "Change": "tables",
    "CoreScenario": "core_scenario",
    "Dimension": "quantities",
    "FlowGroup": "tables",
    "Link": "tables",
    "PACKETS": "quantities",
    "Parameter": "algorithms",
    "QuantityError": "quantities",
    "Queue": "tables",
    "RATE": "quantities",
    "RATIO": "quantities",
    "SIZE": "quantities",
    "Scenario": "model",
    "ScenarioError": "errors",
    "Sender": "tables",
    "TIME": "quantities",
    "Traffic": "traffic",
    "Tuning": "tuning_table",
    "TuningObjective": "tuning_table",
    "disciplines": "algorithms",
    "format_quantity": "quantities",
    "load_scenario": "load",
    "parse_quantity": "quantities",
    "parse_scenario": "load",
    "scenario_from_document": "load",
    "scenario_names": "library",
    "senders": "algorithms",
}

__all__ = [
    "PACKETS",
    "RATE",
    "RATIO",
    "SIZE",
    "TIME",
    "Algorithm",
    "Change",
    "CoreScenario",
    "Dimension",
    "FlowGroup",
    "Link",
    "Parameter",
    "QuantityError",
    "Queue",
    "Scenario",
    "ScenarioError",
    "Sender",
    "Traffic",
    "Tuning",
    "TuningObjective",
    "disciplines",
    "format_quantity",
    "load_scenario",
    "parse_quantity",
    "parse_scenario",
    "scenario_from_document",
    "scenario_names",
    "senders",
]


if not TYPE_CHECKING:  # a type checker knows every name from the imports above

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
