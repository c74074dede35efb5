"""Entry actions of the states."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide.controller import Drift
from vermilion.online.decide.detection import QueueWatch, StarvationWatch, watch_of
from vermilion.online.decide.states import (
    Applying,
    HandsOff,
    Observing,
    Promise,
    Proposing,
    RouterChange,
    Schedule,
    Searching,
    Verifying,
    Waiting,
    Watching,
)
from vermilion.online.entries import DecisionKind, format_setting
from vermilion.online.events import Propose
from vermilion.online.model.explanation import FEWEST_SAMPLES, are_enough
from vermilion.online.model.traffic import least_queue_packets
from vermilion.online.plan.laws import law_of_length
from vermilion.online.plan.task import condition_distance
from vermilion.online.policy import DROPS_IN_EARNEST, marks_alone
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S, mean_and_seconds, scatter
from vermilion.routers.adaptive_red import ADAPTIVE
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.decide.controller import Turn
    from vermilion.online.decide.detection import Alarm
    from vermilion.online.decide.states import Doubt
    from vermilion.online.decide.verification import Expectation
    from vermilion.online.model.traffic import Traffic
    from vermilion.online.plan.laws import Law
    from vermilion.online.sense.traffic_estimate import TrafficEstimate
    from vermilion.routers.base import ParameterValue

EPSILON_S = 1e-6
"""Times are sums of tenths."""

_DRIFT_STEP = 0.8  # distance of conditions, and time, within which a change counts as drift
_DRIFT_STEP_S = 8.0
_GROWING_ROUND_TRIPS = 20.0  # until a new flow's window is what its path allows
_PICTURES_KEPT_S = 120.0
_SCATTER_S = 30.0  # of settled samples tell how far a second's mean strays
_MET_S = 60.0  # over which conditions that come and go are compared with models of them
_MET_SETTLED_S = 4.0  # after a change of the router
_MET_LEAST_S = 10.0
_BEHIND_AGAIN_S = 10.0  # after which it is looked whether packets still wait behind the queue
_A_QUEUE = 0.5  # of the target: the link is the bottleneck, at least at times
_STARVED_OVER_S = 10.0  # over less a flow that waits for a timeout or two would count as starved


# --- waiting and searching --------------------------------------------------------------------


def say_changed(turn: Turn, alarm: Alarm) -> None:
    """Something is no longer as it was."""
    turn.decide(DecisionKind.CHANGE_DETECTED, alarm.reason, watcher=alarm.watcher, **alarm.details)


def wait_anew(turn: Turn, why: str, cause: Mapping[str, object] | None = None) -> None:
    """Conditions are others: wait for a steady picture of them.

    Args:
        turn: the step being made.
        why: what happened, in words and numbers.
        cause: the numbers.
    """
    turn.change(
        drift=replace(turn.controller.traffic.drift, hold_s=Drift().hold_s),
        conditions=None,
        starvation=None,
        fruitless=0,
    )
    turn.become(Waiting(turn.now_s, turn.now_s, why, cause=cause or {}))


def search_quickly(
    turn: Turn,
    picture: TrafficEstimate,
    traffic: Traffic,
    waiting: Waiting,
    since_s: float,
) -> None:
    """Look for a quick answer to conditions that have lasted since ``since_s``."""
    why = waiting.why
    if is_drift(turn, picture, turn.controller.traffic.modelled):
        turn.change(correction=turn.controller.learned.correction.conditions_drift())
        learn_from_promise(turn)
    else:
        turn.change(
            promise=None, correction=turn.controller.learned.correction.conditions_changed()
        )
    turn.change(conditions_since_s=since_s)
    is_change = turn.controller.traffic.modelled is not None
    watch_conditions(turn, picture, traffic)
    if is_change:
        _notice_fluctuation(turn, picture)
    law = turn.law(picture)
    if _goes_back_to(turn, law):
        return
    if law is not None and law.stands(turn.controller.in_force):
        if turn.controller.traffic.fluctuation.lasts:
            watch_without_model(turn)
            return
        if not turn.controller.policy.absolute_bounds:  # else: does the law keep them here?
            turn.become(Observing(schedule_for(turn, picture), None))
            return
    limit, limit_in_numbers = _limit_of_marks(turn, traffic)
    holds = turn.controller.policy.target_packets is not None
    target = turn.controller.learned.correction.internal_target if holds else None
    told = "" if target is None else f"; target for the model {target:.1f} packets"
    place = turn.controller.senses.place
    waits = f"; packets wait {place.where()}" if place.lasts(turn.now_s) else ""
    turn.decide(
        DecisionKind.MODEL_BUILT,
        f"{picture.describe()}{waits}{told}{limit} ({why})",
        flows=picture.flows,
        round_trip_classes=[list(each) for each in traffic.classes],
        rate_bit_per_s=traffic.rate_bit_per_s,
        internal_target=target,
        knowledge=picture.knowledge,
        picture=picture.as_details(),
        cause=dict(waiting.cause),
        **(place.as_details() if waits else {}),
        **limit_in_numbers,
    )
    number = turn.ask_search("quick", picture, ())
    turn.become(Searching(number, turn.now_s, why))


def _goes_back_to(turn: Turn, law: Law | None) -> bool:
    """Put the queue's first setting in force again where a line varies, if that is the law."""
    controller = turn.controller
    if (
        law is None
        or not controller.traffic.fluctuation.is_of_the_line
        or controller.policy.mode == "observe"
        or not controller.budget.changes_s
        or law.stands(controller.in_force)
        or not all(controller.way_back.get(name) == each for name, each in law.setting.items())
    ):
        return False
    why = f"the line varies too fast for a setting; {law.name} answers it"
    send(turn, RouterChange("roll back", controller.way_back, why))
    return True


