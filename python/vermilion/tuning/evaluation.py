"""Seeds of a tuning, and evaluations of settings on them, in one scenario or several.

One setting in several scenarios is one evaluation for searches, races and comparisons. Each
scenario's objective is divided by what its own incumbent reaches with the seeds of the search, so
that scenarios of different size can be compared; see :mod:`vermilion.tuning.robust`. Of these
ratios one number is made for each seed:

- "mean": their weighted mean.
- "worst": the ratio of the scenario whose mean over the seeds is the largest. So the mean over the
  seeds is the largest of the means, which is what is minimised; the mean of the largest ratio of
  each seed would be larger by chance alone, the more the noisier a scenario is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol, Self

from vermilion.files.document import document
from vermilion.objectives import NotMeasuredError
from vermilion.scenario.quantities import how_many
from vermilion.tuning.memory import KeptSimulation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vermilion.objectives import Objective
    from vermilion.scenario.errors import ScenarioError
    from vermilion.simulate import Result
    from vermilion.simulate.result_data import ResultData
    from vermilion.tuning.candidates import Setting


@document()
@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds of a tuning's three stages; no seed serves two of them.

    Attributes:
        search: common to all candidates of the search; at least one.
        re_evaluation: those that the few best settings may meet in addition, as many as it takes
            to tell them apart; may be empty.
        comparison: fresh ones for the best setting and the incumbent; at least two, because a
            single one says nothing about chance.
    """

    search: tuple[int, ...]
    re_evaluation: tuple[int, ...]
    comparison: tuple[int, ...]

    def __post_init__(self) -> None:
        seeds = (*self.search, *self.re_evaluation, *self.comparison)
        if len(set(seeds)) < len(seeds):
            message = f"seeds {seeds} are not accepted; expected no seed twice"
            raise ValueError(message)
        if not self.search or len(self.comparison) < 2:  # noqa: PLR2004 - an interval needs two
            message = (
                f"{how_many(len(self.search), 'seed')} for the search and {len(self.comparison)} "
                "for the comparison are not accepted; expected at least 1 and 2"
            )
            raise ValueError(message)

    @classmethod
    def counted(
        cls, first: int = 1, *, search: int = 3, re_evaluation: int = 15, comparison: int = 10
    ) -> Self:
        """Return so many seeds for each stage, one after the other from ``first`` on."""
        start, end = first + search, first + search + re_evaluation
        return cls(
            tuple(range(first, start)),
            tuple(range(start, end)),
            tuple(range(end, end + comparison)),
        )

    def further(self, count: int) -> tuple[int, ...]:
        """Return so many more seeds that no stage has met."""
        first = 1 + max((*self.search, *self.re_evaluation, *self.comparison))
        return tuple(range(first, first + count))


class Watched(Protocol):
    """Something of a result that is kept beside the objective, such as a constraint's metric."""

    def values(self, result: Result) -> Sequence[float | None]:
        """The values, in each phase."""


def outcome_of(
    seed: int,
    result: Result,
    objective: Objective,
    watched: Sequence[Watched],
    data: ResultData | None = None,
) -> KeptSimulation:
    """What one simulation has shown.

    Args:
        seed: of it.
        result: all that was measured, or what belongs to it.
        objective: what is evaluated.
        watched: what is kept beside it, such as constraints.
        data: all that was measured, if that is to be remembered too.
    """
    value, absent = math.inf, None
    try:
        value = objective.evaluate(result)
    except NotMeasuredError as error:
        # No transfer has completed, say: as bad as can be, and no reason to end a search.
        absent = f"with seed {seed}, {error}"
    return KeptSimulation(value, [each.values(result) for each in watched], absent, data)


