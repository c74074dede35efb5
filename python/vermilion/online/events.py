"""Events that reach a controller, and effects that it requests.

Events are all that reaches a controller; time comes beside each. Effects are carried out by a
driver and answered with events. An effect that is answered has a number, which its answer carries.
Whatever changes the router is in the journal before it is carried out, unless it takes something
back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.entries import Entry
    from vermilion.online.plan.task import Finding, Task
    from vermilion.routers.base import Observation, ParameterValue


@dataclass(frozen=True, slots=True)
class Began:
    """The controller has been put in charge of a queue.

    Attributes:
        in_force: every discipline parameter in force.
    """

    in_force: Mapping[str, ParameterValue]


@dataclass(frozen=True, slots=True)
class Observed:
    """The router was read.

    Attributes:
        observation: what was seen.
        in_force: every discipline parameter in force, where that was read as well.
    """

    observation: Observation
    in_force: Mapping[str, ParameterValue] | None = None


@dataclass(frozen=True, slots=True)
class Silent:
    """The router was asked and did not answer, or its answer makes no sense.

    Attributes:
        reason: what came instead.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """A search has ended.

    Attributes:
        number: of the effect that asked for it.
        finding: what it came to.
        took_s: how long it took, in the network's time.
    """

    number: int
    finding: Finding
    took_s: float


@dataclass(frozen=True, slots=True)
class SearchFailed:
    """A search died, or hung and was ended.

    Attributes:
        number: of the effect that asked for it.
        reason: what happened.
    """

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Done:
    """The router has changed, and says so itself.

    Attributes:
        number: of the effect that asked for it.
        in_force: every discipline parameter, read back after the change.
        unwritten: why the change could not be written down first; "" if it was.
    """

    number: int
    in_force: Mapping[str, ParameterValue]
    unwritten: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The router refused a change, or could not be told of it; nothing has changed.

    Attributes:
        number: of the effect that asked for it.
        reason: the router's own words, or why nothing was sent to it.
        was_sent: whether the router was told.
    """

    number: int
    reason: str
    was_sent: bool = True


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Somebody else has changed the queue since it was last read, so nothing was sent.

    Attributes:
        number: of the effect that asked for a change.
        in_force: every discipline parameter, as somebody else has left it.
    """

    number: int
    in_force: Mapping[str, ParameterValue]


@dataclass(frozen=True, slots=True)
class Lost:
    """Nobody knows what has become of a change: it may be in force, in part or not at all.

    Attributes:
        number: of the effect that asked for it.
        reason: what came instead of an answer.
    """

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Command:
    """A person has said something.

    Attributes:
        verb: ``accept`` or ``decline`` a proposal; ``undo`` puts back what stood before the last
            change; ``pause`` changes nothing any more, ``resume`` goes on; ``stop`` ends.
        number: of the proposal, where it is about one.
    """

    verb: Literal["accept", "decline", "undo", "pause", "resume", "stop"]
    number: int | None = None


Event: TypeAlias = (
    Began | Observed | Silent | Found | SearchFailed | Done | Refused | Lost | Overtaken | Command
)


@dataclass(frozen=True, slots=True)
class Apply:
    """Put parameters in force; answered by ``Done``, ``Refused``, ``Lost`` or ``Overtaken``.

    Whoever carries it out reads the router first. Where something else stands there than is
    believed, somebody else has changed it, and nothing is sent.

    Attributes:
        number: of the effect.
        parameters: to be merged over those in force, all of them or none.
        believed: every parameter as last read back; empty where nothing is known.
        unanswered: changes sent since, any of which may be in force, whole or in part.
        takes_back: whether it takes something back: that is not left undone because it cannot be
            written down first.
    """

    number: int
    parameters: Mapping[str, ParameterValue]
    believed: Mapping[str, ParameterValue] = field(default_factory=dict)
    unanswered: tuple[Mapping[str, ParameterValue], ...] = ()
    takes_back: bool = False


@dataclass(frozen=True, slots=True)
class Propose:
    """Ask a person whether to put parameters in force; answered by ``Command``.

    Attributes:
        number: of the effect.
        parameters: as for ``Apply``.
        why: in one line.
    """

    number: int
    parameters: Mapping[str, ParameterValue]
    why: str


@dataclass(frozen=True, slots=True)
class Search:
    """Think; answered by ``Found`` or ``SearchFailed``.

    Attributes:
        number: of the effect.
        task: about what.
    """

    number: int
    task: Task


@dataclass(frozen=True, slots=True)
class Cancel:
    """Nobody waits for this search any more; it is not answered.

    Attributes:
        number: of the effect that asked for it.
    """

    number: int


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Let the next observation come with the parameters in force; not answered otherwise."""


@dataclass(frozen=True, slots=True)
class Record:
    """Write something down, and tell it where it is a decision; not answered.

    Attributes:
        entry: what.
    """

    entry: Entry


@dataclass(frozen=True, slots=True)
class End:
    """The controller has ended; nothing follows."""


Effect: TypeAlias = Apply | Propose | Search | Cancel | ReadBack | Record | End
