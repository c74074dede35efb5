"""Recursive random search (T. Ye and S. Kalyanaraman, SIGMETRICS 2003, pages 196-205).

Random sampling finds good regions quickly and good points slowly. So: sample the whole box
until a point of the best ``r`` fraction has been found with confidence ``p`` (exploration);
then sample a box around it, moving its centre to every improvement and shrinking it after
repeated failures (exploitation); when it is small, explore again, and exploit each point
that is better than the mean of the minima of the batches explored so far.

What the paper leaves open, and what is done here:

- The neighbourhood's size ``rho`` is a fraction of the *volume*: its side is
  ``rho^(1/d)`` of the range, centred, and what lies outside the box is cut off. (The
  inequality ``|z - x| < rho^(1/d)`` of the paper, read as a half width, would make it
  ``2^d`` times as large.)
- The threshold for exploitation is the mean over *all* batch minima, as published, not the
  last one's as in some implementations.
- ``stop_volume`` is a volume too, so in many dimensions the box hardly shrinks before the
  local search stops: with 16 dimensions and 0.001 its last side is 2/3 of the range.
  ``stop_side`` sets the side at which to stop instead, whatever the dimension.
- A batch without a single feasible point (all values infinite) tells nothing about the
  values of the function and leaves the threshold alone; until there is a finite value,
  there is nothing to exploit and exploration goes on.
- Start points take part in choosing the first centre. They are no uniform sample, so the
  batch minima, which estimate a quantile, leave them out.

Evaluations in parallel: the published search evaluates one point at a time. Here the points
asked for beyond the first are those that the published search would evaluate next if all
those before them failed, which most do. When one of them is an improvement, the later ones
are taken back, and the search continues exactly as the published one would have: step k uses
the k-th uniform point of the stream in any case. So the path of the search, and what it
recommends, do not depend on how many points are asked for at a time.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from vermilion.search.interface import Search, number_from_json, number_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.search.uniform_points import Point


@dataclass(slots=True)
class _Stage:
    """State of the search after some number of evaluations.

    Attributes:
        step: evaluations so far, start points not counted; the next uniform point's number.
        phase: the first batch, whose best point is exploited whatever its value; or
            exploiting; or exploring.
        batch_size: points of the present exploration batch so far.
        batch_minimum: the lowest value among them.
        minima: the minima of the completed batches.
        centre: of the neighbourhood; in the first batch, the best point so far.
        centre_value: its value.
        volume: of the neighbourhood, as a fraction of the cube.
        failures: since the last improvement or shrink.
    """

    step: int = 0
    phase: Literal["first batch", "exploit", "explore"] = "first batch"
    batch_size: int = 0
    batch_minimum: float = math.inf
    minima: tuple[float, ...] = ()
    centre: Point = ()
    centre_value: float = math.inf
    volume: float = 0.0
    failures: int = 0

    @property
    def threshold(self) -> float:
        """The value below which an explored point is worth exploiting: the minima's mean."""
        return math.fsum(self.minima) / len(self.minima) if self.minima else math.inf


