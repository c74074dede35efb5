"""Verdicts on constraints and the decision between two settings."""

import math
from dataclasses import replace

import pytest

from vermilion.objectives import Constraint
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.tuning.comparison import compare
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.recommendation import kept_lines
from vermilion.tuning.verdict import judge, mean_violation

ABSOLUTE = Constraint.parse("links.bottleneck.utilization >= 0.95")
RELATIVE = Constraint.parse("links.bottleneck.utilization >= 0.95 of reference")
UPPER = Constraint.parse("links.bottleneck.sojourn_ms.p99 <= 80 ms")


def evaluation(*per_constraint, objectives=None):
    """Of one constraint after the other: the values with each seed, each a list of phases."""
    count = len(per_constraint[0]) if per_constraint else len(objectives)
    return Evaluation(
        {},
        seeds=list(range(count)),
        objectives=list(objectives or [0.0] * count),
        constrained=[list(values) for values in per_constraint],
    )


def verdict(constraint, values, reference=None):
    [found] = judge([constraint], evaluation(values), evaluation(reference or values))
    return found


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ([0.97, 0.98, 0.99], "met"),
        ([0.90, 0.91, 0.92], "broken"),
        ([0.94, 0.96, 0.97], "unproven"),
        ([0.90, 0.95, 1.00], "unproven"),
        ([0.95, 0.95, 0.95], "met"),
        ([0.96], "met"),
        ([0.94], "broken"),
    ],
)
def test_the_interval_and_not_the_mean_decides(values, holds):
    assert verdict(ABSOLUTE, [[value] for value in values]).holds == holds


def test_an_upper_bound_is_kept_below_it():
    assert verdict(UPPER, [[70.0], [71.0]]).holds == "met"
    assert verdict(UPPER, [[90.0], [91.0]]).holds == "broken"
    assert verdict(UPPER, [[90.0], [94.0]]).violation == pytest.approx(12.0 / 80.0)


@pytest.mark.parametrize(
    "text",
    ["links.bottleneck.sojourn_ms.p99<=80", " links.bottleneck.sojourn_ms.p99  <=80ms "],
)
def test_a_constraint_without_blanks_is_judged_like_one_with_them(text):
    found = verdict(Constraint.parse(text), [[90.0], [91.0]])
    assert found.holds == "broken"
    spaced = verdict(UPPER, [[90.0], [91.0]])
    assert found.figures == spaced.figures
    assert str(found) == f"{text.strip()} is broken ({spaced.figures})"
    assert kept_lines([found]) == [str(found)]
    of_harm = replace(Constraint.parse(text), of_harm=True)
    within = verdict(of_harm, [[70.0], [71.0]])
    assert kept_lines([within]) == [
        "no harm; within their margins: links.bottleneck.sojourn_ms.p99"
    ]


def test_the_phase_where_it_is_tightest_is_reported():
    found = verdict(ABSOLUTE, [[1.0, 0.90, 0.97], [1.0, 0.91, 0.98], [1.0, 0.92, 0.96]])
    assert (found.phase, found.holds) == (2, "broken")
    assert found.value.mean == pytest.approx(0.91)
    assert found.violation == pytest.approx(0.04 / 0.95)
    assert found.cautious_violation > found.violation
    assert str(found) == (
        "links.bottleneck.utilization >= 0.95 is broken (91 +- 2.5 % in phase 2, bound 95 %)"
    )


def test_a_relative_bound_is_compared_seed_by_seed():
    """The seeds differ by more than the margin, but each keeps 96 % of its reference."""
    reference = [[0.70], [0.80], [0.90]]
    values = [[0.96 * value] for [value] in reference]
    found = verdict(RELATIVE, values, reference)
    assert found.holds == "met"
    assert found.bound == pytest.approx(0.76)
    assert verdict(ABSOLUTE, values).holds != "met"


def test_the_reference_may_have_met_more_seeds():
    reference = Evaluation({}, [5, 1, 2], [0.0] * 3, constrained=[[[0.5], [0.8], [1.0]]])
    some = Evaluation({}, [2, 1], [0.0] * 2, constrained=[[[0.97], [0.78]]])
    assert judge([RELATIVE], some, reference)[0].holds == "met"
    assert mean_violation([RELATIVE], some, reference) == 0.0


def test_what_is_not_measured_is_not_met():
    found = verdict(ABSOLUTE, [[None], [0.99]])
    assert found.holds == "not measured"
    assert found.violation == math.inf
    assert "not measured" in str(found)
    missing = evaluation([[None], [0.99]])
    assert mean_violation([ABSOLUTE], missing, missing) == math.inf


def test_violations_of_several_constraints_add_up():
    values = evaluation([[0.90, 0.855]], [[88.0, 60.0]])
    assert mean_violation([ABSOLUTE, UPPER], values, values) == pytest.approx(0.1 + 0.1)


