"""Harms: metrics that a candidate makes worse than the margins allow.

Judged against the queue in force, in each condition by itself: a gain in one is no excuse for a
loss in another. Margins of the user's own are in :mod:`vermilion.advise.margins`.

A call's losses and its delay are compared on one scale: the R of ITU-T G.107 (the E-model), 0 to
100, from which impairments are subtracted. Two of its parts are here, with its defaults and the
codec G.711 with packet-loss concealment (G.113: Ie 0, Bpl 25.1). The delay curve holds below half a
second; G.114 plans no network beyond 400 ms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.advise.margins import CALL_DELAY, CALL_LOSS, SHORT_TRANSFER, margins_for
from vermilion.advise.question import ANY
from vermilion.objectives.harm import FLOWS_FOR_A_STARVED_ONE
from vermilion.simulate import mean_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.advise.conditions import Condition
    from vermilion.advise.measuring import Measured
    from vermilion.advise.question import Question


LONGEST_WAIT_MS: Final = 400.0
"""From mouth to ear, by G.114: who waits longer has no call to lose."""

_MOST: Final = 95.0
_ROBUSTNESS_PERCENT: Final = 25.1
_UNNOTICED_MS: Final = 100.0
_SHARPNESS: Final = 6.0


def cost_of_loss(part: float) -> float:
    """Points that a loss of this part of the packets takes off (Ie-eff, losses at random)."""
    return _MOST * 100.0 * part / (100.0 * part + _ROBUSTNESS_PERCENT)


def cost_of_wait(one_way_ms: float) -> float:
    """Points that a delay from mouth to ear takes off (Idd); none up to 100 ms."""
    if one_way_ms <= _UNNOTICED_MS:
        return 0.0
    doublings = math.log2(one_way_ms / _UNNOTICED_MS)

    def bent(value: float) -> float:
        return float((1.0 + value**_SHARPNESS) ** (1.0 / _SHARPNESS))

    return 25.0 * (bent(doublings) - 3.0 * bent(doublings / 3.0) + 2.0)


MARGINS: Final[Mapping[str, float]] = {
    "goodput_ratio": 0.98,
    "goodput_ratio_where_the_bound_was_broken": 0.9,
    "jain_index": 0.05,
    "starved_flows": 1.0,
    "starved_share": 1.0 / FLOWS_FOR_A_STARVED_ONE,
    "drop_rate": 0.05,
    "delay_ratio": 1.05,
    "delay_ms": 1.0,
    "delay_part_of_gain": 0.1,
    "short_transfer_ratio": 1.05,
    "call_loss_rate": 0.005,
    "call_loss_rate_where_the_bound_was_broken": 0.05,
    "call_loss_rate_heard": 0.02,
}
"""What is allowed in each nominal condition, against the queue in force: at least this part of its
goodput; Jain's index lower by at most this; at most so many more starved flows, or this part of all
flows where that is more; so much more of the packets dropped; a 95th percentile of the delay above
both the bound and what it is now by at most this ratio, by so many ms (:func:`absolute_ms`), or by
this part of what the longest one of all conditions comes nearer to the bound; and short transfers,
where there are any, that take longer by this ratio on average. There are few of these in a run, so
that it has to be significant too. A call beside them may wait for as long as
everything else. It may lose so much more of its packets, if it is well with the queue in force:
that is, if 95 % of them wait no longer than the bound. Half a percent is what few hear: by ITU-T
G.107 (the E-model) a loss of P % costs 95 P / (P + 25.1) on the scale R of 100, with G.711 and its
concealment of losses (Ie 0, Bpl 25.1). That is 1.9 of 0.5 %. It would be 8.6 of 2.5 %, which takes
a call from one class of satisfaction into the next.

A call that waits longer than the bound now may lose 5 % more, which costs 15.8, if the shorter wait
is worth what the losses cost on the same scale (:mod:`vermilion.advise.harms`). 100 ms
instead of 300 are worth 15 points, 30 ms instead of 60 none. Beyond 400 ms there is no call, and a
shorter wait is worth whatever it costs. Where it is not worth that, the call may lose 2 % in all,
from which on a loss is heard (7 points), or half a percent more than now. All this counts only
where a queue for each flow may be recommended, which spares a call its losses: not on a device that
has none, nor where another discipline is asked for.

