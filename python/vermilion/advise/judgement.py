"""Judgement of one queue against another, in points, and what it may cost.

Points add up what anybody at the line would complain about, fewest first:

- A *sparse flow* (a call, a game, DNS) in the condition in which it is worst off: ten where 95 %
  of its packets wait as long as the bound, in proportion below, ten more for each doubling above;
  and what its losses cost on the scale of ITU-T G.107 (:mod:`vermilion.advise.metrics`).
- *Goodput*: one for each percent of the line that carries nothing, mean over the conditions.
- *Bulk packets*: two where 95 % of all packets wait as long as the bound, four at three times the
  bound, six at seven times: 2 log2(1 + wait / bound), mean over the conditions. With a queue for
  each flow that is how long a transfer waits behind itself.

One point is noticeable: a tenth of the bound, 0.27 % of a call's packets, a percent of the line. A
difference counts where it is that and significant: the rule of every tuning
(:func:`vermilion.tuning.comparison.decide`).

In the contest of a device's settings (:mod:`vermilion.tuning.race`) the queue in force races too,
so that nothing more is simulated once it is clearly the best. What is clearly worse than another,
or does harm with every seed, stops. Clearly worse is by more than what is noticeable, since a
plainer setting is preferred to one that is hardly better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Literal

from vermilion.advise.conditions import most_goodput, nominal
from vermilion.advise.harms import Harm, harms
from vermilion.advise.metrics import CALL_DELAY, SPARSE
from vermilion.simulate import mean_interval
from vermilion.tuning.comparison import decide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.advise.conditions import Condition
    from vermilion.advise.measuring import Laboratory, Measured, Metrics
    from vermilion.advise.question import Question

By = Literal["bound", "goodput", "delay"]
"""Part of the goal: the sparse flow, for which the bound is, the line, and bulk packets."""

NOTICEABLE: Final = 1.0
"""Points."""

_PER_SHARE: Final = 100.0
_PER_DOUBLING: Final = 2.0
_HARM_WEIGHT: Final = 3.0
_MOST_BEYOND: Final = 1e3


@dataclass(frozen=True, slots=True)
class Judgement:
    """One queue against another.

    Attributes:
        by: the part of the goal on which it gains most; ``None`` where it is not better.
        difference: points that it gains in all.
        half_width: of its 95 % interval; ``None`` for one seed.
        worse_by: the part on which it loses most, where it is significantly and noticeably worse.
        harms: what it makes worse beyond the margins.
    """

    by: By | None
    difference: float = 0.0
    half_width: float | None = None
    worse_by: By | None = None
    harms: Sequence[Harm] = field(default_factory=tuple)


def worst_p95_ms(measured: Measured) -> float:
    """The longest 95th percentile of the queueing delay of all packets in a nominal condition."""
    return max((measured.p95_ms(each) for each in nominal(measured.runs)), default=math.inf)


def worst_sparse_ms(measured: Measured) -> float:
    """The longest that 95 % of a sparse flow's packets wait in a nominal condition."""
    waits = [measured.mean(at, CALL_DELAY) for at in nominal(measured.runs)]
    return max((math.inf if each is None else each for each in waits), default=math.inf)


def keeps(measured: Measured, bound_ms: float) -> bool:
    """Check whether the bound is kept for a sparse flow in every nominal condition."""
    return worst_sparse_ms(measured) <= bound_ms


def goodput_share(question: Question, measured: Measured) -> float:
    """The mean goodput over the nominal conditions, as part of the most that there can be."""
    shares = [measured.goodput(at) / most_goodput(question) for at in nominal(measured.runs)]
    return math.fsum(shares) / len(shares) if shares else 0.0


def points(question: Question, measured: Measured) -> list[dict[By, float]]:
    """The points of each seed, by part of the goal."""
    places = nominal(measured.runs)
    return [
        _points(question, rows) for rows in zip(*(measured.runs[at] for at in places), strict=True)
    ]


def _points(question: Question, rows: Sequence[Metrics]) -> dict[By, float]:
    bound, most = question.bound_ms, most_goodput(question)
    waits = [row.get("delay_p95_ms", math.inf) for row in rows]
    doublings = [min(math.log2(1.0 + wait / bound), 16.0) for wait in waits]
    carried = math.fsum(row.get("goodput_bit_per_s", 0.0) for row in rows)
    return {
        "bound": max(row[SPARSE] for row in rows),
        "goodput": _PER_SHARE * (1.0 - carried / len(rows) / most),
        "delay": _PER_DOUBLING * math.fsum(doublings) / len(rows),
    }


