"""Recursive random search does what was published: numbers and steps from outside."""

import math
from itertools import pairwise

import pytest

from vermilion.search.random_search import RandomSearch
from vermilion.search.recursive_random_search import RecursiveRandomSearch, samples_needed
from vermilion.search.testing import bowl, minimise

BATCH = 44


def never_better_than_the_first_batch():
    """A function whose first 44 values are the best ones: 1, 2, ..., and then only worse."""
    values = iter([*range(1, BATCH + 1), *[1000.0] * 10_000])
    return lambda _: float(next(values))


def spread(told):
    """How far apart the points lie along the first axis: little within a neighbourhood."""
    first = [point[0] for point, _ in told]
    return max(first) - min(first)


@pytest.mark.parametrize(
    ("confidence", "fraction", "exact", "rounded"),
    [(0.99, 0.1, 43.71, 44), (0.99, 0.8, 2.86, 3), (0.99, 0.3, 12.9, 13)],
)
def test_the_sizes_of_batches_follow_from_the_confidence(confidence, fraction, exact, rounded):
    assert math.log(1 - confidence) / math.log(1 - fraction) == pytest.approx(exact, abs=0.02)
    assert samples_needed(confidence, fraction) == rounded


def test_the_defaults_are_the_published_ones():
    search = RecursiveRandomSearch(4)
    assert search.exploration_batch == BATCH
    assert search.failures_before_shrink == 3
    assert search.first_volume == 0.1
    assert search.shrink_ratio == 0.5
    assert search.stop_volume == 0.001


@pytest.mark.parametrize(
    ("dimensions", "sides"),
    [
        (1, (0.100, 0.013, 0.002)),
        (4, (0.562, 0.334, 0.199)),
        (8, (0.750, 0.578, 0.446)),
        (16, (0.866, 0.760, 0.668)),
    ],
)
def test_the_side_of_the_neighbourhood_is_the_root_of_its_volume(dimensions, sides):
    search = RecursiveRandomSearch(dimensions)
    for volume, side in zip((0.1, 0.0125, 0.1 / 64), sides, strict=True):
        assert search.neighbourhood_side(volume) == pytest.approx(side, abs=6e-4)


def test_a_stop_side_is_a_side_in_any_number_of_dimensions():
    for dimensions in (1, 4, 16):
        search = RecursiveRandomSearch(dimensions, stop_side=0.05)
        assert search.neighbourhood_side(search.stop_volume) == pytest.approx(0.05)


@pytest.mark.parametrize("dimensions", [1, 4, 16])
def test_the_first_batch_is_that_of_random_search(dimensions):
    recursive = minimise(RecursiveRandomSearch(dimensions, seed=9), bowl, BATCH)
    assert recursive == minimise(RandomSearch(dimensions, seed=9), bowl, BATCH, at_once=BATCH)


def test_a_local_search_without_success_takes_seven_halvings_of_three_failures():
    function = never_better_than_the_first_batch()
    search = RecursiveRandomSearch(2)
    told = minimise(search, function, BATCH)
    centre = told[0][0]
    for halvings in range(7):
        half = search.neighbourhood_side(0.1 * 0.5**halvings) / 2
        told = minimise(search, function, 3)
        for point, _ in told:
            assert all(abs(x - c) <= half for x, c in zip(point, centre, strict=True))
    exploring = minimise(search, function, BATCH)
    assert sum(abs(point[0] - centre[0]) > 0.1 for point, _ in exploring) > BATCH / 2


def test_the_whole_neighbourhood_is_sampled_and_nothing_outside_the_box():
    # One failure halves the volume only after 3; a shrink ratio near 1 keeps it as it is.
    search = RecursiveRandomSearch(2, shrink_ratio=0.999_999)
    function = never_better_than_the_first_batch()
    centre = minimise(search, function, BATCH)[0][0]
    half = search.neighbourhood_side(0.1) / 2
    points = [point for point, _ in minimise(search, function, 2000)]
    for axis in (0, 1):
        lower, upper = max(0.0, centre[axis] - half), min(1.0, centre[axis] + half)
        seen = [point[axis] for point in points]
        assert min(seen) == pytest.approx(lower, abs=0.005)
        assert max(seen) == pytest.approx(upper, abs=0.005)
        assert sum(seen) / len(seen) == pytest.approx((lower + upper) / 2, abs=0.01)


def test_an_improvement_moves_the_centre_and_starts_the_count_of_failures_again():
    search = RecursiveRandomSearch(1)
    minimise(search, lambda _: 10.0, BATCH)
    side = search.neighbourhood_side(0.1)
    minimise(search, lambda _: 11.0, 2)  # two failures: no shrink yet
    [(better, _)] = minimise(search, lambda _: 9.0, 1)
    around = minimise(search, lambda _: 11.0, 3)  # a full count of failures, box not shrunk
    assert all(abs(point[0] - better[0]) <= side / 2 for point, _ in around)
    shrunk = minimise(search, lambda _: 11.0, 3)
    assert all(abs(point[0] - better[0]) <= side / 4 for point, _ in shrunk)