def _notice_fluctuation(turn: Turn, picture: TrafficEstimate) -> None:
    """Leave conditions that change too often to the law, or seek one setting for all of them."""
    controller = turn.controller
    before = controller.traffic.fluctuation.calmed(turn.now_s)
    after = before.changed(turn.now_s).with_conditions(controller.traffic.lately_modelled)
    turn.change(fluctuation=after)
    if after.lasts and not before.lasts:
        law = turn.law(picture)
        turn.decide(
            DecisionKind.FLUCTUATING,
            f"conditions have changed {len(after.changes_s)} times within a minute, each "
            f"{after.usual_s:.0f} s: "
            + (
                f"searching one setting for all {len(after.met)}"
                if law is None
                else f"too fast for a setting; {law.name} answers them"
            ),
            changes_within_a_minute=len(after.changes_s),
            conditions_met=len(after.met),
            usual_s=after.usual_s,
            law=None if law is None else law.name,
        )


def refine(
    turn: Turn, picture: TrafficEstimate, why: str, since_s: float, unverified: Verifying | None
) -> bool:
    """Fit the model to what was seen since ``since_s``, and look for a better answer.

    ``False`` where too little is known to do so.
    """
    traffic = turn.traffic(picture)
    if traffic is None:
        return False
    watch_conditions(turn, picture, traffic)
    law_answers = turn.controller.traffic.fluctuation.lasts and turn.law_stands(picture)
    if law_answers or turn.controller.alarms.behind:
        if unverified is not None:
            turn.become(unverified)
        else:
            watch_without_model(turn, math.inf if law_answers else turn.now_s + _BEHIND_AGAIN_S)
        return True
    # Young flows do not behave as flows do: they are still finding their windows.
    since_s = max(since_s, grown_s(turn, traffic))
    settled = turn.controller.senses.samples_since_silence(since_s)
    if not are_enough(settled):
        settled = turn.controller.senses.since(since_s)
    if turn.controller.traffic.fluctuation.lasts:
        # No model of one moment explains this; those of all that was met lately have to.
        applied_s = turn.controller.budget.changes_s[-1:] or (0.0,)
        since_s = max(applied_s[0] + _MET_SETTLED_S, turn.now_s - _MET_S)
        settled = turn.controller.senses.samples_since_silence(since_s)
        if not settled or settled[-1].time_s - settled[0].time_s < _MET_LEAST_S:
            settled = ()
        turn.change(calibrated_s=turn.now_s if settled else turn.controller.learned.calibrated_s)
    elif not are_enough(settled):
        settled = ()
        # The queue may have told of new flows before they were counted. Then nobody has waited for
        # them, and they are part of the picture by now, so that nothing would call for another
        # search once they have grown.
        if turn.now_s < grown_s(turn, traffic):
            turn.change(sought_young_s=turn.now_s)
    else:
        turn.change(
            calibrated_s=turn.now_s,
            promise=None,
            correction=turn.controller.learned.correction.conditions_steady(),
        )
    number = turn.ask_search("refined", picture, settled)
    turn.become(Searching(number, turn.now_s, why, refining=True, unverified=unverified))
    return True


