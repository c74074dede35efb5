"""Watching: all is well; the network is compared with the model, and with what was asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide import applying, entering
from vermilion.online.decide.bounds import STRETCH_S
from vermilion.online.decide.detection import CALM_S, QueueWatch
from vermilion.online.decide.verification import first_broken
from vermilion.online.decide.verifying import LEARNING_S, judge, starves
from vermilion.online.entries import DecisionKind
from vermilion.online.model.explanation import are_enough

if TYPE_CHECKING:
    from vermilion.online.decide.states import Watching
    from vermilion.online.decide.turn import Turn
    from vermilion.online.events import Observed

_LATELY_S = (5.0, 10.0)  # how far back a drift, and a bias, are looked at


def on_observed(turn: Turn, state: Watching, _event: Observed) -> None:
    """Look for what is no longer as it should be, the most urgent first."""
    if state.owed is not None:
        if turn.now_s >= state.owed.not_before_s:
            applying.owed_again(turn, state.owed)
        return
    if turn.controller.senses.may_be_silent:
        _leave_out(turn, state)
        return  # it may be how an outage begins, which says nothing of senders or settings
    _look(turn, state)


def _look(turn: Turn, state: Watching) -> None:
    """The same, where nothing is owed and packets leave."""
    if turn.now_s >= state.ask_again_s and not entering.just_silent(turn):
        turn.become(replace(state, ask_again_s=float("inf")))
        entering.refine(turn, turn.picture, "another try", state.since_s, None)
        return
    if state.doubt is not None and turn.now_s >= state.doubt.look_s:
        _look_again(turn, state)
        return
    if _has_calmed(turn, state) or _check_starvation(turn) or _check_queue(turn, state):
        return
    state = _learning(turn)
    if state.learned_s != turn.now_s:
        return
    if _check_bounds(turn, state) or state.queue is None:
        return
    _improve(turn, state)


def _look_again(turn: Turn, state: Watching) -> None:
    """Judge a setting that is unproven by all that was seen of it."""
    doubt = state.doubt
    after = turn.measured_since(max(state.since_s, turn.controller.traffic.conditions_since_s))
    if doubt is None:
        return
    turn.become(replace(state, doubt=None))
    if after is not None:
        judge(turn, doubt.verifying, after, looks=doubt.looks + 1)


def _has_calmed(turn: Turn, state: Watching) -> bool:
    """Check whether conditions have stopped fluctuating, and search anew if so.

    While they did, nothing could be compared with a model, and what is in force is for all of them.
    """
    before = turn.controller.traffic.fluctuation
    if not before.lasts or before.calmed(turn.now_s).lasts:
        return False
    turn.change(fluctuation=before.calmed(turn.now_s))
    why = f"conditions have not changed for {CALM_S:.0f} s"
    turn.decide(
        DecisionKind.FLUCTUATING,
        f"{why}; searching a setting for the present ones alone",
        calm_s=CALM_S,
    )
    _refine(turn, state, why, _LATELY_S[1])
    return True


def _check_starvation(turn: Turn) -> bool:
    """Roll back the setting if flows starve; return whether they do."""
    if turn.controller.alarms.starvation is None:
        return False
    watch, harm, numbers = turn.controller.alarms.starvation.after(
        turn.controller.senses.activity, turn.now_s
    )
    turn.change(starvation=watch)
    if harm:
        starves(turn, harm, numbers)
    return bool(harm)


def _leave_out(turn: Turn, state: Watching) -> None:
    """Do not hold a silence against the model."""
    sample = turn.controller.senses.latest
    if state.queue is not None and sample is not None:
        turn.become(replace(state, queue=state.queue.after_silence(sample)))


def _check_queue(turn: Turn, state: Watching) -> bool:
    """Investigate a queue that has drifted from its prediction; return whether it has."""
    sample = turn.controller.senses.latest
    if state.queue is None or sample is None:
        return False
    if entering.just_silent(turn):
        turn.become(replace(state, queue=QueueWatch(state.queue.test)))
        return False
    queue, alarm = state.queue.after(sample)
    turn.become(replace(state, queue=queue))
    if alarm is None or turn.now_s < turn.controller.traffic.drift.allowed_s:
        return False
    entering.say_changed(turn, alarm)
    turn.change(
        drift=turn.controller.traffic.drift.answered(turn.now_s),
        correction=turn.controller.learned.correction.conditions_changed(),
    )
    _refine(turn, state, alarm.reason, _LATELY_S[0])
    return True


def _learning(turn: Turn) -> Watching:
    """Learn the model's bias from each stretch; the state afterwards."""
    from vermilion.online.decide.states import Watching

    state = turn.controller.state
    if not isinstance(state, Watching):
        message = f"{type(state).__name__} is not Watching"
        raise TypeError(message)
    if turn.now_s - state.learned_s < LEARNING_S - entering.EPSILON_S:
        return state
    if state.queue is not None:
        entering.learn_bias(turn, state.learned_s, state.predicted_mean, state.noise)
    state = replace(state, learned_s=turn.now_s)
    turn.become(state)
    return state


