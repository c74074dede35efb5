"""Several variants of a scenario over the same seeds: means, intervals, paired differences.

How they are shown is :class:`vermilion.simulate.comparison.Comparison`'s. The functions by which it
does that know only what stands here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from vermilion.scenario.errors import ScenarioError, did_you_mean
from vermilion.simulate.metric import (
    SLOWEST_SHARE,
    STARVED,
    BulkFlows,
    bulk_flows,
    metric_of,
    metric_paths,
    slowest_share,
)
from vermilion.simulate.result_data import GroupMetrics, LinkMetrics, Stretch
from vermilion.simulate.result_frames import rows_of
from vermilion.simulate.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate.result import Result

_RUN_KEYS: Final = {"seed", "wall_s", "cpu_s"}

_INSTANTANEOUS: Final = {"queued_at_start", "queued_at_end"}
"""Metrics that a single packet may double."""

_NEARLY: Final = 1e-3
"""Numbers of two runs that are no further apart, as a part of the larger, are nearly the same.

Ties move a mean queue by 1e-5 to 2e-4 of it. What is drawn moves some of the many numbers of a run
by more than 1e-2, be it only the deviation of the queue or the drops: all of them have to agree.
"""


def are_the_same_run(results: Sequence[Result]) -> bool:
    """Return whether two or more runs with different seeds have measured exactly the same.

    Args:
        results: one for each seed.
    """
    measured = [
        {key: value for key, value in result.data.items() if key not in _RUN_KEYS}
        for result in results
    ]
    return len(measured) > 1 and all(each == measured[0] for each in measured[1:])


def are_nearly_the_same_run(results: Sequence[Result]) -> bool:
    """Return whether all numbers of two or more runs with different seeds agree within 0.1 %.

    Args:
        results: one for each seed.
    """
    if len(results) < 2:  # noqa: PLR2004 - a run alone is like no other
        return False
    first, *others = map(_numbers, results)
    return all(
        first.keys() == each.keys()
        and all(math.isclose(first[key], each[key], rel_tol=_NEARLY) for key in first)
        for each in others
    )


def _numbers(result: Result) -> dict[object, float]:
    """Numbers of a run by kind, name, phase and metric."""
    return {
        (kind, name, phase, metric): value
        for kind, name, phase, _, _, metric, _, value in rows_of(result)
        if isinstance(value, float) and metric not in _INSTANTANEOUS
    }


if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate.result import Result

    Measure = Callable[[LinkMetrics], float | None]
    Replications = Sequence[float | None]
    """A number for each seed; ``None`` for a seed that has none, where the others are enough."""
    Kind = Literal["links", "flows", "bulk_flows"]

METRICS: Final = (
    "utilization",
    "queue_packets.mean",
    "queue_packets.sd",
    "queue_packets.p95",
    "sojourn_ms.mean",
    "sojourn_ms.p50",
    "sojourn_ms.p95",
    "sojourn_ms.p99",
    "drop_rate",
    "mark_rate",
    "loss_rate",
)
"""Compared metrics of links: paths into a link's metrics."""

GOODPUT: Final = "goodput_bit_per_s"
"""Goodput of a link: that of all groups of flows whose data cross it, together."""

FLOW_METRICS: Final = (
    "goodput_bit_per_s.total",
    "goodput_bit_per_s.min",
    SLOWEST_SHARE,
    "jain_index",
    STARVED,
    "completion_time_s.mean",
    "completion_time_s.p95",
    "delay_ms.p50",
    "delay_ms.p95",
    "jitter_ms",
    "packet_loss_rate",
)
"""Compared metrics of groups of flows: paths into a group's metrics, where measured."""

COMPLETION_TIME: Final = "completion_time_s"
"""Of a group: where no transfer completes there is none, and the mean is over the other seeds."""

BULK_FLOWS: Final = "*"
"""In place of a group's name: the bulk flows of all groups together."""


