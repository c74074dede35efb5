"""When a candidate is applied, and when the incumbent stays."""

from dataclasses import replace

import pytest

from vermilion.objectives.goodput import Goodput
from vermilion.online.model.prediction import Outcome, Prediction
from vermilion.online.plan.judgement import HeldQueue, judge
from vermilion.simulate import Interval
from vermilion.tuning.verdict import ConstraintVerdict

GOAL = HeldQueue("bottleneck", 30.0)


def prediction(means, sd=5.0, utilization=0.99):
    return Prediction(
        setting={"weight": 0.002},
        outcomes=tuple(Outcome(mean, sd, utilization, 0.01, GOAL.cost(mean, sd)) for mean in means),
    )


def test_a_clearly_better_candidate_is_applied():
    verdict = judge(prediction([30, 29, 31, 30]), prediction([40, 41, 39, 40]), GOAL)
    assert verdict.apply
    assert verdict.advantage.low > 0
    assert "on 4 fresh seeds" in verdict.reason


def test_the_incumbent_wins_a_tie():
    verdict = judge(prediction([30, 29, 31, 30]), prediction([30, 29, 31, 30]), GOAL)
    assert not verdict.apply
    assert verdict.judgement == "no difference"
    assert "the difference may be chance" in verdict.reason


def test_an_advantage_within_its_noise_is_not_applied():
    verdict = judge(prediction([30, 36, 25, 30]), prediction([31, 29, 36, 32]), GOAL)
    assert not verdict.apply
    assert verdict.judgement == "no difference"
    assert "the difference may be chance" in verdict.reason


def test_a_candidate_that_is_surely_worse_is_called_that():
    verdict = judge(prediction([40, 41, 39, 40]), prediction([30, 29, 31, 30]), GOAL)
    assert not verdict.apply
    assert verdict.judgement == "worse"
    assert "nothing better was found" in verdict.reason


def test_what_is_worse_because_it_keeps_a_bound_says_which():
    worse = prediction([40, 41, 39, 40]), prediction([30, 29, 31, 30]), GOAL
    # 0.6 +- 0.4 may be above 0.9: harm that is no reason for a change, but one for the search.
    chance = replace(broken(of_harm=True), value=Interval(0.6, 0.4, 4))
    kept = "nothing better was found that keeps links.bottleneck.utilization >= 0.9, which "
    verdict = judge(*worse, [], [chance])
    assert not verdict.apply
    assert verdict.reason.startswith(f"{kept}the setting in force may break (60 +- 40 %, bound 90")
    crowd = "flows.*.starved <= reference + 1 with twice the flows"
    excused = [replace(broken(of_harm=True), constraint=crowd)]
    verdict = judge(*worse, excused=excused)
    assert not verdict.apply
    assert verdict.reason.startswith(
        f"nothing better was found that keeps {crowd}, which the setting in force would break ("
    )
    verdict = judge(*worse, beyond_aims=excused)
    assert verdict.reason.startswith(
        f"nothing better was found that keeps {crowd}, as a search aims"
    )
    better = judge(prediction([30.0] * 4), prediction([60.0] * 4), GOAL, excused=excused)
    assert better.apply
    assert crowd not in better.reason


def test_a_certain_but_small_advantage_is_not_worth_a_change():
    # 26.01 - 25 = 1.01 packets^2 are more than one, and less than 5 % of 26.01 = 1.3.
    verdict = judge(prediction([30.0] * 8, sd=5.0), prediction([30.0] * 8, sd=5.1), GOAL)
    assert not verdict.apply
    assert verdict.judgement == "no difference"
    assert "the gain of 1.01 packets^2 is below the 1.3 packets^2" in verdict.reason


def test_a_large_share_of_almost_nothing_is_not_worth_a_change_either():
    verdict = judge(prediction([30.0] * 8, sd=0.5), prediction([30.0] * 8, sd=1.0), GOAL)
    assert not verdict.apply
    assert "the gain of 0.75 packets^2 is below the 1 packets^2" in verdict.reason


