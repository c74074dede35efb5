"""Whether a queue is better than another for what was asked, and what harm it does.

The goal comes in this order: 95 % of the packets wait at most the bound in every nominal condition;
then as much goodput as possible; then less delay. A difference counts where it is significant
(Student t at 95 %, paired by seed) and noticeable. Of two candidates that are alike in all this,
the one that drops fewer packets is preferred (:func:`drops_less`). What a recommendation may cost
is in :data:`MARGINS`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from vermilion.advise.conditions import most_goodput
from vermilion.advise.margins import SHORT_TRANSFER, margins_for
from vermilion.advise.measuring import DRIFT
from vermilion.objectives.harm import FLOWS_FOR_A_STARVED_ONE
from vermilion.simulate import mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.advise.conditions import Condition
    from vermilion.advise.measuring import Measured
    from vermilion.advise.question import Question

By = Literal["bound", "goodput", "delay"]

MARGINS: Final[Mapping[str, float]] = {
    "goodput_ratio": 0.98,
    "goodput_ratio_where_the_bound_was_broken": 0.9,
    "jain_index": 0.05,
    "starved_flows": 1.0,
    "starved_share": 1.0 / FLOWS_FOR_A_STARVED_ONE,
    "drop_rate": 0.05,
    "delay_ratio": 1.05,
    "delay_ms": 1.0,
    "short_transfer_ratio": 1.05,
}
"""What is allowed in each nominal condition, against the queue in force: at least this part of its
goodput; Jain's index lower by at most this; at most so many more starved flows, or this part of all
flows where that is more; so much more of the packets dropped; a 95th percentile of the delay above
both the bound and what it is now by at most this ratio, or by so many ms (:func:`absolute_ms`); and
short transfers, where there are any, that take longer by this ratio on average. There are few of
these in a run, so that it has to be significant too.

