"""Phases and events of on-line runs, and how soon the controller responded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vermilion.objectives import (
    FlowsObjective,
    LinkObjective,
    NotMeasuredError,
    flow_windows,
)
from vermilion.objectives.published_queue_variance import PublishedQueueVariance
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.scenario.round_trips import format_round_trips
from vermilion.simulate.statistics import Interval, RatioInterval, mean_interval, ratio_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.online.entries import Decision, OnlineRun
    from vermilion.simulate import Result
    from vermilion.simulate.result_data import LinkMetrics

DETECTED = "change-detected"
APPLIED = "applied"
ROLLED_BACK = "rolled-back"


@dataclass(frozen=True, slots=True)
class Events:
    """Times of detections, changes and rollbacks, seconds of the network's time.

    Attributes:
        detected: the controller noticed that conditions had changed.
        applied: new parameters came into force.
        rolled_back: the earlier parameters came back into force.
    """

    detected: tuple[float, ...]
    applied: tuple[float, ...]
    rolled_back: tuple[float, ...]


def events_of(run: OnlineRun) -> Events:
    """The events among a run's decisions."""
    return Events(
        detected=_times(run.decisions, DETECTED),
        applied=_times(run.decisions, APPLIED),
        rolled_back=_times(run.decisions, ROLLED_BACK),
    )


def _times(decisions: tuple[Decision, ...], kind: str) -> tuple[float, ...]:
    return tuple(decision.time_s for decision in decisions if decision.kind == kind)


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of the table.

    Attributes:
        name: how the page refers to it.
        heading: its name over the column.
        unit: its unit, under the name.
        scale: from the stored number to the unit: 100 for per cent.
        values: reads it from a result, phase by phase; raises ``KeyError`` or
            ``NotMeasuredError`` where it cannot be computed.
    """

    name: str
    heading: str
    unit: str
    scale: float
    values: Callable[[Result], list[float]]


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
    """Column of the operator's goal."""
    objective = run.objective
    name = objective.label
    heading = f"{name[:1].upper()}{name[1:]}"
    if isinstance(objective, QueueDeviation):
        return _link_metric(run, "goal", "Deviation", "packets²", objective.value)
    if isinstance(objective, LinkObjective):
        return _link_metric(run, "goal", heading, objective.unit, objective.value)
    if isinstance(objective, FlowsObjective):
        unit, scale = ("Mbit/s", 1e-6) if objective.unit == "bit/s" else (objective.unit, 1)

        def of_flows(result: Result) -> list[float]:
            return [objective.value(window) for window in flow_windows(result, objective.flows)]

        return Metric("goal", heading, unit, scale, of_flows)

    def unknown(result: Result) -> list[float]:  # noqa: ARG001 - of a whole run only
        message = f"{name} is not measured phase by phase"
        raise NotMeasuredError(message)

    return Metric("goal", heading, objective.unit, 1, unknown)


def metrics(run: OnlineRun) -> tuple[Metric, ...]:
    """Columns of the table: the goal, and metrics of the queue under it."""

    def of_queue(statistic: Literal["mean", "sd", "p95"]) -> Callable[[LinkMetrics], float]:
        return lambda window: window["queue_packets"][statistic]

    published: tuple[Metric, ...] = ()
    if run.target_packets is not None:
        equation = PublishedQueueVariance(run.link, run.target_packets)
        published = (
            _link_metric(run, "published", "Deviation of its average", "packets²", equation.value),
        )
    return (
        _link_metric(run, "utilization", "Utilisation", "%", lambda w: w["utilization"], 100),
        _link_metric(run, "mean", "Mean queue", "packets", of_queue("mean")),
        _link_metric(run, "sd", "Queue, sd", "packets", of_queue("sd")),
        _link_metric(run, "p95", "Queue, 95th percentile", "packets", of_queue("p95")),
        goal_of(run),
        *published,
        _link_metric(run, "drop_rate", "Drop rate", "%", lambda w: w["drop_rate"], 100),
    )


def _link_metric(
    run: OnlineRun,
    name: str,
    heading: str,
    unit: str,
    value: Callable[[LinkMetrics], float],
    scale: float = 1,
) -> Metric:
    """A metric of the link under control."""
    return Metric(
        name, heading, unit, scale, lambda result: [value(w) for w in result.link(run.link).phases]
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
        try:
            return [column.values(result)[index] for result in results]
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
    """Ratio of the goal's value left alone to that kept tuned, paired by seed."""
    if before is None or after is None:
        return None
    return ratio_interval(zip(before, after, strict=True))


def traffic_of(run: OnlineRun, index: int) -> str:
    """Describe the flows active in one phase, grouped by round trip."""
    counts: dict[str, int] = {}
    for name, group in run.scenario.flows.items():
        active = run.reference.flows(name).phases[index]["flows"]
        if active:
            trips = "" if group.rtt is None else f" of {format_round_trips(group.rtt)}"
            counts[trips] = counts.get(trips, 0) + active
    parts = (
        f"{count} {'flow' if count == 1 else 'flows'}{trips}".replace(" ms", "\N{NO-BREAK SPACE}ms")
        for trips, count in counts.items()
    )
    return ", ".join(parts) or "no flows"


@dataclass(frozen=True, slots=True)
class ResponseTimes:
    """The controller's answer to one change, over all seeds.

    Attributes:
        at_s: when the change began, in seconds.
        detected: seconds from then until it was noticed; ``None`` if it never was.
        applied: seconds from then until a new setting was in force, likewise.
    """

    at_s: float
    detected: Interval | None
    applied: Interval | None


def responses_of(runs: Sequence[OnlineRun]) -> tuple[ResponseTimes, ...]:
    """One entry per change of the scenario, answered before the next change or not at all."""
    instants = [instant / 1e9 for instant in runs[0].scenario.core().instants()]
    ends = [*instants[1:], float("inf")][: len(instants)]
    events = [events_of(run) for run in runs]
    return tuple(
        ResponseTimes(
            begin,
            _delays([each.detected for each in events], begin, end),
            _delays([each.applied for each in events], begin, end),
        )
        for begin, end in zip(instants, ends, strict=True)
    )


def _delays(times_by_run: Sequence[tuple[float, ...]], begin: float, end: float) -> Interval | None:
    """Delay from a change to the first event after it, over the runs that had one."""
    delays = [
        min(after) - begin
        for times in times_by_run
        if (after := [time for time in times if begin <= time < end])
    ]
    return mean_interval(delays) if delays else None
