"""The networks by their names, for whoever reads results."""

from __future__ import annotations

from online_networks import NETWORKS
from vermilion.scenario.quantities import TIME, parse_quantity

NETWORKS_BY_NAME = {each.name: each for each in NETWORKS}


def minutes(name: str) -> float:
    """How long a network runs, minutes."""
    return parse_quantity(NETWORKS_BY_NAME[name].document["duration"], TIME) / 60.0
