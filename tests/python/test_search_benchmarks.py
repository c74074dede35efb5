"""Recursive random search against random search on the functions of its paper.

Medians over 31 seeds at budgets of two batches and more. Sphere, Griewank and Ackley are
smooth or "globally convex"; Rastrigin's local minima hide its bowl from small samples, so
there only the larger budget is compared.
"""

from statistics import median

import numpy as np
import pytest

from vermilion.search import SEARCHES, search_named
from vermilion.search.testing import minimise

SEEDS = range(31)
BATCH = 44
OFF_CENTRE = 0.2
"""The minimum's distance from the middle, in half ranges: the middle may not be favoured."""


def sphere(x):
    return float(np.sum(x**2))


def rastrigin(x):
    return float(10 * len(x) + np.sum(x**2 - 10 * np.cos(2 * np.pi * x)))


def griewank(x):
    roots = np.sqrt(np.arange(1, len(x) + 1))
    return float(1 + np.sum(x**2) / 4000 - np.prod(np.cos(x / roots)))


def ackley(x):
    return float(
        20
        + np.e
        - 20 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
        - np.exp(np.mean(np.cos(2 * np.pi * x)))
    )


HALF_RANGES = {sphere: 500.0, griewank: 600.0, ackley: 32.768, rastrigin: 5.12}


def on_the_cube(function):
    def of_point(point):
        return function((2 * np.asarray(point) - 1 - OFF_CENTRE) * HALF_RANGES[function])

    return of_point


def median_best(name, function, dimensions, budget, judged=None, **settings):
    """The median, over the seeds, of the recommendation's (true) value."""
    judged = judged or function
    values = []
    for seed in SEEDS:
        search = SEARCHES[name](dimensions, seed=seed, **settings)
        minimise(search, function, budget)
        values.append(judged(search.recommend()))
    return median(values)


@pytest.mark.evidence
@pytest.mark.parametrize("budget", [2 * BATCH, 5 * BATCH])
@pytest.mark.parametrize("dimensions", [4, 16])
@pytest.mark.parametrize("function", [sphere, griewank, ackley])
def test_it_beats_random_search_on_globally_convex_functions(function, dimensions, budget):
    f = on_the_cube(function)
    recursive = median_best("recursive-random-search", f, dimensions, budget)
    assert recursive < median_best("random-search", f, dimensions, budget)


@pytest.mark.evidence
@pytest.mark.parametrize("dimensions", [4, 16])
def test_it_beats_random_search_among_many_local_minima_given_time(dimensions):
    f = on_the_cube(rastrigin)
    recursive = median_best("recursive-random-search", f, dimensions, 10 * BATCH)
    assert recursive < median_best("random-search", f, dimensions, 10 * BATCH)


def test_noise_does_not_mislead_it():
    f = on_the_cube(sphere)
    spread = 0.3 * f((0.5,) * 4)

    def noisy(point):
        # The noise is a property of the point, as with a fixed set of simulation seeds.
        return f(point) + np.random.default_rng(abs(hash(point))).normal(0.0, spread)

    recursive = median_best("recursive-random-search", noisy, 4, 5 * BATCH, judged=f)
    assert recursive < median_best("random-search", noisy, 4, 5 * BATCH, judged=f)


def test_parameters_that_do_not_matter_do_no_harm():
    f = on_the_cube(sphere)

    def half_ignored(point):
        return f(point[::2])

    recursive = median_best("recursive-random-search", half_ignored, 8, 5 * BATCH)
    assert recursive < median_best("random-search", half_ignored, 8, 5 * BATCH)


def test_in_many_dimensions_a_stop_side_localises_where_the_published_volume_does_not():
    f = on_the_cube(sphere)
    by_volume = median_best("recursive-random-search", f, 16, 300)
    by_side = median_best("recursive-random-search", f, 16, 300, stop_side=0.05)
    assert by_side < 0.1 * by_volume


def test_the_recommended_search_is_listed_first():
    assert next(iter(SEARCHES.values())) is search_named("recursive-random-search")
