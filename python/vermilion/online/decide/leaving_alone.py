"""Hands off: somebody else has taken charge of the queue; it is watched and left alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide import entering
from vermilion.online.decide.in_force import stands, strangers
from vermilion.online.decide.setting_words import setting_in_words
from vermilion.online.decide.states import RouterChange
from vermilion.online.kinds import DecisionKind
from vermilion.routers.queue_set import by_queue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.decide.states import Applying, HandsOff
    from vermilion.online.decide.turn import Turn
    from vermilion.online.events import Command
    from vermilion.routers.base import ParameterValue


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
    restarted = controller.restarted
    turn.change(restarted=frozenset())
    if stands(held, found, known, ()):
        turn.change(unanswered=())
        if dict(found) != dict(known):  # a model begins where the queue has moved to
            turn.change(in_force=dict(found))
        return
    if stands(held, found, known, controller.unanswered):
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
    asked = (state.change.parameters, *turn.controller.unanswered)
    foreign = strangers(turn.controller.held, found, state.before, asked)
    if not foreign:
        return False
    turn.believe_in_force(found)
    words = ", ".join(f"{name} to {value}" for name, value in foreign.items())
    entering.hands_off(turn, f"somebody else has set {words}", foreign)
    return True


def changed_in(turn: Turn, found: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
    """What is not as it was last read back, but for what the queue moves by itself."""
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
    whole = any(controller.held.holds({**known, **asked}, found) for asked in controller.unanswered)
    turn.believe_in_force(found)
    if whole:
        turn.decide(
            DecisionKind.APPLIED,
            "a change whose answer was lost is in force after all: "
            + setting_in_words(found, turn.controller.configuration),
            setting=dict(found),
        )
    elif controller.policy.mode == "observe":
        turn.decide(DecisionKind.LOST, "only a part of a change whose answer was lost is in force")
    else:
        reason = "only a part of a change whose answer was lost is in force; it is taken back"
        entering.send(turn, RouterChange("roll back", dict(known), reason))


def on_command(turn: Turn, state: HandsOff, event: Command) -> None:
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
