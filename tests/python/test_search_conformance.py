"""Every registered search keeps the promises of the interface."""

import json
import math
import re
import subprocess
import sys

import pytest

from vermilion.search import SEARCHES, Search, search_from_state, search_named
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


class TestLocalisedRecursiveRandomSearch(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["localised-recursive-random-search"](dimensions, seed=seed, **settings)


class TestCmaEs(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["cma-es"](dimensions, seed=seed, **settings)


class TestCmaEsThatStartsAgainOften(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["cma-es"](dimensions, seed=seed, population=5, stop_side=0.2, **settings)


class TestGaussianProcess(SearchConformance):
    enough = 80  # a fit takes milliseconds

    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return SEARCHES["gaussian-process"](dimensions, seed=seed, **settings)


class Lattice(Search):
    """A user's own search, which is in no registry: the additive recurrence of golden ratios."""

    name = "lattice"
    summary = "a search that only this test knows"
    used = 0

    def _propose(self):
        self.used += 1
        return tuple(
            (0.01 * self.seed + self.used * math.sqrt(2 + axis)) % 1.0
            for axis in range(self.dimensions)
        )

    def _learn(self, point, value):  # noqa: ARG002 - a lattice learns nothing
        return False

    def _memory(self):
        return {"used": self.used}

    def _remember(self, memory):
        self.used = memory["used"]


class TestASearchOfOnesOwn(SearchConformance):
    def make(self, dimensions: int, seed: int = 1, **settings) -> Search:
        return Lattice(dimensions, seed=seed, **settings)


class Forgetful(Lattice):
    def _memory(self):
        return {"used": 0}


class Eager(Lattice):
    def _propose(self):
        # Where it goes next depends on what it has been told, which it does not wait for.
        self.used += self.evaluations
        return super()._propose()


class Greedy(Lattice):
    def recommend(self):
        return self.outstanding()[0] if self.outstanding() else super().recommend()


@pytest.mark.parametrize(
    ("kind", "test", "complaint"),
    [
        (Forgetful, "test_a_restored_search_continues_exactly", "another way"),
        (Eager, "test_how_many_points_are_asked_for_at_a_time_does_not_matter", "another way"),
        (Greedy, "test_it_can_be_stopped_at_any_moment", "best so far"),
    ],
)
def test_a_search_that_breaks_a_promise_is_found_out(kind, test, complaint):
    conformance = TestASearchOfOnesOwn()
    conformance.make = lambda dimensions, seed=1, **settings: kind(
        dimensions, seed=seed, **settings
    )
    with pytest.raises(AssertionError, match=complaint):
        getattr(conformance, test)()


def test_every_search_is_tested():
    tested = {conformance().make(1).name for conformance in SearchConformance.__subclasses__()}
    assert tested == {*SEARCHES, Lattice.name}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_state_says_which_search_it_belongs_to(name):
    search = SEARCHES[name](2)
    search.tell(points := search.ask(1), [1.0] * len(points))
    restored = search_from_state(json.loads(json.dumps(search.state())))
    assert type(restored) is SEARCHES[name]
    assert restored.state() == search.state()


def test_names_and_summaries_suit_a_command_line():
    for name, search in SEARCHES.items():
        assert re.fullmatch("[a-z]+(-[a-z]+)*", name)
        assert name == search.name
        assert 0 < len(search.summary) < 80
        assert "\n" not in search.summary


def test_an_unknown_search_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r'"simplex".*recursive-random-search.* random-search'):
        search_named("simplex")


@pytest.mark.parametrize("module", ["numpy", "scipy", "pydantic"])
def test_naming_the_searches_loads_no_heavy_module(module):
    program = f"import sys, vermilion.search; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
