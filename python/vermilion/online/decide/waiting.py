"""Waiting: something changed, or nothing is known yet; a steady picture of it is waited for.

Conditions are no longer those of the model in use.

Observing: the quick answer is in force, or the old setting was kept.

What it does is watched for a moment, so that the model can be fitted to it and a more thorough
search can do better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide import entering
from vermilion.online.decide.states import (
    Observing,
    Paused,
    Verifying,
    Waiting,
    Watching,
)
from vermilion.online.entries import DecisionKind
from vermilion.online.model.explanation import are_enough
from vermilion.online.model.traffic import TooLittleIsKnown, Traffic
from vermilion.online.sense.traffic_estimate import round_trip_distance

if TYPE_CHECKING:
    from vermilion.online.decide.controller import Turn
    from vermilion.online.decide.detection import Alarm
    from vermilion.online.events import Observed
    from vermilion.online.sense.traffic_estimate import TrafficEstimate


LONGEST_WAIT_S = 1.5
"""Longest wait for a steady picture: conditions that keep moving are modelled as they are."""
STEADY_FLOWS = 0.05
"""Share of the flows that may come or go without counting as a change."""
PICTURES_KEPT = 5
"""Pictures that are compared: a picture is steady when it has not changed for 0.4 s."""

_PATIENCE_S = 2.0  # before saying that too little is known: the first samples need a moment
_STEADY_ROUND_TRIPS = 0.08
_KNOWN_ENOUGH = 0.7  # share of flows with a known round trip


def on_observed(turn: Turn, state: Waiting, _event: Observed) -> None:
    """Search once the picture is steady, or has not become so for long enough."""
    if entering.law_at_once(turn):
        return
    picture = turn.picture
    try:
        traffic = Traffic.of_picture(picture, turn.controller.policy)
    except TooLittleIsKnown as lack:
        missing = str(lack)
        patient = turn.now_s - state.begun_s < _PATIENCE_S
        told = state.told
        if not patient and missing != told:
            told = missing
            turn.decide(DecisionKind.QUIET, f"nothing is tuned, because {missing}", because=missing)
        turn.become(replace(state, told=told, known_s=turn.now_s))
        return
    if turn.controller.senses.seems_silent or turn.controller.alarms.behind:
        return  # what is seen now is no state to be modelled
    queueing_s = turn.queueing_s(picture)
    waited_s = turn.now_s - state.known_s
    first = turn.controller.traffic.modelled is None
    if first and waited_s < turn.controller.policy.watch_first_s - entering.EPSILON_S:
        return
    if waited_s > LONGEST_WAIT_S - entering.EPSILON_S or _is_steady(turn, picture, queueing_s):
        since_s = state.known_s if first else turn.now_s
        entering.search_quickly(turn, picture, traffic, state, since_s)


def _is_steady(turn: Turn, picture: TrafficEstimate, queueing_s: float) -> bool:
    """Check whether the traffic has been steady for a while and mostly known."""
    pictures = turn.controller.traffic.pictures
    oldest = pictures[0]
    if len(pictures) < PICTURES_KEPT or oldest.rate_bit_per_s is None:
        return False
    flows = [seen.flows for seen in pictures]
    return (
        max(flows) - min(flows) <= STEADY_FLOWS * picture.flows
        and (picture.knowledge != "full" or picture.known_share >= _KNOWN_ENOUGH)
        and round_trip_distance(picture, oldest, queueing_s) <= _STEADY_ROUND_TRIPS
    )


def on_alarm(turn: Turn, state: Observing | Verifying | Watching, alarm: Alarm) -> None:
    """Wait for a steady picture of what the traffic has become."""
    if isinstance(state, Watching) and state.owed is not None:
        return  # what has to be taken back comes first; the change will still be there
    entering.say_changed(turn, alarm)
    unverified = state if isinstance(state, Verifying) else None
    if isinstance(state, Observing):
        unverified = state.unverified
    entering.say_unverified(turn, unverified)
    entering.wait_anew(turn, alarm.reason, alarm.details)
    entering.fall_back_on_law(turn, alarm.reason, alarm.details)


def on_alarm_while_paused(turn: Turn, state: Paused, alarm: Alarm) -> None:
    """Drop the paused work and wait for steady traffic."""
    entering.say_changed(turn, alarm)
    turn.change(conditions=None)
    turn.become(
        replace(state, resume=Waiting(turn.now_s, turn.now_s, alarm.reason, cause=alarm.details))
    )


_LAW_SETTLES_S = (8.0, 14.0)  # of steady conditions; where they have changed before, who knows
_LONGEST_OBSERVING_S = 8.0  # beyond its schedule: for new flows to grow up, and for rare readings


def on_observed_while_observing(turn: Turn, state: Observing, _event: Observed) -> None:
    """Refine the answer once enough was seen, or at once where it fails."""
    if turn.controller.senses.may_be_silent:
        return  # it may be how an outage begins, which says nothing of senders
    promise, schedule = turn.controller.learned.promise, state.schedule
    if promise is not None and turn.now_s - promise.since_s > 1.0 - entering.EPSILON_S:
        entering.learn_from_promise(turn)
    traffic = turn.traffic(turn.picture)
    if traffic is None:  # the flows have just gone; their watch will say so
        return
    enough_s = schedule.observed_s - schedule.half_settled_s
    grown_s = entering.grown_s(turn, traffic)
    last_s = schedule.observed_s + _LONGEST_OBSERVING_S
    due_s = min(max(schedule.observed_s, grown_s + enough_s), last_s)
    if turn.law_stands(turn.picture):  # it needs no hurry, and time to settle
        lasts_s = _LAW_SETTLES_S[bool(turn.controller.traffic.fluctuation.changes_s)]
        due_s = max(due_s, turn.controller.traffic.conditions_since_s + lasts_s)
        last_s = max(last_s, due_s)
    if not are_enough(
        turn.controller.senses.samples_since_silence(max(schedule.half_settled_s, grown_s))
    ):
        due_s = last_s  # of a router that is asked rarely, or after a silence
    holding = turn.controller.policy.target_packets is not None
    due = holding and turn.controller.learned.correction.due
    failing = due and turn.now_s > schedule.settled_s and not entering.just_silent(turn)
    if turn.now_s > due_s - entering.EPSILON_S or failing:
        entering.refine(
            turn,
            turn.picture,
            "refining the quick answer",
            schedule.half_settled_s,
            state.unverified,
        )
