"""The outer loop that removes the model's bias, and its bounds."""

import random

import pytest

from vermilion.online.plan.correction import Correction

TARGET = 30.0


def settled(correction, bias, seconds, noise=2.0, seed=1):
    """What a network that stands ``bias`` above its model teaches; and the searches it led to."""
    coins = random.Random(seed)
    searches = 0
    for _ in range(round(seconds / 2)):
        predicted = TARGET - correction.packets  # the model does what it is asked
        measured = predicted + bias + coins.gauss(0, noise / 2**0.5)
        correction = correction.learned(measured, 2.0, noise, predicted)
        if correction.due:
            searches += 1
            correction = correction.tuned(correction.internal_target)
    return correction, searches


def test_a_model_without_bias_leads_to_few_needless_searches_an_hour():
    searches = [settled(Correction.begin(TARGET), 0.0, 3600, seed=seed)[1] for seed in range(20)]
    assert sum(searches) / len(searches) <= 4


def test_a_steady_bias_is_removed_in_a_few_searches():
    correction, searches = settled(Correction.begin(TARGET), bias=5.0, seconds=60)
    assert correction.packets == pytest.approx(5.0, abs=1.5)
    assert 1 <= searches <= 3


def test_a_network_that_stands_higher_than_its_model_is_tuned_lower():
    correction, _ = settled(Correction.begin(TARGET), bias=4.0, seconds=20)
    assert correction.internal_target < TARGET


def test_a_noisy_queue_teaches_more_slowly_than_a_quiet_one():
    fresh = Correction.begin(TARGET)
    assert fresh.learned(36.0, 2.0, 1.0, TARGET).packets > 4.0
    assert fresh.learned(36.0, 2.0, 15.0, TARGET).packets < 0.6


def test_the_correction_never_exceeds_a_quarter_of_the_target():
    correction = Correction.begin(TARGET)
    for sign in (1, -1):
        correction, _ = settled(correction, bias=60.0 * sign, seconds=600)
        assert correction.internal_target == pytest.approx(TARGET * (1 - 0.25 * sign))


def test_at_its_bound_it_asks_for_no_further_search():
    correction, _ = settled(Correction.begin(TARGET), bias=60.0, seconds=600)
    assert settled(correction, bias=60.0, seconds=600)[1] == 0


def test_what_a_drift_fails_to_deliver_is_asked_for_on_top_until_it_is_over():
    drifting = Correction.begin(TARGET).conditions_drift()
    drifting = drifting.learned_shortfall(measured=24.0, seconds=2.0, noise=4.0, promised=TARGET)
    assert drifting.internal_target > TARGET + 3.0
    assert drifting.conditions_steady().internal_target == TARGET


def test_without_a_drift_there_is_no_shortfall_to_learn():
    correction = Correction.begin(TARGET)
    correction = correction.learned_shortfall(10.0, seconds=5.0, noise=1.0, promised=TARGET)
    assert correction.internal_target == TARGET


def test_a_change_of_conditions_makes_the_bias_doubtful_and_so_quicker_to_relearn():
    sure, _ = settled(Correction.begin(TARGET), bias=3.0, seconds=120)
    doubtful = sure.conditions_changed()

    def moved(correction):
        return abs(correction.learned(TARGET - 3.0, 2.0, 2.0, TARGET).packets - sure.packets)

    assert moved(doubtful) > 2 * moved(sure)


def test_what_it_teaches_is_another_value():
    correction = Correction.begin(TARGET)
    correction.learned(36.0, 2.0, 1.0, TARGET)
    assert correction == Correction.begin(TARGET)
