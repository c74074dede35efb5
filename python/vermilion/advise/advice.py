"""Answer to a question: keep the queue in force, or set another, with its price.

1. What the device has is listed with its defaults and by rules of thumb
   (:mod:`vermilion.advise.families`). Where it is more than can be compared, one seed in few
   conditions ranks it.
2. Where the device has no queue for each flow, or another discipline was asked for, settings are
   searched from there on.
3. The best few meet the queue in force on fresh seeds in all conditions. The plainest is preferred:
   what keeps flows apart, what is there already, defaults, rules of thumb, then what a search has
   found. Each has to be noticeably better than what is plainer
   (:mod:`vermilion.advise.judgement`), and may harm nobody beyond the margins
   (:mod:`vermilion.advise.harms`).

All this is counted in packets, so that the answer follows from the seed alone. Only where time is
up (:mod:`vermilion.advise.timekeeping`) a stage ends with what it has found so far.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from vermilion.advise.commands import as_it_stands, candidate_families
from vermilion.advise.conditions import PACKET_BYTES, grid, probes, subset, with_ramp
from vermilion.advise.families import buffer_bytes
from vermilion.advise.judgement import (
    PART,
    By,
    Judgement,
    SettingsOfDevice,
    goodput_share,
    judge,
    keeps,
    score,
    worst_sparse_ms,
)
from vermilion.advise.margins import METRICS
from vermilion.advise.measuring import Laboratory, Measured
from vermilion.advise.metrics import SPARSE
from vermilion.advise.plan import (
    COMPARISON,
    LEAST_SEEDS,
    PROBES,
    SCREENING,
    SEARCH,
    affordable_conditions,
    may_shrink,
    needed_budget,
    seeds_for,
)
from vermilion.advise.scaled_line import MOST_SCALE_OF_PIE, ScaledLine
from vermilion.advise.timekeeping import Timekeeper, answering_at_interrupt
from vermilion.search import AUTOMATIC, chosen_search
from vermilion.simulate.accepted import check_seed
from vermilion.tuning.race import Race
from vermilion.tuning.search_loop import new_search, run_search

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.advise.conditions import Condition
    from vermilion.advise.families import Family
    from vermilion.advise.present import Present
    from vermilion.advise.question import Question, QueueSetting
    from vermilion.search import Point

Verdict = Literal[
    "keep: nothing better",
    "keep: harm",
    "keep: not settled",
    "set: bound",
    "set: goodput",
    "set: delay",
]
"""Answer, and why; "keep: not settled": not judged."""

_SET: Final[Mapping[By, Verdict]] = {
    "bound": "set: bound",
    "goodput": "set: goodput",
    "delay": "set: delay",
}

QUICK_PACKETS: Final = 35e6
FULL_PACKETS: Final = 160e6
"""Simulated at most, in packets of the simplest queue's work
(:data:`vermilion.advise.measuring.WORK`): the core does about eight million in a CPU second."""

QUICK_S: Final = 9.0
FULL_S: Final = 57.0
"""Seconds of simulating after which an answer ends with what it has, so that the whole command
takes at most ten and sixty."""

_SCREENING_TIME: Final = 0.25
_SEARCH_TIME: Final = 0.5
_COMPARISON_TIME: Final = 0.9
"""Of the time that is left at the beginning of each, where there is a deadline."""

_QUICK_SEEDS: Final = 5
_FULL_SEEDS: Final = 8
_PROBE_SEEDS: Final = 2
_MOST_COMPARED: Final = 4
"""Candidates beside the queue in force."""

_LEAST_TRIED: Final = 8
"""Fewer settings are no search."""

_MOST_TRIED: Final = 80
_AT_ONCE: Final = 4
"""Settings between two looks of the search; the same on any number of cores."""

_NOT_SETTABLE: Final = 1e9
"""In place of a score, where the device has nothing near."""

_DO_MORE: Final = frozenset({"cake"})
"""Queues that do what is not simulated and no figure shows: hosts, priorities."""

_FRESH: Final = 5000
_SEEDS_APART: Final = 10_000
_SEEDS: Final = 2**64 - _SEEDS_APART


@dataclass(frozen=True, slots=True)
class Compared:
    """A candidate against the queue in force, on fresh seeds.

    Attributes:
        measured: the candidate.
        judgement: of it.
        does_less: whether the queue in force does what no figure shows. Then only a bound that it
            breaks and this one keeps is worth a change.
    """

    measured: Measured
    judgement: Judgement
    does_less: bool = False

    @property
    def accepted(self) -> bool:
        """True if it is better and does no harm.

        What serves a sparse flow or the line, and is harmful only where nobody asked, is accepted:
        it is said.
        """
        by, harms = self.judgement.by, self.judgement.harms
        if by is None or (self.does_less and by != "bound"):
            return False
        return not harms if by == "delay" else all(each.excusable for each in harms)


@dataclass(frozen=True, slots=True)
class Advice:
    """An answer.

    Attributes:
        question: that was asked.
        present: what stands there now.
        verdict: the answer, and why.
        before: the queue in force on the fresh seeds; no runs where nothing was judged.
        after: the recommended one; the same as before where nothing is to be changed.
        judgement: of what is recommended, or of the best that was refused.
        compared: every candidate of the comparison, in the order in which they were taken.
        around_before: the queue in force around the range that was asked for.
        around_after: the recommended one likewise.
        tried: kinds of queues, and how many settings of each.
        seeds: of the comparison.
        simulations: how many there were in all.
        packets: that they came to, about.
        deadline_s: seconds that the answer might take; ``None`` for as long as it takes.
        time_was_up: whether anything was left out to keep that.
        interrupted: whether Ctrl-C ended it with what it had.
        deadline_needed_s: where nothing could be judged, the deadline with which it could, about.
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
    deadline_s: float | None = None
    time_was_up: bool = False
    interrupted: bool = False
    deadline_needed_s: float | None = None

    @property
    def settled(self) -> bool:
        """True if there was a judgement."""
        return self.verdict != "keep: not settled"

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
    def nearest(self) -> Measured:
        """Compared queue with which a sparse flow waits least."""
        rows = [self.before, *(each.measured for each in self.compared)]
        return min(rows, key=worst_sparse_ms)


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
    slow or fast. A deadline may cut it short, which the answer tells. One that is longer than
    usual lets it simulate more where it has to.

    Args:
        question: what is asked.
        present: what stands there now.
        threads: runs at a time; ``None`` for one on each core.
        progress: called with the part of the work that is done, 0 to 1.
        deadline_s: seconds after which it answers with what it has; ``None`` for no deadline.
        clock: by which these pass.

    Raises:
        ScenarioError: a seed or a discipline that is not accepted. KeyboardInterrupt: at Ctrl-C,
        where there is nothing to answer with yet, and at a second one. The
            first ends the work within seconds, with what it has.
    """
    begun = clock()
    check_seed(question.seed)
    if present.framing is not None:
        share = PACKET_BYTES / present.framing.bytes_of(PACKET_BYTES)
        question = replace(question, line_share=share)
    budget, usual_s = (QUICK_PACKETS, QUICK_S) if question.quick else (FULL_PACKETS, FULL_S)
    keeper = Timekeeper(clock, math.inf if deadline_s is None else begun + deadline_s)
    laboratory = Laboratory(question, threads, progress, budget, time=keeper)
    now = as_it_stands(question, present)
    kinds = candidate_families(question, present) if present.improvable else []
    buffer = buffer_bytes(now, question.flows[1])
    conditions = with_ramp(grid(question, buffer), question, now)
    while affordable_conditions(conditions, laboratory) is None and may_shrink(question, now):
        question = replace(question, scale=2 * question.scale)
        laboratory = replace(laboratory, question=question)
        conditions = with_ramp(grid(question, buffer), question, now)
    needed = needed_budget(conditions, laboratory)
    if deadline_s is not None and deadline_s > usual_s:
        laboratory.budget = min(max(budget, needed), deadline_s / usual_s * budget)
    places = affordable_conditions(conditions, laboratory)
    case = _Case(question, laboratory, kinds, places or [], now)
    around = [Measured(now)]
    with answering_at_interrupt(keeper):
        before = case.compare() if places else Measured(now)
        judged = len(case.seeds) > 1
        taken = case.recommended() if judged else None
        after = before if taken is None else taken.measured
        if judged:
            outside = with_ramp(probes(question, buffer), question, now)
            around = case.around(outside, after.queue)
    if progress is not None:
        progress(1.0)
    refused = [each for each in case.compared if each.judgement.by is not None]
    verdict: Verdict = "keep: harm" if refused else "keep: nothing better"
    judgement = refused[0].judgement if refused else Judgement(None)
    if taken is not None and taken.judgement.by is not None:
        judgement, verdict = taken.judgement, _SET[taken.judgement.by]
    if not judged:
        verdict = "keep: not settled"
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
        case.seeds[: after.seeds],
        laboratory.batches.count,
        laboratory.spent,
        deadline_s,
        keeper.was_up,
        keeper.hurried,
        None if judged else _round_up(usual_s * max(needed / budget, 1.0)),
    )


def _round_up(seconds: float) -> float:
    """Two digits of a time, rounded up."""
    digits = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return math.ceil(seconds / digits) * digits


@dataclass(slots=True)
class _Case:
    """A question while it is worked on: what was compared, on which seeds and where."""

    question: Question
    laboratory: Laboratory
    families: Sequence[Family]
    conditions: Sequence[Condition]
    now: QueueSetting
    compared: list[Compared] = field(default_factory=list)
    tried: dict[str, int] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The first seed of all."""
        return _SEEDS_APART * self.question.seed % _SEEDS

    def compare(self) -> Measured:
        """Compares the best with what is there: which this returns."""
        laboratory, conditions = self.laboratory, self.conditions
        candidates = self._candidates()
        left = max(
            (1.0 - PROBES) * laboratory.budget - laboratory.spent, COMPARISON * laboratory.budget
        )
        most = _QUICK_SEEDS if self.question.quick else _FULL_SEEDS
        with laboratory.time.part(_COMPARISON_TIME):
            left = laboratory.time.in_time(left)
            each = laboratory.cost(conditions, 0.0, 1, LEAST_SEEDS)
            room = min(max(int(left / each) - 1, 1), _MOST_COMPARED)
            queues = [self.now, *candidates[:room]]
            count = seeds_for(conditions, laboratory, len(queues), most, left)
            seeds = [(self.first + _FRESH + number) % _SEEDS for number in range(count)]
            length = laboratory.length_for(conditions, len(queues), count, left)
            now, rows = Measured(self.now), [Measured(each) for each in queues[1:]]
            contest = SettingsOfDevice(laboratory, conditions, length, now)
            Race(contest, [now, *rows]).run(seeds, (len(rows) + 2) * len(seeds))
        self.seeds = seeds[: now.seeds]
        does_less = self.now.kind in _DO_MORE
        self.compared = [
            Compared(row, judge(self.question, now, row, PART), does_less)
            for row in rows
            if row.runs
        ]
        return now

    def recommended(self) -> Compared | None:
        """The plainest candidate that is accepted, or one that is noticeably better than that.

        One that the race has stopped is taken only where none that went on is accepted.
        """
        accepted = [each for each in self.compared if each.accepted]
        went_on = [each for each in accepted if each.measured.seeds == len(self.seeds)]
        taken: Compared | None = None
        for each in sorted(
            went_on or accepted, key=lambda each: self._plainness(each.measured.queue)
        ):
            if taken is None or self._is_worth(taken.measured, each.measured):
                taken = each
        return taken

    def around(self, places: Sequence[Condition], chosen: QueueSetting) -> list[Measured]:
        """Queue in force and recommended queue around the range, as far as there is time."""
        laboratory = self.laboratory
        packets = laboratory.time.in_time(PROBES * laboratory.budget)
        some = list(places)
        while some and laboratory.cost(some, 0.0, 2, 1) > packets:
            some.pop()
        queues = list({each.same_as: each for each in (self.now, chosen)}.values())
        seeds = self.seeds[:_PROBE_SEEDS]
        return laboratory.measure(queues, some, seeds, 0.0)

    def _candidates(self) -> list[QueueSetting]:
        """Settings worth comparing, the most promising first."""
        plain = self._plain()
        isolates = any(each.keeps_apart for each in self.families)
        with self.laboratory.time.part(_SCREENING_TIME):
            ranked = self._screen(plain) if len(plain) > _MOST_COMPARED else plain
        tuned: list[QueueSetting] = []
        if not isolates and self.families:
            with self.laboratory.time.part(_SEARCH_TIME):
                share = SEARCH * self.laboratory.budget / len(self.families)
                for number, family in enumerate(self.families):
                    if family.kind not in self.tried:
                        continue
                    tuned += self._tune(family, ranked, self.first + 2 + number, share)
        # Whatever ranks first, what keeps flows apart is compared, and a rule beside what is tuned.
        apart = [each for each in plain if each.keeps_apart][:1]
        found = [*apart, *ranked[:1], *tuned, *ranked[1:]]
        return list({each.same_as: each for each in reversed(found)}.values())[::-1]

    def _plain(self) -> list[QueueSetting]:
        """Defaults and rules of thumb, those that keep flows apart first."""
        known, model = {self.now.same_as}, ScaledLine(self.question.scale)
        found: list[QueueSetting] = []
        for family in sorted(self.families, key=lambda each: not each.keeps_apart):
            if "pie" in family.discipline and self.question.scale > MOST_SCALE_OF_PIE:
                continue
            for queue in family.candidates(self.question):
                self.tried[family.kind] = self.tried.get(family.kind, 0) + 1
                if queue.same_as not in known and model.suits(queue):
                    known.add(queue.same_as)
                    found.append(queue)
        return found

    def _screen(self, plain: Sequence[QueueSetting]) -> list[QueueSetting]:
        """The candidates by their points with one seed, the best first, as far as there is room."""
        laboratory = self.laboratory
        few = subset(self.conditions)
        room = int(SCREENING * laboratory.budget / laboratory.cost(few, 0.0, 1, 1)) - 1
        some = plain[: max(room, _MOST_COMPARED)]
        now, *rows = laboratory.measure([self.now, *some], few, [self.first], 0.0)
        if not now.seeds:
            return list(plain)
        scores = {row.queue.same_as: score(self.question, row, now) for row in rows}
        return sorted(some, key=lambda each: scores[each.same_as])

    def _tune(
        self, family: Family, ranked: Sequence[QueueSetting], seed: int, packets: float
    ) -> list[QueueSetting]:
        """The best setting of a search; none where there is no room for one."""
        laboratory, question = self.laboratory, self.question
        conditions = subset(self.conditions)
        each = laboratory.cost(conditions, 0.0, 1, 1)
        count = min(int(packets / each) - 1, _MOST_TRIED)
        space = family.space(question)
        if count < _LEAST_TRIED:
            return []
        starts = [each for each in (*ranked, self.now) if each.kind == family.kind]
        values = [
            {name: float(start.parameters[name] or 0.0) for name in space.names}
            for start in starts
            if all(start.parameters.get(name) is not None for name in space.names)
        ]
        known: dict[tuple[object, ...], tuple[float, QueueSetting]] = {}
        [now] = laboratory.measure([self.now], conditions, [seed], 0.0)
        if not now.seeds:
            return []

        def scores(points: Sequence[Point]) -> list[float] | None:
            queues = [family.setting_or_none(question, space.values(point)) for point in points]
            settable = [each for each in queues if each is not None]
            new = list({q.same_as: q for q in settable if q.same_as not in known}.values())
            for row in laboratory.measure(new, conditions, [seed], 0.0):
                if not row.seeds:
                    return None
                known[row.queue.same_as] = score(question, row, now), row.queue
            return [_NOT_SETTABLE if q is None else known[q.same_as][0] for q in queues]

        known_points = [space.point(each) for each in values[:3]]
        name = chosen_search(AUTOMATIC, len(space), "hurry")
        search = new_search(name, space, seed, known_points)
        tried = run_search(search, count, _AT_ONCE, scores)
        self.tried[family.kind] = self.tried.get(family.kind, 0) + tried
        best = min(known.values(), key=lambda entry: entry[0], default=None)
        return [] if best is None else [best[1]]

    def _plainness(self, queue: QueueSetting) -> tuple[bool, bool, int, bool]:
        """Sort key: plainer settings are looked at first, and so win a tie."""
        kinds = [each.kind for each in self.families]
        return (
            not queue.keeps_apart,
            bool(queue.tuned) and "rule" not in queue.label,
            -1 if queue.kind == self.now.kind else kinds.index(queue.kind),
            bool(queue.tuned),
        )

    def _is_worth(self, plainer: Measured, other: Measured) -> bool:
        """Check whether a less plain setting is better, and no flow is worse off with it.

        Both keep the margins against the queue in force; what lies between them in what a call and
        the line get is in their points.
        """
        found = judge(self.question, plainer, other)
        in_points = {METRICS["goodput"], SPARSE}
        harmless = all(each.excusable or each.what in in_points for each in found.harms)
        return found.by is not None and harmless


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
            (
                (after.goodput(at) - before.goodput(at)) / question.packet_rate_bit_per_s
                for at in places
            ),
            default=0.0,
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