def fall_back_on_law(turn: Turn, why: str, cause: Mapping[str, object]) -> None:
    """Put the law in force at once, where a static setting was found for other conditions."""
    controller = turn.controller
    law = turn.law(turn.picture)
    if law is None or ADAPTIVE not in law.setting or law.stands(controller.in_force):
        return
    policy, ours = controller.policy, controller.budget.changes_s
    if policy.absolute_bounds:  # the law may break those, which the setting may be there for
        return
    original = controller.held.is_unchanged(controller.in_force, controller.original)
    if policy.mode != "control" or not ours or original or not controller.budget.allows(turn.now_s):
        return
    words = f"{law.name}, until a setting is proven for the new conditions"
    details: dict[str, object] = {"law": law.name}
    change = RouterChange("answer", law.setting, words, details, stale=why, stale_cause=cause)
    make(turn, change, None)


def law_at_once(turn: Turn) -> bool:
    """Tell the law a length as soon as there is a queue; the default needs no model.

    Only where the operator lets the first change come at once; ``False`` where nothing is done.
    """
    controller, sample = turn.controller, turn.controller.senses.latest
    policy = controller.policy
    target = policy.target_packets
    begun = controller.traffic.modelled is not None or bool(controller.budget.changes_s)
    if policy.mode != "control" or policy.watch_first_s > 0.0 or begun or target is None:
        return False
    law = law_of_length(controller.configuration, controller.in_force, policy)
    queued = sample is not None and sample.backlog_packets >= _A_QUEUE * target
    if law is None or not queued or law.stands(controller.in_force):
        return False
    if controller.senses.may_be_silent or not controller.budget.allows(turn.now_s):
        return False
    why = "a law holds a length by itself, until a setting is proven better"
    details: dict[str, object] = {"law": law.name}
    words = f"{law.name}: {why}"
    make(turn, RouterChange("answer", law.setting, words, details, stale=why), None)
    return True


def answer_starvation(turn: Turn, words: str, details: dict[str, object]) -> bool:
    """Replace a setting of this controller that starves newcomers, by a rule or by the first one.

    ``False`` where what stands is the law, or not the controller's.
    """
    controller = turn.controller
    ours = bool(controller.budget.changes_s) and not controller.held.holds(
        controller.way_back, controller.in_force
    )
    if controller.policy.mode == "observe" or not ours or turn.law_stands(turn.picture):
        return False
    rules, why = turn.laws(turn.picture), f"it starves newcomers; {words}"
    others = [each for each in rules if not each.stands(controller.in_force)]
    rule = next((each for each in others if each.adapts), next(iter(others), None))
    if rule is None:
        setting = controller.way_back
    else:
        why = f"{rule.name}: the setting before starves newcomers; {words}"
        if controller.budget.allows(turn.now_s):
            change = RouterChange("answer", rule.setting, why, details, stale="newcomers starve")
            make(turn, change, None)
            return True
        # One change in any case: a rule takes less from everybody than what stood at first.
        setting = {**controller.in_force, **rule.setting}
    turn.change(proven=controller.way_back)
    send(turn, RouterChange("roll back", setting, why, details))
    return True


def watch_conditions(turn: Turn, picture: TrafficEstimate, traffic: Traffic) -> None:
    """Compare the traffic with this estimate from now on."""
    lately = (*turn.controller.traffic.lately_modelled, picture)
    turn.change(
        modelled=picture,
        conditions=watch_of(picture, traffic.queueing_s),
        lately_modelled=tuple(
            each for each in lately if each.time_s > turn.now_s - _PICTURES_KEPT_S
        ),
    )


def _limit_of_marks(turn: Turn, traffic: Traffic) -> tuple[str, dict[str, object]]:
    """Explain why marks cannot bring the queue to its target; empty where they can."""
    if not marks_alone(turn.controller.in_force):
        return "", {}
    least = least_queue_packets(traffic)
    if least <= traffic.queueing_s * traffic.packets_per_s:
        return "", {}
    way_out = (
        f"so {DROPS_IN_EARNEST} is searched as well"
        if DROPS_IN_EARNEST in turn.controller.policy.switches
        else f"{DROPS_IN_EARNEST} on, or ecn off, allows fewer"
    )
    words = (
        f"; marks alone leave {least:.0f} packets or more in the queue, unless flows "
        f"starve: each marked Linux sender keeps two under way ({way_out})"
    )
    return words, {"least_queue_by_marks_packets": least}


