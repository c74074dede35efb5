"""Time series as CSV."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from vermilion.simulate import Result

COLUMNS: Final = (
    "time_s",
    "queue_packets",
    "queue_bytes",
    "average_queue_packets",
    "drop_probability",
    "throughput_bit_per_s",
)


def write_series(file: TextIO, result: Result) -> None:
    """Writes every link's series, one row for each point; what does not exist is left empty."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("link", *COLUMNS))
    for link in result.links:
        series = result.series(link)
        for point in zip(*(series[column].tolist() for column in COLUMNS), strict=True):
            writer.writerow((link, *("" if math.isnan(value) else repr(value) for value in point)))
