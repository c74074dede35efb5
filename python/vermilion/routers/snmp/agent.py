"""The subagent that serves the queues of a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.agentx.subagent import Region, Subagent
from vermilion.routers.snmp.mib import DIFFSERV, TOP
from vermilion.routers.snmp.queue_objects import QueueObjects

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.routers.snmp.registry import QueueRegistry

REGIONS: Final = (Region(TOP, "VERMILION-QUEUE-MIB"), Region(DIFFSERV, "DIFFSERV-MIB"))


def queue_subagent(queues: QueueRegistry, clock: Callable[[], float]) -> Subagent:
    """A subagent for one connection.

    Args:
        queues: that are served.
        clock: seconds, never going back.
    """
    return Subagent(
        QueueObjects(queues, clock),
        REGIONS,
        identity=TOP,
        description="Vermilion: queues and their active queue management",
    )
