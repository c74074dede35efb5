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

    Nearest = Callable[[Mapping[str, ParameterValue]], dict[str, ParameterValue]]
    """The values that the router has nearest to those that are wanted."""


class OperatedQueue(ManagedQueue):
    """Another queue, with what a controller may not do to it refused, and its steps kept to.

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
        nearest: Nearest = dict,
        on_observation: Callable[[Observation], object] = lambda _: None,
    ) -> None:
        """Prepare.

        Args:
            queue: the queue itself.
            configuration: the link as the operator knows it.
            may_change: whether anything may ever be changed.
            nearest: what the router can be set to, near to what is wanted.
            on_observation: told of everything that is seen.
        """
        self._queue = queue
        self._configuration = configuration
        self._may_change = may_change
        self._nearest = nearest
        self._on_observation = on_observation
        self.push_price = queue.push_price
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
        """Put parameters in force, each at the nearest value that the router has.

        Raises:
            RouterError: nothing may be changed, or the router refused.
        """
        if not self._may_change:
            message = "the queue is only observed; nothing is sent to it"
            raise RouterError(message)
        self._queue.apply(self._nearest(parameters))

    def wait(self, until_s: float) -> None:
        """Return when the network's time has reached ``until_s``."""
        self._queue.wait(until_s)
