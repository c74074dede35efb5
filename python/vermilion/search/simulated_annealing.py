"""Simulated annealing: accepts worse points too, less and less of them.

S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by simulated annealing", Science 220,
1983, in the fast form of H. Szu and R. Hartley, "Fast simulated annealing", Physics Letters A 122,
1987, pages 157-162: steps are drawn from a Cauchy distribution, which makes a long one now and
then at any temperature, and the temperature falls as 1/(1 + k), not as 1/log(k). A worse value is
accepted with probability exp(-difference / temperature).

Where the papers leave a choice:

- A uniform sample of ten points comes first. The best of it and of the start points is where
  annealing begins, and the standard deviation of its values is the first temperature (S. White,
  "Concepts of scale in simulated annealing", ICCD 1984). If fewer than two of them have a finite
  value, no worse point is accepted.
- Each coordinate has its own Cauchy step, of scale ``first_step`` of the range at first, which
  falls with the temperature. What leaves the box is reflected at its bounds.
- k is the number of steps divided by the number of dimensions, so that more parameters are
  cooled more slowly.

Evaluations in parallel: points asked for ahead are those that follow if all those before them are
rejected; when one is accepted, the later ones are taken back. Step k uses the k-th random numbers
in any case, so what is found does not depend on how many points are asked for at a time. While it
is hot, most steps are accepted, and asking ahead gains little.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vermilion.search.generations import Told, told_from_json, told_to_json
from vermilion.search.interface import Search
from vermilion.search.uniform_points import named_generator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.search.uniform_points import Point

_STREAM: Final = "vermilion.search.simulated-annealing.1"


class SimulatedAnnealing(Search):
    """Fast simulated annealing.

    Args:
        dimensions: see :class:`Search`.
        seed: see :class:`Search`.
        start_points: see :class:`Search`.
        sample: uniform points before annealing begins.
        first_step: scale of the first steps, as a fraction of the range.
    """

    name: ClassVar[str] = "simulated-annealing"
    summary: ClassVar[str] = "accepts worse points too, ever fewer (Szu and Hartley)"

    def __init__(
        self,
        dimensions: int,
        *,
        seed: int = 1,
        start_points: Iterable[Point] = (),
        sample: int = 10,
        first_step: float = 0.25,
    ) -> None:
        super().__init__(dimensions, seed=seed, start_points=start_points)
        if sample < 1:
            message = f"sample: {sample} is not accepted; expected at least 1"
            raise ValueError(message)
        if not 0.0 < first_step <= 1.0:
            message = (
                f"first_step: {first_step} is not accepted; expected a number above 0, at most 1"
            )
            raise ValueError(message)
        self._settings = {"sample": sample, "first_step": first_step}
        self.sample = sample
        self.first_step = first_step
        # Values learned, and points proposed had all those not learned been rejected.
        self._step = 0
        self._ahead = 0
        # The finite values of the sample.
        self._values: list[float] = []
        # Where it stands, once a point with a finite value is known and the sample complete.
        self._at: list[Told] = []

    def settings(self) -> dict[str, object]:
        """The constructor's further arguments, by name."""
        return dict(self._settings)

    def temperature(self, step: int) -> float:
        """As a fraction of the first one, after so many steps."""
        return 1.0 / (1.0 + max(0, step - self.sample) / self.dimensions)

    @property
    def first_temperature(self) -> float:
        """In the values' unit; 0 while it is not known."""
        if len(self._values) < 2:  # noqa: PLR2004 - a spread needs two
            return 0.0
        mean = math.fsum(self._values) / len(self._values)
        squares = math.fsum((value - mean) ** 2 for value in self._values)
        return math.sqrt(squares / (len(self._values) - 1))

    def _propose(self) -> Point | None:
        if not self._at and self._ahead >= self.sample and self._ahead > self._step:
            # Where annealing begins depends on values that are not known.
            return None
        point = self._point(self._ahead)
        self._ahead += 1
        return point

    def _point(self, step: int) -> Point:
        """What is tried at a step from where the search stands now."""
        uniform = named_generator(_STREAM, self.seed, step).random(self.dimensions).tolist()
        if not self._at:
            return tuple(uniform)
        scale = self.first_step * self.temperature(step)
        return tuple(
            _reflected(x + scale * math.tan(math.pi * (u - 0.5)))
            for x, u in zip(self._at[0].point, uniform, strict=True)
        )

    def _learn(self, point: Point, value: float) -> bool:
        step = self._step
        self._step += 1
        if not self._at:
            return self._learn_sample(Told(point, value))
        accepted = self._accepts(value, step)
        if accepted:
            self._at = [Told(point, value)]
            self._ahead = self._step
        return accepted

    def _learn_sample(self, told: Told) -> bool:
        if told.value < math.inf:
            self._values.append(told.value)
        if self._step >= self.sample and self._best is not None and self._best.value < math.inf:
            self._at = [Told(self._best.point, self._best.value)]
        return False

    def _accepts(self, value: float, step: int) -> bool:
        worse = value - self._at[0].value
        if worse <= 0.0:
            return True
        hot = self.first_temperature * self.temperature(step)
        if hot <= 0.0 or worse == math.inf:
            return False
        numbers = named_generator(_STREAM, self.seed, step).random(self.dimensions + 1)
        return bool(numbers[-1] < math.exp(-worse / hot))

    def _memory(self) -> dict[str, object]:
        return {
            "step": self._step,
            "ahead": self._ahead,
            "values": list(self._values),
            "at": told_to_json(self._at),
        }

    def _remember(self, memory: Mapping[str, Any]) -> None:
        self._step = memory["step"]
        self._ahead = memory["ahead"]
        self._values = [float(value) for value in memory["values"]]
        self._at = told_from_json(memory["at"])


def _reflected(x: float) -> float:
    """A coordinate outside [0, 1], reflected at the bounds as often as needed."""
    x = math.fmod(abs(x), 2.0)
    return 2.0 - x if x > 1.0 else x
