"""The searches do what their sources say: laws and hand calculations."""

import itertools
import json
import math
from statistics import median

import numpy as np
import pytest
from cmaes import CMA

from vermilion.search import SEARCHES
from vermilion.search.cma_es import AdaptedDistribution, CmaEs
from vermilion.search.generations import Told
from vermilion.search.localised_recursive_random_search import LocalisedRecursiveRandomSearch
from vermilion.search.testing import bowl, minimise

LEARNING = sorted(set(SEARCHES) - {"random-search"})
SEEDS = range(15)
FEW = {"gaussian-process": 60}
"""What a search that thinks long before each point is given at most."""


def median_best(name, function, dimensions, budget, **settings):
    values = []
    for seed in SEEDS:
        search = SEARCHES[name](dimensions, seed=seed, **settings)
        minimise(search, function, min(budget, FEW.get(name, budget)))
        values.append(search.best_value)
    return median(values)


@pytest.mark.parametrize("name", LEARNING)
def test_what_learns_from_values_beats_what_does_not(name):
    assert median_best(name, bowl, 4, 150) < 0.7 * median_best("random-search", bowl, 4, 150)


@pytest.mark.parametrize("name", LEARNING)
def test_a_good_start_point_is_made_use_of(name):
    # A quarter of the range off in one direction; the box holds few points as good.
    start = (0.55, 0.3, 0.3, 0.3, 0.3, 0.3)
    assert median_best(name, bowl, 6, 250, start_points=[start]) < 0.9 * bowl(start)


# --- CMA-ES ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("dimensions", "population"), [(2, 6), (4, 8), (10, 10), (16, 12)])
def test_a_generation_has_the_size_of_the_tutorial(dimensions, population):
    assert len(CmaEs(dimensions, spread=0).ask(100)) == population


def test_cma_es_sees_the_order_of_values_and_not_the_values():
    path = minimise(CmaEs(3, seed=2), bowl, 400)
    bent = minimise(CmaEs(3, seed=2), lambda point: math.exp(7.0 * bowl(point)) - 5.0, 400)
    assert [point for point, _ in bent] == [point for point, _ in path]


def test_cma_es_learns_a_valley_that_runs_across_the_axes():
    # A condition number of 10^4, turned by 45 degrees in each pair of axes.
    def valley(point):
        x = [u - 0.4 for u in point]
        pairs = zip(x[::2], x[1::2], strict=True)
        return sum((a + b) ** 2 + 1e4 * (a - b) ** 2 for a, b in pairs)

    baseline = median_best("recursive-random-search", valley, 4, 800)
    assert median_best("cma-es", valley, 4, 800, stop_side=1e-6) < 0.01 * baseline


def test_the_first_descent_begins_at_the_best_start_point_or_in_the_middle():
    starts = [(0.9, 0.1), (0.2, 0.7)]
    for given, centre in ((starts, (0.2, 0.7)), ([], (0.5, 0.5))):
        search = CmaEs(2, start_points=given, population=2000, first_step=0.02, spread=0)
        minimise(search, lambda point: abs(point[0] - 0.2), len(given))
        points = search.ask(2000)
        assert np.mean(points, axis=0) == pytest.approx(centre, abs=0.002)
        assert np.std(points, axis=0) == pytest.approx((0.02, 0.02), rel=0.1)


def test_after_a_descent_the_next_one_has_twice_the_population():
    search = CmaEs(2, population=6, stop_side=0.05, spread=0)
    sizes = []
    for _ in range(300):
        points = search.ask(1000)
        sizes.append(len(points))
        search.tell(points, [bowl(point) for point in points])
        if sizes[-1] == 24:
            break
    assert [size for size, _ in itertools.groupby(sizes)] == [6, 12, 24]


def test_cma_es_ends_a_descent_where_all_fails():
    search = CmaEs(2)
    told = minimise(search, lambda _: math.inf, 2000)
    assert search.state()["memory"]["descent"] >= 1
    assert len({point for point, _ in told}) == 2000


@pytest.mark.parametrize(("dimensions", "population"), [(1, 4), (2, 6), (4, 5), (4, 8), (16, 12)])
def test_the_distribution_learns_what_that_of_the_package_cmaes_learns(dimensions, population):
    theirs = CMA(
        mean=np.full(dimensions, 0.4),
        sigma=0.3,
        bounds=np.array([[0.0, 1.0]] * dimensions),
        population_size=population,
    )
    ours = AdaptedDistribution((0.4,) * dimensions, 0.3, population)
    ours.reseed(dimensions)
    for _ in range(60):
        points = [ours.draw() for _ in range(population)]
        values = [bowl(point) + 0.1 * math.sin(1e3 * sum(point)) for point in points]
        ours.learn([Told(*each) for each in zip(points, values, strict=True)])
        theirs.tell([(np.array(point), value) for point, value in zip(points, values, strict=True)])
        assert ours.mean == pytest.approx(theirs.mean, rel=1e-9, abs=1e-12)
        assert ours.step == pytest.approx(theirs._sigma, rel=1e-9)
        assert ours.is_spent == theirs.should_stop()
    assert ours.step < 0.3


