"""Flows that are there already, and flows that have yet to shake hands.

A flow's first packet is the one that a queue drops where it marks all others (RFC 3168, section
6.1.1), and a sender of Linux that loses it goes on without marks for good. So which flows can be
marked depends on what stood when they came. Those that are there have that behind them: what they
are has been seen, and no setting changes it. If the flows of a model shook hands again under each
setting that is tried, fewer of them could be marked the shorter the queue is, and the model would
hold queues that the network cannot: 64 senders of Linux at 10 Mbit/s and 28 ms leave 93 packets
behind marks, and such a model promised 30.

Where no packet of a flow can be marked, the first fares as all others do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_THERE: Final[Mapping[str, object]] = {"handshake": False, "ecn_fallback": False}


def marks(*, capable: bool) -> dict[str, object]:
    """What is said of a sender that is there already, and can be marked or not."""
    return {"ecn": True, **_THERE} if capable else {"ecn": False}


def come_anew(group: Mapping[str, Any]) -> dict[str, Any]:
    """A group of flows that were there, as flows that shake hands first."""
    sender = {name: value for name, value in group["sender"].items() if name not in _THERE}
    return {**group, "sender": sender}


def all_come_anew(groups: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Groups of flows that were there, by name, as flows that shake hands first."""
    return {name: come_anew(group) for name, group in groups.items()}
