"""A real queue as an operator hands it over: perhaps only to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.routers.base import ManagedQueue, RouterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vermilion.routers.base import (
        FlowTraffic,
        LinkConfiguration,
        Observation,
        ParameterValue,
        Reading,
        RttSamples,
    )


class OperatedQueue(ManagedQueue):
    """Another queue, with what a controller may not do to it refused.

    The controller itself changes nothing in mode "observe". This is the second lock: whatever
    mistake is made above, nothing reaches the router.
    """

    kind = "operated"

    def __init__(
        self,
        queue: ManagedQueue,
        configuration: LinkConfiguration,
        *,
        may_change: bool,
        on_observation: Callable[[Observation], object] = lambda _: None,
    ) -> None:
        """Prepare.

        Args:
            queue: the queue itself.
            configuration: the link as the operator knows it.
            may_change: whether anything may ever be changed.
            on_observation: told of everything that is seen.
        """
        self._queue = queue
        self._configuration = configuration
        self._may_change = may_change
        self._on_observation = on_observation
        self.push_price = queue.push_price
        self.held = queue.held
        self.reading_interval_s = queue.reading_interval_s

    @property
    def configuration(self) -> LinkConfiguration:
        """The link as the operator knows it."""
        return self._configuration

    def read(self) -> Reading:
        """The counters now."""
        return self._queue.read()

    def active_flows(self) -> int | None:
        """The number of flows, where somebody counts them."""
        return self._queue.active_flows()

    def rtt_samples(self) -> RttSamples | None:
        """The round-trip samples since the last call, where somebody takes any."""
        return self._queue.rtt_samples()

    def flow_traffic(self) -> FlowTraffic | None:
        """What each flow sent since the last call, where somebody looks at packets."""
        return self._queue.flow_traffic()

    def observe(self) -> Observation:
        """Everything that is seen now."""
        seen = self._queue.observe()
        self._on_observation(seen)
        return seen

    def parameters(self) -> dict[str, ParameterValue]:
        """Every discipline parameter now in force."""
        return self._queue.parameters()

    def apply(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Put parameters in force.

        Raises:
            RouterError: nothing may be changed, or the router refused.
        """
        if not self._may_change:
            message = "the queue is only observed; nothing is sent to it"
            raise RouterError(message)
        self._queue.apply(parameters)

    def wait(self, until_s: float) -> None:
        """Return when the network's time has reached ``until_s``."""
        self._queue.wait(until_s)
