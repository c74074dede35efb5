"""State that earlier runs left in the journal, for a restart and for undo.

A run that was not ended in order was killed, and the next one on the same queue goes on with it. A
simulated network is a queue of its own for each seed. What stood before the first change is what
the first run of such a chain found; a run that finds something else than the one before it left,
or what stood in the beginning, begins a new chain: what there was to undo has been undone. What
somebody else has set meanwhile takes the place of what stood before: Vermilion does not undo it.
"""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from vermilion.files.sqlite import read_untrusted
from vermilion.routers import rebuilt_undo_command
from vermilion.routers.queue_set import AND, by_queue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from vermilion.routers.base import ParameterValue

_TEXTS: Final = (
    "begun_utc",
    "details",
    "discipline",
    "kind",
    "link",
    "parameters",
    "reason",
    "router",
    "title",
    "utc",
    "version",
)
_NUMBERS: Final = ("asked_s", "ended", "id", "interval_s", "run", "time_s")
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(_TEXTS, (str,)),
    **dict.fromkeys(_NUMBERS, (int, float)),
    "network": (str, type(None)),
    "goes_on_from": (int, type(None)),
}
"""Types of a journal's columns: SQLite keeps whatever was written there."""

# What was taken back is judged, and so is what was put back for it.
_JUDGED = ("verified", "unproven", "rolled-back")
_LOOKED_BACK = 1000  # runs of one chain: a controller that dies so often has other troubles


@dataclass(frozen=True, slots=True)
class Remembered:
    """State left by a run that was killed.

    Attributes:
        run: its number in the journal.
        original: every parameter before the first change.
        command: of a real router, what puts that back, made again from ``original``; ``None``
            where there is no such.
        in_force: every parameter as last read back.
        unanswered: changes that the router was told since, and may have made.
        proven: the last setting that was found to do no harm; empty for none.
        is_unjudged: whether its last change has not been judged since, and nobody else has set
            anything.
        hands_off: why the queue was to be left alone; "" if it was not.
        hands_off_changed: what somebody else had set then, as far as that was written down.
        paused_by_person: whether a person had asked that nothing be changed.
    """

    run: int
    original: Mapping[str, ParameterValue]
    command: str | None
    in_force: Mapping[str, ParameterValue]
    unanswered: tuple[Mapping[str, ParameterValue], ...]
    proven: Mapping[str, ParameterValue]
    is_unjudged: bool
    hands_off: str
    hands_off_changed: Mapping[str, ParameterValue]
    paused_by_person: bool


