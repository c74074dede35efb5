"""A decision as one line of JSON, for collectors of logs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from vermilion.status.doing import LOUD

if TYPE_CHECKING:
    from vermilion.online.entries import Decision


def log_line(decision: Decision, router: str, wall_s: float) -> str:
    """One object without line breaks: when, how loud, of which queue, what and why.

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
