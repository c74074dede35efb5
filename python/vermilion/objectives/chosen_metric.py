"""Any metric by its path: ``{ name = "metric", path = "links.bottleneck.sojourn_ms.p99" }``.

Also what the short form says: ``objective = "minimise links.bottleneck.sojourn_ms.p99"``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from vermilion.objectives.fields import DIRECTION, METRIC
from vermilion.objectives.interface import NotMeasuredError, WindowObjective
from vermilion.objectives.metrics import UnitOfMetric, guards_of
from vermilion.objectives.noticeable import KnowsRoundTrip, Noticeable
from vermilion.objectives.windows import Window

if TYPE_CHECKING:
    from vermilion.objectives.metrics import MetricPath
    from vermilion.simulate import Result


@dataclass(frozen=True)
class ChosenMetric(KnowsRoundTrip, WindowObjective[Window]):
    """A metric of a link or of flows, in the metric's own unit.

    Attributes:
        path: of the metric.
        direction: what is wanted of it; by default what one would want of such a metric: more
            utilisation, goodput or fairness, less of anything else.
    """

    name: ClassVar[str] = "metric"
    summary: ClassVar[str] = "any metric by its path"
    unit: ClassVar[str] = cast("str", UnitOfMetric())
    goal: ClassVar[Literal["minimise", "maximise", "either"]] = "either"
    noticeable: ClassVar[float] = 0.0  # each metric has its own

    path: MetricPath = field(metadata=METRIC)
    direction: Literal["minimise", "maximise"] | None = field(default=None, metadata=DIRECTION)

    @property
    def maximised(self) -> bool:
        """True if high values are better."""
        if self.direction is None:
            return self.path.higher_is_better
        return self.direction == "maximise"

    @property
    def noticed(self) -> Noticeable:
        """Smallest noticeable difference of the metric."""
        return self.path.noticed.with_round_trip(self.shortest_round_trip_s)

    @property
    def label(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def links(self) -> tuple[str, ...]:
        """The link, if the metric is of one."""
        return (self.path.name,) if self.path.room == "links" else ()

    @property
    def paths(self) -> tuple[MetricPath, ...]:
        """The path."""
        return (self.path,)

    @property
    def guarding(self) -> tuple[str, ...]:
        """The guard of a discipline's own average, if the path is of one."""
        return guards_of(self.path)

    def windows(self, result: Result) -> list[Window]:
        """The windows of the link, or those in which any of the flows is active."""
        windows = self.path.windows(result, self.over)
        return [window for window in windows if not self.path.is_idle(window)]

    def value(self, window: Window) -> float:
        """The metric in one window."""
        value = self.path.value(window)
        if value is None:
            message = f"{self.label} was not measured in every phase"
            raise NotMeasuredError(message)
        return value
