"""Time series on disk: CSV, which needs nothing, and Parquet, which keeps types and units.

One row for each link and point in time, in the columns of :data:`SERIES_COLUMNS`. What a
discipline does not have (an average, a probability) is empty in CSV and null in Parquet.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TextIO

from vermilion.files.whole_file import whole_file
from vermilion.simulate.extras import optional
from vermilion.simulate.instruments.columns import Column
from vermilion.simulate.tables import check_format, format_of

if TYPE_CHECKING:
    import os

    from vermilion.simulate.measured_run import MeasuredRun


SERIES_COLUMNS: Final = (
    Column("link", "", "name of the link"),
    Column("time_s", "s", "when: the multiples of the probe interval, from 0 on"),
    Column("queue_packets", "packets", "packets waiting at that moment"),
    Column("queue_bytes", "bytes", "their bytes"),
    Column("average_queue_packets", "packets", "the discipline's own average, where it has one"),
    Column("drop_probability", "1", "the probability it would drop or mark with, where it has one"),
    Column("throughput_bit_per_s", "bit/s", "bits sent since the point before, per second"),
    Column("rate_bit_per_s", "bit/s", "rate of the link since then, or of its shaper set by a law"),
    Column("arrivals", "packets", "packets that arrived since the point before"),
    Column("drops", "packets", "packets dropped since the point before"),
    Column("marks", "packets", "packets marked since the point before"),
)
"""The columns, in order."""


def save_series(result: MeasuredRun, path: str | os.PathLike[str]) -> None:
    """Write every link's series to a file, which appears under its name when it is complete.

    Raises:
        ValueError: a suffix that is none of the formats.
        MissingPackageError: Parquet without pyarrow.
        KeyError: the run had no ``probe_interval_s``.
        OSError: the file cannot be written.
    """
    check_format(path)
    if format_of(path) == "parquet":
        with whole_file(Path(path), binary=True) as file:
            write_parquet(file, result)
    else:
        with whole_file(Path(path)) as text:
            write_csv(text, result)


def write_csv(file: TextIO, result: MeasuredRun) -> None:
    """Write every link's series as CSV; absent values are left empty."""
    names = [column.name for column in SERIES_COLUMNS[1:]]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(column.name for column in SERIES_COLUMNS)
    for link in result.links:
        series = result.series(link)
        for point in zip(*(series[name].tolist() for name in names), strict=True):
            writer.writerow((link, *("" if math.isnan(value) else repr(value) for value in point)))


def write_parquet(file: BinaryIO, result: MeasuredRun) -> None:
    """Write every link's series as Parquet, a row group each; absent values are null.

    Units and meanings are with the columns, the seed and the version with the file, as metadata.

    Raises:
        MissingPackageError: there is no pyarrow.
    """
    pa = _pyarrow()
    parquet = optional("pyarrow.parquet", "Parquet files")
    schema = pa.schema(
        [
            pa.field(
                column.name,
                pa.float64() if column.unit else pa.string(),
                metadata={"unit": column.unit, "meaning": column.meaning},
            )
            for column in SERIES_COLUMNS
        ],
        metadata={"vermilion": str(result.data["version"]), "seed": str(result.seed)},
    )
    with parquet.ParquetWriter(file, schema) as writer:
        for link in result.links:
            series = result.series(link)
            points = len(series["time_s"])
            columns = [pa.array([link] * points, pa.string())]
            columns += [
                pa.array(series[column.name], pa.float64(), from_pandas=True)  # NaN becomes null
                for column in SERIES_COLUMNS[1:]
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _pyarrow() -> Any:  # noqa: ANN401 - a module that may not be there
    return optional("pyarrow", "Parquet files")
