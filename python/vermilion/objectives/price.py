"""The price of a setting: what stands beside the objective wherever settings are compared.

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
"""What is shown, in this order; what a run has not measured is left out."""


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
    """The price over several seeds, what every run has measured.

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
