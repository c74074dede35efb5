"""The command that simulates what ``vermilion tune`` has found."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.scenario import Scenario
    from vermilion.tuning import Recommendation, TuningPlan


def command_to_see(name: str, plan: TuningPlan, outcome: Recommendation) -> str:
    """The command that simulates the recommended setting.

    Args:
        name: of the scenario, as it was given.
        plan: by which it was tuned.
        outcome: with a setting.
    """
    from vermilion.tuning.other_discipline import tuned_scenarios

    [tuned] = tuned_scenarios(plan)
    scenario = tuned.scenario
    settings = [
        f"--set={path}={scenario.parameter(path).exact_text(value)}"
        for path, value in outcome.parameters.items()
    ]
    links = [report.link for report in tuned.carried_over]
    return shlex.join(["vermilion", "run", name, *_conversion(scenario, links), *settings])


def _conversion(scenario: Scenario, links: list[str]) -> list[str]:
    """What gives the links their new discipline, before anything is said of its parameters."""
    if not links:
        return []
    words = [
        f"--set=links.{link}.queue={_inline(scenario.document['links'][link]['queue'])}"
        for link in links
    ]
    if scenario.tuning is not None:
        # The scenario's own list is of the old discipline's parameters, and so is its box.
        words.append(f"--set=tuning.parameters={json.dumps(list(scenario.tuning.parameters))}")
        words.append(f"--set=tuning.space={_inline(scenario.tuning.space)}")
    return words


def _inline(table: dict[str, object]) -> str:
    """A table as TOML has it on one line; what queues and boxes hold is written as JSON has it."""
    entries = (f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items())
    return "{ " + ", ".join(entries) + " }" if table else "{}"
