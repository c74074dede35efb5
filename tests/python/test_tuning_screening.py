"""Giving up on settings after one seed: only hopeless ones, and never to the search's confusion."""

import numpy as np
import pytest

from vermilion.objectives import feasible_first
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.screening import Screening


def evaluation(*objectives):
    return Evaluation({}, seeds=list(range(len(objectives))), objectives=list(objectives))


def value(met, violation=0.0):
    """What the search was told of a setting."""
    return feasible_first(met.objective, violation, scale=10.0)


def learned(noise, count=20, mean=10.0):
    """A screening that has seen settings of this mean, with this noise on each of three seeds."""
    random = np.random.default_rng(1)
    screening = Screening()
    for _ in range(count):
        met = evaluation(*random.normal(mean, noise, 3))
        screening.learn(value(met), met)
    return screening


def test_nothing_is_given_up_before_the_noise_is_known():
    assert not Screening().is_hopeless(evaluation(1e9))
    assert not learned(0.1, count=4).is_hopeless(evaluation(1e9))


def test_what_lies_far_above_the_noise_is_hopeless():
    screening = learned(0.1)
    assert screening.is_hopeless(evaluation(12.0))
    assert not screening.is_hopeless(evaluation(10.0))
    assert not screening.is_hopeless(evaluation(9.0))


def test_where_seeds_differ_widely_less_is_hopeless():
    assert learned(0.1).is_hopeless(evaluation(12.0))
    assert not learned(4.0).is_hopeless(evaluation(12.0))
    assert learned(1.0).is_hopeless(evaluation(1000.0))


def test_luck_that_all_settings_share_is_no_noise():
    """Seeds 1 to 3 are worth +5, 0 and -5 to everybody."""
    screening = Screening()
    for mean in (10.0, 10.1, 9.9, 10.2, 10.0, 10.1, 9.95, 10.0):
        met = evaluation(mean + 5.0, mean, mean - 5.0)
        screening.learn(value(met), met)
    assert screening.is_hopeless(evaluation(16.5))
    assert not screening.is_hopeless(evaluation(14.9))


def test_a_hopeless_setting_never_seems_better_than_the_best():
    """The first seed is a hard one: its value, 19, lies below the mean of the best, 20."""
    screening = Screening()
    for mean in (20.0, 20.1, 20.2, 20.1, 20.3, 20.2, 20.1, 20.0):
        met = evaluation(mean - 5.0, mean + 5.0, mean)
        screening.learn(value(met), met)
    poor = evaluation(19.0)
    assert screening.is_hopeless(poor)
    # As far above the best, 20, as it is above the best's first seed, 15, relative to their sum.
    assert screening.expected(poor) == pytest.approx(20.0 + 4.0 / 34.0 * 39.0, rel=0.02)


def test_the_luck_of_the_best_with_the_first_seed_is_allowed_for():
    """The best has 5 on the first seed and 10 on average, the others 10.1 on all."""
    screening = Screening()
    lucky = evaluation(5.0, 12.5, 12.5)
    screening.learn(value(lucky), lucky)
    for _ in range(8):
        met = evaluation(10.1, 10.1, 10.1)
        screening.learn(value(met), met)
    assert not screening.is_hopeless(evaluation(10.0))
    assert screening.is_hopeless(evaluation(100.0))


def test_objectives_below_zero_are_judged_alike():
    screening = learned(0.1, mean=-10.0)
    assert screening.is_hopeless(evaluation(-8.0))
    assert not screening.is_hopeless(evaluation(-10.0))


def test_while_nothing_keeps_the_constraints_nothing_is_hopeless():
    """What breaks a bound on utilisation has a shorter queue than whatever keeps it."""
    screening = Screening()
    for _ in range(10):
        met = evaluation(5.0, 5.1, 4.9)
        screening.learn(value(met, violation=0.02), met)
    assert not screening.is_hopeless(evaluation(1000.0))
    kept = evaluation(7.0, 7.1, 6.9)
    screening.learn(value(kept), kept)
    assert screening.is_hopeless(evaluation(1000.0))


@pytest.mark.parametrize("crosses_zero", [False, True])
def test_a_value_on_the_other_side_of_zero_is_not_hopeless_for_its_sign(crosses_zero):
    """Settings around 0 whose first seed is off by 0.1: 0.15 above the best is chance."""
    screening = Screening(crosses_zero=crosses_zero)
    for number in range(12):
        mean, off = -0.05 + 0.05 * (number % 3), 0.1 * (-1) ** number
        met = evaluation(mean + off, mean - off / 2.0, mean - off / 2.0)
        screening.learn(value(met), met)
    assert not screening.is_hopeless(evaluation(0.1))
    assert screening.is_hopeless(evaluation(1.0)) is crosses_zero  # elsewhere sizes count as well


def test_a_hopeless_value_across_zero_is_as_far_above_the_best_as_it_was_with_the_first_seed():
    screening = Screening(crosses_zero=True)
    for mean in (-1.0, 0.2, 0.3, 0.2, 0.1, 0.4, 0.3, 0.2):
        met = evaluation(mean + 0.1, mean - 0.1, mean)
        screening.learn(value(met), met)
    poor = evaluation(2.1)
    assert screening.is_hopeless(poor)
    # The best has -0.9 with the first seed and -1 on average.
    assert screening.expected(poor) == pytest.approx(-1.0 + 3.0)
