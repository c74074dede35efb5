"""A result as data frames (pandas), in long form: a row for each number.

One form for everything: a result has links and groups of flows, each of them has the whole run
and its phases, and which numbers there are depends on what could be computed. In long form a
number that could not be computed is a row that is not there, results of different scenarios
go into one frame, and ``pivot_table`` makes any table of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vermilion.simulate.extras import optional

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from vermilion.simulate.measured_run import MeasuredRun
    from vermilion.simulate.result_data import GroupData, GroupMetrics, LinkData, LinkMetrics

COLUMNS: Final = ("kind", "name", "phase", "start_s", "end_s", "metric", "unit", "value")
"""The columns of a result's frame."""

FLOW_COLUMNS: Final = ("group", "flow", "phase", "start_s", "end_s")
"""The columns of a frame of single flows, before those with the flows' metrics."""

_UNITS: Final = {
    "arrivals": "packets",
    "packets_forwarded": "packets",
    "drops": "packets",
    "overflow_drops": "packets",
    "forced_drops": "packets",
    "marks": "packets",
    "losses": "packets",
    "queued_at_start": "packets",
    "queued_at_end": "packets",
    "retransmissions": "packets",
    "packets_sent": "packets",
    "packets_delivered": "packets",
    "packets_lost": "packets",
    "losses_in_a_row": "packets",
}

# In this order: "bit_per_s" ends in "_s" as well.
_SUFFIXES: Final = (
    ("_bit_per_s", "bit/s"),
    ("_packets", "packets"),
    ("_bytes", "bytes"),
    ("_ms", "ms"),
    ("_s", "s"),
)


def unit_of(metric: str) -> str:
    """The unit of a metric like "sojourn_ms.mean"; "1" for ratios and counts of anything else.

    >>> unit_of("sojourn_ms.mean"), unit_of("goodput_bit_per_s.total"), unit_of("drop_rate")
    ('ms', 'bit/s', '1')
    """
    key, _, statistic = metric.partition(".")
    if statistic == "count":  # how many values the other statistics are of
        return "1"
    if key in _UNITS:
        return _UNITS[key]
    return next((unit for suffix, unit in _SUFFIXES if key.endswith(suffix)), "1")


def result_frame(result: MeasuredRun) -> pd.DataFrame:
    """A row for each number of a result; see :meth:`Result.to_frame`."""
    pandas = pandas_package()
    frame: pd.DataFrame = pandas.DataFrame.from_records(list(rows_of(result)), columns=COLUMNS)
    return frame


def flows_frame(result: MeasuredRun) -> pd.DataFrame:
    """A row for each single flow in each window; see :meth:`Result.flows_frame`."""
    pandas = pandas_package()
    rows = [
        {
            "group": group,
            "flow": number,
            "phase": phase,
            "start_s": window["start_s"],
            "end_s": window["end_s"],
            **dict(_numbers(flow)),
        }
        for group, entry in result.data["flows"].items()
        for phase, window in enumerate((entry["total"], *entry["phases"]))
        for number, flow in enumerate(window.get("each", ()))
    ]
    frame: pd.DataFrame = pandas.DataFrame(rows)
    return frame if rows else pandas.DataFrame(columns=FLOW_COLUMNS)


def series_frame(result: MeasuredRun, link: str | None = None) -> pd.DataFrame:
    """The time series of one link or of all; see :meth:`Result.series_frame`."""
    pandas = pandas_package()
    links = result.links if link is None else [link]
    parts = [pandas.DataFrame({"link": name, **result.series(name)}) for name in links]
    frame: pd.DataFrame = parts[0] if len(parts) == 1 else pandas.concat(parts, ignore_index=True)
    return frame


def rows_of(result: MeasuredRun) -> Iterator[tuple[object, ...]]:
    """The rows of a result's frame."""
    for kind, entries in (("link", result.data["links"]), ("flows", result.data["flows"])):
        for name, entry in entries.items():
            for phase, window in _windows(entry):
                place = (kind, name, phase, window["start_s"], window["end_s"])
                for metric, value in _numbers(window):
                    yield (*place, metric, unit_of(metric), value)


def _windows(entry: LinkData | GroupData) -> list[tuple[int, LinkMetrics | GroupMetrics]]:
    """The whole run as number 0, and its phases from 1 on."""
    return list(enumerate((entry["total"], *entry["phases"])))


def _numbers(window: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, float]]:
    for key, value in window.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and key not in {"start_s", "end_s"}:
            yield f"{prefix}{key}", float(value)


def pandas_package() -> Any:  # noqa: ANN401 - a module that may not be there
    """Pandas.

    Raises:
        MissingPackageError: there is none.
    """
    return optional("pandas", "data frames")
