"""A subagent's side of a conversation with a master (RFC 2741, 7). Pure.

It opens a session, registers parts of the tree, answers questions, tests and commits changes, and
looks after a master that has gone silent. Time and octets come in, octets and notes go out; the
objects that it serves are the only thing that it touches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from vermilion.agentx.codec import ParseError, encode
from vermilion.agentx.object_identifier import dotted
from vermilion.agentx.objects import ObjectsUnreadable
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
)
from vermilion.agentx.stream import MessageStream
from vermilion.agentx.transactions import Transactions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.agentx.object_identifier import ObjectIdentifier
    from vermilion.agentx.objects import ManagedObjects
    from vermilion.agentx.protocol import Body

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
    """What came of something.

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
        """Whether the master passes questions on."""
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
                self._misunderstood(each, outcome)
            elif isinstance(each.body, Response):
                self._answered(each.header, each.body, now_s, outcome)
            elif isinstance(each.body, Close):
                outcome.ended = f"the master has closed the session (reason {each.body.reason})"
            elif isinstance(each.body, CleanupSet):
                if each.header.session == self._session:
                    self._transactions.clean_up(each.header.transaction)
            elif isinstance(each.body, _QUESTIONS):
                self._asked(each, outcome)
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
        """What to say before the connection is closed; empty where nothing was agreed."""
        if self._session == 0:
            return b""
        return self._message(Header(0, self._session), Close(CloseReason.SHUTDOWN))

    def _misunderstood(self, error: ParseError, outcome: Reaction) -> None:
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

    def _asked(self, message: Message, outcome: Reaction) -> None:
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
