"""The policy that a scenario states: for one queue, or for several together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.policy import DEADLINE_S, Policy
from vermilion.online.set_policy import SetPolicy, tuned_links

if TYPE_CHECKING:
    from vermilion.scenario import Scenario


def stated_policy(scenario: Scenario, deadline_s: float = DEADLINE_S) -> Policy:
    """The policy in a scenario's ``[tuning]`` section, or the default one.

    Where it names parameters of several links it is one for all of them.

    Raises:
        ScenarioError: it cannot be pursued on line.
    """
    links = tuned_links(scenario)
    if len(links) > 1:
        return SetPolicy.of_links(scenario, links, deadline_s)
    return Policy.of_scenario(scenario, deadline_s)
