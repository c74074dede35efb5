"""The counters of a queue as a reading that never goes back. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.routers.base import Reading

if TYPE_CHECKING:
    from vermilion.routers.linux.state import QueueState
    from vermilion.routers.linux.wrapping import Unwrapped


def reading_of(now: QueueState, unwrapped: Unwrapped, time_s: float) -> Reading:
    """The counters of a queue; those of 32 bits go on where the kernel's begin again at 0.

    Args:
        now: the queue.
        unwrapped: its counters so far; they are taken further.
        time_s: when it was read.
    """
    told = now.statistics
    raw = {"drops": told.drops or 0, **now.counters}
    if told.packets_wrap:
        raw["packets"] = told.packets or 0
    whole = unwrapped.take(raw, told.sent_bytes or 0, now.handle)
    return Reading(
        time_s=time_s,
        backlog_packets=told.backlog_packets or 0,
        backlog_bytes=told.backlog_bytes or 0,
        forwarded_packets=whole.get("packets", told.packets or 0),
        forwarded_bytes=told.sent_bytes or 0,
        drops=whole["drops"],
        marks=now.options.marked(whole) or 0,
    )
