"""Proposing: a person has been asked whether to make a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.decide import entering
from vermilion.online.kinds import DecisionKind

if TYPE_CHECKING:
    from vermilion.online.decide.detection import Alarm
    from vermilion.online.decide.states import Proposing
    from vermilion.online.decide.turn import Turn
    from vermilion.online.events import Command

_ASK_AGAIN_S = 60.0  # after a no


def on_command(turn: Turn, state: Proposing, event: Command) -> None:
    """A person has answered."""
    if event.number != state.number:
        return
    if event.verb == "accept":
        entering.send(turn, state.change)
    elif event.verb == "decline":
        turn.decide(
            DecisionKind.DECLINED, f"proposal {state.number} was declined", number=state.number
        )
        entering.watch_without_model(turn, turn.now_s + _ASK_AGAIN_S)


def on_alarm(turn: Turn, state: Proposing, alarm: Alarm) -> None:
    """Conditions have changed before a person answered."""
    entering.say_changed(turn, alarm)
    turn.decide(
        DecisionKind.DECLINED,
        f"proposal {state.number} is withdrawn: conditions have changed",
        number=state.number,
    )
    entering.wait_anew(turn, alarm.reason, alarm.details)
