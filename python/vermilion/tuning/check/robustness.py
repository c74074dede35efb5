"""Whether a recommendation holds around the conditions that it was made for.

The recommended setting and the one in force meet the same seeds under each condition of the
neighbourhood (:mod:`vermilion.tuning.check.neighbourhood`), all in one batch. Under each of them
the recommended one is

- *worse* if it breaks a constraint beyond doubt that the one in force keeps there, or a bound of
  harm by the mean of its seeds, or if its
  objective is significantly worse (95 % paired t interval) and on average by more than the margin;
- *better* if the one in force breaks a constraint there that it keeps, or if its objective is
  significantly better;
- *no different* otherwise.

What is recommended should be worse under none of them. "Of reference" in a constraint means: of
what the setting in force reaches there. Flows that a neighbour has in addition are part of the
conditions: metrics of flows are of the scenario's own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from vermilion.objectives import NotMeasuredError
from vermilion.objectives.harm import meaning_of
from vermilion.scenario.errors import ScenarioError
from vermilion.simulate import Result
from vermilion.simulate.runs import run_many
from vermilion.simulate.statistics import mean_interval
from vermilion.tuning.check.neighbourhood import neighbours
from vermilion.tuning.judge.verdict import judge
from vermilion.tuning.measure.candidates import Candidates
from vermilion.tuning.measure.evaluation import Evaluation
from vermilion.tuning.measure.simulations import needs_flow_delays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario
    from vermilion.simulate.statistics import Interval
    from vermilion.tuning.check.neighbourhood import Neighbour
    from vermilion.tuning.judge.verdict import ConstraintVerdict
    from vermilion.tuning.measure.candidates import Setting
    from vermilion.tuning.measure.remembered_runs import Runner

RELEVANT_LOSS: Final = 0.05
"""The fraction of what the setting in force reaches under a condition that may be lost there."""

LEAST_SHARE_BETTER: Final = 0.5
"""Of the conditions: where a recommendation gains under fewer, it is narrower than its
neighbourhood."""

BREAKS: Final = "breaks a bound"
"""What a table says in place of "worse", where that is why: the objective may well have gained."""

_WORDS: Final = frozenset({0, 3, 5})
"""Columns of the table that are words, and begin at the left."""

NeighbourVerdict = Literal["better", "no difference", "worse", "not measured"]


@dataclass(frozen=True, slots=True)
class NeighbourOutcome:
    """Two settings under one neighbouring condition.

    Attributes:
        key: the condition's stable name.
        label: the condition in words, to follow "with".
        verdict: on the recommended setting.
        reason: of the verdict, in words, to follow the condition.
        best: the objective of the recommended setting; ``None`` where it is not measured.
        incumbent: the same of the setting in force.
        difference: recommended - in force, seed by seed, turned so that negative is better.
        constraints: the verdicts on the recommended setting.
        breaks: the one that it breaks and the setting in force keeps, if that is why it is worse.
    """

    key: str
    label: str
    verdict: NeighbourVerdict
    reason: str
    best: Interval | None
    incumbent: Interval | None
    difference: Interval | None
    constraints: tuple[ConstraintVerdict, ...]
    breaks: ConstraintVerdict | None = None

    @property
    def shown_verdict(self) -> str:
        """The verdict as a table shows it."""
        return self.verdict if self.breaks is None else BREAKS

    @property
    def gains(self) -> bool:
        """Whether the objective is better, even if a bound is broken for it."""
        if self.breaks is None:
            return self.verdict == "better"
        high = None if self.difference is None else self.difference.high
        return high is not None and high < 0.0

    def to_data(self) -> dict[str, Any]:
        """For JSON; what could not be computed is absent."""
        data: dict[str, Any] = {
            "key": self.key,
            "condition": self.label,
            "verdict": self.verdict,
            "reason": self.reason,
            "gains": self.gains,
        }
        if self.breaks is not None:
            broken = {"constraint": self.breaks.constraint, "figures": self.breaks.figures}
            data["breaks"] = broken
        for name in ("best", "incumbent", "difference"):
            interval: Interval | None = getattr(self, name)
            if interval is not None:
                data[name] = {"mean": interval.mean, "count": interval.count}
                if interval.half_width is not None:
                    data[name] |= {"low": interval.low, "high": interval.high}
        return data


@dataclass(frozen=True, slots=True)
class Robustness:
    """How a recommendation fares around the conditions that it was made for.

    Attributes:
        objective: its label.
        unit: of its values, "" for a plain number.
        seeds: that both settings have met under each condition.
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
        """Whether the recommended setting is worse under none of the conditions tried."""
        return not self.lost

    @property
    def lost(self) -> tuple[NeighbourOutcome, ...]:
        """The conditions under which it is worse."""
        return tuple(each for each in self.outcomes if each.verdict == "worse")

    @property
    def is_narrow(self) -> bool:
        """Whether it gains under fewer than half of the conditions that were measured.

        What gains at the price of a bound is named for that in another sentence.
        """
        measured = [each for each in self.outcomes if each.verdict != "not measured"]
        gains = [each for each in measured if each.gains]
        return len(gains) < LEAST_SHARE_BETTER * len(measured)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever uses the recommendation has to know, a sentence each."""
        sentences = self._of_losses()
        if self.is_narrow:
            gains = [each for each in self.outcomes if each.gains]
            count = f"{len(gains)} of {len(self.outcomes)} conditions around those given"
            where = f" (with {_listed(each.label for each in gains)})" if gains else ""
            sentences.append(
                f"the gain is narrow: the recommended setting is better in only {count}{where}"
            )
        if self.untried:
            sentences.append(f"there was no time to try it with {_listed(self.untried)}")
        return tuple(sentences)

    def _of_losses(self) -> list[str]:
        """Under which conditions it loses, and why: a sentence for each reason.

        The figures of several stand in the table and in :meth:`broken`, so that it can be read.
        """
        by_reason: dict[str, list[NeighbourOutcome]] = {}
        for each in self.lost:
            reason = "" if each.breaks is None else each.breaks.constraint
            by_reason.setdefault(reason, []).append(each)
        sentences = []
        for constraint, several in by_reason.items():
            where = f"with {_listed(each.label for each in several)}"
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

    def broken(self, whose: str = "recommended") -> tuple[str, ...]:
        """Which bound is broken where, and by how much: a line for each condition.

        Args:
            whose: what the setting is called in the table.
        """
        return tuple(
            f"with {each.label}, the {whose} breaks {each.breaks.constraint}: {each.breaks.figures}"
            for each in self.lost
            if each.breaks is not None
        )

    def to_data(self) -> dict[str, Any]:
        """For JSON; what could not be computed is absent."""
        return {
            "holds": self.holds,
            "narrow": self.is_narrow,
            "margin": self.margin,
            "seeds": list(self.seeds),
            "conditions": [each.to_data() for each in self.outcomes],
            "untried": list(self.untried),
            "warnings": list(self.warnings),
        }

    def __str__(self) -> str:
        """A table: one line for each condition, and one for each bound broken."""
        return self.table()

    def table(self, sturdier: Robustness | None = None) -> str:
        """The same, with the setting that is offered beside the recommended one.

        Args:
            sturdier: how that one fares, with the same seeds under the same conditions.
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
            more = [(f"sturdier{unit}", "the sturdier is")]
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
        also = () if sturdier is None else sturdier.broken("sturdier")
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
        each.key: each for each in neighbours(scenario, links or None) if _has(each, (*paths,))
    }
    beside = around
    if in_force is not None:
        known = {each.key: each for each in neighbours(in_force, links or None)}
        beside = {key: each for key, each in known.items() if _has(each, (*incumbent,))}
    shared = [key for key in around if key in beside]
    texts = []
    for key in shared:
        texts.append(Candidates(around[key].scenario, best).text(best))
        texts.append(Candidates(beside[key].scenario, incumbent).text(incumbent))
    left = None if deadline_s is None else max(0.0, deadline_s - (time.monotonic() - start))
    run = run_many if workers is None else workers.run_many
    rows = run(
        texts,
        list(seeds),
        threads=threads,
        deadline_s=left,
        progress=progress,
        flow_delays=any(needs_flow_delays(each) for each in (objective, *constraints)),
    )
    outcomes, untried = [], []
    for number, key in enumerate(shared):
        mine, other = (
            [_own(result, around[key]) for result in row if result is not None]
            for row in rows[2 * number : 2 * number + 2]
        )
        if min(len(mine), len(other)) < len(seeds):
            untried.append(around[key].label)
            continue
        runs = _Runs(seeds, mine, other)
        outcomes.append(_outcome(around[key], runs, objective, constraints, margin, least_loss))
    return Robustness(
        objective.label, objective.unit, tuple(seeds), margin, tuple(outcomes), tuple(untried)
    )


