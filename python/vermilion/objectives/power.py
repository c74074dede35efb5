"""Power: goodput per delay, one number for the bargain between the two.

A. Giessler, J. Hänle, A. König, E. Pade, "Free buffer allocation - an investigation by
simulation", Computer Networks 2, 1978; L. Kleinrock, "Power and deterministic rules of thumb for
probabilistic problems in computer communications", ICC 1979: throughput over response time. The
response time is the delay without queue, which no queue can do anything about, plus the mean
queueing delay. Without the former, an empty queue would have infinite power at any throughput.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from vermilion.objectives.fields import BASE_DELAY, FLOWS
from vermilion.objectives.interface import LinkObjective, measured, waiting_ms
from vermilion.objectives.windows import ALL_FLOWS, flow_windows, is_idle, link_windows

if TYPE_CHECKING:
    from vermilion.simulate import Result
    from vermilion.simulate.result_data import LinkMetrics


@dataclass(frozen=True)
class Power(LinkObjective):
    """Goodput of the flows per (base delay + mean queueing delay at the link), bit/s^2; maximised.

    Attributes:
        base_delay: the delay without queue, such as the flows' round trip, s.
        flows: whose goodput; "*" stands for any letters.
    """

    name: ClassVar[str] = "power"
    summary: ClassVar[str] = "goodput per delay at a link; maximised"
    unit: ClassVar[str] = "bit/s^2"
    measures: ClassVar[tuple[str, ...]] = ("sojourn_ms.mean",)
    goal: ClassVar[Literal["minimise", "maximise", "either"]] = "maximise"
    noticeable: ClassVar[float] = 0.0

    base_delay: float = field(metadata=BASE_DELAY)
    flows: str = field(default=ALL_FLOWS, metadata=FLOWS)

    def windows(self, result: Result) -> list[LinkMetrics]:
        """The link's windows in which any of the flows was active, with their metrics."""
        pairs = zip(
            link_windows(result, self.link, self.over),
            flow_windows(result, self.flows, self.over),
            strict=True,
        )
        return [
            cast("LinkMetrics", {**link, **flows}) for link, flows in pairs if not is_idle(flows)
        ]

    def value(self, window: LinkMetrics) -> float:
        """The power in one window, bit/s^2."""
        waiting = waiting_ms(self.name, window, "mean") / 1e3
        goodput = measured(self.name, window, "goodput_bit_per_s", "total")
        return goodput / (self.base_delay + waiting)
