"""Robustness check of a recommendation under conditions around its own.

The recommended setting and the one in force meet the same seeds under each condition of the
neighbourhood (:mod:`vermilion.tuning.neighbourhood`), all in one batch. Where it cannot be
told whether a bound is kept, both meet more seeds, at most :data:`FURTHER_SEEDS` in addition. Under
each condition the recommended setting is

- *worse* if it breaks a constraint or a bound of harm that the one in force keeps there, beyond the
  doubts of the whole check (:mod:`vermilion.tuning.certainty`), or if its objective is worse
  likewise, and on average by more than the margin;
- *undecided* if it may break such a bound, or if its objective is significantly worse by more than
  the margin under this condition alone (95 % paired t interval), but not beyond the doubts of the
  check;
- *better* if the one in force breaks a constraint there that it keeps, or if its objective is
  significantly better (95 %), and every bound is shown to be kept;
- *no different* otherwise; every bound is shown to be kept then too.

What is recommended should be worse under none of them. "Of reference" in a constraint means: of
what the setting in force reaches there. Flows that a neighbour has in addition are part of the
conditions: metrics of flows are of the scenario's own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from vermilion.files.document import document
from vermilion.objectives import NotMeasuredError
from vermilion.objectives.harm import meaning_of
from vermilion.scenario.errors import ScenarioError
from vermilion.simulate import Result
from vermilion.simulate.runs import run_many
from vermilion.simulate.statistics import mean_interval
from vermilion.tuning.candidates import Candidates
from vermilion.tuning.certainty import Certainty, count_bounds, rule
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.neighbourhood import NeighbourOutcome, neighbours
from vermilion.tuning.simulations import needs_flow_delays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario
    from vermilion.simulate.statistics import Interval
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.certainty import BoundRuling
    from vermilion.tuning.memory import Runner
    from vermilion.tuning.neighbourhood import Neighbour, NeighbourVerdict
    from vermilion.tuning.verdict import ConstraintVerdict

RELEVANT_LOSS: Final = 0.05
"""The fraction of what the setting in force reaches under a condition that may be lost there."""

LEAST_SHARE_BETTER: Final = 0.5
"""Of the conditions: where a recommendation gains under fewer, it is narrower than its
neighbourhood."""

_LOOKS: Final = (5, 10, 20)
"""Seeds that both settings meet in addition where something is undecided, one after the other."""

FURTHER_SEEDS: Final = sum(_LOOKS)
"""Seeds that both settings meet in addition, at most."""

_PART_FOR_DOUBTS: Final = 0.5
"""Of the time that is left, for each of these looks: other things wait for it too."""

_WORDS: Final = frozenset({0, 3, 5})
"""Columns of the table that are words, and begin at the left."""


@document("holds narrow=is_narrow margin seeds conditions=outcomes untried simulations warnings")
@dataclass(frozen=True, slots=True)
class Robustness:
    """Outcome of a recommendation under conditions around its own.

    Attributes:
        objective: its label.
        unit: of its values, "" for a plain number.
        seeds: that both settings have met under each condition; where something was undecided,
            more (:attr:`NeighbourOutcome.seeds`).
        margin: the fraction that may be lost before a setting counts as worse.
        outcomes: under each condition that was tried.
        untried: labels of the conditions for which time was up.
    """

    objective: str
    unit: str
    seeds: tuple[int, ...]
    margin: float
    outcomes: tuple[NeighbourOutcome, ...]
    untried: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """True if the recommended setting is surely worse under none of the conditions tried.

        Where nobody can tell it does not hold: what is put on a router should be known to.
        """
        return not (self.lost or self.doubtful)

    @property
    def lost(self) -> tuple[NeighbourOutcome, ...]:
        """The conditions under which it is worse."""
        return tuple(each for each in self.outcomes if each.verdict == "worse")

    @property
    def doubtful(self) -> tuple[NeighbourOutcome, ...]:
        """The conditions under which it may be worse, and nobody can tell."""
        return tuple(each for each in self.outcomes if each.verdict == "undecided")

    @property
    def simulations(self) -> int:
        """Number of simulations behind it, those known before included."""
        return 2 * sum(each.seeds for each in self.outcomes)

    @property
    def is_narrow(self) -> bool:
        """True if it gains under fewer than half of the conditions that were measured.

        What gains at the price of a bound is named for that in another sentence.
        """
        measured = [each for each in self.outcomes if each.verdict != "not measured"]
        gains = [each for each in measured if each.gains]
        return len(gains) < LEAST_SHARE_BETTER * len(measured)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for whoever uses the recommendation, a sentence each."""
        sentences = [*self._loss_warnings(), *self._doubt_warnings()]
        if self.is_narrow:
            gains = [each for each in self.outcomes if each.gains]
            count = f"{len(gains)} of {len(self.outcomes)} conditions around those given"
            where = f" (with {_enumerate(each.label for each in gains)})" if gains else ""
            sentences.append(
                f"the gain is narrow: the recommended setting is better in only {count}{where}"
            )
        if self.untried:
            sentences.append(f"there was no time to try it with {_enumerate(self.untried)}")
        return tuple(sentences)

    def _loss_warnings(self) -> list[str]:
        """Warnings about conditions under which it loses: a sentence for each reason.

        The figures of several stand in the table and in :meth:`broken`, so that it can be read.
        """
        by_reason: dict[str, list[NeighbourOutcome]] = {}
        for each in self.lost:
            reason = "" if each.breaks is None else each.breaks.constraint
            by_reason.setdefault(reason, []).append(each)
        sentences = []
        for constraint, several in by_reason.items():
            where = f"with {_enumerate(each.label for each in several)}"
            if len(several) == 1:
                sentences.append(
                    f"{where}, the recommended setting loses to the one in force: "
                    f"{several[0].reason}"
                )
                continue
            count = f"{len(several)} of {len(self.outcomes)} conditions around those given"
            if not constraint:
                sentences.append(
                    f"under {count}, the recommended setting loses to the one in force: {where}"
                )
                continue
            meaning = meaning_of(constraint)
            bound = f'"{meaning}" ({constraint})' if meaning else constraint
            sentences.append(
                f"under {count}, the recommended setting breaks a bound that the one in force "
                f"keeps: {where}. The bound is {bound}"
            )
        return sentences

    def _doubt_warnings(self) -> list[str]:
        """Warning about undecided conditions: one sentence."""
        if not self.doubtful:
            return []
        count = f"{len(self.doubtful)} of {len(self.outcomes)} conditions around those given"
        where = _enumerate(each.label for each in self.doubtful)
        most = max(each.seeds for each in self.doubtful)
        unknown = (
            "seeds cannot tell whether the recommended setting does worse than the one in force"
        )
        return [f"under {count}, {most} {unknown}: with {where}"]

    def broken(self, whose: str = "recommended") -> tuple[str, ...]:
        """Bounds that are or may be broken, and by how much: a line for each condition.

        Args:
            whose: what the setting is called in the table.
        """
        breaks = [
            f"with {each.label}, the {whose} breaks {each.breaks.constraint}: {each.breaks.figures}"
            for each in self.lost
            if each.breaks is not None
        ]
        doubts = [(each.label, each.may_break) for each in self.doubtful]
        return (
            *breaks,
            *(
                f"with {label}, the {whose} may break {ruling.verdict.constraint}: "
                f"{ruling.verdict.figures}; {ruling.told_by}"
                for label, ruling in doubts
                if ruling is not None
            ),
        )

    def __str__(self) -> str:
        """A table: one line for each condition, and one for each bound broken."""
        return self.table()

    def table(self, sturdier: Robustness | None = None) -> str:
        """Format a table, with the robust alternative beside the recommended setting.

        Args:
            sturdier: robustness of the alternative, with the same seeds under the same conditions.
        """
        unit = f", {self.unit}" if self.unit else ""
        rows: list[tuple[str, ...]] = [
            ("with", f"in force{unit}", f"recommended{unit}", "the recommended is")
        ]
        rows += [
            (each.label, _text(each.incumbent), _text(each.best), each.shown_verdict)
            for each in self.outcomes
        ]
        if sturdier is not None:
            known = {each.key: each for each in sturdier.outcomes}
            found = [known[each.key] for each in self.outcomes]
            more = [(f"robust alternative{unit}", "the alternative is")]
            more += [(_text(each.best), each.shown_verdict) for each in found]
            rows = [(*row, *cells) for row, cells in zip(rows, more, strict=True)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            cells = [
                cell.ljust(width) if place in _WORDS else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append(f"  {'  '.join(cells)}".rstrip())
        also = () if sturdier is None else sturdier.broken("robust alternative")
        broken = [f"  {line}" for line in (*self.broken(), *also)]
        return "\n".join([*lines, *([""] if broken else []), *broken])


def check_robustness(
    scenario: Scenario,
    paths: Sequence[str],
    best: Setting,
    incumbent: Setting,
    objective: Objective,
    constraints: Sequence[Constraint] = (),
    *,
    seeds: Sequence[int],
    in_force: Scenario | None = None,
    margin: float = RELEVANT_LOSS,
    least_loss: float = 0.0,
    threads: int | None = None,
    workers: Runner | None = None,
    deadline_s: float | None = None,
    progress: Callable[[int], object] | None = None,
    further_seeds: Sequence[int] | None = None,
) -> Robustness:
    """Tries a recommended setting around the conditions of its scenario.

    Args:
        scenario: that it is recommended for.
        paths: of the tuned parameters.
        best: the recommended setting of them.
        incumbent: the setting in force.
        objective: what both are compared by; a target stays what it is.
        constraints: what must hold.
        seeds: common to both settings and all conditions; about five, at least two.
        in_force: the scenario with what is in force, where that is not a setting of the same
            parameters but another discipline; ``incumbent`` is then a setting of it, or empty.
        margin: the fraction of what the setting in force reaches that may be lost.
        least_loss: what may be lost in any case, in the objective's unit.
        threads: simulations at a time; ``None`` for one on each core.
        workers: do the longer simulations; ``None`` for this machine.
        deadline_s: wall seconds; conditions that do not fit in are not tried.
        progress: called with the number of simulations done.
        further_seeds: that both settings meet too where something is undecided; by default
            :data:`FURTHER_SEEDS`, those that follow the largest of ``seeds``. None if empty.

    Raises:
        ValueError: fewer than two seeds, which say nothing about chance.
        ScenarioError: the core refuses a setting.
    """
    if len(seeds) < 2:  # noqa: PLR2004 - an interval needs two
        message = f"{len(seeds)} seeds are not accepted; expected at least 2"
        raise ValueError(message)
    start = time.monotonic()
    links = [*dict.fromkeys(path.split(".")[1] for path in paths if path.startswith("links."))]
    around = {
        each.key: each
        for each in neighbours(scenario, links or None)
        if _has_parameters(each, (*paths,))
    }
    beside = around
    if in_force is not None:
        known = {each.key: each for each in neighbours(in_force, links or None)}
        beside = {key: each for key, each in known.items() if _has_parameters(each, (*incumbent,))}
    further = range(max(seeds) + 1, max(seeds) + 1 + FURTHER_SEEDS)
    batches = _batches(further if further_seeds is None else further_seeds)
    texts = {
        key: (
            Candidates(around[key].scenario, best).text(best),
            Candidates(beside[key].scenario, incumbent).text(incumbent),
        )
        for key in around
        if key in beside
    }
    judge = _Judge(objective, constraints, margin, least_loss, len(seeds))
    done = 0

    def simulated(keys: Sequence[str], seeds: Sequence[int], part: float = 1.0) -> dict[str, _Runs]:
        """The runs of both settings under conditions, where there was time for all of them."""
        nonlocal done
        before = done
        left = None if deadline_s is None else deadline_s - (time.monotonic() - start)
        rows = (run_many if workers is None else workers.run_many)(
            [text for key in keys for text in texts[key]],
            list(seeds),
            threads=threads,
            deadline_s=None if left is None else max(0.0, part * left),
            progress=None if progress is None else lambda count: progress(before + count),
            flow_delays=any(needs_flow_delays(each) for each in (objective, *constraints)),
        )
        done += 2 * len(keys) * len(seeds)
        found = {}
        for number, key in enumerate(keys):
            mine, other = (
                [_without_added_flows(result, around[key]) for result in row if result is not None]
                for row in rows[2 * number : 2 * number + 2]
            )
            if min(len(mine), len(other)) == len(seeds):
                found[key] = _Runs(tuple(seeds), mine, other)
        return found

    runs = simulated([*texts], seeds)
    asked = sum(judge.bounds(each) for each in runs.values())
    counts = accumulate(map(len, batches), initial=len(seeds))
    certainty = Certainty(asked, len(runs), tuple(counts))
    outcomes = {key: judge.outcome(around[key], each, certainty) for key, each in runs.items()}
    for batch in batches:
        doubtful = [key for key, each in outcomes.items() if each.verdict == "undecided"]
        if not doubtful:
            break
        for key, more in simulated(doubtful, batch, _PART_FOR_DOUBTS).items():
            runs[key] = runs[key].with_more(more)
            outcomes[key] = judge.outcome(around[key], runs[key], certainty)
    untried = tuple(around[key].label for key in texts if key not in runs)
    found = tuple(outcomes.values())
    return Robustness(objective.label, objective.unit, tuple(seeds), margin, found, untried)


def _batches(seeds: Sequence[int]) -> list[Sequence[int]]:
    """Seeds of each further look."""
    found, begin = [], 0
    for count in _LOOKS:
        batch = seeds[begin : begin + count]
        begin += count
        if batch:
            found.append(batch)
    return found


def _has_parameters(neighbour: Neighbour, paths: Sequence[str]) -> bool:
    """True if a neighbour has the tuned parameters; another sender may not have its own."""
    try:
        for path in paths:
            neighbour.scenario.parameter(path)
    except ScenarioError:
        return False
    return True


def _without_added_flows(result: Result, neighbour: Neighbour) -> Result:
    """A result without the flows that only the neighbour has."""
    if not neighbour.added:
        return result
    flows = {
        name: group for name, group in result.data["flows"].items() if name not in neighbour.added
    }
    return Result({**result.data, "flows": flows})


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of both settings under one condition, seed by seed."""

    seeds: Sequence[int]
    best: Sequence[Result]
    incumbent: Sequence[Result]

    def with_more(self, more: _Runs) -> _Runs:
        """Add further seeds."""
        return _Runs(
            (*self.seeds, *more.seeds),
            [*self.best, *more.best],
            [*self.incumbent, *more.incumbent],
        )


@dataclass(frozen=True, slots=True)
class _Judge:
    """Says how the recommended setting fares under one condition."""

    objective: Objective
    constraints: Sequence[Constraint]
    margin: float
    least_loss: float
    common: int

    def bounds(self, runs: _Runs) -> int:
        """Number of bounds under a condition, each phase counted."""
        _, best, incumbent, _ = self._evaluated(runs)
        return count_bounds(self.constraints, best, incumbent)

    def outcome(self, neighbour: Neighbour, runs: _Runs, certainty: Certainty) -> NeighbourOutcome:
        """The verdict under one condition."""
        objective, best, incumbent, absent = self._evaluated(runs)
        confidences = certainty.at(len(runs.seeds))
        mine = rule(self.constraints, best, incumbent, confidences)
        other = rule(self.constraints, incumbent, incumbent, confidences)
        verdict, reason, breaks, may_break = _judge_constraints(mine, other)
        compared: tuple[Interval | None, Interval | None, Interval | None] = (None, None, None)
        absent = absent or best.not_measured or incumbent.not_measured
        if absent is None:
            # Only where it seems to lose it is judged, and shown, by more than the common seeds.
            for count in (self.common, len(runs.seeds)):
                compared = known = _comparison(
                    best.objectives, incumbent.objectives, objective, count
                )
                relevant = max(self.margin * abs(known[1].mean), self.least_loss)
                by_objective = _judge_objective(known, objective, relevant)
                if by_objective[0] != "worse":
                    break
            pairs = zip(best.objectives, incumbent.objectives, strict=True)
            if by_objective[0] == "worse" and not confidences.is_worse([a - b for a, b in pairs]):
                by_objective = "undecided", by_objective[1]
            # Of two doubts that about a bound is told; a loss is none.
            if verdict is None or (verdict == "undecided" and by_objective[0] == "worse"):
                verdict, reason = by_objective
                may_break = None
        elif verdict is None:
            verdict, reason = "not measured", str(absent)
        return NeighbourOutcome(
            neighbour.key,
            neighbour.label,
            verdict,
            reason,
            *compared,
            tuple(each.verdict for each in mine),
            breaks,
            may_break,
            len(runs.seeds),
        )

    def _evaluated(
        self, runs: _Runs
    ) -> tuple[Objective, Evaluation, Evaluation, NotMeasuredError | None]:
        """The objective, both settings by it, and why it could not be made relative."""
        objective, absent = self.objective, None
        if objective.needs_incumbent:
            try:
                objective = objective.relative_to(runs.incumbent)
            except NotMeasuredError as error:
                absent = error
        best, incumbent = Evaluation({}), Evaluation({})
        for evaluation, results in ((best, runs.best), (incumbent, runs.incumbent)):
            for seed, result in zip(runs.seeds, results, strict=True):
                evaluation.add(seed, result, objective, self.constraints)
        return objective, best, incumbent, absent


def _comparison(
    best: Sequence[float], incumbent: Sequence[float], objective: Objective, count: int
) -> tuple[Interval, Interval, Interval]:
    """Both objectives in their own unit, and the difference turned so that negative is better.

    Args:
        best: what is to be minimised, seed by seed.
        incumbent: the same of the setting in force.
        objective: that was measured.
        count: of the seeds, from the first on.
    """
    sign = -1.0 if objective.maximised else 1.0
    best, incumbent = best[:count], incumbent[:count]
    return (
        mean_interval(sign * value for value in best),
        mean_interval(sign * value for value in incumbent),
        mean_interval(new - old for new, old in zip(best, incumbent, strict=True)),
    )


def _judge_constraints(
    best: Sequence[BoundRuling], incumbent: Sequence[BoundRuling]
) -> tuple[NeighbourVerdict | None, str, ConstraintVerdict | None, BoundRuling | None]:
    """The verdict where the constraints alone decide, and what is broken, or may be."""
    pairs = [(mine, other.verdict) for mine, other in zip(best, incumbent, strict=True)]
    for mine, other in pairs:
        if mine.verdict.holds == "broken" and other.holds in {"met", "unproven"}:
            reason = f"it breaks a constraint that the other keeps ({mine.verdict})"
            return "worse", reason, mine.verdict, None
    doubts = [
        mine for mine, other in pairs if mine.verdict.holds == "unproven" and other.holds == "met"
    ]
    if doubts:
        worst = min(doubts, key=lambda each: each.standing)
        figures = f"({worst.verdict}): {worst.told_by}"
        return "undecided", f"it may break a constraint that the other keeps {figures}", None, worst
    for mine, other in pairs:
        if other.holds == "broken" and mine.verdict.holds == "met":
            return "better", f"it keeps a constraint that the other breaks ({other})", None, None
    return None, "", None, None


def _judge_objective(
    compared: tuple[Interval, Interval, Interval], objective: Objective, relevant: float
) -> tuple[NeighbourVerdict, str]:
    """The verdict where the constraints leave it to the objective, of this condition alone.

    Args:
        compared: both objectives and their difference.
        objective: that is compared.
        relevant: what may be lost.
    """
    best, incumbent, difference = compared
    unit = f" {objective.unit}" if objective.unit else ""
    reason = f"{objective.label} {best.mean:.3g}{unit} instead of {incumbent.mean:.3g}{unit}"
    low, high = difference.low, difference.high
    if low is not None and low > 0.0 and difference.mean > relevant:
        return "worse", reason
    if high is not None and high < 0.0:
        return "better", reason
    return "no difference", reason


def _enumerate(labels: Iterable[str]) -> str:
    """Format, like "twice as many flows, round trips half as long or ECN at all senders"."""
    *others, last = labels
    return f"{', '.join(others)} or {last}" if others else last


def _text(interval: Interval | None) -> str:
    return "not measured" if interval is None else f"{interval.mean:.4g}"