def test_points_are_drawn_from_the_learned_distribution_and_lie_in_the_box():
    distribution = AdaptedDistribution((0.5, 0.95), 0.2, 2000)
    distribution.reseed(3)
    points = np.array([distribution.draw() for _ in range(4000)])
    assert points.min() >= 0.0
    assert points.max() <= 1.0
    assert points[:, 0].mean() == pytest.approx(0.5, abs=0.01)
    assert points[:, 0].std() == pytest.approx(0.2, abs=0.02)
    # Those beyond the bound are drawn again, and none is piled up on it.
    assert len(set(points[:, 1])) == 4000
    assert points[:, 1].mean() < 0.87


def test_where_no_draw_lies_in_the_box_a_point_is_moved_to_its_bound():
    distribution = AdaptedDistribution((0.5,) * 16, 1e4, 12)
    assert all(coordinate in {0.0, 1.0} for coordinate in distribution.draw())


@pytest.mark.parametrize(("dimensions", "spread"), [(2, 20), (6, 20), (7, 0)])
def test_evenly_spread_points_come_before_the_first_descent(dimensions, spread):
    search = CmaEs(dimensions, start_points=[(0.5,) * dimensions])
    search.tell(search.ask(1), [1.0])
    points = search.ask(1000)
    assert len(points) == (spread or search.first_population)
    if spread:
        for axis in range(dimensions):
            assert sorted(int(spread * point[axis]) for point in points) == list(range(spread))


@pytest.mark.parametrize("start_is_better", [False, True])
def test_the_first_descent_begins_at_the_best_of_start_and_spread_points(start_is_better):
    search = CmaEs(2, start_points=[(0.9, 0.1)], population=2000, first_step=0.02, spread=10)
    search.tell(search.ask(1), [0.0 if start_is_better else 2.0])
    points = search.ask(1000)
    best = min(points, key=lambda point: sum((x - 0.5) ** 2 for x in point))
    search.tell(points, [1.0 if point == best else 3.0 for point in points])
    again = CmaEs.from_state(json.loads(json.dumps(search.state())))
    expected = (0.9, 0.1) if start_is_better else best
    for each in (search, again):
        assert np.mean(each.ask(2000), axis=0) == pytest.approx(expected, abs=0.005)


# --- recursive random search by sides --------------------------------------------------------


@pytest.mark.parametrize("dimensions", [1, 4, 16])
def test_by_side_a_local_search_takes_as_many_failures_in_any_number_of_dimensions(dimensions):
    # 7 failures: 0.5^7 < 1 - 0.99. Ten shrinks: 0.5 x 0.7^10 = 0.014 is the first below 0.02.
    search = LocalisedRecursiveRandomSearch(dimensions)
    told = minimise(search, lambda _: 1.0, 44)
    centre = told[0][0]
    for shrinks in range(10):
        half = 0.5 * 0.5 * 0.7**shrinks + 1e-12
        for point, _ in minimise(search, lambda _: 2.0, 7):
            assert all(abs(x - c) <= half for x, c in zip(point, centre, strict=True))
    exploring = minimise(search, lambda _: 2.0, 44)
    assert max(abs(point[0] - centre[0]) for point, _ in exploring) > 0.3


# --- settings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("cma-es", "first_step", 0.0),
        ("cma-es", "stop_side", 1.0),
        ("cma-es", "population", 3),
        ("gaussian-process", "at_once", 0),
        ("gaussian-process", "spread", 0),
        ("localised-recursive-random-search", "first_side", 1.0),
        ("localised-recursive-random-search", "side_ratio", 0.0),
    ],
)
def test_a_setting_outside_its_range_is_refused(name, setting, value):
    with pytest.raises(ValueError, match=setting):
        SEARCHES[name](2, **{setting: value})


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("cma-es", {"proposed": 10**9}),
        ("cma-es", {"told": [[[0.5, 0.5], 1.0]] * 3}),
        ("cma-es", {"history": [[[0.5, 0.5], 1.0]]}),
        ("cma-es", {"descent": -1}),
        ("cma-es", {"descent": -2}),
        ("cma-es", {"best_spread": [[[0.5, 0.5], "many"]]}),
        ("gaussian-process", {"proposed": 5}),
        ("gaussian-process", {"known": [[[0.5, 0.5], "many"]]}),
        ("gaussian-process", {"known": [[[0.5], 1.0]]}),
        ("gaussian-process", {"shape": [0.0, 0.0, 0.0]}),
    ],
)
def test_a_damaged_state_is_refused(name, damage):
    search = SEARCHES[name](2)
    minimise(search, bowl, 62)  # whole generations of CMA-ES
    search.ask(2)
    state = json.loads(json.dumps(search.state()))
    SEARCHES[name].from_state(state)
    with pytest.raises(ValueError, match=r"not accepted|argument|could not|negative"):
        SEARCHES[name].from_state({**state, "memory": {**state["memory"], **damage}})


@pytest.mark.parametrize("name", SEARCHES)
def test_the_settings_of_a_search_make_the_same_search_again(name):
    search = SEARCHES[name](3)
    settings = json.loads(json.dumps(search.settings()))
    again = SEARCHES[name](3, **settings)
    assert minimise(again, bowl, 60) == minimise(search, bowl, 60)
