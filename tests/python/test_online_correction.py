"""The outer loop that removes the model's bias, and its bounds."""

import random

import pytest

from vermilion.online.plan.correction import OuterCorrection

TARGET = 30.0


def settled(correction, bias, seconds, noise=2.0, seed=1):
    """Let a network that stands ``bias`` above its model be watched; searches it led to."""
    coins = random.Random(seed)
    searches = 0
    for _ in range(round(seconds / 2)):
        predicted = TARGET - correction.packets  # the model does what it is asked
        measured = predicted + bias + coins.gauss(0, noise / 2**0.5)
        correction.learn(measured, 2.0, noise, predicted)
        if correction.due:
            searches += 1
            correction.tuned(correction.internal_target)
    return searches


def test_a_model_without_bias_leads_to_few_needless_searches_an_hour():
    searches = [settled(OuterCorrection(TARGET), 0.0, 3600, seed=seed) for seed in range(20)]
    assert sum(searches) / len(searches) <= 4


def test_a_steady_bias_is_removed_in_a_few_searches():
    correction = OuterCorrection(TARGET)
    searches = settled(correction, bias=5.0, seconds=60)
    assert correction.packets == pytest.approx(5.0, abs=1.5)
    assert 1 <= searches <= 3


def test_a_network_that_stands_higher_than_its_model_is_tuned_lower():
    correction = OuterCorrection(TARGET)
    settled(correction, bias=4.0, seconds=20)
    assert correction.internal_target < TARGET


def test_a_noisy_queue_teaches_more_slowly_than_a_quiet_one():
    quiet, noisy = OuterCorrection(TARGET), OuterCorrection(TARGET)
    quiet.learn(36.0, 2.0, 1.0, TARGET)
    noisy.learn(36.0, 2.0, 15.0, TARGET)
    assert quiet.packets > 4.0
    assert noisy.packets < 0.6


def test_the_correction_never_exceeds_a_quarter_of_the_target():
    correction = OuterCorrection(TARGET)
    for sign in (1, -1):
        settled(correction, bias=60.0 * sign, seconds=600)
        assert correction.internal_target == pytest.approx(TARGET * (1 - 0.25 * sign))


def test_at_its_bound_it_asks_for_no_further_search():
    correction = OuterCorrection(TARGET)
    settled(correction, bias=60.0, seconds=600)
    assert settled(correction, bias=60.0, seconds=600) == 0


def test_what_a_drift_fails_to_deliver_is_asked_for_on_top_until_it_is_over():
    correction = OuterCorrection(TARGET)
    correction.conditions_drift()
    correction.learn_shortfall(measured=24.0, seconds=2.0, noise=4.0, promised=TARGET)
    assert correction.internal_target > TARGET + 3.0
    correction.conditions_steady()
    assert correction.internal_target == TARGET


def test_without_a_drift_there_is_no_shortfall_to_learn():
    correction = OuterCorrection(TARGET)
    correction.learn_shortfall(measured=10.0, seconds=5.0, noise=1.0, promised=TARGET)
    assert correction.internal_target == TARGET


def test_a_change_of_conditions_makes_the_bias_doubtful_and_so_quicker_to_relearn():
    sure, doubtful = OuterCorrection(TARGET), OuterCorrection(TARGET)
    for correction in (sure, doubtful):
        settled(correction, bias=3.0, seconds=120)
    doubtful.conditions_changed()
    before = sure.packets
    for correction in (sure, doubtful):
        correction.learn(TARGET - 3.0, 2.0, 2.0, TARGET)
    assert abs(doubtful.packets - before) > 2 * abs(sure.packets - before)
