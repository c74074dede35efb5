"""Queries of the live page: open questions, fairness of flows, and single queues."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from vermilion.online.entries import DecisionKind
from vermilion.online.record.restart import chain_of, left_alone, paused_by_person
from vermilion.routers.queue_set import joint_name

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

_SETTLING_KINDS: Final = (
    DecisionKind.START,
    DecisionKind.CHANGE_DETECTED,
    DecisionKind.MODEL_BUILT,
    DecisionKind.TUNED,
    DecisionKind.DECLINED,
    DecisionKind.APPLIED,
    DecisionKind.REFUSED,
    DecisionKind.LOST,
    DecisionKind.ROLLED_BACK,
    DecisionKind.BLIND,
    DecisionKind.HANDS_OFF,
    DecisionKind.RESTORED,
    DecisionKind.END,
)
"""After one of these, an earlier proposal is not open any more."""

_REPLACES: Final = (
    DecisionKind.START,
    DecisionKind.APPLIED,
    DecisionKind.ROLLED_BACK,
    DecisionKind.FELL_BACK,
    DecisionKind.HANDS_OFF,
    DecisionKind.RESTORED,
    DecisionKind.END,
)
"""The last of these says whether there is a change to be undone: only where it is "applied"."""


def open_questions(database: sqlite3.Connection, run: int) -> dict[str, Any]:
    """Open questions of a run: proposal, undo, pause.

    Returns:
        ``proposal``: the one that waits for an answer, or ``None``: its ``number``, ``time_s``,
        ``reason``, ``setting``, and what stands ``now`` of the same parameters; ``undo``: the last
        change that can be taken back, or ``None``: its ``number``, ``time_s`` and ``reason``;
        ``paused``: whether a person has asked that nothing be changed, in this run or in one that
        was killed and is continued by it; ``hands_off``: why the queue is left alone until a person
        says "resume", or ``None``.
    """
    proposal = _last(database, run, (DecisionKind.PROPOSED,))
    settled = _last(database, run, _SETTLING_KINDS)
    change = _last(database, run, _REPLACES)
    chain = list(chain_of(database, run))
    return {
        "proposal": _proposal(proposal, settled, _current_setting(database, run)),
        "undo": _undo_offer(change),
        "paused": paused_by_person(database, chain),
        "hands_off": left_alone(database, chain)[0] or None,
    }


def _proposal(
    proposal: sqlite3.Row | None, settled: sqlite3.Row | None, in_force: dict[str, Any]
) -> dict[str, Any] | None:
    if proposal is None or (settled is not None and settled["id"] > proposal["id"]):
        return None
    details = json.loads(proposal["details"])
    if details.get("number") is None:  # one that nobody is asked about: mode "observe"
        return None
    setting = details.get("setting", {})
    return {
        "number": details["number"],
        "time_s": proposal["time_s"],
        "reason": proposal["reason"],
        "setting": setting,
        "now": {name: in_force[name] for name in setting if name in in_force},
    }


def _current_setting(database: sqlite3.Connection, run: int) -> dict[str, Any]:
    """Parameters as last read back from the router."""
    row = database.execute(
        "SELECT parameters FROM setting WHERE run = ? ORDER BY id DESC LIMIT 1", (run,)
    ).fetchone()
    return {} if row is None else dict(json.loads(row["parameters"]))


def _undo_offer(change: sqlite3.Row | None) -> dict[str, Any] | None:
    if change is None or change["kind"] != DecisionKind.APPLIED:
        return None
    return {"number": change["id"], "time_s": change["time_s"], "reason": change["reason"]}


def _last(
    database: sqlite3.Connection, run: int, kinds: tuple[DecisionKind, ...]
) -> sqlite3.Row | None:
    places = ", ".join("?" * len(kinds))  # nothing of anybody's is put into the statement
    row: sqlite3.Row | None = database.execute(
        "SELECT id, time_s, kind, reason, details FROM decision WHERE run = ?"  # noqa: S608 - only question marks are put in
        f" AND kind IN ({places}) ORDER BY id DESC LIMIT 1",
        (run, *map(str, kinds)),
    ).fetchone()
    return row


SINCE_VERSION: Final = 5
"""The first version of the journal's schema that has it."""

SHARING_SERIES: Final = (
    "fairness",
    "largest_share_percent",
    "smallest_share_percent",
    "heard_flows",
    "compared_flows",
    "silent_flows",
)
"""Series drawn; of several queues, those of the least fair one."""

_HOLDS_S = 1.6
"""So long the last word stands; of a controller that says nothing for longer nothing is drawn."""

