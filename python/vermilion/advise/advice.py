"""Answer to a question: keep the queue in force, or set another, with its price."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from vermilion.advise.candidates import Selector
from vermilion.advise.commands import as_it_stands, is_shaped
from vermilion.advise.conditions import PACKET_BYTES, probes, with_ramp
from vermilion.advise.families import buffer_bytes, families
from vermilion.advise.judgement import (
    By,
    Judgement,
    continued,
    gives_up_isolation,
    goodput_share,
    judge,
    keeps,
    worst_p95_ms,
)
from vermilion.advise.measuring import Laboratory, Measured
from vermilion.advise.plan import (
    LEAST_SEEDS,
    UP_TO_COMPARISON,
    conditions_for,
    least_cost,
    seeds_for,
    settled_conditions,
    settled_cost,
    settling_budget,
)
from vermilion.advise.timekeeping import CAUTION, Timekeeper, TimeUpError, answering_at_interrupt
from vermilion.scenario import ScenarioError, format_quantity
from vermilion.scenario.quantities import TIME
from vermilion.simulate.accepted import check_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.advise.conditions import Condition
    from vermilion.advise.families import Family
    from vermilion.advise.harms import Harm
    from vermilion.advise.present import Present
    from vermilion.advise.question import Question, QueueSetting

Verdict = Literal[
    "keep: nothing better",
    "keep: harm",
    "keep: not settled",
    "set: bound",
    "set: goodput",
    "set: delay",
]

_SET: Final[Mapping[By, Verdict]] = {
    "bound": "set: bound",
    "goodput": "set: goodput",
    "delay": "set: delay",
}

QUICK_PACKETS: Final = 55e6
FULL_PACKETS: Final = 310e6
"""What is simulated where nothing has to be aimed at twice, in packets of the simplest queue's work
(:data:`vermilion.advise.measuring.WORK`): the core does about eight million in a CPU second."""

QUICK_S: Final = 9.0
FULL_S: Final = 57.0
"""Seconds of simulating after which an answer ends with what it has, so that the whole command
takes at most ten and sixty. Two cores that nobody else uses need about two thirds of either."""

_MOST: Final = 1.5
"""Of these at the most."""

_PART: Final = 0.9
"""Of the margins that a recommendation may use up, so that other seeds find them kept."""

_COMPARISON: Final = 0.3

_UNSELECTED_COMPARED: Final = 3
"""Queues in a comparison, that in force among them, where there was no selection before."""

_SEARCH_TIME: Final = 0.6
_COMPARISON_TIME: Final = 0.75
_AIMING_TIME: Final = 0.6
_AIMING_SEARCH_TIME: Final = 0.5
"""Of the time that is left at the beginning of each, where there is a deadline."""

_SPARE: Final = 1.1
_PROBES: Final = 0.05
_QUICK_SEEDS: Final = 5
_FULL_SEEDS: Final = 8
_PROBE_SEEDS: Final = 3
_RELAXED: Final = (1.5, 3.0, 10.0, 30.0)
"""Times the bound: what is aimed at where nothing comes nearer without harm."""

_RELAXED_MOST: Final = 0.8
"""Of what packets wait now: to aim at more would be no help."""

_RELAXED_BUDGET: Final = 0.12
_RELAXED_COMPARED: Final = 2
_RELAXED_SEEDS: Final = 100
_DO_MORE: Final = frozenset({"cake"})
"""Queues that do what is not simulated and no figure shows."""

MUCH_GOODPUT: Final = 0.1
"""Of the rate: who carries so much less throttles the line. What nobody asked for excuses none of
that."""

_FRESH: Final = 5000
_SEEDS_APART: Final = 10_000
_SEEDS: Final = 2**64 - _SEEDS_APART


@dataclass(frozen=True, slots=True)
class Compared:
    """A candidate against the queue in force, on fresh seeds.

    Attributes:
        measured: the candidate.
        judgement: of it.
        keeps_bound: whether it keeps the bound in all nominal conditions.
        lasts: whether it is still better if what changed while it was measured goes on changing.
        gives_up_isolation: whether it is a queue for all in place of one for each flow, and fills
            no more of the line that would be worth that.
        only_for_bound: whether the queue in force does what no figure shows (cake keeps hosts
            apart). Then only a bound that it breaks and this one keeps is worth a change.
    """

    measured: Measured
    judgement: Judgement
    keeps_bound: bool
    lasts: bool = True
    gives_up_isolation: bool = False
    only_for_bound: bool = False

    @property
    def accepted(self) -> bool:
        """True if it is better and does no harm.

        A queue that keeps the bound where the one in force does not, or carries much more of the
        line, may be harmful where that is excusable: it is said, and not held against it.
        """
        return self._is_accepted(self.judgement.harms)

    @property
    def accepted_at_last(self) -> bool:
        """The same where nothing else is: then a call may lose what its shorter wait is worth."""
        harms = [each for each in self.judgement.harms if not each.worth_the_wait]
        return self._is_accepted(harms)

    def _is_accepted(self, harms: Sequence[Harm]) -> bool:
        by = self.judgement.by
        if by is None or self.gives_up_isolation:
            return False
        if self.keeps_bound and by == "bound":
            return all(each.excusable for each in harms)
        if by == "goodput" and self.judgement.difference >= MUCH_GOODPUT:
            return not self.only_for_bound and all(each.excusable for each in harms)
        return not harms and not self.only_for_bound


@dataclass(frozen=True, slots=True)
class Advice:
    """An answer.

    Attributes:
        question: that was asked.
        present: what stands there now.
        verdict: the answer, and why.
        before: the queue in force on the fresh seeds.
        after: the recommended one; the same as before where nothing is to be changed.
        judgement: of what is recommended, or of the best that was refused.
        compared: every candidate of the comparison, in the order in which they were taken.
        around_before: the queue in force around the range that was asked for.
        around_after: the recommended one likewise.
        tried: kinds of queues, and how many settings of each.
        seeds: of the comparison.
        simulations: how many there were in all.
        packets: that they came to, about.
        length: of the runs of the comparison, from 0, the least, to 1.
        deadline_s: seconds that the answer might take; ``None`` for as long as it takes.
        time_was_up: whether anything was left out to keep that.
        interrupted: whether Ctrl-C ended it with what it had.
        settled: whether the runs were long enough to show more than how transfers begin.
        deadline_needed_s: where they were not, the deadline with which they would be, about.
    """

    question: Question
    present: Present
    verdict: Verdict
    before: Measured
    after: Measured
    judgement: Judgement
    compared: Sequence[Compared]
    around_before: Measured
    around_after: Measured
    tried: Mapping[str, int] = field(default_factory=dict)
    seeds: Sequence[int] = ()
    simulations: int = 0
    packets: float = 0.0
    length: float = 1.0
    deadline_s: float | None = None
    time_was_up: bool = False
    interrupted: bool = False
    settled: bool = True
    deadline_needed_s: float | None = None

    @property
    def keep(self) -> bool:
        """True if what is there is to stay."""
        return self.verdict.startswith("keep")

    @property
    def chosen(self) -> QueueSetting:
        """Recommended queue."""
        return self.after.queue

    @property
    def conditions(self) -> list[Condition]:
        """The grid."""
        return list(self.before.runs)

    @property
    def bound_kept(self) -> bool:
        """True if what is recommended keeps the bound in all nominal conditions."""
        return keeps(self.after, self.question.bound_ms)

    @property
    def shown(self) -> list[Measured]:
        """Queues that figures are shown of: the present one, if known, and the recommended one."""
        if self.keep:
            return [self.before]
        return [self.before, self.after] if self.present.known else [self.after]

    @property
    def best_for_delay(self) -> Measured:
        """Compared queue with the shortest worst-case delay."""
        rows = [self.before, *(each.measured for each in self.compared)]
        return min(rows, key=worst_p95_ms)


def advise(
    question: Question,
    present: Present,
    *,
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,
    deadline_s: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Advice:
    """Answers a question.

    The same question, with the same seed, gives the same answer on all machines of one platform,
    slow or fast. A deadline may cut it short, which the answer tells. One that is longer than usual
    lets it simulate more where transfers take more than usual to settle.

    Args:
        question: what is asked.
        present: what stands there now.
        threads: runs at a time; ``None`` for one on each core.
        progress: called with the part of the work that is done, 0 to 1.
        deadline_s: seconds after which it answers with what it has; ``None`` for no deadline.
        clock: by which these pass.

    Raises:
        ScenarioError: a seed or a discipline that is not accepted, or a deadline in which not even
            the queue in force could be simulated.
        KeyboardInterrupt: at Ctrl-C, where there is nothing to answer with yet, and at a second
            one. The first ends the work within seconds, with what it has.
    """
    begun = clock()
    check_seed(question.seed)
    question = _on_the_line(question, present)
    budget, usual_s = _usual(question)
    keeper = Timekeeper(clock, math.inf if deadline_s is None else begun + deadline_s)
    laboratory = Laboratory(question, threads, progress, budget, time=keeper)
    now = as_it_stands(question, present)
    kinds = families(question, shaped=is_shaped(question, present))
    buffer = buffer_bytes(now, question.flows[1])
    with answering_at_interrupt(keeper):
        conditions = conditions_for(question, buffer, laboratory)
        conditions = with_ramp(conditions, question, now)
        if deadline_s is not None and deadline_s > usual_s:
            most = deadline_s / usual_s * budget
            laboratory.budget = min(max(budget, settling_budget(conditions, laboratory)), most)
        laboratory.whole = _MOST * laboratory.budget
        case = _Case(question, laboratory, kinds, conditions, now)
        before = case.compare()
        if not case.seeds and keeper.hurried:
            raise KeyboardInterrupt
        if not case.seeds:
            raise ScenarioError(
                "--deadline",
                format_quantity(deadline_s or 0.0, TIME),
                "more time: this machine has not even simulated the present queue",
            )
        if case.settled:
            before = case.compare_further(before)
        taken = _recommended(question, case.compared) if case.settled else None
        after = before if taken is None else taken.measured
        outside = with_ramp(probes(question, buffer), question, now)
        around = case.around(outside if case.settled else [], after.queue)
        if progress is not None:
            progress(1.0)
    verdict: Verdict
    if taken is not None and taken.judgement.by is not None:
        judgement = taken.judgement
        verdict = _SET[taken.judgement.by]
    else:
        refused = [each for each in case.compared if each.judgement.by is not None]
        verdict = "keep: harm" if refused else "keep: nothing better"
        if case.promising or not case.settled:
            verdict = "keep: not settled"
        judgement = refused[0].judgement if refused else Judgement(None)
    return Advice(
        question,
        present,
        verdict,
        before,
        after,
        judgement,
        case.compared,
        around[0],
        around[-1],
        case.tried,
        case.seeds,
        laboratory.runs,
        laboratory.spent,
        case.length,
        deadline_s,
        keeper.was_up,
        keeper.hurried,
        case.settled,
        None if case.settled else case.deadline_needed_s(),
    )


def _on_the_line(question: Question, present: Present) -> Question:
    """The question, with what the line leaves of its rate for packets."""
    if present.framing is None:
        return question
    return replace(question, line_share=PACKET_BYTES / present.framing.bytes_of(PACKET_BYTES))


@dataclass(slots=True)
class _Case:
    """A question while it is worked on: what was compared, on which seeds, where and for how long.

    Attributes:
        conditions: of the search, in which runs may be too short for anything but a ranking.
        places: the conditions of the comparison.
        settled: whether no run of the comparison is.
    """

    question: Question
    laboratory: Laboratory
    families: Sequence[Family]
    conditions: Sequence[Condition]
    now: QueueSetting
    compared: list[Compared] = field(default_factory=list)
    tried: dict[str, int] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)
    length: float = 1.0
    places: Sequence[Condition] = ()
    settled: bool = False

    @property
    def first(self) -> int:
        """The first seed of all."""
        return _SEEDS_APART * self.question.seed % _SEEDS

    @property
    def promising(self) -> list[Compared]:
        """Candidates that would be recommended if their gain lasts."""
        return [each for each in self.compared if each.accepted]

    def compare(self) -> Measured:
        """Searches, and compares the best with what is there: which this returns."""
        laboratory, conditions = self.laboratory, self.conditions
        budget = laboratory.budget
        selector = Selector(self.question, laboratory, conditions, self.now, self.families)
        with laboratory.time.part(_SEARCH_TIME):
            found = selector.run(self.first)
        self.tried = dict(found.tried)
        left = max(_COMPARISON * budget, UP_TO_COMPARISON * budget - laboratory.spent)
        with laboratory.time.part(_COMPARISON_TIME):
            left = laboratory.time.in_time(left)
        # Where few runs have ranked what is chosen, more of it is compared: in fewer conditions
        # and with fewer seeds, if need be.
        least = 2 if found.selected else min(len(found.chosen) + 1, _UNSELECTED_COMPARED)
        long_enough = settled_conditions(conditions, laboratory, left, least)
        self.settled = long_enough is not None
        self.places = conditions = long_enough or conditions
        most = _QUICK_SEEDS if self.question.quick else _FULL_SEEDS
        count = seeds_for(conditions, laboratory, most, left)
        count = count if found.selected else min(count, LEAST_SEEDS)
        self.seeds = [(self.first + _FRESH + number) % _SEEDS for number in range(count)]
        settings = int(left / laboratory.cost(conditions, 0.0, 1, count)) - 1
        queues = [self.now, *found.chosen[: max(settings, 1)]]
        self.length = laboratory.length_for(conditions, len(queues), count, left)
        # Whatever there is in time: nothing can be said without this.
        met, rows = laboratory.measure_in_time(queues, conditions, self.seeds, self.length)
        if not met and laboratory.time.hurried:
            # On a busy machine not even one seed fits into the moment that was left. The best two
            # are compared however long it takes: without that there is nothing to say at all.
            laboratory.time.until = math.inf
            few = queues[:2], conditions, self.seeds[:1], self.length
            met, rows = laboratory.measure_in_time(*few)
            laboratory.time.until = laboratory.time.ends
        self.seeds = met
        if met:
            self._judge(rows[0], rows[1:])
        return rows[0]

    def compare_further(self, before: Measured) -> Measured:
        """Compares more, where nothing can be recommended yet.

        Returns:
            The queue in force.
        """
        for number, factor in enumerate(_RELAXED):
            bound_ms = factor * self.question.bound_ms
            if self.promising or bound_ms > _RELAXED_MOST * worst_p95_ms(before):
                break
            # What keeps the bound does harm. Something in between may help without.
            if not self.aim_further(number, factor, before):
                break
        if self.promising and _recommended(self.question, self.compared) is None:
            return self.compare_later(before)
        return before

    def compare_later(self, before: Measured) -> Measured:
        """Compares what seemed better once more, after the time that was measured.

        Returns:
            The queue in force; what it was before, where there was no room for that.
        """
        laboratory = self.laboratory
        places = [each.later(self.length) for each in self.places]
        queues = [
            self.now,
            *(each.measured.queue for each in self.promising[:_RELAXED_COMPARED]),
        ]
        room = (_MOST - _PROBES) * laboratory.budget - laboratory.spent
        if laboratory.cost(places, 1.0, len(queues), len(self.seeds)) > room:
            return before
        try:
            with laboratory.time.part(_COMPARISON_TIME):
                now, *rows = laboratory.measure(queues, places, self.seeds, 1.0)
        except TimeUpError:
            return before
        self.places, self.length, self.compared = places, 1.0, []
        self._judge(now, rows)
        return now

    def deadline_needed_s(self) -> float:
        """The deadline with which the comparison would be long enough, about."""
        laboratory, keeper = self.laboratory, self.laboratory.time
        packets, seconds = _usual(self.question)
        needed = seconds * max(settling_budget(self.conditions, laboratory) / packets, 1.0)
        if keeper.was_up and keeper.packets > 0.0:
            part = CAUTION * (1.0 - _SEARCH_TIME) * _COMPARISON_TIME
            cost = settled_cost(self.conditions, laboratory)
            needed = max(_SPARE * cost * keeper.simulated_s / keeper.packets / part, needed)
        digits = 10.0 ** (math.floor(math.log10(needed)) - 1)
        return math.ceil(needed / digits) * digits

    def aim_further(self, number: int, factor: float, before: Measured) -> bool:
        """Searches for a multiple of the bound; tells whether there was room for that."""
        laboratory, conditions = self.laboratory, self.conditions
        budget = laboratory.budget
        share = _RELAXED_BUDGET * budget
        smaller = replace(laboratory, budget=share, spent=0.0, runs=0, done=laboratory.spent)
        search = max(share, least_cost(conditions, smaller))
        each = laboratory.cost(self.places, self.length, 1, len(self.seeds))
        affordable = int(((_MOST - _PROBES) * budget - laboratory.spent - search) / each)
        if affordable < 1 or len(self.seeds) < LEAST_SEEDS:
            return False
        wider = replace(self.question, bound_s=factor * self.question.bound_s)
        selector = Selector(wider, smaller, conditions, self.now, self.families)
        with laboratory.time.part(_AIMING_TIME), laboratory.time.part(_AIMING_SEARCH_TIME):
            found = selector.run(self.first + _RELAXED_SEEDS * (number + 1))
        for kind, count in found.tried.items():
            self.tried[kind] = self.tried.get(kind, 0) + count
        laboratory.runs += smaller.runs
        laboratory.spent += smaller.spent
        few = found.chosen[: min(affordable, _RELAXED_COMPARED)]
        try:
            with laboratory.time.part(_AIMING_TIME):
                rows = laboratory.measure(few, self.places, self.seeds, self.length)
        except TimeUpError:
            return False
        self._judge(before, rows)
        return True

    def around(self, places: Sequence[Condition], chosen: QueueSetting) -> list[Measured]:
        """Queue in force and recommended queue, measured around the range.

        Nothing where time is up, or is too short for them to settle.
        """
        laboratory = self.laboratory
        packets = laboratory.time.in_time(_PROBES * laboratory.budget)
        places = [each.settled() for each in places]
        while len(places) > 1 and laboratory.cost(places, 0.0, 2, 1) > packets:
            places.pop()
        once = laboratory.cost(places, 0.0, 2, 1)
        affordable = int(packets / once) if once else 0
        queues = list({each.same_as: each for each in (self.now, chosen)}.values())
        if not affordable:
            return [Measured(each) for each in queues]
        seeds = self.seeds[: min(max(affordable, 1), _PROBE_SEEDS)]
        length = laboratory.length_for(places, len(queues), len(seeds), packets)
        met, rows = laboratory.measure_in_time(queues, places, seeds, length)
        return rows if met else [Measured(each) for each in queues]

    def _judge(self, before: Measured, rows: Sequence[Measured]) -> None:
        question = self.question
        later = continued(question, before)
        others = [*(each.measured for each in self.compared), *rows]
        self.compared += [
            Compared(
                row,
                judge(question, before, row, _PART),
                keeps(row, question.bound_ms),
                judge(question, later, continued(question, row)).by is not None,
                gives_up_isolation(question, before, others, row),
                only_for_bound=self.now.kind in _DO_MORE,
            )
            for row in rows
        ]


def _usual(question: Question) -> tuple[float, float]:
    """The packets' work that an answer usually comes to, and the seconds that it may take."""
    return (QUICK_PACKETS, QUICK_S) if question.quick else (FULL_PACKETS, FULL_S)


