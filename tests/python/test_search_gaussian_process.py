"""Bayesian optimisation does what its sources say: hand calculations, laws, and brute force."""

import json
import math
from contextlib import ExitStack
from statistics import median

import numpy as np
import pytest
from scipy.integrate import quad
from threadpoolctl import threadpool_info, threadpool_limits

from vermilion.search import SEARCHES, search_from_state
from vermilion.search.fitted_surface import (
    FittedSurface,
    Likelihood,
    Shape,
    comparable,
    fitted,
    log_improvement,
    promising_points,
    single_thread,
)
from vermilion.search.gaussian_process import GaussianProcess
from vermilion.search.testing import bowl, minimise


def drawn(seed):
    return np.random.Generator(np.random.PCG64(seed))


def matern(some, others, shape):
    """Rasmussen and Williams, equation 4.17, point by point."""
    lengths = np.exp(shape.lengths)
    table = np.empty((len(some), len(others)))
    for row, one in enumerate(some):
        for column, other in enumerate(others):
            r = math.sqrt(sum(((one - other) / lengths) ** 2))
            polynomial = 1.0 + math.sqrt(5.0) * r + 5.0 * r * r / 3.0
            table[row, column] = math.exp(shape.variance) * polynomial * math.exp(-math.sqrt(5) * r)
    return table


SHAPE = Shape((math.log(0.3), math.log(0.8)), math.log(1.7), math.log(0.05))


# --- the fitted surface ----------------------------------------------------------------------


def test_one_value_by_hand():
    # Variance 2, noise 0.5: at the point the mean is 2 / 2.5 of the value, and 2 - 4 / 2.5 is left.
    surface = FittedSurface(
        np.array([[0.4]]), np.array([1.5]), Shape((0.0,), math.log(2.0), math.log(0.5))
    )
    belief = surface.at(np.array([[0.4], [0.4 + 1.0]]))
    assert belief.mean[0] == pytest.approx(1.2, rel=1e-5)
    assert belief.deviation[0] == pytest.approx(math.sqrt(0.4), rel=1e-5)
    # A length away: 2 (1 + 2.23607 + 5 / 3) exp(-2.23607) = 1.047988.
    assert belief.mean[1] == pytest.approx(1.5 * 1.047988 / 2.5, rel=1e-5)
    assert belief.deviation[1] == pytest.approx(math.sqrt(2.0 - 1.047988**2 / 2.5), rel=1e-5)


def test_it_is_a_normal_distribution_conditioned_on_the_values():
    draw = drawn(1)
    points, values, elsewhere = draw.random((12, 2)), draw.standard_normal(12), draw.random((5, 2))
    belief = FittedSurface(points, values, SHAPE).at(elsewhere)
    told = matern(points, points, SHAPE) + (math.exp(SHAPE.noise) + 1e-6) * np.eye(12)
    across = matern(elsewhere, points, SHAPE)
    left = matern(elsewhere, elsewhere, SHAPE) - across @ np.linalg.solve(told, across.T)
    assert belief.mean == pytest.approx(across @ np.linalg.solve(told, values), rel=1e-8)
    assert belief.deviation == pytest.approx(np.sqrt(np.diag(left)), rel=1e-8)


def test_a_value_that_is_expected_leaves_the_doubt_that_it_would_leave_if_it_were_told():
    draw = drawn(2)
    points, values, elsewhere = draw.random((9, 2)), draw.standard_normal(9), draw.random((6, 2))
    belief = FittedSurface(points, values, SHAPE).at(elsewhere)
    for index in (4, 1):
        belief.expect(index)
    told = FittedSurface(
        np.vstack([points, elsewhere[[4, 1]]]), np.append(values, belief.mean[[4, 1]]), SHAPE
    ).at(elsewhere)
    assert belief.deviation == pytest.approx(told.deviation, rel=1e-7)
    assert belief.mean == pytest.approx(told.mean, abs=1e-7)


def test_the_gradient_is_that_of_small_steps():
    draw = drawn(3)
    points = draw.random((25, 2))
    likelihood = Likelihood(points, np.sin(5.0 * points[:, 0]) + 0.1 * draw.standard_normal(25))
    numbers = np.array(SHAPE.numbers())
    _, gradient = likelihood.improbability(SHAPE)
    for axis, slope in enumerate(gradient):
        step = np.zeros(4)
        step[axis] = 1e-5
        above, _ = likelihood.improbability(Shape.of_numbers((numbers + step).tolist()))
        below, _ = likelihood.improbability(Shape.of_numbers((numbers - step).tolist()))
        assert slope == pytest.approx((above - below) / 2e-5, rel=1e-5)


def test_improbability_is_the_density_of_the_values_and_of_what_was_believed():
    draw = drawn(4)
    points, values = draw.random((8, 2)), draw.standard_normal(8)
    likelihood = Likelihood(points, values)
    other = Shape((0.2, -0.4), 0.3, -3.0)

    def expected(shape):
        told = matern(points, points, shape) + (math.exp(shape.noise) + 1e-6) * np.eye(8)
        value = 0.5 * values @ np.linalg.solve(told, values) + 0.5 * np.linalg.slogdet(told)[1]
        length = math.sqrt(2.0) + 0.5 * math.log(2.0)
        off = [(each - length) ** 2 / 3.0 for each in shape.lengths]
        return value + 0.5 * (sum(off) + shape.variance**2 + (shape.noise + 4.0) ** 2)

    apart = likelihood.improbability(SHAPE)[0] - likelihood.improbability(other)[0]
    assert apart == pytest.approx(expected(SHAPE) - expected(other), rel=1e-9)


