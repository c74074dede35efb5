"""A question to the engine: where settings are measured, what may be changed, and what is wanted.

The tuning of one scenario, one setting for several scenarios, and a controller's search for the
traffic that it sees are ways of asking it. What they add is how the question comes about and what
is made of the answer (:class:`vermilion.tuning.engine.Tuning`). How long it may take and who
simulates is no part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.tuning.evaluation import Joining, JointEvaluation
from vermilion.tuning.horizon import Horizon

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.search import Search, Space
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.comparison import Comparison
    from vermilion.tuning.evaluation import Evaluation, Seeds
    from vermilion.tuning.memory import Memory, Runner
    from vermilion.tuning.simulations import Condition

    Compare = Callable[[Evaluation, Evaluation, float], Comparison]

RACE_SEEDS: Final = 6
"""Seeds that each of the shortlist can meet on average, if the race may use as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Value that the outcome of a search follows from.

    Attributes:
        conditions: that are given, each with what is in force there, its objective and what has
            to hold, margins of harm among that.
        joining: how several of them make one number, and their weights; ``None`` for a single one.
        around: further conditions, which share the other half of the weight.
        least_size: of the objective (:attr:`vermilion.objectives.Objective.least_size`).
        space: what may be changed, and how far.
        search: that is asked and told.
        rules: settings by rules of thumb, which are taken unless the best is clearly better.
        earlier: those of a search that this one goes on with: they are tried again.
        seeds: of the simulations.
        budget: settings of the search.
        shortlist: how many settings race.
        race_runs: simulations of the race; ``None`` for :data:`RACE_SEEDS` of each.
        pilot_seed: of the settings that tell whether short simulations would do; ``None`` for the
            full length without asking.
        compare: decides between two settings at a confidence; without it the fresh seeds are met
            and nothing is decided.
    """

    conditions: Sequence[Condition]
    joining: Joining | None = None
    around: Sequence[Condition] = ()
    least_size: float = 0.0
    space: Space
    search: Search
    rules: Sequence[Setting] = ()
    earlier: Sequence[Mapping[str, float]] = ()
    seeds: Seeds
    budget: int
    shortlist: int
    race_runs: int | None = None
    pilot_seed: int | None = None
    compare: Compare | None = None

    @property
    def race_budget(self) -> int:
        """Simulations of the race, the incumbent's included."""
        usual = (self.shortlist + 1) * min(RACE_SEEDS, len(self.seeds.re_evaluation))
        return usual if self.race_runs is None else self.race_runs

    @property
    def maximised(self) -> bool:
        """True if high values are wanted; of several conditions the joint number is minimised."""
        return self.joining is None and self.conditions[0].objective.maximised

    def horizon(
        self,
        threads: int | None = None,
        workers: Runner | None = None,
        memory: Memory | None = None,
        around: Runner | None = None,
    ) -> Horizon:
        """The conditions at full length, with the evaluations of what is in force.

        Args:
            threads: simulations at a time; ``None`` for one on each core.
            workers: do the longer simulations; ``None`` for this machine.
            memory: of what has been simulated; ``None`` for none.
            around: simulates the further conditions; ``None`` for the same.
        """
        standing = [each.standing_evaluation() for each in self.conditions]
        now = (
            standing[0]
            if self.joining is None
            else JointEvaluation.of_incumbents(standing, self.joining)
        )
        size = self.least_size
        full = Horizon.of(self.conditions, now, threads, workers, memory, least_size=size)
        for each in self.around:
            own = each.standing_evaluation()
            full.around.append(Horizon.of([each], own, threads, around or workers, least_size=size))
        return full
