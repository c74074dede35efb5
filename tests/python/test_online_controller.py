"""The control loop on a router that behaves as told, with a planner that answers as told."""

import math
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from oracle_answer import answer_to
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.online.decide.controller import Controller
from vermilion.online.drive.driver import NetworkTimeDriver, fixed_pace
from vermilion.online.model.explanation import Explanation
from vermilion.online.model.prediction import Outcome, Prediction
from vermilion.online.plan.judgement import HeldQueue
from vermilion.online.plan.task import Finding
from vermilion.online.policy import Policy
from vermilion.online.record.journal import Journal, Log
from vermilion.routers.base import (
    LinkConfiguration,
    ManagedQueue,
    Reading,
    RouterError,
    RttSamples,
)

TARGET = 30.0
POLICY = Policy(
    link="bottleneck", objective=QueueDeviation("bottleneck", TARGET), parameters=("level",)
)


class ObedientRouter(ManagedQueue):
    """A queue that stands at ``level`` + an offset the traffic brings, and wanders a little."""

    kind = "obedient"

    def __init__(self, level=45.0):
        self.now_s = 0.0
        self.level = level
        self.offset = 0.0  # what the traffic adds to the level
        self.sd = 2.0
        self.flows = 16
        self.base_s = 0.028
        self.packets_per_tick = 125
        self.events = []  # (time, function) in order of time
        self.refuses = False
        self.applied = []
        self._forwarded = 0
        self._backlog = 0
        self._coins = random.Random(1)

    @property
    def configuration(self):
        return LinkConfiguration("bottleneck", "fake", 0.010)

    def at(self, time_s, act):
        self.events.append((time_s, act))

    def wait(self, until_s):
        while self.now_s < until_s - 1e-9:
            self.now_s = min(self.now_s + 0.1, until_s)
            while self.events and self.events[0][0] <= self.now_s + 1e-9:
                self.events.pop(0)[1](self)
            self._forwarded += self.packets_per_tick if self.flows else 0
            height = self._coins.gauss(self.level + self.offset, self.sd)
            self._backlog = max(0, round(height)) if self.flows else 0

    def restart(self):
        self.level, self._forwarded = 45.0, 0

    def read(self):
        return Reading(
            time_s=self.now_s,
            backlog_packets=self._backlog,
            backlog_bytes=1000 * self._backlog,
            forwarded_packets=self._forwarded,
            forwarded_bytes=1000 * self._forwarded,
            drops=0,
            marks=0,
        )

    def active_flows(self):
        return self.flows

    def rtt_samples(self):
        count = self.flows if self._forwarded else 0
        waiting = self._backlog * 0.0008 + 0.0008
        return RttSamples(np.arange(count, dtype=np.int64), np.full(count, self.base_s + waiting))

    def parameters(self):
        return {"level": self.level, "gentle": False}

    def apply(self, parameters):
        if self.refuses:
            message = "level: too low"
            raise RouterError(message)
        self.applied.append((round(self.now_s, 1), dict(parameters)))
        self.level = parameters["level"]


class Oracle:
    """Believes that the queue stands at ``level`` + ``believed_offset``, and solves for it."""

    def __init__(self, believed_offset=0.0, sd=2.0):
        self.believed_offset = believed_offset
        self.sd = sd
        self.tasks = []
        self.targets = []

    def __call__(self, task):
        self.tasks.append(task)
        correction, explanation = task.correction, None
        if task.settled:
            predicted = task.in_force["level"] + self.believed_offset
            explanation = Explanation(
                "newreno senders",
                told_apart=True,
                explained=True,
                figures=(),
                predicted_mean=predicted,
                noise=1.0,
            )
            measured = sum(sample.backlog_packets for sample in task.settled) / len(task.settled)
            seconds = sum(sample.interval_s for sample in task.settled)
            correction = correction.learned(measured, seconds, 1.0, predicted)
        goal = HeldQueue("bottleneck", correction.internal_target)
        self.targets.append(goal.target)
        candidate = self.predicted(goal.target - self.believed_offset, goal)
        incumbent = self.predicted(task.in_force["level"], goal)
        answer = answer_to(task, goal, candidate, incumbent)
        return Finding(answer, "", explanation, correction, task.belief, None)

    def predicted(self, level, goal):
        means = [level + self.believed_offset + shift for shift in (-0.1, 0.0, 0.1)]
        return Prediction(
            setting={"level": level},
            outcomes=tuple(
                Outcome(mean, self.sd, 1.0, 0.0, goal.cost(mean, self.sd)) for mean in means
            ),
        )


