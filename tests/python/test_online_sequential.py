"""Sequential tests: what raises an alarm, how soon, and what does not."""

import random

from vermilion.online.decide.detection import Persistence, TwoSidedCusum


def alarms_of(test, observations):
    """What a test says of each observation."""
    said = []
    for observation in observations:
        test, alarm = test.after(observation)
        said.append(alarm)
    return said


def test_persistence_needs_its_observations_in_a_row():
    test = Persistence(hold=3)
    seen = [True, True, False, True, True, True]
    alarmed = []
    for outside in seen:
        test = test.after(outside=outside)
        alarmed.append(test.alarmed)
    assert alarmed == [False] * 5 + [True]


def test_a_cusum_names_the_direction_of_the_shift():
    up = TwoSidedCusum(reference=30, slack=3, threshold=10)
    down = TwoSidedCusum(reference=30, slack=3, threshold=10)
    assert alarms_of(up, [40, 40]) == [None, "above"]
    assert alarms_of(down, [20, 20]) == [None, "below"]


def test_a_cusum_tolerates_deviations_within_its_slack_for_ever():
    test = TwoSidedCusum(reference=30, slack=3, threshold=10)
    assert alarms_of(test, [32.9] * 10_000) == [None] * 10_000


def test_a_large_shift_is_noticed_sooner_than_a_small_one():
    def delay(shift):
        test = TwoSidedCusum(reference=0, slack=0.75, threshold=6)
        said = alarms_of(test, [shift] * 1000)
        return next(n for n, alarm in enumerate(said, start=1) if alarm)

    assert delay(4.0) == 2
    assert delay(2.0) == 5  # Siegmund: (6 + 1.166) / (2 - 0.75) less a little
    assert delay(1.0) == 25


def test_the_false_alarms_of_normal_noise_are_as_rare_as_siegmund_says():
    coins = random.Random(1)
    test = TwoSidedCusum(reference=0, slack=0.75, threshold=6)
    said = alarms_of(test, [coins.gauss(0, 1) for _ in range(200_000)])
    alarms = sum(alarm is not None for alarm in said)
    # One in 20,000 is expected; the bounds are the 0.1 % quantiles of a Poisson count of 10.
    assert 2 <= alarms <= 21
