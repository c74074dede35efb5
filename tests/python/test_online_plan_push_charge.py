"""What it costs to put a setting in force, where the router says that it costs something."""

from dataclasses import replace
from pathlib import Path

import pytest

from test_online_decision import GOAL, prediction
from test_online_model import CONFIGURATION, traffic
from test_online_plan import NEAR, task
from vermilion.objectives.goodput import Goodput
from vermilion.online.model.network import build_model
from vermilion.online.model.prediction import Prediction, outcome_of
from vermilion.online.model.senders import SenderModel
from vermilion.online.model.traffic import Horizon
from vermilion.online.plan.judgement import (
    PushCharge,
    estimated_charge,
    judge,
    pays_in_the_model,
    simulated_charge,
)
from vermilion.online.plan.search import ModelCase
from vermilion.online.plan.solve import solve
from vermilion.online.policy import stated_policy
from vermilion.routers.base import PushPrice
from vermilion.scenario import disciplines, load_scenario
from vermilion.simulate import run_many

TRAFFIC = traffic(base_rtts_s=(0.076,) * 10, flows=10)
"""10 Mbit/s in packets of 1000 bytes: 1250 packets a second, 24 ms for 30 packets, so round trips
of 100 ms, 125 packets in flight, and windows of 12.5 packets."""

FLUSH, FORGET = PushPrice(flushes_queue=True), PushPrice(forgets_average=True)
BOTH = PushPrice(flushes_queue=True, forgets_average=True)
HELD = prediction([30.0] * 4, sd=5.0)

BENCHES = Path(__file__).parents[2] / "benches"
LINUX = load_scenario(str(BENCHES / "kernel_networks" / "load-red.toml"))
LINUX_IN_FORCE = {name: row.default for name, row in disciplines()["linux-red"].parameters.items()}
LINUX_IN_FORCE |= {
    "limit": 100_000,
    "min_threshold": 15_000,
    "max_threshold": 45_000,
    "max_probability": 0.1,
    "weight_log": 9,
}
STEP = {
    "links.bottleneck.queue.min_threshold": 17_000.0,
    "links.bottleneck.queue.max_threshold": 32_000.0,
    "links.bottleneck.queue.max_probability": 0.01,
    "links.bottleneck.queue.weight_log": 4.0,
}
SEEDS = range(1, 7)


def estimated(price, goal=GOAL, in_force=100.0, changes=6, **parameters):
    return estimated_charge(price, TRAFFIC, parameters, goal, HELD, in_force, changes)


def linux_case(**in_force):
    """A model of 16 flows over Linux's RED."""
    model = build_model(
        replace(CONFIGURATION, discipline="linux-red"),
        LINUX_IN_FORCE | in_force,
        traffic(base_rtts_s=NEAR),
        SenderModel("sack", option_set="linux"),
        stated_policy(LINUX),
        Horizon(warm_up_s=5.0, measured_s=10.0),
    )
    return ModelCase(model, GOAL, (), 1.0)


def standing(case, setting):
    """What the model says of a setting where it stands."""
    [row] = run_many([case.model.with_values(setting)], SEEDS)
    return Prediction(setting, tuple(outcome_of(each, ["bottleneck"], GOAL) for each in row))


def simulated(case, setting, changes=6):
    return simulated_charge(BOTH, [case], setting, standing(case, setting), SEEDS, None, changes)


def test_a_router_that_takes_parameters_without_a_loss_costs_nothing():
    assert estimated(PushPrice()) == PushCharge(0.0, "")
    assert not pays_in_the_model(PushPrice(), ["linux-red"])


def test_a_push_is_simulated_where_the_model_does_what_the_router_does():
    assert pays_in_the_model(BOTH, ["linux-red"])
    assert pays_in_the_model(BOTH, ["linux-red", "linux-red"])
    assert not pays_in_the_model(FORGET, ["choke"])
    assert not pays_in_the_model(BOTH, ["linux-red", "choke"])


def test_a_push_of_red_costs_what_the_traffic_loses_by_it():
    """Half a second of a queue that is 11 packets off on average, in ten: what a kernel shows.

    An estimate by halved windows and an empty queue would be ten times as much.
    """
    charge = simulated(linux_case(), STEP)
    assert charge.why == "flushes the queue and forgets the average"
    assert 2.0 < charge.value < 25.0