@dataclass(slots=True)
class Evaluation:
    """A setting and its outcomes, one for each seed.

    Attributes:
        setting: values of the tuned parameters, by path.
        seeds: with which it was simulated.
        objectives: with each seed, what the objective asks to be minimised; infinite where
            it could not be measured.
        constrained: for each constraint, its metric's values with each seed in each phase.
        refusal: why the core would not simulate it, if so.
        not_measured: why the objective is infinite with some seed, if so.
        results: of the comparison all that was measured, with each seed; else none.
        text: what is simulated, as the core reads it, where that is no setting of what is tuned:
            another discipline that is in force. ``None`` for the setting.
        around: the same setting under other conditions, by their keys.
    """

    setting: Setting
    seeds: list[int] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)
    constrained: list[list[Sequence[float | None]]] = field(default_factory=list)
    refusal: ScenarioError | None = None
    not_measured: NotMeasuredError | None = None
    results: list[Result] = field(default_factory=list, compare=False, repr=False)
    text: str | None = field(default=None, compare=False, repr=False)
    around: dict[str, Evaluation] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        seeds: Iterable[int],
        results: Iterable[Result | None],
        objective: Objective,
        watched: Sequence[Watched],
        setting: Setting | None = None,
    ) -> Self:
        """Evaluate runs that were made elsewhere; ``None`` for those that were not."""
        found = cls(setting or {})
        for seed, result in zip(seeds, results, strict=False):
            if result is not None:
                found.add(seed, outcome_of(seed, result, objective, watched))
        return found

    @property
    def objective(self) -> float:
        """The objective's mean over the seeds; infinite if there is none."""
        if not self.objectives:
            return math.inf
        return math.fsum(self.objectives) / len(self.objectives)

    @property
    def first_objective(self) -> float:
        """The objective with the first seed alone."""
        return self.objectives[0]

    @property
    def pieces(self) -> Sequence[Evaluation]:
        """Simulated evaluations: itself, or one for each of several scenarios."""
        return (self,)

    def another(self, setting: Setting) -> Evaluation:
        """Return an evaluation of the same kind for another setting."""
        return Evaluation(setting)

    def fresh(self) -> Evaluation:
        """Return an evaluation of the same setting, on no seeds yet."""
        return Evaluation(self.setting, text=self.text)

    def apart(self) -> Evaluation:
        """The same scenario, with which the others are compared."""
        return self.fresh()

    def gather(self) -> None:
        """Takes in what its pieces have met; nothing where it is its own."""

    def become_reference(self) -> None:
        """Become the reference of other evaluations."""

    def latest(self, count: int) -> Sequence[float]:
        """Objective to be minimised, with each of the latest so many seeds."""
        return self.objectives[-count:]

    def first(self, count: int) -> Evaluation:
        """The same with its first seeds alone."""
        return Evaluation(
            self.setting,
            self.seeds[:count],
            self.objectives[:count],
            [values[:count] for values in self.constrained],
            self.refusal,
            self.not_measured,
            text=self.text,
        )

    def is_complete(self, seeds: Sequence[int]) -> bool:
        """True if there is nothing left to simulate with these seeds."""
        return self.refusal is not None or set(seeds) <= set(self.seeds)

    def add(self, seed: int, outcome: KeptSimulation) -> None:
        """Takes in what one more simulation has shown."""
        self.seeds.append(seed)
        self.objectives.append(outcome.objective)
        if outcome.not_measured is not None:
            self.not_measured = NotMeasuredError(outcome.not_measured)
        if not self.constrained:
            self.constrained = [[] for _ in outcome.constrained]
        for values, more in zip(self.constrained, outcome.constrained, strict=True):
            values.append(more)

    def extend(self, other: Self) -> None:
        """Takes in what another evaluation of the same setting has shown, on other seeds."""
        self.seeds += other.seeds
        self.objectives += other.objectives
        self.results += other.results
        self.not_measured = self.not_measured or other.not_measured
        if not self.constrained:
            self.constrained = [[] for _ in other.constrained]
        for values, more in zip(self.constrained, other.constrained, strict=True):
            values.extend(more)


Over = Literal["worst", "mean"]
"""How the scenarios make one number."""


@dataclass(slots=True)
class Joining:
    """Rule by which the scenarios' objectives make one.

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
        """Combine into one number for each seed.

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

    def first(self, count: int) -> JointEvaluation:
        """The same with the first seeds alone."""
        first = JointEvaluation(
            self.setting,
            parts=[part.first(count) for part in self.parts],
            joining=self.joining,
        )
        first.gather()
        return first

    def extend(self, other: Self) -> None:
        """Takes in what another evaluation of the same setting has shown, on other seeds."""
        for part, more in zip(self.parts, other.parts, strict=True):
            part.extend(more)
        self.gather()
