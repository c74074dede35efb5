"""Contents of a live page: runs, series of bounded length, decisions, settings of a journal.

The journal is opened for reading only, anew for each question, so that a page can be open while a
controller writes, and no question holds the file longer than it takes to answer.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion.files.sqlite import NONSENSE
from vermilion.online.entries import DecisionKind
from vermilion.online.record.restart import read_journal
from vermilion.routers.queue_set import joint_name
from vermilion.status.from_journal import run_clock
from vermilion.status.live_page.journal_queries import (
    LINE_SERIES,
    SHARING_SERIES,
    concerning,
    has_sharing,
    line_series,
    open_questions,
    queues_now,
    queues_of,
    sharing_series,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_ENDS: Final = frozenset(
    {
        DecisionKind.APPLIED,
        DecisionKind.RECALLED,
        DecisionKind.ROLLED_BACK,
        DecisionKind.FELL_BACK,
        DecisionKind.RESTORED,
        DecisionKind.CHANGE_DETECTED,
        DecisionKind.HANDS_OFF,
        DecisionKind.END,
    }
)
"""Another setting is in force, or the conditions are no longer those of the promise."""

CONCERNING_BANDS: Final = (DecisionKind.TUNED, *sorted(_ENDS))
"""The decisions that :func:`bands` has to be told; it passes over all others."""


def bands(
    decisions: Iterable[tuple[float, str, Mapping[str, Any]]], end_s: float
) -> list[dict[str, float]]:
    """Stretches of time with the queue that was promised for them.

    A promise is made by the last search before a setting is applied. It holds until another setting
    is in force, or until the conditions are noticed to have changed.

    Args:
        decisions: when, of which kind, with which details; in order.
        end_s: of what is shown.

    Returns:
        ``start_s``, ``end_s``, ``mean_packets`` and ``sd_packets`` of each.
    """
    found: list[dict[str, float]] = []
    promised: tuple[float, float] | None = None
    open_band: dict[str, float] | None = None
    for time_s, kind, details in decisions:
        if kind in _ENDS and open_band is not None:
            found.append({**open_band, "end_s": time_s})
            open_band = None
        if kind == DecisionKind.TUNED:
            mean, spread = details.get("predicted_mean"), details.get("predicted_sd")
            promised = None
            if isinstance(mean, int | float) and isinstance(spread, int | float):
                promised = float(mean), float(spread)
        elif kind == DecisionKind.APPLIED and promised is not None:
            mean, spread = promised
            open_band = {"start_s": time_s, "mean_packets": mean, "sd_packets": spread}
            promised = None
    if open_band is not None:
        found.append({**open_band, "end_s": end_s})
    return [band for band in found if band["end_s"] > band["start_s"]]


LIVE_BUCKET_S: Final = 0.5
"""The time between two points of what is drawn live."""

LIVE_WINDOW_S: Final = 600.0
"""Period drawn live: the last ten minutes."""

MOST_POINTS: Final = 1200
"""Points in a series, however long the time is that it covers."""

MOST_DECISIONS: Final = 200
"""Decisions in an answer: the latest of the time it covers."""

_LARGEST_ID: Final = 2**63 - 1
"""SQLite has no larger number for a row, and Python hands it none."""

SERIES: Final = (
    "time_s",
    "queue_packets",
    "queue_most_packets",
    "waiting_ms",
    "throughput_mbit_per_s",
    "drops_percent",
    "marks_percent",
    "flows",
    "round_trip_ms",
    *SHARING_SERIES,
    *LINE_SERIES,
)
"""Series as parallel arrays; a value that was not measured is ``None``."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Position of a watcher: the last bucket's end, decision, setting, and the end."""

    time_s: float = 0.0
    decision: int = 0
    setting: int = 0
    ended: bool = False

    def text(self) -> str:
        """Identifier for a browser, which sends it again when it comes back."""
        return f"{self.time_s!r}:{self.decision}:{self.setting}:{self.ended:d}"

    @classmethod
    def of(cls, text: str) -> Cursor:
        """The inverse of :meth:`text`.

        Raises:
            ValueError: it is something else.
        """
        time_s, decision, setting, ended = text.split(":")
        found = cls(float(time_s), int(decision), int(setting), ended == "1")
        if not 0.0 <= found.time_s < float("inf"):
            message = "no time"
            raise ValueError(message)
        if not all(0 <= number <= _LARGEST_ID for number in (found.decision, found.setting)):
            message = "no number of a row"
            raise ValueError(message)
        return found


