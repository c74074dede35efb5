"""The one interface of every search: ask for points, tell their values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

from vermilion.search.uniform_points import Point, UniformPoints

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

STATE_VERSION: Final = 2
"""Version of what :meth:`Search.state` returns. It goes up with the edition of
:class:`vermilion.search.space.Space`, too: a search does not know what its coordinates mean, and
would go on with points that have become other settings."""


@dataclass(slots=True)
class _Issue:
    """A point that was asked for.

    Attributes:
        number: its place in the order of asking, from 0.
        point: where.
        start: whether it is one of the start points.
        value: what was told, ``None`` before that.
    """

    number: int
    point: Point
    start: bool
    value: float | None = None


class _Incumbent(NamedTuple):
    """The best used so far; ordered by value, then by the order of asking."""

    value: float
    number: int
    point: Point


class Search(ABC):
    """A search for the lowest value of a function on the unit cube.

    The life of a search::

        search = RandomSearch(dimensions=4, seed=1, start_points=[known_good_point])
        while time_is_left:
            points = search.ask(8)                  # at most 8, as many as it can use now
            search.tell(points, [function(point) for point in points])
        best = search.recommend()

    - **ask** gives at most ``n`` new points. It gives fewer, even none, when what to try next
      depends on values not told yet; while nothing is outstanding it gives at least one. The
      start points come first.
    - **tell** takes values in any order and in parts: points of several ``ask`` in one
      ``tell``, or one at a time. The search uses them in the order of asking, so it goes the
      same way however they arrive, and says which it has used. Lower is better; ``math.inf``
      is the value of a point that failed, is infeasible, or will never be evaluated. NaN is
      refused.
    - A search may ask for points ahead of its time, to keep many processors busy, and take
      them back when earlier values lead elsewhere. Their values are waited for but never
      used, so that what it finds does not depend on how many points are asked for at a time.
    - **recommend** names the best point whose value has been used.
    - **state** can be taken at any moment, put into JSON, and given to ``from_state``, which
      continues exactly there. Points asked for and not told are still waited for;
      ``outstanding`` lists them.

    A search never learns what its coordinates mean: :class:`vermilion.search.space.Space`
    turns points into parameter values.

    To write one, implement ``_propose``, ``_learn``, ``_memory`` and ``_remember`` (and
    ``settings`` if the constructor takes more, and ``independent`` if it knows), add its line to
    ``vermilion.search.registry``, and test it with ``vermilion.search.testing``.
    :class:`vermilion.search.generations.Generations` has what searches have in common that go
    from one batch of points to the next.

    Args:
        dimensions: coordinates of a point, at least 1.
        seed: of the random points, an integer from 0 up; the same seed gives the same search.
        start_points: points of the cube to be asked for first, such as settings that were
            good before.

    Attributes:
        name: how the search is chosen.
        summary: one line about it.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    def __init__(
        self, dimensions: int, *, seed: int = 1, start_points: Iterable[Point] = ()
    ) -> None:
        if dimensions < 1:
            message = f"dimensions: {dimensions} is not accepted; expected at least 1"
            raise ValueError(message)
        if seed < 0:
            message = f"seed: {seed} is not accepted; expected an integer from 0 up"
            raise ValueError(message)
        self.dimensions = dimensions
        self.seed = seed
        self._start_points = [self._checked_point(point) for point in start_points]
        self._starts_given = 0
        self._next_number = 0
        self._used = 0
        self._best: _Incumbent | None = None
        self._best_start: _Incumbent | None = None
        # Asked for and not told, by point: several issues of one point are told in turn.
        self._waiting: dict[Point, deque[_Issue]] = {}
        # In the order of asking, what has still to be used; taken-back points are not in it.
        self._unlearned: deque[_Issue] = deque()
        self._uniform = UniformPoints(dimensions, seed)

    def ask(self, n: int) -> list[Point]:
        """Return at most ``n`` points whose values the search would use now."""
        points: list[Point] = []
        while len(points) < n:
            start = self._starts_given < len(self._start_points)
            point = self._start_points[self._starts_given] if start else self._propose()
            if point is None:
                break
            self._starts_given += start
            self._issue(_Issue(self._next_number, point, start))
            self._next_number += 1
            points.append(point)
        return points

    def independent(self) -> int:
        """Number of next points that do not depend on values not told yet.

        Who has many processors asks for these together. 0: it cannot tell.
        """
        return 0

    def tell(self, points: Sequence[Point], values: Sequence[float]) -> list[Point]:
        """Takes the values of points that were asked for.

        Returns:
            The points whose values have been used now, in the order of asking: not those that
            still wait for an earlier one's, nor those that were taken back.

        Raises:
            ValueError: a point that is not outstanding, a value that is NaN or minus infinity,
                or lists of different lengths. Nothing has been told then.
        """
        self._check_values(points, values)
        for point, value in zip(points, values, strict=True):
            queue = self._waiting[point]
            queue.popleft().value = float(value)
            if not queue:
                del self._waiting[point]
        used: list[Point] = []
        while self._unlearned and (known := self._unlearned[0].value) is not None:
            issue = self._unlearned.popleft()
            used.append(issue.point)
            self._best = _better(self._best, issue, known)
            if issue.start:
                self._best_start = _better(self._best_start, issue, known)
                self._learn_start(issue.point, known)
            elif self._learn(issue.point, known):
                self._unlearned.clear()
        self._used += len(used)
        return used

    def recommend(self) -> Point:
        """The point with the lowest value used, the first asked for among equals.

        Raises:
            LookupError: no value has been used.
        """
        if self._best is None:
            message = "no value has been told, so nothing is recommended"
            raise LookupError(message)
        return self._best.point

    @property
    def best_value(self) -> float:
        """The value of the recommendation, ``math.inf`` before there is one."""
        return math.inf if self._best is None else self._best.value

    @property
    def evaluations(self) -> int:
        """Number of values used."""
        return self._used

    def outstanding(self) -> list[Point]:
        """The points asked for and not told, in the order of asking."""
        return [issue.point for issue in self._pending_issues()]

    def settings(self) -> dict[str, object]:
        """The constructor's further arguments, for the record and for ``from_state``."""
        return {}

    def state(self) -> dict[str, object]:
        """State that continues this search exactly, for JSON."""
        learnable = {issue.number for issue in self._unlearned}
        kept = {issue.number: issue for issue in self._pending_issues()}
        kept.update({issue.number: issue for issue in self._unlearned})
        return {
            "search": self.name,
            "version": STATE_VERSION,
            "dimensions": self.dimensions,
            "seed": self.seed,
            "settings": self.settings(),
            "start_points": [list(point) for point in self._start_points],
            "starts_given": self._starts_given,
            "next_number": self._next_number,
            "used": self._used,
            "best": _best_state(self._best),
            "best_start": _best_state(self._best_start),
            "issues": [
                {**_issue_state(issue), "taken_back": number not in learnable}
                for number, issue in sorted(kept.items())
            ],
            "uniform": self._uniform.state(),
            "memory": self._memory(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The search whose :meth:`state` this was.

        Raises:
            ValueError: the state is another search's or another version's.
        """
        if state.get("search") != cls.name or state.get("version") != STATE_VERSION:
            message = (
                f"state of search {state.get('search')!r}, version {state.get('version')!r} "
                f"is not accepted; expected {cls.name!r}, version {STATE_VERSION}"
            )
            raise ValueError(message)
        search = cls(
            state["dimensions"],
            seed=state["seed"],
            start_points=[tuple(point) for point in state["start_points"]],
            **state["settings"],
        )
        search._restore(state)
        return search

    @abstractmethod
    def _propose(self) -> Point | None:
        """The next point, or ``None`` while it depends on values that are not known."""

    @abstractmethod
    def _learn(self, point: Point, value: float) -> bool:
        """Uses the value of the oldest proposal not learned.

        Returns:
            Whether this takes back every later proposal.
        """

    @abstractmethod
    def _memory(self) -> dict[str, object]:
        """Memory of this kind of search, for JSON."""

    @abstractmethod
    def _remember(self, memory: Mapping[str, Any]) -> None:
        """Takes back what ``_memory`` gave."""

    def _learn_start(self, point: Point, value: float) -> None:  # noqa: B027 - most need not
        """Uses the value of a start point; the best of them is known without."""

    @property
    def _are_starts_evaluated(self) -> bool:
        """True if the values of all start points have been used."""
        return self._used >= len(self._start_points)

    def _issue(self, issue: _Issue) -> None:
        self._waiting.setdefault(issue.point, deque()).append(issue)
        self._unlearned.append(issue)

    def _pending_issues(self) -> list[_Issue]:
        issues = (issue for queue in self._waiting.values() for issue in queue)
        return sorted(issues, key=lambda issue: issue.number)

    def _check_values(self, points: Sequence[Point], values: Sequence[float]) -> None:
        if len(points) != len(values):
            message = f"told {len(points)} points and {len(values)} values; expected as many"
            raise ValueError(message)
        times: dict[Point, int] = {}
        for point, value in zip(points, values, strict=True):
            if math.isnan(value) or value == -math.inf:
                message = (
                    f"value {value} is not accepted; expected a number, "
                    "or math.inf for a point that failed"
                )
                raise ValueError(message)
            times[point] = times.get(point, 0) + 1
            if times[point] > len(self._waiting.get(point, ())):
                message = f"point {point} is not outstanding: it was not asked for, or told before"
                raise ValueError(message)

    def _checked_point(self, point: Point) -> Point:
        if len(point) != self.dimensions or not all(0.0 <= x <= 1.0 for x in point):
            message = (
                f"start point {point} is not accepted; expected {self.dimensions} numbers in [0, 1]"
            )
            raise ValueError(message)
        return tuple(float(x) for x in point)

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._starts_given = state["starts_given"]
        self._next_number = state["next_number"]
        self._used = state["used"]
        self._best = _incumbent_from_json(state["best"])
        self._best_start = _incumbent_from_json(state["best_start"])
        for entry in state["issues"]:
            issue = _issue_from(entry)
            if issue.value is None:
                self._waiting.setdefault(issue.point, deque()).append(issue)
            if not entry["taken_back"]:
                self._unlearned.append(issue)
        self._uniform.restore(state["uniform"])
        self._remember(state["memory"])


def number_to_json(value: float | None) -> float | str | None:
    """A value as JSON can hold it: infinity becomes the text "infinity"."""
    return "infinity" if value == math.inf else value


def number_from_json(value: float | str) -> float:
    """The inverse of :func:`number_to_json`."""
    return math.inf if value == "infinity" else float(value)


def _issue_state(issue: _Issue) -> dict[str, object]:
    return {
        "number": issue.number,
        "point": list(issue.point),
        "start": issue.start,
        "value": number_to_json(issue.value),
    }


def _issue_from(entry: Mapping[str, Any]) -> _Issue:
    value = entry["value"]
    return _Issue(
        entry["number"],
        tuple(entry["point"]),
        entry["start"],
        None if value is None else number_from_json(value),
    )


def _better(best: _Incumbent | None, issue: _Issue, value: float) -> _Incumbent:
    told = _Incumbent(value, issue.number, issue.point)
    return told if best is None else min(best, told)


def _best_state(best: _Incumbent | None) -> dict[str, object] | None:
    if best is None:
        return None
    return {
        "value": number_to_json(best.value),
        "number": best.number,
        "point": list(best.point),
    }


def _incumbent_from_json(entry: Mapping[str, Any] | None) -> _Incumbent | None:
    if entry is None:
        return None
    return _Incumbent(number_from_json(entry["value"]), entry["number"], tuple(entry["point"]))
