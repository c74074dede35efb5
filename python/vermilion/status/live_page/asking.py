"""What a person may be asked, or may want undone, by what a journal says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from vermilion.online.entries import DecisionKind
from vermilion.online.record.restart import chain_of, left_alone, paused_by_person

if TYPE_CHECKING:
    import sqlite3

_SETTLES: Final = (
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


def asked(database: sqlite3.Connection, run: int) -> dict[str, Any]:
    """What is open in a run.

    Returns:
        ``proposal``: the one that waits for an answer, or ``None``: its ``number``, ``time_s``,
        ``reason``, ``setting``, and what stands ``now`` of the same parameters; ``undo``: the last
        change that can be taken back, or ``None``: its ``number``, ``time_s`` and ``reason``;
        ``paused``: whether a person has asked that nothing be changed, in this run or in one that
        was killed and is continued by it; ``hands_off``: why the queue is left alone until a person
        says "resume", or ``None``.
    """
    proposal = _last(database, run, (DecisionKind.PROPOSED,))
    settled = _last(database, run, _SETTLES)
    change = _last(database, run, _REPLACES)
    chain = list(chain_of(database, run))
    return {
        "proposal": _proposal(proposal, settled, _in_force(database, run)),
        "undo": _undo(change),
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


def _in_force(database: sqlite3.Connection, run: int) -> dict[str, Any]:
    """Every parameter, as last read back."""
    row = database.execute(
        "SELECT parameters FROM setting WHERE run = ? ORDER BY id DESC LIMIT 1", (run,)
    ).fetchone()
    return {} if row is None else dict(json.loads(row["parameters"]))


def _undo(change: sqlite3.Row | None) -> dict[str, Any] | None:
    if change is None or change["kind"] != DecisionKind.APPLIED:
        return None
    return {"number": change["id"], "time_s": change["time_s"], "reason": change["reason"]}


def _last(
    database: sqlite3.Connection, run: int, kinds: tuple[DecisionKind, ...]
) -> sqlite3.Row | None:
    """The last decision of one of these kinds."""
    places = ", ".join("?" * len(kinds))  # nothing of anybody's is put into the statement
    row: sqlite3.Row | None = database.execute(
        "SELECT id, time_s, kind, reason, details FROM decision WHERE run = ?"  # noqa: S608 - only question marks are put in
        f" AND kind IN ({places}) ORDER BY id DESC LIMIT 1",
        (run, *map(str, kinds)),
    ).fetchone()
    return row