def say_unverified(turn: Turn, unverified: Verifying | None) -> None:
    """Conditions have changed before a setting could be verified."""
    if unverified is not None:
        turn.decide(
            DecisionKind.UNVERIFIED,
            f"the setting applied at {unverified.schedule.begun_s:.1f} s is not judged: "
            "conditions have changed",
            applied_s=unverified.schedule.begun_s,
        )


# --- a change of the router -------------------------------------------------------------------


def make(turn: Turn, change: RouterChange, instead: Watching | None) -> None:
    """Make a change, as far as the operator lets the controller.

    Args:
        turn: the step being made.
        change: what to change.
        instead: how to go on where nothing is changed; ``None`` for as before.
    """
    controller = turn.controller
    words = format_setting(change.parameters, controller.configuration)
    policy = controller.policy
    # Nothing is free for who only watches: what stands there is not this controller's.
    if policy.mode == "observe" or (controller.paused_by_person and not change.is_free):
        turn.decide(
            DecisionKind.PROPOSED,
            f"would put in force {words}: {change.reason}",
            setting=dict(change.parameters),
            **change.details,
        )
        if instead is not None:
            turn.become(instead)
        return
    if not change.is_free and not controller.budget.allows(turn.now_s):
        again_s = controller.budget.next_s(turn.now_s)
        turn.decide(
            DecisionKind.HELD_BACK,
            f"{words} not put in force: the limit of "
            f"{how_many(policy.changes_per_minute, 'change')} a minute is reached; next "
            f"try in {math.ceil(again_s - turn.now_s - EPSILON_S)} s",
            setting=dict(change.parameters),
            changes_per_minute=policy.changes_per_minute,
            next_try_in_s=again_s - turn.now_s,
        )
        if instead is not None:
            turn.become(replace(instead, ask_again_s=again_s))
        return
    if not change.is_free and policy.mode == "propose":
        number = turn.number()
        turn.decide(
            DecisionKind.PROPOSED,
            f"proposal {number}, to put in force {words}: {change.reason}",
            setting=dict(change.parameters),
            number=number,
            **change.details,
        )
        turn.effects.append(Propose(number, dict(change.parameters), change.reason))
        turn.become(Proposing(number, change))
        return
    send(turn, change)


def send(turn: Turn, change: RouterChange) -> None:
    """Tell the router to change."""
    before = turn.controller.in_force
    number = turn.ask_router(change.parameters, takes_back=change.is_free)
    turn.change(budget=turn.controller.budget.spent(turn.now_s), starvation=None)
    turn.become(Applying(number, change, turn.now_s, before))


# --- after a change ---------------------------------------------------------------------------


def observe(
    turn: Turn, picture: TrafficEstimate, mean: float, noise: float, unverified: Verifying | None
) -> None:
    """Watch what a quick answer does, before it is refined.

    Args:
        turn: the step being made.
        picture: the conditions it was found for.
        mean: the mean queue it is to have, packets.
        noise: how far a second's mean strays from that, packets.
        unverified: the setting, or ``None`` if the old one was kept.
    """
    schedule = schedule_for(turn, picture)
    # What was in force already need not settle.
    since_s = schedule.begun_s if unverified is None else schedule.half_settled_s
    turn.change(promise=Promise(mean, noise, since_s))
    if unverified is not None:
        unverified = replace(unverified, schedule=schedule, learned_s=schedule.settled_s)
    turn.become(Observing(schedule, unverified))


def explain(turn: Turn, since_s: float) -> None:
    """Find out what explains what is seen since then, as soon as enough was seen."""
    turn.change(promise=None)
    enough_s = since_s + FEWEST_SAMPLES * SAMPLE_INTERVAL_S + EPSILON_S
    turn.become(Observing(Schedule(turn.now_s, since_s, enough_s, enough_s, enough_s), None))


def count_starved(turn: Turn, expected: Expectation) -> None:
    """Count starved flows from now on, where a model has predicted their number."""
    if expected.most_starved is None or turn.controller.alarms.starvation is not None:
        return
    over_s = max(expected.starved_over_s, _STARVED_OVER_S)
    turn.change(starvation=StarvationWatch(expected.most_starved, over_s, turn.now_s))


def verify_from_now(turn: Turn, verifying: Verifying) -> None:
    """Let a setting settle, then measure what it does."""
    schedule = schedule_for(turn, verifying.picture)
    turn.become(replace(verifying, schedule=schedule, learned_s=schedule.settled_s))


