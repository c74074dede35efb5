"""What it costs to put a setting in force, where the router says that it costs something."""

import pytest

from test_online_decision import GOAL, prediction
from test_online_model import traffic
from test_online_plan import task
from vermilion.objectives.goodput import Goodput
from vermilion.online.plan.judgement import judge
from vermilion.online.plan.push_charge import PushCharge, push_charge
from vermilion.online.plan.solve import solve
from vermilion.routers.base import PushPrice

TRAFFIC = traffic(base_rtts_s=(0.076,) * 10, flows=10)
"""10 Mbit/s in packets of 1000 bytes: 1250 packets a second, 24 ms for 30 packets, so round trips
of 100 ms, 125 packets in flight, and windows of 12.5 packets."""

FLUSH, FORGET = PushPrice(flushes_queue=True), PushPrice(forgets_average=True)


def charged(price, goal=GOAL, in_force=100.0, changes=6, **parameters):
    return push_charge(price, TRAFFIC, parameters, goal, in_force, changes)


def test_a_router_that_takes_parameters_without_a_loss_costs_nothing():
    assert charged(PushPrice()) == PushCharge(0.0, "")


def test_a_flush_costs_an_empty_queue_until_the_windows_are_back():
    """For 6.25 round trips of 100 ms in 10 s it is 30 packets off, 27 of them at ten times."""
    assert GOAL.cost(0.0, 0.0) == pytest.approx(30**2 + 9 * 27**2)
    cost = charged(FLUSH)
    assert cost.value == pytest.approx((30**2 + 9 * 27**2) * 0.625 / 10.0)
    assert cost.why == "flushes the queue"
    # Once a minute is a sixth as often.
    assert charged(FLUSH, changes=1).value == pytest.approx(cost.value / 6.0)


def test_of_goodput_all_is_lost_until_then():
    cost = charged(FLUSH, Goodput(), in_force=9.6e6)
    assert cost.value == pytest.approx(9.6e6 * 0.0625)


def test_an_average_is_back_after_its_memory():
    """A weight of 0.002 remembers 500 packets, 400 ms at 1250 a second."""
    cost = charged(FORGET, weight=0.002)
    assert cost.value == pytest.approx(100.0 * 0.4 / 10.0)
    assert cost.why == "forgets the average"
    # Without a weight it takes a round trip.
    assert charged(FORGET).value == pytest.approx(100.0 * 0.1 / 10.0)


def test_the_longer_of_both_counts_and_no_more_than_all_the_time():
    both = PushPrice(flushes_queue=True, forgets_average=True)
    assert charged(both, weight=0.002).value == charged(FLUSH).value
    assert charged(both, weight=0.002).why == "flushes the queue and forgets the average"
    assert charged(FORGET, weight=1e-6).value == pytest.approx(100.0)


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
    assert dear.verdict.advantage.mean < free.verdict.advantage.mean - 50.0
    assert "for a push that flushes the queue" in dear.verdict.reason
