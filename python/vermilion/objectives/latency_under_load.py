"""Delay, jitter or loss of the packets of chosen flows while others load the network.

Of the packets of a group, all the way through the network and not at one link. Percentiles and
jitter are known of a single group only, not of several together, so one group has to be named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from vermilion.objectives.fields import FLOWS, LATENCY, PERCENTILE
from vermilion.objectives.interface import FlowsObjective, measured
from vermilion.objectives.metrics import MetricPath, UnitOfMetric
from vermilion.objectives.noticeable import KnowsRoundTrip, Noticeable

if TYPE_CHECKING:
    from vermilion.objectives.windows import FlowsWindow


@dataclass(frozen=True)
class LatencyUnderLoad(KnowsRoundTrip, FlowsObjective):
    """Delay or jitter of a group's packets, ms, or the share of them that is lost, 0 to 1.

    Attributes:
        flows: the group.
        what: "delay", "jitter" or "loss".
        percentile: of the delay: "p5", "p50", "p95" or "p99"; a table has the number alone.
    """

    name: ClassVar[str] = "latency-under-load"
    summary: ClassVar[str] = "delay, jitter or loss of the packets of one group of flows"
    unit: ClassVar[str] = cast("str", UnitOfMetric())
    noticeable: ClassVar[float] = 1.0

    flows: str = field(metadata=FLOWS)
    what: Literal["delay", "jitter", "loss"] = field(default="delay", metadata=LATENCY)
    percentile: str = field(default="p95", metadata=PERCENTILE)

    @property
    def path(self) -> MetricPath:
        """The metric that it is."""
        metrics = {
            "delay": f"delay_ms.{self.percentile}",
            "jitter": "jitter_ms",
            "loss": "packet_loss_rate",
        }
        return MetricPath("flows", self.flows, metrics[self.what])

    @property
    def paths(self) -> tuple[MetricPath, ...]:
        """The same."""
        return (self.path,)

    @property
    def label(self) -> str:
        """Name with the group and the metric, like "latency-under-load web delay_ms.p95"."""
        return f"{self.name} {self.flows} {self.path.metric}"

    @property
    def noticed(self) -> Noticeable:
        """Smallest noticeable difference of the metric."""
        return self.path.noticed.with_round_trip(self.shortest_round_trip_s)

    def value(self, window: FlowsWindow) -> float:
        """The number over the window, ms or 0 to 1."""
        return measured(self.label, window, *self.path.metric.split("."))
