"""Status of a controller, from its journal alone.

The controller need not be asked, and may be dead: the journal has every look at the queue and every
decision, each as it was made. Nothing is written to it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from vermilion.files.document import document
from vermilion.online.drive.locks import is_written
from vermilion.online.entries import DecisionKind
from vermilion.online.record.restart import chain_of, left_alone, paused_by_person, read_journal
from vermilion.status.decisions import DOING, PAUSED_BY_PERSON

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class RunClock:
    """The wall clock of a run's machine, as it goes now.

    Attributes:
        time_s: of the run.
        utc: what the wall clock showed then.
        is_kept: whether the controller keeps that up to date when somebody sets the clock. Earlier
            versions did not, nor do simulated networks; then it is the clock of the beginning.
    """

    time_s: float
    utc: datetime
    is_kept: bool

    def at(self, time_s: float) -> datetime:
        """Convert a time of the run to the present wall clock."""
        return self.utc + timedelta(seconds=time_s - self.time_s)

    def seconds(self, moment: datetime) -> float:
        """The inverse of :meth:`at`."""
        return self.time_s + (moment - self.utc).total_seconds()


def run_clock(database: sqlite3.Connection, run: sqlite3.Row) -> RunClock:
    """Wall clock of a run of a journal.

    Args:
        database: the journal, with rows that have names.
        run: its row.

    Raises:
        ValueError: what is written there is no time.
    """
    known = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'wall_clock'").fetchone()
    row = (
        known
        and database.execute(
            "SELECT time_s, utc FROM wall_clock WHERE run = ?", (run["id"],)
        ).fetchone()
    )
    time_s, utc = (0.0, run["begun_utc"]) if row is None else row
    return RunClock(time_s, datetime.fromisoformat(utc).astimezone(UTC), row is not None)


SILENT_S: Final = 5.0
"""A controller that has not looked for so long is not running, or cannot see its router."""

_SAYS_MORE: Final = {DecisionKind.BLIND, DecisionKind.FELL_BACK}
_BLIND_KINDS: Final = {*_SAYS_MORE, DecisionKind.REFUSED, DecisionKind.LOST}
"""Kinds of decisions about a router that does not answer."""

_MINUTE_S = 60.0
_INTERVALS_READ = 10  # looks whose shortest interval says how often the queue is looked at


@document()
@dataclass(frozen=True, slots=True)
class QueueStatus:
    """One queue, as its last run has left it. What the journal does not say is ``None``.

    Attributes:
        journal: the file.
        router: the queue's address, or the scenario's title.
        kind: of the router.
        link: the link's name.
        discipline: of its queue.
        run: the run's number in the journal.
        version: of Vermilion.
        simulated: whether the network is made for the run. All times but ``since`` are then those
            of its own clock, counted from ``since``: they may lie ahead of everybody's clock.
        since: when the run began (UTC).
        state: ``running``, ``silent`` (not ended, and no look for some seconds) or ``ended``. A run
            that has decided something and has not looked yet is running. A
            look in the future is none: the wall clock was set back since, and a controller that
            runs would have said so. That of a simulated run may lie in the future; it is silent
            too where no process writes it.
        doing: what it does, in words.
        mode: ``observe``, ``propose`` or ``control``.
        last_look: when it last looked at the queue (UTC).
        next_look: when it looks again: as long after the last look as that was after the one
            before; ``None`` unless it runs and has looked.
        setting: every parameter in force, as last read back.
        setting_since: since when (UTC).
        last_decision: the kind of the last decision.
        last_reason: why.
        last_decided: when (UTC).
        changes_last_minute: how often the router was changed in the last minute of the run.
        changes_per_minute: how often it may be.
        next_change: from when on it may be changed again (UTC); ``None`` if never or not known.
    """

    journal: Path
    router: str
    kind: str
    link: str
    discipline: str
    run: int
    version: str
    simulated: bool
    since: datetime
    state: str
    doing: str
    mode: str | None
    last_look: datetime | None
    next_look: datetime | None
    setting: Mapping[str, Any]
    setting_since: datetime | None
    last_decision: str | None
    last_reason: str | None
    last_decided: datetime | None
    changes_last_minute: int
    changes_per_minute: int | None
    next_change: datetime | None

    def run_s(self, moment: datetime) -> float:
        """Convert a moment to seconds of the run."""
        return (moment - self.since).total_seconds()


def read_status(path: Path, now: datetime) -> list[QueueStatus]:
    """The queues of a journal, each by its last run; the latest first.

    Args:
        path: the journal.
        now: the wall clock.

    Raises:
        sqlite3.Error: it is no journal, or cannot be read.
        ValueError: what is in it makes no sense.
    """
    with read_journal(path) as database:
        last = database.execute(
            "SELECT * FROM run WHERE id IN (SELECT max(id) FROM run GROUP BY title, link)"
            " ORDER BY id DESC"
        ).fetchall()
        return [_status(path, database, run, now) for run in last]


def _status(
    path: Path, database: sqlite3.Connection, run: sqlite3.Row, now: datetime
) -> QueueStatus:
    clock = run_clock(database, run)
    last = _last(database, "decision", run["id"])
    setting = _last(database, "setting", run["id"])
    looked_s, interval_s = _observation_times(database, run["id"])
    found = _first_details(database, run["id"])
    times_s = [each["time_s"] for each in (last, setting) if each is not None]
    latest_s = max([looked_s or 0.0, *times_s])
    # A decision is no look: a controller decides that it cannot see.
    seen_s = latest_s if looked_s is None else looked_s
    state = _state(ended=bool(run["ended"]), looked=clock.at(seen_s), now=now, clock=clock)
    if state == "running" and _is_simulated(run) and _is_abandoned(path, run):
        state = "silent"
    now_s = clock.seconds(now) if state == "running" else latest_s
    changes = [
        row["asked_s"]
        for row in database.execute(
            "SELECT asked_s FROM effect WHERE run = ? AND answer IS NOT 'refused'"
            " AND asked_s > ? ORDER BY asked_s",
            (run["id"], now_s - _MINUTE_S),
        )
    ]
    allowed = found.get("changes_per_minute")
    return QueueStatus(
        journal=path,
        router=run["title"],
        kind=run["router"],
        link=run["link"],
        discipline=run["discipline"],
        run=run["id"],
        version=run["version"],
        simulated=_is_simulated(run),
        since=clock.at(_first_s(database, run["id"])) if clock.is_kept else clock.utc,
        state=state,
        doing=_describe_activity(state, last, _lasting_state(database, run, last)),
        mode=found.get("mode"),
        last_look=None if looked_s is None else clock.at(looked_s),
        next_look=None
        if state != "running" or looked_s is None
        else _next_look(clock.at(looked_s), interval_s, now),
        setting={} if setting is None else dict(json.loads(setting["parameters"])),
        setting_since=None if setting is None else clock.at(setting["time_s"]),
        last_decision=None if last is None else last["kind"],
        last_reason=None if last is None else last["reason"],
        last_decided=None if last is None else clock.at(last["time_s"]),
        changes_last_minute=len(changes),
        changes_per_minute=allowed,
        next_change=_next_change(clock, now, changes, allowed, found.get("mode"), state),
    )


def _is_simulated(run: sqlite3.Row) -> bool:
    # Early journals do not say it.
    return "network" in run.keys() and run["network"] is not None  # noqa: SIM118 - a row is no dict


def _is_abandoned(path: Path, run: sqlite3.Row) -> bool:
    """Return whether a simulated run has no writer any more."""
    queue = (run["title"], run["router"], run["link"], run["discipline"], run["network"])
    return is_written(path, *queue) is False


def _first_s(database: sqlite3.Connection, run: int) -> float:
    """Time of the run's first entry; for some routers it counts from their boot."""
    (first_s,) = database.execute(
        "SELECT min(time_s) FROM decision WHERE run = ?", (run,)
    ).fetchone()
    return float(first_s or 0.0)


