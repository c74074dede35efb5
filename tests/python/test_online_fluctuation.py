"""Loads that change faster than they can be answered: noticing them, and when it is over."""

from dataclasses import replace

from online_world import SIXTEEN_FLOWS
from vermilion.online.decide.detection import CALM_S, OFTEN, Fluctuation


def changing(every_s, times, pictures=(SIXTEEN_FLOWS,)):
    fluctuation = Fluctuation()
    for number in range(times):
        fluctuation = fluctuation.changed(number * every_s).with_conditions(pictures)
    return fluctuation


def test_changes_every_ten_seconds_are_too_many_to_follow():
    assert not changing(10.0, OFTEN - 1).lasts
    assert changing(10.0, OFTEN).lasts


def test_changes_every_half_minute_are_answered_one_by_one():
    assert not changing(30.0, 20).lasts


def test_what_lies_between_the_conditions_met_is_no_change():
    met = (SIXTEEN_FLOWS, replace(SIXTEEN_FLOWS, flows=40, rate_bit_per_s=5e6))
    fluctuation = changing(5.0, OFTEN, met)
    assert fluctuation.spans(replace(SIXTEEN_FLOWS, flows=30, rate_bit_per_s=7e6))
    assert not fluctuation.spans(replace(SIXTEEN_FLOWS, flows=80))
    assert not fluctuation.spans(replace(SIXTEEN_FLOWS, rate_bit_per_s=2e6))
    assert not fluctuation.spans(replace(SIXTEEN_FLOWS, base_rtts_s=(0.2,) * 16))


def test_steady_conditions_span_nothing():
    assert not changing(5.0, OFTEN - 1).spans(SIXTEEN_FLOWS)


def test_half_a_minute_of_calm_ends_it():
    fluctuation = changing(5.0, OFTEN)
    last_s = fluctuation.changes_s[-1]
    assert fluctuation.calmed(last_s + CALM_S - 1.0).lasts
    assert not fluctuation.calmed(last_s + CALM_S).lasts
