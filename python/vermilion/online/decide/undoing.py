"""Undoing: a person wants back what stood before the last change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.online.decide import entering
from vermilion.online.decide.states import Applying, Blind, Ended, HandsOff, RouterChange
from vermilion.online.kinds import DecisionKind

if TYPE_CHECKING:
    from vermilion.online.decide.states import State
    from vermilion.online.decide.turn import Turn

ASK_AGAIN_S: Final = 60.0
"""How long the controller proposes nothing after a person has taken a change back."""


def undo(turn: Turn, state: State) -> None:
    """Put back what stood before the last change, unless there is nothing to put back.

    Whoever asks every time is asked again after a minute. A controller that does not ask would soon
    change the queue again, so it pauses until the person says "resume".
    """
    controller = turn.controller
    if controller.replaced is None or controller.policy.mode == "observe":
        return
    if isinstance(state, Applying | Blind | HandsOff | Ended):
        return  # the router is being asked, does not answer, or belongs to somebody else
    if controller.policy.mode == "control" and not controller.paused_by_person:
        turn.change(paused_by_person=True)
        turn.decide(
            DecisionKind.PAUSED,
            'a person has taken a change back; nothing changes until they say "resume"',
            by="a person",
        )
    _forget(turn)
    back = RouterChange(
        "roll back",
        dict(controller.replaced),
        "a person has taken the last change back",
        ask_again_s=turn.now_s + ASK_AGAIN_S,
    )
    entering.send(turn, back)


def _forget(turn: Turn) -> None:
    """What is taken back is not recalled in these conditions; what else did well in them stays."""
    controller, picture = turn.controller, turn.controller.modelled
    if picture is None:
        return
    regime = controller.regimes.recalled(picture, turn.queueing_s(picture))
    if regime is not None and controller.held.holds(regime.setting, controller.in_force):
        entering.forget(turn, picture)
