"""Watching: all is well; the network is compared with the model, and with what was asked for.

Verifying: the setting in force settles; then what it does is measured and judged.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide import applying, entering
from vermilion.online.decide.bounds import STRETCH_S
from vermilion.online.decide.detection import CALM_S, QueueWatch
from vermilion.online.decide.states import Doubt, RouterChange, Verifying, Watching
from vermilion.online.decide.verification import clearly_worse, first_broken, verify
from vermilion.online.entries import DecisionKind
from vermilion.online.model.explanation import are_enough
from vermilion.online.plan.correction import LARGEST

if TYPE_CHECKING:
    from vermilion.online.decide.controller import Turn
    from vermilion.online.decide.states import Schedule
    from vermilion.online.decide.verification import Verification
    from vermilion.online.events import Observed
    from vermilion.online.sense.stretch import Stretch


LEARNING_S = 2.0
"""Length of the stretches of settled observation from which the model's bias is learned."""

_LOOK_AGAIN_S = 20.0  # at a setting that is unproven; then after twice as long, and so on
_MOST_LOOKS = 4
_MOMENT_S = 0.25  # of which several must all be worse, for a verdict before its time
_EXPLAIN_S = 5.0  # of further samples before another model is looked for
_LATEST_S = 10.0  # by which a silence may put a verdict off
_FLUCTUATING = 2.0  # times as far the mean of a stretch of fluctuating conditions may be
_SURELY = 3.0  # standard deviations
_EARLY_S = 1.0  # after settling; from then on it may be given


def on_observed_while_verifying(turn: Turn, state: Verifying, _event: Observed) -> None:
    """Learn from what is seen, and judge once enough was seen."""
    if turn.controller.senses.may_be_silent:
        return  # it may be how an outage begins, which says nothing of a setting
    if turn.now_s - state.learned_s > LEARNING_S - entering.EPSILON_S:
        entering.learn_bias(turn, state.learned_s, state.expected.mean_after, state.noise)
        state = replace(state, learned_s=turn.now_s)
        turn.become(state)
    settled_s, verified_s = _due(turn, state.schedule)
    if turn.now_s < verified_s - entering.EPSILON_S:
        _judge_early(turn, state, settled_s)
        return
    after = turn.controller.senses.stretch(settled_s)
    if after is None:  # samples were lost: nothing can be said yet
        turn.decide(
            DecisionKind.UNVERIFIED,
            f"too few samples since the setting was applied; next look in {_LOOK_AGAIN_S:.0f} s",
            looks_again_in_s=_LOOK_AGAIN_S,
        )
        doubt = Doubt(state, turn.now_s + _LOOK_AGAIN_S, looks=0)
        turn.become(entering.watching(turn, state.expected.mean_after, state.noise, doubt))
        return
    judge(turn, state, after, looks=1)


def _due(turn: Turn, schedule: Schedule) -> tuple[float, float]:
    """Begin and end of the measurement; it starts over after a silence.

    Where silences come again and again, they are what the setting is measured in.
    """
    late_s = turn.controller.senses.silent_s - schedule.begun_s
    if not 0.0 < late_s < _LATEST_S:
        late_s = 0.0
    return schedule.settled_s + late_s, schedule.verified_s + late_s


def _judge_early(turn: Turn, state: Verifying, settled_s: float) -> None:
    """Take a setting back before its time, where all that was seen of it is worse than before."""
    if turn.now_s < settled_s + _EARLY_S - entering.EPSILON_S:
        return
    moments = turn.controller.senses.moments(settled_s, _MOMENT_S)
    if moments is None:
        return
    objective = turn.controller.policy.objective
    result = clearly_worse(moments, state.before, state.expected, objective)
    if result is None or state.mends:
        return
    _take_back(turn, state, result)


