"""Curves over time of flows and groups, and fairness over time, from a run's flow series."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vermilion.simulate.instruments.flow_series import FlowSeriesData

    Values = NDArray[np.float64]

MOST_FLOWS: Final = 6
"""Flows that have a curve each; of more, each group has one."""

_BINS: Final = 160


@dataclass(frozen=True, slots=True)
class Curve:
    """A flow, or a group of flows, over time.

    Attributes:
        name: of the group, and the flow's number where it is one of several.
        time_s: middles of equal stretches of time.
        goodput_bit_per_s: delivered in order in each, of all flows of the curve together.
        window_packets: congestion window, mean of its flows.
        round_trip_ms: smoothed round trip, mean of its flows.

    What is unknown is NaN, as before the first flow begins.
    """

    name: str
    time_s: Values = field(repr=False)
    goodput_bit_per_s: Values = field(repr=False)
    window_packets: Values = field(repr=False)
    round_trip_ms: Values = field(repr=False)


def curves_of(
    series: FlowSeriesData, *, each: bool | None = None, bins: int = _BINS
) -> list[Curve]:
    """A curve for each flow, or for each group where there are more than a few.

    Args:
        series: of a run.
        each: whether each flow has one, however many there are; ``None`` decides by their number.
        bins: stretches of time, of which there are no more than readings.
    """
    flows = series.flows()
    if each is None:
        each = len(flows) <= MOST_FLOWS
    if not len(series):
        return []
    edges = _edges(series["time_s"], bins)
    counts = {group: sum(1 for name, _ in flows if name == group) for group, _ in flows}
    chosen: list[tuple[str, NDArray[np.bool_]]] = []
    for group, count in counts.items():
        rows = series["group"] == series.groups.index(group)
        if not each or count == 1:
            chosen.append((group, rows))
            continue
        chosen += [
            (f"{group}:{flow}", rows & (series["flow"] == flow))
            for name, flow in flows
            if name == group
        ]
    return [_curve(series, name, rows, edges) for name, rows in chosen]


def jain_over_time(series: FlowSeriesData, window_s: float) -> tuple[Values, Values]:
    """Jain's index of the flows' goodputs in each stretch of ``window_s`` seconds.

    A stretch counts the flows that have rows in it. One in which nobody delivers is NaN.

    Returns:
        The ends of the stretches, seconds, and the indices.
    """
    import numpy as np

    last = float(series["time_s"].max()) if len(series) else 0.0
    edges = np.arange(0.0, last + window_s / 2, window_s)
    if len(edges) < 2:  # noqa: PLR2004 - two edges have one stretch between them
        return edges[:0], edges[:0]
    rates = np.array(
        [curve.goodput_bit_per_s for curve in _curves_between(series, edges)], dtype=np.float64
    )
    there = ~np.isnan(rates)
    total, squares = np.nansum(rates, axis=0), np.nansum(rates**2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return edges[1:], total**2 / (there.sum(axis=0) * squares)


def time_to_fairness(
    ends_s: Values, jain: Values, since_s: float, *, level: float = 0.9, stretches: int = 3
) -> float | None:
    """Seconds from an instant until Jain's index reaches a level and stays there for a while.

    Args:
        ends_s: ends of the stretches of time.
        jain: the index in each.
        since_s: the instant, such as the start of the last flow.
        level: that has to be reached.
        stretches: so many in a row.

    Returns:
        ``None`` where that does not happen.
    """
    reached = 0
    for end, index in zip(ends_s, jain, strict=True):
        reached = reached + 1 if end > since_s and index >= level else 0
        if reached == stretches:
            first = ends_s[list(ends_s).index(end) - stretches + 1]
            return max(0.0, float(first) - since_s)
    return None


def _curves_between(series: FlowSeriesData, edges: Values) -> list[Curve]:
    return [
        _curve(
            series,
            f"{group}:{flow}",
            (series["group"] == series.groups.index(group)) & (series["flow"] == flow),
            edges,
        )
        for group, flow in series.flows()
    ]


def _edges(times: Values, bins: int) -> Values:
    import numpy as np

    readings = len(np.unique(times))
    return np.linspace(0.0, float(times.max()), max(1, min(bins, readings)) + 1)


def _curve(series: FlowSeriesData, name: str, rows: NDArray[np.bool_], edges: Values) -> Curve:
    import numpy as np

    time, flow = series["time_s"][rows], series["flow"][rows]
    steps = _steps(time, flow)
    order = np.argsort(time, kind="stable")
    # The first row of a flow may have no goodput.
    delivered = np.cumsum(np.nan_to_num(steps * series["goodput_bit_per_s"][rows])[order])
    ends = time[order]
    # Of rows of one instant, the last has all that was delivered by then.
    last = np.append(ends[1:] > ends[:-1], [True])
    begin = float((time - steps).min())
    known_at = np.concatenate([[begin], ends[last]])
    known = np.concatenate([[0.0], delivered[last]])
    width = np.diff(edges)
    goodput = np.diff(np.interp(edges, known_at, known)) / width
    goodput[(edges[1:] <= begin) | (edges[:-1] >= ends[-1])] = np.nan
    places = np.clip(np.searchsorted(edges, time, side="left") - 1, 0, len(width) - 1)
    return Curve(
        name,
        (edges[:-1] + edges[1:]) / 2,
        goodput,
        _means(places, series["window_packets"][rows], len(width)),
        _means(places, series["smoothed_rtt_ms"][rows], len(width)),
    )


def _steps(time: Values, flow: NDArray[np.uint32]) -> Values:
    """Seconds since each flow's row before; of its first row, the median of all."""
    import numpy as np

    order = np.lexsort((time, flow))
    gaps = np.diff(time[order])
    same = flow[order][1:] == flow[order][:-1]
    usual = float(np.median(gaps[same])) if same.any() else float(time.min())
    steps = np.empty(len(time))
    steps[order] = np.concatenate([[usual], np.where(same, gaps, usual)])
    return np.minimum(steps, time)


def _means(places: NDArray[np.int64], values: Values, bins: int) -> Values:
    import numpy as np

    known = ~np.isnan(values)
    count = np.bincount(places[known], minlength=bins)
    total = np.bincount(places[known], weights=values[known], minlength=bins)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(total / count, dtype=np.float64)