# SQLite takes the other columns from the row that has the least index.
_LEAST_OF_BUCKET: Final = (
    "SELECT CAST((time_s - ?1 - 1e-6) / ?2 AS INTEGER) AS bucket, time_s,"
    " min(jain_index) AS jain_index, largest_share, smallest_share, flows,"
    " compared_flows, silent_flows"
    " FROM flow_shares WHERE run = ?3 AND time_s > ?4 + 1e-6 AND time_s <= ?5 + 1e-6"
    " AND (?6 = '' OR link = ?6) GROUP BY bucket ORDER BY bucket"
)


def has_sharing(database: sqlite3.Connection) -> bool:
    """Return whether a journal's version has flow shares."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return bool(version >= SINCE_VERSION)


def sharing_series(
    database: sqlite3.Connection,
    run: int,
    ends_s: Sequence[float],
    start_s: float,
    bucket_s: float,
    queue: str,
) -> dict[str, list[float | None]]:
    """Least of Jain's indices recorded in each point's time, with its details.

    Args:
        database: the journal.
        run: its number.
        ends_s: the ends of the points.
        start_s: where the first bucket begins.
        bucket_s: the length of one.
        queue: one of several; "" for all of them, or the only one.
    """
    series: dict[str, list[float | None]] = {name: [] for name in SHARING_SERIES}
    rows: list[sqlite3.Row] = []
    if ends_s and has_sharing(database):
        where = (start_s, bucket_s, run, start_s - _HOLDS_S, ends_s[-1], queue)
        rows = database.execute(_LEAST_OF_BUCKET, where).fetchall()
    latest: sqlite3.Row | None = None
    place = 0
    for end_s in ends_s:
        while place < len(rows) and rows[place]["time_s"] <= end_s + 1e-6:
            latest = rows[place]
            place += 1
        holds = latest is not None and end_s - latest["time_s"] <= max(_HOLDS_S, bucket_s)
        for name, value in zip(SHARING_SERIES, _values(latest if holds else None), strict=True):
            series[name].append(value)
    return series


def _values(row: sqlite3.Row | None) -> tuple[float | None, ...]:
    if row is None:
        return (None,) * len(SHARING_SERIES)
    return (
        row["jain_index"],
        _percent(row["largest_share"]),
        _percent(row["smallest_share"]),
        row["flows"],
        row["compared_flows"],
        row["silent_flows"],
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


LINE_SERIES: Final = ("rate_mbit_per_s", "capacity_mbit_per_s", "wait_here_ms", "wait_line_ms")
"""Series of a shaper that is kept at the rate of its line; ``None`` of any other queue."""

_LINE: Final = (
    "SELECT CAST((time_s - ?1 - 1e-6) / ?2 AS INTEGER) AS bucket, 1e-6 * avg(rate_bit_per_s),"
    " 1e-6 * avg(capacity_bit_per_s), 1e3 * avg(wait_here_s), 1e3 * avg(wait_line_s)"
    " FROM line_sample WHERE run = ?3 AND time_s > ?1 + 1e-6 AND time_s <= ?4 + 1e-6"
    " GROUP BY bucket"
)


def line_series(
    database: sqlite3.Connection,
    run: int,
    ends_s: Sequence[float],
    start_s: float,
    bucket_s: float,
) -> dict[str, list[float | None]]:
    """Return means over each point's time; arguments as of :func:`sharing_series`."""
    known = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'line_sample'").fetchone()
    means: dict[int, Sequence[float | None]] = {}
    if known and ends_s:
        rows = database.execute(_LINE, (start_s, bucket_s, run, ends_s[-1]))
        means = {bucket: values for bucket, *values in rows}
    nothing = (None,) * len(LINE_SERIES)
    buckets = [int((end_s - start_s - 1e-6) / bucket_s) for end_s in ends_s]
    points = [means.get(bucket, nothing) for bucket in buckets]
    return {name: [point[n] for point in points] for n, name in enumerate(LINE_SERIES)}


NOW_S: Final = 2.0
"""Period of each queue's present values, seconds."""


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
    """Present values of each queue, over the last :data:`NOW_S`; unknown ones are ``None``.

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
    return [
        _current_values(name, found.get(name), sharing.get(name, (None, None))) for name in queues
    ]


def _current_values(
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
    """Decisions that concern one queue, with its own part of the setting.

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
            "reason": _reason_for_queue(decision, queue) if queue else decision["reason"],
        }
        for decision in decisions
        if not any(decision["reason"].startswith(f"{other}: ") for other in others)
    ]


def _reason_for_queue(decision: Mapping[str, Any], queue: str) -> str:
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
