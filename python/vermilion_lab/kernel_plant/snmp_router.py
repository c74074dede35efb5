"""A queue of a guest that is read and changed over SNMP, with a passive monitor beside it.

Counters and settings go the way that they go from a real router: this machine's manager
(:class:`~vermilion.routers.snmp.router.SnmpRouter`) asks the router's snmpd, over the management
network, and that asks Vermilion's agent. What the monitor beside the queue has seen is no object of
SNMP (flows and their round trips have no table there); it is told as with :class:`KernelRouter`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from vermilion.routers.base import (
    Knowledge,
    LinkConfiguration,
    ManagedQueue,
    Observation,
    ParameterValue,
    Reading,
)
from vermilion.routers.snmp.router import READING_INTERVAL_S, SnmpRouter
from vermilion.routers.snmp.session import SnmpSession
from vermilion_lab.kernel_plant.management_channel import LOOPBACK
from vermilion_lab.kernel_plant.router import seen
from vermilion_lab.kernel_plant.topology import OUT, SHAPED_CLASS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.routers.snmp.credentials import UserCredentials
    from vermilion_lab.kernel_plant.network import RunningNetwork

_NS_PER_S = 1_000_000_000
_PATIENCE_S = 20.0
"""Of this machine's clock. The guest answers in no time of its own, and nothing is lost on the way,
so that asking again would change nothing."""


class SnmpKernelRouter(ManagedQueue):
    """One link's queue in a running guest.

    Args:
        network: that runs.
        link: the link's name.
        knowledge: what the monitor beside the queue tells.
        port: of the loopback, where the router's snmpd is found.
        credentials: of the user who may change it.
    """

    kind: ClassVar[str] = "kernel by SNMP"
    reading_interval_s = READING_INTERVAL_S

    def __init__(
        self,
        network: RunningNetwork,
        link: str,
        knowledge: Knowledge,
        port: int,
        credentials: UserCredentials,
    ) -> None:
        self._network = network
        self._number = network.number_of(link)
        self._knowledge = knowledge
        self._remote = SnmpRouter(
            f"snmp:{LOOPBACK}:{port}/{OUT}/{SHAPED_CLASS}",
            agent=SnmpSession(LOOPBACK, port, credentials, timeout_s=_PATIENCE_S, retries=0),
            clock=lambda: network.now_ns / _NS_PER_S,
            sleep=lambda seconds: network.advance(network.now_ns + round(seconds * _NS_PER_S)),
        )
        core = network.scenario.links[self._number]
        self._configuration = replace(
            self._remote.configuration, link=link, delay_s=core.delay_ns / _NS_PER_S
        )
        self.push_price = self._remote.push_price
        self.held = self._remote.held

    @property
    def configuration(self) -> LinkConfiguration:
        """The link's static configuration."""
        return self._configuration

    def read(self) -> Reading:
        """The counters now.

        Raises:
            RouterSilent: no answer came.
        """
        return self._remote.read()

    def observe(self) -> Observation:
        """The counters, and what the monitor has seen since the last call.

        Raises:
            RouterSilent: no answer came.
        """
        told = {} if self._knowledge == "counters" else self._network.traffic(self._number)
        return seen(self.read(), told, self._knowledge)

    def parameters(self) -> dict[str, ParameterValue]:
        """Parameters that the agent reports, by their names in the discipline's table."""
        return self._remote.parameters()

    def apply(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Put ``parameters`` in force, merged over the present ones: one SET, all or none.

        Raises:
            RouterError: the agent or its kernel refused.
        """
        self._remote.apply(self.held.nearest(parameters))

    def wait(self, until_s: float) -> None:
        """Let the network's time pass, at most to its end."""
        self._network.advance(round(until_s * _NS_PER_S))

    def close(self) -> None:
        """Ends the conversation with the agent."""
        self._remote.close()
