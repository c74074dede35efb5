"""Settings on seeds: what the simulations of a setting have shown so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self

from vermilion.objectives import NotMeasuredError
from vermilion.tuning.measure.memory import KeptSimulation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Objective
    from vermilion.scenario.errors import ScenarioError
    from vermilion.simulate import Result
    from vermilion.simulate.result_data import ResultData
    from vermilion.tuning.measure.candidates import Setting


class Watched(Protocol):
    """Something of a result that is kept beside the objective, such as a constraint's metric."""

    def values(self, result: Result) -> Sequence[float | None]:
        """The values, in each phase."""


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
    """

    setting: Setting
    seeds: list[int] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)
    constrained: list[list[Sequence[float | None]]] = field(default_factory=list)
    refusal: ScenarioError | None = None
    not_measured: NotMeasuredError | None = None
    results: list[Result] = field(default_factory=list, compare=False, repr=False)
    text: str | None = field(default=None, compare=False, repr=False)

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
        """What is simulated for it: itself, or a piece for each of several scenarios."""
        return (self,)

    def another(self, setting: Setting) -> Evaluation:
        """One of the same kind, of another setting."""
        return Evaluation(setting)

    def fresh(self) -> Evaluation:
        """One of the same setting, on no seeds yet."""
        return Evaluation(self.setting, text=self.text)

    def apart(self) -> Evaluation:
        """The same scenario, with which the others are compared."""
        return self.fresh()

    def gather(self) -> None:
        """Takes in what its pieces have met; nothing where it is its own."""

    def become_reference(self) -> None:
        """Is told that others of its kind are to be measured by it."""

    def latest(self, count: int) -> Sequence[float]:
        """What the objective asks to be minimised, with each of the latest so many seeds."""
        return self.objectives[-count:]

    def only_first(self) -> Evaluation:
        """The same with its first seed alone."""
        return Evaluation(
            self.setting,
            self.seeds[:1],
            self.objectives[:1],
            [values[:1] for values in self.constrained],
            self.refusal,
            self.not_measured,
            text=self.text,
        )

    def is_complete(self, seeds: Sequence[int]) -> bool:
        """Whether there is nothing left to simulate with these seeds."""
        return self.refusal is not None or set(seeds) <= set(self.seeds)

    def add(
        self,
        seed: int,
        result: Result,
        objective: Objective,
        constraints: Sequence[Watched],
    ) -> None:
        """Takes in what one more simulation has shown."""
        self.seeds.append(seed)
        try:
            self.objectives.append(objective.evaluate(result))
        except NotMeasuredError as absent:
            # No transfer has completed, say: as bad as can be, and no reason to end a search.
            self.objectives.append(math.inf)
            self.not_measured = NotMeasuredError(f"with seed {seed}, {absent}")
        if not self.constrained:
            self.constrained = [[] for _ in constraints]
        for values, constraint in zip(self.constrained, constraints, strict=True):
            values.append(constraint.values(result))

    def last_outcome(self, data: ResultData | None) -> KeptSimulation:
        """What :meth:`add` has just taken in, to be remembered.

        Args:
            data: all that was measured, if that is to be remembered too.
        """
        objective = self.objectives[-1]
        absent = self.not_measured if math.isinf(objective) else None
        return KeptSimulation(
            objective,
            [values[-1] for values in self.constrained],
            None if absent is None else str(absent),
            data,
        )

    def add_outcome(self, seed: int, outcome: KeptSimulation) -> None:
        """Takes in a simulation that is remembered, as :meth:`add` would have."""
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
