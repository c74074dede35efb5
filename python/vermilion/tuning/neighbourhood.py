"""The conditions around those of a scenario, which a default tuning asks about too.

Nobody knows the conditions of a network exactly, and they change. So a setting is also simulated
where one thing differs:

- twice and half as many flows (:func:`vermilion.scenario.variation.with_flow_counts`);
- round trips twice and half as long;
- a tenth of each tuned link's rate as web transfers in addition: newcomers, all the time;
- each kind of sender alone, where the scenario names several. Kinds that it does not name are
  excluded by whoever wrote it.

The conditions as given weigh half, the others share the other half equally. In the others a bound
of harm has twice its margin, and a constraint may be missed by a twentieth more than the setting in
force misses it there. A neighbour that is the scenario itself is left out, and so is one that is no
network (round trips of more than an hour, more flows than a scenario may have).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from vermilion.files.document import document
from vermilion.objectives.constraint import Constraint
from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.quantities import how_many
from vermilion.scenario.variation import (
    is_same_network,
    with_flow_counts,
    with_round_trips,
    with_senders_of,
    with_web_traffic,
)
from vermilion.simulate.statistics import mean_interval
from vermilion.tuning.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate.statistics import Interval
    from vermilion.tuning.evaluation import Evaluation
    from vermilion.tuning.simulations import Condition
    from vermilion.tuning.verdict import ConstraintVerdict

GIVEN_WEIGHT: Final = 0.5
"""Of the conditions as given, among all of them."""

WEB_SHARE: Final = 0.1
"""Of a tuned link's rate, as web transfers."""

RELEVANT_LOSS: Final = 0.05
"""The fraction of what the setting in force reaches under a condition that may be lost there."""

CONFIDENCE: Final = 0.99
"""Of the intervals by which a setting is worse under one of several conditions."""

_SLACK: Final = 2.0
"""Margins of harm under the conditions around."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One condition near those of a scenario.

    Attributes:
        key: a stable name for machines: "flows-doubled".
        label: in words, to follow "with": "twice as many flows".
        scenario: under that condition, the setting in force included.
        added: groups of flows that the scenario itself does not have.
        standing: the same with another discipline, if that is in force.
    """

    key: str
    label: str
    scenario: Scenario
    added: tuple[str, ...] = ()
    standing: Scenario | None = None


def neighbours(scenario: Scenario, links: Sequence[str] | None = None) -> tuple[Neighbour, ...]:
    """The stated neighbourhood of a scenario, what asks most of a queue first.

    Args:
        scenario: that something is recommended for.
        links: whose queues are tuned; ``None`` for all.
    """
    made: list[tuple[str, str, Callable[[], Scenario]]] = [
        ("flows-doubled", "twice as many flows", partial(with_flow_counts, scenario, 2.0)),
        ("trips-doubled", "round trips twice as long", partial(with_round_trips, scenario, 2.0)),
        ("flows-halved", "half as many flows", partial(with_flow_counts, scenario, 0.5)),
        ("trips-halved", "round trips half as long", partial(with_round_trips, scenario, 0.5)),
    ]
    kinds: dict[str, str] = {}
    for name, group in scenario.flows.items():
        if group.sender is not None:
            kinds.setdefault(group.sender.congestion_control, name)
    for kind, name in kinds.items() if len(kinds) > 1 else ():
        alone = partial(with_senders_of, scenario, name)
        made.append((f"senders-{kind}", f"{kind} senders alone", alone))
    found = []
    for key, label, make in made:
        try:
            other = make()
        except ScenarioError:
            continue  # no network any more, such as one with more flows than there may be
        if not is_same_network(scenario, other):
            found.append(Neighbour(key, label, other))
    tuned = tuple(scenario.links if links is None else links)
    other, added = with_web_traffic(scenario, tuned, WEB_SHARE)
    if added:
        found.append(Neighbour("web", "a tenth of the rate as web traffic", other, added))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class NoWorse(Constraint):
    """A constraint that is broken no worse than by the setting in force, but for a relevant loss.

    Without that slack a bound that just holds as asked would forbid every gain: nothing else would
    be left than settings that have it by far where twice as many share the link.
    """

    def bounds(
        self, values: Sequence[float | None], reference: Sequence[float | None] | None = None
    ) -> list[float | None]:
        """The looser of the bound and what the setting in force reaches, in each phase."""
        own = Constraint.bounds(self, values, reference)
        loosest = min if self.at_least else max
        slack = 1.0 - RELEVANT_LOSS if self.at_least else 1.0 + RELEVANT_LOSS
        return [
            bound if bound is None or now is None else slack * loosest(bound, now)
            for bound, now in zip(own, reference or own, strict=True)
        ]


def constraints_around(constraints: Sequence[Constraint]) -> list[Constraint]:
    """The constraints of a scenario as they hold under the conditions around it."""
    found = []
    for each in constraints:
        if each.of_harm and each.of_reference:
            bound = 1.0 + _SLACK * (each.bound - 1.0)
            text = f"{each.text} (with twice the margin)"
            found.append(replace(each, text=text, bound=bound, offset=_SLACK * each.offset))
        elif each.of_reference:
            found.append(each)
        else:
            own = {field.name: getattr(each, field.name) for field in fields(Constraint)}
            found.append(NoWorse(**own))
    return found


