"""One setting in several scenarios, as one evaluation for searches, races and comparisons.

Each scenario's objective is divided by what its own incumbent reaches with the seeds of the search,
so that scenarios of different size can be compared; see :mod:`vermilion.tuning.robust`. Of these
ratios one number is made for each seed:

- "mean": their weighted mean.
- "worst": the ratio of the scenario whose mean over the seeds is the largest. So the mean over the
  seeds is the largest of the means, which is what is minimised; the mean of the largest ratio of
  each seed would be larger by chance alone, the more the noisier a scenario is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self

from vermilion.tuning.measure.evaluation import Evaluation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.tuning.measure.candidates import Setting

Over = Literal["worst", "mean"]
"""How the scenarios make one number."""


@dataclass(slots=True)
class Joining:
    """How the scenarios' objectives make one.

    Attributes:
        over: "worst" or "mean".
        shares: the scenarios' weights in a mean, which add up to 1.
        scales: what each one's objective is divided by; known once the incumbents have been
            simulated.
        least_sizes: what these are at least (``Objective.least_size``); none for nothing.
    """

    over: Over
    shares: Sequence[float]
    scales: Sequence[float]
    least_sizes: Sequence[float] = ()

    def joined(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """One number for each seed.

        Args:
            rows: for each scenario its objective with each seed, all with the same seeds.
        """
        ratios = [
            [value / scale for value in row] for row, scale in zip(rows, self.scales, strict=True)
        ]
        if self.over == "worst":
            return max(ratios, key=math.fsum)
        return [
            math.fsum(share * ratio for share, ratio in zip(self.shares, values, strict=True))
            for values in zip(*ratios, strict=True)
        ]


@dataclass(slots=True)
class JointEvaluation(Evaluation):
    """A setting in several scenarios.

    What an evaluation has is gathered from the pieces: the joined objective, and the constraints of
    all scenarios one after the other.

    Attributes:
        parts: the same setting in each scenario; of the incumbents each scenario's own, where
            :attr:`setting` is empty if they differ.
        joining: common to all evaluations of a tuning.
    """

    parts: Sequence[Evaluation] = ()
    joining: Joining = field(default_factory=lambda: Joining("worst", (), ()))

    @classmethod
    def of_incumbents(cls, parts: Sequence[Evaluation], joining: Joining) -> JointEvaluation:
        """The scenarios' own settings, by which all others are measured."""
        settings = [part.setting for part in parts]
        common = settings[0] if all(each == settings[0] for each in settings) else {}
        return cls(common, parts=parts, joining=joining)

    @property
    def first_objective(self) -> float:
        """The joined objective with the first seed alone."""
        return self.joining.joined([part.objectives[:1] for part in self.parts])[0]

    @property
    def pieces(self) -> Sequence[Evaluation]:
        """The setting in each scenario."""
        return self.parts

    def another(self, setting: Setting) -> JointEvaluation:
        """Another setting in the same scenarios."""
        parts = [Evaluation(setting) for _ in self.parts]
        return JointEvaluation(setting, parts=parts, joining=self.joining)

    def fresh(self) -> JointEvaluation:
        """The same setting, or settings, on no seeds yet."""
        parts = [part.fresh() for part in self.parts]
        return JointEvaluation(self.setting, parts=parts, joining=self.joining)

    def apart(self) -> JointEvaluation:
        """The same settings, with which others (shorter simulations, say) are compared."""
        return replace(self.fresh(), joining=replace(self.joining))

    def gather(self) -> None:
        """Takes in what the parts have met: the seeds that all of them have."""
        refusals = [part.refusal for part in self.parts if part.refusal is not None]
        self.refusal = refusals[0] if refusals else None
        common = set.intersection(*(set(part.seeds) for part in self.parts))
        if self.refusal is not None or any(len(part.seeds) > len(common) for part in self.parts):
            # Refused, or cut short by a deadline: then nothing is made of it.
            self.seeds, self.objectives, self.constrained = [], [], []
            return
        absent = [part.not_measured for part in self.parts if part.not_measured is not None]
        self.not_measured = absent[0] if absent else None
        self.seeds = list(self.parts[0].seeds)
        self.objectives = self.joining.joined([part.objectives for part in self.parts])
        self.constrained = [values for part in self.parts for values in part.constrained]

    def become_reference(self) -> None:
        """Lets what these settings reach be the measure of all others: then they reach 1."""
        least = self.joining.least_sizes or [0.0] * len(self.parts)
        self.joining.scales = [
            max(abs(part.objective), size) or 1.0
            for part, size in zip(self.parts, least, strict=True)
        ]
        self.gather()

    def latest(self, count: int) -> Sequence[float]:
        """The joined objective with the latest seeds, as if there were no others."""
        return self.joining.joined([part.objectives[-count:] for part in self.parts])

    def only_first(self) -> JointEvaluation:
        """The same with the first seed alone."""
        first = JointEvaluation(
            self.setting,
            parts=[part.only_first() for part in self.parts],
            joining=self.joining,
        )
        first.gather()
        return first

    def extend(self, other: Self) -> None:
        """Takes in what another evaluation of the same setting has shown, on other seeds."""
        for part, more in zip(self.parts, other.parts, strict=True):
            part.extend(more)
        self.gather()
