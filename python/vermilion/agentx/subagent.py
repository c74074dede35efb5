"""A subagent's side of a conversation with a master (RFC 2741, 7), and what it serves. Pure.

It opens a session, registers parts of the tree, answers questions, tests and commits changes, and
looks after a master that has gone silent. Time and octets come in, octets and notes go out; the
objects that it serves are the only thing that it touches.

A master tests all objects that one request of a manager sets, at all subagents, before it commits
any, and undoes what is committed if another cannot be (7.2.4). It may send several tests for one
request (net-snmp sends one for each region that was registered): they are one change here, tested
together, committed once and undone once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol

from vermilion.agentx.codec import MessageStream, ParseError, encode
from vermilion.agentx.protocol import (
    DEFAULT_PRIORITY,
    Binding,
    CleanupSet,
    Close,
    CloseReason,
    CommitSet,
    Get,
    GetBulk,
    GetNext,
    Header,
    Message,
    Open,
    Ping,
    Register,
    Response,
    SearchRange,
    Status,
    TestSet,
    UndoSet,
    ValueType,
    dotted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.agentx.protocol import Body, ObjectIdentifier


class SetRefused(Exception):  # noqa: N818 - reads as what it says
    """Values that cannot be set; nothing has changed.

    Attributes:
        status: for the manager.
        index: which binding is to blame, counted from 1.
    """

    def __init__(self, status: Status, index: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.index = index


class ObjectsUnreadable(Exception):  # noqa: N818 - reads as what it says
    """The objects cannot be read now; the text says why."""


class ChangeFailed(Exception):  # noqa: N818 - reads as what it says
    """A change could not be made, or not be undone; the text says why and what is in force."""


class TestedChange(Protocol):
    """Values that have been tested and can be put in force."""

    def commit(self) -> None:
        """Put them in force, all or none.

        Raises:
            ChangeFailed: they are not. Whether what was there is in force, :meth:`undo` says.
        """

    def undo(self) -> None:
        """See to it that what was there before the commit is in force, whatever became of that.

        Raises:
            ChangeFailed: it could not be put back, or that is not known.
        """


class Snapshot:
    """Objects at one moment, in the order of their names.

    Args:
        values: every object with its value.
        kinds: what the names of objects begin with, of those too that have no instance now.
    """

    def __init__(
        self, values: Iterable[Binding], kinds: frozenset[ObjectIdentifier] = frozenset()
    ) -> None:
        self._values: Mapping[ObjectIdentifier, Binding] = {each.name: each for each in values}
        self._names: Sequence[ObjectIdentifier] = sorted(self._values)
        self._kinds = kinds

    def __len__(self) -> int:
        return len(self._names)

    def get(self, name: ObjectIdentifier) -> Binding:
        """The object of this name; if there is none, why (RFC 2741, 7.2.3.1)."""
        found = self._values.get(name)
        if found is not None:
            return found
        known = any(name[:length] in self._kinds for length in range(len(name)))
        return Binding(name, ValueType.NO_SUCH_INSTANCE if known else ValueType.NO_SUCH_OBJECT)

    def following(self, within: SearchRange) -> Binding:
        """The first object of a range; if there is none, the start with "end of view" (7.2.3.2)."""
        first = bisect_left if within.include else bisect_right
        at = first(self._names, within.start)
        if at < len(self._names) and (not within.end or self._names[at] < within.end):
            return self._values[self._names[at]]
        return Binding(within.start, ValueType.END_OF_MIB_VIEW)


class ManagedObjects(Protocol):
    """Objects that can be read and set."""

    def snapshot(self, *, walking: bool) -> Snapshot:
        """The objects now.

        Args:
            walking: whether one object after another is asked for, so that those of a moment ago
                will do.

        Raises:
            ObjectsUnreadable: they cannot be read.
        """

    def test(self, bindings: Sequence[Binding]) -> TestedChange:
        """Values that could be set, all of them together.

        Raises:
            SetRefused: they cannot.
        """


MOST: Final = 64
"""Transactions under way; a master that begins more forgets the oldest."""


@dataclass(slots=True)
class _Transaction:
    """Transaction that a master has begun.

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
    """Transactions of one session.

    Args:
        objects: that are set.
    """

    def __init__(self, objects: ManagedObjects) -> None:
        self._objects = objects
        self._under_way: dict[int, _Transaction] = {}

    def test(self, number: int, bindings: Sequence[Binding]) -> tuple[Status, int, str]:
        """Test values: the status, the binding to blame, and why."""
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


