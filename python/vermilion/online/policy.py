"""What the operator wants: the ``[tuning]`` section of a scenario, and how patient he is.

This is the only part of a scenario besides the link's configuration that a controller may
know. It says nothing about the traffic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.objectives import Constraint
from vermilion.objectives.windows import ALL_FLOWS
from vermilion.scenario import ScenarioError
from vermilion.scenario.errors import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario import Scenario

OBJECTIVE = "queue-deviation"
"""The objective that can be kept on line: a router exports its instantaneous queue."""

DEADLINE_S = 1.0
"""Network time that a search may take, unless the operator says otherwise."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What to keep a queue at, by means of what.

    Attributes:
        link: the link under control.
        target_packets: where its instantaneous queue should stand.
        parameters: the names of the discipline parameters that may be changed.
        constraints: conditions a setting must meet, as written in the scenario; ``None`` for
            the default ones.
        space: for each parameter (by its path) the ends between which to search, as written
            in the scenario, where the operator gave them.
        deadline_s: how long a search may take, in the network's time.
    """

    link: str
    target_packets: float
    parameters: tuple[str, ...]
    constraints: tuple[str, ...] | None
    space: Mapping[str, object]
    deadline_s: float = DEADLINE_S

    @classmethod
    def of_scenario(cls, scenario: Scenario, deadline_s: float = DEADLINE_S) -> Policy:
        """The policy in a scenario's ``[tuning]`` section.

        Raises:
            ScenarioError: there is none, or it cannot be pursued on line.
        """
        tuning = scenario.tuning
        if tuning is None:
            raise ScenarioError("tuning", MISSING, "a [tuning] section", scenario.origin)
        if tuning.objective.name != OBJECTIVE:
            accepted = f'"{OBJECTIVE}", which is what can be measured on line'
            raise ScenarioError(
                "tuning.objective.name", tuning.objective.name, accepted, scenario.origin
            )
        if tuning.objective.target is None or tuning.objective.target <= 0:
            raise ScenarioError(
                "tuning.objective.target",
                tuning.objective.target,
                'a number of packets above 0, like "30 packets"',
                scenario.origin,
            )
        link = tuning.objective.link
        if link is None:
            accepted = "the name of a link"
            raise ScenarioError("tuning.objective.link", MISSING, accepted, scenario.origin)
        prefix = f"links.{link}.queue."
        for path in tuning.parameters:
            if not path.startswith(prefix):
                accepted = f"a parameter of the queue under control, {prefix}..."
                raise ScenarioError("tuning.parameters", path, accepted, scenario.origin)
        for index, text in enumerate(tuning.constraints or ()):
            field = f"tuning.constraints.{index}"
            metric = Constraint.parse(text, field=field, scenario=scenario).path
            known = ALL_FLOWS if metric.room == "flows" else link
            if metric.name != known:
                accepted = (
                    f'a metric of the link under control, "links.{link}...", or of all flows, '
                    '"flows.*...", because a controller sees no other links and no groups'
                )
                raise ScenarioError(field, text, accepted, scenario.origin)
        return cls(
            link=link,
            target_packets=tuning.objective.target,
            parameters=tuple(path.removeprefix(prefix) for path in tuning.parameters),
            constraints=tuning.constraints,
            space=tuning.space,
            deadline_s=deadline_s,
        )

    def path(self, parameter: str) -> str:
        """Where a scenario keeps a parameter of the queue under control."""
        return f"links.{self.link}.queue.{parameter}"
