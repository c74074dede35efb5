"""Searching: an answer is looked for; the network goes on under the old setting meanwhile."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.objectives.metrics import format_metric
from vermilion.online.decide import entering, silence
from vermilion.online.decide.states import RouterChange, Searching, Verifying
from vermilion.online.decide.verification import Expectation, verify
from vermilion.online.entries import DecisionKind, format_setting
from vermilion.online.plan.examination import FEWEST_COMPARED, before_silence, misfits
from vermilion.routers.adaptive_red import ADAPTIVE
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.decide.controller import Turn
    from vermilion.online.decide.detection import Alarm
    from vermilion.online.events import Found, Observed, SearchFailed
    from vermilion.online.model.explanation import Explanation, Figure
    from vermilion.online.model.prediction import Prediction
    from vermilion.online.plan.task import Answer, Finding
    from vermilion.online.sense.stretch import Stretch

_BEFORE_S = 5.0  # how far back the setting in force is measured before it is replaced
# So long a guess that was refuted is not made again unseen: the time in which it can be explained,
# unless conditions go on changing. Then any answer is better than that to conditions long gone.
_REFUTED_S = 10.0
_ASK_AGAIN_S = 30.0  # after a search that came to nothing
_EXPLAIN_AGAIN_S = 10.0  # after one that no model explained; then after twice as long, and so on
# Twice what a driver waits for a search before it ends it itself.
_PATIENCE_DEADLINES = 10.0
_PATIENCE_S = 20.0


def on_alarm(turn: Turn, state: Searching, alarm: Alarm) -> None:
    """Conditions have changed: a quick answer will be stale, a refined one is of no use."""
    if state.refining:
        entering.say_changed(turn, alarm)
        entering.say_unverified(turn, state.unverified)
        entering.wait_anew(turn, alarm.reason, alarm.details)
    elif not state.stale:
        entering.say_changed(turn, alarm)
        turn.become(replace(state, stale=alarm.reason, stale_cause=alarm.details))


def on_observed(turn: Turn, state: Searching, _event: Observed) -> None:
    """Give a search up that does not end: whoever does it should have done so long ago."""
    patience_s = max(_PATIENCE_DEADLINES * turn.deadline_s("refined"), _PATIENCE_S)
    if turn.now_s - state.begun_s > patience_s:
        _fail(turn, state, f"it has not answered for {patience_s:.0f} s", waited_s=patience_s)


def on_found(turn: Turn, state: Searching, event: Found) -> None:
    """The search has ended."""
    if event.number != state.number or silence.pause_if_answer_is_late(turn, state):
        return
    finding = event.finding
    doubt = _doubt(turn, finding)
    if doubt:
        _fail(turn, state, f"its answer makes no sense ({doubt})")
        return
    _learn(turn, finding)
    answer = finding.answer
    if answer is None:
        _without_answer(turn, state, finding)
        return
    if not answer.law:
        turn.change(memory=turn.controller.learned.memory.kept(answer.picture, answer.setting))
    if answer.verdict.apply:  # what changes nothing is one line
        _tell_tuned(turn, state, answer, event.took_s)
    if not state.refining:
        entering.learn_from_promise(turn)
    if answer.internal_target is not None:
        turn.change(correction=turn.controller.learned.correction.tuned(answer.internal_target))
    if state.stale:
        _use_if_near(turn, state, answer)
    elif answer.verdict.apply:
        _make(turn, state, answer)
    else:
        _keep(turn, state, answer, event.took_s)


def on_failed(turn: Turn, state: Searching, event: SearchFailed) -> None:
    """The search died or hung: the setting in force stays, and is asked about again later."""
    if event.number != state.number:
        return
    _fail(turn, state, event.reason)


def _fail(turn: Turn, state: Searching, reason: str, **details: object) -> None:
    turn.decide(
        DecisionKind.SEARCH_FAILED,
        f"the search found nothing, because {reason}; the setting in force stays",
        because=reason,
        **details,
    )
    _go_on(turn, state)


def _doubt(turn: Turn, finding: Finding) -> str:
    """Return why a finding is invalid and must not reach a router; "" if it is valid."""
    if not math.isfinite(finding.correction.packets):
        return f"a bias of {finding.correction.packets} packets"
    answer = finding.answer
    if answer is None:
        return ""
    policy = turn.searched_policy
    names, searched = set(answer.setting) - set(policy.switches), set(policy.parameters)
    allowed = searched | {ADAPTIVE, *policy.law_parameters}
    if not (names <= allowed if answer.law else names - {ADAPTIVE} == searched):
        return f"a setting of {', '.join(sorted(answer.setting)) or 'nothing'}"
    for name, value in answer.setting.items():
        is_switch = name == ADAPTIVE or isinstance(turn.controller.in_force.get(name), bool)
        is_number = isinstance(value, int | float) and isinstance(value, bool) == is_switch
        if not is_number or not math.isfinite(value):
            return f"{name} {value}"
    for prediction in (answer.candidate, answer.incumbent):
        if not math.isfinite(prediction.mean.mean):
            return f"a mean queue of {prediction.mean.mean} packets"
    return "" if turn.traffic(answer.picture) else "traffic that cannot be modelled"


def _learn(turn: Turn, finding: Finding) -> None:
    """Take over what the search has taught."""
    turn.change(belief=finding.belief, correction=finding.correction)
    if finding.packets_per_s is not None:
        turn.change(packets_per_s=finding.packets_per_s)
    explanation = finding.explanation
    if explanation is not None:
        turn.change(refuted_s=-math.inf)
        if explanation.explained:
            turn.change(fruitless=0)
            _name_senders(turn, explanation)


def _name_senders(turn: Turn, explanation: Explanation) -> None:
    """Say which senders the models have from now on; and that they are those, only where sure."""
    named = turn.controller.learned.senders
    likeliest = f"likely {explanation.senders}"
    if explanation.told_apart:
        if named != explanation.senders:
            turn.change(senders=explanation.senders)
            turn.decide(
                DecisionKind.CALIBRATED, f"what is seen is explained best by {explanation.senders}"
            )
    elif named not in {explanation.senders, likeliest}:
        turn.change(senders=likeliest)
        turn.decide(
            DecisionKind.CALIBRATED,
            "kind of senders: observations leave several; the models have "
            f"{explanation.senders}, the likeliest, from now on",
        )


def _without_answer(turn: Turn, state: Searching, finding: Finding) -> None:
    explanation = finding.explanation
    if explanation is None or explanation.explained:
        because = finding.obstacle
        turn.decide(DecisionKind.KEPT, f"no answer, because {because}", because=because)
        _go_on(turn, state)
        return
    change = _without_a_model(turn, state)
    becomes = "stays" if change is None else "is taken back"
    turn.decide(
        DecisionKind.UNEXPLAINED,
        f"{finding.obstacle}; the setting in force {becomes}",
        **_figures(explanation.figures),
    )
    if change is not None:
        entering.make(turn, change, None)
        if turn.controller.state is not state:
            return
    fruitless = turn.controller.learned.fruitless
    turn.change(fruitless=fruitless + 1)
    _go_on(turn, state, _EXPLAIN_AGAIN_S * 2.0**fruitless)


def _figures(figures: Sequence[Figure]) -> dict[str, object]:
    """Observed and modelled figures, for the journal."""
    return {
        **{figure.name: [figure.seen, figure.model] for figure in figures},
        "figures": [
            {
                "name": figure.name,
                "unit": figure.unit,
                "seen": figure.seen,
                "model": figure.model,
                "noise": figure.noise,
            }
            for figure in figures
        ],
    }


def _without_a_model(turn: Turn, state: Searching) -> RouterChange | None:
    """Return a replacement for a setting whose model has been refuted."""
    controller = turn.controller
    # A verification that was cancelled, since conditions changed, has proved nothing either.
    in_force, held = controller.in_force, controller.held
    proven = state.unverified is None and held.is_unchanged(controller.proven, in_force)
    if proven or state.stale or turn.law_stands(turn.picture):  # a law needs no model
        return None
    if held.holds(controller.way_back, in_force):
        return None
    but = ", but for what shut the queue," if controller.router.reopening else ""
    return RouterChange(
        "roll back",
        controller.way_back,
        "only a refuted model spoke for this setting; what stood before the first "
        f"change{but} is put back",
        ask_again_s=turn.now_s + _ASK_AGAIN_S,
    )


def _go_on(turn: Turn, state: Searching, again_in_s: float = _ASK_AGAIN_S) -> None:
    """Without an answer: verify what is in force, or watch conditions and ask again later."""
    if state.stale:
        entering.wait_anew(turn, state.stale, state.stale_cause)
    elif state.unverified is not None:
        turn.become(state.unverified)
    else:
        entering.watch_without_model(turn, turn.now_s + again_in_s)


def _use_if_near(turn: Turn, state: Searching, answer: Answer) -> None:
    """Handle an answer to conditions that have changed since."""
    if answer.verdict.apply and answer.law:  # it suits whatever comes
        _make(turn, state, answer)
        return
    if answer.verdict.apply and entering.is_drift(turn, turn.picture, answer.picture):
        turn.decide(
            DecisionKind.STALE,
            f"conditions have moved a little ({state.stale}); the answer is used until "
            "the next one",
            cause=dict(state.stale_cause),
        )
        _make(turn, state, answer)
        return
    turn.decide(
        DecisionKind.STALE,
        f"the answer is not used, because conditions have changed ({state.stale})",
        cause=dict(state.stale_cause),
    )
    entering.wait_anew(turn, state.stale, state.stale_cause)


def _keep(turn: Turn, state: Searching, answer: Answer, took_s: float) -> None:
    turn.decide(
        DecisionKind.KEPT,
        f"{how_many(answer.evaluations, 'setting')} tried in {took_s:.2f} s: "
        f"{answer.verdict.reason}",
        evaluations=answer.evaluations,
        took_s=took_s,
        refining=state.refining,
        **answer.verdict.details,
    )
    _go_on_as_it_is(turn, state, answer)


def _go_on_as_it_is(turn: Turn, state: Searching, answer: Answer) -> None:
    """Nothing is changed."""
    mean, noise = answer.incumbent.mean.mean, answer.incumbent_noise
    if not state.refining:
        entering.observe(turn, answer.picture, mean, noise, None)
    elif state.unverified is not None:
        # The model that refined the answer knows better what the setting should do.
        expected = replace(
            state.unverified.expected,
            cost_after=_expected(answer, answer.incumbent),
            mean_after=mean,
        )
        turn.become(replace(state.unverified, expected=expected, noise=noise, learned_s=turn.now_s))
    else:
        turn.become(entering.watching(turn, mean, noise))


def _make(turn: Turn, state: Searching, answer: Answer) -> None:
    """Put the answer in force, as far as that is allowed."""
    since_s = max(turn.controller.traffic.conditions_since_s, turn.now_s - _BEFORE_S)
    if state.unverified is not None:
        since_s = max(since_s, state.unverified.schedule.half_settled_s)
    previous, before = turn.controller.in_force, turn.controller.senses.stretch(since_s)
    # A law needs no model to answer what comes.
    if not (state.refining or state.stale or answer.law) and _is_refuted(turn, answer):
        return
    if not state.refining and before is not None and _promises_less(turn, answer, before):
        _go_on_as_it_is(turn, state, answer)
        return
    if before is not None and _suffers_in_the_model_alone(turn, answer, before):
        _go_on_as_it_is(turn, state, answer)
        return
    cost_before, first = _expected(answer, answer.incumbent), answer.first_beside_in_force
    mends = answer.verdict.advantage.mean <= 0.0
    if state.unverified is not None and _has_failed(turn, state.unverified, before):
        # What is replaced has not proved itself: the way back leads past it.
        previous, before = state.unverified.previous, state.unverified.before
        cost_before = state.unverified.expected.cost_before
        first = state.unverified.expected.first_beside_previous
        mends = mends or state.unverified.mends
    verifying = Verifying(
        picture=answer.picture,
        expected=Expectation(
            cost_before,
            _expected(answer, answer.candidate),
            answer.candidate.mean.mean,
            answer.most_starved,
            answer.starved_over_s,
            first_beside_previous=first,
        ),
        noise=answer.candidate_noise,
        previous=previous,
        before=before,
        schedule=entering.schedule_for(turn, answer.picture),
        learned_s=turn.now_s,
        mends=mends,
        replaces_law=turn.law_stands(turn.picture),
    )
    change = RouterChange(
        "answer",
        answer.setting,
        f"{answer.law}: {answer.verdict.reason}" if answer.law else answer.verdict.reason,
        answer.verdict.details,
        verifying,
        refining=state.refining,
        stale=state.stale,
        stale_cause=state.stale_cause,
    )
    instead = entering.watching(turn, answer.incumbent.mean.mean, answer.incumbent_noise)
    if verifying.replaces_law and not turn.controller.budget.allows_return(turn.now_s):
        turn.decide(
            DecisionKind.HELD_BACK,
            "the law stays: the budget of changes would not allow a way back to it",
            setting=dict(answer.setting),
            changes_per_minute=turn.controller.policy.changes_per_minute,
        )
        turn.become(instead)
        return
    entering.make(turn, change, instead)


def _is_refuted(turn: Turn, answer: Answer) -> bool:
    """Check whether observations refute a first answer's model."""
    controller = turn.controller
    traffic = turn.traffic(answer.picture)
    kinds = answer.alternatives or (answer.incumbent,)
    several = answer.models > len(kinds) or bool(answer.picture.parts[1:])
    if traffic is None or several:  # whose means are no prediction for what is there
        return False
    since_s = entering.settled_s(turn, traffic)
    seen = before_silence(controller.senses.samples_since_silence(since_s))
    bias = 0.0 if answer.internal_target is None else controller.learned.correction.packets
    scale = turn.scale_packets(answer.picture)
    found = [misfits(replace(answer, incumbent=each), seen, scale, bias) for each in kinds]
    missed = found[0] if all(found) else ()
    too_few = len(seen) < FEWEST_COMPARED
    lately = turn.now_s - controller.learned.refuted_s < _REFUTED_S
    if not missed and not (too_few and lately):
        return False
    why = "; ".join(figure.describe() for figure in missed)
    turn.decide(
        DecisionKind.UNEXPLAINED,
        (
            "the answer is not put in force: its model does not explain the setting in force "
            f"({why}); looking for a model that does"
        )
        if missed
        else (
            "the answer is not put in force: its senders did not explain the setting in "
            "force a moment ago; looking for senders that do"
        ),
        **_figures(missed),
    )
    if missed:
        turn.change(refuted_s=turn.now_s)
    entering.explain(turn, since_s)
    return True


