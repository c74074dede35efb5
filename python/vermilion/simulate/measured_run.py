"""Measurements of a run, as plain dictionaries with documented keys.

How it is shown and saved is :class:`vermilion.simulate.result.Result`'s. The functions by which it
does that know only what stands here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from vermilion.simulate.instruments.recorded import Recorded

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.simulate.instruments.flow_series import FlowSeriesData
    from vermilion.simulate.instruments.packet_trace import PacketTraceData
    from vermilion.simulate.instruments.raw_distributions import RawDistributionsData
    from vermilion.simulate.instruments.transfers import TransfersData
    from vermilion.simulate.result_data import GroupMetrics, Ledger, LinkMetrics, ResultData

    Series = Mapping[str, NDArray[np.float64]]


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class LinkResult:
    """One link's metrics.

    Attributes:
        total: over the whole run after the warm-up. ``utilization`` is between 0 and 1;
            ``queue_packets``, ``queue_bytes``, ``average_queue_packets`` (only where the
            discipline has an average) and ``sojourn_ms`` each hold mean, sd, p5, p50, p95,
            p99 and max; further ``start_s``, ``end_s``, ``packets_forwarded``, ``arrivals``,
            ``drops``, ``marks``, ``drop_rate``, ``mark_rate``.
        phases: the same for each phase.
        ledger: what went in and came out over the whole run from 0 s: Little's law.
    """

    total: LinkMetrics
    phases: list[LinkMetrics]
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class FlowsResult:
    """One flow group's metrics.

    Attributes:
        total: over the whole run after the warm-up: ``goodput_bit_per_s`` (total, mean, sd,
            min, max), ``jain_index``, ``goodput_cov``, ``timeouts``, ``retransmissions`` and,
            from a single run, ``each`` flow. Where flows have an end of their own also
            ``transfers_begun``, ``completed`` and ``completion_time_s`` (count, mean, sd, min,
            p5, p50, p95, p99, max); where they come and go, only the total of the goodput. With
            ``flow_delays`` also ``delay_ms`` (mean, sd, p5, p50, p95, p99, max), ``jitter_ms``,
            ``packet_loss_rate``, ``losses_in_a_row`` (count, mean, max) and what they were
            counted over: ``packets_sent``, ``packets_delivered``, ``packets_lost``,
            ``jitter_pairs``.
        phases: the same for each phase.
    """

    total: GroupMetrics
    phases: list[GroupMetrics]


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """Measurements of one run.

    A number that cannot be computed is absent from the dictionaries, never zero.

    Attributes:
        data: ``seed``, ``version``, ``packets_forwarded``, ``events``, ``links``, ``flows``
            and, for a single run, ``wall_s`` and ``cpu_s`` of the simulation alone. A run that
            Ctrl-C has ended has ``interrupted_at_s``; what it measured ends there.
    """

    data: ResultData
    _series: Mapping[str, Series] = field(default_factory=dict, repr=False)
    _recorded: Recorded = field(default_factory=Recorded, repr=False)

    @property
    def flow_series(self) -> FlowSeriesData | None:
        """Windows over time, if the run had a :class:`~vermilion.FlowSeries`."""
        return self._recorded.flow_series

    @property
    def packets(self) -> PacketTraceData | None:
        """Traced packets, if the run had a :class:`~vermilion.PacketTrace`."""
        return self._recorded.packets

    @property
    def raw_distributions(self) -> RawDistributionsData | None:
        """Every queueing delay, delay and gap, if it had a :class:`~vermilion.RawDistributions`."""
        return self._recorded.raw_distributions

    @property
    def transfers(self) -> TransfersData | None:
        """Transfers one by one, if the run had a :class:`~vermilion.Transfers`."""
        return self._recorded.transfers

    @property
    def seed(self) -> int:
        """The seed it was run with."""
        return self.data["seed"]

    @property
    def links(self) -> list[str]:
        """The names of the links."""
        return list(self.data["links"])

    @property
    def groups(self) -> list[str]:
        """The names of the flow groups."""
        return list(self.data["flows"])

    def link(self, name: str) -> LinkResult:
        """One link's metrics.

        Raises:
            KeyError: there is no such link.
        """
        entry = _lookup("link", name, self.data["links"])
        return LinkResult(entry["total"], entry["phases"], entry["ledger"])

    def flows(self, group: str) -> FlowsResult:
        """One flow group's metrics.

        Raises:
            KeyError: there is no such group.
        """
        entry = _lookup("flow group", group, self.data["flows"])
        return FlowsResult(entry["total"], entry["phases"])

    def series(self, link: str) -> Series:
        """One link's time series: arrays of one length, a point at each probe interval.

        ``time_s``, ``queue_packets``, ``queue_bytes``, ``average_queue_packets`` and
        ``drop_probability`` (NaN where the discipline has none), ``throughput_bit_per_s``,
        ``rate_bit_per_s``, ``arrivals``, ``drops``, ``marks``.

        Raises:
            KeyError: there is no such link, or the run had no ``probe_interval_s``.
        """
        if not self._series:
            message = "no time series: run with probe_interval_s"
            raise KeyError(message)
        return _lookup("link", link, self._series)

    def to_json(self, indent: int | None = 2) -> str:
        """Return the data as strict JSON: numbers that cannot be computed are absent, never NaN."""
        return json.dumps(self.data, indent=indent, allow_nan=False)


def _lookup(kind: str, name: str, known: Mapping[str, Value]) -> Value:
    if name not in known:
        message = f"no {kind} {name!r}; there is {', '.join(known)}"
        raise KeyError(message)
    return known[name]