class JournalReader:
    """A journal, read again and again.

    Every method raises ``sqlite3.Error`` where the file is no journal or cannot be read.

    Args:
        path: the journal.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def runs(self) -> list[dict[str, Any]]:
        """All runs, the latest first; none of a file that is not there yet."""
        if not self._path.exists():
            return []
        with self._open() as database:
            return [_run(row) for row in database.execute("SELECT * FROM run ORDER BY id DESC")]

    def latest(self) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """The last run, ``None`` where there is none, and its open questions."""
        with self._open() as database:
            row = database.execute("SELECT * FROM run ORDER BY id DESC LIMIT 1").fetchone()
            return (None, {}) if row is None else (_run(row), open_questions(database, row["id"]))

    def snapshot(self, run: int, queue: str = "") -> tuple[Cursor, dict[str, Any]]:
        """The last minutes of a run, and from where to go on.

        Args:
            run: its number.
            queue: one of several that are controlled together; "" for all of them.

        Raises:
            KeyError: there is no such run, or no such queue in it.
        """
        with self._open() as database:
            about = _run_details(database, run, queue)
            end_s = _last_bucket(database, run, ended=about["ended"])
            start_s = max(0.0, end_s - LIVE_WINDOW_S)
            found = _interval_data(database, about, start_s, end_s, LIVE_BUCKET_S, queue, live=True)
            found["each"] = queues_now(database, run, about["queues"], end_s)
            # No decision or setting is newer than these: all are read of one state of the file.
            cursor = Cursor(
                end_s,
                _last_id(database, "decision", run),
                _last_id(database, "setting", run),
                about["ended"],
            )
            asks = open_questions(database, run)
            return cursor, {"run": about, "window_s": LIVE_WINDOW_S, "asks": asks, **found}

    def news(self, run: int, cursor: Cursor, queue: str = "") -> tuple[Cursor, dict[str, Any]]:
        """Return entries since a cursor; the same cursor and ``{}`` if there are none.

        Raises:
            KeyError: there is no such run or queue, or the cursor lies further back than a page
                shows.
        """
        with self._open() as database:
            about = _run_details(database, run, queue)
            end_s = _last_bucket(database, run, ended=about["ended"])
            if end_s - cursor.time_s > LIVE_WINDOW_S:
                raise KeyError(run)
            news: dict[str, Any] = {}
            if end_s > cursor.time_s:
                news["series"] = _series(database, run, cursor.time_s, end_s, LIVE_BUCKET_S, queue)
                news["each"] = queues_now(database, run, about["queues"], end_s)
            decisions = _decisions(database, run, after=cursor.decision)
            settings = _settings(database, run, after=cursor.setting, queue=queue)
            if decisions:
                news["decisions"] = concerning(decisions, queue, about["queues"])
                news["asks"] = open_questions(database, run)
            if decisions or end_s > cursor.time_s:
                # A band goes on with the buckets, and ends where a later decision takes its
                # setting away. One that begins after the last bucket is drawn with the next.
                start_s = max(0.0, end_s - LIVE_WINDOW_S)
                news["bands"] = _bands(database, run, start_s, end_s, queue)
            if settings:
                news["settings"] = settings
            if about["ended"] and not cursor.ended:
                news["ended"] = True
            there = Cursor(
                max(end_s, cursor.time_s),
                decisions[-1]["id"] if decisions else cursor.decision,
                settings[-1]["id"] if settings else cursor.setting,
                about["ended"],
            )
            return there, news

    def history(self, run: int, start_s: float, end_s: float, queue: str = "") -> dict[str, Any]:
        """Any stretch of a run, in at most :data:`MOST_POINTS` points.

        Raises:
            KeyError: there is no such run or queue.
        """
        with self._open() as database:
            about = _run_details(database, run, queue)
            bucket_s = max(LIVE_BUCKET_S, (end_s - start_s) / MOST_POINTS)
            return _interval_data(database, about, start_s, end_s, bucket_s, queue)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The journal as it is now; what is written meanwhile is not seen."""
        try:
            with read_journal(self._path, timeout_s=2.0) as database:
                yield database
        except KeyError:
            raise  # there is no such run or queue
        except NONSENSE as error:
            raise sqlite3.DatabaseError(str(error)) from error


def _run(row: sqlite3.Row) -> dict[str, Any]:
    return {
        "id": row["id"],
        "title": row["title"],
        "router": row["router"],
        "link": row["link"],
        "discipline": row["discipline"],
        "begun_utc": row["begun_utc"],
        "version": row["version"],
        "target_packets": row["target_packets"] or None,
        # The clock of a simulated network has nothing to do with that on the wall.
        "simulated": row["network"] is not None,
        "ended": bool(row["ended"]),
    }