def _observation_times(database: sqlite3.Connection, run: int) -> tuple[float | None, float]:
    """Time of the last observation, and the interval between two."""
    rows = database.execute(
        "SELECT time_s, interval_s FROM sample WHERE run = ? ORDER BY time_s DESC LIMIT ?",
        (run, _INTERVALS_READ),
    ).fetchall()
    if not rows:
        return None, 0.0
    return rows[0]["time_s"], min(row["interval_s"] for row in rows)


def _next_look(looked: datetime, interval_s: float, now: datetime) -> datetime:
    """An interval after the last one; one that is due comes at any moment."""
    interval = timedelta(seconds=interval_s)
    return min(max(looked + interval, now), now + interval)


def _last(database: sqlite3.Connection, table: str, run: int) -> sqlite3.Row | None:
    statement = {
        "decision": "SELECT * FROM decision WHERE run = ? ORDER BY id DESC LIMIT 1",
        "setting": "SELECT * FROM setting WHERE run = ? ORDER BY id DESC LIMIT 1",
    }[table]
    row: sqlite3.Row | None = database.execute(statement, (run,)).fetchone()
    return row


def _first_details(database: sqlite3.Connection, run: int) -> dict[str, Any]:
    row = database.execute(
        "SELECT details FROM decision WHERE run = ? AND kind = ? ORDER BY id LIMIT 1",
        (run, DecisionKind.FOUND),
    ).fetchone()
    details: dict[str, Any] = {} if row is None else json.loads(row["details"])
    return details


