"""When a candidate is applied, and when the incumbent stays."""

from vermilion.online.decision import judge
from vermilion.online.goal import HeldQueue
from vermilion.online.prediction import Outcome, Prediction

GOAL = HeldQueue("bottleneck", 30.0)


def prediction(means, sd=5.0, utilization=0.99):
    return Prediction(
        setting={"weight": 0.002},
        outcomes=tuple(Outcome(mean, sd, utilization, 0.01) for mean in means),
    )


def test_a_clearly_better_candidate_is_applied():
    verdict = judge(prediction([30, 29, 31, 30]), prediction([40, 41, 39, 40]), GOAL)
    assert verdict.apply
    assert verdict.advantage.low > 0
    assert "on 4 fresh seeds" in verdict.reason


def test_the_incumbent_wins_a_tie():
    verdict = judge(prediction([30, 29, 31, 30]), prediction([30, 29, 31, 30]), GOAL)
    assert not verdict.apply
    assert verdict.reason.startswith("not significant")


def test_an_advantage_within_its_noise_is_not_applied():
    verdict = judge(prediction([30, 36, 25, 30]), prediction([31, 29, 36, 32]), GOAL)
    assert not verdict.apply
    assert verdict.reason.startswith("not significant")


def test_a_certain_but_small_advantage_is_not_worth_a_change():
    verdict = judge(prediction([30.0] * 8, sd=5.0), prediction([30.0] * 8, sd=5.1), GOAL)
    assert not verdict.apply
    assert verdict.reason.startswith("too little to change for")


def test_a_setting_that_breaks_a_constraint_is_refused_with_it():
    verdict = judge(
        prediction([30.0] * 4), prediction([60.0] * 4), GOAL, ["utilization reaches 0.6"]
    )
    assert not verdict.apply
    assert verdict.reason == "it would break a constraint: utilization reaches 0.6"


def test_a_mean_far_from_the_target_costs_more_than_its_square():
    assert GOAL.cost(mean=28, sd=10) == 100 + 4
    assert GOAL.cost(mean=23, sd=10) == 100 + 49 + 9 * 16


def test_one_seed_decides_nothing():
    verdict = judge(prediction([30]), prediction([60]), GOAL)
    assert not verdict.apply