def _has(neighbour: Neighbour, paths: Sequence[str]) -> bool:
    """Whether a neighbour has the tuned parameters; another sender may not have its own."""
    try:
        for path in paths:
            neighbour.scenario.parameter(path)
    except ScenarioError:
        return False
    return True


def _own(result: Result, neighbour: Neighbour) -> Result:
    """A result without the flows that only the neighbour has."""
    if not neighbour.added:
        return result
    flows = {
        name: group for name, group in result.data["flows"].items() if name not in neighbour.added
    }
    return Result({**result.data, "flows": flows})


@dataclass(frozen=True, slots=True)
class _Runs:
    """What both settings have shown under one condition, seed by seed."""

    seeds: Sequence[int]
    best: Sequence[Result]
    incumbent: Sequence[Result]


def _outcome(
    neighbour: Neighbour,
    runs: _Runs,
    objective: Objective,
    constraints: Sequence[Constraint],
    margin: float,
    least_loss: float,
) -> NeighbourOutcome:
    """The verdict under one condition."""
    absent = None
    if objective.needs_incumbent:
        try:
            objective = objective.relative_to(runs.incumbent)
        except NotMeasuredError as error:
            absent = error
    best, incumbent = Evaluation({}), Evaluation({})
    for evaluation, results in ((best, runs.best), (incumbent, runs.incumbent)):
        for seed, result in zip(runs.seeds, results, strict=True):
            evaluation.add(seed, result, objective, constraints)
    verdicts = judge(constraints, best, incumbent)
    by_constraints = _by_constraints(verdicts, judge(constraints, incumbent, incumbent))
    absent = absent or best.not_measured or incumbent.not_measured
    if absent is not None:
        verdict, reason, breaks = by_constraints or ("not measured", str(absent), None)
        return NeighbourOutcome(
            neighbour.key, neighbour.label, verdict, reason, None, None, None, verdicts, breaks
        )
    compared = _compared(best, incumbent, objective)
    by_objective = (*_by_objective(compared, objective, margin, least_loss), None)
    verdict, reason, breaks = by_constraints or by_objective
    return NeighbourOutcome(
        neighbour.key, neighbour.label, verdict, reason, *compared, verdicts, breaks
    )