def _run_details(database: sqlite3.Connection, run: int, queue: str = "") -> dict[str, Any]:
    row = None
    if run <= _LARGEST_ID:
        row = database.execute("SELECT * FROM run WHERE id = ?", (run,)).fetchone()
    if row is None:
        raise KeyError(run)
    about = _run(row)
    # Where the clock was set since, this is not when the run began: what is shown are times of now.
    about["zero_utc"] = run_clock(database, row).at(0.0).isoformat()
    about["last_s"] = _last_look_s(database, run)
    about["queues"] = queues_of(database, run, about["link"])
    if queue and queue not in about["queues"]:
        raise KeyError(queue)
    return about


def _last_look_s(database: sqlite3.Connection, run: int) -> float | None:
    """Time of a run's last observation, from the index."""
    (last_s,) = database.execute("SELECT max(time_s) FROM sample WHERE run = ?", (run,)).fetchone()
    return None if last_s is None else float(last_s)


def _last_bucket(database: sqlite3.Connection, run: int, *, ended: bool) -> float:
    """End of the last full bucket; of a run that has ended, of its last bucket."""
    last_s = _last_look_s(database, run)
    if last_s is None:
        return 0.0
    whole = int(last_s / LIVE_BUCKET_S + 1e-6)
    if ended and whole * LIVE_BUCKET_S < last_s - 1e-6:
        whole += 1
    return whole * LIVE_BUCKET_S


def _last_id(database: sqlite3.Connection, table: str, run: int) -> int:
    statement = {
        "decision": "SELECT max(id) FROM decision WHERE run = ?",
        "setting": "SELECT max(id) FROM setting WHERE run = ?",
    }[table]
    (found,) = database.execute(statement, (run,)).fetchone()
    return int(found or 0)


def _interval_data(
    database: sqlite3.Connection,
    about: dict[str, Any],
    start_s: float,
    end_s: float,
    bucket_s: float,
    queue: str,
    *,
    live: bool = False,
) -> dict[str, Any]:
    """Series, decisions and settings of an interval, with the setting in force at its beginning.

    Of one that is ``live``, decisions and settings go on after the last bucket: a bucket waits
    until it is full, and a queue that does not answer fills none.
    """
    run = about["id"]
    told_to_s = float("inf") if live else end_s
    decisions = _decisions(database, run, start_s=start_s, end_s=told_to_s)
    before = database.execute(
        "SELECT max(id) FROM setting WHERE run = ? AND time_s <= ?", (run, start_s)
    ).fetchone()[0]
    return {
        "start_s": start_s,
        "end_s": end_s,
        "bucket_s": bucket_s,
        "series": _series(database, run, start_s, end_s, bucket_s, queue),
        "decisions": concerning(decisions, queue, about["queues"]),
        "settings": _settings(database, run, after=(before or 1) - 1, end_s=told_to_s, queue=queue),
        "bands": _bands(database, run, start_s, end_s, queue),
    }


def _series(
    database: sqlite3.Connection,
    run: int,
    start_s: float,
    end_s: float,
    bucket_s: float,
    queue: str,
) -> dict[str, list[float | None]]:
    """A point for each bucket in which the queue was looked at, by its end.

    How long packets wait is the mean of what waits over the rate at which it leaves (Little's
    law), so it is not known where nothing leaves.
    """
    where = (start_s, bucket_s, run, end_s)
    if not queue:
        rows = database.execute(_SERIES_OF_ALL, where)
    else:
        of_one = _SERIES_OF_ONE if has_sharing(database) else _SERIES_OF_ONE_BEFORE
        rows = database.execute(of_one, (*where, queue))
    points = list(_points(rows, start_s, bucket_s))
    counted = SERIES[: len(SERIES) - len(SHARING_SERIES) - len(LINE_SERIES)]
    series = {
        name: [_round_for_page(point[column]) for point in points]
        for column, name in enumerate(counted)
    }
    ends_s = [point[0] for point in points]
    sharing = sharing_series(database, run, ends_s, start_s, bucket_s, queue)
    if queue:  # open flows are counted of all queues together; of each, those that are heard
        series["flows"] = sharing["heard_flows"]
    more = sharing | line_series(database, run, ends_s, start_s, bucket_s)
    return series | {name: list(map(_round_for_page, values)) for name, values in more.items()}


def _round_for_page(value: float | None) -> float | None:
    """Round a number to what a page shows of it."""
    return None if value is None else float(f"{value:.6g}")


