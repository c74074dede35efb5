"""Blind: the router has been silent for too long.

Whoever cannot see must not steer: the search is given up, and the router is told, as far as it
hears at all, to use the setting that the operator chose for such times, or the last that was found
to do no harm.

Paused: the queue tells nothing now.

There is nothing to carry, nothing gets through, or another link holds the traffic back. Nothing is
judged, learned or tuned in such times.

A blackout: a queue drops or marks every packet that comes, although none waits.

Whatever stands in a router then, nothing can do more harm, so no model is asked. In this order:

- a setting that was put in force lately and is not verified is taken back;
- a queue with an average gets a quick one, which falls as soon as the queue does. Any change sets
  the average to zero, but with the same weight it would soon shut the queue again;
- what the operator chose for such times, what was last verified or what stood at the beginning is
  put in force, if it is something else.

The last two are done once a minute at most, and within the budget of changes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from vermilion.online.decide import entering
from vermilion.online.decide.states import (
    Blind,
    Observing,
    Paused,
    RouterChange,
    Searching,
    Verifying,
    Waiting,
    Watching,
)
from vermilion.online.entries import DecisionKind
from vermilion.online.events import Refused
from vermilion.routers.queue_set import joint_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.decide.controller import Turn
    from vermilion.online.decide.states import State
    from vermilion.online.events import Done, Lost, Observed, Overtaken, Silent
    from vermilion.online.sense.link_state import Blackout
    from vermilion.routers.base import ParameterValue

    _Setting: TypeAlias = Mapping[str, ParameterValue]


def on_silent(turn: Turn, _state: object, event: Silent) -> None:
    """Count the silence; blind once it has lasted too long."""
    controller = turn.controller
    if controller.router.unheard_since_s is None:
        turn.change(unheard_since_s=turn.now_s)
        return
    silent_s = turn.now_s - controller.router.unheard_since_s
    if silent_s < controller.policy.blind_after_s - entering.EPSILON_S:
        return
    turn.decide(
        DecisionKind.BLIND,
        f"the router has not answered for {silent_s:.1f} s ({event.reason}); tuning pauses",
        silent_s=silent_s,
        because=event.reason,
    )
    number = None
    wanted = controller.policy.fall_back or controller.proven or controller.original
    setting = controller.held.missed(wanted, controller.in_force)
    if setting and controller.policy.mode == "control" and not controller.paused_by_person:
        number = turn.ask_router(setting)
    turn.change(promise=None, conditions=None)
    turn.become(Blind(controller.router.unheard_since_s, number))


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
        turn.change(unanswered=turn.controller.router.unanswered[:-1])
        why = (
            f"the router refused the setting for blind times: {event.reason}"
            if event.was_sent
            else f"the setting for blind times was not sent to the router, because {event.reason}"
        )
        turn.decide(DecisionKind.REFUSED, why, because=event.reason)
    else:
        turn.decide(
            DecisionKind.LOST,
            f"it is unknown whether the router has the setting for blind times: {event.reason}",
            because=event.reason,
        )


def on_overtaken(turn: Turn, state: Blind, event: Overtaken) -> None:
    """Something else stands there than was known; who has set that is found out in daylight."""
    why = "the router has not kept its setting"
    on_refused(turn, state, Refused(event.number, why, was_sent=False))


def on_observed_again(turn: Turn, state: Blind, _event: Observed) -> None:
    """The router answers again: look at it as for the first time."""
    silent_s = turn.now_s - state.since_s
    turn.decide(
        DecisionKind.SIGHTED,
        f"the router answers again after {silent_s:.1f} s",
        silent_s=silent_s,
    )
    turn.read_back()
    entering.wait_anew(turn, "the router answers again")


_TELLING = frozenset({"busy", "unknown"})  # of the second nobody knows that it does not
_BUSY_AGAIN = "the link is busy again"
_WORDS = {
    "idle": "there is nothing to carry",
    "outage": "nothing gets through",
    "elsewhere": "something other than this link limits the traffic",
}


def pause_if_silent(turn: Turn) -> None:
    """Pause where the queue tells nothing."""
    link = turn.controller.senses.link_state
    resume = _to_resume(turn, turn.controller.state)
    if link.kind in _TELLING or resume is None:
        return
    turn.decide(
        DecisionKind.PAUSED,
        f"{_WORDS[link.kind]} ({link.words}); tuning pauses until the link is busy again",
        link_state=link.kind,
        **link.details,
    )
    turn.change(promise=None)
    turn.become(Paused(turn.now_s, resume))


def pause_if_answer_is_late(turn: Turn, state: Searching) -> bool:
    """Pause where the link has just fallen silent: no answer is put in force then."""
    resume = _to_resume(turn, state)
    if not turn.controller.senses.seems_silent or resume is None:
        return False
    turn.decide(
        DecisionKind.PAUSED,
        "an answer has come, but the link is nearly silent; it is not used, and tuning "
        "pauses until traffic is back",
        link_state=turn.controller.senses.link_state.kind,
    )
    turn.change(promise=None)
    turn.become(Paused(turn.now_s, resume))
    return True


def on_observed_while_paused(turn: Turn, state: Paused, _event: Observed) -> None:
    """Go on once the queue tells something again."""
    senses = turn.controller.senses
    if senses.link_state.kind not in _TELLING or senses.seems_silent:
        return
    turn.decide(
        DecisionKind.RESUMED,
        f"the link is busy again after {turn.now_s - state.since_s:.1f} s",
        after_s=turn.now_s - state.since_s,
    )
    match state.resume:
        case Verifying() as verifying:
            entering.verify_from_now(turn, verifying)
        case Watching() as before:
            again = entering.watching(turn, before.predicted_mean, before.noise, before.doubt)
            # The time at which the controller said that it would try again may have passed by now.
            turn.become(replace(again, ask_again_s=before.ask_again_s))
        case Waiting(why=why, cause=cause):
            entering.wait_anew(turn, why, cause)


def _waiting(turn: Turn) -> Waiting:
    """Return the state that waits for traffic as at the start."""
    return Waiting(turn.now_s, turn.now_s, _BUSY_AGAIN)


def _to_resume(turn: Turn, state: State) -> Verifying | Watching | Waiting | None:
    """State to resume later; ``None`` for states that do not pause."""
    match state:
        case Watching(owed=None, queue=None, doubt=None, ask_again_s=again_s) if (
            turn.now_s >= again_s
        ):
            return _waiting(turn)  # without a model only a search that is due can be held back
        case Watching(owed=None, queue=queue, doubt=doubt) if queue or doubt:
            return state
        case Verifying():
            return state
        case Observing(unverified=unverified) | Searching(unverified=unverified):
            return unverified or _waiting(turn)
        case Waiting() if turn.controller.traffic.modelled is not None:
            return replace(state, why=_BUSY_AGAIN, cause={})
        case _:
            return None


HOLD_S: Final = 60.0
"""How long a blackout that lasts, or comes back under a setting of old, is not answered again."""

_ASK_AGAIN_S: Final = 30.0  # after a setting was taken back

_MEMORY_S: Final = 0.02
"""How long a quick average remembers at the link's rate: less than a round trip mostly takes."""