class Controlled:
    """A run of the loop, and what it left behind."""

    def __init__(self, router, solve, until_s, policy=POLICY, controller=None):
        with Journal(
            None,
            version="test",
            title="fake",
            router=router.kind,
            link="bottleneck",
            discipline="fake",
            target_packets=TARGET,
        ) as journal:
            self.log = Log(journal)
            controller = controller or Controller.of(policy, router.configuration, evaluations=1)
            driver = NetworkTimeDriver(router, controller, self.log, fixed_pace, solve=solve)
            driver.run(until_s)
            self.controller = driver.controller


def controlled(router, solve, until_s, **more):
    return Controlled(router, solve, until_s, **more)


def kinds(controller):
    return [decision.kind for decision in controller.log.decisions]


def of_kind(controller, kind):
    return [decision for decision in controller.log.decisions if decision.kind == kind]


def test_a_wrong_setting_is_replaced_and_verified():
    router = ObedientRouter(level=45)
    controller = controlled(router, Oracle(), 15)
    assert kinds(controller) == [
        "start",
        "model-built",
        "tuned",
        "applied",
        "calibrated",
        "kept",
        "unproven",
        "end",
    ]
    assert router.applied == [(pytest.approx(1.5, abs=0.5), {"level": 30.0})]


def test_every_decision_has_a_reason_and_every_setting_its_time():
    controller = controlled(ObedientRouter(level=45), Oracle(), 15)
    assert all(decision.reason for decision in controller.log.decisions)
    first, second = controller.log.settings
    assert (first.time_s, first.parameters) == (0.0, {"level": 45.0, "gentle": False})
    assert second.time_s == of_kind(controller, "applied")[0].time_s
    assert second.parameters == {"level": 30.0, "gentle": False}


def test_a_right_setting_is_left_alone_with_a_reason():
    router = ObedientRouter(level=30)
    controller = controlled(router, Oracle(), 60)
    assert router.applied == []
    assert "applied" not in kinds(controller)
    assert "verified" not in kinds(controller)
    assert "the difference may be chance" in of_kind(controller, "kept")[0].reason


def test_the_search_is_charged_to_the_networks_clock():
    controller = controlled(ObedientRouter(level=45), Oracle(), 15)
    built, applied = of_kind(controller, "model-built")[0], of_kind(controller, "applied")[0]
    assert applied.time_s - built.time_s == pytest.approx(POLICY.deadline_s)


def test_a_quiet_network_is_not_tuned_and_says_so_once():
    router = ObedientRouter()
    router.flows = 0
    controller = controlled(router, Oracle(), 60)
    assert kinds(controller) == ["start", "quiet", "end"]
    assert of_kind(controller, "quiet")[0].reason == "nothing is tuned, because no flow is active"


def test_a_network_that_falls_quiet_and_wakes_is_tuned_again():
    router = ObedientRouter(level=45)

    def silence(router):
        router.flows = 0

    def wake(router):
        router.flows = 16
        router.offset = 10

    router.at(20, silence)
    router.at(30, wake)
    planner = Oracle()
    controller = controlled(router, planner, 45)
    assert kinds(controller).count("paused") == 1
    assert kinds(controller).count("resumed") == 1
    assert any(30 < q.picture.time_s < 33 for q in planner.tasks)


def test_more_flows_lead_to_a_new_setting_within_three_seconds():
    router = ObedientRouter(level=45)
    planner = Oracle()

    def rush(router):
        router.flows = 64
        router.offset = 12
        planner.believed_offset = 12

    router.at(20, rush)
    controller = controlled(router, planner, 40)
    change = of_kind(controller, "change-detected")[0]
    assert change.time_s <= 20.5
    assert change.reason == "16 flows have become 64"
    [time_s] = [time_s for time_s, _ in router.applied if time_s > 20]
    assert time_s <= 23


