"""Single flows as flent's streams: what each delivered between the points of a link's series."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from vermilion.simulate.instruments.flow_series import FlowSeriesData

STREAM: Final = "TCP upload"
"""What flent calls an upload; a number follows two colons."""

MOST_STREAMS: Final = 200
"""Flows that are written; with more of them flent's plots show nothing any more."""

_RAW: Final = {
    "tcp_cwnd": ("window_packets", 1.0),
    "tcp_rtt": ("smoothed_rtt_ms", 1.0),
    "tcp_pacing_rate": ("pacing_rate_bit_per_s", 1e-6),
    "tcp_delivery_rate": ("goodput_bit_per_s", 1e-6),
}
"""What flent reads of each stream's socket, from which column, and in which unit of ours."""


class Streams:
    """The flows of a run that flent is shown, in the order of their numbers.

    Attributes:
        flows: group and number of each; stream n is the n-th of them.
        left_out: how many there were beyond :data:`MOST_STREAMS`.
    """

    def __init__(
        self, series: FlowSeriesData, groups: Collection[str], times: Sequence[float]
    ) -> None:
        """Keep those of ``groups`` that have at least two rows, sampled at ``times``."""
        found = {
            (group, flow): series.of(group, flow)
            for group, flow in series.flows()
            if group in groups
        }
        found = {flow: rows for flow, rows in found.items() if len(rows["time_s"]) > 1}
        self._rows = dict(list(found.items())[:MOST_STREAMS])
        self._times = times
        self.flows = tuple(self._rows)
        self.left_out = len(found) - len(self.flows)

    def columns(self) -> dict[str, list[float]]:
        """Goodput in Mbit/s between each time and the one before; their mean and Jain's index.

        A flow has numbers from its first row to its last, and NaN elsewhere.
        """
        if not self.flows:
            return {}
        import numpy as np

        each = [_rates(rows, self._times) for rows in self._rows.values()]
        columns = {_name(index): rates.tolist() for index, rates in enumerate(each)}
        there = np.array(each)
        known = np.isfinite(there)
        count, rates = known.sum(axis=0), np.where(known, there, 0.0)
        total, squares = rates.sum(axis=0), (rates**2).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            columns[f"{STREAM} avg"] = (total / count).tolist()
            columns[f"{STREAM} fairness"] = (total**2 / (count * squares)).tolist()
        return columns

    def raw(self) -> dict[str, list[dict[str, float]]]:
        """Readings of each flow, with window, round trip and rates."""
        return {_name(index): _readings(rows) for index, rows in enumerate(self._rows.values())}

    def names(self) -> dict[str, str]:
        """Names of the streams, like "early:3"."""
        return {_name(index): f"{group}:{flow}" for index, (group, flow) in enumerate(self.flows)}


def _name(index: int) -> str:
    return f"{STREAM}::{index + 1}"


def _rates(rows: dict[str, NDArray[Any]], times: Sequence[float]) -> NDArray[Any]:
    """Rate between successive times, Mbit/s."""
    import numpy as np

    read = rows["time_s"]
    megabits = np.nan_to_num(rows["goodput_bit_per_s"][1:]) * np.diff(read) / 1e6
    so_far = np.concatenate([[0.0], np.cumsum(megabits)])
    seen = np.asarray(times, dtype=float)
    before = np.concatenate([[0.0], seen[:-1]])
    first, last = np.clip(before, read[0], read[-1]), np.clip(seen, read[0], read[-1])
    delivered = np.interp(last, read, so_far) - np.interp(first, read, so_far)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates: NDArray[Any] = np.where(last > first, delivered / (last - first), math.nan)
    return rates


def _readings(rows: dict[str, NDArray[Any]]) -> list[dict[str, float]]:
    import numpy as np

    readings = []
    for index in np.flatnonzero(np.isfinite(rows["goodput_bit_per_s"])).tolist():
        reading = {
            "t": float(rows["time_s"][index]),
            "val": float(rows["goodput_bit_per_s"][index]) / 1e6,
        }
        for key, (column, unit) in _RAW.items():
            value = float(rows[column][index]) * unit
            if math.isfinite(value):
                reading[key] = value
        readings.append(reading)
    return readings
