"""A queue of a guest behind the interface of a real router.

It is read and changed there by the product's own Linux router, with a passive monitor beside it;
this is the other end. Values that a kernel does not have become the nearest that it has, as with a
real one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vermilion.routers.base import (
    FlowTraffic,
    Knowledge,
    LinkConfiguration,
    ManagedQueue,
    Observation,
    ParameterValue,
    PushPrice,
    Reading,
    RttSamples,
)
from vermilion.routers.linux.change import LinuxValues

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion_lab.kernel_plant.network import RunningNetwork

_NS_PER_S = 1_000_000_000


def seen(reading: Reading, told: Mapping[str, Any], knowledge: Knowledge) -> Observation:
    """A reading with what the monitor beside the queue tells.

    Args:
        reading: the counters.
        told: by the guest's agent, since the last time; empty where there is no monitor.
        knowledge: how much of it may be known.
    """
    if knowledge == "counters" or not told:
        return Observation(reading)
    if knowledge != "full":
        return Observation(reading, told["active_flows"])
    numbers, nanoseconds = told["round_trips"]
    flows, packets, sizes, data, responsive, selective, capable = told["traffic"]
    flow = np.array(flows, dtype=np.int64)
    return Observation(
        reading,
        told["active_flows"],
        RttSamples(
            np.array(numbers, dtype=np.int64),
            np.array(nanoseconds, dtype=np.float64) / _NS_PER_S,
        ),
        FlowTraffic(
            # Flows of which only acknowledgements leave have numbers below 0, as on a real router.
            np.where(np.array(data, dtype=np.bool_), flow, -flow - 1),
            np.array(packets, dtype=np.int64),
            np.array(sizes, dtype=np.int64),
            np.array(responsive, dtype=np.bool_),
            np.array(selective, dtype=np.bool_),
            np.array(capable, dtype=np.bool_),
        ),
    )


class KernelRouter(ManagedQueue):
    """One link's queue in a running guest.

    Args:
        network: that runs.
        link: the link's name.
        knowledge: what the monitor beside the queue tells.
    """

    kind: ClassVar[str] = "kernel"

    def __init__(self, network: RunningNetwork, link: str, knowledge: Knowledge) -> None:
        self._network = network
        self._number = network.number_of(link)
        self._knowledge = knowledge
        core = network.scenario.links[self._number]
        described = network.call("described", link=self._number)
        self._configuration = LinkConfiguration(
            link, described["discipline"], core.delay_ns / _NS_PER_S
        )
        self.push_price = PushPrice(described["flushes_queue"], described["forgets_average"])
        self.held = LinuxValues(discipline=self._configuration.discipline)

    @property
    def configuration(self) -> LinkConfiguration:
        """The link's static configuration."""
        return self._configuration

    def read(self) -> Reading:
        """The counters now."""
        return self.observe().reading

    def observe(self) -> Observation:
        """The counters, and what the monitor has seen since the last call."""
        told = self._network.call("observe", link=self._number)
        at_ns, packets, sent, drops, marks, waiting, waiting_bytes = told["reading"]
        reading = Reading(
            time_s=at_ns / _NS_PER_S,
            backlog_packets=waiting,
            backlog_bytes=waiting_bytes,
            forwarded_packets=packets,
            forwarded_bytes=sent,
            drops=drops,
            marks=marks,
        )
        return seen(reading, told, self._knowledge)

    def parameters(self) -> dict[str, ParameterValue]:
        """Parameters that the kernel reports, by their names in the discipline's table."""
        found: dict[str, ParameterValue] = self._network.call("parameters", link=self._number)
        return found

    def apply(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Put ``parameters`` in force, merged over the present ones: all of them or none.

        Raises:
            RouterError: the kernel refused.
            RouterSilent: it is not known what is in force.
        """
        nearest = self.held.nearest(parameters)
        self._network.call("apply", link=self._number, parameters=nearest)

    def wait(self, until_s: float) -> None:
        """Let the network's time pass, at most to its end."""
        self._network.advance(round(until_s * _NS_PER_S))
