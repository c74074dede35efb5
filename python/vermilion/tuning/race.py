"""The race among the leaders of a search: seeds go where they decide something.

A search's best values are partly luck, so its leaders meet seeds that it has not seen. They meet
them together, a few at a time. After each round every leader is compared with the first of them,
seed by seed; who is clearly worse stops, and the simulations saved go to those that cannot be told
apart yet. The race ends when one is left, or the seeds, the simulations or the time are spent; the
lowest mean of those left is the likely best. (The idea is that of O. Maron and A. W. Moore,
"Hoeffding races", NIPS 1993, with paired t tests as in M. Birattari et al., "A racing algorithm
for configuring metaheuristics", GECCO 2002, where a Friedman test precedes them.)

- *Clearly worse* means: the paired one-sided t test at 5 %, shared among the leaders' challengers
  (Bonferroni), finds its objective larger, or its constraints are broken beyond doubt while the
  first's are not. Repeated looks are not corrected for: a mistake costs a good setting, never the
  validity of the comparison that follows on other seeds.
- Only the seeds of the race count for the objective. Those of the search favoured the leaders, or
  they would not be leaders. For constraints all seeds count, with the worse end of the interval.
- Two settings with the same outcome on every seed cannot be told apart by more of them; the later
  one stops.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

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


class Race:
    """The leaders of a search and the seeds that they meet.

    Args:
        horizon: in which they race; its incumbent meets the same seeds.
        leaders: at least one setting that the core accepts, the likely best first.
    """

    def __init__(self, horizon: Horizon, leaders: Sequence[Evaluation]) -> None:
        self._horizon = horizon
        self._constraints = horizon.constraints
        self._incumbent = horizon.incumbent
        self._leaders = list(leaders)
        self._left = list(leaders)
        self._met = 0
        self._spent = 0

    def run(
        self,
        seeds: Sequence[int],
        budget: int,
        *,
        until: float | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Lets the leaders meet seeds until one is left.

        Args:
            seeds: that none of them has met.
            budget: simulations, the incumbent's included.
            until: the moment, on the clock of ``time.monotonic``, when the race must be over.
            progress: called with the number of simulations done.
        """
        while self._met < len(seeds) and (len(self._left) > 1 or self._met == 0):
            size = _LATER_ROUNDS if self._met else _FIRST_ROUND
            affordable = (budget - self._spent) // (len(self._left) + 1)
            some = seeds[self._met : self._met + min(size, affordable)]
            if not some:
                return

            def report(done: int, before: int = self._spent) -> None:
                if progress is not None:
                    progress(before + done)

            [kept, *_] = self._horizon.simulations.run_in_step(
                [self._incumbent, *self._left],
                some,
                until=until,
                progress=report,
                made_for="re-evaluation",
            )
            self._met += len(kept)
            self._spent += len(kept) * (len(self._left) + 1)
            if len(kept) < len(some):
                return
            self._eliminate_worse()

    @property
    def winner(self) -> Evaluation:
        """The likely best of those left; where time was up before they met a seed, the first."""
        if not all(each.seeds for each in self._left):
            return self._left[0]
        return min(self._left, key=self._value)

    @property
    def ranked(self) -> list[Evaluation]:
        """Those that met a seed, the likely best first."""
        return sorted((each for each in self._leaders if each.seeds), key=self._value)

    @property
    def fairest(self) -> Evaluation:
        """The winner, or one that is nearly as good and shares noticeably more fairly."""
        first = self.winner
        met = [each for each in self._leaders if each.seeds and self._violation(each) == 0.0]
        ranked = [first, *(each for each in met if each is not first)]
        return self._horizon.fairest(ranked, self._joined) or first

    @property
    def report(self) -> RaceReport:
        """Report of the race so far."""
        return RaceReport(len(self._leaders), len(self._left), self._met, self._spent)

    def _eliminate_worse(self) -> None:
        first = self.winner
        sure = 1.0 - 2.0 * _ERROR / max(1, len(self._left) - 1)
        feasible = self._violation(first) == 0.0
        broken = self._is_broken(first)
        kept: list[Evaluation] = []
        for each in self._left:
            if each is not first:
                if self._is_broken(each) and not broken:
                    continue
                differences = self._differences(each, first)
                if not any(differences):
                    continue
                if feasible and _surely_positive(differences, sure):
                    continue
            kept.append(each)
        self._left = kept

    def _differences(self, one: Evaluation, other: Evaluation) -> list[float]:
        """Seed by seed, on the seeds of the race."""
        rows = (
            [self._horizon.joined(each, value) for value in each.latest(self._met)]
            for each in (one, other)
        )
        return [first - second for first, second in zip(*rows, strict=True)]

    def _joined(self, evaluation: Evaluation) -> float:
        """Mean of the race, joined with what other conditions have shown."""
        values = evaluation.latest(self._met) if self._met > 1 else evaluation.objectives
        mean = math.fsum(values) / len(values) if values else math.inf
        return self._horizon.joined(evaluation, mean)

    def _value(self, evaluation: Evaluation) -> float:
        """Rank of a setting: feasible ones first, then the mean of the race."""
        violation, scale = self._violation(evaluation), self._horizon.scale
        return feasible_first(self._joined(evaluation), violation, scale)

    def _violation(self, evaluation: Evaluation) -> float:
        verdicts = judge(self._constraints, evaluation, self._incumbent)
        around = self._horizon.violation_around(evaluation)
        return around + math.fsum(verdict.cautious_violation for verdict in verdicts)

    def _is_broken(self, evaluation: Evaluation) -> bool:
        verdicts = judge(self._constraints, evaluation, self._incumbent)
        return any(verdict.holds in {"broken", "not measured"} for verdict in verdicts)


def _surely_positive(differences: Sequence[float], confidence: float) -> bool:
    """True if the mean of the differences lies above 0 beyond doubt."""
    if not all(map(math.isfinite, differences)):
        return True
    low = mean_interval(differences, confidence).low
    return low is not None and low > 0.0
