"""Conditions are no longer those of the model in use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide import entering
from vermilion.online.decide.states import Observing, Paused, Verifying, Waiting, Watching

if TYPE_CHECKING:
    from vermilion.online.decide.detection import Alarm
    from vermilion.online.decide.turn import Turn


def on_alarm(turn: Turn, state: Observing | Verifying | Watching, alarm: Alarm) -> None:
    """Wait for a steady picture of what the traffic has become."""
    if isinstance(state, Watching) and state.owed is not None:
        return  # what has to be taken back comes first; the change will still be there
    entering.say_changed(turn, alarm)
    unverified = state if isinstance(state, Verifying) else None
    if isinstance(state, Observing):
        unverified = state.unverified
    entering.say_unverified(turn, unverified)
    entering.wait_anew(turn, alarm.reason, alarm.details)


def on_alarm_while_paused(turn: Turn, state: Paused, alarm: Alarm) -> None:
    """What was to be gone on with has no meaning any more: wait for a steady picture then."""
    entering.say_changed(turn, alarm)
    turn.change(conditions=None)
    turn.become(
        replace(state, resume=Waiting(turn.now_s, turn.now_s, alarm.reason, cause=alarm.details))
    )