def _promises_less(turn: Turn, answer: Answer, measured: Stretch) -> bool:
    """Check whether the setting in force surely does better than a first guess promises.

    Nobody has compared the model of a first guess with the network yet; this does.
    """
    objective = turn.controller.policy.objective
    now, promised = measured.objective(objective), _expected(answer, answer.candidate)
    if now is None or now.low is None or now.high is None:
        return False
    better = now.low > promised if objective.maximised else now.high < promised
    if better:
        turn.decide(
            DecisionKind.KEPT,
            "the setting in force does better on the network than the answer in the model; "
            f"{objective.label} {now.mean:.4g}, promised {promised:.4g} {objective.unit}".rstrip(),
            objective=objective.name,
            measured=now.mean,
            promised=promised,
        )
    return better


def _suffers_in_the_model_alone(turn: Turn, answer: Answer, measured: Stretch) -> bool:
    """Check whether an answer mends a harm that the network surely does not suffer.

    A bound that the setting in force breaks is mended at a high price, so it has to be broken. In
    conditions that are not there yet, such as a crowd that may come, only a model can say so.
    """
    verdict = answer.verdict
    text, limit = verdict.details.get("bound"), verdict.details.get("bound_limit")
    if verdict.advantage.mean > 0.0 or not isinstance(limit, float):
        return False
    bound = next((each for each in turn.controller.policy.bounds if each.text == text), None)
    seen = None if bound is None else measured.bounded(bound)
    if bound is None or seen is None or seen.low is None or seen.high is None:
        return False
    kept = seen.low > limit if bound.at_least else seen.high < limit
    if kept:
        turn.decide(
            DecisionKind.KEPT,
            "the answer is not put in force: only the model breaks a bound under the "
            f"setting in force; the network keeps {bound.text} (measured "
            f"{format_metric(bound.path, seen.mean)}, bound "
            f"{format_metric(bound.path, limit)})",
            bound=bound.text,
            bound_limit=limit,
            bound_measured=seen.mean,
            bound_measured_half_width=seen.half_width,
        )
    return kept