# A sample's time is its interval's end, so that one at a bucket's end belongs to it.
_COUNTERS: Final = (
    "SELECT CAST((time_s - ?1 - 1e-6) / ?2 AS INTEGER) AS bucket, sum(interval_s) AS seconds,"
    " avg(backlog_packets) AS queue, max(backlog_packets) AS most,"
    " avg(backlog_bytes) AS waiting, sum(bytes) AS bytes, sum(packets) AS packets,"
    " sum(drops) AS drops, sum(marks) AS marks,"
)
_IN_INTERVAL: Final = " WHERE run = ?3 AND time_s > ?1 + 1e-6 AND time_s <= ?4 + 1e-6"
_IN_BUCKETS: Final = " GROUP BY bucket ORDER BY bucket"
_SERIES_OF_ALL: Final = (
    f"{_COUNTERS} avg(nullif(active_flows, -1)) AS flows,"
    " sum(mean_rtt_s * rtt_samples) AS round_trips,"
    " sum(CASE WHEN mean_rtt_s IS NULL THEN 0 ELSE rtt_samples END) AS rtt_samples"
    f" FROM sample{_IN_INTERVAL}{_IN_BUCKETS}"
)
_SERIES_OF_ONE: Final = (
    f"{_COUNTERS} NULL AS flows, sum(mean_rtt_s * rtt_samples) AS round_trips,"
    " sum(CASE WHEN mean_rtt_s IS NULL THEN 0 ELSE rtt_samples END) AS rtt_samples"
    f" FROM queue_sample{_IN_INTERVAL} AND link = ?5{_IN_BUCKETS}"
)
# Earlier journals do not have the round trips that were measured at each queue.
_SERIES_OF_ONE_BEFORE: Final = (
    f"{_COUNTERS} NULL AS flows, NULL AS round_trips, 0 AS rtt_samples FROM queue_sample"
    f"{_IN_INTERVAL} AND link = ?5{_IN_BUCKETS}"
)


def _points(rows: sqlite3.Cursor, start_s: float, bucket_s: float) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        seconds, leaving = row["seconds"] or 0.0, row["bytes"]
        offered = row["packets"] + row["drops"]
        yield (
            start_s + (row["bucket"] + 1) * bucket_s,
            row["queue"],
            row["most"],
            1e3 * row["waiting"] * seconds / leaving if leaving and seconds else None,
            8e-6 * leaving / seconds if seconds else None,
            100.0 * row["drops"] / offered if offered else None,
            100.0 * row["marks"] / row["packets"] if row["packets"] else None,
            row["flows"],
            1e3 * row["round_trips"] / row["rtt_samples"] if row["rtt_samples"] else None,
        )


def _decisions(
    database: sqlite3.Connection,
    run: int,
    *,
    after: int = 0,
    start_s: float = 0.0,
    end_s: float = float("inf"),
) -> list[dict[str, Any]]:
    """Latest decisions of an interval, in their order."""
    rows = database.execute(
        "SELECT id, time_s, kind, reason, details FROM decision WHERE run = ? AND id > ?"
        " AND time_s >= ? AND time_s <= ? ORDER BY id DESC LIMIT ?",
        (run, after, start_s, end_s, MOST_DECISIONS),
    ).fetchall()
    return [dict(row) for row in reversed(rows)]


def _settings(
    database: sqlite3.Connection,
    run: int,
    *,
    after: int,
    end_s: float = float("inf"),
    queue: str,
) -> list[dict[str, Any]]:
    rows = database.execute(
        "SELECT id, time_s, parameters FROM setting WHERE run = ? AND id > ? AND time_s <= ?"
        " ORDER BY id DESC LIMIT ?",
        (run, after, end_s, MOST_DECISIONS),
    ).fetchall()
    own = joint_name(queue, "") if queue else ""
    return [
        {
            "id": row["id"],
            "time_s": row["time_s"],
            "parameters": {
                name.removeprefix(own): value
                for name, value in json.loads(row["parameters"]).items()
                if name.startswith(own)
            },
        }
        for row in reversed(rows)
    ]


def _bands(
    database: sqlite3.Connection, run: int, start_s: float, end_s: float, queue: str
) -> list[dict[str, float]]:
    """Predicted ranges of the queue, while the settings that they are of were in force.

    The decisions of up to one window before the beginning are looked at, where the first band may
    have begun. What is promised of several queues is promised of their sum.
    """
    if queue:
        return []
    places = ", ".join("?" * len(CONCERNING_BANDS))  # nothing of anybody's is put into it
    rows = database.execute(
        "SELECT time_s, kind, details FROM decision WHERE run = ? AND time_s >= ? AND time_s <= ?"  # noqa: S608 - only question marks are put in
        f" AND kind IN ({places}) ORDER BY id",
        (run, start_s - LIVE_WINDOW_S, end_s, *map(str, CONCERNING_BANDS)),
    )
    told = ((row["time_s"], row["kind"], json.loads(row["details"])) for row in rows)
    return [
        {**band, "start_s": max(band["start_s"], start_s)}
        for band in bands(told, end_s)
        if band["end_s"] > start_s
    ]
