"""The messages of AgentX as values (RFC 2741, 6), and what they are made of (5).

Only what a subagent sends or is sent; of that all. Object identifiers are tuples of at most 128
numbers from 0 to 2^32 - 1 (RFC 2578, 3.5).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, Final, TypeAlias

ObjectIdentifier: TypeAlias = tuple[int, ...]
"""The name of an object or of a part of the tree."""

LONGEST: Final = 128
"""Numbers of an object identifier."""

LARGEST: Final = 2**32 - 1
"""The largest of its numbers."""

ZERO_DOT_ZERO: Final[ObjectIdentifier] = (0, 0)
"""A pointer to nothing (RFC 2578, "zeroDotZero")."""


def dotted(name: ObjectIdentifier) -> str:
    """Dotted notation, like "1.3.6.1.2.1"."""
    return ".".join(str(each) for each in name)


def below(name: ObjectIdentifier, top: ObjectIdentifier) -> bool:
    """Return whether a name is in the part of the tree that begins at another."""
    return name[: len(top)] == top


VERSION: Final = 1
DEFAULT_PRIORITY: Final = 127
"""Of a registration; a lower number wins."""


class ValueType(IntEnum):
    """Types of values (5.4)."""

    INTEGER = 2
    OCTET_STRING = 4
    NULL = 5
    OBJECT_IDENTIFIER = 6
    IP_ADDRESS = 64
    COUNTER32 = 65
    GAUGE32 = 66
    TIME_TICKS = 67
    OPAQUE = 68
    COUNTER64 = 70
    NO_SUCH_OBJECT = 128
    NO_SUCH_INSTANCE = 129
    END_OF_MIB_VIEW = 130


class Status(IntEnum):
    """Status of a request (6.2.16; those below 200 are of SNMP, RFC 3416)."""

    NO_ERROR = 0
    GENERAL_ERROR = 5
    NO_ACCESS = 6
    WRONG_TYPE = 7
    WRONG_LENGTH = 8
    WRONG_ENCODING = 9
    WRONG_VALUE = 10
    NO_CREATION = 11
    INCONSISTENT_VALUE = 12
    RESOURCE_UNAVAILABLE = 13
    COMMIT_FAILED = 14
    UNDO_FAILED = 15
    NOT_WRITABLE = 17
    INCONSISTENT_NAME = 18
    OPEN_FAILED = 256
    NOT_OPEN = 257
    INDEX_WRONG_TYPE = 258
    INDEX_ALREADY_ALLOCATED = 259
    INDEX_NONE_AVAILABLE = 260
    INDEX_NOT_ALLOCATED = 261
    UNSUPPORTED_CONTEXT = 262
    DUPLICATE_REGISTRATION = 263
    UNKNOWN_REGISTRATION = 264
    UNKNOWN_AGENT_CAPABILITIES = 265
    PARSE_ERROR = 266
    REQUEST_DENIED = 267
    PROCESSING_ERROR = 268


class CloseReason(IntEnum):
    """Reason for which a session is closed (6.2.2)."""

    OTHER = 1
    PARSE_ERROR = 2
    PROTOCOL_ERROR = 3
    TIMEOUTS = 4
    SHUTDOWN = 5
    BY_MANAGER = 6


Value: TypeAlias = "int | bytes | ObjectIdentifier | None"
"""A number, octets, an object identifier, or nothing; which of them the type says."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A name with a value (5.4).

    Attributes:
        name: of one object.
        type: of its value, or why there is none.
        value: ``None`` for the types that have none.
    """

    name: ObjectIdentifier
    type: ValueType
    value: Value = None


@dataclass(frozen=True, slots=True)
class SearchRange:
    """Range in which to look for the next object (5.2).

    Attributes:
        start: the object looked for comes after it.
        include: or is it.
        end: the object looked for comes before it; empty where there is no end.
    """

    start: ObjectIdentifier
    include: bool = False
    end: ObjectIdentifier = ()


@dataclass(frozen=True, slots=True)
class Open:
    """A subagent asks for a session."""

    number: ClassVar[int] = 1
    timeout_s: int
    identity: ObjectIdentifier
    description: bytes


@dataclass(frozen=True, slots=True)
class Close:
    """Either side ends the session."""

    number: ClassVar[int] = 2
    reason: int


@dataclass(frozen=True, slots=True)
class Register:
    """A subagent offers a part of the tree.

    Attributes:
        timeout_s: the master waits so long for an answer; 0: as told with :class:`Open`.
        priority: the lower number wins.
        range_subid: which number of the subtree runs up to ``upper_bound``; 0 for none.
        subtree: where the part begins.
        upper_bound: absent unless ``range_subid`` says otherwise.
    """

    number: ClassVar[int] = 3
    timeout_s: int
    priority: int
    range_subid: int
    subtree: ObjectIdentifier
    upper_bound: int | None = None


@dataclass(frozen=True, slots=True)
class Unregister:
    """A subagent takes a part of the tree back; fields as of :class:`Register`."""

    number: ClassVar[int] = 4
    priority: int
    range_subid: int
    subtree: ObjectIdentifier
    upper_bound: int | None = None


@dataclass(frozen=True, slots=True)
class Get:
    """The values of objects; of each range only the start counts."""

    number: ClassVar[int] = 5
    ranges: tuple[SearchRange, ...]


@dataclass(frozen=True, slots=True)
class GetNext:
    """The objects that come next."""

    number: ClassVar[int] = 6
    ranges: tuple[SearchRange, ...]


@dataclass(frozen=True, slots=True)
class GetBulk:
    """The objects that come next, several times over.

    Attributes:
        non_repeaters: for so many of the ranges, one object is enough.
        max_repetitions: so many for each of the others.
    """

    number: ClassVar[int] = 7
    non_repeaters: int
    max_repetitions: int
    ranges: tuple[SearchRange, ...]


@dataclass(frozen=True, slots=True)
class TestSet:
    """Test whether values could be set."""

    number: ClassVar[int] = 8
    __test__: ClassVar[bool] = False  # pytest shall not take it for one of its own
    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class CommitSet:
    """Set what was tested."""

    number: ClassVar[int] = 9


@dataclass(frozen=True, slots=True)
class UndoSet:
    """Put back what was there."""

    number: ClassVar[int] = 10


@dataclass(frozen=True, slots=True)
class CleanupSet:
    """The transaction is over; never answered."""

    number: ClassVar[int] = 11


@dataclass(frozen=True, slots=True)
class Notify:
    """A subagent has something to tell."""

    number: ClassVar[int] = 12
    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class Ping:
    """Liveness probe of the agent."""

    number: ClassVar[int] = 13


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to any of the others.

    Attributes:
        uptime_ticks: the master's ``sysUpTime`` in hundredths of a second; 0 from a subagent.
        status: a number of :class:`Status`, or one that is not known here.
        index: which binding is to blame, counted from 1.
        bindings: the values asked for.
    """

    number: ClassVar[int] = 18
    uptime_ticks: int
    status: int
    index: int
    bindings: tuple[Binding, ...] = ()


Body: TypeAlias = (
    Open
    | Close
    | Register
    | Unregister
    | Get
    | GetNext
    | GetBulk
    | TestSet
    | CommitSet
    | UndoSet
    | CleanupSet
    | Notify
    | Ping
    | Response
)


@dataclass(frozen=True, slots=True)
class Header:
    """Header of a message (6.1).

    Attributes:
        number: of the kind of message.
        session: the session's number; 0 before there is one.
        transaction: one request of a manager.
        packet: what a response is matched by.
        network_order: whether numbers begin with their largest octet.
        context: of SNMPv3; ``None`` for the default one.
        instance: of :class:`Register`: one object is meant, not a part of the tree.
    """

    number: int
    session: int = 0
    transaction: int = 0
    packet: int = 0
    network_order: bool = True
    context: bytes | None = field(default=None)
    instance: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One message."""

    header: Header
    body: Body
