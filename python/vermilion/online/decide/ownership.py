"""Comparison of the setting in force with the setting requested.

Hands off: somebody else has taken charge of the queue; it is watched and left alone.

Undoing: a person wants back what stood before the last change.

Taking charge of a queue, and leaving it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from vermilion.online.decide import entering
from vermilion.online.decide.states import Applying, Blind, Ended, HandsOff, RouterChange, Waiting
from vermilion.online.entries import DecisionKind, format_setting
from vermilion.online.policy import marks
from vermilion.routers.queue_set import by_queue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.online.decide.controller import Turn
    from vermilion.online.decide.states import State
    from vermilion.online.events import Began, Command
    from vermilion.routers.base import HeldValues, ParameterValue


def stands(
    held: HeldValues,
    found: Mapping[str, ParameterValue],
    believed: Mapping[str, ParameterValue],
    unanswered: Sequence[Mapping[str, ParameterValue]],
) -> bool:
    """Check that nobody else has changed the setting.

    Args:
        held: what the router makes of values.
        found: what the router says.
        believed: every parameter as last read back.
        unanswered: changes sent since, any of which may be in force, whole or in part.
    """
    if held.is_unchanged(found, believed):
        return True
    return bool(unanswered) and not strangers(held, found, believed, unanswered)


def strangers(
    held: HeldValues,
    in_force: Mapping[str, ParameterValue],
    before: Mapping[str, ParameterValue],
    asked: Sequence[Mapping[str, ParameterValue]],
) -> dict[str, ParameterValue]:
    """Values in force that are neither old nor requested.

    Args:
        held: what the router makes of values.
        in_force: what the router says.
        before: every parameter before it was asked.
        asked: for what it was asked since.
    """
    changes = [held.nearest(change) for change in asked]
    return {
        name: value
        for name, value in sorted(held.still(in_force).items())
        if value != before.get(name)
        and not any(name in change and held.is_same(change[name], value) for change in changes)
    }


def check_in_force(
    turn: Turn, found: Mapping[str, ParameterValue], *, just_begun: bool = False
) -> None:
    """Notice when somebody else has changed the parameters in force.

    A router that has gone back to what stood before the first change, with counters that have
    fallen, has restarted: nobody has taken charge of it, and it is tuned again. Where the counters
    go on, a person has put that back. What a queue moves by itself nobody has set.

    Args:
        turn: the step being made.
        found: every parameter, as the router says.
        just_begun: whether nothing is known of earlier counters. Whoever starts a controller on
            what stood at first wants it tuned.
    """
    controller = turn.controller
    held, known = controller.held, controller.in_force
    restarted = controller.router.restarted
    turn.change(restarted=frozenset())
    if stands(held, found, known, ()):
        turn.change(unanswered=())
        if dict(found) != dict(known):  # a model begins where the queue has moved to
            turn.change(in_force=dict(found))
        return
    if stands(held, found, known, controller.router.unanswered):
        _arrived_unanswered(turn, found)
        return
    changed = changed_in(turn, found)
    gone_back = _gone_back(turn, found)
    turn.believe_in_force(found)
    put_back = ", ".join(f"{name} {value}" for name, value in changed.items())
    if gone_back and (just_begun or gone_back <= restarted):
        why = f"the router has gone back to {put_back}, as before the first change"
        turn.decide(DecisionKind.CHANGE_DETECTED, why, watcher="setting", changed=changed)
        turn.change(promise=None)
        entering.wait_anew(turn, why, {"changed": changed})
        return
    if gone_back:
        why = f"somebody else has put back {put_back}, as before the first change"
    else:
        words = ", ".join(f"{name} to {value}" for name, value in changed.items())
        why = f"somebody else has set {words}"
    entering.hands_off(turn, why, changed)


def follow(turn: Turn, state: HandsOff, found: Mapping[str, ParameterValue]) -> None:
    """While hands are off, keep up with what somebody else sets."""
    turn.change(restarted=frozenset())
    changed = changed_in(turn, found)
    if changed:
        turn.believe_in_force(found)
        turn.become(replace(state, changed={**state.changed, **changed}))
    elif dict(found) != dict(turn.controller.in_force):
        turn.change(in_force=dict(found))


def leave_if_shared(turn: Turn, state: Applying, found: Mapping[str, ParameterValue]) -> bool:
    """Hands off where a change has arrived, and beside it somebody else's."""
    asked = (state.change.parameters, *turn.controller.router.unanswered)
    foreign = strangers(turn.controller.held, found, state.before, asked)
    if not foreign:
        return False
    turn.believe_in_force(found)
    words = ", ".join(f"{name} to {value}" for name, value in foreign.items())
    entering.hands_off(turn, f"somebody else has set {words}", foreign)
    return True


