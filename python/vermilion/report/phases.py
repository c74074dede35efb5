"""What both networks did in each phase of an on-line run, over all seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vermilion.objectives import FlowsObjective, LinkObjective, NotMeasuredError, flow_windows
from vermilion.objectives.published_queue_variance import PublishedQueueVariance
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.scenario.round_trips import in_words
from vermilion.simulate.statistics import Interval, RatioInterval, mean_interval, ratio_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.online.record.entries import OnlineRun
    from vermilion.simulate import Result


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
        of_flows: the flows whose windows it reads; "" for those of the link.
    """

    name: str
    heading: str
    unit: str
    scale: float
    value: Callable[[Mapping[str, Any]], float]
    of_flows: str = ""

    def windows(self, result: Result, link: str) -> Sequence[Mapping[str, Any]]:
        """The phases of a run, as this metric reads them."""
        if self.of_flows:
            return flow_windows(result, self.of_flows)
        return result.link(link).phases


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
        gain: the goal's value in the untouched network over that in the tuned one, paired by seed.
    """

    number: int
    start_s: float
    end_s: float
    traffic: str
    standard: Mapping[str, Interval | None]
    tuned: Mapping[str, Interval | None]
    gain: RatioInterval | None


def goal_of(run: OnlineRun) -> Metric:
    """The column of what the operator wants."""
    objective = run.objective
    if isinstance(objective, QueueDeviation):
        return Metric("goal", "Deviation", "packets²", 1, objective.value)
    name = objective.label
    heading = f"{name[:1].upper()}{name[1:]}"
    if isinstance(objective, LinkObjective):
        return Metric("goal", heading, objective.unit, 1, objective.value)
    if isinstance(objective, FlowsObjective):
        mega = objective.unit == "bit/s"
        unit, scale = ("Mbit/s", 1e-6) if mega else (objective.unit, 1)
        return Metric("goal", heading, unit, scale, objective.value, of_flows=objective.flows)

    def unknown(window: Mapping[str, Any]) -> float:  # noqa: ARG001 - of a whole run only
        message = f"{name} is not measured phase by phase"
        raise NotMeasuredError(message)

    return Metric("goal", heading, objective.unit, 1, unknown)


def metrics(run: OnlineRun) -> tuple[Metric, ...]:
    """The table's columns: the goal, and what tells how the queue fares under it."""

    def of_queue(statistic: str) -> Callable[[Mapping[str, Any]], float]:
        return lambda window: window["queue_packets"][statistic]

    published: tuple[Metric, ...] = ()
    if run.target_packets is not None:
        equation = PublishedQueueVariance(run.link, run.target_packets)
        published = (Metric("published", "Equation (1)", "packets²", 1, equation.value),)

    return (
        Metric("utilization", "Utilisation", "%", 100, lambda window: window["utilization"]),
        Metric("mean", "Mean queue", "packets", 1, of_queue("mean")),
        Metric("sd", "Queue, sd", "packets", 1, of_queue("sd")),
        Metric("p95", "Queue, 95th percentile", "packets", 1, of_queue("p95")),
        goal_of(run),
        *published,
        Metric("drop_rate", "Drop rate", "%", 100, lambda window: window["drop_rate"]),
    )


def phases_of(runs: Sequence[OnlineRun]) -> tuple[Phase, ...]:
    """The phases of a scenario that was run with several seeds.

    Args:
        runs: the same scenario under different seeds; at least one. Its phases follow from
            the scenario alone, so they are the same for every seed and both networks.
    """
    first = runs[0]
    columns = metrics(first)

    def over_seeds(column: Metric, results: Sequence[Result], index: int) -> list[float] | None:
        windows = [column.windows(result, first.link) for result in results]
        try:
            return [column.value(each[index]) for each in windows]
        except (KeyError, IndexError, NotMeasuredError):
            return None

    phases = []
    standard, tuned = [run.reference for run in runs], [run.tuned for run in runs]
    for index, window in enumerate(first.reference.link(first.link).phases):
        before = {column.name: over_seeds(column, standard, index) for column in columns}
        after = {column.name: over_seeds(column, tuned, index) for column in columns}
        phases.append(
            Phase(
                number=index + 1,
                start_s=window["start_s"],
                end_s=window["end_s"],
                traffic=traffic_of(first, index),
                standard={name: _interval(values) for name, values in before.items()},
                tuned={name: _interval(values) for name, values in after.items()},
                gain=_gain(before["goal"], after["goal"]),
            )
        )
    return tuple(phases)


def _interval(values: Sequence[float] | None) -> Interval | None:
    return None if values is None else mean_interval(values)


def _gain(before: Sequence[float] | None, after: Sequence[float] | None) -> RatioInterval | None:
    """The goal's value left alone over that kept tuned, paired by seed."""
    if before is None or after is None:
        return None
    return ratio_interval(zip(before, after, strict=True))


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
