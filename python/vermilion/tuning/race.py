"""The race of a comparison: seeds go where they decide something.

It serves the leaders of a search (:class:`LeadersOfSearch`), whose best values are partly luck, and
the settings of a device that advice compares (:mod:`vermilion.advise.judgement`). They meet seeds
together, a few at a time. After each round every one is compared with the first of them, seed by
seed; who is clearly worse stops, and the simulations saved go to those that cannot be told apart
yet. The race ends when it is decided, or the seeds, the simulations or the time are spent; the
lowest mean of those left is the likely best. (The idea is that of O. Maron and A. W. Moore,
"Hoeffding races", NIPS 1993, with paired t tests as in M. Birattari et al., "A racing algorithm
for configuring metaheuristics", GECCO 2002, where a Friedman test precedes them.)

- *Clearly worse* means: the paired one-sided t test at 5 %, shared among the leaders' challengers
  (Bonferroni), finds its objective larger, or its constraints are broken beyond doubt while the
  first's are not. Repeated looks are not corrected for: a mistake costs a good setting, never the
  validity of what is told of those that are left.
- Two settings with the same outcome on every seed cannot be told apart by more of them; the later
  one stops.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from vermilion.files.document import document
from vermilion.objectives import feasible_first
from vermilion.scenario.quantities import how_many
from vermilion.simulate.statistics import mean_interval
from vermilion.tuning.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.tuning.evaluation import Evaluation
    from vermilion.tuning.horizon import Horizon

_FIRST_ROUND: Final = 3
_LATER_ROUNDS: Final = 2
"""Seeds of a round. Three are the fewest of which a t test can be passed at all in practice."""

_ERROR: Final = 0.05
"""Probability of stopping the true best by one look, all challengers together."""


@document()
@dataclass(frozen=True, slots=True)
class RaceReport:
    """Report of a race.

    Attributes:
        leaders: settings that took part.
        left: those that could not be told from the winner, the winner included.
        seeds: that those left have met in the race.
        simulations: of all, the incumbent included.
    """

    leaders: int
    left: int
    seeds: int
    simulations: int

    def __str__(self) -> str:
        """Format as one line."""
        told = "the winner" if self.left == 1 else f"{self.left} that could not be told apart"
        return (
            f"{how_many(self.leaders, 'leader')} raced on up to "
            f"{how_many(self.seeds, 'further seed')} "
            f"({how_many(self.simulations, 'simulation')}), leaving {told}"
        )


Entrant = TypeVar("Entrant")
Met_contra = TypeVar("Met_contra", contravariant=True)


class Contest(Protocol[Met_contra]):
    """Subject of a race: who meets seeds, and what they show."""

    def meet(
        self,
        some: Sequence[Met_contra],
        seeds: Sequence[int],
        progress: Callable[[int], object] | None,
    ) -> int:
        """Simulates some entrants and their reference; returns how many seeds all have met."""

    def value(self, entrant: Met_contra) -> float:
        """Rank of an entrant by what it has met, to be minimised."""

    def differences(self, one: Met_contra, other: Met_contra) -> list[float]:
        """Amounts by which one is worse than the other, seed by seed of the race."""

    def is_feasible(self, entrant: Met_contra) -> bool:
        """True if it seems to keep all that has to be kept."""

    def is_broken(self, entrant: Met_contra) -> bool:
        """True if it breaks something beyond doubt."""

    def is_decided(self, left: Sequence[Met_contra]) -> bool:
        """True if further seeds would tell nothing."""


class Race(Generic[Entrant]):
    """Entrants and the seeds that they meet.

    Args:
        contest: in which they race.
        entrants: at least one, the likely best first.
    """

    def __init__(self, contest: Contest[Entrant], entrants: Sequence[Entrant]) -> None:
        self._contest = contest
        self._entrants = len(entrants)
        self.left = list(entrants)
        self._met = 0
        self._spent = 0

    def run(
        self,
        seeds: Sequence[int],
        budget: int,
        *,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Lets the entrants meet seeds until it is decided which is best.

        Args:
            seeds: that none of them has met.
            budget: simulations, the reference's included.
            progress: called with the number of simulations done.
        """
        while self._met < len(seeds) and (
            self._met == 0 or not self._contest.is_decided(self.left)
        ):
            size = _LATER_ROUNDS if self._met else _FIRST_ROUND
            affordable = (budget - self._spent) // (len(self.left) + 1)
            some = seeds[self._met : self._met + min(size, affordable)]
            if not some:
                return

            def report(done: int, before: int = self._spent) -> None:
                if progress is not None:
                    progress(before + done)

            met = self._contest.meet(self.left, some, report)
            self._met += met
            self._spent += met * (len(self.left) + 1)
            if met < len(some):
                return
            self._eliminate_worse()

    @property
    def winner(self) -> Entrant:
        """The likely best of those left; the first where none has met a seed."""
        return min(self.left, key=self._contest.value) if self._met else self.left[0]

    @property
    def report(self) -> RaceReport:
        """Report of the race so far."""
        return RaceReport(self._entrants, len(self.left), self._met, self._spent)

    def _eliminate_worse(self) -> None:
        contest, first = self._contest, self.winner
        sure = 1.0 - 2.0 * _ERROR / max(1, len(self.left) - 1)
        feasible, broken = contest.is_feasible(first), contest.is_broken(first)

        def stays(each: Entrant) -> bool:
            if contest.is_broken(each) and not broken:
                return False
            differences = contest.differences(each, first)
            return any(differences) and not (feasible and _surely_positive(differences, sure))

        self.left = [each for each in self.left if each is first or stays(each)]


