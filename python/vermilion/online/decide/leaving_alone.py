"""Hands off: somebody else has taken charge of the queue; it is watched and left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.decide import entering
from vermilion.online.decide.in_force import is_mixture
from vermilion.online.decide.setting_words import setting_in_words
from vermilion.online.decide.states import RouterChange
from vermilion.online.kinds import DecisionKind
from vermilion.routers.queue_set import by_queue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.decide.states import HandsOff
    from vermilion.online.decide.turn import Turn
    from vermilion.online.events import Command
    from vermilion.routers.base import ParameterValue


def check_in_force(turn: Turn, found: Mapping[str, ParameterValue]) -> None:
    """Notice when somebody else has changed the parameters in force.

    A router that has gone back to what stood before the first change has restarted: nobody has
    taken charge of it, and it is tuned again. What a queue moves by itself nobody has set.
    """
    controller = turn.controller
    held, known = controller.held, controller.in_force
    if held.is_unchanged(found, known):
        turn.change(unanswered=())
        if dict(found) != dict(known):  # a model begins where the queue has moved to
            turn.change(in_force=dict(found))
        return
    if controller.unanswered and is_mixture(held, found, known, controller.unanswered):
        _arrived_unanswered(turn, found)
        return
    still = held.still(found)
    changed = {name: still[name] for name in sorted(still) if still[name] != known.get(name)}
    words = ", ".join(f"{name} to {value}" for name, value in changed.items())
    turn.believe_in_force(found)
    if _has_restarted(turn, known, found):
        why = f"the router has gone back to {words}, as before the first change"
        turn.decide(DecisionKind.CHANGE_DETECTED, why, watcher="setting", changed=changed)
        turn.change(promise=None)
        entering.wait_anew(turn, why, {"changed": changed})
        return
    entering.hands_off(turn, f"somebody else has set {words}", changed)


def _has_restarted(
    turn: Turn, known: Mapping[str, ParameterValue], found: Mapping[str, ParameterValue]
) -> bool:
    """Whether the router has gone back to what stood before the first change.

    Of several queues each may be on a router of its own: those that have not gone back have what
    was known of them.
    """
    controller = turn.controller
    held = controller.held
    if not controller.configuration.queues:
        return held.is_unchanged(found, controller.original)
    original, before = by_queue(held.still(controller.original)), by_queue(held.still(known))
    return all(
        setting in (original.get(link), before.get(link))
        for link, setting in by_queue(held.still(found)).items()
    )


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
        entering.wait_anew(turn, "a person has given the queue back")
