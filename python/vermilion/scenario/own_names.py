"""What a user has written, known by its name."""

from __future__ import annotations

from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.own_congestion_control import (
    CongestionControl,
    register_congestion_control,
)
from vermilion.scenario.own_discipline import Discipline, register_discipline


def registered_name(own: type) -> str:
    """Registers a discipline or a congestion control; its name.

    Raises:
        ScenarioError: it is neither, or it is refused.
    """
    if issubclass(own, Discipline):
        return register_discipline(own).name
    if issubclass(own, CongestionControl):
        return register_congestion_control(own).name
    accepted = "a class derived from vermilion.Discipline or vermilion.CongestionControl"
    raise ScenarioError("class", own.__name__, accepted)
