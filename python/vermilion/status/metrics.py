"""A controller's numbers for Prometheus, in its text format.

Names follow Prometheus' conventions (base units, ``_total`` for counters): docs/routers.md lists
them. Everything is a copy of what the controller has last seen and decided; a scrape asks neither
the router nor the network, and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, get_args

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    StateSetMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from vermilion.online.decide.states import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.metrics_core import Metric

    from vermilion.monitor import Listening
    from vermilion.online.drive.wall_clock import WallClockDriver
    from vermilion.online.entries import Decision
    from vermilion.routers.base import Observation

STATES = tuple(sorted(each.__name__.lower() for each in get_args(State)))
"""States of a controller."""


class ControllerMetrics(Collector):
    """Metrics of one controlled queue, collected at each scrape.

    Args:
        router: the queue's address.
        discipline: of the queue.
        mode: of the controller.
        version: of Vermilion.
        wall: the wall clock, seconds since 1970.
        listening: how well the interface can be listened to, where somebody does.
    """

    def __init__(
        self,
        router: str,
        discipline: str,
        mode: str,
        version: str,
        *,
        wall: Callable[[], float],
        listening: Callable[[], Listening] | None = None,
    ) -> None:
        self._router = router
        self._about = {"version": version, "discipline": discipline, "mode": mode}
        self._wall = wall
        self._listening = listening
        self._driver: WallClockDriver | None = None
        self._observation: Observation | None = None
        self._observed_s = 0.0
        self._decisions: Counter[str] = Counter()
        self._decided_s: float | None = None
        self._round_trips = 0
        self._round_trips_s = 0.0

    def text(self) -> bytes:
        """The numbers as they are now, in Prometheus' text format."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)

    def driven_by(self, driver: WallClockDriver) -> None:
        """Told when the controller begins."""
        self._driver = driver

    def observed(self, observation: Observation) -> None:
        """Told of everything that is seen."""
        self._observed_s = self._wall()
        if observation.round_trips is not None:
            self._round_trips += len(observation.round_trips.seconds)
            self._round_trips_s += float(observation.round_trips.seconds.sum())
        self._observation = observation

    def decided(self, decision: Decision) -> None:
        """Told of every decision."""
        self._decisions[str(decision.kind)] += 1
        self._decided_s = self._wall()

    def collect(self) -> Iterator[Metric]:
        """The numbers as they are now."""
        about = InfoMetricFamily("vermilion_controller", "Who controls what.", labels=["router"])
        about.add_metric([self._router], self._about)
        yield about
        yield from self._queue_metrics()
        yield from self._controller_metrics()
        yield from self._monitor_metrics()

    def _gauge(self, name: str, meaning: str, value: float) -> GaugeMetricFamily:
        family = GaugeMetricFamily(f"vermilion_{name}", meaning, labels=["router"])
        family.add_metric([self._router], value)
        return family

    def _counter(self, name: str, meaning: str, value: float) -> CounterMetricFamily:
        family = CounterMetricFamily(f"vermilion_{name}", meaning, labels=["router"])
        family.add_metric([self._router], value)
        return family

    def _queue_metrics(self) -> Iterator[Metric]:
        seen = self._observation
        if seen is None:
            return
        now = seen.reading
        for name, meaning, level in (
            ("queue_backlog_packets", "Packets that wait.", now.backlog_packets),
            ("queue_backlog_bytes", "Bytes that wait.", now.backlog_bytes),
        ):
            yield self._gauge(name, meaning, level)
        for name, meaning, count in (
            ("queue_forwarded_packets", "Packets sent, by the router.", now.forwarded_packets),
            ("queue_forwarded_bytes", "Bytes sent, by the router.", now.forwarded_bytes),
            ("queue_dropped_packets", "Packets dropped, by the router.", now.drops),
            ("queue_marked_packets", "Packets marked (ECN), by the router.", now.marks),
        ):
            yield self._counter(name, meaning, count)
        meaning = "Time of the queue's last observation, seconds since 1970."
        yield self._gauge("last_observation_timestamp_seconds", meaning, self._observed_s)
        if seen.active_flows is not None:
            meaning = "Flows that have begun and not ended."
            yield self._gauge("active_flows", meaning, seen.active_flows)
        if seen.round_trips is not None:
            trips = SummaryMetricFamily(
                "vermilion_round_trip_seconds",
                "Round trips sampled by the monitor, queueing included.",
                labels=["router"],
            )
            trips.add_metric([self._router], self._round_trips, self._round_trips_s)
            yield trips

    def _controller_metrics(self) -> Iterator[Metric]:
        decisions = CounterMetricFamily(
            "vermilion_decisions", "Decisions by kind.", labels=["router", "kind"]
        )
        for kind, count in sorted(self._decisions.items()):
            decisions.add_metric([self._router, kind], count)
        yield decisions
        if self._decided_s is not None:
            meaning = "Time of the last decision, seconds since 1970."
            yield self._gauge("last_decision_timestamp_seconds", meaning, self._decided_s)
        if self._driver is None:
            return
        controller = self._driver.controller
        doing = type(controller.state).__name__.lower()
        states = StateSetMetricFamily(
            "vermilion_controller_state", "What the controller does.", labels=["router"]
        )
        states.add_metric([self._router], {each: each == doing for each in STATES})
        yield states
        settings = GaugeMetricFamily(
            "vermilion_setting",
            "Parameter in force, in the units of its table; switches are 0 or 1.",
            labels=["router", "parameter"],
        )
        for name, value in sorted(controller.in_force.items()):
            if isinstance(value, int | float):
                settings.add_metric([self._router, name], float(value))
        yield settings
        meaning = "Changes that are allowed per minute."
        yield self._gauge("changes_per_minute_limit", meaning, controller.budget.per_minute)
        meaning = "Observations that came too late."
        yield self._counter("missed_observations", meaning, self._driver.missed)

    def _monitor_metrics(self) -> Iterator[Metric]:
        if self._listening is None:
            return
        sample = self._listening()
        meaning = "Packets passed to the monitor by the kernel."
        yield self._counter("monitor_packets", meaning, sample.packets)
        meaning = "Packets dropped at the monitor's ring."
        yield self._counter("monitor_lost_packets", meaning, sample.lost_packets)
        meaning = "Share of flows observed."
        yield self._gauge("monitor_sampled_flows_ratio", meaning, 1.0 / sample.one_in)
        meaning = "CPU time of taking packets in."
        yield self._counter("monitor_cpu_seconds", meaning, sample.cpu_s)