def schedule_for(turn: Turn, picture: TrafficEstimate) -> Schedule:
    """Schedule the verification of a setting that comes into force now."""
    traffic = turn.traffic(picture)
    if traffic is None:  # nothing that was modelled lacks anything
        message = "a setting was found for conditions that cannot be modelled"
        raise AssertionError(message)
    return Schedule.after(turn.now_s, traffic)


def watching(
    turn: Turn, predicted_mean: float, noise: float, doubt: Doubt | None = None
) -> Watching:
    """Return the state in which all is well as long as the queue does what the model says."""
    controller = turn.controller
    bias = (
        0.0 if controller.policy.target_packets is None else controller.learned.correction.packets
    )
    return Watching(
        since_s=turn.now_s,
        predicted_mean=predicted_mean,
        noise=noise,
        # A mean over many conditions is no prediction for any of them.
        queue=None
        if controller.traffic.fluctuation.lasts
        else QueueWatch.begin(predicted_mean + bias, noise, turn.scale_packets(turn.picture)),
        learned_s=turn.now_s,
        doubt=doubt,
    )


def watch_without_model(turn: Turn, ask_again_s: float = float("inf")) -> None:
    """The model is known not to predict this setting: only conditions are watched."""
    turn.become(Watching(turn.now_s, 0.0, 0.0, None, turn.now_s, ask_again_s=ask_again_s))


def hands_off(turn: Turn, why: str, changed: Mapping[str, ParameterValue]) -> None:
    """Leave the queue to whoever else has taken charge of it."""
    turn.decide(
        DecisionKind.HANDS_OFF,
        f'{why}; the queue is left alone until a person says "resume"',
        changed=dict(changed),
    )
    turn.change(promise=None, conditions=None)
    turn.become(HandsOff(turn.now_s, why, changed))


# --- what several states know -----------------------------------------------------------------


def is_drift(turn: Turn, now: TrafficEstimate, then: TrafficEstimate | None) -> bool:
    """Check whether conditions have only drifted since a recent estimate."""
    if then is None or now.time_s - then.time_s > _DRIFT_STEP_S or now.flows == 0:
        return False
    return condition_distance(now, then, turn.queueing_s(now)) <= _DRIFT_STEP


def grown_s(turn: Turn, traffic: Traffic) -> float:
    """Time by which the youngest flows have found their windows."""
    return (
        turn.controller.traffic.flows_changed_s
        + _GROWING_ROUND_TRIPS * traffic.longest_round_trip_s
    )


def settled_s(turn: Turn, traffic: Traffic) -> float:
    """Time since which grown flows have settled under the setting in force."""
    controller = turn.controller
    since_s = max(controller.traffic.conditions_since_s, grown_s(turn, traffic))
    changes_s = controller.budget.changes_s
    if changes_s:
        since_s = max(since_s, Schedule.after(changes_s[-1], traffic).half_settled_s)
    return since_s


def just_silent(turn: Turn) -> bool:
    """Check whether the link is silent, or was until a moment ago."""
    told_s = FEWEST_SAMPLES * SAMPLE_INTERVAL_S - EPSILON_S
    senses = turn.controller.senses
    return senses.may_be_silent or turn.now_s - senses.silent_s < told_s


def learn_from_promise(turn: Turn) -> None:
    """Learn the shortfall from what the last quick answer has delivered since last time."""
    promise, senses = turn.controller.learned.promise, turn.controller.senses
    if promise is None or turn.controller.policy.target_packets is None or senses.may_be_silent:
        return
    samples = senses.samples_since_silence(promise.since_s)
    if samples:
        correction = turn.controller.learned.correction.learned_shortfall(
            *mean_and_seconds(samples), promise.noise, promise.mean
        )
        turn.change(correction=correction, promise=replace(promise, since_s=turn.now_s))


def learn_bias(turn: Turn, since_s: float, predicted_mean: float, noise: float) -> None:
    """Learn the model's bias from the samples since ``since_s``.

    Packets that wait behind this queue are missing in it, and say nothing of the model.
    """
    senses = turn.controller.senses
    if turn.controller.policy.target_packets is None or senses.place.kind == "behind":
        return
    samples = turn.controller.senses.samples_since_silence(since_s)
    if samples:
        traffic = turn.traffic(turn.picture)
        begun_s = since_s if traffic is None else min(since_s, settled_s(turn, traffic))
        lately = turn.controller.senses.samples_since_silence(max(begun_s, since_s - _SCATTER_S))
        correction = turn.controller.learned.correction.learned(
            *mean_and_seconds(samples), noise, predicted_mean, scatter(lately)
        )
        turn.change(correction=correction)
