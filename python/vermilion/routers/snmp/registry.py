"""The queues that an agent serves, wherever they are. Pure interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue, Reading


@dataclass(frozen=True, slots=True, order=True)
class QueuePlace:
    """Where a queue is.

    Attributes:
        interface: the number of its interface (``ifIndex``).
        parent: the class that it is below, as one number of 32 bits.
    """

    interface: int
    parent: int


@dataclass(frozen=True, slots=True)
class TrafficSeen:
    """What a passive monitor knows of the traffic of one queue; what it does not is ``None``.

    Attributes:
        flows: that have begun and not ended.
        mean_round_trip_s: of the last seconds.
        least_round_trip_s: likewise.
    """

    flows: int | None = None
    mean_round_trip_s: float | None = None
    least_round_trip_s: float | None = None


@dataclass(frozen=True, slots=True)
class ServedQueue:
    """One queue at one moment.

    Attributes:
        place: where it is.
        interface: the name of its interface.
        kind: the kernel's word, like "red".
        discipline: Vermilion's name for what it does.
        parameters: in force, by their names in the discipline's table.
        settable: the names of those that can be changed.
        reading: its counters.
        may_change: whether the agent lets it be changed.
        early_drops: of ``reading.drops`` those by the coin; ``None`` where that is not counted.
        full_drops: those for want of room; likewise.
        changes: made through this agent.
        last_refusal: why a change was last refused; empty for never.
        traffic: what is known of it.
    """

    place: QueuePlace
    interface: str
    kind: str
    discipline: str
    parameters: Mapping[str, ParameterValue]
    settable: Sequence[str]
    reading: Reading
    may_change: bool = False
    early_drops: int | None = None
    full_drops: int | None = None
    changes: int = 0
    last_refusal: str = ""
    traffic: TrafficSeen = field(default_factory=TrafficSeen)


class QueueRegistry(Protocol):
    """Queues that can be read, and some of which can be changed."""

    def queues(self) -> Sequence[ServedQueue]:
        """All of them, now.

        Raises:
            RouterError: they cannot be read.
        """

    def check(self, place: QueuePlace, parameters: Mapping[str, ParameterValue]) -> None:
        """Whether these could be put in force over the present ones.

        Raises:
            RouterError: not; the message says which and why.
        """

    def apply(self, place: QueuePlace, parameters: Mapping[str, ParameterValue]) -> None:
        """Put these in force over the present ones: all of them or none.

        Raises:
            RouterError: it was refused, and what was there is in force.
            RouterSilent: it is not known what is in force.
        """