@dataclass(frozen=True, slots=True)
class Untouched:
    """A queue as it was before Vermilion first changed it.

    Attributes:
        router: its kind.
        link: its name.
        discipline: of the queue.
        title: of the scenario or the router.
        network: which simulated one; "" for a queue that lasts.
        rate_bit_per_s: the most that was seen to pass in a tenth of a second; ``None`` for nothing.
        since: when that was, by the wall clock (ISO 8601, UTC).
        original: every parameter before the first change.
        in_force: the same as last read back.
        command: of a real router, what puts it back, made again from the setting that its first
            run found; ``None`` where there is no such.
        commands: of several queues, what puts each back, likewise; empty for one queue.
        set_by_others: what somebody else has set since, which ``original`` has as well. The
            commands are then out of date, and left out but for a shaper's rate.
    """

    router: str
    link: str
    discipline: str
    title: str
    network: str
    rate_bit_per_s: float | None
    since: str
    original: Mapping[str, ParameterValue]
    in_force: Mapping[str, ParameterValue]
    command: str | None = None
    commands: Mapping[str, str | None] = field(default_factory=dict)
    set_by_others: Mapping[str, ParameterValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _RunSummary:
    """Summary of the settings and decisions of one or more runs.

    Attributes:
        in_force: every parameter as last read back.
        by_others: what somebody else has set, and given back since.
        hands_off: what somebody else has set while hands are off; ``None`` where they are not.
    """

    in_force: Mapping[str, ParameterValue]
    by_others: Mapping[str, ParameterValue] = field(default_factory=dict)
    hands_off: Mapping[str, ParameterValue] | None = None

    def after(self, database: sqlite3.Connection, run: int) -> _RunSummary:
        """The same after one more run, which goes on from there."""
        happened: list[tuple[float, int, Any]] = [
            (time_s, 0, setting) for time_s, setting in _settings(database, run)
        ]
        rows = database.execute(
            "SELECT time_s, kind, details FROM decision"
            " WHERE run = ? AND kind IN ('hands-off', 'resumed') ORDER BY id",
            (run,),
        )
        happened += [(time_s, 1, (kind, details)) for time_s, kind, details in rows]
        moved = _moved_by_queue(database, run)
        told = self
        for _, is_decision, what in sorted(happened, key=lambda each: each[:2]):
            told = told._decided(*what) if is_decision else told._read(_without(what, moved), what)
        return told

    def _read(
        self, still: Mapping[str, ParameterValue], setting: Mapping[str, ParameterValue]
    ) -> _RunSummary:
        """A setting is read back: what differs while hands are off, somebody else has set."""
        if self.hands_off is None:
            return replace(self, in_force=setting)
        theirs = {name: value for name, value in still.items() if value != self.in_force.get(name)}
        return replace(self, in_force=setting, hands_off={**self.hands_off, **theirs})

    def _decided(self, kind: str, details: str) -> _RunSummary:
        """Hands off, or somebody has given the queue back."""
        theirs = self.hands_off or {}
        if kind == "hands-off":
            changed = json.loads(details).get("changed", {})
            return replace(self, hands_off={**theirs, **changed})
        return self.given_back()

    def given_back(self) -> _RunSummary:
        """Hands are no longer off: what was set by then stays what somebody else has set."""
        theirs = self.hands_off or {}
        return replace(self, by_others={**self.by_others, **theirs}, hands_off=None)


def remembered(database: sqlite3.Connection, killed: int) -> Remembered | None:
    """Return the state left by a killed run; ``None`` if it never read the router."""
    chain = list(chain_of(database, killed))
    read = [(run, rows) for run in chain if (rows := _settings(database, run))]
    if not read:
        return None
    (run, [*_, (asked_s, in_force)]), (first_run, [(_, first), *_]) = read[0], read[-1]
    later = chain[: chain.index(run)]
    unanswered = [
        *_pending_changes(database, run, asked_s),
        *(change for each in reversed(later) for change in _pending_changes(database, each, None)),
    ]
    hands_off, changed = left_alone(database, chain)
    told = _RunSummary(first)
    for each in reversed(chain):
        told = told.after(database, each)
    return Remembered(
        run=killed,
        original={**first, **told.by_others},
        command=None if told.by_others else _commands(database, first_run, first)[0],
        in_force=in_force,
        unanswered=tuple(unanswered[-4:]),
        proven=_proven(database, chain),
        is_unjudged=_is_unjudged(database, chain),
        hands_off=hands_off,
        hands_off_changed={**changed, **(told.hands_off or {})},
        paused_by_person=paused_by_person(database, chain),
    )


def untouched(path: Path) -> list[Untouched]:
    """Every queue in a journal, as it was before Vermilion first changed it.

    Raises:
        sqlite3.Error: the file is no journal, or cannot be read.
    """
    with read_journal(path) as database:
        rows = database.execute(
            "SELECT id, begun_utc, router, link, discipline, title, network FROM run ORDER BY id"
        ).fetchall()
        found: dict[tuple[str, ...], Untouched] = {}
        last_told: dict[tuple[str, ...], _RunSummary] = {}
        for run, begun, *names in rows:
            settings = [parameters for _, parameters in _settings(database, run)]
            router, link, discipline, title, network = names
            if not settings:
                continue
            # A simulated network is gone with its run, and so is what was in force there.
            key = (router, link, discipline, title, network or "")
            before = found.get(key)
            moved = _moved_by_queue(database, run)
            goes_on = (
                before is not None
                and _without(settings[0], moved) == _without(before.in_force, moved)
                and before.in_force != before.original
                and network is None
            ) or (before is not None and _predecessor(database, run) is not None)
            original: Mapping[str, ParameterValue] = settings[0]
            commands: Mapping[str, str | None]
            told, since = _RunSummary(settings[0]), begun
            if goes_on and before is not None:
                told, original, since = last_told[key], before.original, before.since
                command, commands = before.command, before.commands
                if _predecessor(database, run) is None:  # the run before has ended in order
                    told = told.given_back()
            else:
                command, commands = _commands(database, run, settings[0])
            told = last_told[key] = told.after(database, run)
            by_others = {**told.by_others, **(told.hands_off or {})}
            if by_others:
                command, commands = None, {}
                if set(original) == {"bandwidth"}:  # a shaper: its call holds with any rate
                    command, _ = _commands(database, run, by_others)
            found[key] = Untouched(
                router=router,
                link=link,
                discipline=discipline,
                title=title,
                network=network or "",
                rate_bit_per_s=_most_passed(database, run),
                since=since,
                original={**original, **by_others},
                in_force=settings[-1],
                command=command,
                commands=commands,
                set_by_others=by_others,
            )
        return list(found.values())


@contextmanager
def read_journal(path: Path, timeout_s: float = 5.0) -> Iterator[sqlite3.Connection]:
    """One moment of a journal that anybody may have written; its rows have names and right types.

    Raises:
        sqlite3.Error: the file is no journal, or cannot be read.
        TypeError: when a row is read, a column is of another type.
        ValueError: likewise, a number is infinite, which JSON has no word for.
    """
    with read_untrusted(path, timeout_s) as database:
        database.row_factory = _row
        yield database


def _row(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> sqlite3.Row:
    for (name, *_), value in zip(cursor.description, values, strict=True):
        if not isinstance(value, _TYPES.get(name, (object,))):
            message = f"a {name} of the type {type(value).__name__}"
            raise TypeError(message)
        if isinstance(value, float) and math.isinf(value):
            message = f"a {name} without bound"
            raise ValueError(message)
    return sqlite3.Row(cursor, values)


def _commands(
    database: sqlite3.Connection, run: int, setting: Mapping[str, ParameterValue]
) -> tuple[str | None, dict[str, str | None]]:
    """Commands that put back the setting that a run found: of all of its queues, and of each.

    They are made again from the setting: a journal may come from anybody, and may say anything.
    """
    (address,) = database.execute("SELECT title FROM run WHERE id = ?", (run,)).fetchone()
    recorded = _found_details(database, run)
    if not recorded.get("commands"):
        return rebuilt_undo_command(address, setting, recorded.get("command")), {}
    queues, addresses = by_queue(setting), address.split(AND)
    commands: dict[str, str | None] = dict.fromkeys(queues)
    if len(addresses) == len(queues):
        for each, (link, own) in zip(addresses, queues.items(), strict=True):
            commands[link] = rebuilt_undo_command(each, own, recorded["commands"].get(link))
    known = [command for command in commands.values() if command]
    return " && ".join(known) if len(known) == len(commands) else None, commands


def _moved_by_queue(database: sqlite3.Connection, run: int) -> frozenset[str]:
    """The parameters that a queue moves by itself, as a run has found it."""
    names = _found_details(database, run).get("moved_by_queue")
    return frozenset(name for name in names if isinstance(name, str)) if names else frozenset()


def _without(
    setting: Mapping[str, ParameterValue], names: frozenset[str]
) -> dict[str, ParameterValue]:
    return {name: value for name, value in setting.items() if name not in names}


def _found_details(database: sqlite3.Connection, run: int) -> dict[str, Any]:
    """Details of a run's decision "found": the setting at its beginning."""
    row = database.execute(
        "SELECT details FROM decision WHERE run = ? AND kind = 'found' ORDER BY id LIMIT 1", (run,)
    ).fetchone()
    return {} if row is None else dict(json.loads(row[0]))


def _most_passed(database: sqlite3.Connection, run: int) -> float | None:
    (most,) = database.execute(
        "SELECT max(8.0 * bytes / interval_s) FROM sample WHERE run = ? AND interval_s > 0.05",
        (run,),
    ).fetchone()
    return None if most is None or most <= 0 else float(most)


def _predecessor(database: sqlite3.Connection, run: int) -> int | None:
    row = database.execute("SELECT goes_on_from FROM run WHERE id = ?", (run,)).fetchone()
    if row is None or row[0] is None:
        return None
    if not row[0] < run:
        message = f"run {run} goes on from a later one"
        raise ValueError(message)
    return int(row[0])


def chain_of(database: sqlite3.Connection, run: int) -> Iterator[int]:
    """A run and those it went on from, the latest first."""
    latest: int | None = run
    for _ in range(_LOOKED_BACK):
        if latest is None:
            return
        yield latest
        latest = _predecessor(database, latest)


def _settings(
    database: sqlite3.Connection, run: int
) -> list[tuple[float, dict[str, ParameterValue]]]:
    """(when, every parameter) as read back in a run, the earliest first."""
    rows = database.execute(
        "SELECT time_s, parameters FROM setting WHERE run = ? ORDER BY id", (run,)
    )
    return [(time_s, json.loads(text)) for time_s, text in rows]


def _pending_changes(
    database: sqlite3.Connection, run: int, since_s: float | None
) -> list[dict[str, ParameterValue]]:
    """Changes sent to the router since it was last read."""
    rows = database.execute(
        "SELECT parameters FROM effect WHERE run = ? AND asked_s >= ?"
        " AND answer IS NOT 'refused' ORDER BY number",
        (run, float("-inf") if since_s is None else since_s),
    )
    return [json.loads(text) for (text,) in rows]


def _proven(database: sqlite3.Connection, chain: list[int]) -> dict[str, ParameterValue]:
    """The last setting that was judged and stayed."""
    for run in chain:
        row = database.execute(
            "SELECT parameters FROM setting WHERE run = ? AND time_s <= (SELECT max(time_s) FROM"
            " decision WHERE run = ? AND kind IN (?, ?, ?)) ORDER BY id DESC LIMIT 1",
            (run, run, *_JUDGED),
        ).fetchone()
        if row is not None:
            return dict(json.loads(row[0]))
    return {}


def _is_unjudged(database: sqlite3.Connection, chain: list[int]) -> bool:
    """Check whether the last change was the controller's own, and not yet verified."""
    for run in chain:
        (asked_s,) = database.execute(
            "SELECT max(asked_s) FROM effect WHERE run = ? AND answer IS NOT 'refused'", (run,)
        ).fetchone()
        (judged_s,) = database.execute(
            "SELECT max(time_s) FROM decision WHERE run = ? AND kind IN (?, ?, ?, 'hands-off')",
            (run, *_JUDGED),
        ).fetchone()
        if asked_s is not None or judged_s is not None:
            return judged_s is None or (asked_s is not None and asked_s > judged_s)
    return False


def left_alone(
    database: sqlite3.Connection, chain: list[int]
) -> tuple[str, dict[str, ParameterValue]]:
    """Return why the queue was left alone at the end ("" if not), and the foreign values."""
    row = _latest(
        database,
        chain,
        "SELECT kind, reason, details FROM decision"
        " WHERE run = ? AND kind IN ('hands-off', 'resumed') ORDER BY id DESC LIMIT 1",
    )
    if row is None or row[0] != "hands-off":
        return "", {}
    _, reason, details = row
    return str(reason).partition(";")[0], dict(json.loads(details).get("changed", {}))


def paused_by_person(database: sqlite3.Connection, chain: list[int]) -> bool:
    """Check whether an operator had paused the controller at the end."""
    row = _latest(
        database,
        chain,
        "SELECT kind FROM decision WHERE run = ? AND kind IN ('paused', 'resumed')"
        " AND json_extract(details, '$.by') = 'a person' ORDER BY id DESC LIMIT 1",
    )
    return row is not None and bool(row[0] == "paused")


def _latest(database: sqlite3.Connection, chain: list[int], query: str) -> sqlite3.Row | None:
    """What is asked of each run of a chain, of the latest that has it."""
    rows = (database.execute(query, (run,)).fetchone() for run in chain)
    return next((row for row in rows if row is not None), None)
