"""The outer loop that removes the model's bias, and its bounds."""

import pytest

from vermilion.online.correction import OuterCorrection


def test_a_bias_that_does_not_matter_is_not_learned():
    correction = OuterCorrection(30)
    assert not correction.learn(measured=31.4, half_width=0.1, predicted=30)
    assert correction.internal_target == 30


def test_a_bias_that_may_be_chance_is_not_learned():
    correction = OuterCorrection(30)
    assert not correction.learn(measured=36, half_width=7, predicted=30)
    assert correction.internal_target == 30


def test_a_network_that_stands_higher_than_its_model_is_tuned_lower():
    correction = OuterCorrection(30)
    assert correction.learn(measured=34, half_width=1, predicted=30)
    assert correction.internal_target == pytest.approx(30 - 0.7 * 4)


def test_a_steady_bias_is_removed_in_a_few_steps_and_then_left_alone():
    correction = OuterCorrection(30)
    searches = 0
    for _ in range(20):
        predicted = correction.internal_target  # the model does what it is asked
        searches += correction.learn(predicted + 5, half_width=0.5, predicted=predicted)
    assert correction.bias_packets == pytest.approx(5, abs=1.5)
    assert searches <= 3


def test_the_correction_never_exceeds_a_quarter_of_the_target():
    correction = OuterCorrection(30)
    for _ in range(20):
        correction.learn(measured=90, half_width=1, predicted=30)
    assert correction.internal_target == pytest.approx(22.5)


def test_at_its_bound_it_asks_for_no_further_search():
    correction = OuterCorrection(30)
    asked = [correction.learn(measured=90, half_width=1, predicted=30) for _ in range(5)]
    assert asked == [True, False, False, False, False]


def test_half_of_the_bias_outlives_a_change_of_conditions():
    correction = OuterCorrection(30)
    correction.learn(measured=34, half_width=1, predicted=30)
    correction.conditions_changed()
    assert correction.bias_packets == pytest.approx(1.4)