def _compared(
    best: Evaluation, incumbent: Evaluation, objective: Objective
) -> tuple[Interval, Interval, Interval]:
    """Both objectives in their own unit, and the difference turned so that negative is better."""
    sign = -1.0 if objective.maximised else 1.0
    pairs = zip(best.objectives, incumbent.objectives, strict=True)
    return (
        mean_interval(sign * value for value in best.objectives),
        mean_interval(sign * value for value in incumbent.objectives),
        mean_interval(new - old for new, old in pairs),
    )


def _by_constraints(
    best: Sequence[ConstraintVerdict], incumbent: Sequence[ConstraintVerdict]
) -> tuple[NeighbourVerdict, str, ConstraintVerdict | None] | None:
    """The verdict where the constraints alone decide, and what is broken if it is worse."""
    for mine, other in zip(best, incumbent, strict=True):
        if mine.holds == "broken" and other.holds in {"met", "unproven"}:
            return "worse", f"it breaks a constraint that the other keeps ({mine})", mine
    for mine, other in zip(best, incumbent, strict=True):
        if other.holds == "broken" and mine.holds == "met":
            return "better", f"it keeps a constraint that the other breaks ({other})", None
    return None


def _by_objective(
    compared: tuple[Interval, Interval, Interval],
    objective: Objective,
    margin: float,
    least_loss: float,
) -> tuple[NeighbourVerdict, str]:
    """The verdict where the constraints leave it to the objective."""
    best, incumbent, difference = compared
    unit = f" {objective.unit}" if objective.unit else ""
    reason = f"{objective.label} {best.mean:.3g}{unit} instead of {incumbent.mean:.3g}{unit}"
    low, high = difference.low, difference.high
    relevant = max(margin * abs(incumbent.mean), least_loss)
    if low is not None and low > 0.0 and difference.mean > relevant:
        return "worse", reason
    if high is not None and high < 0.0:
        return "better", reason
    return "no difference", reason


def _listed(labels: Iterable[str]) -> str:
    """Like "twice as many flows, round trips half as long or ECN at all senders"."""
    *others, last = labels
    return f"{', '.join(others)} or {last}" if others else last


def _text(interval: Interval | None) -> str:
    return "not measured" if interval is None else f"{interval.mean:.4g}"
