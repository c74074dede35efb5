"""What a passive monitor can know of a network: flows, round trips, losses, ECN.

:func:`read_capture` reads a capture file of tcpdump or Wireshark and returns a
:class:`CaptureSummary`. The work is the core's (``crates/monitor``); no packet is looked at in
Python.
"""

from __future__ import annotations

from vermilion.monitor.capture import CaptureFileError, RoundTrips, read_capture
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
    "DirectionSummary",
    "End",
    "FlowSummary",
    "RoundTripTimes",
    "RoundTrips",
    "SizeBin",
    "read_capture",
]