def test_an_equal_value_is_a_failure():
    search = RecursiveRandomSearch(1)
    centre = minimise(search, lambda _: 10.0, BATCH)[0][0]
    local = minimise(search, lambda _: 10.0, 21)
    assert all(abs(point[0] - centre[0]) <= 0.05 for point, _ in local)
    exploring = minimise(search, lambda _: 10.0, BATCH)
    assert max(abs(point[0] - centre[0]) for point, _ in exploring) > 0.3


def test_exploration_exploits_what_is_better_than_the_mean_of_all_batch_minima():
    search = RecursiveRandomSearch(1)
    minimise(search, lambda _: 10.0, BATCH + 21)  # F = {10}
    minimise(search, lambda _: 20.0, BATCH)  # F = {10, 20}: threshold 15
    minimise(search, lambda _: 60.0, BATCH)  # F = {10, 20, 60}: threshold 30
    minimise(search, lambda _: 30.0, 1)  # equal to the threshold: goes on exploring
    assert spread(minimise(search, lambda _: 60.0, 15)) > 0.5
    [(promising, _)] = minimise(search, lambda _: 29.9, 1)
    local = minimise(search, lambda _: 60.0, 21)
    assert all(abs(point[0] - promising[0]) <= 0.05 for point, _ in local)


def test_batches_without_a_feasible_point_leave_the_threshold_alone():
    search = RecursiveRandomSearch(1)
    minimise(search, lambda _: math.inf, BATCH)
    exploring = minimise(search, lambda _: math.inf, BATCH)  # nothing to exploit yet
    assert spread(exploring) > 0.8
    [(feasible, _)] = minimise(search, lambda _: 5.0, 1)
    local = minimise(search, lambda _: math.inf, 21)
    assert all(abs(point[0] - feasible[0]) <= 0.05 for point, _ in local)
    minimise(search, lambda _: math.inf, BATCH - 1)  # completes the batch of minimum 5
    minimise(search, lambda _: math.inf, BATCH)  # and one without a minimum
    minimise(search, lambda _: 5.0, 1)  # not below 5
    assert spread(minimise(search, lambda _: math.inf, 15)) > 0.5
    [(promising, _)] = minimise(search, lambda _: 4.9, 1)
    local = minimise(search, lambda _: math.inf, 21)
    assert all(abs(point[0] - promising[0]) <= 0.05 for point, _ in local)


def test_the_better_of_start_points_and_first_batch_is_exploited_first():
    start = (0.6, 0.4)
    search = RecursiveRandomSearch(2, start_points=[(0.1, 0.1), start])
    minimise(search, lambda point: 1.0 if point == start else 2.0, 2 + BATCH)
    half = search.neighbourhood_side(0.1) / 2
    for point, _ in minimise(search, lambda _: 3.0, 3):
        assert all(abs(x - c) <= half for x, c in zip(point, start, strict=True))


def test_the_first_batch_is_not_exceeded_before_its_values_are_known():
    search = RecursiveRandomSearch(2)
    points = search.ask(100)
    assert len(points) == BATCH
    assert search.ask(1) == []
    search.tell(points[1:], [bowl(point) for point in points[1:]])
    assert search.ask(1) == []
    search.tell(points[:1], [bowl(points[0])])
    assert len(search.ask(100)) == 100


def test_points_after_an_improvement_are_taken_back_and_never_used():
    search = RecursiveRandomSearch(1)
    minimise(search, lambda _: 10.0, BATCH, at_once=BATCH)
    first, second, third = search.ask(3)
    assert search.tell([third, second], [1.0, 7.0]) == []
    assert search.tell([first], [5.0]) == [first]
    assert search.recommend() == first
    following = search.ask(2)
    assert not {second, third} & set(following)
    assert all(abs(point[0] - first[0]) <= 0.05 for point in following)
    assert search.outstanding() == following


def test_settings_outside_their_range_are_refused():
    for setting in ("shrink_ratio", "stop_side", "exploration_confidence"):
        for value in (0.0, 1.0, -1.0, math.nan):
            with pytest.raises(ValueError, match=setting):
                RecursiveRandomSearch(2, **{setting: value})


def test_the_best_value_never_gets_worse_while_the_search_goes_on():
    search = RecursiveRandomSearch(2)
    best = []
    for _ in range(100):
        minimise(search, bowl, 5)
        best.append(search.best_value)
    assert all(later <= earlier for earlier, later in pairwise(best))