def _check_bounds(turn: Turn, state: Watching) -> bool:
    """React to a newly broken bound; return whether a search began."""
    since_s = max(state.since_s, turn.now_s - STRETCH_S)
    if turn.now_s - since_s < STRETCH_S - LEARNING_S:
        return False
    lately = turn.measured_since(since_s)
    bounds = turn.controller.policy.bounds
    found = None if lately is None else first_broken(lately, None, bounds)
    if found is None:
        turn.change(broken=None)
        return False
    known = turn.controller.alarms.broken
    if known is not None and known.bound == found.bound:
        return False
    watch = turn.controller.alarms.bounds_watch.with_broken([found.bound], turn.now_s)
    turn.change(broken=found, bounds_watch=watch)
    broken = found.describe()
    may_search = turn.now_s >= turn.controller.traffic.drift.allowed_s and state.queue is not None
    then = "looking for a setting that keeps it" if may_search else "the setting stays"
    turn.decide(
        DecisionKind.CONSTRAINT_BROKEN, f"the network breaks {broken}; {then}", **found.details()
    )
    if not may_search:
        return False
    turn.change(drift=turn.controller.traffic.drift.answered(turn.now_s))
    _refine(turn, state, f"the network breaks {broken}", _LATELY_S[1])
    return True


def _improve(turn: Turn, state: Watching) -> None:
    """Search again where the model's bias or young flows have become known."""
    controller = turn.controller
    correction = controller.learned.correction
    if controller.policy.target_packets is not None and correction.due:
        side = "above" if correction.packets > 0.0 else "below"
        reason = (
            f"the network's mean queue is {abs(correction.packets):.1f} packets {side} "
            f"the model's, so the model is tuned for {correction.internal_target:.1f}"
        )
        turn.decide(
            DecisionKind.CORRECTED,
            reason,
            bias_packets=correction.packets,
            internal_target=correction.internal_target,
        )
        _refine(turn, state, reason, _LATELY_S[1])
    elif controller.learned.calibrated_s < max(
        controller.traffic.conditions_since_s, controller.learned.sought_young_s
    ):
        traffic = turn.traffic(turn.picture)
        if traffic is None or turn.now_s <= entering.grown_s(turn, traffic) + _LATELY_S[0]:
            return
        # Else the search would be as blind as the first, and the next would follow at once.
        if are_enough(
            turn.controller.senses.samples_since_silence(_effective_since_s(turn, state))
        ):
            _refine(turn, state, "flows have settled", _LATELY_S[1])


def _refine(turn: Turn, state: Watching, why: str, lately_s: float) -> None:
    told_s = _effective_since_s(turn, state)
    since_s = max(told_s, turn.now_s - lately_s)
    if not are_enough(turn.controller.senses.samples_since_silence(since_s)):
        since_s = told_s
    entering.refine(turn, turn.picture, why, since_s, None)


def _effective_since_s(turn: Turn, state: Watching) -> float:
    """Time since which observations show the effect of the setting.

    That is while it is watched. A router that is asked once a second may have told too little then,
    so that what it told while the setting was verified counts as well.
    """
    traffic = turn.traffic(turn.picture)
    if traffic is None:
        return state.since_s
    watched_s = max(state.since_s, entering.grown_s(turn, traffic))
    if are_enough(turn.controller.senses.samples_since_silence(watched_s)):
        return watched_s
    return min(watched_s, entering.settled_s(turn, traffic))