def broken(*, of_harm=False):
    value = Interval(0.6, 0.01, 4)
    return ConstraintVerdict(
        "links.bottleneck.utilization >= 0.9", "broken", value, 0.9, 0, 0.3, 0.4, of_harm=of_harm
    )


@pytest.mark.parametrize("of_harm", [False, True])
def test_a_setting_that_breaks_a_constraint_or_does_harm_is_refused_with_it(of_harm):
    verdict = judge(prediction([30.0] * 4), prediction([60.0] * 4), GOAL, [broken(of_harm=of_harm)])
    assert not verdict.apply
    assert verdict.judgement == "worse"
    said = "a bound of harm, " if of_harm else ""
    start = f"it would break {said}links.bottleneck.utilization >= 0.9 (60 "
    assert verdict.reason.startswith(start)


def test_harm_to_a_crowd_is_said_to_be_of_the_crowd():
    """The words that say which model is meant stand behind the bound, and are no part of it."""
    name = "flows.*.jain_index >= reference - 0.05 with twice the flows"
    verdict = judge(
        prediction([30.0] * 4),
        prediction([60.0] * 4),
        GOAL,
        [replace(broken(of_harm=True), constraint=name)],
    )
    assert verdict.reason.startswith(f"it would break a bound of harm, {name} (0.6 ")


def test_a_setting_in_force_that_breaks_a_constraint_loses():
    kept = replace(broken(), holds="met")
    verdict = judge(prediction([60.0] * 4), prediction([30.0] * 4), GOAL, [kept], [broken()])
    assert verdict.apply
    assert verdict.judgement == "better"
    assert "the incumbent breaks a constraint" in verdict.reason


def test_a_mean_far_from_the_target_costs_more_than_its_square():
    assert GOAL.cost(mean=28, sd=10) == 100 + 4
    assert GOAL.cost(mean=23, sd=10) == 100 + 49 + 9 * 16


def test_one_seed_decides_nothing():
    verdict = judge(prediction([30]), prediction([60]), GOAL)
    assert not verdict.apply


def test_the_reason_has_the_numbers_of_the_comparison():
    """Costs of 25 and 100 packets^2, the same with each seed."""
    verdict = judge(prediction([30.0] * 4, sd=5.0), prediction([30.0] * 4, sd=10.0), GOAL)
    assert verdict.reason == (
        "significantly better; in the model, cost 25.0 instead of 100.0 packets^2 (better by 75.0 "
        "+- 0.0 on 4 fresh seeds), mean queue 30.0 instead of 30.0 packets"
    )


def test_the_reason_says_of_how_many_models_it_is_the_mean():
    new, old = prediction([30.0] * 4, sd=5.0), prediction([30.0] * 4, sd=10.0)
    assert "; in the mean of 3 models, cost 25.0" in judge(new, old, GOAL, models=3).reason


@pytest.mark.parametrize(("sign", "judged"), [(1.0, "better"), (-1.0, "worse")])
def test_more_goodput_is_better_and_said_in_megabits(sign, judged):
    def carrying(bit_per_s):
        known = prediction([30.0] * 4)
        outcomes = tuple(replace(each, value=bit_per_s) for each in known.outcomes)
        return replace(known, outcomes=outcomes)

    verdict = judge(carrying(9e6 + sign * 5e5), carrying(9e6), Goodput())
    assert verdict.judgement == judged
    assert verdict.advantage.mean == sign * 5e5
    assert f"instead of 9.000 Mbit/s ({judged} by 0.500 +- 0.000 on 4" in verdict.reason


@pytest.mark.parametrize(("half_width", "applied"), [(0.01, True), (0.05, False)])
def test_harm_of_the_setting_in_force_that_may_be_chance_is_no_reason_for_a_worse_one(
    half_width, applied
):
    value = Interval(0.87, half_width, 12)
    harm = ConstraintVerdict(
        "flows.*.jain_index >= 0.9", "broken", value, 0.9, 0, 0.03, 0.09, of_harm=True
    )
    verdict = judge(prediction([40.0] * 4), prediction([30.0] * 4), GOAL, (), [harm])
    assert verdict.apply == applied
