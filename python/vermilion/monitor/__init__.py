"""Passive monitor: a network's flows, round trips, losses and ECN, seen from its packets.

:func:`read_capture` reads a capture file of tcpdump or Wireshark and returns a
:class:`CaptureSummary`. The work is the core's (``crates/monitor``); no packet is looked at in
Python. :class:`InterfaceWatch` does the same for the packets that pass an interface now.
"""

from __future__ import annotations

from vermilion.monitor.capture import CaptureFileError, RoundTrips, Volumes, read_capture
from vermilion.monitor.interface import Departing, InterfaceWatch, Listening
from vermilion.monitor.packet_filter import Sampling
from vermilion.monitor.packet_ring import InterfaceError
from vermilion.monitor.summary import (
    Amount,
    CaptureSummary,
    DirectionSummary,
    End,
    FlowSummary,
    RoundTripTimes,
    SizeBin,
)

__all__ = [
    "Amount",
    "CaptureFileError",
    "CaptureSummary",
    "Departing",
    "DirectionSummary",
    "End",
    "FlowSummary",
    "InterfaceError",
    "InterfaceWatch",
    "Listening",
    "RoundTripTimes",
    "RoundTrips",
    "Sampling",
    "SizeBin",
    "Volumes",
    "read_capture",
]
