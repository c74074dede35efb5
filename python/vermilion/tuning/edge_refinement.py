"""Refinement along the constraints' edge: the last steps of a search, by a model.

The model is a linear trend and a fitted surface. What lies far from all that is known follows a
linear trend, taken off first by least squares. To what is left a surface is fitted
(:mod:`vermilion.search.fitted_surface`).

Values are taken as they are but for outliers: what lies many times the usual spread from the median
is drawn in, or the far end of a box would decide how smooth all of it looks.

A search that knows only numbers sees a cliff there: a step along the edge is either a little better
or, a little beyond, broken. It settles wherever it first meets the edge, which may be far from the
best place on it. What it has simulated tells more than it uses: how the objective and each margin
change with the setting. So both are modelled (:mod:`vermilion.tuning.edge_refinement`), and further
settings are simulated where the most is to be expected of them, the better they may be and the
surer they keep the bounds (expected constrained improvement: J. R. Gardner et al., "Bayesian
optimization with inequality constraints", ICML 2014). They keep the distance that the comparison
will need (:mod:`vermilion.tuning.horizon`), one in three of them twice that.

A search that used short simulations is refined in them first, and then at the whole length, where
bounds may lie elsewhere: there the length is one more coordinate of the models, so that a few runs
say where the short ones mislead.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

from vermilion.objectives.constraint import BROKEN
from vermilion.search.fitted_surface import FittedSurface, Shape, fitted, single_thread
from vermilion.tuning.horizon import SEARCHED_CONDITIONS
from vermilion.tuning.state import AT_ONCE, Length
from vermilion.tuning.verdict import paired_margins

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from vermilion.search import Point, Space
    from vermilion.tuning.evaluation import Evaluation
    from vermilion.tuning.horizon import Horizon

    Array = NDArray[np.float64]

_MOST_SPREADS: Final = 10.0
"""Spreads from the median at which a value is drawn in."""


class Surrogate:
    """A guess at a function from its values at some points.

    Args:
        points: a row each, coordinates from 0 to 1.
        values: one for each point, finite.
    """

    def __init__(self, points: Array, values: Array) -> None:
        middle = float(np.median(values))
        spread = float(np.median(np.abs(values - middle))) or float(np.std(values)) or 1.0
        drawn_in = np.clip(values, middle - _MOST_SPREADS * spread, middle + _MOST_SPREADS * spread)
        trend, *_ = np.linalg.lstsq(_with_intercept(points), drawn_in, rcond=None)
        self._trend: Array = trend.astype(np.float64)
        left = drawn_in - _with_intercept(points) @ self._trend
        self._scale = float(np.std(left)) or 1.0
        scaled = left / self._scale
        with single_thread():
            shape = fitted(points, scaled, Shape.believed(points.shape[1]))
            self._surface = FittedSurface(points, scaled, shape)

    def predict(self, points: Array) -> tuple[Array, Array]:
        """The guess at other points, and its standard deviation."""
        with single_thread():
            belief = self._surface.at(points)
        trend = _with_intercept(points) @ self._trend
        return trend + self._scale * belief.mean, self._scale * belief.deviation


def _with_intercept(points: Array) -> Array:
    """The points with a coordinate that is always 1, for the constant of a trend."""
    return np.column_stack([points, np.ones(len(points))])


STREAM: Final = "vermilion.tuning.edge_refinement.1"
"""Name and version of the random stream of the points that are considered."""

_INSIDE: Final = (1.0, 1.0, 2.0)
"""Times the usual distance from the bounds, in turn."""
_MOST_MODELLED: Final = 150
"""Settings nearest to the best that a model is made of: its cost grows with their cube."""
_FEWEST_MODELLED: Final = 10
_LEADERS: Final = 12
_CENTRES: Final = 3
"""So many of the best settings are what further ones are considered around."""
_ELSEWHERE: Final = 0.1
"""How far apart these lie, at least."""
_WIDTHS: Final = (0.03, 0.07, 0.15)
"""Standard deviations of the points that are considered around them, of the unit cube. Further off
lies what the search has given up, of which models know little."""
_CONSIDERED: Final = 300
"""Points at each of these."""
_LEAST_PROBABLE: Final = 0.4
"""How probable it has to be that a further setting keeps all bounds."""
_APART: Final = 0.07
"""How far apart the settings of a round are, about."""


class EdgeRefinement:
    """Further settings along the constraints' edge.

    Args:
        space: that is searched.
        seeds: of the search.
        seed: of the points that are considered.
        until: the moment when it must be over; ``None`` for as long as it takes.
        progress: called with the number of settings done.
    """

    def __init__(
        self,
        space: Space,
        seeds: Sequence[int],
        seed: int,
        until: float | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        self._space = space
        self._seeds = seeds
        self._until = until
        self._progress = progress
        sequence = np.random.SeedSequence([seed, *STREAM.encode()])
        self._random = np.random.Generator(np.random.PCG64(sequence))
        self.count = 0

    def run(self, here: Length, count: int, others: Sequence[Length] = ()) -> list[Evaluation]:
        """Simulates further settings.

        Args:
            here: the length at which they are simulated, with what is known of it.
            count: settings at most.
            others: what is known of other lengths.

        Returns:
            The new ones that have met all seeds, in the order in which they were tried; none where
            too little is known.
        """
        horizon, new, tried = here.horizon, [*here.evaluations], 0
        while tried < count and not self._is_out_of_time():
            points = self._points(Length(horizon, new), others, min(AT_ONCE, count - tried))
            trials = [horizon.incumbent.another(self._space.values(point)) for point in points]
            horizon.simulations.run(trials, self._seeds, until=self._until, made_for="refinement")
            first = self._seeds[:1]
            horizon.meet_conditions(trials, first, self._until, SEARCHED_CONDITIONS)
            done = [each for each in trials if each.is_complete(self._seeds)]
            new += [each for each in done if each.refusal is None]
            tried += len(done)
            self.count += len(done)
            if not done or len(done) < len(trials):
                break
            if self._progress is not None:
                self._progress(self.count)
        return new[len(here.evaluations) :]

    def _is_out_of_time(self) -> bool:
        return self._until is not None and time.monotonic() >= self._until

    def _points(self, here: Length, others: Sequence[Length], count: int) -> list[Point]:
        """Points of the highest expected improvement under the model."""
        horizon = here.horizon
        known = {tuple(each.setting.values()) for each in here.evaluations}
        ranked = sorted(here.evaluations, key=horizon.value)
        if not ranked:
            return []
        best = np.array(self._coordinates(ranked[0]))
        models = _Models.of([here, *others], self._coordinates, best)
        if models is None:
            return []
        considered = np.clip(
            np.vstack(
                [
                    centre + width * self._random.standard_normal((_CONSIDERED, len(centre)))
                    for centre in self._separated_leaders(ranked)
                    for width in _WIDTHS
                ]
            ),
            0.0,
            1.0,
        )
        expected = models.expect(considered)
        worth = np.ones(len(considered))
        points: list[Point] = []
        for number in range(len(considered)):
            if len(points) == count:
                break
            inside = _INSIDE[len(points) % len(_INSIDE)]
            leader = min(here.evaluations, key=lambda each: horizon.value(each, inside=inside))
            kept = horizon.value(leader, inside=inside) < BROKEN
            scores = worth * expected.scores(leader.objective if kept else None, inside)
            place = int(np.argmax(scores))
            if number and scores[place] <= 0.0:
                break
            point: Point = tuple(considered[place].tolist())
            setting = tuple(self._space.values(point).values())
            worth[place] = 0.0
            if setting in known:
                continue
            known.add(setting)
            points.append(point)
            apart = np.linalg.norm(considered - considered[place], axis=1)
            worth *= 1.0 - np.exp(-((apart / _APART) ** 2))
        return points

    def _separated_leaders(self, ranked: Sequence[Evaluation]) -> list[Array]:
        """The best settings that do not lie beside each other."""
        found: list[Array] = []
        for each in ranked[:_LEADERS]:
            point = np.array(self._coordinates(each))
            if all(float(np.linalg.norm(point - other)) > _ELSEWHERE for other in found):
                found.append(point)
            if len(found) == _CENTRES:
                break
        return found

    def _coordinates(self, evaluation: Evaluation) -> Point:
        setting = evaluation.setting
        return self._space.point({k: v for k, v in setting.items() if v is not None})


@dataclass(frozen=True, slots=True)
class _Expected:
    """Expectations of the models at the points considered.

    Attributes:
        objective: on the models' own scale, and how unsure it is.
        logarithmic: whether that scale is.
        margins: of each bound that matters its model, what it expects and how unsure it is.
    """

    objective: tuple[Array, Array]
    logarithmic: bool
    margins: Sequence[tuple[_Margin, tuple[Array, Array]]]

    def scores(self, best: float | None, inside: float) -> Array:
        """Expected constrained improvement at each point.

        Args:
            best: the objective to improve on; ``None`` where nothing keeps the bounds yet.
            inside: times the usual distance to be kept from the bounds.
        """
        mean, deviation = self.objective
        probable = np.ones(len(mean))
        for margin, guess in self.margins:
            probable = probable * margin.kept(guess, inside)
        if best is None:
            return probable
        aim = math.log(best) if self.logarithmic else best
        away = (aim - mean) / deviation
        density = np.exp(-0.5 * away**2) / math.sqrt(2.0 * math.pi)
        gain = np.maximum(deviation * (away * _normal_cdf(away) + density), 0.0)
        # Far beyond the edge much is to be gained with next to no probability, again and again.
        return np.where(probable >= _LEAST_PROBABLE, gain * probable, 0.0)


@dataclass(frozen=True, slots=True)
class _Models:
    """Models of the objective and of the margins that matter.

    Attributes:
        objective: of the objective, or its logarithm.
        logarithmic: which of them.
        margins: of each bound that something breaks.
        lengths: whether the length is a coordinate too.
        length: at which settings are to be simulated.
    """

    objective: Surrogate
    logarithmic: bool
    margins: Sequence[_Margin]
    lengths: bool
    length: float

    @classmethod
    def of(
        cls,
        known: Sequence[Length],
        coordinates: Callable[[Evaluation], Point],
        best: Array,
    ) -> _Models | None:
        """The models of what is known; ``None`` if that is too little.

        Args:
            known: the length at which settings are to be simulated, and others.
            coordinates: of a setting.
            best: the point around which they matter.
        """
        rows = []
        for each in known:
            horizon = each.horizon
            for evaluation in each.evaluations:
                if None in evaluation.setting.values() or not math.isfinite(evaluation.objective):
                    continue
                margins = [
                    _mean(row)
                    for phases in paired_margins(horizon.constraints, evaluation, horizon.incumbent)
                    for row, _ in phases
                ]
                point = coordinates(evaluation)
                rows.append(((*point, horizon.fraction), evaluation.objective, margins))
        if len(rows) < _FEWEST_MODELLED:
            return None
        points = np.array([row[0] for row in rows])
        apart = np.linalg.norm(points[:, :-1] - best, axis=1)
        nearest = np.argsort(apart, kind="stable")[:_MOST_MODELLED]
        points = points[nearest]
        lengths = bool(np.ptp(points[:, -1]) > 0.0)
        inputs = points if lengths else points[:, :-1]
        objectives = np.array([row[1] for row in rows])[nearest]
        logarithmic = bool(np.all(objectives > 0.0))
        table = np.array([row[2] for row in rows], dtype=np.float64)[nearest]
        allowances = _bound_margins(known[0].horizon, table.shape[1])
        return cls(
            Surrogate(inputs, np.log(objectives) if logarithmic else objectives),
            logarithmic,
            [
                _Margin.of(inputs, column, allowance)
                for column, allowance in zip(table.T, allowances, strict=True)
                if np.all(np.isfinite(column)) and np.any(column < allowance)
            ],
            lengths,
            known[0].horizon.fraction,
        )

    def expect(self, points: Array) -> _Expected:
        """Expectations at points of the unit cube."""
        if self.lengths:
            points = np.column_stack([points, np.full(len(points), self.length)])
        margins = [(each, each.model.predict(points)) for each in self.margins]
        return _Expected(self.objective.predict(points), self.logarithmic, margins)


@dataclass(frozen=True, slots=True)
class _Margin:
    """A model of the distance from a bound.

    On the safe side a margin often ends at a wall (a link is never more than full), and on the
    other it falls off a cliff. What matters is where it crosses the bound, so it is modelled on a
    scale that is even there and logarithmic far from it, the inverse hyperbolic sine.

    Attributes:
        model: on that scale.
        unit: of the scale, in the metric's own.
        allowance: the distance to be kept, in the metric's own unit.
    """

    model: Surrogate
    unit: float
    allowance: float

    @classmethod
    def of(cls, points: Array, margins: Array, allowance: float) -> _Margin:
        """The model of the margins at some points."""
        unit = max(float(np.quantile(np.abs(margins), 0.25)), allowance) or 1.0
        return cls(Surrogate(points, np.arcsinh(margins / unit)), unit, allowance)

    def kept(self, guess: tuple[Array, Array], inside: float) -> Array:
        """Probability that so many times the allowance is kept, for each guess."""
        mean, deviation = guess
        return _normal_cdf((mean - math.asinh(inside * self.allowance / self.unit)) / deviation)


def _bound_margins(horizon: Horizon, count: int) -> list[float]:
    """The distance to be kept from each of so many bounds, in every phase."""
    known = () if horizon.noise is None else horizon.noise.allowances()
    distances = list(chain.from_iterable(phases or () for phases in known))
    # Before anything is known of the noise there is nothing to keep.
    return distances if len(distances) == count else [0.0] * count


def _mean(values: Sequence[float | None]) -> float:
    """Mean of a margin over the seeds; NaN where one is missing or infinite."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else math.nan


def _normal_cdf(values: Array) -> Array:
    """The standard normal distribution function."""
    wide = np.abs(values) / math.sqrt(2.0)
    # erf by M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 7.1.26, which is
    # off by 1.5e-7 at most: far less than the models are.
    short = 1.0 / (1.0 + 0.3275911 * wide)
    series = short * (
        0.254829592
        + short
        * (-0.284496736 + short * (1.421413741 + short * (-1.453152027 + short * 1.061405429)))
    )
    tail: Array = 0.5 * series * np.exp(-(wide**2))
    return np.where(values >= 0.0, 1.0 - tail, tail)
