"""Verifying: the setting in force settles; then what it does is measured and judged."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide import entering
from vermilion.online.decide.states import Doubt, RouterChange, Verifying
from vermilion.online.decide.verification import clearly_worse, verify
from vermilion.online.entries import DecisionKind
from vermilion.online.plan.correction import LARGEST

if TYPE_CHECKING:
    from vermilion.online.decide.states import Schedule
    from vermilion.online.decide.turn import Turn
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


def on_observed(turn: Turn, state: Verifying, _event: Observed) -> None:
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
    after = turn.measured_since(settled_s)
    if after is None:  # samples were lost: nothing can be said yet
        turn.decide(
            DecisionKind.UNVERIFIED,
            f"too few samples since the setting was applied; next look in {_LOOK_AGAIN_S:.0f} s",
            looks_again_in_s=_LOOK_AGAIN_S,
        )
        doubt = Doubt(state, turn.now_s + _LOOK_AGAIN_S, looks=0)
        entering.watch(turn, state.expected.mean_after, state.noise, doubt)
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
    moments = turn.moments_since(settled_s, _MOMENT_S)
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