class BulkFlowsWindow(Stretch, BulkFlows):
    """The bulk flows of all groups over a window."""


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """Runs of several variants with the same seeds, and their statistics.

    Attributes:
        names: of the variants; the first is the one the others are compared with.
        seeds: common to all variants, so that differences are not a matter of luck.
        results: one list per variant, one result per seed.
        measures: further metrics by name: how to compute each from a link's metrics over a
            window; ``None`` where that is impossible.
        scenarios: one per variant; without them it is not known which flows cross a link.
        measure_units: units of the further metrics, by name, of those that have one.
        phases_agree: whether all variants have the same phases; otherwise only whole runs are
            compared.
    """

    names: tuple[str, ...]
    seeds: tuple[int, ...]
    results: tuple[tuple[Result, ...], ...]
    measures: Mapping[str, Measure] = field(default_factory=dict)
    scenarios: tuple[Scenario, ...] = ()
    measure_units: Mapping[str, str] = field(default_factory=dict)
    phases_agree: bool = field(init=False)
    _together: dict[int, list[BulkFlowsWindow]] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        agree = len({_phases(replications[0]) for replications in self.results}) == 1
        object.__setattr__(self, "phases_agree", agree)

    @property
    def links(self) -> list[str]:
        """The names of the links."""
        return self.results[0][0].links

    @property
    def groups(self) -> list[str]:
        """The names of the groups of flows."""
        return self.results[0][0].groups

    @property
    def bulk_groups(self) -> list[str]:
        """Names of groups with bulk flows; :data:`BULK_FLOWS` stands for all of them."""
        flows = self.results[0][0].data["flows"]
        return [
            name
            for name, entry in flows.items()
            if any(STARVED in window for window in (entry["total"], *entry["phases"]))
        ]

    @property
    def same_for_all_seeds(self) -> tuple[bool, ...]:
        """True for each variant whose seeds all gave the same run: its intervals say nothing."""
        return tuple(map(are_the_same_run, self.results))

    def windows(self, link: str) -> list[LinkMetrics]:
        """The phases and last the whole run, as the first run measured them."""
        return self._link_windows(self.results[0][0], link)

    def interval(self, variant: int, link: str, window: int, metric: str) -> Interval | None:
        """The mean over the seeds and its 95 % interval; ``None`` where a run has no value."""
        return _mean(self.values(variant, link, window, metric))

    def difference(self, variant: int, link: str, window: int, metric: str) -> Interval | None:
        """Difference of a variant from the first, paired by seed, with its 95 % interval.

        The pairs share their random numbers, so this interval is usually narrower than those
        of the two means suggest.
        """
        return _mean_difference(
            self.values(variant, link, window, metric), self.values(0, link, window, metric)
        )

    def flows_interval(self, variant: int, group: str, window: int, metric: str) -> Interval | None:
        """Like :meth:`interval`, for a group of flows, or for :data:`BULK_FLOWS`.

        A completion time is over the seeds with which a transfer completed; the interval's
        ``count`` says how many those are.
        """
        return _mean(self._flow_values(variant, group, window, metric))

    def flows_difference(
        self, variant: int, group: str, window: int, metric: str
    ) -> Interval | None:
        """Like :meth:`difference`, for a group of flows, or for :data:`BULK_FLOWS`.

        Of completion times it is over the seeds with which both variants have one.
        """
        return _mean_difference(
            self._flow_values(variant, group, window, metric),
            self._flow_values(0, group, window, metric),
        )

    def values(self, variant: int, link: str, window: int, metric: str) -> list[float] | None:
        """A metric of a link in every run of a variant; ``None`` where one has no value.

        Raises:
            ScenarioError: there is no such metric.
        """
        if metric == GOODPUT:
            return self._goodput(variant, link, window)
        _check_metric(metric, (*self.measures, GOODPUT, *metric_paths(LinkMetrics)))
        measure = self.measures.get(metric) or partial(metric_of, path=metric)
        return _all_or_none(
            measure(self._link_windows(result, link)[window]) for result in self.results[variant]
        )

    def distribution(
        self, variant: int, link: str, window: int
    ) -> tuple[list[float], list[Interval]] | None:
        """The distribution of the queueing delays of single packets, in ms.

        Returns:
            Percents from 0 to 100, and for each the mean over the seeds of that percentile with
            its 95 % interval; ``None`` if distributions were not asked for, or in some run no
            packet was sent.
        """
        runs = [
            self._link_windows(result, link)[window].get("sojourn_distribution_ms")
            for result in self.results[variant]
        ]
        known = [run for run in runs if run is not None]
        if len(known) < len(runs):
            return None
        values = zip(*(run["value"] for run in known), strict=True)
        return known[0]["percent"], [mean_interval(replications) for replications in values]

    def to_dict(self) -> dict[str, object]:
        """Everything, for JSON; what cannot be computed is absent.

        ``variants[].links.NAME`` and ``variants[].flows.NAME`` have ``total`` and ``phases``
        like a single run, where each number is an object: ``mean``, ``low`` and ``high`` (the
        95 % interval), ``replications``, and for all but the first variant ``difference`` from
        the first. So does ``variants[].bulk_flows``, which is all bulk flows together, if there
        are any. ``variants[].same_for_all_seeds`` tells whether no seed changed anything, and
        ``variants[].scenario`` is what was run, as its file would have it.
        """
        same = self.same_for_all_seeds
        return {
            "seeds": list(self.seeds),
            "version": self.results[0][0].data["version"],
            "variants": [
                {
                    "name": name,
                    "same_for_all_seeds": same[variant],
                    **({"scenario": self.scenarios[variant].document} if self.scenarios else {}),
                    "links": {
                        link: self._to_document(variant, "links", link) for link in self.links
                    },
                    "flows": {
                        group: self._to_document(variant, "flows", group) for group in self.groups
                    },
                    **(
                        {"bulk_flows": self._to_document(variant, "bulk_flows", BULK_FLOWS)}
                        if self.bulk_groups
                        else {}
                    ),
                }
                for variant, name in enumerate(self.names)
            ],
        }

    def entries(self) -> Iterator[Entry]:
        """Every number that is compared and could be computed."""
        for variant in range(len(self.names)):
            places: list[tuple[Kind, str]] = [("links", link) for link in self.links]
            places += [("flows", group) for group in self.groups]
            places += [("bulk_flows", BULK_FLOWS)] if self.bulk_groups else []
            for kind, name in places:
                for index, window in self._numbered_windows(kind, name):
                    for compared in self._metric_intervals(variant, kind, name, index):
                        yield Entry(variant, kind, name, index, window, *compared)

    def _metric_intervals(
        self, variant: int, kind: Kind, name: str, window: int
    ) -> Iterator[tuple[str, Interval, Interval | None]]:
        for metric in self._metrics_of(kind):
            values = self._values(variant, kind, name, window, metric)
            interval = _mean(values)
            if interval is not None:
                first = self._values(0, kind, name, window, metric) if variant else None
                yield metric, interval, _mean_difference(values, first)

    def _numbered_windows(self, kind: Kind, name: str) -> Iterator[tuple[int, Stretch]]:
        first = self.results[0][0]
        return enumerate(
            self._link_windows(first, name) if kind == "links" else self._flow_windows(first, name)
        )

    def _metrics_of(self, kind: Kind) -> tuple[str, ...]:
        return (*METRICS, GOODPUT, *self.measures) if kind == "links" else FLOW_METRICS

    def _to_document(self, variant: int, kind: Kind, name: str) -> dict[str, object]:
        windows = []
        for index, window in self._numbered_windows(kind, name):
            place = {"start_s": window["start_s"], "end_s": window["end_s"]}
            windows.append({**place, **self._metrics(variant, kind, name, index)})
        return {"total": windows[-1], "phases": windows[:-1]}

    def _metrics(self, variant: int, kind: Kind, name: str, window: int) -> dict[str, object]:
        """Metrics of a window, nested like those of a single run."""
        metrics: dict[str, Any] = {}
        for metric, interval, difference in self._metric_intervals(variant, kind, name, window):
            *parents, last = metric.split(".")
            here = metrics
            for parent in parents:
                here = here.setdefault(parent, {})
            here[last] = _interval_dict(interval)
            if difference is not None:
                here[last]["difference"] = _interval_dict(difference)
        return metrics

    def _values(
        self, variant: int, kind: Kind, name: str, window: int, metric: str
    ) -> Replications | None:
        of = self.values if kind == "links" else self._flow_values
        return of(variant, name, window, metric)

    def _flow_values(
        self, variant: int, group: str, window: int, metric: str
    ) -> Replications | None:
        _check_metric(metric, (SLOWEST_SHARE, *metric_paths(GroupMetrics)))
        measure = slowest_share if metric == SLOWEST_SHARE else partial(metric_of, path=metric)
        values = [
            measure(self._flow_windows(result, group)[window]) for result in self.results[variant]
        ]
        return values if metric.startswith(f"{COMPLETION_TIME}.") else _all_or_none(values)

    def _goodput(self, variant: int, link: str, window: int) -> list[float] | None:
        if not self.scenarios:
            return None
        groups = [
            name for name, group in self.scenarios[variant].flows.items() if link in group.path
        ]
        runs = []
        for result in self.results[variant]:
            goodputs = [
                metric_of(self._flow_windows(result, group)[window], f"{GOODPUT}.total")
                for group in groups
            ]
            # A group that is not there yet has no goodput, and takes no part.
            present = [goodput for goodput in goodputs if goodput is not None]
            runs.append(sum(present) if present else None)
        return _all_or_none(runs)

    def _link_windows(self, result: Result, link: str) -> list[LinkMetrics]:
        measured = result.link(link)
        return [*measured.phases, measured.total] if self.phases_agree else [measured.total]

    def _flow_windows(
        self, result: Result, group: str
    ) -> Sequence[GroupMetrics] | Sequence[BulkFlowsWindow]:
        """Windows of a group, or of :data:`BULK_FLOWS`."""
        if group != BULK_FLOWS:
            return self._group_windows(result, group)
        if id(result) not in self._together:
            groups = [self._group_windows(result, name) for name in result.groups]
            self._together[id(result)] = [
                {
                    "start_s": windows[0]["start_s"],
                    "end_s": windows[0]["end_s"],
                    **bulk_flows(windows),
                }
                for windows in zip(*groups, strict=True)
            ]
        return self._together[id(result)]

    def _group_windows(self, result: Result, group: str) -> list[GroupMetrics]:
        measured = result.flows(group)
        return [*measured.phases, measured.total] if self.phases_agree else [measured.total]


