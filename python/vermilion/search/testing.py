"""Tests that every search must pass, to be inherited; a search of your own needs no registration.

A new search is tested against the interface's promises with four lines in a file that pytest
collects (it finds the inherited methods)::

    from vermilion.search.testing import SearchConformance

    class TestMySearch(SearchConformance):
        def make(self, dimensions, seed=1, **settings):
            return MySearch(dimensions, seed=seed, **settings)

``settings`` are further arguments of the constructor; the tests themselves give
``start_points``. Each test fails with an ``AssertionError`` that says which promise was broken.
Some 3000 points are asked for in all.
"""

# ruff: noqa: D102 - the names of the tests say what they test

from __future__ import annotations

import json
import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.search.interface import Search
    from vermilion.search.uniform_points import Point


class SearchConformance:
    """The interface's promises; a test class for each search inherits them."""

    enough = 300
    """Evaluations in which a search has shown every kind of behaviour it has."""

    @abstractmethod
    def make(self, dimensions: int, seed: int = 1, **settings: Any) -> Search:  # noqa: ANN401 - settings differ by search
        """The search under test; ``settings`` go to its constructor."""

    def test_points_lie_in_the_unit_cube(self) -> None:
        for dimensions in (1, 2, 7):
            for point, _ in minimise(self.make(dimensions), bowl, self.enough):
                _require(len(point) == dimensions, f"{point} has not {dimensions} coordinates")
                _require(all(0.0 <= x <= 1.0 for x in point), f"{point} lies outside the cube")

    def test_the_same_seed_gives_the_same_points(self) -> None:
        first = minimise(self.make(3, seed=5), bowl, self.enough)
        _require(first == minimise(self.make(3, seed=5), bowl, self.enough), "two searches differ")

    def test_another_seed_gives_other_points(self) -> None:
        first, second = (minimise(self.make(3, seed=seed), bowl, 20) for seed in (5, 6))
        _require(first != second, "seeds 5 and 6 give the same points")

    def test_it_never_stalls_and_never_gives_more_than_asked_for(self) -> None:
        search = self.make(2)
        for n in (1, 2, 3, 7, 50, 200, 1, 64):
            points = search.ask(n)
            _require(1 <= len(points) <= n, f"asked for {n} points, got {len(points)}")
            search.tell(points, [bowl(point) for point in points])
        _require(search.ask(0) == [], "asked for no points, got some")

    def test_the_order_of_telling_does_not_matter(self) -> None:
        forward, backward = self.make(2), self.make(2)
        for _ in range(40):
            points = forward.ask(8)
            _require(points == backward.ask(8), "told in another order, it goes another way")
            used = forward.tell(points, [bowl(point) for point in points])
            later: list[Point] = []
            for point in reversed(points):
                later += backward.tell([point], [bowl(point)])
            _require(later == used, "told in another order, it uses other values")
        _require(forward.state() == backward.state(), "told in another order, it ends elsewhere")

    def test_how_many_points_are_asked_for_at_a_time_does_not_matter(self) -> None:
        path = [point for point, _ in minimise(self.make(3), bowl, self.enough)]
        for at_once in (2, 3, 8, 64):
            search = self.make(3)
            used: list[Point] = []
            while len(used) < self.enough:
                points = search.ask(min(at_once, self.enough - len(used)))
                used += search.tell(points, [bowl(point) for point in points])
            _require(used == path, f"asked for {at_once} points at a time, it goes another way")
            best = min(path, key=bowl)
            _require(search.recommend() == best, f"it recommends {search.recommend()}, not {best}")

    def test_points_that_are_independent_are_all_given_and_used(self) -> None:
        for function in (bowl, lambda point: -bowl(point), lambda _: math.inf):
            search = self.make(2, start_points=[(0.25, 0.75), (0.5, 0.5)])
            while search.evaluations < self.enough:
                count = search.independent()
                points = search.ask(max(1, count))
                _require(len(points) >= count, f"{count} are independent, {len(points)} given")
                used = search.tell(points, [function(point) for point in points])
                _require(used[:count] == points[:count], f"of {count} it uses {len(used)}")

    def test_values_may_be_told_while_others_are_outstanding(self) -> None:
        search = self.make(2)
        waiting: list[Point] = []
        for _ in range(self.enough):
            waiting += search.ask(3)
            oldest = waiting.pop(0)
            search.tell([oldest], [bowl(oldest)])
            _require(search.outstanding() == waiting, "the list of what is outstanding is wrong")

    def test_the_start_points_come_first(self) -> None:
        starts = [(0.25, 0.75), (0.5, 0.5), (0.25, 0.75)]
        search = self.make(2, start_points=starts)
        points = search.ask(2) + search.ask(3)
        _require(points[:3] == starts, f"expected the start points first, got {points[:3]}")
        search.tell(points, [bowl(point) for point in points])
        _require(search.ask(1) != [], "the search ends after its start points")

    def test_it_recommends_the_best_point_told(self) -> None:
        search = self.make(3)
        told = minimise(search, bowl, self.enough)
        best, value = min(told, key=lambda pair: pair[1])
        _require(search.recommend() == best, f"{search.recommend()} is not the best, {best}")
        _require(search.best_value == value, f"{search.best_value} is not the best, {value}")
        _require(search.evaluations == len(told), "the number of evaluations is wrong")

    def test_it_can_be_stopped_at_any_moment(self) -> None:
        search = self.make(2)
        best = math.inf
        while search.evaluations < self.enough:
            points = search.ask(7)
            # The deadline comes before the values of half of them.
            for point in points[: 1 + len(points) // 2]:
                used = search.tell([point], [bowl(point)])
                best = min([best, *map(bowl, used)])
                _require(search.best_value == best, "it forgets the best value so far")
                _require(bowl(search.recommend()) == best, "it does not recommend the best so far")
            rest = search.outstanding()
            best = min([best, *map(bowl, search.tell(rest, [bowl(point) for point in rest]))])

    def test_nothing_told_means_nothing_recommended(self) -> None:
        search = self.make(2)
        search.ask(1)
        _require(search.best_value == math.inf, "there is a best value of nothing")
        _refuses(LookupError, search.recommend)

    def test_failed_points_are_legal_values(self) -> None:
        told = minimise(self.make(2), lambda _: math.inf, self.enough)
        _require(len(set(told)) == len(told), "it repeats points that failed")
        search = self.make(2)
        minimise(search, half_failing_bowl, self.enough)
        _require(search.best_value < math.inf, "it never finds the half that works")

    def test_nonsense_is_refused_and_nothing_is_told(self) -> None:
        search = self.make(2)
        points = search.ask(2)
        before = search.state()
        _refuses(ValueError, lambda: search.tell(points, [1.0, math.nan]))
        _refuses(ValueError, lambda: search.tell(points, [1.0, -math.inf]))
        _refuses(ValueError, lambda: search.tell(points, [1.0]))
        _refuses(ValueError, lambda: search.tell([points[0], points[0]], [1.0, 1.0]))
        _refuses(ValueError, lambda: search.tell([(0.5, 0.25)], [1.0]))
        _require(search.state() == before, "a refused value changed the search")
        _refuses(ValueError, lambda: self.make(0))
        _refuses(ValueError, lambda: self.make(2, seed=-1))
        _refuses(ValueError, lambda: self.make(2, start_points=[(0.5, 1.5)]))

    def test_a_restored_search_continues_exactly(self) -> None:
        for rounds in (0, 1, 5, 12, 40):
            search = self.make(3, start_points=[(0.1, 0.2, 0.3)])
            for _ in range(rounds):
                points = search.ask(7)
                # Some points stay outstanding, some are told out of order.
                search.tell(points[1::2], [half_failing_bowl(point) for point in points[1::2]])
                first = search.outstanding()[:4]
                search.tell(first, [half_failing_bowl(point) for point in first])
            state = json.loads(json.dumps(search.state(), allow_nan=False))
            restored = type(search).from_state(state)
            _require(restored.state() == search.state(), "the state does not survive a round trip")
            for copy in (search, restored):
                rest = copy.outstanding()
                copy.tell(rest, [half_failing_bowl(point) for point in rest])
            going_on = minimise(search, half_failing_bowl, 100, at_once=5)
            _require(
                minimise(restored, half_failing_bowl, 100, at_once=5) == going_on,
                f"restored after {rounds} rounds, the search goes another way",
            )

    def test_another_state_is_refused(self) -> None:
        search = self.make(2)
        _refuses(ValueError, lambda: search.from_state({**search.state(), "version": 0}))
        _refuses(ValueError, lambda: search.from_state({**search.state(), "search": "other"}))


def minimise(
    search: Search,
    function: Callable[[Point], float],
    budget: int,
    *,
    at_once: int = 1,
) -> list[tuple[Point, float]]:
    """Lets a search minimise a function; gives the points in the order of asking.

    Args:
        search: goes on from where it is.
        function: of a point of the unit cube.
        budget: evaluations.
        at_once: points to ask for at a time.
    """
    told: list[tuple[Point, float]] = []
    while len(told) < budget:
        points = search.ask(min(at_once, budget - len(told)))
        values = [function(point) for point in points]
        search.tell(points, values)
        told.extend(zip(points, values, strict=True))
    return told


def bowl(point: Point) -> float:
    """The squared distance from a point off the middle of the cube."""
    return math.fsum((x - 0.3) ** 2 for x in point)


def half_failing_bowl(point: Point) -> float:
    """The same, failing in the half of the cube that does not hold the minimum."""
    return bowl(point) if point[0] < 0.5 else math.inf  # noqa: PLR2004 - the middle


def _require(condition: bool, message: str) -> None:  # noqa: FBT001 - like the statement assert
    # Not the statement ``assert``, which ``python -O`` leaves out.
    if not condition:
        raise AssertionError(message)


def _refuses(error: type[Exception], action: Callable[[], object]) -> None:
    try:
        action()
    except error:
        return
    message = f"expected {error.__name__}"
    raise AssertionError(message)