_FEWEST_PACKETS: Final = 10.0
"""That it remembers: a quicker one is the queue itself, as in the first guesses of a search."""


def look_for_blackout(turn: Turn) -> None:
    """Do something about a queue that lets nothing through, as far as the operator lets anyone."""
    controller, state = turn.controller, turn.controller.state
    if not _may_act(turn, state):
        return
    blackouts = controller.senses.blackouts
    if not blackouts:
        return
    unverified = _unverified(state)
    change: RouterChange | None
    if unverified is not None and any(
        each.since_s >= unverified.schedule.begun_s for each in blackouts.values()
    ):
        change = RouterChange(  # which is not tried again
            "roll back",
            dict(unverified.previous),
            "under it every packet that comes is dropped or marked, though none waits",
        )
    else:
        if turn.now_s < controller.router.blackout_again_s - entering.EPSILON_S:
            return
        change = _quicker(turn, blackouts) or _another(turn)
    again_s = turn.now_s + HOLD_S
    if change is not None and not change.is_free and not controller.budget.allows(turn.now_s):
        again_s = min(again_s, controller.budget.next_s(turn.now_s))
    turn.change(blackout_again_s=again_s)
    found = blackouts.values()
    came, drops = sum(each.came for each in found), sum(each.drops for each in found)
    marks = sum(each.marks for each in found)
    seconds = min(each.seconds for each in found)
    queues = [link for link in blackouts if link]
    which = f"{', '.join(queues)} {'have' if queues[1:] else 'has'}" if queues else "the queue has"
    every = "every" if drops + marks >= came else "nearly every"
    fate = f"dropped or marked ({drops} and {marks})" if marks else f"dropped ({drops} of them)"
    nothing = "" if change else "; no parameter that may be changed would end that"
    turn.decide(
        DecisionKind.BLACKOUT,
        f"{which} been empty for {seconds:.0f} s, and {every} packet that came was {fate}{nothing}",
        queues=queues,
        dropped_packets=drops,
        marked_packets=marks,
        seconds=seconds,
    )
    if change is not None:
        entering.make(turn, change, None)


