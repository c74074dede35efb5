"""The link that a figure is of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.scenario.errors import ScenarioError, one_of

if TYPE_CHECKING:
    from vermilion.scenario import Scenario


def check_link(scenario: Scenario, link: str) -> None:
    """Refuses a link that is not there.

    Raises:
        ScenarioError: naming those that are.
    """
    if link not in scenario.links:
        raise ScenarioError("link", link, one_of(scenario.links), scenario.origin)
