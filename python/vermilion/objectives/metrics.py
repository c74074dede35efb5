"""Metrics by their paths: ``links.bottleneck.sojourn_ms.p99``, ``flows.*.jain_index``.

What a path may name is what a run measures (docs/metrics.md). Both constraints and objectives
are said in these paths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

from vermilion.objectives.noticeable import of_metric
from vermilion.objectives.windows import flow_windows, is_idle, link_windows, matching
from vermilion.scenario.errors import FieldError, did_you_mean
from vermilion.scenario.quantities import PACKETS, RATE, RATIO, SIZE, TIME, Dimension
from vermilion.simulate.metric import metric_of
from vermilion.simulate.result_data import WITH_FLOW_DELAYS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives.noticeable import Noticeable
    from vermilion.objectives.windows import Over, Window
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

_IN_PER_CENT: Final = {
    "utilization", "drop_rate", "mark_rate", "loss_rate", "packet_loss_rate", "slowest_share",
}  # fmt: skip


def format_metric(path: MetricPath, value: float, half_width: float | None = None) -> str:
    """A metric's value with its unit.

    Args:
        path: of the metric.
        value: in the metric's own unit.
        half_width: of its interval, likewise; ``None`` where there is none.
    """
    factor, unit = _shown_unit(path)
    text = f"{factor * value:.4g}"
    if half_width is not None:
        text += f" +- {factor * half_width:.2g}"
    return f"{text} {unit}".rstrip()


def _shown_unit(path: MetricPath) -> tuple[float, str]:
    """The factor from the metric's own unit to the one that is shown, and that unit."""
    if path.metric in _IN_PER_CENT:
        return 100.0, "%"
    if path.dimension is RATE:
        return 1e-6, "Mbit/s"
    if path.dimension is TIME and path.unit != "ms":
        return 1.0, "s"
    return 1.0, path.unit


_STATISTICS: Final = ("mean", "sd", "p5", "p50", "p95", "p99", "max")


def _statistics_of(
    distributions: Mapping[str, Dimension], statistics: tuple[str, ...] = _STATISTICS
) -> dict[str, Dimension]:
    return {
        f"{name}.{statistic}": dimension
        for name, dimension in distributions.items()
        for statistic in statistics
    }


METRICS: Final[Mapping[str, Dimension]] = {
    "utilization": RATIO,
    "drop_rate": RATIO,
    "mark_rate": RATIO,
    "loss_rate": RATIO,
    "packets_forwarded": PACKETS,
    "arrivals": PACKETS,
    "drops": PACKETS,
    "marks": PACKETS,
    "losses": PACKETS,
    **_statistics_of(
        {
            "queue_packets": PACKETS,
            "average_queue_packets": PACKETS,
            "queue_bytes": SIZE,
            "sojourn_ms": TIME,
        }
    ),
}
"""The metrics of a link, each with the kind of quantity that its bound is."""

FLOW_METRICS: Final[Mapping[str, Dimension]] = {
    **_statistics_of({"goodput_bit_per_s": RATE}, ("total", "mean", "sd", "min", "max")),
    "jain_index": RATIO,
    "goodput_cov": RATIO,
    "slowest_share": RATIO,
    "starved": RATIO,
    "timeouts": RATIO,
    "retransmissions": RATIO,
    "transfers_begun": RATIO,
    "completed": RATIO,
    **_statistics_of({"completion_time_s": TIME}, (*_STATISTICS, "min")),
    **_statistics_of({"delay_ms": TIME}),
    "jitter_ms": TIME,
    "packets_sent": PACKETS,
    "packets_delivered": PACKETS,
    "packets_lost": PACKETS,
    "packet_loss_rate": RATIO,
    **_statistics_of({"losses_in_a_row": RATIO}, ("mean", "max")),
}
"""The metrics of flows, likewise."""

_HIGHER_IS_BETTER: Final = {
    "utilization", "packets_forwarded", "goodput_bit_per_s.total", "goodput_bit_per_s.mean",
    "goodput_bit_per_s.min", "jain_index", "slowest_share", "completed",
    "packets_delivered",
}  # fmt: skip
_FORM: Final = re.compile(r"(?P<room>links|flows)\.(?P<name>[^.\s<>=]+)\.(?P<metric>[^\s<>=]+)")
ACCEPTED_PATH: Final = (
    'a metric, "links.NAME.METRIC" or "flows.GROUP.METRIC", like "links.bottleneck.sojourn_ms.p99" '
    'or "flows.*.jain_index"'
)


