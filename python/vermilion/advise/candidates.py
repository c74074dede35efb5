"""Selection of the few queues of a device that are worth comparing with the one in force.

1. Defaults and rules of thumb are tried on one seed in three conditions (the most and the least
   crowded, and the middle); the better half goes on to all conditions, and a quarter to a second
   seed.
2. Tuned, from where they stood, are the best kind that keeps flows apart, the kind that is there
   already, and as many of the next as the budget allows.
3. The best defaults, the best rule of thumb and the best tuned settings meet seeds that nothing was
   chosen by. What keeps flows apart, then what is there already, and of each the plain ones are
   preferred: a rule has to be noticeably better than the defaults, and a tuned setting noticeably
   better than both.

All this looks at how the line stays, where there is room for that, in fewer conditions if need be
(:meth:`Selector._screening_conditions`). It is counted in packets, so that the answer follows
from the seed alone. Only where time is up (:mod:`vermilion.advise.timekeeping`) a stage ends with
what it has found so far.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vermilion.advise.conditions import WEB, subset
from vermilion.advise.judgement import (
    WORTH_ONE_QUEUE,
    drops_less,
    gives_up_isolation,
    judge,
    keeps,
    keeps_isolation,
    score,
    tier,
)
from vermilion.advise.timekeeping import TimeUpError
from vermilion.search import AUTOMATIC, chosen_search, search_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.advise.conditions import Condition
    from vermilion.advise.families import Family
    from vermilion.advise.measuring import Laboratory, Measured
    from vermilion.advise.question import Question, QueueSetting

SCREENING: Final = 0.2
TUNING: Final = 0.3
SELECTION: Final = 0.15
"""Parts of the budget."""

_LEAST_TRIED: Final = 8
"""Fewer settings are no search."""

_ENOUGH_TRIED: Final = 40
"""Settings that a kind is worth tuning with."""

_MOST_TRIED: Final = 120
_MOST_KINDS: Final = 4
_SELECTION_SEEDS: Final = 3
_USUAL_SELECTION_SEEDS: Final = 2
"""At the least."""

_LEAST_SELECTION_SEEDS: Final = 1
"""Where time is short: a long run says more of how the line stays than short ones."""

_SHORT: Final = 0.5
"""Of the full length: enough to rank settings by."""


@dataclass(slots=True)
class Shortlist:
    """Candidates for a comparison on fresh seeds.

    Attributes:
        chosen: in the order in which they are to be taken: the first is the choice, the others
            stand in for it.
        tried: each kind of queue, and how many settings of it were simulated.
        selected: whether seeds that nothing was chosen by have been met; if not, the order of what
            is chosen says little.
    """

    chosen: list[QueueSetting] = field(default_factory=list)
    tried: dict[str, int] = field(default_factory=dict)
    selected: bool = True


@dataclass(slots=True)
class Selector:
    """Looks for candidates.

    Attributes:
        question: whose.
        laboratory: simulates.
        conditions: the grid.
        now: the queue in force.
        families: that may be tried.
    """

    question: Question
    laboratory: Laboratory
    conditions: Sequence[Condition]
    now: QueueSetting
    families: Sequence[Family]

    def run(self, seed: int) -> Shortlist:
        """Screens, tunes and selects.

        Args:
            seed: the first of those that this uses; the next ten or so are used too.
        """
        question, laboratory = self.question, self.laboratory
        found = Shortlist()
        known = {self.now.same_as}
        plain: list[QueueSetting] = []
        for family in self.families:
            for queue in family.candidates(question):
                found.tried[family.kind] = found.tried.get(family.kind, 0) + 1
                if queue.same_as not in known:
                    known.add(queue.same_as)
                    plain.append(queue)
        plain.sort(key=lambda each: bool(each.tuned))  # every kind's defaults first
        if not plain:
            return found
        tuned: list[QueueSetting] = []
        with laboratory.time.part(_SEARCHED):
            ranked = self._screen(plain, seed)
            kinds = self._worth_tuning(ranked)
            for kind in kinds:
                family = next(each for each in self.families if each.kind == kind)
                starts = [each for each in (*ranked, self.now) if each.kind == kind]
                share = TUNING * laboratory.budget / len(kinds)
                leaders, tried = self._tune(family, starts, seed + 2, share)
                found.tried[kind] = found.tried.get(kind, 0) + tried
                tuned += leaders
        left = self._for_selection(ranked, tuned)
        chosen = self._select(left, seed + 4)
        found.selected = chosen is not None
        usual_first = [family.kind for family in self.families]
        found.chosen = (
            unselected(left, usual_first, isolated=self._isolated) if chosen is None else chosen
        )
        return found

    def _worth_tuning(self, ranked: Sequence[QueueSetting]) -> list[str]:
        """The kinds that are tuned: one that keeps flows apart, that in force, and the next."""
        kinds = list(dict.fromkeys(each.kind for each in ranked))
        budget = TUNING * self.laboratory.budget
        fair = [kind for kind in kinds if _is_fair(kind)][:1]
        own = [each.kind for each in self.families if each.kind == self.now.kind]
        enough = _ENOUGH_TRIED * self.laboratory.cost(self.conditions, _SHORT, 1, 1)
        least = list(dict.fromkeys([*(fair or kinds[:1]), *own]))
        further = [kind for kind in kinds if kind not in least]
        if self._isolated:  # what would not be recommended needs no tuning
            further = [kind for kind in further if _is_fair(kind)]
        affordable = min(int(budget / enough), _MOST_KINDS) - len(least)
        return [*least, *further[: max(affordable, 0)]]

    def _screen(self, plain: Sequence[QueueSetting], seed: int) -> list[QueueSetting]:
        """Candidates that pass one seed, then two; the best first.

        Where time is up before one seed has spoken, as they are.
        """
        share = SCREENING * self.laboratory.budget / 2.0
        few = self._screening_conditions(len(plain), 1, share, [subset(self.conditions)])
        kinds = len({each.kind for each in plain})
        affordable = self._affordable_count(few, share)
        if affordable < kinds:
            plain = sorted(plain, key=lambda each: not _is_fair(each.kind))
        some = plain[: max(min(kinds, LEAST_SCREENED), affordable)]
        length = min(_SHORT, self._length(few, some, 1, share))
        try:
            first = self._scores(some, few, [seed], length)
        except TimeUpError:
            return list(some)
        ranked = [queue for _, queue in sorted(first, key=lambda entry: entry[0])]
        best_of_kind = {each.kind: each for each in reversed(ranked)}.values()
        by_kind = sorted(best_of_kind, key=ranked.index)
        others = [each for each in ranked if each not in by_kind]
        most = max(LEAST_SECOND, self._affordable_count(self.conditions, share))
        left = [*by_kind, *others][: min(most, max(len(by_kind), (len(some) + 1) // 2))]
        everywhere = self._screening_conditions(len(left), 1, share, self._choices)
        length = min(_SHORT, self._length(everywhere, left, 1, share))
        try:
            second = self._scores(left, everywhere, [seed + 1], length)
        except TimeUpError:
            return left
        return [queue for _, queue in sorted(second, key=lambda entry: entry[0])]

    @property
    def _choices(self) -> list[list[Condition]]:
        """All conditions, or those that matter most with the one in which short transfers are."""
        few = subset(self.conditions)
        return [
            list(self.conditions),
            [*few, *(each for each in self.conditions if each.traffic == WEB)],
            few,
        ]

    def _screening_conditions(
        self, queues: int, seeds: int, packets: float, choices: Sequence[Sequence[Condition]]
    ) -> list[Condition]:
        """Conditions to rank queues in: as many as fit once transfers have settled.

        A queue that answers slow start at once is not the one that serves best later. So fewer
        conditions that are settled are better than more that are not; these only where there is
        room for nothing else.

        Args:
            queues: how many are ranked.
            seeds: with each.
            packets: that there is room for.
            choices: the conditions, from the most to the fewest.
        """
        for some in choices:
            settled = [each.settled() for each in some]
            if self.laboratory.cost(settled, 0.0, queues + 1, seeds) <= packets:
                return settled
        return list(choices[0])

    def _affordable_count(self, conditions: Sequence[Condition], packets: float) -> int:
        """Number of queues that one seed leaves room for, besides the one in force."""
        return int(packets / self.laboratory.cost(conditions, 0.0, 1, 1)) - 1

    def _length(
        self,
        conditions: Sequence[Condition],
        queues: Sequence[QueueSetting],
        seeds: int,
        packets: float,
    ) -> float:
        return self.laboratory.length_for(conditions, len(queues) + 1, seeds, packets)

    def _scores(
        self,
        queues: Sequence[QueueSetting],
        conditions: Sequence[Condition],
        seeds: Sequence[int],
        length: float,
    ) -> list[tuple[float, QueueSetting]]:
        now, *rows = self.laboratory.measure([self.now, *queues], conditions, seeds, length)
        return [(score(self.question, row, now), row.queue) for row in rows]

    def _tune(
        self, family: Family, starts: Sequence[QueueSetting], seed: int, packets: float
    ) -> tuple[list[QueueSetting], int]:
        """The best settings of a search, and how many were tried."""
        laboratory, question = self.laboratory, self.question
        conditions = self._screening_conditions(2 * _LEAST_TRIED, 1, packets, self._choices)
        length = _SHORT
        each = laboratory.cost(conditions, length, 1, 1)
        if packets / each < 2 * _LEAST_TRIED:
            length = min(length, laboratory.length_for(conditions, 2 * _LEAST_TRIED, 1, packets))
            each = laboratory.cost(conditions, length, 1, 1)
        count = min(int(packets / each) - 1, _MOST_TRIED)
        if count < _LEAST_TRIED:
            return [], 0
        space = family.space(question)
        points = [
            space.point({name: float(start.parameters[name] or 0.0) for name in space.names})
            for start in starts
            if all(start.parameters.get(name) is not None for name in space.names)
        ]
        search = search_named(chosen_search(AUTOMATIC, len(space), "hurry"))(
            len(space), seed=seed, start_points=points[:3]
        )
        try:
            [now] = laboratory.measure([self.now], conditions, [seed], length)
        except TimeUpError:
            return [], 0
        known: dict[tuple[object, ...], tuple[float, QueueSetting]] = {}
        tried = 0
        while tried < count:
            asked = search.ask(min(_AT_ONCE, count - tried))
            queues = [family.setting_or_none(question, space.values(point)) for point in asked]
            settable = [each for each in queues if each is not None]
            new = list({q.same_as: q for q in settable if q.same_as not in known}.values())
            try:
                rows = laboratory.measure(new, conditions, [seed], length)
            except TimeUpError:
                break
            for row in rows:
                known[row.queue.same_as] = score(question, row, now), row.queue
            found = [_NOT_SETTABLE if q is None else known[q.same_as][0] for q in queues]
            search.tell(asked, found)
            tried += len(asked)
        best = sorted(known.values(), key=lambda entry: entry[0])[:_KEPT]
        return [queue for _, queue in best], tried

    def _for_selection(
        self, ranked: Sequence[QueueSetting], tuned: Sequence[QueueSetting]
    ) -> list[QueueSetting]:
        """The best of each sort, in the order of their ranks."""
        plain = ranked[:_PLAIN]
        plain = [*plain, *[each for each in ranked if not each.tuned][:1]]
        # Where flows stay apart, little else may be recommended, and few runs rank it by chance.
        least = _FAIR_WHERE_ISOLATED if self._isolated else 1
        plain = [*plain, *[each for each in ranked if _is_fair(each.kind)][:least]]
        unique: dict[tuple[object, ...], QueueSetting] = {}
        for each in (*plain, *tuned):  # what a search has found anew keeps its plain name
            unique.setdefault(each.same_as, each)
        return list(unique.values())

    def _select(self, queues: Sequence[QueueSetting], seed: int) -> list[QueueSetting] | None:
        """The choice and those that stand in for it, on seeds that none was chosen by.

        ``None`` where there is no room for that: the comparison has to be enough.
        """
        question, laboratory = self.question, self.laboratory
        wanted = SELECTION * laboratory.budget
        packets = laboratory.time.in_time(wanted)
        fewest = _LEAST_SELECTION_SEEDS if packets < wanted else _USUAL_SELECTION_SEEDS
        for count in range(_SELECTION_SEEDS, fewest - 1, -1):
            conditions = self._screening_conditions(len(queues), count, packets, self._choices)
            if conditions[0].is_settled:
                break
        else:
            count = _SELECTION_SEEDS
        if laboratory.cost(conditions, 0.0, len(queues) + 1, count) > 2.0 * packets:
            return None
        seeds = range(seed, seed + count)
        length = self._length(conditions, queues, count, packets)
        both = [self.now, *queues]
        met, (now, *rows) = laboratory.measure_in_time(both, conditions, seeds, length)
        if not met:
            return None

        def rank(row: Measured) -> tuple[int, float]:
            return tier(question, now, row), score(question, row, now)

        rows.sort(key=rank)
        choice: Measured | None = None
        for row in sorted(rows, key=lambda each: self._plainness(each.queue)):
            if choice is None or self._preferred(now, choice, row):
                choice = row
        others = [row for row in rows if row is not choice]
        if self._isolated:
            # What may be recommended, and the best of the rest: the answer says what that would do.
            shared = [row for row in others if not _is_fair(row.queue.kind)]
            fair = [row for row in others if _is_fair(row.queue.kind)]
            others = [
                *fair[:1],
                *shared[:1],
                *fair[1:],
                *shared[1:],
            ]
        return finalists(question, choice, others)

    @property
    def _isolated(self) -> bool:
        """True if a queue for all is told of rather than recommended."""
        return keeps_isolation(self.question, self.now)

    def _plainness(self, queue: QueueSetting) -> tuple[bool, bool, int]:
        """Sort key: plainer settings are looked at first, and so win a tie.

        Kinds that keep flows apart, because one long transfer then cannot hold up a call; then the
        kind that is there already; in each the defaults, then the rules, then what a search has
        found.
        """
        return not _is_fair(queue.kind), queue.kind != self.now.kind, _origin(queue)

    def _preferred(self, now: Measured, plainer: Measured, other: Measured) -> bool:
        """Check whether a less plain setting is worth it."""
        question = self.question
        if gives_up_isolation(question, now, [plainer], other):
            return False
        steps = tier(question, now, other), tier(question, now, plainer)
        if steps[0] != steps[1]:
            return steps[0] < steps[1]
        found = judge(question, plainer, other)
        if _is_fair(plainer.queue.kind) and not _is_fair(other.queue.kind):
            much = found.by == "goodput" and found.difference >= WORTH_ONE_QUEUE
            return found.by == "bound" or much
        if found.by is None and found.worse_by is None:
            return drops_less(other, plainer)
        return found.by is not None


def finalists(
    question: Question, choice: Measured | None, others: Sequence[Measured]
) -> list[QueueSetting]:
    """The choice, and those that stand in for it.

    Where the choice does not keep the bound, the best that does is among them, even if it seems to
    do harm: that is what few seeds are mistaken about. The best that keeps flows apart is among
    them too, of the defaults and rules of thumb if it can be: what a search has found may do harm
    on other seeds, and the answer can say what it would do for a call.

    Args:
        question: with the bound.
        choice: that is to be taken first; ``None`` where there is nothing.
        others: in the order in which they are to be taken.
    """
    if choice is None:
        return []
    if not keeps(choice, question.bound_ms):
        keeping = [row for row in others if keeps(row, question.bound_ms)][:1]
        others = [*keeping, *(row for row in others if row not in keeping)]
    found = [row.queue for row in (choice, *others)]
    fair = [each for each in found if _is_fair(each.kind)]
    fair = [*(each for each in fair if _origin(each) < _SEARCHED_FOR), *fair][:1]
    first = found[:_FINALISTS]
    return first if fair and fair[0] in first else [*first[: _FINALISTS - len(fair)], *fair]


def unselected(
    queues: Sequence[QueueSetting], kinds: Sequence[str] = (), *, isolated: bool = False
) -> list[QueueSetting]:
    """Candidates where nothing was screened, the best of each sort first.

    The best that keeps flows apart has to be among them, for what it would do for a call. Runs that
    have not settled rank these by how transfers begin, which says little. So the usual one is taken
    for the best: that of the first kind, as it is or by a rule of thumb.

    Args:
        queues: in the order in which few runs have ranked them.
        kinds: of queues, the usual ones first.
        isolated: whether a queue for all is told of rather than recommended. Then those that keep
            flows apart are first: there may be time for no other.
    """
    fair = sorted(
        (each for each in queues if _is_fair(each.kind)),
        key=lambda each: (
            _origin(each) >= _SEARCHED_FOR,
            kinds.index(each.kind) if each.kind in kinds else len(kinds),
        ),
    )
    others = [each for each in queues if each not in fair]
    found = [*fair, *others] if isolated else [*queues[:1], *fair[:1], *queues[1:]]
    return [each for at, each in enumerate(found) if each not in found[:at]][:_UNSELECTED]


def _origin(queue: QueueSetting) -> int:
    """0 for defaults, 1 for a rule of thumb, 2 for what a search has found."""
    if not queue.tuned:
        return 0
    return 1 if "rule" in queue.label else _SEARCHED_FOR


def _is_fair(kind: str) -> bool:
    """Check whether it keeps flows apart."""
    return kind.startswith("fq")


_NOT_SETTABLE: Final = 1e9
"""In place of a score, where the device has nothing near."""

_SEARCHED_FOR: Final = 2

_AT_ONCE: Final = 4
"""Settings between two looks of the search; the same on any number of cores."""

LEAST_SCREENED: Final = 4
"""Queues that are tried at all, however much that costs."""

LEAST_SECOND: Final = 4
"""Queues that meet all conditions, however much that costs."""

_SEARCHED: Final = 0.75
"""Of a search's time, where there is a deadline, for everything before the selection."""

_KEPT: Final = 2
"""Of what a search has found, for the selection."""

_PLAIN: Final = 4
"""Of defaults and rules of thumb likewise."""

_FAIR_WHERE_ISOLATED: Final = 2
"""Of these, at the least, that keep flows apart, where only such may be recommended."""

_UNSELECTED: Final = 5
"""Where there was no selection, for the comparison as far as there is room for them."""

_FINALISTS: Final = 3
"""For the comparison on fresh seeds: the choice and two that stand in for it."""