ANSWER_WITHIN_S: Final = 5.0
"""A master that takes longer to answer counts as gone."""

PING_AFTER_S: Final = 15.0
"""After so long without a word from the master, it is asked whether it is there."""

MOST_BINDINGS: Final = 1000
"""In one answer; a manager that wants more asks again (RFC 3416, 4.2.3)."""

_QUESTIONS: Final = (Get, GetNext, GetBulk, TestSet, CommitSet, UndoSet)
_QUESTION_NUMBERS: Final = {each.number for each in _QUESTIONS}


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the tree that is served.

    Attributes:
        subtree: where it begins.
        name: in words, for messages.
    """

    subtree: ObjectIdentifier
    name: str


@dataclass(slots=True)
class Reaction:
    """Outcome of an event.

    Attributes:
        send: octets for the master.
        ended: why the connection is of no use any more; ``None`` while it is.
        final: whether trying again would end in the same way.
        notes: what a person may want to know, a line each.
    """

    send: bytes = b""
    ended: str | None = None
    final: bool = False
    notes: list[str] = field(default_factory=list)


class Subagent:
    """One side of one connection; a new one is needed for the next.

    Args:
        objects: that are served.
        regions: parts of the tree to register.
        identity: of the subagent, as an object identifier.
        description: of the subagent, for people.
        answer_within_s: how long the master is told to wait for answers, in whole seconds.
    """

    def __init__(
        self,
        objects: ManagedObjects,
        regions: Sequence[Region],
        *,
        identity: ObjectIdentifier,
        description: str,
        answer_within_s: int = 5,
    ) -> None:
        self._objects = objects
        self._regions = tuple(regions)
        self._identity = identity
        self._description = description.encode()[:255]
        self._answer_within_s = answer_within_s
        self._stream = MessageStream()
        self._transactions = Transactions(objects)
        self._session = 0
        self._packet = 0
        self._state: Literal["closed", "opening", "registering", "serving"] = "closed"
        self._to_register = list(self._regions)
        self._refused = 0
        self._awaited: int | None = None
        self._asked_s = 0.0
        self._heard_s = 0.0

    @property
    def is_serving(self) -> bool:
        """Return whether the master passes questions on."""
        return self._state == "serving"

    def begin(self, now_s: float) -> Reaction:
        """The connection is there."""
        self._state = "opening"
        self._heard_s = now_s
        return Reaction(
            self._ask(Open(self._answer_within_s, self._identity, self._description), now_s)
        )

    def received(self, octets: bytes, now_s: float) -> Reaction:
        """Octets have come."""
        outcome = Reaction()
        try:
            messages = self._stream.feed(octets)
        except ParseError as error:
            outcome.ended = f"the master's words cannot be followed: {error}"
            return outcome
        self._heard_s = now_s
        for each in messages:
            if isinstance(each, ParseError):
                self._answer_unreadable(each, outcome)
            elif isinstance(each.body, Response):
                self._answered(each.header, each.body, now_s, outcome)
            elif isinstance(each.body, Close):
                outcome.ended = f"the master has closed the session (reason {each.body.reason})"
            elif isinstance(each.body, CleanupSet):
                if each.header.session == self._session:
                    self._transactions.clean_up(each.header.transaction)
            elif isinstance(each.body, _QUESTIONS):
                self._on_request(each, outcome)
            if outcome.ended is not None:
                break
        return outcome

    def tick(self, now_s: float) -> Reaction:
        """Time has passed: asks a silent master whether it is there, and gives up in the end."""
        if self._awaited is not None and now_s - self._asked_s > ANSWER_WITHIN_S:
            return Reaction(ended=f"the master has not answered within {ANSWER_WITHIN_S:g} s")
        if (
            self._state == "serving"
            and self._awaited is None
            and now_s - self._heard_s > PING_AFTER_S
        ):
            return Reaction(self._ask(Ping(), now_s))
        return Reaction()

    def end(self) -> bytes:
        """Farewell before the connection is closed; empty where nothing was agreed."""
        if self._session == 0:
            return b""
        return self._message(Header(0, self._session), Close(CloseReason.SHUTDOWN))

    def _answer_unreadable(self, error: ParseError, outcome: Reaction) -> None:
        """Questions that cannot be read are answered so; all else is dropped (7.2.2)."""
        if error.header is not None and error.header.number in _QUESTION_NUMBERS:
            outcome.send += self._response(error.header, Status.PARSE_ERROR)
        outcome.notes.append(f"a message of the master cannot be read: {error}")

    def _answered(self, header: Header, body: Response, now_s: float, outcome: Reaction) -> None:
        if header.packet != self._awaited:
            return  # an answer to what nobody asked
        self._awaited = None
        if self._state == "opening":
            if body.status != Status.NO_ERROR:
                outcome.ended = f"the master opens no session ({status_text(body.status)})"
                return
            self._session = header.session
            self._state = "registering"
        elif self._state == "registering":
            region = self._to_register.pop(0)
            if body.status != Status.NO_ERROR:
                self._refused += 1
                outcome.notes.append(
                    f"the master does not take {region.name} ({dotted(region.subtree)}): "
                    f"{status_text(body.status)}"
                )
        elif body.status != Status.NO_ERROR:
            outcome.ended = f"the master knows no session any more ({status_text(body.status)})"
            return
        if self._state == "registering":
            self._register(now_s, outcome)

    def _register(self, now_s: float, outcome: Reaction) -> None:
        """The next part of the tree; when there is none left, serving begins."""
        if self._to_register:
            asked = Register(0, DEFAULT_PRIORITY, 0, self._to_register[0].subtree)
            outcome.send += self._ask(asked, now_s)
        elif self._refused == len(self._regions):
            outcome.ended = "the master takes none of the parts that are offered"
            outcome.final = True
        else:
            self._state = "serving"

    def _on_request(self, message: Message, outcome: Reaction) -> None:
        header = message.header
        if header.session != self._session or self._session == 0:
            outcome.send += self._response(header, Status.NOT_OPEN)
            return
        if header.context is not None:
            outcome.send += self._response(header, Status.UNSUPPORTED_CONTEXT)
            return
        status, index, why, found = self._answer(header.transaction, message.body)
        if why:
            outcome.notes.append(why)
        outcome.send += self._response(header, status, index, found)

    def _answer(self, transaction: int, body: Body) -> tuple[Status, int, str, tuple[Binding, ...]]:
        """The status, the binding to blame, why, and the values."""
        if isinstance(body, TestSet):
            status, index, why = self._transactions.test(transaction, body.bindings)
            return status, index, f"not set: {why}" if why else "", ()
        if isinstance(body, CommitSet | UndoSet):
            step = self._transactions.commit if isinstance(body, CommitSet) else None
            status, why = (step or self._transactions.undo)(transaction)
            # Without a binding to blame, net-snmp makes a general error of every other one.
            return status, 0 if status == Status.NO_ERROR else 1, why, ()
        try:
            return Status.NO_ERROR, 0, "", self._read(body)
        except ObjectsUnreadable as error:
            return Status.GENERAL_ERROR, 1, str(error), ()

    def _read(self, body: Body) -> tuple[Binding, ...]:
        if isinstance(body, Get):
            objects = self._objects.snapshot(walking=False)
            return tuple(objects.get(each.start) for each in body.ranges)
        objects = self._objects.snapshot(walking=True)
        if isinstance(body, GetNext):
            return tuple(objects.following(each) for each in body.ranges)
        if not isinstance(body, GetBulk):
            return ()
        once = body.ranges[: body.non_repeaters]
        found = [objects.following(each) for each in once]
        repeated = list(body.ranges[body.non_repeaters :])
        for _ in range(body.max_repetitions):
            if not repeated or len(found) + len(repeated) > MOST_BINDINGS:
                break
            row = [objects.following(each) for each in repeated]
            found += row
            if all(each.type == ValueType.END_OF_MIB_VIEW for each in row):
                break
            repeated = [
                SearchRange(each.name, include=False, end=asked.end)
                for each, asked in zip(row, repeated, strict=True)
            ]
        return tuple(found)

    def _ask(self, body: Body, now_s: float) -> bytes:
        self._packet = self._packet % 0x7FFF_FFFF + 1
        self._awaited, self._asked_s = self._packet, now_s
        return self._message(Header(0, self._session, 0, self._packet), body)

    def _response(
        self, header: Header, status: Status, index: int = 0, found: tuple[Binding, ...] = ()
    ) -> bytes:
        """An answer in the byte order of the question, without its context."""
        own = Header(
            0,
            header.session,
            header.transaction,
            header.packet,
            network_order=header.network_order,
        )
        values = found if status == Status.NO_ERROR else ()
        return self._message(own, Response(0, status, index, values))

    def _message(self, header: Header, body: Body) -> bytes:
        return encode(Message(header, body))


def status_text(status: int) -> str:
    """A status in words."""
    try:
        return Status(status).name.lower().replace("_", " ")
    except ValueError:
        return f"status {status}"