Where the queue in force breaks the bound, its goodput and its few drops are had with the delay that
is not wanted: more goodput may be lost, and drops are only shown, because windows that fit a short
queue are small, and small windows are made by drops (a window of W packets takes about 1.5 / W^2 of
them; M. Mathis et al., "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997).
In the two conditions for robustness twice as much is allowed. What a user says instead is in
:mod:`vermilion.advise.margins`."""

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

_MOST_OF_BOUND: Final = 0.25
_CONTINUED: Final = ("delay_p95_ms", "goodput_bit_per_s")
_USUAL_LOSS: Final = 1.0 - MARGINS["goodput_ratio"]
_ROBUSTNESS_WEIGHT: Final = 0.05
_SLACK: Final = 2.0
_DELAY_WEIGHT: Final = 0.02
_DROP_WEIGHT: Final = 0.25
"""Two percent of the packets weigh as much as half a percent of the rate: what is noticeable of the
one, and what a shorter delay may cost of the other."""

_HARM_WEIGHT: Final = 3.0


@dataclass(frozen=True, slots=True)
class Harm:
    """Something that a queue makes worse than a margin allows.

    Attributes:
        condition: where.
        what: the metric.
        before: of the queue in force.
        after: of the other.
        beyond: how far beyond what is allowed, in margins.
    """

    condition: Condition
    what: str
    before: float
    after: float
    beyond: float


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


def nominal(conditions: Iterable[Condition]) -> list[Condition]:
    """The conditions that were asked for."""
    return [each for each in conditions if not each.robustness]


def worst_p95_ms(measured: Measured) -> float:
    """The longest 95th percentile of the waiting time in a nominal condition."""
    return max(measured.p95_ms(each) for each in nominal(measured.runs))


def keeps(measured: Measured, bound_ms: float) -> bool:
    """Whether the bound is kept in every nominal condition."""
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
    """How near a queue comes to what may be recommended, the lower the nearer.

    0: keeps the bound and does no harm. 1: keeps it, and is harmful only in the conditions for
    robustness. 2: does no harm. 3: whatever else.
    """
    found = harms(question, now, measured)
    kept = keeps(measured, question.bound_ms)
    if not found:
        return 0 if kept else 2
    return 1 if kept and all(each.condition.robustness for each in found) else 3


def continued(question: Question, measured: Measured) -> Measured:
    """What a queue would show if whatever differs between the two halves went on for another half.

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


def absolute_ms(question: Question, usual_ms: float) -> float:
    """A margin in milliseconds for a question: a quarter of its bound at the most.

    A bound of 0.1 ms asks for differences that nobody would notice beside one of 20 ms.
    """
    return min(usual_ms, _MOST_OF_BOUND * question.bound_ms)


def judge(question: Question, before: Measured, after: Measured, part: float = 1.0) -> Judgement:
    """Whether one queue is better than another for what was asked.

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
    """Whether a queue drops noticeably fewer packets than another, where it drops most.

    Args:
        measured: the queue.
        other: in the same conditions with the same seeds.
    """
    return _shows(_paired(_worst_drops(other), _worst_drops(measured)), NOTICEABLE["drop_rate"])


def harms(question: Question, before: Measured, after: Measured, part: float = 1.0) -> list[Harm]:
    """What the second makes worse than the margins allow.

    Args:
        question: with the bound.
        before: the queue in force.
        after: the other.
        part: of the margins that is allowed.
    """
    bound = question.bound_ms
    margins = margins_for(question)
    found = []
    for at in after.runs:
        slack = part * (_SLACK if at.robustness else 1.0)
        p95, p95_after = before.p95_ms(at), after.p95_ms(at)
        broken = p95 > bound
        ratio = MARGINS["goodput_ratio_where_the_bound_was_broken" if broken else "goodput_ratio"]
        had = before.goodput(at) or 1.0
        losses = [("goodput_bit_per_s", (1.0 - after.goodput(at) / had) / (1.0 - ratio))]
        rates = [("jain_index", -1.0), ("starved_flows", 1.0)]
        for name, sign in rates if broken else [*rates, ("drop_rate", 1.0)]:
            old, new = before.mean(at, name), after.mean(at, name)
            if old is not None and new is not None:
                losses.append((name, sign * (new - old) / _margin(name, at)))
        most = max(p95, bound)
        room = max(
            (MARGINS["delay_ratio"] - 1.0) * most, absolute_ms(question, MARGINS["delay_ms"])
        )
        losses.append(("delay_p95_ms", (p95_after - most) / room))
        losses.append((SHORT_TRANSFER, _slower(before, after, at)))
        losses = [(name, size) for name, size in losses if name in margins.usual]
        for own in margins.own:
            old, new = before.mean(at, own.metric), after.mean(at, own.metric)
            if old is not None and new is not None:
                losses.append((own.metric, own.used(old, new)))
        found += [
            Harm(
                at,
                name,
                before.mean(at, name) or 0.0,
                after.mean(at, name) or 0.0,
                size / slack - 1.0,
            )
            for name, size in losses
            if size > slack
        ]
    return found


def _slower(before: Measured, after: Measured, at: Condition) -> float:
    """By how much longer short transfers take, in margins; 0 where that may be chance."""
    pairs = [
        (old[SHORT_TRANSFER], new[SHORT_TRANSFER])
        for old, new in zip(before.runs[at], after.runs[at], strict=True)
        if SHORT_TRANSFER in old and SHORT_TRANSFER in new
    ]
    if not pairs:
        return 0.0
    longer = mean_interval([new - old for old, new in pairs])
    if longer.half_width is not None and longer.mean <= longer.half_width:
        return 0.0
    usual = math.fsum(old for old, _ in pairs) / len(pairs)
    return longer.mean / usual / (MARGINS["short_transfer_ratio"] - 1.0)


def _margin(name: str, at: Condition) -> float:
    """What is allowed in a condition; of starved flows more where there are very many."""
    usual = MARGINS[name]
    return max(usual, MARGINS["starved_share"] * at.flows) if name == "starved_flows" else usual


@dataclass(frozen=True, slots=True)
class Widened:
    """What is given up beyond the margin that holds where the bound is kept.

    Attributes:
        condition: where: the queue in force breaks the bound there.
        what: the metric.
        before: of the queue in force.
        after: of the other.
    """

    condition: Condition
    what: str
    before: float
    after: float


def widened(question: Question, before: Measured, after: Measured) -> list[Widened]:
    """Where the wider margins were needed: of each metric the worst nominal condition.

    None where a user's own margin stands in place of them.
    """
    usual = margins_for(question).usual
    found: dict[str, tuple[float, Widened]] = {}
    for at in nominal(after.runs):
        if before.p95_ms(at) <= question.bound_ms:
            continue
        had, has = before.goodput(at), after.goodput(at)
        drops = before.mean(at, "drop_rate") or 0.0, after.mean(at, "drop_rate") or 0.0
        for what, old, new, size in (
            ("goodput_bit_per_s", had, has, (1.0 - has / (had or 1.0)) / _USUAL_LOSS),
            ("drop_rate", *drops, (drops[1] - drops[0]) / MARGINS["drop_rate"]),
        ):
            if what in usual and size > max(1.0, found[what][0] if what in found else 0.0):
                found[what] = size, Widened(at, what, old, new)
    return [each for _, each in found.values()]


def _worst_delays(measured: Measured) -> list[float]:
    """With each seed the longest 95th percentile of a nominal condition."""
    rows = [
        [run.get("delay_p95_ms", math.inf) for run in measured.runs[at]]
        for at in nominal(measured.runs)
    ]
    return [max(column) for column in zip(*rows, strict=True)]


def _worst_excess(measured: Measured, bound_ms: float) -> list[float]:
    return [max(0.0, value - bound_ms) for value in _worst_delays(measured)]


def _worst_drops(measured: Measured) -> list[float]:
    """With each seed the largest part of the packets that is dropped in a nominal condition."""
    rows = [
        [run.get("drop_rate", 0.0) for run in measured.runs[at]] for at in nominal(measured.runs)
    ]
    return [max(column) for column in zip(*rows, strict=True)]


def _shares(question: Question, measured: Measured) -> list[float]:
    """With each seed the mean goodput over the nominal conditions, as part of the most."""
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
    """Whether it is noticeable and significant."""
    mean, half_width = difference
    return half_width is not None and mean >= least and mean > half_width
