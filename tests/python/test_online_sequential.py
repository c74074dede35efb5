"""Sequential tests: what raises an alarm, how soon, and what does not."""

import random

import pytest

from vermilion.online.decide.sequential import Persistence, TwoSidedCusum


def test_persistence_needs_its_observations_in_a_row():
    test = Persistence(hold=3)
    seen = [True, True, False, True, True, True]
    assert [test.update(outside=outside) for outside in seen] == [False] * 5 + [True]


def test_persistence_of_less_than_one_observation_is_refused():
    with pytest.raises(ValueError, match="hold 0"):
        Persistence(hold=0)


def test_a_cusum_names_the_direction_of_the_shift():
    up = TwoSidedCusum(reference=30, slack=3, threshold=10)
    down = TwoSidedCusum(reference=30, slack=3, threshold=10)
    assert [up.update(40) for _ in range(2)] == [None, "above"]
    assert [down.update(20) for _ in range(2)] == [None, "below"]


def test_a_cusum_tolerates_deviations_within_its_slack_for_ever():
    test = TwoSidedCusum(reference=30, slack=3, threshold=10)
    assert all(test.update(32.9) is None for _ in range(10_000))


def test_a_large_shift_is_noticed_sooner_than_a_small_one():
    def delay(shift):
        test = TwoSidedCusum(reference=0, slack=0.75, threshold=6)
        return next(n for n in range(1, 1000) if test.update(shift))

    assert delay(4.0) == 2
    assert delay(2.0) == 5  # Siegmund: (6 + 1.166) / (2 - 0.75) less a little
    assert delay(1.0) == 25


def test_the_false_alarms_of_normal_noise_are_as_rare_as_siegmund_says():
    coins = random.Random(1)
    alarms = 0
    observations = 200_000
    test = TwoSidedCusum(reference=0, slack=0.75, threshold=6)
    for _ in range(observations):
        if test.update(coins.gauss(0, 1)):
            alarms += 1
            test = TwoSidedCusum(reference=0, slack=0.75, threshold=6)
    # One in 20,000 is expected; the bounds are the 0.1 % quantiles of a Poisson count of 10.
    assert 2 <= alarms <= 21


def test_impossible_settings_of_a_cusum_are_refused():
    with pytest.raises(ValueError, match="threshold"):
        TwoSidedCusum(reference=0, slack=1, threshold=0)
