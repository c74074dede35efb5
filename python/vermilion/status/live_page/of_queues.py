"""Several queues on one page: which there are, how each is now, and which decisions concern one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from vermilion.routers.queue_set import joint_name
from vermilion.status.live_page.sharing import has_sharing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

NOW_S: Final = 2.0
"""What is told of each queue is of so many seconds."""


def queues_of(database: sqlite3.Connection, run: int, joint: str) -> list[str]:
    """The links whose queues are controlled together; none where there is one queue.

    Args:
        database: the journal.
        run: its number.
        joint: what the run calls all of them.
    """
    known = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'queue_sample'").fetchone()
    if known is None:  # a journal of an earlier version
        return []
    rows = database.execute(
        "SELECT link FROM queue_sample WHERE run = ?1 AND time_s ="
        " (SELECT min(time_s) FROM queue_sample WHERE run = ?1) ORDER BY link",
        (run,),
    )
    # As the run names them all together, which is the order in which they were configured.
    together = f"+{joint}+"
    return sorted((row["link"] for row in rows), key=lambda link: together.find(f"+{link}+"))


def queues_now(
    database: sqlite3.Connection, run: int, queues: Sequence[str], end_s: float
) -> list[dict[str, Any]]:
    """How each of several queues is, over the last :data:`NOW_S`; what nobody knows is ``None``.

    How long packets wait is what waits over the rate at which it leaves, as for the whole.
    """
    sharing = {}
    if has_sharing(database):
        rows = database.execute(
            "SELECT link, max(time_s), jain_index, flows FROM flow_shares WHERE run = ?"
            " AND time_s > ? AND time_s <= ? + 1e-6 GROUP BY link",
            (run, end_s - NOW_S, end_s),
        )
        sharing = {row["link"]: (row["jain_index"], row["flows"]) for row in rows}
    rows = database.execute(
        "SELECT link, sum(interval_s) AS seconds, avg(backlog_packets) AS queue,"
        " avg(backlog_bytes) AS waiting, sum(bytes) AS bytes, sum(packets) AS packets,"
        " sum(drops) AS drops FROM queue_sample WHERE run = ? AND time_s > ? + 1e-6"
        " AND time_s <= ? + 1e-6 GROUP BY link",
        (run, end_s - NOW_S, end_s),
    )
    found = {row["link"]: row for row in rows}
    return [_now(name, found.get(name), sharing.get(name, (None, None))) for name in queues]


def _now(
    name: str, row: sqlite3.Row | None, sharing: tuple[float | None, int | None]
) -> dict[str, Any]:
    values: dict[str, Any] = dict.fromkeys(
        ("waiting_ms", "queue_packets", "throughput_mbit_per_s", "drops_percent")
    )
    if row is not None:
        seconds, leaving, offered = row["seconds"], row["bytes"], row["packets"] + row["drops"]
        values["queue_packets"] = row["queue"]
        if seconds:
            values["throughput_mbit_per_s"] = 8e-6 * leaving / seconds
        if seconds and leaving:
            values["waiting_ms"] = 1e3 * row["waiting"] * seconds / leaving
        if offered:
            values["drops_percent"] = 100.0 * row["drops"] / offered
    fairness, flows = sharing
    return {"queue": name, **values, "flows": flows, "fairness": fairness}


def concerning(
    decisions: Sequence[Mapping[str, Any]], queue: str, queues: Sequence[str]
) -> list[dict[str, Any]]:
    """The decisions that concern one queue, with its own part of what was set.

    What begins with the name of another queue is about that one alone. A joint setting names the
    parameters of all queues; those of others are left out, and this one's lose its name.

    Args:
        decisions: each with ``reason`` and ``details``, JSON.
        queue: which queue; "" for all of them.
        queues: all of them.

    Returns:
        The decisions without their details.
    """
    others = [name for name in queues if name != queue] if queue else []
    return [
        {
            **{name: value for name, value in decision.items() if name != "details"},
            "reason": _own_part(decision, queue) if queue else decision["reason"],
        }
        for decision in decisions
        if not any(decision["reason"].startswith(f"{other}: ") for other in others)
    ]


def _own_part(decision: Mapping[str, Any], queue: str) -> str:
    reason = str(decision["reason"])
    setting = json.loads(decision["details"]).get("setting")
    if not isinstance(setting, dict):
        return reason
    own = joint_name(queue, "")
    named = False
    for name in setting:
        # As it is written: the parameter, its value with a unit, and a comma where another follows.
        text = rf"(?<![\w.]){re.escape(name)} [^,:;]+"
        if name.startswith(own):
            reason, found = re.subn(
                rf"(?<![\w.]){re.escape(name)} ", f"{name.removeprefix(own)} ", reason
            )
            named = named or found > 0
        else:
            reason = re.sub(rf"{text}, |, {text}(?=[:;]|$)|{text}", "", reason)
    return reason if named else str(decision["reason"])