Verdict = Literal["better", "no difference", "worse", "not measured"]


@document("key condition=label verdict reason seeds best? incumbent? difference? breaks?")
@dataclass(frozen=True, slots=True)
class ConditionOutcome:
    """A setting beside the one in force under one neighbouring condition.

    Attributes:
        key: the condition's stable name.
        label: the condition in words, to follow "with".
        verdict: on the setting.
        reason: of the verdict, in words, to follow the condition.
        seeds: how many both have met.
        best: the objective of the setting; ``None`` where it is not measured.
        incumbent: the same of the setting in force.
        difference: setting - in force, seed by seed, turned so that negative is better.
        breaks: the bound that it breaks, if that is why it is worse.
    """

    key: str
    label: str
    verdict: Verdict
    reason: str
    seeds: int
    best: Interval | None = None
    incumbent: Interval | None = None
    difference: Interval | None = None
    breaks: ConstraintVerdict | None = None

    @property
    def shown_verdict(self) -> str:
        """The verdict as a table shows it."""
        return self.verdict if self.breaks is None else "breaks a bound"


def judge_condition(
    condition: Condition, best: Evaluation, incumbent: Evaluation
) -> ConditionOutcome:
    """Judges a setting against the one in force under one condition.

    It is worse where it breaks a bound that the one in force keeps, or where its objective is worse
    by more than :data:`RELEVANT_LOSS` and by more than chance.

    Args:
        condition: under which both were evaluated.
        best: the setting.
        incumbent: the one in force, on the same seeds.
    """
    key, label, objective = condition.key, condition.label, condition.objective
    count = len(best.seeds)
    absent = best.not_measured or incumbent.not_measured
    if absent is not None or not count:
        return ConditionOutcome(key, label, "not measured", str(absent or "no time"), count)
    sign = -1.0 if objective.maximised else 1.0
    pairs = list(zip(best.objectives, incumbent.objectives, strict=True))
    difference = mean_interval((new - old for new, old in pairs), CONFIDENCE)
    mine = mean_interval(sign * value for value in best.objectives)
    other = mean_interval(sign * value for value in incumbent.objectives)
    now = judge(condition.constraints, incumbent, incumbent, CONFIDENCE)
    then = judge(condition.constraints, best, incumbent, CONFIDENCE)
    broken = [new for new, old in zip(then, now, strict=True) if "broken" == new.holds != old.holds]
    unit = f" {objective.unit}" if objective.unit else ""
    reason = f"{objective.label} {mine.mean:.3g}{unit} instead of {other.mean:.3g}{unit}"
    relevant = max(RELEVANT_LOSS * abs(other.mean), objective.least_gain(0.0))
    verdict: Verdict = "no difference"
    if broken:
        verdict, reason = "worse", f"it breaks a bound that the other keeps ({broken[0]})"
    elif difference.low is not None and difference.low > 0.0 and difference.mean > relevant:
        verdict = "worse"
    elif difference.high is not None and difference.high < 0.0:
        verdict = "better"
    first = broken[0] if broken else None
    return ConditionOutcome(key, label, verdict, reason, count, mine, other, difference, first)


@document("holds seeds conditions=outcomes warnings")
@dataclass(frozen=True, slots=True)
class Around:
    """A recommended setting under the conditions around those that were given.

    Attributes:
        unit: of the objective, "" for a plain number.
        seeds: that it and the setting in force have met under each condition.
        outcomes: under each condition.
    """

    unit: str
    seeds: tuple[int, ...]
    outcomes: tuple[ConditionOutcome, ...]

    @property
    def holds(self) -> bool:
        """True if the setting is worse than the one in force under none of them."""
        return not self.lost

    @property
    def lost(self) -> tuple[ConditionOutcome, ...]:
        """The conditions under which it is worse."""
        return tuple(each for each in self.outcomes if each.verdict == "worse")

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for whoever can tell that such a condition will come; none where it holds."""
        return tuple(f"do not use it with {each.label}: {each.reason}" for each in self.lost)

    @property
    def summary(self) -> str:
        """How often it is better than the setting in force, and where it is worse."""
        better = sum(each.verdict == "better" for each in self.outcomes)
        count = len(self.outcomes)
        text = f"better under {better} of {how_many(count, 'condition')} around"
        worse = ", ".join(each.label for each in self.lost)
        return f"{text}, worse with {worse}" if worse else text

    def __str__(self) -> str:
        """A table: one line for each condition."""
        unit = f", {self.unit}" if self.unit else ""
        rows = [("with", f"in force{unit}", f"recommended{unit}", "the recommended is")]
        for each in self.outcomes:
            now, best = (
                "not measured" if found is None else f"{found.mean:.4g}"
                for found in (each.incumbent, each.best)
            )
            rows.append((each.label, now, best, each.shown_verdict))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}"
            for row in rows
        )
