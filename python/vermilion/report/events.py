"""The moments of an on-line run that a reader looks for in a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.online.entries import Decision, OnlineRun

DETECTED = "change-detected"
APPLIED = "applied"
ROLLED_BACK = "rolled-back"


@dataclass(frozen=True, slots=True)
class Events:
    """When what happened, in seconds of the network's time.

    Attributes:
        detected: the controller noticed that conditions had changed.
        applied: new parameters came into force.
        rolled_back: the earlier parameters came back into force.
    """

    detected: tuple[float, ...]
    applied: tuple[float, ...]
    rolled_back: tuple[float, ...]


def events_of(run: OnlineRun) -> Events:
    """The events among a run's decisions."""
    return Events(
        detected=_times(run.decisions, DETECTED),
        applied=_times(run.decisions, APPLIED),
        rolled_back=_times(run.decisions, ROLLED_BACK),
    )


def _times(decisions: tuple[Decision, ...], kind: str) -> tuple[float, ...]:
    return tuple(decision.time_s for decision in decisions if decision.kind == kind)
