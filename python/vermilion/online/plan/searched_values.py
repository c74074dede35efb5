"""Which parameters a search for one queue may change, and what they are now.

A switch is searched only where it matters. Marks alone cannot hold a queue at any length
(:mod:`vermilion.online.model.least_queue`); above that, a queue that drops what it could mark is
what RFC 3168 (section 7) advises, and no number does the same. So ``drop_above_maximum`` is among
what is searched where marks leave the queue longer than it is wanted, and from then on until it is
again what it was at the beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.marking import marks
from vermilion.online.model.least_queue import least_queue_packets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.online.model.traffic import Traffic
    from vermilion.online.plan.task import Task
    from vermilion.routers.base import ParameterValue


def searched_parameters(task: Task, traffic: Traffic) -> tuple[str, ...]:
    """The names of what a search may change: the policy's, and switches where they matter."""
    policy, in_force = task.policy, task.in_force
    if not marks(in_force):
        return policy.parameters
    too_long = least_queue_packets(traffic) > policy.scale_packets(traffic.packets_per_s)
    return (
        *policy.parameters,
        *(
            name
            for name in policy.switches
            if name in in_force and (too_long or in_force[name] != task.original.get(name))
        ),
    )


def searched_values(
    names: Iterable[str], parameters: Mapping[str, ParameterValue]
) -> dict[str, float]:
    """Those of the named parameters that a search can begin with: numbers, and switches as such."""
    return {
        name: value if isinstance(value, bool) else float(value)
        for name in names
        if isinstance(value := parameters.get(name), int | float)
    }
