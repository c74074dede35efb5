"""Decisions for people and log collectors: states, severity, and log lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from vermilion.online.entries import DecisionKind

if TYPE_CHECKING:
    from vermilion.online.entries import Decision

_WAITS: Final = "waiting for a steady traffic estimate"
_SEARCHES: Final = "searching settings in a model of the traffic"
_VERIFIES: Final = "verifying the new setting on the network"
_WATCHES: Final = "watching; the setting stays"

DOING: Final[dict[DecisionKind, str]] = {
    DecisionKind.FOUND: "starting",
    DecisionKind.UNREADABLE: "starting",
    DecisionKind.START: _WAITS,
    DecisionKind.CHANGE_DETECTED: _WAITS,
    DecisionKind.FLUCTUATING: _WAITS,
    DecisionKind.QUIET: "waiting for traffic; there is too little to tune anything",
    DecisionKind.MODEL_BUILT: _SEARCHES,
    DecisionKind.CALIBRATED: _SEARCHES,
    DecisionKind.UNEXPLAINED: "watching; no model explains the traffic",
    DecisionKind.TUNED: "deciding whether what was found is worth a change",
    DecisionKind.SEARCH_FAILED: _WATCHES,
    DecisionKind.STALE: _WAITS,
    DecisionKind.KEPT: _WATCHES,
    DecisionKind.PROPOSED: "waiting for a person's answer, or only saying what it would do",
    DecisionKind.DECLINED: _WATCHES,
    DecisionKind.HELD_BACK: "waiting until the budget allows a change",
    DecisionKind.RECALLED: "putting a setting in force that it knows",
    DecisionKind.APPLIED: _VERIFIES,
    DecisionKind.REFUSED: _WATCHES,
    DecisionKind.LOST: "reading back what is in force",
    DecisionKind.VERIFIED: _WATCHES,
    DecisionKind.UNPROVEN: _WATCHES,
    DecisionKind.UNVERIFIED: _WATCHES,
    DecisionKind.CONSTRAINT_BROKEN: "watching; what you asked for is broken",
    DecisionKind.ROLLED_BACK: "watching; the last setting was taken back",
    DecisionKind.CORRECTED: _SEARCHES,
    DecisionKind.PAUSED: "paused; the queue tells nothing now",
    DecisionKind.RESUMED: _WATCHES,
    DecisionKind.BEHIND: "watching where packets wait, here or behind this queue",
    DecisionKind.BLACKOUT: "putting an end to a queue's dropping everything, as far as it may",
    DecisionKind.BLIND: "waiting for the router to answer",
    DecisionKind.SIGHTED: _WAITS,
    DecisionKind.FELL_BACK: "waiting for the router to answer, under the setting for blind times",
    DecisionKind.HANDS_OFF: "hands off: somebody else has changed the queue",
    DecisionKind.RESTORED: "ending",
    DecisionKind.END: "ended",
}
"""By the kind of the last decision."""

PAUSED_BY_PERSON: Final = "paused; a person has asked that nothing be changed"
"""State after a person has paused it."""

LOUD: Final = frozenset(
    {
        DecisionKind.UNREADABLE,
        DecisionKind.SEARCH_FAILED,
        DecisionKind.REFUSED,
        DecisionKind.LOST,
        DecisionKind.CONSTRAINT_BROKEN,
        DecisionKind.ROLLED_BACK,
        DecisionKind.BLACKOUT,
        DecisionKind.BLIND,
        DecisionKind.FELL_BACK,
        DecisionKind.HANDS_OFF,
    }
)
"""Kinds that an operator wants to be told of: level "warning"."""


def log_line(decision: Decision, router: str, wall_s: float) -> str:
    """Return a decision as one line of JSON: time, level, queue, kind, reason.

    Args:
        decision: what was decided.
        router: the queue's address.
        wall_s: the wall clock, seconds since 1970.
    """
    return json.dumps(
        {
            "time": datetime.fromtimestamp(wall_s, UTC).isoformat(timespec="milliseconds"),
            "level": "warning" if decision.kind in LOUD else "info",
            "event": str(decision.kind),
            "router": router,
            "reason": decision.reason,
            "run_time_s": decision.time_s,
            "details": decision.details,
        },
        default=str,
    )