def test_flows_that_keep_arriving_are_not_waited_for_beyond_the_limit():
    router = ObedientRouter(level=45)
    for step in range(200):
        router.at(20 + 0.1 * step, lambda r: setattr(r, "flows", r.flows + 3))
    planner = Oracle()
    controlled(router, planner, 40)
    asked = [q.picture.time_s for q in planner.tasks if q.picture.time_s > 20]
    assert 4 <= len(asked) <= 12
    assert asked[0] < 22.5


def test_a_change_during_the_search_makes_its_answer_stale():
    router = ObedientRouter(level=45)

    def rush(router):
        router.flows = 64

    def more(router):
        router.flows = 128

    router.at(20, rush)
    router.at(21.2, more)  # the first search after the rush runs from 20.7 to 21.7
    controller = controlled(router, Oracle(believed_offset=5), 40)
    stale = of_kind(controller, "stale")
    assert len(stale) == 1
    assert "64 flows have become 128" in stale[0].reason


def test_a_change_during_verification_cancels_it_with_a_reason():
    router = ObedientRouter(level=45)
    router.at(4, lambda r: setattr(r, "flows", 64))
    controller = controlled(router, Oracle(), 15)
    assert "conditions have changed" in of_kind(controller, "unverified")[0].reason


def test_a_setting_that_makes_things_worse_is_rolled_back_and_not_tried_again():
    router = ObedientRouter(level=35)

    def treacherous(router):
        router.offset = 0.0 if router.level == 35 else 40.0

    for step in range(600):
        router.at(0.1 * step, treacherous)
    planner = Oracle(believed_offset=-15)  # believes 35 gives 20, and so wants 45
    controller = controlled(router, planner, 60)
    assert kinds(controller).count("rolled-back") == 1
    assert router.level == 35
    rolled_back_s = of_kind(controller, "rolled-back")[0].time_s
    assert all(task.picture.time_s < rolled_back_s for task in planner.tasks)


def test_a_model_with_a_bias_is_corrected_until_the_mean_is_right():
    router = ObedientRouter(level=45)
    router.offset = 5.0  # which the planner does not know
    planner = Oracle()
    controlled(router, planner, 60)
    assert planner.targets[-1] < TARGET
    assert router.level + router.offset == pytest.approx(TARGET, abs=2.0)
    assert len(router.applied) <= 4


def test_a_small_drift_without_a_visible_cause_is_corrected():
    router = ObedientRouter(level=45)
    router.at(30, lambda r: setattr(r, "offset", 7.0))
    controller = controlled(router, Oracle(), 80)
    assert of_kind(controller, "corrected")
    assert router.level + router.offset == pytest.approx(TARGET, abs=2.5)


def test_a_large_drift_without_a_visible_cause_is_noticed_within_seconds():
    router = ObedientRouter(level=45)
    router.at(30, lambda r: setattr(r, "offset", 20.0))
    controller = controlled(router, Oracle(), 60)
    noticed = next(d for d in controller.log.decisions if d.time_s > 30)
    assert noticed.kind in {"change-detected", "corrected"}
    assert noticed.time_s < 34
    assert router.level < 24  # as far as the correction's bound allows


def test_a_queue_that_somebody_else_has_changed_is_left_alone():
    router = ObedientRouter(level=45)
    router.at(30, lambda r: setattr(r, "level", 60.0))
    router.at(35, lambda r: setattr(r, "flows", 64))
    controller = controlled(router, Oracle(), 50)
    [decision] = of_kind(controller, "hands-off")
    assert decision.time_s <= 31.1
    assert decision.reason == (
        'somebody else has set level to 60.0; the queue is left alone until a person says "resume"'
    )
    assert router.level == 60.0


def test_a_router_that_has_gone_back_to_its_first_setting_is_tuned_again():
    router = ObedientRouter(level=45)
    router.at(30, ObedientRouter.restart)
    controller = controlled(router, Oracle(), 50)
    assert not of_kind(controller, "hands-off")
    [change] = of_kind(controller, "change-detected")
    assert change.reason == "the router has gone back to level 45.0, as before the first change"
    assert router.level == pytest.approx(TARGET, abs=2.5)


