"""How the flows share a queue, as it is drawn: the latest of each point, for as long as it holds.

The controller says it once a second, and a point may be shorter than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

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
"""What is drawn of it; of several queues together, that of the queue whose flows share worst."""

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
    """Whether a journal is of a version that says how flows share."""
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
    """For each point the least of Jain's indices that were told in it, with what goes with it.

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
