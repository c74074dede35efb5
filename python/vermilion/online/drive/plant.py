"""What makes the networks that are kept tuned on their own time: the simulator, or another."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.routers.base import Knowledge, ManagedQueue
    from vermilion.routers.simulated import SimulatedNetwork, SimulatedRouter
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result


class ControlledNetwork(Protocol):
    """A network at its beginning, with a queue to be controlled, or several as one set."""

    @property
    def router(self) -> ManagedQueue:
        """That queue, or the set."""

    def result(self, probe_interval_s: float) -> Result:
        """What the network has measured, with a time series, at its end."""


class Plant(Protocol):
    """What makes networks of a scenario."""

    def under_control(
        self, scenario: Scenario, links: Sequence[str], seed: int, knowledge: Knowledge
    ) -> AbstractContextManager[ControlledNetwork]:
        """A network with the queues of links to be controlled; it ends with the context."""

    def left_alone(self, scenario: Scenario, seed: int, probe_interval_s: float) -> Result:
        """The outcome of the same network that nobody touches."""


class SimulatedPlant:
    """Networks of the simulator.

    Args:
        probe_interval_s: between the points of the time series.
    """

    def __init__(self, probe_interval_s: float) -> None:
        self._probe_interval_s = probe_interval_s

    def under_control(
        self, scenario: Scenario, links: Sequence[str], seed: int, knowledge: Knowledge
    ) -> AbstractContextManager[ControlledNetwork]:
        """A simulation with the queues of links to be controlled.

        Raises:
            RouterError: this cannot be known of several queues.
        """
        from vermilion.routers.simulated import SimulatedNetwork, SimulatedRouter

        text = scenario.core_json(self._probe_interval_s)
        if len(links) > 1:
            several = SimulatedNetwork(text, tuple(links), seed, knowledge)
            return nullcontext(_Simulation(several, seed))
        [link] = links
        router = SimulatedRouter(text, link, seed, knowledge=knowledge)
        return nullcontext(_Simulation(router, seed))

    def left_alone(self, scenario: Scenario, seed: int, probe_interval_s: float) -> Result:
        """The outcome of the same simulation that nobody touches."""
        from vermilion import simulate

        return simulate.run(scenario, seed=seed, probe_interval_s=probe_interval_s)


class _Simulation:
    """One simulation under control."""

    def __init__(self, router: SimulatedRouter | SimulatedNetwork, seed: int) -> None:
        self.router = router
        self._seed = seed

    def result(self, probe_interval_s: float) -> Result:  # noqa: ARG002 - told at the beginning
        """What the simulation has measured up to now."""
        from vermilion import _core
        from vermilion.simulate.result import result_of

        text, series = self.router.result()
        return result_of(text, seed=self._seed, version=_core.VERSION, timing={}, series=series)
