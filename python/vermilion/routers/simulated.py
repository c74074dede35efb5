"""A simulated network behind the interface of a real router.

The network runs a scenario with a seed of its own that the controller never learns. Its
clock moves only in :meth:`SimulatedRouter.wait`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar, get_args

from vermilion.routers.adaptive_red import PLAIN_RED, HeldBesideLaw, LawBesideQueue
from vermilion.routers.base import (
    FlowTraffic,
    HeldValues,
    Knowledge,
    LinkConfiguration,
    ManagedQueue,
    ParameterValue,
    PushPrice,
    Reading,
    RouterError,
    RttSamples,
)
from vermilion.routers.queue_set import QueueSet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from vermilion import _core
    from vermilion.scenario.core_scenario import CoreScenario

_NS_PER_S = 1_000_000_000
_LINUX_RED = "linux-red"  # the one discipline of the core that a change of settings costs something


class SimulatedRouter(ManagedQueue):
    """One link of a running simulation."""

    kind: ClassVar[str] = "simulated"
    held = HeldValues()

    def __init__(
        self,
        core_scenario: CoreScenario | str,
        link: str,
        seed: int,
        knowledge: Knowledge = "full",
        simulation: _core.Simulation | None = None,
    ) -> None:
        """Start the network at time 0.

        Args:
            core_scenario: the scenario as the core reads it (``Scenario.core()``), or its JSON.
            link: the name of the link under control.
            seed: the network's hidden seed.
            knowledge: what the monitor beside the queue tells: everything, only the number of
                flows, or nothing, as where there is none.
            simulation: one that runs already, where several links of it are managed; ``None``
                starts it.

        Raises:
            RouterError: the scenario has no such link, or there is no such knowledge.
            ValueError: the JSON is something else.
        """
        from vermilion import _core
        from vermilion.scenario.core_scenario import CoreScenario

        if knowledge not in get_args(Knowledge):
            known = ", ".join(get_args(Knowledge))
            message = f'knowledge "{knowledge}" is not accepted; expected one of: {known}'
            raise RouterError(message)
        if isinstance(core_scenario, str):
            core_scenario = CoreScenario.from_json(core_scenario)
        try:
            controlled = core_scenario.link(link)
        except KeyError:
            names = ", ".join(each.name for each in core_scenario.links)
            message = f'link "{link}" is not accepted; expected one of: {names}'
            raise RouterError(message) from None
        self._configuration = LinkConfiguration(
            link=link,
            discipline=controlled.queue.discipline,
            delay_s=controlled.delay_ns / _NS_PER_S,
            adaptive=controlled.queue.discipline == PLAIN_RED and simulation is None,
        )
        self._law = LawBesideQueue(self._queue_parameters, self._set)
        if self._configuration.adaptive:
            self.held = HeldBesideLaw()
        self._link = link
        self._duration_ns = core_scenario.duration_ns
        self._knowledge = knowledge
        self._simulation = simulation or _core.Simulation(core_scenario.to_json(), seed)
        if knowledge == "full":
            self._simulation.take_flow_traffic(link)  # watched from the first packet on
        if self._configuration.discipline == _LINUX_RED:
            keeps = self.parameters()["keep_packets"] is True
            self.push_price = PushPrice(flushes_queue=not keeps, forgets_average=True)

    def read(self) -> Reading:
        """The link's counters now."""
        counters = self._simulation.counters(self._link)
        return Reading(time_s=counters.pop("now_ns") / _NS_PER_S, **counters)

    def active_flows(self) -> int | None:
        """The number of flows that have begun and not ended."""
        return None if self._knowledge == "counters" else self._simulation.active_flows()

    def rtt_samples(self) -> RttSamples | None:
        """The round-trip samples since the last call."""
        flows, nanoseconds = self._simulation.take_rtt_samples()
        if self._knowledge != "full":
            return None
        return RttSamples(flows, nanoseconds / _NS_PER_S, timed_by_senders=True)

    def flow_traffic(self) -> FlowTraffic | None:
        """Packets and bytes of each flow through the link since the last call.

        Acknowledgements that cross it are flows of their own, with numbers below 0; like traffic of
        a constant rate they do not slow down for being lost.
        """
        if self._knowledge != "full":
            return None
        flows, packets, sizes, responsive, capable = self._simulation.take_flow_traffic(self._link)
        return FlowTraffic(flows, packets, sizes, responsive, ecn_capable=capable)

    def parameters(self) -> dict[str, ParameterValue]:
        """Every discipline parameter now in force."""
        return self._law.parameters()

    def apply(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Put ``parameters`` in force, all of them or none."""
        if self._configuration.adaptive:
            self._law.apply(parameters, self.read().time_s)
        else:
            self._set(parameters)

    def _queue_parameters(self) -> dict[str, ParameterValue]:
        in_force: dict[str, ParameterValue] = json.loads(
            self._simulation.queue_parameters(self._link)
        )
        return in_force

    def _set(self, values: Mapping[str, ParameterValue]) -> None:
        from vermilion import _core

        try:
            self._simulation.set_queue(self._link, json.dumps(dict(values)))
        except _core.ParameterError as refusal:
            field, value, accepted = refusal.args
            message = f"{field}: {value} is not accepted; expected {accepted}"
            raise RouterError(message) from refusal

    def wait(self, until_s: float) -> None:
        """Advance the network to ``until_s``, or to its end if that comes first."""
        while (due_s := self._law.due_s) <= until_s:
            self._advance(due_s)
            self._law.move(self.read().backlog_packets, due_s)
        self._advance(until_s)

    def _advance(self, until_s: float) -> None:
        from vermilion import _core
        from vermilion.scenario.errors import from_core

        try:
            self._simulation.advance(min(round(until_s * _NS_PER_S), self._duration_ns))
        except _core.ParameterError as refusal:
            raise from_core(refusal, "") from None

    def result(self) -> tuple[str, dict[str, dict[str, NDArray[np.float64]]]]:
        """Measurements of the network up to now: (result JSON, time series per link).

        For the experimenter who compares networks; a controller must not call it.
        """
        return self._simulation.result()


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
                'knowledge "flow count" is not accepted for several queues; expected '
                '"full" or "counters"'
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
        """Measurements of the network up to now: (result JSON, time series per link).

        For the experimenter who compares networks; a controller must not call it.
        """
        return self._simulation.result()


class _QueueOfNetwork(SimulatedRouter):
    """Queue of one link."""

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
        """Packets and bytes of each flow through the link since the last call."""
        return None if self._monitors is None else self._monitors.traffic(self._link)


class _Monitors:
    """Traffic that the monitors beside all links have heard and not told yet.

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
        """Round trips of the flows that have crossed the link."""
        import numpy as np

        self._listen()
        heard, self._trips[link] = self._trips[link], []
        return RttSamples(
            flows=np.concatenate([np.empty(0, np.int64), *(each.flows for each in heard)]),
            seconds=np.concatenate([np.empty(0), *(each.seconds for each in heard)]),
        )

    def traffic(self, link: str) -> FlowTraffic:
        """Packets and bytes of each flow through the link."""
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
