"""A comparison as a data frame (pandas), in long form: a row for each number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.simulate.result_frames import COLUMNS, pandas_package, unit_of

if TYPE_CHECKING:
    import pandas as pd

    from vermilion.simulate.compared_runs import ComparedRuns

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