class RecursiveRandomSearch(Search):
    """Random search of the whole box, then of smaller and smaller boxes around good points.

    The defaults are the published ones.

    Args:
        dimensions: see :class:`Search`.
        seed: see :class:`Search`.
        start_points: see :class:`Search`.
        exploration_confidence: p, with which a batch contains a point of the best fraction.
        exploration_percentile: r, that fraction; also the neighbourhood's first volume.
        exploitation_confidence: q, with which a neighbourhood that still contains better
            points is not shrunk.
        exploitation_percentile: v, the fraction of the neighbourhood expected to be better.
        shrink_ratio: c, what is left of the neighbourhood's volume after a shrink.
        stop_volume: st, the volume at which a local search ends.
        stop_side: if given, ends it at this side length instead: st = stop_side^dimensions.
    """

    name: ClassVar[str] = "recursive-random-search"
    summary: ClassVar[str] = "explores at random, then zooms in (Ye 2003)"

    def __init__(
        self,
        dimensions: int,
        *,
        seed: int = 1,
        start_points: Iterable[Point] = (),
        exploration_confidence: float = 0.99,
        exploration_percentile: float = 0.1,
        exploitation_confidence: float = 0.99,
        exploitation_percentile: float = 0.8,
        shrink_ratio: float = 0.5,
        stop_volume: float = 0.001,
        stop_side: float | None = None,
    ) -> None:
        super().__init__(dimensions, seed=seed, start_points=start_points)
        self._settings: dict[str, float | None] = {
            "exploration_confidence": exploration_confidence,
            "exploration_percentile": exploration_percentile,
            "exploitation_confidence": exploitation_confidence,
            "exploitation_percentile": exploitation_percentile,
            "shrink_ratio": shrink_ratio,
            "stop_volume": stop_volume,
            "stop_side": stop_side,
        }
        for setting, value in self._settings.items():
            if value is not None and not 0.0 < value < 1.0:
                message = f"{setting}: {value} is not accepted; expected a number between 0 and 1"
                raise ValueError(message)
        self.first_volume = exploration_percentile
        self.shrink_ratio = shrink_ratio
        self.stop_volume = stop_volume if stop_side is None else stop_side**dimensions
        self.exploration_batch = samples_needed(exploration_confidence, exploration_percentile)
        self.failures_before_shrink = samples_needed(
            exploitation_confidence, exploitation_percentile
        )
        # After every value learned; and after every point proposed, had they all failed.
        self._now = _Stage()
        self._ahead = _Stage()

    def settings(self) -> dict[str, object]:
        """The constructor's further arguments, by name."""
        return dict(self._settings)

    def neighbourhood_side(self, volume: float) -> float:
        """The side of the neighbourhood of this volume, as a fraction of the range."""
        return float(volume ** (1.0 / self.dimensions))

    def _propose(self) -> Point | None:
        ahead = self._ahead
        if self._complete(ahead):
            # Which point will be exploited depends on values that are not known.
            return None
        point = self._point(ahead)
        self._ahead = self._next_stage(ahead, point, math.inf)
        return point

    def _learn(self, point: Point, value: float) -> bool:
        before = self._now
        improves = (before.phase == "exploit" and value < before.centre_value) or (
            before.phase == "explore" and value < before.threshold
        )
        self._now = self._next_stage(before, point, value)
        if self._now.phase == "first batch" and self._now.batch_size == self.exploration_batch:
            self._now = self._start_exploitation(self._now)
            improves = True
        if improves or self._now.step == self._ahead.step:
            self._ahead = self._now
        self._uniform.release(self._now.step)
        return improves

    def _complete(self, stage: _Stage) -> bool:
        """True if the first batch is complete and its best point not yet exploited."""
        return stage.phase == "first batch" and stage.batch_size == self.exploration_batch

    def _point(self, stage: _Stage) -> Point:
        """The point that the published search evaluates at this stage."""
        uniform = self._uniform.point(stage.step)
        if stage.phase != "exploit":
            return uniform
        half = 0.5 * self.neighbourhood_side(stage.volume)
        return tuple(
            _interpolate(max(0.0, centre - half), min(1.0, centre + half), fraction)
            for centre, fraction in zip(stage.centre, uniform, strict=True)
        )

    def _next_stage(self, stage: _Stage, point: Point, value: float) -> _Stage:
        """The stage after this point turned out to have this value."""
        stage = replace(stage, step=stage.step + 1)
        if stage.phase == "exploit":
            if value < stage.centre_value:
                return replace(stage, centre=point, centre_value=value, failures=0)
            stage.failures += 1
            if stage.failures == self.failures_before_shrink:
                stage.volume *= self.shrink_ratio
                stage.failures = 0
                if stage.volume <= self.stop_volume:
                    stage.phase = "explore"
            return stage
        stage.batch_size += 1
        stage.batch_minimum = min(stage.batch_minimum, value)
        if stage.phase == "first batch":
            if value < stage.centre_value or not stage.centre:
                stage.centre, stage.centre_value = point, value
            return stage
        promising = value < stage.threshold
        if stage.batch_size == self.exploration_batch:
            stage = _close_batch(stage)
        return self._exploitation_stage(stage, point, value) if promising else stage

    def _start_exploitation(self, stage: _Stage) -> _Stage:
        """Exploit the best of the first batch and the start points."""
        centre, value = stage.centre, stage.centre_value
        if self._best_start is not None and self._best_start.value < value:
            centre, value = self._best_start.point, self._best_start.value
        stage = _close_batch(stage)
        if value == math.inf:
            return replace(stage, phase="explore")
        return self._exploitation_stage(stage, centre, value)

    def _exploitation_stage(self, stage: _Stage, centre: Point, value: float) -> _Stage:
        volume = self.first_volume
        return replace(
            stage,
            phase="exploit" if volume > self.stop_volume else "explore",
            centre=centre,
            centre_value=value,
            volume=volume,
            failures=0,
        )

    def _memory(self) -> dict[str, object]:
        return {"now": _stage_to_json(self._now), "ahead": _stage_to_json(self._ahead)}

    def _remember(self, memory: Mapping[str, Any]) -> None:
        self._now = _stage_from_json(memory["now"])
        self._ahead = _stage_from_json(memory["ahead"])


def samples_needed(confidence: float, fraction: float) -> int:
    """Uniform samples of which one lies in a given fraction with this confidence, rounded.

    All of n miss it with probability (1 - fraction)^n = 1 - confidence.
    """
    return max(1, round(math.log(1.0 - confidence) / math.log(1.0 - fraction)))


def _close_batch(stage: _Stage) -> _Stage:
    minima = stage.minima
    if stage.batch_minimum < math.inf:
        minima = (*minima, stage.batch_minimum)
    return replace(stage, minima=minima, batch_size=0, batch_minimum=math.inf)


def _interpolate(lower: float, upper: float, fraction: float) -> float:
    # Rounding may step over the upper end by one unit in the last place.
    return min(upper, lower + fraction * (upper - lower))


def _stage_to_json(stage: _Stage) -> dict[str, object]:
    return {
        **asdict(stage),
        "batch_minimum": number_to_json(stage.batch_minimum),
        "centre_value": number_to_json(stage.centre_value),
    }


def _stage_from_json(entry: Mapping[str, Any]) -> _Stage:
    return _Stage(
        **{
            **entry,
            "minima": tuple(entry["minima"]),
            "centre": tuple(entry["centre"]),
            "batch_minimum": number_from_json(entry["batch_minimum"]),
            "centre_value": number_from_json(entry["centre_value"]),
        }
    )