class _HasPath(Protocol):
    @property
    def path(self) -> MetricPath:
        """The metric."""


@dataclass(frozen=True, slots=True)
class MetricPath:
    """One metric of a link, of a group of flows, or of the flows of several groups together.

    Attributes:
        room: "links" or "flows".
        name: of the link or the group; in a group's name ``*`` stands for any letters.
        metric: dotted, like ``queue_packets.p95``.
    """

    room: Literal["links", "flows"]
    name: str
    metric: str

    def __str__(self) -> str:
        return f"{self.room}.{self.name}.{self.metric}"

    @classmethod
    def parse(cls, text: object, scenario: Scenario | None = None) -> MetricPath:
        """Read a path.

        Args:
            text: as written.
            scenario: to which the link or the flows must belong; unchecked if not given.

        Raises:
            FieldError: the text is no path, or names what does not exist.
        """
        form = _FORM.fullmatch(text.strip()) if isinstance(text, str) else None
        if form is None:
            raise FieldError("", text, ACCEPTED_PATH)
        name, metric = form["name"], form["metric"]
        if form["room"] == "links":
            if scenario is not None and name not in scenario.links:
                accepted = f"a link of this scenario, {did_you_mean(name, scenario.links)}"
                raise FieldError("", text, accepted)
            known, path = METRICS, cls("links", name, metric)
        else:
            if scenario is not None and not matching(name, scenario.flows):
                accepted = f"flows of this scenario, {did_you_mean(name, scenario.flows)}, or *"
                raise FieldError("", text, accepted)
            known, path = FLOW_METRICS, cls("flows", name, metric)
        if metric not in known:
            raise FieldError("", text, f"a metric, {did_you_mean(metric, known)}")
        return path

    @property
    def dimension(self) -> Dimension:
        """Kind of quantity that the metric is."""
        return (METRICS if self.room == "links" else FLOW_METRICS)[self.metric]

    @property
    def scale(self) -> float:
        """Units of the metric per unit of its dimension: 1000 for milliseconds."""
        return 1e3 if self._in_milliseconds else 1.0

    @property
    def unit(self) -> str:
        """Unit of the metric, "" where it has none."""
        return "ms" if self._in_milliseconds else self.dimension.unit

    @property
    def _in_milliseconds(self) -> bool:
        return self._key.endswith("_ms")

    @property
    def _key(self) -> str:
        """Key of the quantity of which the metric is a statistic, if it is one."""
        return self.metric.partition(".")[0]

    @property
    def needs_flow_delays(self) -> bool:
        """True if a run measures it only with ``flow_delays``."""
        return self.room == "flows" and self._key in WITH_FLOW_DELAYS

    @property
    def noticed(self) -> Noticeable:
        """Smallest noticeable difference of the metric, in its unit."""
        return of_metric(self.metric)

    @property
    def higher_is_better(self) -> bool:
        """True if high values are better, unless a user says otherwise."""
        return self.metric in _HIGHER_IS_BETTER

    def windows(self, result: Result, over: Over = "phases") -> Sequence[Window]:
        """The windows of a run that this metric is of."""
        if self.room == "links":
            return link_windows(result, self.name, over)
        return flow_windows(result, self.name, over)

    def is_idle(self, window: Window) -> bool:
        """Return whether no flow was active in a window, for a metric of flows."""
        return self.room == "flows" and is_idle(window)

    def value(self, window: Mapping[str, object]) -> float | None:
        """The metric in a window; ``None`` where it could not be computed."""
        return metric_of(window, self.metric)


class UnitOfMetric:
    """The unit of an objective that is some metric: of the object its ``path`` has it.

    Of the class it is what a table of objectives says.
    """

    def __get__(self, objective: _HasPath | None, owner: type | None = None) -> str:
        """The unit, "" for a plain number."""
        return "the metric's" if objective is None else objective.path.unit


STEADY_QUEUE: Final = "links.{link}.queue_packets.sd <= 1 of reference"
"""Constraint, with ``{link}`` for the link."""

_DISCIPLINE_METRIC: Final = "average_queue_packets"


def guards_of(path: MetricPath) -> tuple[str, ...]:
    """The constraints without which a metric could be gamed; of most there is none."""
    own = path.room == "links" and path.metric.partition(".")[0] == _DISCIPLINE_METRIC
    return (STEADY_QUEUE.format(link=path.name),) if own else ()
