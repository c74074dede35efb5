"""Every registered search keeps the promises of the interface."""

import re
import subprocess
import sys

import pytest

from vermilion.search import SEARCHES, Search, search_named
from vermilion.search.testing import SearchConformance


class TestRandomSearch(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["random-search"](dimensions, seed=seed, **settings)


class TestRecursiveRandomSearch(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["recursive-random-search"](dimensions, seed=seed, **settings)


class TestRecursiveRandomSearchInOtherSettings(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["recursive-random-search"](
            dimensions,
            seed=seed,
            exploration_percentile=0.4,
            exploitation_percentile=0.3,
            shrink_ratio=0.7,
            stop_side=0.02,
            **settings,
        )


class TestSobol(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["sobol"](dimensions, seed=seed, **settings)


class TestCmaEs(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["cma-es"](dimensions, seed=seed, **settings)


class TestCmaEsThatStartsAgainOften(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["cma-es"](dimensions, seed=seed, population=5, stop_side=0.2, **settings)


class TestTreeParzenEstimator(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["tree-parzen-estimator"](dimensions, seed=seed, **settings)


class TestDifferentialEvolution(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["differential-evolution"](dimensions, seed=seed, **settings)


class TestDifferentialEvolutionThatStartsAgainOften(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["differential-evolution"](
            dimensions, seed=seed, population=5, stop_side=0.2, **settings
        )


class TestSimulatedAnnealing(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["simulated-annealing"](dimensions, seed=seed, **settings)


def test_every_search_is_tested():
    tested = {conformance().make(1).name for conformance in SearchConformance.__subclasses__()}
    assert tested == set(SEARCHES)


def test_names_and_summaries_suit_a_command_line():
    for name, search in SEARCHES.items():
        assert re.fullmatch("[a-z]+(-[a-z]+)*", name)
        assert name == search.name
        assert 0 < len(search.summary) < 80
        assert "\n" not in search.summary


def test_an_unknown_search_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r'"simplex".*recursive-random-search.* random-search'):
        search_named("simplex")


@pytest.mark.parametrize("module", ["numpy", "scipy", "cmaes", "optuna"])
def test_naming_the_searches_loads_no_heavy_module(module):
    program = f"import sys, vermilion.search; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
