"""Price of a setting: metrics shown beside the objective wherever settings are compared.

An objective is one number, and a search pleases it at the cost of all others. A queue that never
leaves its target may starve flows, a short one may drop a third of what arrives. So every
comparison also shows what the flows get, how fairly, what is dropped and marked, and how long
packets wait, whatever was minimised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.objectives.interface import WindowObjective
from vermilion.objectives.windows import flow_windows, is_idle, link_windows, weighted_mean
from vermilion.simulate.metric import metric_of
from vermilion.simulate.statistics import mean_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives.interface import Objective
    from vermilion.objectives.windows import Over, Window
    from vermilion.simulate import Result
    from vermilion.simulate.statistics import Interval


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One number of the price.

    Attributes:
        metric: its name, as in docs/metrics.md.
        label: what a table calls it.
        unit: in which a table shows it, "" for a plain number.
        factor: from the metric's unit to that.
        decimals: of the number in a table.
        of_flows: whether it is of all flows together, and not of the link.
    """

    metric: str
    label: str
    unit: str = ""
    factor: float = 1.0
    decimals: int = 3
    of_flows: bool = False

    @property
    def heading(self) -> str:
        """The label with the unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


PRICE: Final[tuple[PriceRow, ...]] = (
    PriceRow("goodput_bit_per_s.total", "goodput", "Mbit/s", 1e-6, of_flows=True),
    PriceRow("utilization", "utilisation", "%", 100.0, 2),
    PriceRow("sojourn_ms.p50", "queueing delay, median", "ms", 1.0, 2),
    PriceRow("sojourn_ms.p95", "queueing delay, 95th percentile", "ms", 1.0, 2),
    PriceRow("sojourn_ms.p99", "queueing delay, 99th percentile", "ms", 1.0, 2),
    PriceRow("drop_rate", "packets dropped", "%", 100.0, 2),
    PriceRow("mark_rate", "packets marked", "%", 100.0, 2),
    PriceRow("jain_index", "Jain's fairness index", of_flows=True),
    PriceRow("slowest_share", "slowest flow, of the mean", of_flows=True),
    PriceRow("starved", "starved flows", decimals=1, of_flows=True),
    PriceRow("queue_packets.mean", "queue, mean", "packets", 1.0, 1),
    PriceRow("queue_packets.sd", "queue, standard deviation", "packets", 1.0, 1),
    PriceRow("queue_packets.p95", "queue, 95th percentile", "packets", 1.0, 1),
)
"""Metrics of the price, in this order; those that a run has not measured are left out."""


def over_of(objective: Objective) -> Over:
    """The windows that an objective looks at, for the price beside it."""
    return objective.over if isinstance(objective, WindowObjective) else "phases"


def price_of(result: Result, link: str, over: Over = "phases") -> dict[str, float]:
    """The price of a run, by metric: means over the phases weighted by their durations.

    Args:
        result: of the run.
        link: whose queue is tuned.
        over: the phases, or the whole run after the warm-up.
    """
    windows: Mapping[bool, Sequence[Window]] = {
        False: link_windows(result, link, over),
        True: [each for each in flow_windows(result, over=over) if not is_idle(each)],
    }
    found = {}
    for row in PRICE:
        values = [metric_of(window, row.metric) for window in windows[row.of_flows]]
        known = [value for value in values if value is not None]
        if known and len(known) == len(values):
            found[row.metric] = weighted_mean(known, windows[row.of_flows])
    return found


def price_intervals(
    results: Sequence[Result], link: str, over: Over = "phases"
) -> dict[str, Interval]:
    """Intervals of the price over several seeds, for metrics that every run has.

    Args:
        results: of the runs.
        link: whose queue is tuned.
        over: the phases, or the whole run after the warm-up.
    """
    prices = [price_of(result, link, over) for result in results]
    return {
        row.metric: mean_interval(price[row.metric] for price in prices)
        for row in PRICE
        if prices and all(row.metric in price for price in prices)
    }


_DELAY: Final = {"mean": "mean", "p50": "median", "p95": "p95", "p99": "p99", "max": "longest"}
_QUEUE: Final = {"mean": "mean", "p95": "p95", "max": "longest"}

METRIC_WORDS: Final = {
    "utilization": "utilisation",
    "drop_rate": "dropped",
    "mark_rate": "marked",
    "goodput_bit_per_s.total": "goodput",
    "jain_index": "fairness (Jain)",
    "slowest_share": "slowest flow, of the mean",
    "starved": "starved flows",
    **{f"sojourn_ms.{key}": f"{word} queueing delay" for key, word in _DELAY.items()},
    "queue_packets.sd": "standard deviation of the queue",
    **{f"queue_packets.{key}": f"{word} queue" for key, word in _QUEUE.items()},
}
"""Short heading of a metric, by its name in docs/metrics.md."""

_UNITS: Final = {row.metric: (row.unit, row.factor) for row in PRICE}


@dataclass(frozen=True, slots=True)
class ShownObjective:
    """An objective as a table or a figure shows it.

    Attributes:
        name: what it is called.
        unit: of its values, "" for a plain number.
        factor: from the objective's own unit to that.
    """

    name: str
    unit: str
    factor: float


def shown_objective(label: str, unit: str) -> ShownObjective:
    """Name, unit and factor by which an objective is shown.

    Args:
        label: its name, or a path like ``links.bottleneck.sojourn_ms.mean``.
        unit: its own.

    >>> shown_objective("links.bottleneck.utilization", "")
    ShownObjective(name='utilisation', unit='%', factor=100.0)
    >>> shown_objective("queue-deviation", "packets^2")
    ShownObjective(name='queue-deviation', unit='packets^2', factor=1.0)
    """
    room, _, rest = label.partition(".")
    metric = rest.partition(".")[2]
    if room not in {"links", "flows"} or metric not in METRIC_WORDS:
        return ShownObjective(label, unit, 1.0)
    shown, factor = _UNITS.get(metric, (unit, 1.0))
    return ShownObjective(METRIC_WORDS[metric], shown, factor)


def shown_objectives(labels: tuple[str, ...], units: tuple[str, ...]) -> list[ShownObjective]:
    """Name several objectives beside each other: by their paths if names are the same."""
    shown = [shown_objective(*each) for each in zip(labels, units, strict=True)]
    if len({each.name for each in shown}) == len(shown):
        return shown
    return [
        ShownObjective(label, each.unit, each.factor)
        for label, each in zip(labels, shown, strict=True)
    ]
