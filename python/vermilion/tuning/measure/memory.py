"""What a tuning may remember of its simulations, so that it can be stopped and gone on with.

Without a deadline a tuning is a function of its arguments: search, screening, race and comparison
follow from what the simulations say. So none of their states has to be saved. Who keeps the
outcome of every simulation can begin the same tuning again: what is known is taken from the
memory, what is not is simulated, and the outcome is that of a tuning that was never stopped. The
memory is a file in :mod:`vermilion.tuning.keep.study`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.simulate.result_data import ResultData
    from vermilion.tuning.measure.candidates import Setting
    from vermilion.tuning.measure.fidelity import FidelityReport

SimulatedFor = Literal[
    "incumbent", "pilot", "search", "refinement", "climb", "re-evaluation", "comparison"
]
"""What a simulation was made for."""

KEPT_WHOLE: frozenset[SimulatedFor] = frozenset({"incumbent", "comparison"})
"""Of these, all that was measured is remembered: more than objective and constraints is used."""


@dataclass(frozen=True, slots=True)
class KeptSimulation:
    """What is remembered of one simulation.

    Attributes:
        objective: what the objective asks to be minimised; infinite if not measured.
        constrained: for each constraint, its metric's values in each phase.
        not_measured: why the objective is infinite, if so.
        data: all that was measured (``Result.data``), where it was kept.
    """

    objective: float
    constrained: Sequence[Sequence[float | None]]
    not_measured: str | None
    data: ResultData | None = None


@dataclass(frozen=True, slots=True)
class Used:
    """A setting whose value the search has used.

    Attributes:
        number: its place in the order of use, from 1.
        setting: values of the tuned parameters, by path.
        length: the fraction of the measured time that was simulated.
        seeds: how many it has met; fewer than the others if one showed it to be hopeless.
        told: what the search was told, which orders settings: below 1 for those that keep the
            constraints.
        objective: the mean over its seeds, to be minimised; infinite if not measured.
        violation: how badly it breaks the constraints; 0 if it keeps them.
        simulations: of the whole tuning by then. It depends on how many run at a time.
    """

    number: int
    setting: Setting
    length: float
    seeds: int
    told: float
    objective: float
    violation: float
    simulations: int


class SimulationMemory(Protocol):
    """Keeps the simulations of one scenario."""

    def recall(
        self, length: float, setting: Setting, seeds: Sequence[int]
    ) -> Mapping[int, KeptSimulation]:
        """What is known of a setting, by seed.

        Args:
            length: the fraction of the scenario's measured time.
            setting: values of the tuned parameters, by path.
            seeds: those that are asked about.
        """

    def keep(
        self,
        length: float,
        made_for: SimulatedFor,
        outcomes: Iterable[tuple[Setting, int, KeptSimulation]],
    ) -> None:
        """Remembers simulations, all or none of them: setting, seed, outcome."""


class Memory(SimulationMemory, Protocol):
    """Keeps a tuning: its simulations, and what its search has made of them."""

    def use(self, used: Sequence[Used]) -> None:
        """Remembers settings whose values the search has used, all or none of them."""

    def fidelity(self) -> FidelityReport | None:
        """What was found about short simulations, which a deadline may have decided."""

    def keep_fidelity(self, report: FidelityReport) -> None:
        """Remembers what was found about short simulations."""
