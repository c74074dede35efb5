"""Blind: the router has been silent for too long.

Whoever cannot see must not steer: the search is given up, and the router is told, as far as it
hears at all, to use the setting that the operator chose for such times, or the last that was found
to do no harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.decide import entering
from vermilion.online.decide.states import Blind
from vermilion.online.events import Refused
from vermilion.online.kinds import DecisionKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.decide.turn import Turn
    from vermilion.online.events import Done, Lost, Observed, Overtaken, Silent
    from vermilion.routers.base import ParameterValue


def on_silent(turn: Turn, _state: object, event: Silent) -> None:
    """Count the silence; blind once it has lasted too long."""
    controller = turn.controller
    if controller.unheard_since_s is None:
        turn.change(unheard_since_s=turn.now_s)
        return
    silent_s = turn.now_s - controller.unheard_since_s
    if silent_s < controller.policy.blind_after_s - entering.EPSILON_S:
        return
    turn.decide(
        DecisionKind.BLIND,
        f"the router has not answered for {silent_s:.1f} s ({event.reason}), so nothing is tuned",
        silent_s=silent_s,
        because=event.reason,
    )
    number = None
    setting = _for_blind_times(turn)
    if setting and controller.policy.mode == "control" and not controller.paused_by_person:
        number = turn.ask_router(setting)
    turn.change(promise=None, conditions=None)
    turn.become(Blind(controller.unheard_since_s, number))


def on_done(turn: Turn, state: Blind, event: Done) -> None:
    """The router has taken the setting for blind times."""
    if event.number == state.number:
        turn.believe_in_force(event.in_force)
        turn.decide(DecisionKind.FELL_BACK, "the router has taken the setting for blind times")


def on_refused(turn: Turn, state: Blind, event: Refused | Lost) -> None:
    """The router does not hear either: what is in force stays, for all that is known."""
    if event.number != state.number:
        return
    if isinstance(event, Refused):
        turn.change(unanswered=turn.controller.unanswered[:-1])
        why = (
            f"the router refused the setting for blind times: {event.reason}"
            if event.was_sent
            else f"the setting for blind times was not sent to the router, because {event.reason}"
        )
        turn.decide(DecisionKind.REFUSED, why, because=event.reason)
    else:
        turn.decide(
            DecisionKind.LOST,
            "nobody knows whether the setting for blind times has reached the router: "
            f"{event.reason}",
            because=event.reason,
        )


def on_overtaken(turn: Turn, state: Blind, event: Overtaken) -> None:
    """Something else stands there than was known; who has set that is found out in daylight."""
    if event.number != state.number:
        return
    why = "the router does not have the setting that it had before"
    turn.change(unanswered=turn.controller.unanswered[:-1])
    turn.decide(
        DecisionKind.REFUSED,
        f"the setting for blind times was not sent to the router, because {why}",
        because=why,
    )


def on_observed(turn: Turn, state: Blind, _event: Observed) -> None:
    """The router answers again: look at it as for the first time."""
    silent_s = turn.now_s - state.since_s
    turn.decide(
        DecisionKind.SIGHTED,
        f"the router answers again after {silent_s:.1f} s",
        silent_s=silent_s,
    )
    turn.read_back()
    entering.wait_anew(turn, "the router answers again")


def _for_blind_times(turn: Turn) -> Mapping[str, ParameterValue]:
    """What to put in force, as far as it differs from what is; nothing where it does not."""
    controller = turn.controller
    wanted = controller.policy.fall_back or controller.proven or controller.original
    return controller.held.missed(wanted, controller.in_force)