def test_a_first_setting_that_a_person_has_put_back_stays():
    """What vermilion undo prints, pasted while the controller runs: the counters go on."""
    router = ObedientRouter(level=45)
    router.at(30, lambda r: setattr(r, "level", 45.0))
    controller = controlled(router, Oracle(), 50)
    [decision] = of_kind(controller, "hands-off")
    assert decision.reason == (
        "somebody else has put back level 45.0, as before the first change; "
        'the queue is left alone until a person says "resume"'
    )
    assert router.level == 45.0


def test_what_somebody_else_sets_just_before_a_change_is_not_overwritten():
    """Parameters are looked up once a second, and people do not wait for that."""
    undisturbed = ObedientRouter(level=45)
    controlled(undisturbed, Oracle(), 20)
    change_s, _ = undisturbed.applied[0]
    router = ObedientRouter(level=45)
    router.at(change_s, lambda r: setattr(r, "level", 99.0))
    controller = controlled(router, Oracle(), 20)
    assert router.applied == []
    assert router.level == 99.0
    [decision] = of_kind(controller, "hands-off")
    assert decision.time_s == pytest.approx(change_s)
    assert decision.reason.startswith("somebody else has set level to 99.0")


def test_what_somebody_else_sets_just_before_the_end_is_not_overwritten():
    router = ObedientRouter(level=45)
    router.at(19.95, lambda r: setattr(r, "level", 99.0))
    controller = controlled(router, Oracle(), 20, policy=replace(POLICY, at_exit="restore"))
    assert router.level == 99.0
    hands_off, end = controller.log.decisions[-2:]
    assert (hands_off.kind, end.kind) == ("hands-off", "end")
    assert "stays as it is, because somebody else has set level to 99.0" in end.reason


@pytest.mark.evidence
def test_a_bias_beyond_the_bound_does_not_lead_to_endless_searching():
    router = ObedientRouter(level=45)
    router.at(30, lambda r: setattr(r, "offset", 30.0))
    planner = Oracle()
    controlled(router, planner, 330)
    assert len(planner.tasks) <= 12


def test_a_refused_setting_is_reported_and_nothing_changes():
    router = ObedientRouter(level=45)
    router.refuses = True
    controller = controlled(router, Oracle(), 10)
    assert "level: too low" in of_kind(controller, "refused")[0].reason
    assert len(controller.log.settings) == 1


def test_a_router_that_was_busy_is_asked_again_and_one_that_never_lets_ever_more_rarely():
    busy = ObedientRouter(level=45)
    busy.refuses = True
    busy.at(10, lambda router: setattr(router, "refuses", False))
    assert len(controlled(busy, Oracle(), 60).log.settings) == 2
    never = ObedientRouter(level=45)
    never.refuses = True
    times = [each.time_s for each in of_kind(controlled(never, Oracle(), 600), "refused")]
    pauses = [after - before for before, after in pairwise(times)]
    assert 3 <= len(pauses) <= 6
    assert all(after > 1.5 * before for before, after in pairwise(pauses[1:]))


def test_a_constant_load_gets_a_quick_and_a_refined_answer_and_no_more_in_ten_minutes():
    router = ObedientRouter(level=45)
    planner = Oracle()
    controlled(router, planner, 600)
    assert [task.kind for task in planner.tasks] == ["quick", "refined"]


def test_the_answer_for_earlier_conditions_is_where_the_next_search_starts():
    router = ObedientRouter(level=45)
    router.at(20, lambda r: setattr(r, "flows", 64))
    router.at(40, lambda r: setattr(r, "flows", 16))
    planner = Oracle()
    controlled(router, planner, 60)
    assert planner.tasks[0].starts == ()
    assert {"level": 30.0} in planner.tasks[-1].starts


def test_two_runs_take_the_same_decisions():
    first = controlled(ObedientRouter(), Oracle(), 30)
    second = controlled(ObedientRouter(), Oracle(), 30)
    assert first.log.decisions == second.log.decisions
    assert math.isclose(first.log.settings[-1].time_s, second.log.settings[-1].time_s)
