"""A comparison of variants of a scenario: made, and shown as tables and data frames."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from vermilion.scenario.errors import ScenarioError
from vermilion.simulate.accepted import check_seeds, check_threads, given_scenarios
from vermilion.simulate.compared_runs import ComparedRuns
from vermilion.simulate.comparison_tables import remark, tables
from vermilion.simulate.data_frames import frames
from vermilion.simulate.result_frames import COLUMNS, pandas_package, unit_of
from vermilion.simulate.runs import run_many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pandas as pd

    from vermilion.scenario import Scenario
    from vermilion.simulate.compared_runs import Measure
    from vermilion.simulate.result import Result
    from vermilion.simulate.tables import ShownTable

COMPARISON_COLUMNS: Final = (
    "variant",
    *COLUMNS[:-1],
    "mean",
    "low",
    "high",
    "replications",
    "difference",
    "difference_low",
    "difference_high",
)
"""The columns of a comparison's frame."""

_KINDS: Final = {"links": "link", "flows": "flows", "bulk_flows": "bulk flows"}


def comparison_frame(comparison: ComparedRuns) -> pd.DataFrame:
    """A row for each number that is compared; see :meth:`Comparison.to_frame`."""
    pandas = pandas_package()
    rows = []
    for entry in comparison.entries():
        windows = len(comparison.windows(comparison.links[0]))
        interval, difference = entry.interval, entry.difference
        rows.append(
            (
                comparison.names[entry.variant],
                _KINDS[entry.kind],
                entry.name,
                (entry.index + 1) % windows,
                entry.window["start_s"],
                entry.window["end_s"],
                entry.metric,
                unit_of(entry.metric),
                interval.mean,
                interval.low,
                interval.high,
                interval.count,
                difference and difference.mean,
                difference and difference.low,
                difference and difference.high,
            )
        )
    frame: pd.DataFrame = pandas.DataFrame.from_records(rows, columns=COMPARISON_COLUMNS)
    numbers = ("mean", "low", "high", "difference", "difference_low", "difference_high")
    return frame.astype(dict.fromkeys(numbers, "float64"))


@dataclass(frozen=True, slots=True)
class Comparison(ComparedRuns):
    """The outcome of comparing variants.

    Its fields, and what can be computed of them, are those of :class:`ComparedRuns`.
    """

    def to_frame(self) -> pd.DataFrame:
        """The intervals as a pandas data frame in long form, a row for each number.

        Columns: ``variant``, ``kind`` ("link", "flows", or "bulk flows" for those of all groups
        together, whose name is "*"), ``name``, ``phase`` (0 for the whole
        run), ``start_s``, ``end_s``, ``metric``, ``unit``, ``mean``, ``low`` and ``high`` (the
        95 % interval), ``replications``, and ``difference``, ``difference_low`` and
        ``difference_high`` from the first variant. :meth:`runs_frame` has the single runs.

        Raises:
            MissingPackageError: there is no pandas.
        """
        return comparison_frame(self)

    def runs_frame(self) -> pd.DataFrame:
        """Every metric of every run, as :func:`vermilion.frames` has them.

        Raises:
            MissingPackageError: there is no pandas.
        """
        return frames(dict(zip(self.names, self.results, strict=True)))

    def tables(self) -> list[ShownTable]:
        """A table for each link and each group of flows: phases downwards, variants across.

        A group of which nothing could be computed, as of flows that end in the warm-up, has none.
        """
        return tables(self)

    def remark(self) -> str:
        """Explanation of the numbers in the tables, in a sentence or two."""
        return remark(self)

    def __str__(self) -> str:
        """The tables as text."""
        return "\n\n".join([*map(str, self.tables()), self.remark()])

    def _repr_html_(self) -> str:
        """Return the tables, for a notebook."""
        remark = escape(self.remark())
        return "\n".join(
            ["<div>", *(table.html() for table in self.tables()), f"<p>{remark}</p>", "</div>"]
        )


def compare(
    variants: Mapping[str, Scenario | str | Path],
    seeds: Sequence[int],
    *,
    measures: Mapping[str, Measure] | None = None,
    distributions: bool = False,
    flow_delays: bool = False,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    keeps_at_interrupt: bool = False,
) -> Comparison:
    """Run every variant with every seed.

    Args:
        variants: scenarios by name, or what each is loaded from; the first is the one the others
            are compared with.
        seeds: at least two, for intervals.
        measures: further metrics; see :class:`ComparedRuns`.
        distributions: whether :meth:`Comparison.distribution` will be wanted.
        flow_delays: whether to compare delay, jitter and losses of each group's packets too.
        threads: how many runs at a time; ``None`` for one on each core.
        progress: called with the number of runs done.
        keeps_at_interrupt: whether Ctrl-C ends it with the seeds that all variants have met by
            then, where they are two or more.

    Raises:
        ScenarioError: a variant or a seed that is not accepted.
        KeyboardInterrupt: at Ctrl-C, where nothing can be kept.
    """
    if not isinstance(variants, Mapping):
        raise ScenarioError("variants", variants, 'scenarios by name, like {"red": scenario}')
    seeds, threads = check_seeds(seeds), check_threads(threads)
    scenarios = tuple(given_scenarios(variants).values())
    rounds = _split_seeds(seeds, len(scenarios), threads) if keeps_at_interrupt else [tuple(seeds)]
    complete_seeds: list[int] = []
    complete: list[list[Result]] = [[] for _ in scenarios]
    for part in rounds:
        done = len(complete_seeds) * len(scenarios)
        try:
            results = run_many(
                scenarios,
                part,
                threads=threads,
                progress=None if progress is None else _counted_from(done, progress),
                distributions=distributions,
                flow_delays=flow_delays,
            )
        except KeyboardInterrupt:
            if not keeps_at_interrupt or len(complete_seeds) < _FEWEST_SEEDS:
                raise
            break
        for kept, replications in zip(complete, results, strict=True):
            kept += [result for result in replications if result is not None]
        complete_seeds += part
    return Comparison(
        tuple(variants),
        tuple(complete_seeds),
        tuple(map(tuple, complete)),
        measures or {},
        scenarios,
    )


_FEWEST_SEEDS = 2  # an interval needs two
_BUSY = 2  # runs in a round for each thread, so that waiting for the last one costs little


def _split_seeds(seeds: Sequence[int], variants: int, threads: int | None) -> list[tuple[int, ...]]:
    """Split the seeds: each part keeps all threads busy; Ctrl-C loses at most one."""
    at_a_time = _BUSY * (threads or os.cpu_count() or 1)
    size = max(_FEWEST_SEEDS, math.ceil(at_a_time / max(1, variants)))
    return [tuple(seeds[begin : begin + size]) for begin in range(0, len(seeds), size)]


def _counted_from(done: int, progress: Callable[[int], object]) -> Callable[[int], object]:
    """Count on from the parts before."""
    return lambda count: progress(done + count)
