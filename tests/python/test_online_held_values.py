"""A controller and its router's steps: what is judged is what can be held, and is held."""

from dataclasses import replace

import pytest

from fake_queues import FakeQueues, red_queue
from netlink_reference import FakeKernel, answered
from test_online_model import picture
from test_online_plan import task
from test_routers_snmp_router import ADDRESS, FakeAgent
from vermilion.online.decide import applying
from vermilion.online.decide.controller import Controller, Turn
from vermilion.online.decide.silence import _another, on_silent
from vermilion.online.decide.states import Applying, HandsOff, RouterChange, Waiting
from vermilion.online.decide.step import step
from vermilion.online.entries import Decision, SettingInForce
from vermilion.online.events import Apply, Began, Command, Observed, Record, Silent
from vermilion.online.plan.solve import solve
from vermilion.online.record.journal import Journal
from vermilion.online.router_policy import (
    Freedom,
    ManagedLink,
    policy_for,
    read_policy,
)
from vermilion.routers.base import LinkConfiguration
from vermilion.routers.linux import LinuxRouter
from vermilion.routers.linux.change import LinuxValues
from vermilion.routers.linux.red_family import ADAPTIVE, ECN, ONE
from vermilion.routers.queue_set import QueueSet
from vermilion.routers.snmp.router import SnmpRouter
from vermilion.scenario import ScenarioError

RED = "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10Mbit probability 0.02"
CONTROL = Freedom(mode="control")


def adaptive_red():
    """A kernel with RED whose maximum probability moves by itself."""
    kernel = FakeKernel(answered(RED))
    options = kernel.state.options
    block = replace(options.block, flags=ADAPTIVE | ECN)
    options = replace(options, block=block, flag_values=ADAPTIVE | ECN)
    kernel.state = replace(kernel.state, options=options)
    return kernel


def moved(kernel, probability=0.018):
    """What the kernel's own timer does to it every half second."""
    options = replace(kernel.state.options, max_p=round(probability * ONE))
    kernel.state = replace(kernel.state, options=options)


def link_of(router, name="dummy0"):
    return ManagedLink(
        name, router.configuration.discipline, router.parameters(), router.settable, router.held
    )


def in_charge(router, freedom=CONTROL, text="", **known):
    policy = policy_for(link_of(router), read_policy(text), freedom)
    found = router.parameters()
    controller = Controller.of(policy, router.configuration, held=router.held, **known)
    return step(controller, Began(found), 0.0)[0]


def reasons(effects):
    return [
        each.entry.reason
        for each in effects
        if isinstance(each, Record) and isinstance(each.entry, Decision)
    ]


# --- what a queue moves by itself -----------------------------------------------------------------


def test_a_queue_that_moves_a_parameter_itself_has_not_been_taken_over():
    kernel = adaptive_red()
    router = LinuxRouter("linux:dummy0", kernel=kernel)
    controller = in_charge(router)
    moved(kernel)
    controller, _ = step(controller, Observed(router.observe(), router.parameters()), 1.0)
    assert isinstance(controller.state, Waiting)
    # A model begins where the queue has moved to.
    assert controller.in_force["max_probability"] == pytest.approx(0.018)
    controller, effects = step(controller, Command("stop"), 2.0)
    assert not [each for each in effects if isinstance(each, Apply)]


def test_what_a_person_changes_on_such_a_queue_is_seen_all_the_same():
    kernel = adaptive_red()
    router = LinuxRouter("linux:dummy0", kernel=kernel)
    controller = in_charge(router)
    moved(kernel)
    router.apply({"min_threshold": 20_000})
    controller, effects = step(controller, Observed(router.observe(), router.parameters()), 1.0)
    assert isinstance(controller.state, HandsOff)
    assert "set min_threshold to 20000;" in reasons(effects)[-1]


def test_what_the_queue_moves_is_not_searched_and_who_asks_for_it_is_told():
    link = link_of(LinuxRouter("linux:dummy0", kernel=adaptive_red()))
    assert policy_for(link).parameters == ("min_threshold", "max_threshold", "weight_log")
    wanted = read_policy('[tuning]\nparameters = ["max_probability"]')
    with pytest.raises(ScenarioError, match=r"max_probability.*does not move by itself"):
        policy_for(link, wanted)
    other = link_of(LinuxRouter("linux:dummy0", kernel=FakeKernel(answered("codel"))), "dummy1")
    joint = read_policy('[tuning]\nparameters = ["dummy0.max_probability", "dummy1.target"]')
    with pytest.raises(ScenarioError, match=r"max_probability.*does not move by itself"):
        policy_for([link, other], joint)


def test_a_switch_that_a_person_has_turned_meanwhile_counts_too():
    kernel = FakeKernel(answered(RED))
    router = LinuxRouter("linux:dummy0", kernel=kernel)
    controller = in_charge(router)
    assert "max_probability" in controller.policy.parameters
    router.apply({"adaptive": True})
    controller, _ = step(controller, Observed(router.observe(), router.parameters()), 1.0)
    searched = Turn(controller, 1.0).searched_policy.parameters
    assert searched == ("min_threshold", "max_threshold", "weight_log")


