"""A full factorial design, run: every number with what was varied, in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.scenario.errors import ScenarioError
from vermilion.simulate.accepted import given_scenario
from vermilion.simulate.metric import metric_of
from vermilion.simulate.result_data import WITH_FLOW_DELAYS
from vermilion.simulate.result_frames import COLUMNS, pandas_package, rows_of
from vermilion.simulate.runs import run_many
from vermilion.simulate.variants import chosen_seeds, combinations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from vermilion.scenario import Scenario
    from vermilion.simulate.result import Result


@dataclass(frozen=True, slots=True)
class Sweep:
    """The runs of a sweep.

    Attributes:
        factors: what was varied.
        runs: for each combination its values by factor, and a result for each seed.
    """

    factors: tuple[str, ...]
    runs: tuple[tuple[Mapping[str, object], tuple[Result, ...]], ...]

    def rows(self, metrics: Sequence[str] = ()) -> list[dict[str, object]]:
        """The numbers as a list of dictionaries, for which no other package is needed.

        Args:
            metrics: paths like "links.bottleneck.utilization"; a row is then a run, with a column
                for each of them (``None`` where it could not be computed). Without any a row is a
                number, with the columns of :meth:`Result.to_frame`.

        Returns:
            Each row begins with the factors and the ``seed``.

        Raises:
            ScenarioError: a metric that there is not.
        """
        return list(self._wide(metrics) if metrics else self._long())

    def to_frame(self, metrics: Sequence[str] = ()) -> pd.DataFrame:
        """The same as a data frame.

        Raises:
            ScenarioError: a metric that there is not.
            MissingPackageError: there is no pandas.
        """
        columns = metrics or COLUMNS
        rows = self.rows(metrics)
        frame: pd.DataFrame = pandas_package().DataFrame(
            rows, columns=[*self.factors, "seed", *columns]
        )
        return frame

    def _each(self) -> Iterator[tuple[dict[str, object], Result]]:
        for chosen, results in self.runs:
            for result in results:
                yield {**chosen, "seed": result.seed}, result

    def _long(self) -> Iterator[dict[str, object]]:
        for chosen, result in self._each():
            for row in rows_of(result):
                yield {**chosen, **dict(zip(COLUMNS, row, strict=True))}

    def _wide(self, metrics: Sequence[str]) -> Iterator[dict[str, object]]:
        rows = [
            {**chosen, **{metric: _number(result, metric) for metric in metrics}}
            for chosen, result in self._each()
        ]
        for metric in metrics:
            if rows and all(row[metric] is None for row in rows):
                raise ScenarioError("metrics", metric, _what_a_run_has(metric))
        return iter(rows)


def _what_a_run_has(metric: str) -> str:
    if WITH_FLOW_DELAYS & set(metric.split(".")):
        return "a number that the runs have; they have this one with flow_delays=True"
    return "a number that one of the runs has, like links.NAME.queue_packets.mean"


def _number(result: Result, metric: str) -> float | None:
    """The number of the whole run at a path that begins with "links" or "flows" and a name."""
    kind, _, rest = metric.partition(".")
    name, _, path = rest.partition(".")
    total: Mapping[str, object] | None = None
    if kind == "links" and name in result.links:
        total = result.link(name).total
    elif kind == "flows" and name in result.groups:
        total = result.flows(name).total
    if total is None:
        accepted = "a path like links.NAME.utilization or flows.NAME.jain_index"
        raise ScenarioError("metrics", metric, accepted)
    return metric_of(total, path)


def sweep(
    scenario: Scenario | str | Path,
    values: Mapping[str, Iterable[object]],
    seeds: int | Sequence[int] = 1,
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    flow_delays: bool = False,
) -> Sweep:
    """Runs every combination of the values of some paths with every seed.

        >>> swept = vermilion.sweep(
        ...     scenario,
        ...     {"links.bottleneck.rate": ["10 Mbit/s", "20 Mbit/s"], "sender": ["reno", "cubic"]},
        ...     seeds=5,
        ... )
        >>> swept.to_frame(["links.bottleneck.utilization", "flows.all.jain_index"])

    Args:
        scenario: what all of them have in common, or the name or path from which it is loaded.
        values: as :func:`grid` takes them: disciplines, senders and classes of your own included.
        seeds: so many from 1 on, or those that are listed.
        threads: as for :func:`run_many`.
        progress: called with the number of runs done.
        flow_delays: as for :func:`run`.

    Raises:
        ScenarioError: an unknown path, or a value that is not accepted.
    """
    scenario = given_scenario(scenario)
    if isinstance(values, Mapping) and "seed" in values:
        raise ScenarioError("seed", values["seed"], "the argument seeds", scenario.origin)
    chosen = chosen_seeds(seeds)
    made = list(combinations(scenario, values))
    results = run_many(
        [variant for _, variant in made],
        chosen,
        threads=threads,
        progress=progress,
        flow_delays=flow_delays,
    )
    runs = tuple(
        (factors, tuple(result for result in of_seeds if result is not None))
        for (factors, _), of_seeds in zip(made, results, strict=True)
    )
    return Sweep(tuple(values), runs)