def _recommended(question: Question, compared: Sequence[Compared]) -> Compared | None:
    """First acceptable candidate that lasts, those that keep the bound before the others.

    Where none keeps it, one that comes noticeably nearer is preferred.
    """
    accepted = [each for each in compared if each.accepted and each.lasts]
    if not accepted:
        accepted = [each for each in compared if each.accepted_at_last and each.lasts]
    accepted.sort(key=lambda each: (not each.keeps_bound, bool(each.judgement.harms)))
    if not accepted:
        return None
    taken = accepted[0]
    for each in accepted[1:]:
        if not taken.keeps_bound and judge(question, taken.measured, each.measured).by == "bound":
            taken = each
    return taken


def price(before: Measured, after: Measured, question: Question) -> dict[str, float]:
    """Price of a change over the nominal conditions, the worst of each metric.

    Returns:
        ``goodput_change`` (part of the rate, mean), ``goodput_change_worst``, ``jain_index_change``
        (worst), ``starved_flows_change`` (worst), ``drop_rate_before``, ``drop_rate_after``,
        ``mark_rate_before``, ``mark_rate_after`` (means).
    """
    places = [each for each in before.runs if not each.robustness]
    found = {
        "goodput_change": goodput_share(question, after) - goodput_share(question, before),
        "goodput_change_worst": min(
            (after.goodput(at) - before.goodput(at)) / question.simulated_rate_bit_per_s
            for at in places
        ),
    }
    for name, worst in (("jain_index", min), ("starved_flows", max)):
        changes = [
            new - old
            for at in places
            if (new := after.mean(at, name)) is not None
            and (old := before.mean(at, name)) is not None
        ]
        if changes:
            found[f"{name}_change"] = worst(changes)
    for name in ("drop_rate", "mark_rate"):
        for when, measured in (("before", before), ("after", after)):
            values = [value for at in places if (value := measured.mean(at, name)) is not None]
            if values:
                found[f"{name}_{when}"] = math.fsum(values) / len(values)
    return found
