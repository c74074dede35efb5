"""The rule of docs/decisions.md at its edges, with numbers made by hand."""

import math
from dataclasses import replace

import pytest

from vermilion.objectives import Constraint
from vermilion.objectives.mean_sojourn import MeanSojourn
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.objectives.utilization import Utilization
from vermilion.objectives.weighted_sum import Part, WeightedSum
from vermilion.simulate.statistics import Interval
from vermilion.tuning.comparison import compare, decide
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.horizon import MarginNoise
from vermilion.tuning.verdict import ConstraintVerdict, judge

USED = Constraint.parse("links.bottleneck.utilization >= 0.95")
WAITS = Constraint.parse("links.bottleneck.sojourn_ms.p99 <= 80 ms")
FAIR = Constraint.parse("flows.*.jain_index >= 0.8")
HOLD = QueueDeviation("bottleneck", 30.0)


def verdict(holds, constraint="links.a.utilization >= 0.95", *, of_harm=False):
    return ConstraintVerdict(constraint, holds, Interval(0.9, 0.1, 10), 0.95, 0, 0.05, 0.1, of_harm)


def by_objective(mean, half_width, *, least_gain=0.0, lacks=None):
    """A difference to the setting in force of what is minimised, and what a proof still lacks."""
    difference = Interval(mean, half_width, 10)
    return decide(difference, [], [], least_gain=least_gain, short_of=lacks, required=0.1)


@pytest.mark.parametrize(
    ("mean", "half_width", "judgement"),
    [
        (0.75, 0.5, "worse"),  # 0.25 to 1.25: all of it above 0
        (0.5, 0.5, "no difference"),  # 0 to 1
        (-0.5, 0.5, "no difference"),  # -1 to 0
        (-0.75, 0.5, "better"),  # -1.25 to -0.25
    ],
)
def test_a_difference_counts_where_its_interval_excludes_zero(mean, half_width, judgement):
    decision = by_objective(mean, half_width)
    assert decision.judgement == judgement
    assert decision.accepted == (judgement == "better")


@pytest.mark.parametrize(("least_gain", "accepted"), [(3.0, True), (3.1, False), (5.0, False)])
def test_a_gain_is_relevant_from_the_least_gain_on(least_gain, accepted):
    """A gain of 3, surely."""
    decision = by_objective(-3.0, 1.0, least_gain=least_gain)
    assert decision.accepted == accepted
    assert decision.judgement == ("better" if accepted else "no difference")
    assert not decision.doubtful  # more seeds would not make more of it


@pytest.mark.parametrize(("gain", "doubtful"), [(3.0, True), (1.0, False), (-1.0, False)])
def test_more_seeds_help_where_the_gain_would_be_relevant(gain, doubtful):
    """The intervals are 4 to both sides, so that all of them have 0; 2 would be relevant."""
    decision = by_objective(-gain, 4.0, least_gain=2.0)
    assert decision.judgement == "no difference"
    assert decision.doubtful == doubtful


def test_a_required_share_has_to_be_exceeded_surely():
    assert by_objective(-5.0, 1.0, lacks=Interval(-2.0, 1.0, 10)).accepted
    for lacks in (Interval(-1.0, 1.0, 10), Interval(-1.0, 2.0, 10), Interval(-1.0, None, 1)):
        decision = by_objective(-5.0, 1.0, lacks=lacks)
        assert not decision.accepted
        assert decision.doubtful


@pytest.mark.parametrize(
    ("holds", "gain", "judgement", "doubtful"),
    [
        (["unproven"], 5.0, "no difference", True),
        (["unproven"], -5.0, "no difference", False),
        (["unproven"], 0.0, "no difference", False),
        (["unproven", "broken"], 5.0, "worse", False),
        (["met", "broken", "unproven"], 5.0, "worse", False),
        (["unproven", "not measured"], 5.0, "no difference", False),
    ],
)
def test_no_gain_makes_up_for_what_is_not_kept(holds, gain, judgement, doubtful):
    verdicts = [
        verdict(each, f"links.{place}.utilization >= 0.95") for place, each in enumerate(holds)
    ]
    decision = decide(Interval(-gain, 0.1, 10), verdicts, [verdict("broken")])
    assert (decision.accepted, decision.refused) == (False, True)
    assert (decision.judgement, decision.doubtful) == (judgement, doubtful)
    if "broken" in holds:  # what is surely broken is what is said
        assert decision.bound is verdicts[holds.index("broken")]
        assert decision.why.startswith("it would break")


def test_a_setting_in_force_loses_only_by_what_it_surely_breaks():
    worse = Interval(5.0, 0.1, 10)
    assert decide(worse, [verdict("met")], [verdict("broken")]).accepted
    for holds in ("met", "unproven", "not measured"):
        assert decide(worse, [verdict("met")], [verdict(holds)]).judgement == "worse"


def evaluation(objectives, used=None):
    constrained = [] if used is None else [[[value] for value in used]]
    return Evaluation({}, list(range(len(objectives))), list(objectives), constrained)


def gained(objective, new, old, required):
    """Two seeds between which what is found differs by little; a maximum is told as minus it."""
    sign = -1.0 if objective.maximised else 1.0
    found = evaluation([sign * (new - 0.002), sign * (new + 0.002)])
    sides = found, evaluation([sign * old] * 2)
    return compare(objective, [], *sides, required_improvement=required)


