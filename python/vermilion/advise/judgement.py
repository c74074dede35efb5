"""Judgement of a candidate against the queue in force: gain, significance and harm.

The goal comes in this order: 95 % of the packets wait at most the bound in every nominal condition;
then as much goodput as possible; then less delay. A difference counts where it is significant
(Student t at 95 %, paired by seed) and noticeable. Of two candidates that are alike in all this,
the one that drops fewer packets is preferred (:func:`drops_less`). What a recommendation may cost
is in :mod:`vermilion.advise.harms`.

Per-flow isolation counts too. With a queue for each flow a transfer waits behind itself and a call
behind nearly nobody; with one queue for all a call waits and loses as the transfers do. So a queue
for each flow is replaced by one for all only if asked for by name, or if none fills the line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from vermilion.advise.conditions import most_goodput, nominal
from vermilion.advise.harms import MARGINS, Harm, absolute_ms, harms
from vermilion.advise.measuring import DRIFT
from vermilion.advise.question import ANY
from vermilion.simulate import mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.advise.conditions import Condition
    from vermilion.advise.measuring import Measured
    from vermilion.advise.question import Question, QueueSetting


By = Literal["bound", "goodput", "delay"]

NOTICEABLE: Final[Mapping[str, float]] = {
    "excess_ratio": 0.05,
    "excess_ms": 1.0,
    "excess_ratio_kept": 0.02,
    "goodput_share": 0.01,
    "delay_of_bound": 0.25,
    "delay_ms": 1.0,
    "drop_rate": 0.02,
}
"""The least differences that count: the worst delay above the bound falls by 5 % of that delay and
1 ms, or from above the bound to within by 2 % of the bound; goodput grows by 1 % of the rate;
within the bound the worst delay falls by a quarter of the bound and 1 ms, for less than half a
percent of the rate and 2 % of the packets. ("At most" is kept either way.) A millisecond is much
beside the bound of a data centre: see :func:`absolute_ms`."""

AIM: Final = 0.95
"""Of the bound: what a search aims at, so that the fresh seeds find the bound kept."""

_HALVES_ON: Final = 1.5
"""From the middle of what was measured to the middle of a third half are as many halves, and from
one half to the next there is one."""

_CONTINUED: Final = ("delay_p95_ms", "goodput_bit_per_s")
_ROBUSTNESS_WEIGHT: Final = 0.05
_DELAY_WEIGHT: Final = 0.02
_DROP_WEIGHT: Final = 0.25
"""Two percent of the packets weigh as much as half a percent of the rate: what is noticeable of the
one, and what a shorter delay may cost of the other."""

_HARM_WEIGHT: Final = 3.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """One queue against another.

    Attributes:
        by: on which part of the goal it is better; ``None`` where it is not.
        difference: how much: ms of the worst excess, part of the rate, or ms of the worst delay.
        half_width: of its 95 % interval; ``None`` for one seed.
        worse_by: on which part of the goal it is significantly and noticeably worse.
        harms: what it makes worse beyond the margins.
    """

    by: By | None
    difference: float = 0.0
    half_width: float | None = None
    worse_by: By | None = None
    harms: Sequence[Harm] = field(default_factory=tuple)


def worst_p95_ms(measured: Measured) -> float:
    """The longest 95th percentile of the queueing delay in a nominal condition."""
    return max(measured.p95_ms(each) for each in nominal(measured.runs))


def keeps(measured: Measured, bound_ms: float) -> bool:
    """Check whether the bound is kept in every nominal condition."""
    return worst_p95_ms(measured) <= bound_ms


def goodput_share(question: Question, measured: Measured) -> float:
    """The mean goodput over the nominal conditions, as part of the most that there can be."""
    shares = [measured.goodput(at) / most_goodput(question) for at in nominal(measured.runs)]
    return math.fsum(shares) / len(shares)


def score(question: Question, measured: Measured, now: Measured) -> float:
    """One number for a search, the lower the better.

    Beyond 1 the bound is not kept (1 and the excess in bounds); below, it is the goodput that is
    lost, and a little for delay, for drops where there are most, and for what happens in the
    conditions for robustness. Harm to what is in force costs more than any of these can bring.

    Args:
        question: with the bound.
        measured: the candidate.
        now: the queue in force, in the same conditions with the same seeds.
    """
    aim = AIM * question.bound_ms
    own = nominal(measured.runs)
    excess = max(measured.p95_ms(at) / aim - 1.0 for at in own)
    beside = max((measured.p95_ms(at) / aim - 1.0 for at in measured.runs), default=0.0)
    delay = math.fsum(min(measured.p95_ms(at) / aim, 1.0) for at in own) / len(own)
    lost = 1.0 - goodput_share(question, measured) + _DELAY_WEIGHT * delay
    lost += _DROP_WEIGHT * max(measured.mean(at, "drop_rate") or 0.0 for at in own)
    lost += _ROBUSTNESS_WEIGHT * min(max(beside, 0.0), 1.0)
    for each in harms(question, now, measured, part=0.8):
        weight = _ROBUSTNESS_WEIGHT if each.condition.robustness else _HARM_WEIGHT
        lost += weight * min(each.beyond, 1e3)
    return lost + (1.0 + excess if excess > 0.0 else 0.0)


def tier(question: Question, now: Measured, measured: Measured) -> int:
    """Rank of a queue by how near it is to being acceptable; lower is nearer.

    0: keeps the bound and does no harm. 1: keeps it, and is harmful only in the conditions for
    robustness. 2: does no harm. 3: whatever else.
    """
    found = harms(question, now, measured)
    kept = keeps(measured, question.bound_ms)
    if not found:
        return 0 if kept else 2
    return 1 if kept and all(each.excusable for each in found) else 3


def continued(question: Question, measured: Measured) -> Measured:
    """Queue extrapolated: the trend between the two halves goes on for another half.

    How transfers begin is over when both halves are alike. Where they are not (95 %, over the
    seeds), the delay and the goodput are those of a line through both. No more arrives than the
    line carries: what does had waited since before.
    """
    runs = {}
    for at, rows in measured.runs.items():
        changes = {name: _change(measured, at, name) for name in _CONTINUED}
        runs[at] = [
            {
                **row,
                **{
                    name: max(row[name] + _HALVES_ON * change, 0.0)
                    for name, change in changes.items()
                    if name in row
                },
            }
            for row in rows
        ]
        for row in runs[at]:
            if "goodput_bit_per_s" in row:
                row["goodput_bit_per_s"] = min(row["goodput_bit_per_s"], most_goodput(question))
    return replace(measured, runs=runs)


def _change(measured: Measured, at: Condition, name: str) -> float:
    """By how much the second half differs from the first; 0 where that may be chance."""
    drifts = measured.values(at, f"{name}{DRIFT}")
    interval = mean_interval(drifts) if drifts else None
    if interval is None or interval.half_width is None:
        return 0.0
    return interval.mean if abs(interval.mean) > interval.half_width else 0.0


def judge(question: Question, before: Measured, after: Measured, part: float = 1.0) -> Judgement:
    """Check whether one queue is better than another for what was asked.

    Args:
        question: with the bound.
        before: the one that wins a tie.
        after: the other, in the same conditions with the same seeds.
        part: of the margins that is allowed.
    """
    bound = question.bound_ms
    found = tuple(harms(question, before, after, part))
    excess = _paired(_worst_excess(before, bound), _worst_excess(after, bound))
    before_worst, after_worst = worst_p95_ms(before), worst_p95_ms(after)
    kept_before, kept_after = before_worst <= bound, after_worst <= bound
    enough = max(
        absolute_ms(question, NOTICEABLE["excess_ms"]),
        NOTICEABLE["excess_ratio"] * max(before_worst, bound),
    )
    if kept_before != kept_after:
        enough = NOTICEABLE["excess_ratio_kept"] * bound
    if _shows(excess, enough):
        return Judgement("bound", *excess, harms=found)
    if (kept_before or _shows((-excess[0], excess[1]), enough)) and not kept_after:
        return Judgement(None, *excess, worse_by="bound", harms=found)
    goodput = _paired(_shares(question, after), _shares(question, before))
    least = NOTICEABLE["goodput_share"]
    if _shows(goodput, least):
        return Judgement("goodput", *goodput, harms=found)
    if _shows((-goodput[0], goodput[1]), least):
        return Judgement(None, *goodput, worse_by="goodput", harms=found)
    delay = _paired(_worst_delays(before), _worst_delays(after))
    fall = max(absolute_ms(question, NOTICEABLE["delay_ms"]), NOTICEABLE["delay_of_bound"] * bound)
    cheap = goodput[0] > -0.5 * least and not drops_less(before, after)
    if kept_after and _shows(delay, fall) and cheap:
        return Judgement("delay", *delay, harms=found)
    return Judgement(None, harms=found)


def drops_less(measured: Measured, other: Measured) -> bool:
    """Check whether a queue drops noticeably fewer packets than another, where it drops most.

    Args:
        measured: the queue.
        other: in the same conditions with the same seeds.
    """
    return _shows(_paired(_worst_drops(other), _worst_drops(measured)), NOTICEABLE["drop_rate"])


def _worst_delays(measured: Measured) -> list[float]:
    """Longest 95th percentile of a nominal condition, for each seed."""
    rows = [
        [run.get("delay_p95_ms", math.inf) for run in measured.runs[at]]
        for at in nominal(measured.runs)
    ]
    return [max(column) for column in zip(*rows, strict=True)]


def _worst_excess(measured: Measured, bound_ms: float) -> list[float]:
    return [max(0.0, value - bound_ms) for value in _worst_delays(measured)]


def _worst_drops(measured: Measured) -> list[float]:
    """Largest drop rate of a nominal condition, for each seed."""
    rows = [
        [run.get("drop_rate", 0.0) for run in measured.runs[at]] for at in nominal(measured.runs)
    ]
    return [max(column) for column in zip(*rows, strict=True)]


def _shares(question: Question, measured: Measured) -> list[float]:
    """Mean goodput over the nominal conditions as a share of the most, for each seed."""
    rows = [
        [run.get("goodput_bit_per_s", 0.0) for run in measured.runs[at]]
        for at in nominal(measured.runs)
    ]
    most = most_goodput(question)
    return [math.fsum(column) / len(column) / most for column in zip(*rows, strict=True)]


def _paired(first: Sequence[float], second: Sequence[float]) -> tuple[float, float | None]:
    """The mean of first - second and half the width of its interval."""
    pairs = list(zip(first, second, strict=True))
    differences = [a - b for a, b in pairs if math.isfinite(a) and math.isfinite(b)]
    if len(differences) < len(pairs) or not differences:
        return 0.0, None
    interval = mean_interval(differences)
    return interval.mean, interval.half_width


def _shows(difference: tuple[float, float | None], least: float) -> bool:
    """Check whether it is noticeable and significant."""
    mean, half_width = difference
    return half_width is not None and mean >= least and mean > half_width


WORTH_ONE_QUEUE: Final = 1.0 - MARGINS["goodput_ratio"]
"""Share of the rate that one queue for all has to carry more, to be preferred to a queue for each
flow. A recommendation may cost as much at most."""


def keeps_isolation(question: Question, now: QueueSetting) -> bool:
    """Check whether there is a queue for each flow that nobody has asked to give up."""
    return now.keeps_apart and question.discipline == ANY


def gives_up_isolation(
    question: Question, now: Measured, others: Iterable[Measured], measured: Measured
) -> bool:
    """Check whether a queue takes one for each flow away, for less than that is worth.

    Args:
        question: with the discipline that is asked for.
        now: the queue in force.
        others: that were compared with it too.
        measured: the queue.
    """
    if measured.queue.keeps_apart or not keeps_isolation(question, now.queue):
        return False
    apart = [now, *(each for each in others if each.queue.keeps_apart)]
    most = max(goodput_share(question, each) for each in apart)
    return goodput_share(question, measured) - most < WORTH_ONE_QUEUE
