"""A comparison of variants of a scenario: made, and shown as tables and data frames."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from vermilion.simulate.compared_runs import ComparedRuns
from vermilion.simulate.comparison_frame import comparison_frame
from vermilion.simulate.comparison_tables import remark, tables
from vermilion.simulate.data_frames import frames
from vermilion.simulate.runs import run_many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from vermilion.scenario import Scenario
    from vermilion.simulate.compared_runs import Measure
    from vermilion.simulate.tables import Table


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

    def tables(self) -> list[Table]:
        """A table for each link and each group of flows: phases downwards, variants across."""
        return tables(self)

    def remark(self) -> str:
        """What the numbers in the tables are, in a sentence or two."""
        return remark(self)

    def __str__(self) -> str:
        """The tables as text."""
        return "\n\n".join([*map(str, self.tables()), self.remark()])

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables."""
        remark = escape(self.remark())
        return "\n".join(
            ["<div>", *(table.html() for table in self.tables()), f"<p>{remark}</p>", "</div>"]
        )


def compare(
    variants: Mapping[str, Scenario],
    seeds: Sequence[int],
    *,
    measures: Mapping[str, Measure] | None = None,
    distributions: bool = False,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Comparison:
    """Runs every variant with every seed.

    Args:
        variants: scenarios by name; the first is the one the others are compared with.
        seeds: at least two, for intervals.
        measures: further metrics; see :class:`ComparedRuns`.
        distributions: whether :meth:`Comparison.distribution` will be wanted.
        threads: how many runs at a time; ``None`` for one on each core.
        progress: called with the number of runs done.

    Raises:
        ScenarioError: a variant or a seed that is not accepted.
    """
    scenarios = tuple(variants.values())
    results = run_many(
        scenarios, seeds, threads=threads, progress=progress, distributions=distributions
    )
    complete = tuple(
        tuple(result for result in replications if result is not None) for replications in results
    )
    return Comparison(tuple(variants), tuple(seeds), complete, measures or {}, scenarios)
