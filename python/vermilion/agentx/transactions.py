"""Changes in four steps: test, commit, undo, clean up (RFC 2741, 7.2.4). Pure.

A master tests all objects that one request of a manager sets, at all subagents, before it commits
any, and undoes what is committed if another cannot be. It may send several tests for one request
(net-snmp sends one for each region that was registered): they are one change here, tested together,
committed once and undone once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.agentx.objects import ChangeFailed, SetRefused
from vermilion.agentx.protocol import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.agentx.objects import ManagedObjects, TestedChange
    from vermilion.agentx.protocol import Binding

MOST: Final = 64
"""Transactions under way; a master that begins more forgets the oldest."""


@dataclass(slots=True)
class _Transaction:
    """What a master has begun.

    Attributes:
        bindings: all that were tested.
        change: what they come to; ``None`` after a refusal.
        outcome: of the commit; ``None`` before it.
        undone: what became of the undoing; ``None`` before it.
    """

    bindings: tuple[Binding, ...] = ()
    change: TestedChange | None = None
    outcome: Status | None = None
    undone: Status | None = None


class Transactions:
    """Those of one session.

    Args:
        objects: that are set.
    """

    def __init__(self, objects: ManagedObjects) -> None:
        self._objects = objects
        self._under_way: dict[int, _Transaction] = {}

    def test(self, number: int, bindings: Sequence[Binding]) -> tuple[Status, int, str]:
        """Whether values can be set: the answer, the binding to blame, and why."""
        own = self._under_way.setdefault(number, _Transaction())
        while len(self._under_way) > MOST:
            self._under_way.pop(next(iter(self._under_way)))
        if own.outcome is not None:
            return Status.PROCESSING_ERROR, 0, "a test after the commit"
        before = len(own.bindings)
        own.bindings = (*own.bindings, *bindings)
        try:
            own.change = self._objects.test(own.bindings)
        except SetRefused as refusal:
            own.change = None
            return refusal.status, max(refusal.index - before, 1), str(refusal)
        return Status.NO_ERROR, 0, ""

    def commit(self, number: int) -> tuple[Status, str]:
        """Puts what was tested in force, once."""
        own = self._under_way.get(number)
        if own is None or own.change is None:
            return Status.COMMIT_FAILED, "a commit of what was not tested"
        if own.outcome is None:
            try:
                own.change.commit()
            except ChangeFailed as failure:
                own.outcome = Status.COMMIT_FAILED
                return own.outcome, str(failure)
            own.outcome = Status.NO_ERROR
        return own.outcome, ""

    def undo(self, number: int) -> tuple[Status, str]:
        """Puts back what was there before the commit, once; nothing where there was none."""
        own = self._under_way.get(number)
        if own is None:
            return Status.UNDO_FAILED, "an undo of what was not tested"
        if own.undone is None:
            own.undone = Status.NO_ERROR
            # A commit that has failed may have left something behind as well.
            if own.change is not None and own.outcome is not None:
                try:
                    own.change.undo()
                except ChangeFailed as failure:
                    own.undone = Status.UNDO_FAILED
                    return own.undone, str(failure)
        return own.undone, ""

    def clean_up(self, number: int) -> None:
        """Forgets a transaction; one that was never committed has changed nothing."""
        self._under_way.pop(number, None)