def test_over_snmp_it_is_the_same():
    own = red_queue()
    queue = replace(own, parameters={**own.parameters, "adaptive": True})
    router = SnmpRouter(ADDRESS, agent=FakeAgent(FakeQueues(queue)))
    found = router.parameters()
    assert router.held.is_unchanged({**found, "max_probability": 0.3}, found)
    assert not router.held.is_unchanged({**found, "min_threshold": 3}, found)


def test_a_set_neither_waits_for_it_nor_tells_it():
    kernel = adaptive_red()
    queues = QueueSet([_named("one", kernel)])
    before = queues.parameters()
    moved(kernel)
    queues.apply({"one.max_probability": before["one.max_probability"]})
    assert kernel.told == []
    queues.apply({**before, "one.min_threshold": 20_000})
    assert len(kernel.told) == 1
    assert queues.held.is_unchanged(queues.parameters(), {**before, "one.min_threshold": 20_000})


def _named(link, kernel):
    router = LinuxRouter("linux:dummy0", kernel=kernel)
    router._configuration = replace(router.configuration, link=link)
    return router


# --- what a queue can hold ------------------------------------------------------------------------

PIE_IN_FORCE = {
    "limit": 1000,
    "target": 0.015,
    "interval": 0.016,
    "alpha": 2 / 16,
    "beta": 20 / 16,
    "ecn": False,
    "byte_mode": False,
    "estimate_rate": False,
    "burst_allowance": 0.15,
}


def pie_task(held, **changes):
    link = ManagedLink("bottleneck", "pie", PIE_IN_FORCE, ("target", "alpha", "beta"))
    return task(
        policy=policy_for(link, read_policy(TARGET)),
        configuration=LinkConfiguration("bottleneck", "pie", 0.010),
        in_force=PIE_IN_FORCE,
        original=PIE_IN_FORCE,
        held=held,
        **changes,
    )


TARGET = '[tuning]\nobjective = { name = "queue-deviation", target = "30 packets" }'


@pytest.mark.parametrize("flows", [16, 1000])  # of so many the model is a smaller one
def test_what_a_search_finds_is_what_the_kernel_holds(flows):
    many = picture(flows=flows, base_rtts_s=(0.028,) * flows, rate_bit_per_s=flows * 0.6e6)
    held = LinuxValues(discipline="pie")
    answer = solve(pie_task(held, picture=many, evaluations=12)).answer
    assert (answer.scale < 1.0) == (flows > 16)
    assert answer.setting == held.nearest(answer.setting)
    assert answer.candidate.setting == answer.setting
    assert all(16 * answer.setting[name] == round(16 * answer.setting[name]) for name in GAINS)


GAINS = ("alpha", "beta")


ASKED = {"target": 0.0073, "alpha": 0.041, "beta": 0.93}
"""What versions before asked for: between the kernel's steps."""


def test_a_run_that_was_killed_before_its_answer_came_is_gone_on_with(tmp_path):
    router = LinuxRouter("linux:dummy0", kernel=FakeKernel(answered("pie")))
    before = router.parameters()

    def journal():
        return Journal(
            tmp_path / "journal.sqlite",
            version="test",
            title="linux:dummy0",
            router="linux",
            link="linux:dummy0",
            discipline="pie",
            target_packets=None,
        )

    killed = journal()
    killed.keep(SettingInForce(0.0, before))
    killed.intend(5.0, Apply(1, ASKED))
    router.apply(router.held.nearest(ASKED))
    killed._database.close()
    with journal() as left:
        remembered = left.remembered()
    controller = in_charge(router, remembered=remembered)
    assert not isinstance(controller.state, HandsOff)


def test_a_lost_answer_after_which_all_has_arrived_is_no_part_of_a_change():
    router = LinuxRouter("linux:dummy0", kernel=FakeKernel(answered("pie")))
    before = router.parameters()
    controller = in_charge(router)
    change = RouterChange("answer", ASKED, "why")
    state = Applying(1, change, 0.0, before, lost=True)
    controller = controller.changed(unanswered=(ASKED,), state=state)
    router.apply(router.held.nearest(ASKED))
    turn = Turn(controller, 1.0)
    applying.on_observed(turn, state, Observed(router.observe(), router.parameters()))
    assert not [each for each in turn.effects if isinstance(each, Apply)]
    assert not any("part of the change" in each for each in reasons(turn.effects))


def test_a_setting_for_blind_times_that_stands_already_is_not_put_in_force_again():
    kernel = FakeKernel(answered(RED))
    router = LinuxRouter("linux:dummy0", kernel=kernel)
    router.apply({"max_probability": 0.1})
    assert router.parameters()["max_probability"] != 0.1
    controller = in_charge(router, text="[freedom]\nfall_back = { max_probability = 0.1 }")
    assert controller.policy.fall_back == {"max_probability": 0.1}
    turn = Turn(controller, 1.0)
    assert _another(turn) is None
    turn.change(unheard_since_s=-600.0)
    on_silent(turn, controller.state, Silent("no answer"))
    assert not [each for each in turn.effects if isinstance(each, Apply)]


def test_values_that_the_kernel_has_stay_as_they_are():
    for queue in (RED, "pie", "codel", "fq_codel", "fq_pie"):
        router = LinuxRouter("linux:dummy0", kernel=FakeKernel(answered(queue)))
        found = router.parameters()
        assert router.held.nearest(found) == found
    assert LinuxValues(discipline="pie").nearest({"alpha": 0.0}) == {"alpha": 0.0}