def test_a_push_that_changes_nothing_costs_nothing():
    case = linux_case()
    as_it_is = {path: float(case.model.get(path)) for path in STEP}
    assert simulated(case, as_it_is).value == pytest.approx(0.0, abs=1e-6)


def test_where_changes_are_to_be_rare_a_push_costs_less():
    case = linux_case()
    assert simulated(case, STEP, changes=1).value == pytest.approx(
        simulated(case, STEP, changes=6).value / 6.0
    )


def test_a_flush_costs_an_empty_queue_until_the_windows_are_back():
    """For 6.25 round trips of 100 ms in 10 s it is empty, and 30 +- 5 packets long else.

    That is a mean of 28.125 packets and a mean square of 0.9375 x 925.
    """
    cost = estimated(FLUSH)
    squared = 0.9375 * (30.0**2 + 5.0**2) - 28.125**2
    assert cost.value == pytest.approx(squared + 1.875**2 - 25.0)
    assert cost.why == "flushes the queue"
    # Once a minute is a sixth as often.
    assert estimated(FLUSH, changes=1).value < cost.value / 5.0


def test_of_goodput_all_is_lost_until_then():
    cost = estimated(FLUSH, Goodput(), in_force=9.6e6)
    assert cost.value == pytest.approx(9.6e6 * 0.0625)


def test_an_average_is_back_after_its_memory():
    """A weight of 0.002 remembers 500 packets, 400 ms at 1250 a second."""
    cost = estimated(FORGET, weight=0.002)
    assert cost.value == pytest.approx(100.0 * 0.4 / 10.0)
    assert cost.why == "forgets the average"
    # Linux says 2^-9, which remembers 512.
    assert estimated(FORGET, weight_log=9).value == pytest.approx(100.0 * 0.4096 / 10.0)
    # Without a weight it takes a round trip.
    assert estimated(FORGET).value == pytest.approx(100.0 * 0.1 / 10.0)


def test_the_longer_of_both_counts_and_no_more_than_all_the_time():
    assert estimated(BOTH, weight=0.002).value == estimated(FLUSH).value
    assert estimated(BOTH, weight=0.002).why == "flushes the queue and forgets the average"
    assert estimated(FORGET, weight=1e-6).value == pytest.approx(100.0)


def test_a_gain_that_the_push_eats_up_is_no_gain():
    """100 - 25 packets^2 are gained, and 80 of them lost again."""
    new, old = prediction([30.0] * 4, sd=5.0), prediction([30.0] * 4, sd=10.0)
    assert judge(new, old, GOAL).apply
    verdict = judge(new, old, GOAL, charge=PushCharge(80.0, "flushes the queue"))
    assert not verdict.apply
    assert verdict.advantage.mean == pytest.approx(-5.0)
    assert "(worse by 5.0 +- 0.0 on 4 fresh seeds, after 80.0 for a push that flushes the" in (
        verdict.reason
    )


def test_a_gain_worth_the_push_is_one():
    new, old = prediction([30.0] * 4, sd=5.0), prediction([30.0] * 4, sd=10.0)
    verdict = judge(new, old, GOAL, charge=PushCharge(20.0, "forgets the average"))
    assert verdict.apply
    assert verdict.advantage.mean == pytest.approx(55.0)


def test_a_task_that_tells_of_a_price_is_charged():
    free, dear = solve(task()).answer, solve(task(push_price=FLUSH)).answer
    assert free.candidate == dear.candidate
    assert dear.verdict.advantage.mean < free.verdict.advantage.mean - 1.0
    assert "for a push that flushes the queue" in dear.verdict.reason


def test_a_task_about_red_of_linux_is_charged_what_its_model_loses():
    asked = task(
        configuration=replace(CONFIGURATION, discipline="linux-red"),
        policy=stated_policy(LINUX),
        in_force=LINUX_IN_FORCE,
        original=LINUX_IN_FORCE,
    )
    free, dear = (
        solve(replace(asked, push_price=price)).answer.verdict for price in (PushPrice(), BOTH)
    )
    assert 0.0 < free.advantage.mean - dear.advantage.mean < 25.0
    assert "for a push that flushes the queue and forgets the average" in dear.reason
