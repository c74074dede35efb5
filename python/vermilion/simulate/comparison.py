"""Several variants of a scenario over the same seeds: means, intervals, paired differences."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from vermilion.simulate.result import metric_of
from vermilion.simulate.runs import run_many
from vermilion.simulate.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate.result import Result

    Measure = Callable[[Mapping[str, Any]], float | None]

METRICS: Final = (
    "utilization",
    "queue_packets.mean",
    "queue_packets.sd",
    "queue_packets.p95",
    "sojourn_ms.mean",
    "sojourn_ms.p95",
    "drop_rate",
    "mark_rate",
)
"""What is compared: paths into a link's metrics."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome of comparing variants.

    Attributes:
        names: of the variants; the first is the one the others are compared with.
        seeds: common to all variants, so that differences are not a matter of luck.
        results: one list per variant, one result per seed.
        measures: further metrics by name: how to compute each from a link's metrics over a
            window; ``None`` where that is impossible.
    """

    names: tuple[str, ...]
    seeds: tuple[int, ...]
    results: tuple[tuple[Result, ...], ...]
    measures: Mapping[str, Measure] = field(default_factory=dict)

    @property
    def links(self) -> list[str]:
        """The names of the links."""
        return self.results[0][0].links

    def phases_agree(self, link: str) -> bool:
        """Whether all variants have the same phases; otherwise only whole runs are compared."""
        return len({_phases(replications[0], link) for replications in self.results}) == 1

    def windows(self, link: str) -> list[Mapping[str, Any]]:
        """The phases and last the whole run, as the first run measured them."""
        return self._windows(self.results[0][0], link)

    def _windows(self, result: Result, link: str) -> list[Mapping[str, Any]]:
        entry = result.link(link)
        return [*entry.phases, entry.total] if self.phases_agree(link) else [entry.total]

    def interval(self, variant: int, link: str, window: int, metric: str) -> Interval | None:
        """The mean over the seeds and its 95 % interval; ``None`` where a run has no value."""
        values = self._values(variant, link, window, metric)
        return None if values is None else mean_interval(values)

    def difference(self, variant: int, link: str, window: int, metric: str) -> Interval | None:
        """How far a variant is from the first, seed by seed, with its 95 % interval.

        The pairs share their random numbers, so this interval is usually narrower than those
        of the two means suggest.
        """
        values = self._values(variant, link, window, metric)
        first = self._values(0, link, window, metric)
        if values is None or first is None:
            return None
        return mean_interval(
            value - reference for value, reference in zip(values, first, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON; what cannot be computed is absent.

        ``variants[].links.NAME`` has ``total`` and ``phases`` like a single run, where each
        number is an object: ``mean``, ``low`` and ``high`` (the 95 % interval),
        ``replications``, and for all but the first variant ``difference`` from the first.
        """
        return {
            "seeds": list(self.seeds),
            "version": self.results[0][0].data["version"],
            "variants": [
                {
                    "name": name,
                    "links": {link: self._link_dict(variant, link) for link in self.links},
                }
                for variant, name in enumerate(self.names)
            ],
        }

    def _link_dict(self, variant: int, link: str) -> dict[str, Any]:
        windows = [
            {
                "start_s": window["start_s"],
                "end_s": window["end_s"],
                **self._metrics(variant, link, index),
            }
            for index, window in enumerate(self.windows(link))
        ]
        return {"total": windows[-1], "phases": windows[:-1]}

    def _metrics(self, variant: int, link: str, window: int) -> dict[str, Any]:
        """The metrics of a window, nested like those of a single run."""
        metrics: dict[str, Any] = {}
        for metric in (*METRICS, *self.measures):
            interval = self.interval(variant, link, window, metric)
            if interval is None:
                continue
            *parents, name = metric.split(".")
            here = metrics
            for parent in parents:
                here = here.setdefault(parent, {})
            here[name] = _interval_dict(interval)
            difference = self.difference(variant, link, window, metric) if variant else None
            if difference is not None:
                here[name]["difference"] = _interval_dict(difference)
        return metrics

    def _values(self, variant: int, link: str, window: int, metric: str) -> list[float] | None:
        values = []
        for result in self.results[variant]:
            windows = self._windows(result, link)
            measure = self.measures.get(metric) or partial(metric_of, path=metric)
            value = measure(windows[window])
            if value is None:
                return None
            values.append(value)
        return values


def compare(
    variants: Mapping[str, Scenario],
    seeds: Sequence[int],
    *,
    measures: Mapping[str, Measure] | None = None,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Comparison:
    """Runs every variant with every seed.

    Args:
        variants: scenarios by name; the first is the one the others are compared with.
        seeds: at least two, for intervals.
        measures: further metrics; see :class:`Comparison`.
        threads: how many runs at a time; ``None`` for one on each core.
        progress: called with the number of runs done.

    Raises:
        ScenarioError: a variant or a seed that is not accepted.
    """
    results = run_many(list(variants.values()), seeds, threads=threads, progress=progress)
    complete = tuple(
        tuple(result for result in replications if result is not None) for replications in results
    )
    return Comparison(tuple(variants), tuple(seeds), complete, measures or {})


def _phases(result: Result, link: str) -> tuple[tuple[float, float], ...]:
    return tuple((phase["start_s"], phase["end_s"]) for phase in result.link(link).phases)


def _interval_dict(interval: Interval) -> dict[str, float | int]:
    bounds = {"mean": interval.mean, "low": interval.low, "high": interval.high}
    present = {name: value for name, value in bounds.items() if value is not None}
    return {**present, "replications": interval.count}