def _may_act(turn: Turn, state: State) -> bool:
    """Check whether the controller may change the queue in this state."""
    match state:
        case Searching() | Observing() | Verifying() | Paused():
            return True
        case Watching(owed=owed):
            return owed is None
        case Waiting(begun_s=begun_s):
            first = turn.controller.traffic.modelled is None
            return not first or turn.now_s - begun_s >= turn.controller.policy.watch_first_s
        case _:
            return False


def _unverified(state: State) -> Verifying | None:
    """The setting that was put in force lately and is not verified yet, if there is one."""
    match state:
        case Verifying() as unverified:
            return unverified
        case Paused(resume=Verifying() as unverified):
            return unverified
        case Observing(unverified=unverified) | Searching(unverified=unverified):
            return unverified
        case _:
            return None


def _quicker(turn: Turn, blackouts: Mapping[str, Blackout]) -> RouterChange | None:
    """A quick average for each of the queues that have one and may be given it."""
    setting: dict[str, ParameterValue] = {}
    for link, blackout in blackouts.items():
        setting |= _quick_average(turn, link, blackout)
    if not setting:
        return None
    return RouterChange(
        "end blackout",
        setting,
        "a quick average, which starts from zero and follows the queue",
    )


def _quick_average(turn: Turn, link: str, blackout: Blackout) -> dict[str, ParameterValue]:
    """The weight of a quick average, by its name; nothing where it cannot or need not be set."""
    policy, in_force = turn.controller.policy, turn.controller.in_force
    memory = max(blackout.packets_per_s * _MEMORY_S, _FEWEST_PACKETS)
    quick = {"weight": 1.0 / memory, "weight_log": float(math.floor(math.log2(memory)))}
    for kind, wanted in quick.items():
        name = joint_name(link, kind) if link else kind
        present = in_force.get(name)
        if name not in policy.parameters or not isinstance(present, int | float):
            continue
        ends = policy.space.get(policy.path(name))
        value = wanted
        if isinstance(ends, list) and all(isinstance(end, int | float) for end in ends):
            value = min(max(wanted, min(ends)), max(ends))
        value = float(turn.controller.held.nearest({name: value})[name] or 0.0)
        if (value > present) if kind == "weight" else (value < present):
            return {name: value}
    return {}


def _another(turn: Turn) -> RouterChange | None:
    """A setting that somebody trusts, if it is not the one in force."""
    controller = turn.controller
    trusted: tuple[tuple[Literal["end blackout", "roll back"], str, _Setting], ...] = (
        ("end blackout", "the setting for blind times", controller.policy.fall_back or {}),
        ("roll back", "the setting that was verified last", controller.proven),
        ("roll back", "the setting that stood before the first change", controller.way_back),
    )
    for purpose, what, setting in trusted:
        if not controller.held.holds(setting, controller.in_force):
            return RouterChange(
                purpose,
                controller.held.nearest(setting),
                f"{what} is put in force",
                ask_again_s=turn.now_s + _ASK_AGAIN_S,
            )
    return None