def _has_failed(turn: Turn, unverified: Verifying, measured: Stretch | None) -> bool:
    """Check whether the quick answer is known to be no setting to go back to."""
    if measured is None:
        return True
    result = verify(
        measured,
        unverified.before,
        unverified.expected,
        turn.controller.policy,
        mends=unverified.mends,
    )
    return result.verdict == "worse"


def _expected(answer: Answer, prediction: Prediction) -> float:
    """Expected value of the objective, as measured on the network."""
    if answer.internal_target is None:
        return prediction.value.mean
    return prediction.deviation(answer.internal_target).mean


def _tell_tuned(turn: Turn, state: Searching, answer: Answer, took_s: float) -> None:
    predicted = answer.candidate
    words = format_setting(answer.setting, turn.controller.configuration)
    turn.decide(
        DecisionKind.TUNED,
        f"{how_many(answer.evaluations, 'setting')} tried in {took_s:.2f} s: {words}, predicted to "
        f"hold {predicted.mean.mean:.1f} +- {predicted.sd.mean:.1f} packets",
        evaluations=answer.evaluations,
        took_s=took_s,
        refining=state.refining,
        setting=dict(answer.setting),
        predicted_mean=predicted.mean.mean,
        predicted_sd=predicted.sd.mean,
        predicted_utilization=predicted.utilization.mean,
    )