class LeadersOfSearch:
    """Contest of a search's leaders.

    Only the seeds of the race count for the objective: those of the search favoured the leaders, or
    they would not be leaders. For constraints all seeds count, with the worse end of the interval.

    Args:
        horizon: in which they race; its incumbent meets the same seeds.
        until: the moment, on the clock of ``time.monotonic``, when the race must be over.
    """

    def __init__(self, horizon: Horizon, until: float | None) -> None:
        self._horizon = horizon
        self._until = until
        self._constraints = horizon.constraints
        self._incumbent = horizon.incumbent
        self._met = 0

    def meet(
        self,
        some: Sequence[Evaluation],
        seeds: Sequence[int],
        progress: Callable[[int], object] | None,
    ) -> int:
        """Simulates some leaders and the incumbent."""
        met = self._horizon.simulations.run_in_step(
            [self._incumbent, *some],
            seeds,
            until=self._until,
            progress=progress,
            made_for="re-evaluation",
        )
        self._met += met
        return met

    def is_decided(self, left: Sequence[Evaluation]) -> bool:
        """True if one is left: the comparison that follows has seeds of its own."""
        return len(left) == 1

    def fairest(self, leaders: Sequence[Evaluation], winner: Evaluation) -> Evaluation:
        """The winner, or one that is nearly as good and shares noticeably more fairly."""
        met = [each for each in leaders if each.seeds and self.is_feasible(each)]
        ranked = [winner, *(each for each in met if each is not winner)]
        return self._horizon.fairest(ranked, self._joined) or winner

    def ranked(self, leaders: Sequence[Evaluation]) -> list[Evaluation]:
        """Those that met a seed, the likely best first."""
        return sorted((each for each in leaders if each.seeds), key=self.value)

    def differences(self, one: Evaluation, other: Evaluation) -> list[float]:
        """Seed by seed, on the seeds of the race."""
        rows = (
            [self._horizon.joined(each, value) for value in each.latest(self._met)]
            for each in (one, other)
        )
        return [first - second for first, second in zip(*rows, strict=True)]

    def value(self, entrant: Evaluation) -> float:
        """Rank of a setting: feasible ones first, then the mean of the race."""
        violation, scale = self._violation(entrant), self._horizon.scale
        return feasible_first(self._joined(entrant), violation, scale)

    def is_feasible(self, entrant: Evaluation) -> bool:
        """True if nothing is violated at the worse end of the intervals."""
        return self._violation(entrant) == 0.0

    def is_broken(self, entrant: Evaluation) -> bool:
        """True if a constraint is broken, or cannot be measured."""
        verdicts = judge(self._constraints, entrant, self._incumbent)
        return any(verdict.holds in {"broken", "not measured"} for verdict in verdicts)

    def _joined(self, evaluation: Evaluation) -> float:
        """Mean of the race, joined with what other conditions have shown."""
        values = evaluation.latest(self._met) if self._met > 1 else evaluation.objectives
        mean = math.fsum(values) / len(values) if values else math.inf
        return self._horizon.joined(evaluation, mean)

    def _violation(self, evaluation: Evaluation) -> float:
        verdicts = judge(self._constraints, evaluation, self._incumbent)
        around = self._horizon.violation_around(evaluation)
        return around + math.fsum(verdict.cautious_violation for verdict in verdicts)


def _surely_positive(differences: Sequence[float], confidence: float) -> bool:
    """True if the mean of the differences lies above 0 beyond doubt."""
    if not all(map(math.isfinite, differences)):
        return True
    low = mean_interval(differences, confidence).low
    return low is not None and low > 0.0