def decide(best, incumbent, best_used=None, incumbent_used=None, required=0.0):
    used = best_used, incumbent_used
    constraints = [] if best_used is None else [ABSOLUTE]
    sides = [
        evaluation(*([] if use is None else [[[value] for value in use]]), objectives=objectives)
        for use, objectives in zip(used, (best, incumbent), strict=True)
    ]
    return compare(
        QueueDeviation("bottleneck", 30.0), constraints, *sides, required_improvement=required
    )


def test_a_significant_improvement_is_accepted():
    comparison = decide([10.0, 12.0, 11.0], [100.0, 104.0, 96.0])
    assert comparison.accepted
    assert comparison.difference.mean == pytest.approx(-89.0)
    assert comparison.reason.startswith("significantly better: ")
    assert "queue-deviation 11 instead of 100 (difference -89 +- 9, 3 fresh" in comparison.reason


def test_paired_differences_see_what_the_settings_own_intervals_hide():
    incumbent = [100.0, 200.0, 300.0, 400.0]
    comparison = decide([value - 5.0 - 0.1 * k for k, value in enumerate(incumbent)], incumbent)
    assert comparison.accepted
    assert comparison.best.high > comparison.incumbent.low


@pytest.mark.parametrize(
    ("best", "incumbent", "reason"),
    [
        ([90.0, 110.0, 100.0], [101.0, 100.0, 102.0], "may be chance"),
        ([100.0, 100.0], [100.0, 100.0], "may be chance"),
        ([120.0, 121.0], [100.0, 100.0], "nothing better"),
        ([10.0], [100.0], "a single seed says nothing"),
    ],
)
def test_the_incumbent_stays_unless_the_difference_is_significant(best, incumbent, reason):
    comparison = decide(best, incumbent)
    assert not comparison.accepted
    assert reason in comparison.reason


def test_the_gain_required_must_be_beyond_doubt():
    best, incumbent = [88.0, 89.0, 90.0], [100.0, 100.0, 100.0]
    assert decide(best, incumbent, required=0.05).accepted
    assert not decide(best, incumbent, required=0.10).accepted


def test_no_gain_outweighs_a_constraint_that_is_not_proven_to_hold():
    best, incumbent = [1.0, 1.1, 1.2], [100.0, 100.0, 100.0]
    for used, might in (([0.90, 0.90, 0.91], "would"), ([0.94, 0.96, 0.97], "may")):
        comparison = decide(best, incumbent, used, [0.99, 0.99, 0.99])
        assert not comparison.accepted
        assert comparison.reason.startswith(
            f"refused, because it {might} break links.bottleneck.utilization >= 0.95"
        )


def test_keeping_the_constraints_outweighs_the_objective():
    worse, incumbent = [110.0, 111.0, 112.0], [100.0, 100.0, 100.0]
    comparison = decide(worse, incumbent, [0.99, 0.99, 0.99], [0.80, 0.81, 0.80])
    assert comparison.accepted
    assert "the incumbent breaks a constraint (links.bottleneck" in comparison.reason


def at_99(best, incumbent, used=None):
    return compare(
        QueueDeviation("bottleneck", 30.0),
        [] if used is None else [ABSOLUTE],
        evaluation(*([] if used is None else [[[value] for value in used]]), objectives=best),
        evaluation(*([] if used is None else [[[0.99]] * len(used)]), objectives=incumbent),
        confidence=0.99,
    )


def test_the_difference_that_is_shown_has_the_interval_that_decided():
    """By hand: differences of sd 1.291, over 2; t(3) is 3.182 at 95 % and 5.841 at 99 %."""
    incumbent = [100.0, 101.0, 99.0, 100.0]
    best = [99.0, 98.0, 97.0, 96.0]
    usual = decide(best, incumbent)
    assert usual.accepted
    assert "(difference -2.5 +- 2.1, 4 fresh seeds)" in usual.reason
    strict = at_99(best, incumbent)
    assert "may be chance" in strict.reason
    assert strict.difference.half_width == pytest.approx(5.841 * 1.291 / 2.0, rel=1e-3)
    assert not strict.difference.excludes(0.0)
    assert strict.improvement.low < 0.0 < usual.improvement.low
    assert "(difference -2.5 +- 3.8 at 99 %, 4 fresh seeds)" in strict.reason


def test_the_verdicts_that_are_shown_are_those_that_decided():
    """By hand: a use of 97.25 % and sd 1.291 %, so 2.05 % at 95 % and 3.77 % at 99 %."""
    used = [0.9575, 0.9775, 0.9675, 0.9875]
    best, incumbent = [1.0, 1.1, 1.2, 1.3], [100.0] * 4
    assert decide(best, incumbent, used, [0.99] * 4).accepted
    strict = at_99(best, incumbent, used)
    assert strict.decision.refused
    [shown] = strict.best_verdicts
    assert shown is strict.decision.bound
    assert (shown.holds, shown.confidence) == ("unproven", 0.99)
    assert shown.figures == "97.25 +- 3.8 % at 99 %, bound 95 %"
