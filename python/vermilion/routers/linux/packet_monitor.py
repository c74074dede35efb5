"""A passive monitor on the interface of a queue, as the controller's eyes for its traffic.

It sees **the whole interface**: for a queue below a shaper, the other classes' traffic too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.routers.base import FlowTraffic, RouterError, RttSamples

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vermilion.monitor import InterfaceWatch

_SIBLINGS: Final = 1 << 10
"""Numbers between those of two flows: room for the flows that a sampled one stands for."""


class PacketMonitor:
    """What a watch of the queue's interface knows, in the words of a managed queue.

    Where the watch looks at one flow in so many, each stands for as many: the number of flows is
    multiplied, and so is what each sends. Round trips are those of the flows that are looked at.
    """

    def __init__(self, watch: InterfaceWatch) -> None:
        self._watch = watch
        self._one_in = watch.one_in

    def take_in(self) -> None:
        """Take in what has passed since the last call.

        Raises:
            RouterError: the interface cannot be listened to any more.
        """
        from vermilion.monitor import InterfaceError

        self._one_in = self._watch.one_in  # of what has passed; then it may become another
        try:
            self._watch.take_in()
        except InterfaceError as error:
            raise RouterError(str(error)) from None

    def active_flows(self) -> int | None:
        """The number of flows that have begun and not ended; ``None`` while it is not known."""
        return self._watch.open_flows()

    def rtt_samples(self) -> RttSamples:
        """The round trips since the last call, with the wait in the queue."""
        flows, nanoseconds = self._watch.round_trips()
        return RttSamples(flows * _SIBLINGS, nanoseconds / 1e9)

    def flow_traffic(self) -> FlowTraffic:
        """What each flow sent through the queue since the last call.

        Flows of which only acknowledgements leave have numbers below 0.
        """
        import numpy as np

        sent = self._watch.departing()
        numbers = sent.flow * _SIBLINGS
        flows = np.where(sent.data, numbers, -numbers - 1)
        one_in = self._one_in
        if one_in > 1:
            siblings = np.tile(np.arange(one_in), len(flows))
            flows = np.repeat(flows, one_in) + np.where(
                np.repeat(sent.data, one_in), siblings, -siblings
            )
        return FlowTraffic(
            flows=flows,
            packets=_for_each(sent.packets, one_in),
            bytes=_for_each(sent.bytes, one_in),
            responsive=np.repeat(sent.responsive, one_in),
            selective=np.repeat(sent.selective, one_in),
            ecn_capable=np.repeat(sent.ecn_capable, one_in),
            one_in=one_in,
        )


def _for_each(values: NDArray[np.int64], one_in: int) -> NDArray[np.int64]:
    import numpy as np

    repeated: NDArray[np.int64] = np.repeat(values, one_in)
    return repeated
