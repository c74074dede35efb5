"""Result of a run: its measurements, and the ways to show and save them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vermilion.simulate.instruments.recorded import Recorded
from vermilion.simulate.measured_run import MeasuredRun
from vermilion.simulate.metric import WindowMetrics
from vermilion.simulate.notebook import result_html, result_text
from vermilion.simulate.result_frames import flows_frame, result_frame, series_frame
from vermilion.simulate.traces import save_series

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import pandas as pd

    from vermilion.simulate.measured_run import Series
    from vermilion.simulate.result_data import GroupData, LinkData, Measured, ResultData, Timing


@dataclass(frozen=True, slots=True)
class Result(MeasuredRun):
    """The outcome of one run.

    What it has measured, and how to ask for it, is a :class:`MeasuredRun`'s: ``data``, ``link()``,
    ``flows()``, ``series()``.
    """

    def to_frame(self) -> pd.DataFrame:
        """All metrics as a pandas data frame in long form, a row for each number.

        Columns: ``kind`` ("link" or "flows"), ``name``, ``phase`` (0 for the whole run, the
        phases from 1 on), ``start_s``, ``end_s``, ``metric`` (like "queue_packets.mean"),
        ``unit``, ``value``. What could not be computed has no row.

        Raises:
            MissingPackageError: there is no pandas.
        """
        return result_frame(self)

    def flows_frame(self) -> pd.DataFrame:
        """Every single flow as a pandas data frame, a row for each flow in each phase.

        Columns: ``group``, ``flow`` (its number among those of the group that were active in
        the window), ``phase`` (0 for the whole run), ``start_s``, ``end_s``, and one for each
        metric of ``each``. Empty for a result of :func:`run_many`, which has no single flows.

        Raises:
            MissingPackageError: there is no pandas.
        """
        return flows_frame(self)

    def series_frame(self, link: str | None = None) -> pd.DataFrame:
        """The time series of a link, or of all, as a pandas data frame.

        Columns: ``link`` and those of :meth:`series`.

        Raises:
            KeyError: there is no such link, or the run had no ``probe_interval_s``.
            MissingPackageError: there is no pandas.
        """
        return series_frame(self, link)

    def write_series(self, path: str | os.PathLike[str]) -> None:
        """Write the time series of all links to a file: ``.csv``, or ``.parquet`` with pyarrow.

        The columns are those of :data:`vermilion.simulate.traces.SERIES_COLUMNS`. The file
        appears under its name when it is complete.

        Raises:
            ValueError: a name with another ending.
            KeyError: the run had no ``probe_interval_s``.
            MissingPackageError: Parquet without pyarrow.
            OSError: the file cannot be written.
        """
        save_series(self, path)

    def __str__(self) -> str:
        """Return a table of the links and one of the groups of flows."""
        return result_text(self)

    def _repr_html_(self) -> str:
        """Return a table of the links and one of the groups of flows, for a notebook."""
        return result_html(self)


def result_of(
    text: str,
    *,
    seed: int,
    version: str,
    timing: Timing,
    series: Mapping[str, Series],
    recorded: Recorded | None = None,
) -> Result:
    """Make a result from the core's JSON, the identifying keys first."""
    measured: Measured = json.loads(text)
    for link in measured["links"].values():
        _explain_absent_metrics(link)
    for group in measured["flows"].values():
        _explain_absent_metrics(group)
    data: ResultData = {"seed": seed, "version": version, **timing, **measured}
    return Result(data, series, recorded or Recorded())


def _explain_absent_metrics(place: LinkData | GroupData) -> None:
    """Make the metrics of every window explain an absent one."""
    windows: Any = place
    windows["total"] = WindowMetrics(windows["total"])
    windows["phases"] = [WindowMetrics(each) for each in windows["phases"]]
