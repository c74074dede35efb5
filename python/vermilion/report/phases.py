"""What both networks did in each phase of an on-line run, over all seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vermilion.objectives import NotMeasuredError
from vermilion.objectives.published_queue_variance import PublishedQueueVariance
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.scenario.round_trips import in_words
from vermilion.simulate.statistics import Interval, RatioInterval, mean_interval, ratio_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.online.record import OnlineRun
    from vermilion.simulate.result_data import LinkMetrics


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of the table.

    Attributes:
        name: how the page refers to it.
        heading: its name over the column.
        unit: its unit, under the name.
        scale: from the stored number to the unit: 100 for per cent.
        value: reads it from a window; raises ``KeyError`` or ``NotMeasuredError``
            where it cannot be computed.
    """

    name: str
    heading: str
    unit: str
    scale: float
    value: Callable[[LinkMetrics], float]


@dataclass(frozen=True, slots=True)
class Phase:
    """One measured stretch of a scenario.

    Attributes:
        number: counts from 1.
        start_s: where measurement began, in seconds.
        end_s: where it ended.
        traffic: the flows then active, in words.
        standard: each metric of the untouched network, over seeds; ``None`` if absent.
        tuned: the same of the network kept tuned.
        gain: the instantaneous deviation of the untouched network over that of the tuned
            one, paired by seed.
    """

    number: int
    start_s: float
    end_s: float
    traffic: str
    standard: Mapping[str, Interval | None]
    tuned: Mapping[str, Interval | None]
    gain: RatioInterval | None


def metrics(link: str, target_packets: float) -> tuple[Metric, ...]:
    """The table's columns, for a link whose queue should be so many packets."""
    deviation = QueueDeviation(link, target_packets)
    published = PublishedQueueVariance(link, target_packets)

    def of_queue(statistic: Literal["mean", "sd", "p95"]) -> Callable[[LinkMetrics], float]:
        return lambda window: window["queue_packets"][statistic]

    return (
        Metric("utilization", "Utilisation", "%", 100, lambda window: window["utilization"]),
        Metric("mean", "Mean queue", "packets", 1, of_queue("mean")),
        Metric("sd", "Queue, sd", "packets", 1, of_queue("sd")),
        Metric("p95", "Queue, 95th percentile", "packets", 1, of_queue("p95")),
        Metric("deviation", "Deviation", "packets²", 1, deviation.value),
        Metric("published", "Equation (1)", "packets²", 1, published.value),
        Metric("drop_rate", "Drop rate", "%", 100, lambda window: window["drop_rate"]),
    )


def phases_of(runs: Sequence[OnlineRun]) -> tuple[Phase, ...]:
    """The phases of a scenario that was run with several seeds.

    Args:
        runs: the same scenario under different seeds; at least one. Its phases follow from
            the scenario alone, so they are the same for every seed and both networks.
    """
    first = runs[0]
    columns = metrics(first.link, first.target_packets)
    deviation = next(column for column in columns if column.name == "deviation")
    standard = [run.reference.link(run.link).phases for run in runs]
    tuned = [run.tuned.link(run.link).phases for run in runs]

    phases = []
    for index, window in enumerate(standard[0]):
        untouched = [windows[index] for windows in standard]
        kept_tuned = [windows[index] for windows in tuned]
        phases.append(
            Phase(
                number=index + 1,
                start_s=window["start_s"],
                end_s=window["end_s"],
                traffic=traffic_of(first, index),
                standard={column.name: _over_seeds(column, untouched) for column in columns},
                tuned={column.name: _over_seeds(column, kept_tuned) for column in columns},
                gain=ratio_interval(
                    (deviation.value(before), deviation.value(after))
                    for before, after in zip(untouched, kept_tuned, strict=True)
                ),
            )
        )
    return tuple(phases)


def _over_seeds(column: Metric, windows: Sequence[LinkMetrics]) -> Interval | None:
    try:
        values = [column.value(window) for window in windows]
    except (KeyError, NotMeasuredError):
        return None
    return mean_interval(values)


def traffic_of(run: OnlineRun, index: int) -> str:
    """The flows active in one phase, in words, those of the same round trip together."""
    counts: dict[str, int] = {}
    for name, group in run.scenario.flows.items():
        active = run.reference.flows(name).phases[index]["flows"]
        if active:
            trips = "" if group.rtt is None else f" of {in_words(group.rtt)}"
            counts[trips] = counts.get(trips, 0) + active
    parts = (
        f"{count} {'flow' if count == 1 else 'flows'}{trips}".replace(" ms", "\N{NO-BREAK SPACE}ms")
        for trips, count in counts.items()
    )
    return ", ".join(parts) or "no flows"
