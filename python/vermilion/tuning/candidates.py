"""Candidates of a tuning: one scenario, hundreds of settings of a few of its parameters.

The scenario is checked and lowered to what the core reads once. A candidate is that with other
numbers in the tables of the tuned queues and senders, which takes microseconds; the core checks
the numbers themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vermilion.scenario.core_scenario import CoreScenario

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vermilion.scenario import Scenario

Setting = Mapping[str, float | bool | None]
"""Values of the tuned parameters by path, in the units of their tables; ``None``: automatic."""


class Candidates:
    """Writes a scenario with other values of the chosen parameters.

    Args:
        scenario: as loaded, or already as the core reads it, or that as JSON.
        paths: of the parameters that vary, like ``links.bottleneck.queue.weight``.

    Raises:
        ValueError: a path that leads to no parameter of a queue or a sender.
    """

    def __init__(self, scenario: Scenario | CoreScenario | str, paths: Iterable[str]) -> None:
        if isinstance(scenario, str):
            self._scenario = CoreScenario.from_json(scenario)
        else:
            self._scenario = scenario if isinstance(scenario, CoreScenario) else scenario.core()
        self._scenario.check_paths(paths)

    def text(self, setting: Setting) -> str:
        """The scenario with this setting, as the core reads it.

        Args:
            setting: values for some or all of the paths; the others stay as they are.
        """
        return self._scenario.text_with(setting)