@dataclass(frozen=True, slots=True)
class Entry:
    """One number of a comparison.

    Attributes:
        variant: number of the variant.
        kind: "links", "flows" or "bulk_flows".
        name: of the link or group; :data:`BULK_FLOWS` for all bulk flows together.
        index: number of the window, the whole run being the last.
        window: what it covers.
        metric: path into them.
        interval: the mean over the seeds.
        difference: from the first variant; ``None`` for that one itself.
    """

    variant: int
    kind: Kind
    name: str
    index: int
    window: Stretch
    metric: str
    interval: Interval
    difference: Interval | None


def _phases(result: Result) -> tuple[tuple[float, float], ...]:
    phases = result.link(result.links[0]).phases
    return tuple((phase["start_s"], phase["end_s"]) for phase in phases)


def _all_or_none(values: Iterable[float | None]) -> list[float] | None:
    present = list(values)
    return None if None in present else cast("list[float]", present)


def _check_metric(metric: str, known: Sequence[str]) -> None:
    """Refuse a metric that no run measures; one that could not be computed is merely absent.

    Raises:
        ScenarioError: naming the metric that is meant.
    """
    if metric not in known:
        raise ScenarioError("metric", metric, did_you_mean(metric, known))


def _mean(values: Replications | None) -> Interval | None:
    present = [value for value in values or () if value is not None]
    return mean_interval(present) if present else None


def _mean_difference(values: Replications | None, first: Replications | None) -> Interval | None:
    if not values or not first:
        return None
    differences = [
        value - reference
        for value, reference in zip(values, first, strict=True)
        if value is not None and reference is not None
    ]
    return mean_interval(differences) if differences else None


def _interval_dict(interval: Interval) -> dict[str, float | int]:
    bounds = {"mean": interval.mean, "low": interval.low, "high": interval.high}
    present = {name: value for name, value in bounds.items() if value is not None}
    return {**present, "replications": interval.count}
