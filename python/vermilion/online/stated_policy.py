"""The policy that a scenario states: for one queue, or for several together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.policy import DEADLINE_S, Policy
from vermilion.online.set_policy import SetPolicy, tuned_links
from vermilion.scenario.errors import FieldError, ScenarioError
from vermilion.search.space import searched_box

if TYPE_CHECKING:
    from vermilion.scenario import Scenario


def stated_policy(scenario: Scenario, deadline_s: float = DEADLINE_S) -> Policy:
    """The policy in a scenario's ``[tuning]`` section, or the default one.

    Where it names parameters of several links it is one for all of them.

    Raises:
        ScenarioError: it cannot be pursued on line.
    """
    links = tuned_links(scenario)
    policy = (
        SetPolicy.of_links(scenario, links, deadline_s)
        if len(links) > 1
        else Policy.of_scenario(scenario, deadline_s)
    )
    for name in policy.parameters:
        try:
            searched_box(scenario, policy.path(name))
        except FieldError as error:
            raise ScenarioError(error.field, error.value, error.accepted, scenario.origin) from None
    return policy