def total_points(question: Question, measured: Measured) -> float:
    """The points in all, mean over the seeds; without end where nothing was measured."""
    rows = [math.fsum(each.values()) for each in points(question, measured)]
    return math.fsum(rows) / len(rows) if rows else math.inf


def score(question: Question, measured: Measured, now: Measured) -> float:
    """Points for a search, where harm to what is in force costs more than a gain can bring.

    Args:
        question: with the bound.
        measured: the candidate.
        now: the queue in force, in the same conditions with the same seeds.
    """
    found = total_points(question, measured)
    for each in harms(question, now, measured, part=0.8):
        found += (1.0 if each.excusable else _HARM_WEIGHT) * min(1.0 + each.beyond, _MOST_BEYOND)
    return found


def judge(question: Question, before: Measured, after: Measured, part: float = 1.0) -> Judgement:
    """Judge whether one queue is better than another for what was asked.

    Args:
        question: with the bound.
        before: the one that wins a tie.
        after: the other, in the same conditions. Where one has met more seeds, these do not count.
        part: of the margins that is allowed.
    """
    common = min(before.seeds, after.seeds)
    before, after = before.first(common), after.first(common)
    found = tuple(harms(question, before, after, part))
    pairs = list(zip(points(question, before), points(question, after), strict=True))
    if not pairs:
        return Judgement(None, harms=found)
    gains: dict[By, float] = {
        name: math.fsum(old[name] - new[name] for old, new in pairs) / len(pairs)
        for name in pairs[0][0]
    }
    interval = mean_interval(
        [math.fsum(new.values()) - math.fsum(old.values()) for old, new in pairs]
    )
    verdict = decide(interval, (), (), least_gain=NOTICEABLE).judgement
    by: By | None = None
    worse: By | None = None
    if verdict == "better":
        by = max(gains.items(), key=itemgetter(1))[0]
    elif verdict == "worse" and interval.mean >= NOTICEABLE:
        worse = min(gains.items(), key=itemgetter(1))[0]
    return Judgement(by, -interval.mean, interval.half_width, worse, found)


PART: Final = 0.9
"""Share of the margins that a recommendation may use up, so that other seeds find them kept."""

_FAR: Final = 2.0
"""Times the margin: harm that no further seeds excuse, where each one shows it."""


@dataclass(slots=True)
class SettingsOfDevice:
    """Contest of measured queues.

    Attributes:
        laboratory: where they are simulated.
        conditions: that they meet.
        length: of each run, from 0 to 1.
        now: the queue in force, which meets all seeds.
    """

    laboratory: Laboratory
    conditions: Sequence[Condition]
    length: float
    now: Measured

    def meet(
        self,
        some: Sequence[Measured],
        seeds: Sequence[int],
        _progress: Callable[[int], object] | None,
    ) -> int:
        """Simulates some queues; that in force is always among them."""
        rows = {id(each): each for each in (self.now, *some)}
        queues = [each.queue for each in rows.values()]
        found = self.laboratory.measure(queues, self.conditions, seeds, self.length)
        for row, more in zip(rows.values(), found, strict=True):
            row.extend(more)
        return found[0].seeds

    def value(self, entrant: Measured) -> float:
        """Points in all; what does harm comes after all that does not."""
        if not self.is_feasible(entrant):
            return math.inf
        return total_points(self.laboratory.question, entrant)

    def differences(self, one: Measured, other: Measured) -> list[float]:
        """Points, seed by seed, beyond what nobody notices."""
        question = self.laboratory.question
        pairs = zip(points(question, one), points(question, other), strict=True)
        return [
            math.fsum(mine.values()) - math.fsum(its.values()) - NOTICEABLE for mine, its in pairs
        ]

    def is_feasible(self, entrant: Measured) -> bool:
        """True if it does no harm."""
        return not self._harmed(self.now.first(entrant.seeds), entrant, PART)

    def is_broken(self, entrant: Measured) -> bool:
        """True if it does the same harm with every seed, and on average far beyond the margin."""
        found = self._harmed(self.now.first(entrant.seeds), entrant, _FAR)
        for number in range(entrant.seeds if found else 0):
            found &= self._harmed(self.now.only(number), entrant.only(number), PART)
        return bool(found)

    def is_decided(self, left: Sequence[Measured]) -> bool:
        """True if only the queue in force is left."""
        return len(left) == 1 and left[0] is self.now

    def _harmed(self, now: Measured, entrant: Measured, part: float) -> set[tuple[str, str]]:
        """Conditions and metrics in which a queue harms somebody."""
        found = harms(self.laboratory.question, now, entrant, part)
        return {(each.condition.name, each.what) for each in found if not each.excusable}
