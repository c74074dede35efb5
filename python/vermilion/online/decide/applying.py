"""Applying: the router has been told to change and has not answered yet.

Belief moves on only when the router itself has said what is in force. An answer that never comes
is no refusal: the change may be in force, in part or not at all, so the router is read.

Proposing: a person has been asked whether to make a change.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide import entering, ownership, silence
from vermilion.online.decide.states import Applying, HandsOff, Owed, RouterChange, Watching
from vermilion.online.entries import DecisionKind, format_setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.decide.controller import Turn
    from vermilion.online.decide.detection import Alarm
    from vermilion.online.decide.states import Proposing
    from vermilion.online.events import Command, Done, Lost, Observed, Overtaken, Refused, Silent
    from vermilion.routers.base import ParameterValue


ANSWER_WITHIN_S = 5.0
"""How long a router may take to answer a change before the answer counts as lost."""

_BACK_OFF_S = (2.0, 300.0)
_ASK_AGAIN_S = 30.0  # after a change that never arrived, or was refused
_LONGEST_AGAIN_S = 3600.0
_MOST_RESTORES = 3  # so often the first setting is put back at the end, where it does not arrive


def on_observed(turn: Turn, state: Applying, event: Observed) -> None:
    """Wait for the answer; where it is lost, read what is in force."""
    if not state.lost:
        if turn.now_s - state.since_s > ANSWER_WITHIN_S:
            _count_as_lost(turn, state, f"no answer within {ANSWER_WITHIN_S:g} s")
        return
    if event.in_force is None:
        turn.read_back()
        return
    held = turn.controller.held
    if held.holds(state.change.parameters, event.in_force):
        if ownership.leave_if_shared(turn, state, event.in_force):
            _end_if_wanted(turn, state)
        else:
            _changed(turn, state, event.in_force)
    elif held.is_unchanged(event.in_force, state.before):
        turn.change(unanswered=())
        turn.decide(DecisionKind.REFUSED, "the change never reached the router")
        _not_arrived(turn, state)
    elif state.change.is_free:
        # What is put back stays what it was, however much of it has arrived.
        turn.believe_in_force(event.in_force)
        turn.decide(DecisionKind.REFUSED, _what_is_there(turn, state, event.in_force))
        _not_arrived(turn, state)
    else:
        turn.believe_in_force(event.in_force)
        back = RouterChange(
            "roll back",
            state.before,
            f"{_what_is_there(turn, state, event.in_force)}; the setting before it is put back",
        )
        entering.send(turn, back)


def on_done(turn: Turn, state: Applying, event: Done) -> None:
    """The router has changed."""
    if event.number == state.number:
        _changed(turn, state, event.in_force, event.unwritten)


def on_refused(turn: Turn, state: Applying, event: Refused) -> None:
    """The router has refused, or was not told."""
    if event.number != state.number:
        return
    turn.change(unanswered=turn.controller.router.unanswered[:-1])
    what = {
        "roll back": "to take the setting back",
        "restore": "to restore the first setting",
    }.get(state.change.purpose, "the setting")
    why = (
        f"the router refused {what}: {event.reason}"
        if event.was_sent
        else f"the setting was not sent to the router, because {event.reason}"
    )
    turn.decide(DecisionKind.REFUSED, why, because=event.reason)
    _not_changed(turn, state)


def on_overtaken(turn: Turn, state: Applying, event: Overtaken) -> None:
    """Somebody else was quicker, and nothing was sent: the queue is theirs."""
    if event.number != state.number:
        return
    turn.change(unanswered=turn.controller.router.unanswered[:-1])
    ownership.check_in_force(turn, event.in_force)
    _end_if_wanted(turn, state)


def _end_if_wanted(turn: Turn, left: Applying) -> None:
    """End the run if that was only waiting for the first setting to be restored."""
    state = turn.controller.state
    if left.change.purpose != "restore" or isinstance(state, Applying):
        return
    if isinstance(state, HandsOff):
        turn.decide(
            DecisionKind.END,
            f"the run has ended; the queue stays as it is, because {state.why}",
            changed=dict(state.changed),
        )
    else:  # the router has restarted
        turn.decide(DecisionKind.END, "the run has ended; the first setting is in force again")
    turn.end()


def on_lost(turn: Turn, state: Applying, event: Lost) -> None:
    """The router has not answered."""
    if event.number == state.number:
        _count_as_lost(turn, state, event.reason)


def on_silent(turn: Turn, state: Applying, event: Silent) -> None:
    """The router is silent; whoever wants to end does not wait for it for ever."""
    waits_to_end = state.change.purpose == "restore"
    if not waits_to_end:
        silence.on_silent(turn, state, event)
    elif turn.now_s - state.since_s > ANSWER_WITHIN_S:
        turn.decide(
            DecisionKind.END,
            "the run has ended; the router is silent, so the first setting may not be restored",
            restored=False,
        )
        turn.end()


def _what_is_there(turn: Turn, state: Applying, found: Mapping[str, ParameterValue]) -> str:
    """Describe the outcome of a change that is neither made nor undone."""
    if not ownership.strangers(
        turn.controller.held, found, state.before, [state.change.parameters]
    ):
        return "only a part of the change is in force"
    return "what is in force is neither the change nor the setting before it"


def _count_as_lost(turn: Turn, state: Applying, reason: str) -> None:
    turn.decide(
        DecisionKind.LOST,
        f"the change's outcome is unknown ({reason}); reading back what is in force",
        because=reason,
        waited_s=turn.now_s - state.since_s,
        answer_within_s=ANSWER_WITHIN_S,
    )
    turn.read_back()
    turn.become(replace(state, lost=True))


def _changed(
    turn: Turn,
    state: Applying,
    in_force: Mapping[str, ParameterValue],
    unwritten: str = "",
) -> None:
    """The change is in force."""
    turn.change(refusals=0)
    turn.believe_in_force(in_force)
    change = state.change
    untold = f"; the change is not in the journal, because {unwritten}" if unwritten else ""
    words = format_setting(change.parameters, turn.controller.configuration)
    turn.change(replaced=None if change.is_free else dict(state.before))
    if change.purpose != "end blackout":
        turn.change(blackout_again_s=turn.now_s)
    match change.purpose:
        case "answer" | "end blackout":
            turn.decide(
                DecisionKind.APPLIED,
                f"{words}: {change.reason}",
                setting=dict(change.parameters),
                **change.details,
            )
            if change.purpose == "answer":
                _look_at_it(turn, change)
                return
            turn.change(
                proven=turn.controller.in_force,
                reopening={**turn.controller.router.reopening, **change.parameters},
            )
            entering.wait_anew(turn, "a queue that let nothing through has another setting")
        case "roll back":
            turn.decide(DecisionKind.ROLLED_BACK, f"{change.reason}{untold}", **change.details)
            if turn.controller.held.is_unchanged(turn.controller.proven, state.before):
                # What is taken back has not proved to do no harm, whatever it seemed before.
                turn.change(proven=turn.controller.in_force)
            if (
                turn.controller.traffic.conditions is None
            ):  # nobody would notice what has changed since
                entering.wait_anew(turn, "a setting was taken back")
            else:
                entering.watch_without_model(turn, change.ask_again_s)
        case "restore":
            turn.decide(DecisionKind.RESTORED, f"{change.reason}{untold}")
            turn.decide(DecisionKind.END, "the run has ended")
            turn.end()


def _look_at_it(turn: Turn, change: RouterChange) -> None:
    """A new setting is in force: see what it does."""
    verifying = change.verifying
    if change.stale:
        entering.wait_anew(turn, change.stale, change.stale_cause)
    elif verifying is None:  # an answer always says how it is to be verified
        entering.watch_without_model(turn)
    elif change.refining:
        entering.verify_from_now(turn, verifying)
    else:
        mean, noise = verifying.expected.mean_after, verifying.noise
        entering.observe(turn, verifying.picture, mean, noise, verifying)


def _not_changed(turn: Turn, state: Applying) -> None:
    """Nothing has changed. What takes something back is owed, and tried again ever more rarely."""
    change = state.change
    if change.purpose == "restore":
        turn.decide(
            DecisionKind.END,
            "the run has ended; the first setting could not be restored",
            restored=False,
        )
        turn.end()
        return
    if change.is_free:
        back_off_s = min(_BACK_OFF_S[0] * 2.0**state.attempts, _BACK_OFF_S[1])
        owed = Owed(change, turn.now_s + back_off_s, state.attempts + 1)
        turn.become(Watching(turn.now_s, 0.0, 0.0, None, turn.now_s, owed=owed))
        return
    if change.stale and turn.controller.traffic.modelled is None:  # the law told at once
        entering.wait_anew(turn, "the law is not in force")
        return
    again_s = math.inf
    if change.purpose == "answer":
        # What was refused may be refused again, or the router was only busy: ever more rarely.
        refusals = turn.controller.router.refusals
        turn.change(refusals=refusals + 1)
        again_s = turn.now_s + min(_ASK_AGAIN_S * 2.0**refusals, _LONGEST_AGAIN_S)
    entering.watch_without_model(turn, again_s)


def _not_arrived(turn: Turn, state: Applying) -> None:
    """The change was lost on its way: it is no bad change, and may be tried again."""
    change = state.change
    if change.purpose == "restore" and state.attempts + 1 < _MOST_RESTORES:
        owed_again(turn, Owed(change, turn.now_s, state.attempts + 1))
    elif change.is_free or (change.stale and turn.controller.traffic.modelled is None):
        _not_changed(turn, state)
    else:
        entering.watch_without_model(turn, turn.now_s + _ASK_AGAIN_S)


def owed_again(turn: Turn, owed: Owed) -> None:
    """Try again what the router refused."""
    before = turn.controller.in_force
    number = turn.ask_router(owed.change.parameters, takes_back=owed.change.is_free)
    turn.become(Applying(number, owed.change, turn.now_s, before, attempts=owed.attempts))


_ASK_PERSON_AGAIN_S = 60.0  # after a no


def on_answer(turn: Turn, state: Proposing, event: Command) -> None:
    """A person has answered, or ends the run or takes the last change back instead."""
    if event.verb in {"stop", "undo"}:
        ownership.on_command(turn, state, event)
    elif event.number != state.number:
        return
    elif event.verb == "accept":
        entering.send(turn, state.change)
    elif event.verb == "decline":
        turn.decide(
            DecisionKind.DECLINED, f"proposal {state.number} was declined", number=state.number
        )
        entering.watch_without_model(turn, turn.now_s + _ASK_PERSON_AGAIN_S)


def on_alarm_while_proposing(turn: Turn, state: Proposing, alarm: Alarm) -> None:
    """Conditions have changed before a person answered."""
    entering.say_changed(turn, alarm)
    turn.decide(
        DecisionKind.DECLINED,
        f"proposal {state.number} is withdrawn: conditions have changed",
        number=state.number,
    )
    entering.wait_anew(turn, alarm.reason, alarm.details)