def judge(turn: Turn, verifying: Verifying, after: Stretch, *, looks: int) -> None:
    """Keep the setting, keep it in doubt, or take it back.

    Args:
        turn: the step being made.
        verifying: what is judged.
        after: what was measured under it.
        looks: how often it has been looked at, this time included.
    """
    policy = turn.controller.policy
    # A mean over conditions that come and go is no prediction for those of a stretch.
    is_unpredicted = verifying.before is None and turn.controller.traffic.fluctuation.lasts
    mends = verifying.mends or is_unpredicted
    result = verify(
        after,
        verifying.before,
        verifying.expected,
        policy,
        mends=mends,
        replaces_law=verifying.replaces_law,
    )
    if result.verdict == "worse":
        _take_back(turn, verifying, result)
        return
    kind = DecisionKind.VERIFIED if result.verdict == "better" else DecisionKind.UNPROVEN
    turn.decide(kind, result.reason, **result.details)
    broken = result.broken
    known = turn.controller.alarms.broken
    if broken is not None and (known is None or known.describe() != broken.describe()):
        watch = turn.controller.alarms.bounds_watch.with_broken([broken.bound], turn.now_s)
        turn.change(broken=broken, bounds_watch=watch)
        turn.decide(
            DecisionKind.CONSTRAINT_BROKEN,
            f"the network breaks {broken.describe()}; no setting measured here keeps it",
            **broken.details(),
        )
    turn.change(proven=turn.controller.in_force)
    doubt = None
    if result.verdict == "unproven" and verifying.before is not None and looks < _MOST_LOOKS:
        doubt = Doubt(verifying, turn.now_s + _LOOK_AGAIN_S * 2.0 ** (looks - 1), looks)
    entering.count_starved(turn, verifying.expected)
    watching = entering.watching(turn, verifying.expected.mean_after, verifying.noise, doubt)
    is_unexplained = turn.controller.learned.fruitless > 0
    if looks == 1 and (is_unexplained or _is_beyond_correction(turn, verifying, after)):
        watching = replace(watching, ask_again_s=turn.now_s + _EXPLAIN_S)
    turn.become(watching)


def _is_beyond_correction(turn: Turn, verifying: Verifying, after: Stretch) -> bool:
    """Report a model error too large to correct; return whether there is one.

    Senders that were judged while young flows grew up may be others than it seemed. What is seen
    under the new setting tells them apart, and a correction would only hide it.
    """
    controller, expected = turn.controller, verifying.expected.mean_after
    held = turn.now_s < controller.traffic.drift.allowed_s
    if held:
        return False
    by_chance = _SURELY * verifying.noise / math.sqrt(after.seconds)
    limit = max(LARGEST * turn.scale_packets(verifying.picture), by_chance)
    if controller.traffic.fluctuation.lasts:  # the model's is a mean over all conditions
        limit *= _FLUCTUATING
    if abs(after.queue.mean - expected) <= limit:
        return False
    turn.change(drift=controller.traffic.drift.answered(turn.now_s))
    turn.decide(
        DecisionKind.UNEXPLAINED,
        f"the mean queue is {after.queue.mean:.1f} packets, the model's {expected:.1f}, "
        f"too far apart to correct; the setting stays, and in {_EXPLAIN_S:.0f} s a better "
        "model is sought",
        mean_queue=[after.queue.mean, expected],
        mean_queue_packets=after.queue.mean,
        model_mean_queue_packets=expected,
        looks_again_in_s=_EXPLAIN_S,
    )
    return True


def starves(turn: Turn, harm: str, details: dict[str, object]) -> None:
    """Take back a setting that locks flows out: harm is against what stood at the beginning."""
    way_back = turn.controller.way_back
    _note_refuted_law(turn)
    turn.change(proven=way_back)
    entering.send(turn, RouterChange("roll back", way_back, f"it starves flows; {harm}", details))


def _take_back(turn: Turn, verifying: Verifying, result: Verification) -> None:
    """Take a setting back, and try no other until conditions change: no ping-pong."""
    _note_refuted_law(turn)
    entering.send(
        turn, RouterChange("roll back", dict(verifying.previous), result.reason, result.details)
    )


def _note_refuted_law(turn: Turn) -> None:
    """Try the queue's own law no more in these conditions, if that is what is taken back."""
    if turn.law_stands(turn.picture):
        turn.change(law_refuted_s=turn.now_s)


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
    after = turn.controller.senses.stretch(
        max(state.since_s, turn.controller.traffic.conditions_since_s)
    )
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
        turn.controller.senses, turn.now_s
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
    if entering.just_silent(turn) or turn.controller.alarms.behind:
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
    lately = turn.controller.senses.stretch(since_s)
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
    if controller.alarms.behind:
        return
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
