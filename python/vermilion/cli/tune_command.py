"""The command that simulates what ``vermilion tune`` has found."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario import Scenario
    from vermilion.tuning import Recommendation, TuningPlan


def command_to_see(name: str, plan: TuningPlan, outcome: Recommendation) -> str:
    """The command that simulates the recommended setting.

    Args:
        name: of the scenario, as it was given.
        plan: by which it was tuned.
        outcome: with a setting.
    """
    from vermilion.tuning.preparation import tuned_scenarios

    [tuned] = tuned_scenarios(plan)
    scenario = tuned.scenario
    settings = [
        f"--set={path}={scenario.parameter(path).exact_text(value)}"
        for path, value in outcome.parameters.items()
    ]
    links = [report.link for report in tuned.carried_over]
    words = _conversion(plan.scenarios[0], scenario, links)
    return shlex.join(["vermilion", "run", name, *words, *settings])


def _conversion(before: Scenario, after: Scenario, links: list[str]) -> list[str]:
    """Options that give the links their new discipline."""
    words = [
        f"--set=links.{link}.queue={_inline(after.document['links'][link]['queue'])}"
        for link in links
    ]
    if links and before.tuning is not None and after.tuning is not None:
        # The list, and perhaps boxes, are of the old discipline's parameters.
        words.append(f"--set=tuning.parameters={json.dumps(list(after.tuning.parameters))}")
        if before.tuning.space:
            words.append(f"--set=tuning.space={_inline(after.tuning.space)}")
    return words


def _inline(table: Mapping[str, object]) -> str:
    """A table as TOML has it on one line; JSON's texts, numbers, switches and lists are TOML's."""
    entries = [
        f"{key if key.isidentifier() else json.dumps(key)} = {json.dumps(value)}"
        for key, value in table.items()
    ]
    return f"{{ {', '.join(entries)} }}" if entries else "{}"
