"""What moves steadily one way is told from what comes and goes."""

import math
import random
import re
from dataclasses import replace

import pytest

from online_world import SIXTEEN_FLOWS, World, controller_of, finding
from vermilion.online.decide.detection import ConditionWatch
from vermilion.online.decide.fluctuation import OFTEN, Fluctuation
from vermilion.online.decide.step import step
from vermilion.online.decide.trend import Trend, is_trend, trend_of
from vermilion.online.entries import Decision
from vermilion.online.events import Began, Found, Record, Search


def seen(*flows, every_s=10.0):
    """Pictures of so many flows, one after the other."""
    return [
        replace(SIXTEEN_FLOWS, time_s=every_s * number, flows=count, base_rtts_s=(0.028,) * count)
        for number, count in enumerate(flows)
    ]


def changed(pictures):
    fluctuation = Fluctuation()
    for number, picture in enumerate(pictures, start=1):
        fluctuation = fluctuation.changed(picture.time_s).with_conditions(pictures[:number])
    return fluctuation


@pytest.mark.parametrize("flows", [(16, 20, 24, 28), (64, 50, 40, 30), (16, 20, 19, 24, 28, 30)])
def test_what_goes_one_way_is_a_trend(flows):
    assert is_trend(list(flows))
    assert trend_of(seen(*flows)) is not None


@pytest.mark.parametrize("flows", [(16, 40, 16, 40), (16, 20, 24, 16), (16, 16, 16, 16), (16, 20)])
def test_what_comes_and_goes_is_none(flows):
    assert not is_trend(list(flows))
    assert trend_of(seen(*flows)) is None


def test_chance_looks_like_a_trend_one_time_in_ten_at_most():
    coins = random.Random(20261122)
    for count in (4, 5, 8, 12):
        found = sum(is_trend([coins.random() for _ in range(count)]) for _ in range(2000))
        assert found / 2000 <= 0.11, count


def test_growth_is_followed_and_does_not_count_as_fluctuation():
    growing = changed(seen(16, 18, 20, 23, 26))
    assert not growing.lasts
    assert growing.trend is not None
    # ln(26 / 16) in 40 s.
    assert growing.trend.flows_per_s == pytest.approx(math.log(26 / 16) / 40.0, rel=0.1)


def test_conditions_that_come_and_go_fluctuate_as_before():
    fluctuating = changed(seen(16, 40, 16, 40))
    assert fluctuating.lasts
    assert fluctuating.trend is None


def test_a_rate_that_comes_and_goes_while_flows_grow_is_a_fluctuation():
    pictures = [
        replace(picture, rate_bit_per_s=rate)
        for picture, rate in zip(seen(16, 20, 24, 28, 32), (10e6, 5e6, 10e6, 4e6, 9e6), strict=True)
    ]
    assert changed(pictures).lasts


def test_growth_that_turns_is_no_trend_any_more():
    pictures = seen(16, 20, 25, 31, 25, 20, 16, every_s=5.0)
    assert changed(pictures[:4]).trend is not None
    assert changed(pictures).lasts


def test_what_fluctuated_and_then_grows_is_followed_again():
    # Everything within the last minute goes one way.
    before = seen(16, 40, 16, 40, every_s=5.0)
    then = [replace(each, time_s=each.time_s + 90.0) for each in seen(44, 50, 56, 63, 70)]
    assert changed(before).lasts
    assert not changed([*before, *then]).lasts


def test_few_changes_are_neither():
    few = changed(seen(16, 20, 24))
    assert len(few.changes_s) < OFTEN
    assert (few.lasts, few.trend) == (False, None)


def test_the_model_is_ahead_but_the_present_is_no_change_against_it():
    [picture] = seen(100)
    for trend in (Trend(flows_per_s=0.01), Trend(flows_per_s=-0.5), Trend(flows_per_s=3.0)):
        ahead = trend.ahead(picture, 7.0)
        assert (ahead.flows - picture.flows) * trend.flows_per_s > 0
        assert len(ahead.base_rtts_s) <= ahead.flows
        watch = ConditionWatch(ahead, 0.024)
        for _ in range(5):
            watch, alarm = watch.after(picture)
            assert alarm is None
    assert Trend(flows_per_s=0.01).ahead(picture, 5.0).flows == 105


def test_a_rate_and_round_trips_are_foreseen_as_well():
    ahead = Trend(rate_per_s=-0.002, round_trip_per_s=0.01).ahead(SIXTEEN_FLOWS, 10.0)
    assert ahead.rate_bit_per_s == pytest.approx(10e6 * math.exp(-0.02))
    assert ahead.base_rtts_s[0] == pytest.approx(0.028 * math.exp(0.1))
    assert ahead.flows == SIXTEEN_FLOWS.flows
    assert Trend(rate_per_s=-0.002).in_words() == "rate -0.2% a second"


def test_a_controller_follows_growth_and_says_where_it_leads():
    world, controller, now_s = World(flows=16), controller_of(), 0.0
    said = []
    controller, _ = step(controller, Began(world.in_force), now_s)
    while now_s < 70.0:
        now_s = round(now_s + 0.1, 1)
        if now_s > 12.0 and now_s * 10 % 80 == 0:
            world.flows += world.flows // 3
        events = [world.observe(now_s)]
        while events:
            controller, effects = step(controller, events.pop(0), now_s)
            for effect in effects:
                if isinstance(effect, Search):
                    events.append(Found(effect.number, finding(effect.task), 0.1))
                elif isinstance(effect, Record) and isinstance(effect.entry, Decision):
                    said.append(effect.entry)
    assert not controller.fluctuation.lasts
    assert "fluctuating" not in {each.kind for each in said}
    ahead = [
        each for each in said if each.kind == "model-built" and "modelled as in" in each.reason
    ]
    assert ahead
    words = re.search(r"have become (\d+); flows \+[\d.]+% a second", ahead[-1].reason)
    # The sentence and the numbers beside it: the model has more flows than there are.
    assert int(words[1]) < ahead[-1].details["flows"] <= 1.08 * int(words[1]) + 1
