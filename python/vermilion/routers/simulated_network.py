"""Several links of one running simulation, managed as a set of queues.

Each queue has a monitor of its own, as it would have beside a real router: it hears the packets and
the round trips of the flows that cross this queue, and of no others. Flows have the same numbers at
all queues, as they have where numbers are hashes of addresses and ports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from vermilion.routers.base import FlowTraffic, RouterError, RttSamples
from vermilion.routers.queue_set import QueueSet
from vermilion.routers.simulated import SimulatedRouter

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from vermilion import _core
    from vermilion.routers.base import Knowledge
    from vermilion.scenario.core_scenario import CoreScenario

_NS_PER_S = 1_000_000_000


class SimulatedNetwork(QueueSet):
    """A set of queues whose network is simulated."""

    kind: ClassVar[str] = "simulated set"

    def __init__(
        self,
        core_scenario: CoreScenario | str,
        links: Sequence[str],
        seed: int,
        knowledge: Knowledge = "full",
    ) -> None:
        """Start the network at time 0.

        Args:
            core_scenario: the scenario as the core reads it (``Scenario.core()``), or its JSON.
            links: the names of the links under control.
            seed: the network's hidden seed.
            knowledge: what the monitors tell: everything, or nothing, as where there are none.

        Raises:
            RouterError: the scenario has no such link, or there is no such knowledge.
            ValueError: the JSON is something else.
        """
        from vermilion import _core
        from vermilion.scenario.core_scenario import CoreScenario

        if knowledge == "flow count":
            message = (
                'knowledge "flow count" is not accepted for several queues, because how many '
                'flows there are says nothing of where they go; expected "full" or "counters"'
            )
            raise RouterError(message)
        if isinstance(core_scenario, str):
            core_scenario = CoreScenario.from_json(core_scenario)
        simulation = _core.Simulation(core_scenario.to_json(), seed)
        self._simulation = simulation
        monitors = _Monitors(simulation, links) if knowledge == "full" else None
        super().__init__(
            _QueueOfNetwork(core_scenario, link, seed, knowledge, simulation, monitors)
            for link in links
        )

    def result(self) -> tuple[str, dict[str, dict[str, NDArray[np.float64]]]]:
        """What the network measured up to now: (result JSON, time series per link).

        For the experimenter who compares networks; a controller must not call it.
        """
        return self._simulation.result()


class _QueueOfNetwork(SimulatedRouter):
    """One of the links."""

    def __init__(
        self,
        core_scenario: CoreScenario,
        link: str,
        seed: int,
        knowledge: Knowledge,
        simulation: _core.Simulation,
        monitors: _Monitors | None,
    ) -> None:
        super().__init__(core_scenario, link, seed, knowledge, simulation)
        self._monitors = monitors

    def rtt_samples(self) -> RttSamples | None:
        """The round-trip samples, since the last call, of flows that cross this link."""
        return None if self._monitors is None else self._monitors.round_trips(self._link)

    def flow_traffic(self) -> FlowTraffic | None:
        """What each flow sent through the link since the last call."""
        return None if self._monitors is None else self._monitors.traffic(self._link)


class _Monitors:
    """What the monitors beside all links have heard and not told yet.

    The simulation hands every sample out once; each monitor keeps its own.
    """

    def __init__(self, simulation: _core.Simulation, links: Sequence[str]) -> None:
        import numpy as np

        self._simulation = simulation
        self._listened_ns = -1
        self._known: dict[str, NDArray[np.int64]] = {}
        self._trips: dict[str, list[RttSamples]] = {}
        self._traffic: dict[str, list[FlowTraffic]] = {}
        for link in links:
            simulation.take_flow_traffic(link)  # watched from the first packet on
            self._known[link] = np.empty(0, np.int64)
            self._trips[link], self._traffic[link] = [], []

    def round_trips(self, link: str) -> RttSamples:
        """Those of the flows that have crossed the link."""
        import numpy as np

        self._listen()
        heard, self._trips[link] = self._trips[link], []
        return RttSamples(
            flows=np.concatenate([np.empty(0, np.int64), *(each.flows for each in heard)]),
            seconds=np.concatenate([np.empty(0), *(each.seconds for each in heard)]),
        )

    def traffic(self, link: str) -> FlowTraffic:
        """What each flow sent through the link."""
        import numpy as np

        self._listen()
        seen, self._traffic[link] = self._traffic[link], []
        if len(seen) == 1:
            return seen[0]
        flows = np.unique(np.concatenate([np.empty(0, np.int64), *(each.flows for each in seen)]))
        packets, sizes = np.zeros(len(flows), np.int64), np.zeros(len(flows), np.int64)
        responsive, capable = np.zeros(len(flows), np.bool_), np.zeros(len(flows), np.bool_)
        for each in seen:  # each flow is in it once
            places = np.searchsorted(flows, each.flows)
            packets[places] += each.packets
            sizes[places] += each.bytes
            responsive[places] = each.responsive
            if each.ecn_capable is not None:
                capable[places] = each.ecn_capable
        return FlowTraffic(flows, packets, sizes, responsive, ecn_capable=capable)

    def _listen(self) -> None:
        """Take what there is, once at each instant."""
        import numpy as np

        now_ns = self._simulation.counters(next(iter(self._known)))["now_ns"]
        if now_ns == self._listened_ns:
            return
        self._listened_ns = now_ns
        flows, nanoseconds = self._simulation.take_rtt_samples()
        for link in self._known:
            flows_of, packets, sizes, responsive, capable = self._simulation.take_flow_traffic(link)
            traffic = FlowTraffic(flows_of, packets, sizes, responsive, ecn_capable=capable)
            self._traffic[link].append(traffic)
            if not np.isin(traffic.flows, self._known[link], assume_unique=True).all():
                self._known[link] = np.union1d(self._known[link], traffic.flows)
            mine = np.isin(flows, self._known[link])
            self._trips[link].append(
                RttSamples(flows=flows[mine], seconds=nanoseconds[mine] / _NS_PER_S)
            )