def test_a_fit_tells_noise_from_shape_and_axes_that_matter_from_those_that_do_not():
    draw = drawn(5)
    points = draw.random((120, 3))
    values = np.sin(6.0 * points[:, 0]) + 0.3 * draw.standard_normal(120)
    scale = values.std()
    shape = fitted(points, (values - values.mean()) / scale, Shape.believed(3))
    assert math.exp(0.5 * shape.noise) * scale == pytest.approx(0.3, rel=0.15)
    assert all(length > shape.lengths[0] + 1.0 for length in shape.lengths[1:])


# --- what promises most ----------------------------------------------------------------------


@pytest.mark.parametrize("off", [-3e4, -1e4 - 1, -1e4 + 1, -300.0, -8.0, -1.01, -0.99, 0.0, 2.5])
def test_the_logarithm_of_the_improvement_keeps_its_digits_however_small_it_is(off):
    # The integral of u phi(u - off) over u > 0, without exp(-off^2 / 2), in steps of 1 / |off|.
    scale = max(1.0, abs(off))

    def integrand(step):
        return step / scale**2 * math.exp(off * step / scale - 0.5 * (step / scale) ** 2)

    area, _ = quad(integrand, 0.0, 60.0, epsabs=0.0, epsrel=1e-10)
    expected = math.log(3.0) + math.log(area) - 0.5 * off**2 - 0.5 * math.log(2.0 * math.pi)
    # In units of three: improvement grows with the deviation.
    found = log_improvement(1.0, np.array([1.0 - 3.0 * off]), np.array([3.0]))
    assert found[0] == pytest.approx(expected, rel=1e-7)


def test_points_chosen_together_lie_apart():
    draw = drawn(6)
    known = draw.random((20, 2))
    surface = FittedSurface(known, np.sum(known, axis=1) - 1.0, SHAPE)
    points = promising_points(surface, known, 3, draw)
    assert len(set(points)) == 3
    alone = promising_points(surface, known, 1, drawn(7))
    assert all(0.0 <= x <= 1.0 for point in [*points, *alone] for x in point)


def test_values_are_compared_as_they_are_but_for_the_worst_fifth():
    found = comparable(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 7e6 + 1.0, math.inf]))
    assert found.mean() == pytest.approx(0.0, abs=1e-12)
    assert found.std() == pytest.approx(1.0)
    steps = np.diff(found)
    assert steps[:7] == pytest.approx(steps[0])
    # In units of the lowest four fifths, 7, it is a million above the best: 1 + ln(1e6) = 14.8.
    assert steps[7] == pytest.approx(7.0 * steps[0] * math.log(1e6))
    assert steps[8] == 0.0  # a point that failed counts as the worst that did not
    assert comparable(np.full(4, 7.0)).tolist() == [0.0] * 4


# --- one thread ------------------------------------------------------------------------------


def threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_whoever_leaves_last_gives_the_threads_back():
    with threadpool_limits(2, "blas"):
        before = threads()
        with ExitStack() as first, ExitStack() as second:
            first.enter_context(single_thread())
            second.enter_context(single_thread())
            first.close()
            assert threads() == {1}
        assert threads() == before == {2}


# --- the search ------------------------------------------------------------------------------


def branin(point):
    """0.397887 at its three lowest places (L. C. W. Dixon, G. P. Szego, 1978)."""
    x, y = 15.0 * point[0] - 5.0, 15.0 * point[1]
    valley = y - 5.1 * (x / (2 * math.pi)) ** 2 + 5.0 * x / math.pi - 6.0
    return valley**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(x) + 10.0


def found_by(name, function, budget, seeds=7):
    values = []
    for seed in range(seeds):
        search = SEARCHES[name](2, seed=seed)
        minimise(search, function, budget)
        values.append(branin(search.recommend()))
    return median(values)


def test_forty_values_find_the_lowest_place_of_branin_s_function():
    assert found_by("gaussian-process", branin, 40) < 0.397887 + 0.01
    assert found_by("localised-recursive-random-search", branin, 40) > 0.397887 + 0.1


def test_forty_noisy_values_find_a_low_place():
    draw = drawn(8)

    def noisy(point):
        return branin(point) + 2.0 * draw.standard_normal()

    # Three fifths of the box lie higher than 30.
    assert found_by("gaussian-process", noisy, 40) < 3.0


def test_evenly_spread_points_come_first():
    points = GaussianProcess(2, seed=3).ask(100)
    assert len(points) == 14
    assert [sorted(int(14 * point[axis]) for point in points) for axis in range(2)] == [
        list(range(14))
    ] * 2
    assert len(GaussianProcess(16).ask(100)) == 36


def test_many_values_are_thinned_to_the_best_and_the_latest():
    search = GaussianProcess(1, at_once=50, spread=300)
    points = search.ask(300)
    search.tell(points, [float(number) for number in range(300)])
    kept = [value for _, value in search.state()["memory"]["known"]]
    assert kept == [float(number) for number in (*range(120), *range(180, 300))]


def test_a_search_taken_up_between_two_fits_goes_on_with_the_last_one():
    search = GaussianProcess(2, seed=4)
    minimise(search, bowl, 40)
    again = search_from_state(json.loads(json.dumps(search.state())))
    assert minimise(again, bowl, 20) == minimise(search, bowl, 20)
