"""Outcome of a line whose rate was kept, as ``--json`` has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.files.document import document, package_version
from vermilion.online.entries import DecisionKind

if TYPE_CHECKING:
    from vermilion.monitor.waits import Direction, Finding
    from vermilion.online.entries import Decision, SettingInForce
    from vermilion.online.policy import AtExit, Mode


@dataclass(frozen=True, slots=True)
class Wish:
    """Wishes of the operator.

    Attributes:
        excess_s: wait in the line's own queue that is accepted.
        mode: whether anything is changed.
        at_exit: rate at the end: the last safe one, or that of the beginning.
    """

    excess_s: float = 0.010
    mode: Mode = "observe"
    at_exit: AtExit = "keep"


@document(
    "direction router discipline found.bandwidth=found found.command=command rate_bit_per_s?"
    " capacity_bit_per_s? finding finding_in_words=finding.words changes decisions settings"
)
@dataclass(slots=True)
class SideRun:
    """Outcome for one direction.

    Attributes:
        direction: of the packets.
        router: address of the shaper.
        discipline: its kind.
        found: rate at the beginning, bits a second.
        command: that puts it back.
        rate_bit_per_s: mean rate wanted.
        capacity_bit_per_s: of the line, as estimated last.
        finding: where packets waited at the end.
        changes: how often the rate was set.
        decisions: all, in order of time.
        settings: rates in force, likewise, of the last day at most.
        unwritten: entries that the journal could not take.
    """

    direction: Direction
    router: str
    discipline: str
    found: float
    command: str
    rate_bit_per_s: float | None
    capacity_bit_per_s: float | None
    finding: Finding
    changes: int
    decisions: tuple[Decision, ...]
    settings: tuple[SettingInForce, ...]
    unwritten: int


@document(
    "version=package_version interface mode=wish.mode at_exit=wish.at_exit excess_s=wish.excess_s"
    " probes.sent=sent probes.answered=answered probes.reflectors=reflectors"
    " probes.said=said cpu_s for_s directions=sides",
    package_version,
)
@dataclass(frozen=True, slots=True)
class LineRun:
    """A line whose rate was kept."""

    interface: str
    wish: Wish
    sent: int
    answered: int
    reflectors: list[str]
    said: list[str]
    cpu_s: float
    for_s: float
    sides: list[SideRun]

    @property
    def is_not_restored(self) -> bool:
        """True where the first rate should have been restored and may not be."""
        return any(
            each.kind == DecisionKind.END and each.details.get("restored") is False
            for side in self.sides
            for each in side.decisions
        )
