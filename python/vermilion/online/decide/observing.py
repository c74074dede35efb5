"""Observing: the quick answer is in force, or the old setting was kept.

What it does is watched for a moment, so that the model can be fitted to it and a more thorough
search can do better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.decide import entering
from vermilion.online.model.calibration import are_enough

if TYPE_CHECKING:
    from vermilion.online.decide.states import Observing
    from vermilion.online.decide.turn import Turn
    from vermilion.online.events import Observed

_LONGEST_OBSERVING_S = 8.0  # beyond its schedule: for new flows to grow up, and for rare readings


def on_observed(turn: Turn, state: Observing, _event: Observed) -> None:
    """Refine the answer once enough was seen, or at once where it fails."""
    if turn.controller.senses.may_be_silent:
        return  # it may be how an outage begins, which says nothing of senders
    promise, schedule = turn.controller.promise, state.schedule
    if promise is not None and turn.now_s - promise.since_s > 1.0 - entering.EPSILON_S:
        entering.learn_from_promise(turn)
    traffic = turn.traffic(turn.picture)
    if traffic is None:  # the flows have just gone; their watch will say so
        return
    enough_s = schedule.observed_s - schedule.half_settled_s
    grown_s = entering.grown_s(turn, traffic)
    last_s = schedule.observed_s + _LONGEST_OBSERVING_S
    due_s = min(max(schedule.observed_s, grown_s + enough_s), last_s)
    if not are_enough(turn.controller.senses.told_since(max(schedule.half_settled_s, grown_s))):
        due_s = last_s  # of a router that is asked rarely, or after a silence
    holding = turn.controller.policy.target_packets is not None
    due = holding and turn.controller.correction.due
    failing = due and turn.now_s > schedule.settled_s and not entering.just_silent(turn)
    if turn.now_s > due_s - entering.EPSILON_S or failing:
        entering.refine(
            turn,
            turn.picture,
            "refining the quick answer",
            schedule.half_settled_s,
            state.unverified,
        )
