"""What a controller can ask for. A driver carries it out and answers with an event.

Each effect that is answered has a number, and the answer carries it, so that an answer to a
question nobody asks any more is known as such. Whatever changes the router is in the journal before
it is carried out, unless it takes something back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.entries import Entry
    from vermilion.online.plan.task import Task
    from vermilion.routers.base import ParameterValue


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
