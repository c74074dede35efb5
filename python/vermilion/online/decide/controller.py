"""The loop that keeps a queue tuned: watch, detect, model, tune, decide, apply, verify.

One tick per sample. What a tick does depends on the loop's state:

- :class:`Waiting`: something changed, or nothing is known yet; a steady picture is waited for.
- :class:`Searching`: a search is running; the network goes on under the old setting meanwhile.
- :class:`Observing`: the quick answer is in force; it is watched for a moment, so that the
  model can be fitted to what is seen and a more thorough search can refine the answer.
- :class:`Verifying`: the setting in force settles; then what it does is measured.
- :class:`Watching`: all is well; the network is compared with the model.

In every state the conditions are watched. A change ends the state with a reason: a picture
is waited for anew, a search's answer is stale, a verification is cancelled.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide.detection import Alarm, ConditionWatch, QueueWatch
from vermilion.online.decide.states import (
    Observing,
    Promise,
    Schedule,
    Searching,
    State,
    Verifying,
    Waiting,
    Watching,
)
from vermilion.online.decide.verification import Expectation, measure, verify
from vermilion.online.model.calibration import FEWEST_SAMPLES
from vermilion.online.model.network import TooLittleIsKnown, Traffic
from vermilion.online.plan.correction import OuterCorrection
from vermilion.online.plan.deliberation import REFINING_DEADLINES, Deliberation, mean_and_seconds
from vermilion.online.plan.memory import AnswerMemory, condition_distance
from vermilion.online.record.decision_log import DecisionLog
from vermilion.online.sense.monitor import Monitor
from vermilion.online.sense.picture import round_trip_distance
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S
from vermilion.routers.base import RouterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vermilion.online.decide.verification import Measurement, Outcome
    from vermilion.online.drive.pacing import Pace
    from vermilion.online.model.prediction import Prediction
    from vermilion.online.plan.planner import Answer, Planner
    from vermilion.online.policy import Policy
    from vermilion.online.record.entries import Decision
    from vermilion.online.record.journal import Journal
    from vermilion.online.sense.picture import TrafficPicture
    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import ManagedQueue

STEADY_S = 0.4
"""A picture is steady when it has not changed for this long."""
LONGEST_WAIT_S = 1.5
"""Longest wait for a steady picture: conditions that keep moving are modelled as they are."""

_EPSILON_S = 1e-6  # times are sums of tenths
_PATIENCE_S = 2.0  # before saying that too little is known: the first samples need a moment
_STEADY_FLOWS = 0.05
_STEADY_ROUND_TRIPS = 0.08
_KNOWN_ENOUGH = 0.7  # share of flows with a known round trip
_DRIFT_STEP = 0.8  # distance of conditions, and time, within which a change counts as drift
_DRIFT_STEP_S = 8.0
_GROWING_ROUND_TRIPS = 20.0  # until a new flow's window is what its path allows
_LONGEST_OBSERVING_S = 8.0  # beyond its schedule, waiting for new flows to grow up
_LEARNING_S = 2.0  # stretches of settled observation from which the model's bias is learned
_DRIFT_HOLD_S = (5.0, 60.0)  # after a queue's drift without a cause, doubled each time
_BEFORE_S = 5.0  # how far back the setting in force is measured before it is replaced
_LATELY_S = (5.0, 10.0)  # how far back a drift, and a bias, are looked at
_SETTING_CHECK_TICKS = 10  # between two looks whether somebody else has changed the setting


class Controller:
    """Keeps one managed queue at the operator's target.

    Attributes:
        log: every decision and setting so far.
    """

    def __init__(
        self,
        router: ManagedQueue,
        policy: Policy,
        planner: Planner,
        pace: Pace,
        journal: Journal,
        on_event: Callable[[Decision], object] | None = None,
    ) -> None:
        """Take charge of a queue.

        Args:
            router: the queue.
            policy: what the operator wants.
            planner: finds settings.
            pace: charges the network for the time that takes.
            journal: keeps everything.
            on_event: told of every decision as it is made.
        """
        self.log = DecisionLog(journal, on_event)
        self._router = router
        self._policy = policy
        self._pace = pace
        self._monitor = Monitor(router)
        self._memory = AnswerMemory()
        self._deliberation = Deliberation(planner, policy, self._memory)
        self._correction = OuterCorrection(policy.target_packets)
        self._pictures: deque[TrafficPicture] = deque(
            maxlen=round(STEADY_S / SAMPLE_INTERVAL_S) + 1
        )
        self._modelled: TrafficPicture | None = None
        self._conditions: ConditionWatch | None = None
        self._conditions_since_s = 0.0
        self._flows_changed_s = 0.0
        self._calibrated_s = -1.0
        self._senders = ""
        self._promise: Promise | None = None
        self._drift_hold_s = _DRIFT_HOLD_S[0]
        self._drift_allowed_s = 0.0
        self._state: State = Waiting(0.0, 0.0, "the controller has started")

    def run(self, until_s: float) -> None:
        """Keep the queue tuned until the network's time reaches ``until_s``."""
        self._monitor.take()
        begun_s = self.log.now_s = self._router.read().time_s
        self._state = Waiting(begun_s, begun_s, "the controller has started")
        self.log.setting(self._router.parameters())
        self.log.decide(
            "start",
            f"watching link {self._router.configuration.link} "
            f"({self._router.configuration.discipline}): keep its queue at "
            f"{self._policy.target_packets:g} packets by {', '.join(self._policy.parameters)}",
        )
        for tick in range(1, round((until_s - begun_s) / SAMPLE_INTERVAL_S) + 1):
            self._router.wait(begun_s + tick * SAMPLE_INTERVAL_S)
            if tick % _SETTING_CHECK_TICKS == 0:
                self._check_setting()
            self._tick()
        self.log.decide("end", "the run has ended")

    def _tick(self) -> None:
        sample = self._monitor.take()
        picture = self._monitor.picture()
        if sample is None or picture is None:
            return
        self.log.sample(sample)
        if not self._pictures or picture.flows != self._pictures[-1].flows:
            self._flows_changed_s = sample.time_s
        self._pictures.append(picture)
        alarm = self._conditions.update(picture) if self._conditions is not None else None
        if alarm is not None:
            self._change(alarm)
        match self._state:
            case Waiting():
                self._wait(self._state, picture)
            case Searching():
                self._search(self._state)
            case Observing():
                self._observe(self._state, picture)
            case Verifying():
                self._verify(self._state)
            case Watching():
                self._watch(self._state, sample, picture)

    # --- a change of conditions, in any state -------------------------------------------------

    def _change(self, alarm: Alarm) -> None:
        """Conditions are no longer those of the model in use."""
        state = self._state
        if isinstance(state, Waiting):
            return
        if isinstance(state, Searching) and not state.refining:
            if not state.stale:
                self.log.decide("change-detected", alarm.reason, watcher=alarm.watcher)
                state.stale = alarm.reason
            return
        self.log.decide("change-detected", alarm.reason, watcher=alarm.watcher)
        unverified = state if isinstance(state, Verifying) else None
        if isinstance(state, Observing | Searching):
            unverified = state.unverified
        if unverified is not None:
            self.log.decide(
                "unverified",
                f"verification of the setting applied at {unverified.schedule.begun_s:.1f} s is "
                "cancelled: conditions have changed",
            )
        self._wait_anew(alarm.reason)

    def _check_setting(self) -> None:
        """Notice when somebody else has changed the parameters in force."""
        in_force = self._router.parameters()
        _, known = self.log.settings[-1]
        if in_force == known:
            return
        self.log.setting(in_force)
        changed = sorted(name for name in in_force if in_force[name] != known.get(name))
        reason = f"somebody else has set {', '.join(f'{n} to {in_force[n]}' for n in changed)}"
        self._promise = None
        if isinstance(self._state, Searching):
            # What the search compared its find with is no longer in force.
            self._state.refining = False
        self._change(Alarm(self.log.now_s, "setting", reason))

    def _wait_anew(self, why: str) -> None:
        self._drift_hold_s = _DRIFT_HOLD_S[0]
        self._conditions = None
        self._state = Waiting(self.log.now_s, self.log.now_s, why)

    # --- waiting for a steady picture ---------------------------------------------------------

    def _wait(self, state: Waiting, picture: TrafficPicture) -> None:
        try:
            traffic = Traffic.of_picture(picture, self._policy.target_packets)
        except TooLittleIsKnown as missing:
            patient = self.log.now_s - state.begun_s < _PATIENCE_S
            if not patient and str(missing) != state.told:
                state.told = str(missing)
                self.log.decide("quiet", f"nothing is tuned: {missing}")
            state.known_s = self.log.now_s
            return
        waited_s = self.log.now_s - state.known_s
        if waited_s > LONGEST_WAIT_S - _EPSILON_S or self._steady(picture, traffic.queueing_s):
            self._begin_search(picture, traffic, state.why)

    def _steady(self, picture: TrafficPicture, queueing_s: float) -> bool:
        """Whether the traffic has been the same for a while, and most of it is known."""
        oldest = self._pictures[0]
        if len(self._pictures) < (self._pictures.maxlen or 0) or oldest.rate_bit_per_s is None:
            return False
        flows = [seen.flows for seen in self._pictures]
        return (
            max(flows) - min(flows) <= _STEADY_FLOWS * picture.flows
            and picture.known_share >= _KNOWN_ENOUGH
            and round_trip_distance(picture, oldest, queueing_s) <= _STEADY_ROUND_TRIPS
        )

    # --- searching ----------------------------------------------------------------------------

    def _begin_search(self, picture: TrafficPicture, traffic: Traffic, why: str) -> None:
        """Look for a quick answer to new conditions."""
        if self._is_drift(picture, self._modelled):
            self._correction.conditions_drift()
            self._learn_from_promise()
        else:
            self._promise = None
            self._correction.conditions_changed()
        self._conditions_since_s = self.log.now_s
        self._begin_watching_conditions(picture, traffic)
        internal_target = self._correction.internal_target
        self.log.decide(
            "model-built",
            f"{picture.in_words()}; target for the model {internal_target:.1f} packets ({why})",
            flows=picture.flows,
            round_trip_classes=[list(each) for each in traffic.classes],
            rate_bit_per_s=traffic.rate_bit_per_s,
            internal_target=internal_target,
        )
        in_force, correction = self._router.parameters(), self._correction
        pending = self._pace.begin(
            self.log.now_s,
            self._policy.deadline_s,
            lambda: self._deliberation.quick(picture, in_force, correction),
        )
        self._state = Searching(pending, why)

    def _begin_refining(
        self, picture: TrafficPicture, why: str, since_s: float, unverified: Verifying | None
    ) -> None:
        """Fit the model to what was seen since ``since_s``, and look for a better answer."""
        traffic = Traffic.of_picture(picture, self._policy.target_packets)
        self._begin_watching_conditions(picture, traffic)
        # Young flows do not behave as flows do: they are still finding their windows.
        settled = self._monitor.since(max(since_s, self._grown_s(traffic)))
        if len(settled) < FEWEST_SAMPLES:
            settled = []
        else:
            self._calibrated_s = self.log.now_s
            self._promise = None
            self._correction.conditions_steady()
        in_force, correction = self._router.parameters(), self._correction
        pending = self._pace.begin(
            self.log.now_s,
            REFINING_DEADLINES * self._policy.deadline_s,
            lambda: self._deliberation.refined(picture, in_force, correction, settled),
        )
        self._state = Searching(pending, why, refining=True, unverified=unverified)

    def _begin_watching_conditions(self, picture: TrafficPicture, traffic: Traffic) -> None:
        self._modelled = picture
        self._conditions = ConditionWatch(picture, traffic.queueing_s)

    def _search(self, state: Searching) -> None:
        finding = state.pending.due(self.log.now_s)
        if finding is None:
            return
        if finding.correction is not None:
            self._correction = finding.correction
        if finding.examination is not None and finding.examination.senders != self._senders:
            self._senders = finding.examination.senders
            self.log.decide("calibrated", f"what is seen is explained best by {self._senders}")
        answer = finding.answer
        if answer is None:
            self.log.decide("kept", f"no answer: {finding.obstacle}")
            if state.unverified is not None:
                self._state = state.unverified
            else:
                self._wait_anew(state.why)
            return
        self._memory.keep(answer.question.picture, dict(answer.candidate.setting))
        self._tell_tuned(answer, state)
        if not state.refining:
            self._learn_from_promise()
        self._correction.tuned(answer.question.internal_target)
        if state.stale:
            self._use_if_near(answer, state)
        elif answer.verdict.apply:
            self._apply(answer, state)
        else:
            self._keep(answer, state)

    def _use_if_near(self, answer: Answer, state: Searching) -> None:
        """What to do with an answer to conditions that have changed since."""
        if answer.verdict.apply and self._is_drift(self._pictures[-1], answer.question.picture):
            self.log.decide(
                "stale",
                f"conditions have moved on ({state.stale}); the answer is nearer to them than the "
                "setting in force and stands in until the next one",
            )
            self._apply(answer, state)
        else:
            self.log.decide(
                "stale", f"the answer is not used, conditions have changed: {state.stale}"
            )
        self._wait_anew(state.stale)

    def _keep(self, answer: Answer, state: Searching) -> None:
        self.log.decide("kept", answer.verdict.reason)
        if not state.refining:
            self._observe_from_now(answer, answer.incumbent, answer.incumbent_noise, None)
        elif state.unverified is not None:
            # The model that refined the answer knows better what the setting should do.
            state.unverified.expected = replace(
                state.unverified.expected,
                deviation_after=answer.incumbent.deviation(answer.goal.target).mean,
                mean_after=answer.incumbent.mean.mean,
            )
            state.unverified.noise = answer.incumbent_noise
            state.unverified.learned_s = self.log.now_s
            self._state = state.unverified
        else:
            self._resume_watching(answer.incumbent.mean.mean, answer.incumbent_noise)

    def _apply(self, answer: Answer, state: Searching) -> None:
        previous = self._router.parameters()
        # Longer ago, conditions may have been others without anybody noticing.
        before = self._measured_since(max(self._conditions_since_s, self.log.now_s - _BEFORE_S))
        target = answer.goal.target
        deviation_before = answer.incumbent.deviation(target).mean
        if state.unverified is not None:
            # What is replaced has not proved itself: the way back leads past it.
            previous = state.unverified.previous
            before = state.unverified.before
            deviation_before = state.unverified.expected.deviation_before
        try:
            self._router.apply(answer.candidate.setting)
        except RouterError as refusal:
            self.log.decide("refused", f"the router refused the setting: {refusal}")
            self._resume_watching(answer.incumbent.mean.mean, answer.incumbent_noise)
            return
        self.log.setting(self._router.parameters())
        self.log.decide(
            "applied",
            f"{_in_words(answer.candidate.setting)}: {answer.verdict.reason}",
            setting=dict(answer.candidate.setting),
            advantage=answer.verdict.advantage.mean,
            advantage_half_width=answer.verdict.advantage.half_width,
        )
        schedule = self._schedule(answer)
        verifying = Verifying(
            expected=Expectation(
                deviation_before=deviation_before,
                deviation_after=answer.candidate.deviation(target).mean,
                mean_after=answer.candidate.mean.mean,
            ),
            noise=answer.candidate_noise,
            previous=previous,
            before=before,
            schedule=schedule,
            learned_s=schedule.settled_s,
        )
        if state.refining:
            self._state = verifying
        else:
            self._observe_from_now(answer, answer.candidate, answer.candidate_noise, verifying)

    def _schedule(self, answer: Answer) -> Schedule:
        traffic = Traffic.of_picture(answer.question.picture, self._policy.target_packets)
        return Schedule.after(self.log.now_s, traffic)

    # --- observing ----------------------------------------------------------------------------

    def _observe_from_now(
        self, answer: Answer, prediction: Prediction, noise: float, unverified: Verifying | None
    ) -> None:
        """Watch what a quick answer does, before it is refined."""
        schedule = self._schedule(answer)
        # What was in force already need not settle.
        since_s = schedule.begun_s if unverified is None else schedule.half_settled_s
        self._promise = Promise(prediction.mean.mean, noise, since_s)
        self._state = Observing(schedule, unverified)

    def _observe(self, state: Observing, picture: TrafficPicture) -> None:
        now_s, schedule = self.log.now_s, state.schedule
        if self._promise is not None and now_s - self._promise.since_s > 1.0 - _EPSILON_S:
            self._learn_from_promise()
        try:
            grown_s = self._grown_s(Traffic.of_picture(picture, self._policy.target_packets))
        except TooLittleIsKnown:  # the flows have just gone; their watcher will say so
            return
        enough_s = schedule.observed_s - schedule.half_settled_s
        due_s = min(
            max(schedule.observed_s, grown_s + enough_s),
            schedule.observed_s + _LONGEST_OBSERVING_S,
        )
        failing = self._correction.due and now_s > schedule.settled_s
        if now_s > due_s - _EPSILON_S or failing:
            self._begin_refining(
                picture,
                "refining the quick answer",
                schedule.half_settled_s,
                state.unverified,
            )

    def _grown_s(self, traffic: Traffic) -> float:
        """When the youngest flows will have found their windows."""
        return self._flows_changed_s + _GROWING_ROUND_TRIPS * traffic.longest_round_trip_s

    def _learn_from_promise(self) -> None:
        """Learn the shortfall from what the last quick answer has delivered since last time."""
        promise = self._promise
        samples = [] if promise is None else self._monitor.since(promise.since_s)
        if promise is not None and samples:
            self._correction.learn_shortfall(
                *mean_and_seconds(samples), promise.noise, promise.mean
            )
            self._promise = replace(promise, since_s=self.log.now_s)

    # --- verifying ----------------------------------------------------------------------------

    def _verify(self, state: Verifying) -> None:
        if self.log.now_s - state.learned_s > _LEARNING_S - _EPSILON_S:
            self._learn(state.learned_s, state.expected.mean_after, state.noise)
            state.learned_s = self.log.now_s
        if self.log.now_s < state.schedule.verified_s - _EPSILON_S:
            return
        after = self._measured_since(state.schedule.settled_s)
        if after is None:  # samples were lost: nothing can be said
            self.log.decide("unverified", "too few samples since the setting was applied")
            self._resume_watching(state.expected.mean_after, state.noise)
            return
        outcome = verify(after, state.before, state.expected)
        if outcome.verdict == "rolled-back":
            self._roll_back(state, outcome)
            return
        self.log.decide("verified", outcome.reason, **outcome.measured.details())
        self._resume_watching(state.expected.mean_after, state.noise)

    def _roll_back(self, state: Verifying, outcome: Outcome) -> None:
        """Take a setting back, and try no other until conditions change: no ping-pong."""
        try:
            self._router.apply(state.previous)
        except RouterError as refusal:
            self.log.decide("refused", f"the router refused its earlier setting: {refusal}")
            return
        self.log.setting(self._router.parameters())
        self.log.decide("rolled-back", outcome.reason, **outcome.measured.details())
        self._state = Watching(
            self.log.now_s, outcome.measured.queue.mean, 0.0, None, self.log.now_s
        )

    # --- watching -----------------------------------------------------------------------------

    def _resume_watching(self, predicted_mean: float, noise: float) -> None:
        expected = predicted_mean + self._correction.packets
        self._state = Watching(
            since_s=self.log.now_s,
            predicted_mean=predicted_mean,
            noise=noise,
            queue=QueueWatch(expected, noise, self._policy.target_packets),
            learned_s=self.log.now_s,
        )

    def _watch(self, state: Watching, sample: Sample, picture: TrafficPicture) -> None:
        if state.queue is None:
            return
        alarm = state.queue.update(sample)
        if alarm is not None and self.log.now_s >= self._drift_allowed_s:
            self.log.decide("change-detected", alarm.reason, watcher=alarm.watcher)
            self._drift_allowed_s = self.log.now_s + self._drift_hold_s
            self._drift_hold_s = min(2 * self._drift_hold_s, _DRIFT_HOLD_S[1])
            self._correction.conditions_changed()
            self._refine_again(state, picture, alarm.reason, _LATELY_S[0])
            return
        if self.log.now_s - state.learned_s < _LEARNING_S - _EPSILON_S:
            return
        self._learn(state.learned_s, state.predicted_mean, state.noise)
        state.learned_s = self.log.now_s
        if self._correction.due:
            reason = (
                f"the network's mean queue is {self._correction.packets:+.1f} packets beside the "
                f"model's: the model is tuned for {self._correction.internal_target:.1f}"
            )
            self.log.decide("corrected", reason, bias_packets=self._correction.packets)
            self._refine_again(state, picture, reason, _LATELY_S[1])
        elif self._calibrated_s < self._conditions_since_s:
            traffic = Traffic.of_picture(picture, self._policy.target_packets)
            if self.log.now_s > self._grown_s(traffic) + _LATELY_S[0]:
                self._refine_again(state, picture, "flows have settled", _LATELY_S[1])

    def _refine_again(
        self, state: Watching, picture: TrafficPicture, why: str, lately_s: float
    ) -> None:
        try:
            self._begin_refining(picture, why, max(state.since_s, self.log.now_s - lately_s), None)
        except TooLittleIsKnown:  # the flows have just gone; their watcher will say so
            return

    # --- what several states do ---------------------------------------------------------------

    def _is_drift(self, now: TrafficPicture, then: TrafficPicture | None) -> bool:
        """Whether conditions have only moved a step since then, and not long ago."""
        if then is None or now.time_s - then.time_s > _DRIFT_STEP_S or now.flows == 0:
            return False
        traffic = Traffic.of_picture(now, self._policy.target_packets)
        return condition_distance(now, then, traffic.queueing_s) <= _DRIFT_STEP

    def _learn(self, since_s: float, predicted_mean: float, noise: float) -> None:
        """Learn the model's bias from the samples since ``since_s``."""
        samples = self._monitor.since(since_s)
        if samples:
            self._correction.learn(*mean_and_seconds(samples), noise, predicted_mean)

    def _measured_since(self, time_s: float) -> Measurement | None:
        rate = self._pictures[-1].rate_bit_per_s
        if rate is None:
            return None
        return measure(self._monitor.since(time_s), self._policy.target_packets, rate)

    def _tell_tuned(self, answer: Answer, state: Searching) -> None:
        predicted = answer.candidate
        self.log.decide(
            "tuned",
            f"{answer.evaluations} settings tried in {state.pending.took_s:.2f} s: "
            f"{_in_words(predicted.setting)} predicted to hold {predicted.mean.mean:.1f} +- "
            f"{predicted.sd.mean:.1f} packets",
            evaluations=answer.evaluations,
            took_s=state.pending.took_s,
            refining=state.refining,
            setting=dict(predicted.setting),
            predicted_mean=predicted.mean.mean,
            predicted_sd=predicted.sd.mean,
            predicted_utilization=predicted.utilization.mean,
        )


def _in_words(setting: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in setting.items())
