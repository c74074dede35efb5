"""Results as data frames (pandas), in long form: a row for each number.

One form for everything: a result has links and groups of flows, each of them has the whole run
and its phases, and which numbers there are depends on what could be computed. In long form a
number that could not be computed is a row that is not there, results of different scenarios
go into one frame, and ``pivot_table`` makes any table of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario import Scenario
from vermilion.simulate.extras import optional
from vermilion.simulate.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from vermilion.simulate.comparison import Comparison
    from vermilion.simulate.result_data import GroupData, GroupMetrics, LinkData, LinkMetrics

COLUMNS: Final = ("kind", "name", "phase", "start_s", "end_s", "metric", "unit", "value")
"""The columns of a result's frame."""

MANY_COLUMNS: Final = ("variant", "seed", *COLUMNS)
"""The columns of a frame of many results."""

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

FLOW_COLUMNS: Final = ("group", "flow", "phase", "start_s", "end_s")
"""The columns of a frame of single flows, before those with the flows' metrics."""

_UNITS: Final = {
    "arrivals": "packets",
    "packets_forwarded": "packets",
    "drops": "packets",
    "overflow_drops": "packets",
    "forced_drops": "packets",
    "marks": "packets",
    "queued_at_start": "packets",
    "queued_at_end": "packets",
    "retransmissions": "packets",
    "packets_sent": "packets",
    "packets_delivered": "packets",
    "packets_lost": "packets",
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
    key = metric.partition(".")[0]
    if key in _UNITS:
        return _UNITS[key]
    return next((unit for suffix, unit in _SUFFIXES if key.endswith(suffix)), "1")


def result_frame(result: Result) -> pd.DataFrame:
    """A row for each number of a result; see :meth:`Result.to_frame`."""
    pandas = _pandas()
    frame: pd.DataFrame = pandas.DataFrame.from_records(list(_rows(result)), columns=COLUMNS)
    return frame


def flows_frame(result: Result) -> pd.DataFrame:
    """A row for each single flow in each window; see :meth:`Result.flows_frame`."""
    pandas = _pandas()
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


def series_frame(result: Result, link: str | None = None) -> pd.DataFrame:
    """The time series of one link or of all; see :meth:`Result.series_frame`."""
    pandas = _pandas()
    links = result.links if link is None else [link]
    parts = [pandas.DataFrame({"link": name, **result.series(name)}) for name in links]
    frame: pd.DataFrame = parts[0] if len(parts) == 1 else pandas.concat(parts, ignore_index=True)
    return frame


def frames(
    results: Result
    | Iterable[Result | None]
    | Iterable[Iterable[Result | None]]
    | Mapping[str, Iterable[Result | None]],
) -> pd.DataFrame:
    """Many results as one data frame in long form: a row for each number.

    Args:
        results: what :func:`run_many` returns (the variants are then called "0", "1", ...);
            or the results of each variant by its name; or some results of one variant. Runs
            that a deadline cut short (``None``) have no rows. A comparison has frames of its
            own (:meth:`Comparison.to_frame`, :meth:`Comparison.runs_frame`).

    Returns:
        The columns of :meth:`Result.to_frame` after ``variant`` and ``seed``.

    Raises:
        TypeError: these are no results, with what would be accepted.
        MissingPackageError: there is no pandas.
    """
    chosen = list(_by_variant(results))
    pandas = _pandas()
    rows = [(variant, result.seed, *row) for variant, result in chosen for row in _rows(result)]
    frame: pd.DataFrame = pandas.DataFrame.from_records(rows, columns=MANY_COLUMNS)
    return frame


def comparison_frame(comparison: Comparison) -> pd.DataFrame:
    """A row for each number that is compared; see :meth:`Comparison.to_frame`."""
    pandas = _pandas()
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


def _by_variant(results: Any) -> Iterator[tuple[str, Result]]:  # noqa: ANN401 - see frames
    if not isinstance(results, Mapping):
        entries = _replications(results)
        flat = all(entry is None or isinstance(entry, Result) for entry in entries)
        results = dict(zip(map(str, range(len(entries))), entries, strict=True))
        if flat:
            results = {"0": entries}
    for name, replications in results.items():
        for result in _replications(replications):
            if isinstance(result, Result):
                yield name, result
            elif result is not None:
                raise _no_result(result)


def _replications(results: Any) -> list[Any]:  # noqa: ANN401 - whatever is given as results
    """The results of one variant, or of several."""
    if isinstance(results, Result):
        return [results]
    # A scenario and a text could be iterated over as well.
    if isinstance(results, str | Mapping | Scenario) or not isinstance(results, Iterable):
        raise _no_result(results)
    return list(results)


def _no_result(given: object) -> TypeError:
    kind = type(given).__name__
    accepted = (
        "what run or run_many returns, a list of such results, or a dictionary of them by name; "
        "a scenario has to be run first, and a comparison has to_frame() and runs_frame()"
    )
    return TypeError(f"frames: {kind} is not accepted; expected {accepted}")


def _rows(result: Result) -> Iterator[tuple[object, ...]]:
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


def _pandas() -> Any:  # noqa: ANN401 - a module that may not be there
    return optional("pandas", "data frames")