@pytest.mark.parametrize(
    ("objective", "new", "accepted", "improvement"),
    [
        (HOLD, 89.0, True, 0.11),
        (HOLD, 91.0, False, 0.09),
        (Utilization("bottleneck"), 111.0, True, 0.11),
        (Utilization("bottleneck"), 109.0, False, 0.09),
        (Utilization("bottleneck"), 91.0, False, -0.09),
    ],
)
def test_a_tenth_of_what_is_reached_is_a_tenth_less_or_more(objective, new, accepted, improvement):
    comparison = gained(objective, new, 100.0, 0.1)
    assert comparison.accepted == accepted
    assert comparison.improvement.mean == pytest.approx(improvement)
    assert comparison.improvement.low < comparison.improvement.mean < comparison.improvement.high


@pytest.mark.parametrize(
    ("old", "new", "accepted"),
    [
        # Weights of 6 and 4 in a sum whose parts cancel: a tenth is 1 at a value of 2,
        (2.0, 0.9, True),
        (2.0, 1.1, False),
        (-2.0, -3.1, True),  # and of -2,
        (-2.0, -2.9, False),
        (20.0, 17.9, True),  # and 2 where the value is 20.
        (20.0, 18.1, False),
    ],
)
def test_a_share_of_a_sum_that_cancels_is_of_its_weights(old, new, accepted):
    parts = (
        Part(MeanSojourn("bottleneck"), 6.0, 1.0),
        Part(Utilization("bottleneck"), 4.0, 1.0),
    )
    comparison = gained(WeightedSum(parts), new, old, 0.1)
    assert comparison.accepted == accepted


def test_the_setting_in_force_breaks_a_constraint_at_the_confidence_that_decides():
    """By hand: 93 % and a standard deviation of 1 %, so 1.6 % at 95 % and 2.9 % at 99 %."""
    sides = evaluation([2.0] * 4, [0.99] * 4), evaluation([1.0] * 4, [0.918, 0.926, 0.934, 0.942])
    assert compare(HOLD, [USED], *sides).accepted
    strict = compare(HOLD, [USED], *sides, confidence=0.99)
    assert not strict.accepted
    assert strict.decision.judgement == "worse"


def judged(constraint, rows):
    """Of one constraint: for each seed its values in each phase."""
    one = Evaluation({}, list(range(len(rows))), [0.0] * len(rows), [rows])
    [found] = judge([constraint], one, one)
    return found


def test_the_worst_phase_is_the_one_whose_interval_reaches_furthest_beyond():
    """By hand: 96 and 97 %; t(2) is 4.303, so 0.02 % and 4.97 % to both sides."""
    rows = [[0.9599, 0.95], [0.96, 0.97], [0.9601, 0.99]]
    found = judged(USED, rows)
    assert (found.phase, found.holds) == (2, "unproven")
    assert found.cautious_violation == pytest.approx(
        (4.303 * 0.02 / math.sqrt(3) - 0.02) / 0.95, rel=1e-3
    )
    upper = judged(WAITS, [[78.0, 60.0], [79.0, 70.0], [80.0, 95.0]])
    assert (upper.phase, upper.holds) == (2, "unproven")


def test_of_harm_the_worst_phase_is_the_one_of_the_worst_mean():
    rows = [[0.9599, 0.95], [0.96, 0.97], [0.9601, 0.99]]
    found = judged(replace(USED, of_harm=True), rows)
    assert (found.phase, found.holds) == (1, "met")
    beyond = judged(replace(USED, of_harm=True), [[0.9, 0.97], [0.98, 0.97]])
    assert (beyond.phase, beyond.holds) == (1, "broken")  # 94 % on average, whatever its interval


def test_what_is_not_measured_in_one_phase_is_not_met_whatever_the_others_say():
    for rows in ([[0.99, None], [0.99, 0.99]], [[0.5, None], [0.5, None]]):
        found = judged(USED, rows)
        assert (found.phase, found.holds) == (2, "not measured")


def test_a_phase_without_flows_hides_nothing():
    idle = math.inf
    found = judged(FAIR, [[idle, 0.7], [idle, 0.7]])
    assert (found.phase, found.holds) == (2, "broken")
    kept = judged(FAIR, [[0.9, idle], [0.9, idle]])
    assert (kept.phase, kept.holds) == (1, "met")
    assert kept.value.mean == pytest.approx(0.9)


def test_a_search_lets_pass_what_noise_alone_may_have_broken_of_a_bound_of_harm():
    noise = MarginNoise([USED, replace(USED, of_harm=True)], 10)
    incumbent = Evaluation({}, [1, 2], [0.0] * 2, [[[0.99], [0.99]]] * 2)
    for _ in range(8):
        noise.learn(Evaluation({}, [1, 2], [0.0] * 2, [[[0.96], [0.98]]] * 2), incumbent)
    [[asked], [harm]] = noise.allowances()
    # sqrt(2) % between two seeds; t(9) is 2.262.
    assert asked == pytest.approx(math.sqrt(2.0) * 0.01 * 2.262 / math.sqrt(10), rel=1e-3)
    # One and a half standard deviations of a seed: fresh seeds judge it.
    assert harm == pytest.approx(-1.5 * math.sqrt(2.0) * 0.01, rel=1e-3)