Where the queue in force breaks the bound, its goodput and its few drops are had with the delay that
is not wanted: more goodput may be lost, and drops are only shown, because windows that fit a short
queue are small, and small windows are made by drops (a window of W packets takes about 1.5 / W^2 of
them; M. Mathis et al., "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997).
In the two conditions for robustness twice as much is allowed, but not of a call's losses. What a
user says instead is in :mod:`vermilion.advise.margins`."""

SLACK: Final = 2.0
"""In the conditions for robustness, times the margin."""

_MOST_OF_BOUND: Final = 0.25
_USUAL_LOSS: Final = 1.0 - MARGINS["goodput_ratio"]


@dataclass(frozen=True, slots=True)
class Harm:
    """Something that a queue makes worse than a margin allows.

    Attributes:
        condition: where.
        what: the metric.
        before: of the queue in force.
        after: of the other.
        beyond: how far beyond what is allowed, in margins.
        worth_the_wait: whether it is a call's loss that the call's shorter wait is worth.
    """

    condition: Condition
    what: str
    before: float
    after: float
    beyond: float
    worth_the_wait: bool = False

    @property
    def excusable(self) -> bool:
        """True if a bound that is kept for it outweighs it: in a condition that nobody asked for.

        Not so what a call suffers that is well now: waiting is bounded for the likes of it.
        """
        return self.condition.robustness and self.what not in {CALL_DELAY, CALL_LOSS}


def absolute_ms(question: Question, usual_ms: float) -> float:
    """A margin in milliseconds for a question: a quarter of its bound at the most.

    A bound of 0.1 ms asks for differences that nobody would notice beside one of 20 ms.
    """
    return min(usual_ms, _MOST_OF_BOUND * question.bound_ms)


def harms(question: Question, before: Measured, after: Measured, part: float = 1.0) -> list[Harm]:
    """Metrics that the second queue makes worse than the margins allow.

    Args:
        question: with the bound.
        before: the queue in force.
        after: the other.
        part: of the margins that is allowed.
    """
    margins = margins_for(question)
    found = []
    for at in after.runs:
        usual = part * (SLACK if at.robustness else 1.0)
        losses = [
            *_losses(question, before, after, at),
            (SHORT_TRANSFER, _slower(before, after, at)),
            *_losses_of_calls(question, before, after, at),
        ]
        losses = [(name, size) for name, size in losses if name in margins.usual]
        for own in margins.own:
            old, new = before.mean(at, own.metric), after.mean(at, own.metric)
            if old is not None and new is not None:
                losses.append((own.metric, own.used(old, new)))
        excused = CALL_LOSS in margins.usual and _is_worth_the_wait(question, before, after, at)
        found += [
            Harm(
                at,
                name,
                before.mean(at, name) or 0.0,
                after.mean(at, name) or 0.0,
                size / slack - 1.0,
                excused and name == CALL_LOSS,
            )
            for name, size in losses
            if size > (slack := part if name == CALL_LOSS else usual)
        ]
    return found


_Losses = list[tuple[str, float]]
"""How much worse each metric becomes, in margins."""


def _losses(question: Question, before: Measured, after: Measured, at: Condition) -> _Losses:
    broken = before.p95_ms(at) > question.bound_ms
    ratio = MARGINS["goodput_ratio_where_the_bound_was_broken" if broken else "goodput_ratio"]
    had = before.goodput(at) or 1.0
    found = [("goodput_bit_per_s", (1.0 - after.goodput(at) / had) / (1.0 - ratio))]
    rates = [("jain_index", -1.0), ("starved_flows", 1.0)]
    for name, sign in rates if broken else [*rates, ("drop_rate", 1.0)]:
        old, new = before.mean(at, name), after.mean(at, name)
        if old is not None and new is not None:
            found.append((name, sign * (new - old) / _margin(name, at)))
    found.append(("delay_p95_ms", _longer_for_gain(question, before, after, at)))
    return found


def _longer(question: Question, before_ms: float, after_ms: float, gained_ms: float = 0.0) -> float:
    """By how much a delay exceeds both the bound and what it was, in margins."""
    most = max(before_ms, question.bound_ms)
    room = (MARGINS["delay_ratio"] - 1.0) * most
    usual = absolute_ms(question, MARGINS["delay_ms"])
    return (after_ms - most) / max(room, usual, MARGINS["delay_part_of_gain"] * gained_ms)


def _longer_for_gain(question: Question, before: Measured, after: Measured, at: Condition) -> float:
    """The same, weighed against what the longest delay gains.

    Nobody keeps 177 ms where 15 were asked because 20 ms become 25 elsewhere. But what becomes the
    longest itself, in a condition that nobody asked for, is weighed by itself.
    """
    longest = [_longest_ms(each) for each in (before, after)]
    delays = before.p95_ms(at), after.p95_ms(at)
    if not all(map(math.isfinite, longest)) or delays[1] > longest[1]:
        return _longer(question, *delays)
    excess = [max(each - question.bound_ms, 0.0) for each in longest]
    return _longer(question, *delays, excess[0] - excess[1])


def _longest_ms(measured: Measured) -> float:
    """The longest delay (p95) of a condition that was asked for."""
    return max((measured.p95_ms(at) for at in measured.runs if not at.robustness), default=0.0)


def _losses_of_calls(
    question: Question, before: Measured, after: Measured, at: Condition
) -> _Losses:
    """Losses of a call; one that already waits too long has less to lose."""
    delays = [each.mean(at, CALL_DELAY) for each in (before, after)]
    lost = [each.mean(at, CALL_LOSS) for each in (before, after)]
    if delays[0] is None or lost[0] is None or lost[1] is None:
        return []
    broken = delays[0] > question.bound_ms
    if broken and not _may_keep_apart(question):
        return []
    allowed = MARGINS["call_loss_rate"]
    if _is_worth_the_wait(question, before, after, at):
        allowed = MARGINS["call_loss_rate_where_the_bound_was_broken"]
    elif broken:
        allowed = max(allowed, MARGINS["call_loss_rate_heard"] - lost[0])
    found = [(CALL_LOSS, (lost[1] - lost[0]) / allowed)]
    if delays[1] is not None and not broken:
        found.append((CALL_DELAY, _longer(question, delays[0], delays[1])))
    return found


def _is_worth_the_wait(
    question: Question, before: Measured, after: Measured, at: Condition
) -> bool:
    """Check whether a call waits longer than the bound now, and is better off whatever it loses."""
    delays = [each.mean(at, CALL_DELAY) for each in (before, after)]
    lost = [each.mean(at, CALL_LOSS) or 0.0 for each in (before, after)]
    if delays[0] is None or delays[1] is None or delays[0] <= question.bound_ms:
        return False
    path_ms = 1e3 * at.round_trip_s / 2.0
    waits = path_ms + delays[0], path_ms + delays[1]
    if waits[1] <= LONGEST_WAIT_MS < waits[0]:
        return True
    gained = cost_of_wait(waits[0]) - cost_of_wait(waits[1])
    return gained >= cost_of_loss(lost[1]) - cost_of_loss(lost[0])


def _may_keep_apart(question: Question) -> bool:
    """Check whether a queue for each flow may be recommended."""
    return question.device == "linux" and question.discipline == ANY


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
    """Margin in a condition; larger for starved flows where there are very many."""
    usual = MARGINS[name]
    return max(usual, MARGINS["starved_share"] * at.flows) if name == "starved_flows" else usual


@dataclass(frozen=True, slots=True)
class Widened:
    """Metric that exceeds the margin that holds where the bound is kept.

    Attributes:
        condition: where. Of goodput and drops the queue in force breaks the bound there, of the
            delay it breaks the bound by much more elsewhere.
        what: the metric.
        before: of the queue in force.
        after: of the other.
    """

    condition: Condition
    what: str
    before: float
    after: float


def widened(question: Question, before: Measured, after: Measured) -> list[Widened]:
    """Metrics that needed the wider margins, each in its worst condition.

    That is one of those that were asked for, and one for robustness only where that is worse. None
    where a user's own margin stands in place of them.
    """
    usual = margins_for(question).usual
    found: dict[str, tuple[float, Widened]] = {}
    for at in after.runs:
        delays = before.p95_ms(at), after.p95_ms(at)
        slack = SLACK if at.robustness else 1.0
        excused = _longer_for_gain(question, before, after, at) <= slack
        longer = _longer(question, *delays) / slack if excused else 0.0
        rows = [("delay_p95_ms", *delays, longer)]
        had, has = before.goodput(at), after.goodput(at)
        drops = before.mean(at, "drop_rate") or 0.0, after.mean(at, "drop_rate") or 0.0
        if delays[0] > question.bound_ms:
            rows += [
                ("goodput_bit_per_s", had, has, (1.0 - has / (had or 1.0)) / _USUAL_LOSS),
                ("drop_rate", *drops, (drops[1] - drops[0]) / MARGINS["drop_rate"]),
            ]
        for what, old, new, size in rows:
            if what in usual and size > max(1.0, found[what][0] if what in found else 0.0):
                found[what] = size, Widened(at, what, old, new)
    return [each for _, each in found.values()]