def changed_in(turn: Turn, found: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
    """Values that differ from those last read, except those the queue moves by itself."""
    known, still = turn.controller.in_force, turn.controller.held.still(found)
    return {name: still[name] for name in sorted(still) if still[name] != known.get(name)}


def _gone_back(turn: Turn, found: Mapping[str, ParameterValue]) -> frozenset[str]:
    """The queues that have gone back to what stood before the first change; the only one is "".

    Of several queues each may be on a router of its own: those that have not gone back have what
    was known of them. Where one has anything else, it is none.
    """
    controller = turn.controller
    held = controller.held
    if not controller.configuration.queues:
        has = held.is_unchanged(found, controller.original)
        return frozenset({""} if has else ())
    original = by_queue(held.still(controller.original))
    known = by_queue(held.still(controller.in_force))
    moved = {
        link: setting
        for link, setting in by_queue(held.still(found)).items()
        if setting != known.get(link)
    }
    has = all(setting == original.get(link) for link, setting in moved.items())
    return frozenset(moved if has else ())


def _arrived_unanswered(turn: Turn, found: Mapping[str, ParameterValue]) -> None:
    """A change whose answer was lost has arrived after all; not in part, if that can be helped."""
    controller = turn.controller
    known = controller.in_force
    whole = any(
        controller.held.holds({**known, **asked}, found) for asked in controller.router.unanswered
    )
    turn.believe_in_force(found)
    if whole:
        turn.decide(
            DecisionKind.APPLIED,
            "a change whose answer was lost is in force after all: "
            + format_setting(found, turn.controller.configuration),
            setting=dict(found),
        )
    elif controller.policy.mode == "observe":
        turn.decide(DecisionKind.LOST, "only a part of a change whose answer was lost is in force")
    else:
        reason = "only a part of a change whose answer was lost is in force; it is taken back"
        entering.send(turn, RouterChange("roll back", dict(known), reason))


def on_command_hands_off(turn: Turn, state: HandsOff, event: Command) -> None:
    """A person gives the queue back, or ends the run: then it stays as it was found."""
    if event.verb == "stop":
        turn.decide(
            DecisionKind.END,
            f"the run has ended; the queue stays as it is, because {state.why}",
            changed=dict(state.changed),
        )
        turn.end()
    elif event.verb == "resume":
        turn.decide(
            DecisionKind.RESUMED,
            f"a person has given the queue back after {turn.now_s - state.since_s:.0f} s",
            after_s=turn.now_s - state.since_s,
        )
        # What they have set is what stood there before this controller's next change.
        turn.change(original={**turn.controller.original, **state.changed}, replaced=None)
        entering.wait_anew(turn, "a person has given the queue back")


ASK_AGAIN_AFTER_UNDO_S: Final = 60.0
"""How long the controller proposes nothing after a person has taken a change back."""


def undo(turn: Turn, state: State) -> None:
    """Put back what stood before the last change, unless there is nothing to put back.

    Whoever asks every time is asked again after a minute. A controller that does not ask would soon
    change the queue again, so it pauses until the person says "resume".
    """
    controller = turn.controller
    if controller.router.replaced is None or controller.policy.mode == "observe":
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
    back = RouterChange(
        "roll back",
        dict(controller.router.replaced),
        "a person has taken the last change back",
        ask_again_s=turn.now_s + ASK_AGAIN_AFTER_UNDO_S,
    )
    entering.send(turn, back)


def on_began(turn: Turn, _state: Waiting, event: Began) -> None:
    """The controller is in charge: what stands now is what can be restored.

    Where an earlier run was killed, that run's work is gone on with: what stood before its first
    change stays what can be restored, and what it asked for without an answer may be in force. What
    it had not judged is taken back.
    """
    if turn.controller.in_force:
        say_start(turn, "an earlier run did not end in order; this one continues it; ")
        entering.wait_anew(turn, "the controller goes on")
        found = event.in_force
        if turn.controller.held.is_unchanged(found, turn.controller.in_force):
            turn.believe_in_force(found)
        else:
            check_in_force(turn, found, just_begun=True)
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
    is_left = controller.router.left_unjudged and isinstance(controller.state, Waiting)
    if not is_left or controller.policy.mode == "observe":
        return
    known = (controller.proven, controller.original)
    if any(controller.held.is_unchanged(controller.in_force, each) for each in known):
        return
    reason = "the earlier run had not judged its last change; "
    if controller.proven:
        reason += "the last setting judged is restored"
    else:
        reason += "the setting before its first change is restored"
    trusted = controller.proven or controller.original
    entering.send(turn, RouterChange("roll back", dict(trusted), reason))


def on_began_hands_off(turn: Turn, state: HandsOff, event: Began) -> None:
    """Somebody else was in charge when an earlier run was killed, and still is."""
    changed = {**state.changed, **changed_in(turn, event.in_force)}
    turn.believe_in_force(event.in_force)
    say_start(turn, "an earlier run did not end in order; this one continues it; ")
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
        undo(turn, state)
    if event.verb != "stop":
        return
    controller = turn.controller
    policy = controller.policy
    # What was asked for and not answered may be in force as well.
    changed = controller.router.unanswered or not controller.held.is_unchanged(
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
