"""Taking charge of a queue, and leaving it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from vermilion.online.decide import entering, leaving_alone, undoing
from vermilion.online.decide.states import Applying, RouterChange, Waiting
from vermilion.online.kinds import DecisionKind
from vermilion.online.marking import marks

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.online.decide.states import HandsOff, State
    from vermilion.online.decide.turn import Turn
    from vermilion.online.events import Began, Command

Stating = TypeVar("Stating", bound="State")


def on_began(turn: Turn, _state: Waiting, event: Began) -> None:
    """The controller is in charge: what stands now is what can be restored.

    Where an earlier run was killed, that run's work is gone on with: what stood before its first
    change stays what can be restored, and what it asked for without an answer may be in force. What
    it had not judged is taken back.
    """
    if turn.controller.in_force:
        say_start(turn, "an earlier run did not end in order, and this one continues it; ")
        entering.wait_anew(turn, "the controller goes on")
        found = event.in_force
        if turn.controller.held.is_unchanged(found, turn.controller.in_force):
            turn.believe_in_force(found)
        else:
            leaving_alone.check_in_force(turn, found, just_begun=True)
        _take_back_what_nobody_judged(turn)
        return
    turn.believe_in_force(event.in_force)
    turn.change(original=dict(event.in_force))
    say_start(turn)
    turn.become(Waiting(turn.now_s, turn.now_s, "the controller has started"))


def _take_back_what_nobody_judged(turn: Turn) -> None:
    """An earlier run was killed before it had judged its last change: that does not stay.

    Nobody has looked at what it does since, and the next search would take it for what is usual.
    """
    controller = turn.controller
    is_left = controller.left_unjudged and isinstance(controller.state, Waiting)
    if not is_left or controller.policy.mode == "observe":
        return
    known = (controller.proven, controller.original)
    if any(controller.held.is_unchanged(controller.in_force, each) for each in known):
        return
    reason = "the earlier run was cut off before it had judged its last change; "
    if controller.proven:
        reason += "the last setting it had judged comes back"
    else:
        reason += "what stood before its first change comes back"
    trusted = controller.proven or controller.original
    entering.send(turn, RouterChange("roll back", dict(trusted), reason))


def on_began_hands_off(turn: Turn, state: HandsOff, event: Began) -> None:
    """Somebody else was in charge when an earlier run was killed, and still is."""
    changed = {**state.changed, **leaving_alone.changed_in(turn, event.in_force)}
    turn.believe_in_force(event.in_force)
    say_start(turn, "an earlier run did not end in order, and this one continues it; ")
    entering.hands_off(turn, state.why, changed)


def say_start(turn: Turn, before: str = "") -> None:
    """Say what is in charge of what."""
    policy = turn.controller.policy
    switches = policy.switches if marks(turn.controller.in_force) else ()
    also = f"; where marks alone cannot, by {', '.join(switches)} as well" if switches else ""
    turn.decide(
        DecisionKind.START,
        f"{before}watching link {policy.link} ({turn.controller.configuration.discipline}): "
        f"{policy.goal} by {', '.join(policy.parameters)}{also}",
        mode=policy.mode,
        goal=policy.goal,
        target_packets=policy.target_packets,
        parameters=[*policy.parameters, *switches],
    )


def on_command(turn: Turn, state: State, event: Command) -> None:
    """Take the last change back, or leave the queue as the operator wants it left."""
    if event.verb == "undo":
        undoing.undo(turn, state)
    if event.verb != "stop":
        return
    controller = turn.controller
    policy = controller.policy
    # What was asked for and not answered may be in force as well.
    changed = controller.unanswered or not controller.held.is_unchanged(
        controller.in_force, controller.original
    )
    if isinstance(state, Applying) and state.change.purpose == "restore":
        turn.decide(
            DecisionKind.END,
            "the run has ended before the first setting was restored",
            restored=False,
        )
        turn.end()
        return
    if policy.at_exit == "restore" and policy.mode != "observe" and changed:
        reason = "the controller ends and puts back what stood before its first change"
        entering.send(turn, RouterChange("restore", dict(controller.original), reason))
        return
    turn.decide(DecisionKind.END, "the run has ended")
    turn.end()


def on_command_or(
    handle: Callable[[Turn, Stating, Command], None],
) -> Callable[[Turn, Stating, Command], None]:
    """A handler for a state to which a person may say more than "stop" and "undo"."""

    def handler(turn: Turn, state: Stating, event: Command) -> None:
        if event.verb in {"stop", "undo"}:
            on_command(turn, state, event)
        else:
            handle(turn, state, event)

    return handler
