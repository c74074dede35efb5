"""Prediction of a setting's measurable metrics by a model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.simulate.statistics import Interval

_MOST_CORRELATED = 0.8


@dataclass(frozen=True, slots=True)
class Outcome:
    """One simulated run of a model under one setting.

    Attributes:
        mean: mean instantaneous queue, packets.
        sd: its standard deviation, packets.
        utilization: share of the link's capacity used, 0 to 1.
        signal_rate: drops and marks per packet that arrived.
        value: of the objective, in its own unit.
        metrics: of every constraint and bound of harm, by its path; ``None`` where it is absent.
    """

    mean: float
    sd: float
    utilization: float
    signal_rate: float
    value: float
    metrics: Mapping[str, float | None] = field(default_factory=dict)

    def deviation(self, target: float) -> float:
        """Mean squared deviation of the instantaneous queue from ``target``, packets squared."""
        return self.sd**2 + (self.mean - target) ** 2


@dataclass(frozen=True, slots=True)
class Prediction:
    """A setting and what happened under it, once per seed.

    Attributes:
        setting: the parameters that differ between settings, in their tables' units.
        outcomes: one per seed; settings compared with each other share their seeds.
    """

    setting: Mapping[str, float]
    outcomes: tuple[Outcome, ...]

    @property
    def mean(self) -> Interval:
        """The mean queue, packets."""
        return _interval([outcome.mean for outcome in self.outcomes])

    @property
    def sd(self) -> Interval:
        """The queue's standard deviation, packets."""
        return _interval([outcome.sd for outcome in self.outcomes])

    @property
    def utilization(self) -> Interval:
        """The share of the capacity used."""
        return _interval([outcome.utilization for outcome in self.outcomes])

    @property
    def value(self) -> Interval:
        """The objective, in its own unit."""
        return _interval([outcome.value for outcome in self.outcomes])

    def metric(self, path: str) -> Interval | None:
        """A constraint's metric; ``None`` where not every run has measured it."""
        values = [outcome.metrics.get(path) for outcome in self.outcomes]
        known = [value for value in values if value is not None]
        return _interval(known) if known and len(known) == len(values) else None

    def deviation(self, target: float) -> Interval:
        """The mean squared deviation from ``target``, packets squared."""
        return _interval([outcome.deviation(target) for outcome in self.outcomes])


def outcome_of(
    result: Result,
    links: Sequence[str],
    goal: Objective,
    constraints: Sequence[Constraint] = (),
) -> Outcome:
    """The outcome that a simulated run measured.

    Args:
        result: of the run.
        links: under control; of several the queues are added up.
        goal: what is minimised or maximised.
        constraints: whose metrics are kept.

    Raises:
        NotMeasuredError: the run lacks what the goal is about.
    """
    totals = [result.link(each).total for each in links]
    queues = [total["queue_packets"] for total in totals]
    signals = [total.get("drop_rate", 0.0) + total.get("mark_rate", 0.0) for total in totals]
    return Outcome(
        mean=math.fsum(queue["mean"] for queue in queues),
        sd=math.hypot(*(queue["sd"] for queue in queues)),
        utilization=math.fsum(total["utilization"] for total in totals) / len(totals),
        signal_rate=math.fsum(signals) / len(totals),
        value=goal.measure(result),
        metrics={str(each.path): _only(each.values(result)) for each in constraints},
    )


def _only(values: Sequence[float | None]) -> float | None:
    """The value of the one phase that a model has, if it is a finite number."""
    [value] = values or (None,)
    return None if value is None or math.isinf(value) else value


def queue_noise(
    model: Scenario,
    links: Sequence[str],
    seeds: Sequence[int],
    interval_s: float = SAMPLE_INTERVAL_S,
) -> float:
    """Standard deviation of a one-second mean queue, packets.

    What is observed are readings, so that the model is read as often as the network is. The mean of
    ten readings strays far less than a single one. Where there is one reading in several seconds,
    each second tells so much less.

    Successive queue lengths are far from independent, and with long round trips even
    successive one-second means are not; a sequential test that adds them up needs the
    standard deviation that independent observations would need to have the same sums. With a
    first-order autocorrelation r of the one-second means it is sd * sqrt((1 + r) / (1 - r)).
    Of several links the queues are added up.

    Args:
        model: with the setting.
        links: whose queues; of several all.
        seeds: of the runs.
        interval_s: between two readings of the network.
    """
    from vermilion.simulate import run

    every = max(1, round(interval_s / SAMPLE_INTERVAL_S))
    readings = max(1, round(1.0 / (every * SAMPLE_INTERVAL_S)))
    deviations = []
    products = []
    for seed in seeds:
        result = run(model, seed=seed, probe_interval_s=SAMPLE_INTERVAL_S)
        series = [result.series(each) for each in links]
        queued = np.sum([each["queue_packets"] for each in series], axis=0)
        kept = queued[series[0]["time_s"] > model.warm_up]
        # The readings could begin at any of the probes.
        rows = [kept[phase::every] for phase in range(min(every, len(kept)))]
        whole = [row[: len(row) // readings * readings] for row in rows]
        seconds = [row.reshape(-1, readings).mean(axis=1) for row in whole]
        mean = np.concatenate(seconds).mean()
        deviations += [row - mean for row in seconds]
        products += [(row[1:] - mean) * (row[:-1] - mean) for row in seconds]
    variance = float(np.square(np.concatenate(deviations)).mean())
    if variance == 0.0:
        return 0.0
    # The means of short runs bias r low; negative ones are chance.
    pairs = np.concatenate(products)
    r = min(max(float(pairs.mean()) / variance, 0.0), _MOST_CORRELATED) if len(pairs) else 0.0
    covers_s = readings * every * SAMPLE_INTERVAL_S
    return float(np.sqrt(covers_s * variance * (1 + r) / (1 - r)))


def _interval(values: Sequence[float]) -> Interval:
    from vermilion.simulate.statistics import mean_interval

    return mean_interval(values)