def _state(*, ended: bool, looked: datetime, now: datetime, clock: RunClock) -> str:
    if ended:
        return "ended"
    ago_s = (now - looked).total_seconds()
    is_ahead = clock.is_kept and ago_s < -SILENT_S
    return "silent" if ago_s > SILENT_S or is_ahead else "running"


def _lasting_state(database: sqlite3.Connection, run: sqlite3.Row, last: sqlite3.Row | None) -> str:
    """Describe a lasting state, like a pause; "" if there is none."""
    chain = list(chain_of(database, run["id"])) if "goes_on_from" in run.keys() else [run["id"]]  # noqa: SIM118 - a row is no dict
    blind = _blind_since(database, run["id"])
    if blind is not None:
        return DOING[blind]
    if left_alone(database, chain)[0]:
        return DOING[DecisionKind.HANDS_OFF]
    if not paused_by_person(database, chain):
        return ""
    by_itself = (
        last is not None
        and last["kind"] == DecisionKind.PAUSED
        and "by" not in json.loads(last["details"] or "{}")
    )
    return f"{PAUSED_BY_PERSON}; the queue tells nothing now" if by_itself else PAUSED_BY_PERSON


def _blind_since(database: sqlite3.Connection, run: int) -> DecisionKind | None:
    """State of a controller that cannot reach its router; ``None`` if it can."""
    doing = None
    for kind, details in database.execute(
        "SELECT kind, details FROM decision WHERE run = ? AND id >= (SELECT max(id) FROM decision"
        " WHERE run = ? AND kind = ?) ORDER BY id",
        (run, run, DecisionKind.BLIND),
    ):
        if kind in _BLIND_KINDS:
            doing = doing if kind not in _SAYS_MORE else DecisionKind(kind)
        elif kind not in {DecisionKind.PAUSED, DecisionKind.RESUMED} or "by" not in json.loads(
            details or "{}"
        ):
            return None
    return doing


def _describe_activity(state: str, last: sqlite3.Row | None, lasting: str) -> str:
    if state == "ended":
        return DOING[DecisionKind.END]
    if last is None:
        return "starting"
    kind: str = last["kind"]
    try:
        words = lasting or DOING[DecisionKind(kind)]
    except ValueError:  # of a later version
        words = kind
    if state == "silent":
        return f"nothing that can be seen; before: {words}"
    return words


def _next_change(
    clock: RunClock,
    now: datetime,
    changes_s: list[float],
    allowed: int | None,
    mode: str | None,
    state: str,
) -> datetime | None:
    """Time from which one more change is within the budget."""
    if not allowed or state != "running" or mode == "observe":
        return None
    if len(changes_s) < allowed:
        return now
    return clock.at(changes_s[len(changes_s) - allowed] + _MINUTE_S)
