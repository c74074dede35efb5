"""Instruments: records of a run beside its metrics.

:class:`FlowSeries` follows windows, :class:`PacketTrace` packets, :class:`RawDistributions` waiting
times, delays and gaps between drops, :class:`Transfers` transfers one by one.
:func:`vermilion.run` is given them; the core writes down, and what it has written is taken from it
batch by batch while the run goes on.
"""

from vermilion.simulate.instruments.flow_series import FlowSeries, FlowSeriesData
from vermilion.simulate.instruments.packet_trace import PacketTrace, PacketTraceData
from vermilion.simulate.instruments.raw_distributions import (
    RawDistribution,
    RawDistributions,
    RawDistributionsData,
)
from vermilion.simulate.instruments.recorded import Recorded, recorded_run
from vermilion.simulate.instruments.transfers import Transfers, TransfersData

__all__ = [
    "FlowSeries",
    "FlowSeriesData",
    "PacketTrace",
    "PacketTraceData",
    "RawDistribution",
    "RawDistributions",
    "RawDistributionsData",
    "Recorded",
    "Transfers",
    "TransfersData",
    "recorded_run",
]
