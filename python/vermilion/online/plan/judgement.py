"""Objective of the controller: the operator's, or a stricter one for a target.

The operator asks for the smallest mean squared deviation of the instantaneous queue,
sd^2 + (mean - target)^2. Taken alone it trades: with few flows and long round trips the
queue swings so widely that a mean well below the target gives the smaller sum, because the
queue cannot swing below empty. A controller that promises to hold the queue *at* the target
must not take that trade, so whatever of the mean's error exceeds a tenth of the target
counts ten times.

What it costs the traffic to change a parameter, where the router says that it costs something.

Some queues drop all that waits when a parameter is set, and some forget their average. The model
compares two settings that stand; the one in force does, and the candidate has to be pushed first.
So the candidate is charged for the push:

    charge = L x M / T

- L is what the objective loses over a time M that begins with the push, against the candidate as it
  stands. Where the model's queue does at a change what the router's does, the push is simulated:
  the setting in force stands until the warm-up ends, and M is all that is measured. Nothing has to
  be assumed then of how senders recover.
- Elsewhere L is estimated, with M = T. The traffic takes a time t to recover, in which a queue that
  is held at a target is empty after a flush; the objective is that of both times together. Of any
  other objective as much is taken to be lost as the setting in force reaches: goodput delivers
  nothing, a delay is doubled. After a *flush* each of n flows has lost about its share of the queue
  and halves its window W = C R / n (C: the link's rate in packets per second, R: the longest round
  trip with the wanted queue), and gets it back at a packet per round trip: t = R W / 2, and at
  least one round trip. A *forgotten average* is back after about its memory, 1 / w packets:
  t = 1 / (w C); one round trip where the discipline has no weight. Where both happen, the longer
  time counts.
- T is how long the setting is expected to stand: a minute over the changes per minute that the
  operator allows, the shortest time for which any may.

Whether a new setting is worth applying: the rule of every tuning, in the loop's own numbers.

Both settings, the one in force and the candidate, are simulated on the same fresh seeds,
which the search has not seen: a search returns the luckiest of hundreds of candidates, and
only fresh seeds tell luck from merit. What decides is :mod:`vermilion.tuning.comparison`: no
broken constraint and no harm, a difference that is not chance, and a gain that is worth a change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vermilion.objectives import LinkObjective
from vermilion.objectives.fields import OVER, TARGET
from vermilion.scenario.core_network import CoreChange
from vermilion.simulate import run_many
from vermilion.simulate.statistics import Interval, mean_interval
from vermilion.tuning.comparison import decide
from vermilion.tuning.simulations import needs_flow_delays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives import Objective
    from vermilion.objectives.windows import Over
    from vermilion.online.model.prediction import Prediction
    from vermilion.online.model.traffic import Traffic
    from vermilion.online.plan.search import ModelCase
    from vermilion.online.policy import Policy
    from vermilion.routers.base import ParameterValue, PushPrice
    from vermilion.scenario import Scenario
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.comparison import Judgement, SettingDecision
    from vermilion.tuning.memory import Runner
    from vermilion.tuning.verdict import ConstraintVerdict


FREE_ERROR = 0.10
"""Error of the mean, as a share of the target, that counts only once."""
EXCESS_WEIGHT = 9.0
"""How much more often the excess counts."""


@dataclass(frozen=True)
class HeldQueue(LinkObjective):
    """An objective: hold the instantaneous queue at ``target`` packets."""

    name: ClassVar[str] = "held-queue"
    summary: ClassVar[str] = "queue deviation, where an error of the mean above a tenth costs more"
    unit: ClassVar[str] = "packets^2"
    noticeable: ClassVar[float] = 1.0

    target: float = field(metadata=TARGET)
    over: Over = field(default="total", kw_only=True, metadata=OVER)

    @property
    def label(self) -> str:
        """Name in logs."""
        return "cost"

    def cost(self, mean: float, sd: float) -> float:
        """The cost of a queue with this mean and standard deviation, in packets^2."""
        error = abs(mean - self.target)
        excess = max(0.0, error - FREE_ERROR * self.target)
        return sd**2 + error**2 + EXCESS_WEIGHT * excess**2

    def value(self, window: Mapping[str, Any]) -> float:
        """The cost of one measured window of a link, in packets^2."""
        queue = window["queue_packets"]
        return self.cost(queue["mean"], queue["sd"])


def goal_of(policy: Policy, model: Scenario, internal_target: float) -> Objective:
    """Return the objective to pursue in a model.

    A queue that is wanted at a target is to be held there, and a little above or below where the
    model is known to stand beside the network. Any other objective is taken as it is, told of the
    model's round trips, by which it knows what difference anyone would notice.

    Args:
        policy: what the operator wants.
        model: in which it is pursued.
        internal_target: where to put the model's queue, packets; without meaning where the
            operator has no target.
    """
    if policy.target_packets is not None:
        return HeldQueue(policy.link, internal_target)
    return policy.objective.for_scenario(model)


PUSHES: Final = 6
"""How often a push is simulated in each model."""

_PAYS_IN_THE_MODEL: Final = frozenset({"linux-red"})
"""Disciplines whose model drops and forgets at a change what the router does."""

_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class PushCharge:
    """Cost of a push.

    Attributes:
        value: in the objective's unit, never negative.
        why: what the push does, in words; empty where it costs nothing.
    """

    value: float = 0.0
    why: str = ""


def pays_in_the_model(price: PushPrice, disciplines: Sequence[str]) -> bool:
    """Check whether the cost of a push can be simulated, and has to be.

    Args:
        price: what the router says of its queue.
        disciplines: of all queues that are pushed.
    """
    return bool(_words(price)) and _PAYS_IN_THE_MODEL.issuperset(disciplines)


def simulated_charge(
    price: PushPrice,
    cases: Sequence[ModelCase],
    setting: Setting,
    candidate: Prediction,
    seeds: Sequence[int],
    workers: Runner | None,
    changes_per_minute: int,
) -> PushCharge:
    """The charge for one push, from what it does in the models.

    Args:
        price: what the router says of its queue.
        cases: the models with the setting in force, and what is wanted in each.
        setting: what is pushed, by path, in the models' own numbers.
        candidate: what the models say of it where it stands.
        seeds: of the simulations.
        workers: simulate; ``None`` for this machine as it is.
        changes_per_minute: that the operator allows.

    Raises:
        NotMeasuredError: a model lacks what the goal is about.
    """
    believed = [case for case in cases if case.share > 0.0]
    rows = (run_many if workers is None else workers.run_many)(
        [_pushed(case.model, setting) for case in believed],
        seeds,
        flow_delays=any(needs_flow_delays(case.goal) for case in believed),
    )
    pushed = math.fsum(
        case.share * case.goal.measure(result) / len(seeds)
        for case, row in zip(believed, rows, strict=True)
        for result in row
        if result is not None
    )
    sign = -1.0 if believed[0].goal.maximised else 1.0
    lost = sign * (pushed - candidate.value.mean)
    model = believed[0].model
    measured_s = model.duration - model.warm_up
    return PushCharge(
        max(0.0, lost) * measured_s / _stands_s(changes_per_minute), " and ".join(_words(price))
    )


def _pushed(model: Scenario, setting: Setting) -> str:
    """The model in which the setting comes into force when the measurement begins."""
    core = model.core()
    by_link: dict[str, dict[str, float | None]] = {}
    for path, value in setting.items():
        _, link, _, name = path.split(".", 3)
        by_link.setdefault(link, {})[name] = value
    changes = tuple(CoreChange(core.warm_up_ns, link, queue=new) for link, new in by_link.items())
    # What happens right after the change is what is asked for.
    return replace(core, settle_ns=0, changes=changes).to_json()


def estimated_charge(
    price: PushPrice,
    traffic: Traffic,
    parameters: Mapping[str, ParameterValue],
    goal: Objective,
    candidate: Prediction,
    in_force: float,
    changes_per_minute: int,
) -> PushCharge:
    """The charge for one push that no model shows.

    Args:
        price: what the router says of its queue.
        traffic: that has to recover.
        parameters: that are pushed, all of them.
        goal: what is pursued.
        candidate: what the models say of them where they stand.
        in_force: what the setting in force reaches, in the goal's unit.
        changes_per_minute: that the operator allows.
    """
    done = _words(price)
    if not done:
        return PushCharge()
    share = min(_recovery_s(price, traffic, parameters) / _stands_s(changes_per_minute), 1.0)
    lost = share * abs(in_force)
    if isinstance(goal, HeldQueue) and price.flushes_queue:
        mean, sd = candidate.mean.mean, candidate.sd.mean
        both = (1.0 - share) * mean
        square = (1.0 - share) * (sd**2 + mean**2)
        lost = goal.cost(both, math.sqrt(max(0.0, square - both**2))) - goal.cost(mean, sd)
    return PushCharge(max(0.0, lost), " and ".join(done))


def _words(price: PushPrice) -> list[str]:
    """Effects of a push."""
    flushes = ["flushes the queue"] if price.flushes_queue else []
    return flushes + (["forgets the average"] if price.forgets_average else [])


def _stands_s(changes_per_minute: int) -> float:
    return _MINUTE_S / max(1, changes_per_minute)


def _recovery_s(
    price: PushPrice, traffic: Traffic, parameters: Mapping[str, ParameterValue]
) -> float:
    """Time that the traffic takes to recover, s."""
    recovery_s, round_trip_s = 0.0, traffic.longest_round_trip_s
    if price.flushes_queue:
        window = traffic.packets_per_s * round_trip_s / traffic.flows
        recovery_s = max(round_trip_s, round_trip_s * window / 2.0)
    if price.forgets_average:
        weight = _weight(parameters)
        memory_s = round_trip_s if weight is None else 1.0 / (weight * traffic.packets_per_s)
        recovery_s = max(recovery_s, memory_s)
    return recovery_s


def _weight(parameters: Mapping[str, ParameterValue]) -> float | None:
    """The average's weight; ``None`` where the discipline has none."""
    weight, logarithm = parameters.get("weight"), parameters.get("weight_log")
    if isinstance(weight, int | float) and weight > 0.0:
        return float(weight)
    return 2.0 ** -float(logarithm) if isinstance(logarithm, int | float) else None


_SHOWN: Final = {"bit/s": (1e-6, "Mbit/s")}
"""Units that a log shows in another one, and what to multiply by."""

NO_CHARGE: Final = PushCharge()
"""Of a router that takes a parameter without a loss."""


@dataclass(frozen=True, slots=True)
class ChangeVerdict:
    """The comparison of a candidate with the setting in force.

    Attributes:
        apply: whether to apply the candidate.
        reason: why, in words and numbers.
        advantage: by how much the candidate is better, over seeds, in the objective's unit, less
            what it costs to put it in force; negative where it is worse, whichever way the
            objective goes.
        judgement: of the candidate: better, no difference, or worse.
        details: the numbers of the reason, for the journal.
    """

    apply: bool
    reason: str
    advantage: Interval
    judgement: Judgement
    details: dict[str, object] = field(default_factory=dict)


def judge(
    candidate: Prediction,
    incumbent: Prediction,
    goal: Objective,
    candidate_verdicts: Sequence[ConstraintVerdict] = (),
    incumbent_verdicts: Sequence[ConstraintVerdict] = (),
    charge: PushCharge = NO_CHARGE,
    models: int = 1,
    *,
    excused: Sequence[ConstraintVerdict] = (),
    beyond_aims: Sequence[ConstraintVerdict] = (),
) -> ChangeVerdict:
    """Compare a candidate with the incumbent, both predicted on the same fresh seeds.

    Args:
        candidate: the setting found.
        incumbent: the setting in force.
        goal: what is minimised or maximised.
        candidate_verdicts: whether the candidate keeps the constraints and does no harm.
        incumbent_verdicts: the same of the setting in force; harm that may be chance is no reason
            to change it for a setting that is worse.
        charge: what it costs to put the candidate in force.
        models: of how many models the predictions are the mean.
        excused: on the setting in force in models where a broken bound does not count against it.
        beyond_aims: on the setting in force by what the search aims at, well within each bound.
    """
    sign = -1.0 if goal.maximised else 1.0
    pairs = [
        (new.value, old.value)
        for new, old in zip(candidate.outcomes, incumbent.outcomes, strict=True)
    ]
    differences = [sign * (new - old) + charge.value for new, old in pairs]
    advantage = mean_interval([-each for each in differences])
    old_value = sum(old for _, old in pairs) / len(pairs)
    new_value = sum(new for new, _ in pairs) / len(pairs)
    least_gain = goal.least_gain(abs(old_value))
    decision = decide(
        mean_interval(differences),
        candidate_verdicts,
        [each for each in incumbent_verdicts if not _may_be_chance(each)],
        least_gain=least_gain,
        unit=goal.unit,
    )
    why = decision.why
    if decision.judgement == "worse" and not decision.refused:
        chance = [each for each in incumbent_verdicts if _may_be_chance(each)]
        why += _why_worse(chance, excused, beyond_aims)
    where = "in the model" if models == 1 else f"in the mean of {models} models"
    return ChangeVerdict(
        decision.accepted,
        f"{why}; {where}, {_describe(advantage, old_value, new_value, goal, charge)}, "
        f"mean queue {candidate.mean.mean:.1f} instead of {incumbent.mean.mean:.1f} packets",
        advantage,
        decision.judgement,
        {
            "advantage": advantage.mean,
            "advantage_half_width": advantage.half_width,
            "unit": goal.unit,
            "objective_found": new_value,
            "objective_in_force": old_value,
            "fresh_seeds": advantage.count,
            "models": models,
            "mean_queue_found_packets": candidate.mean.mean,
            "mean_queue_in_force_packets": incumbent.mean.mean,
            "push_charge": charge.value,
            "least_gain": least_gain,
            **_bound_details(decision),
        },
    )


def _bound_details(decision: SettingDecision) -> dict[str, object]:
    """The numbers of the bound that decided, where one did."""
    bound = decision.bound
    if bound is None:
        return {}
    value = bound.value
    return {
        "bound": bound.constraint,
        "bound_limit": bound.bound,
        "bound_limit_half_width": bound.bound_half_width,
        "bound_measured": None if value is None else value.mean,
        "bound_measured_half_width": None if value is None else value.half_width,
        "bound_phase": bound.phase,
    }


def _why_worse(
    chance: Sequence[ConstraintVerdict],
    excused: Sequence[ConstraintVerdict],
    beyond_aims: Sequence[ConstraintVerdict],
) -> str:
    """Return the bound that only the candidate keeps."""
    for bounds, what in (
        (excused, "which the setting in force would break"),
        (chance, "which the setting in force may break"),
        (beyond_aims, "as a search aims to; the setting in force keeps less of a distance"),
    ):
        for each in bounds:
            if each.holds == "broken":
                return f" that keeps {each.constraint}, {what} ({each.figures})"
    return ""


def _may_be_chance(verdict: ConstraintVerdict) -> bool:
    """Check whether a setting does harm only in the mean of a few seeds."""
    if not verdict.of_harm or verdict.value is None or verdict.bound is None:
        return False
    return not verdict.value.excludes(verdict.bound)


def _describe(
    advantage: Interval, old: float, new: float, goal: Objective, charge: PushCharge
) -> str:
    """Describe the comparison, with all numbers to the same digit."""
    factor, unit = _SHOWN.get(goal.unit, (1.0, goal.unit))
    largest = factor * max(abs(old), abs(new))
    # Four digits, but never fewer than one behind the point.
    decimals = max(1, 3 - math.floor(math.log10(largest))) if largest > 0.0 else 1

    def text(value: float) -> str:
        return f"{factor * value:.{decimals}f}"

    gained = "better" if advantage.mean >= 0.0 else "worse"
    half_width = "unknown" if advantage.half_width is None else text(advantage.half_width)
    push = f", after {text(charge.value)} for a push that {charge.why}" if charge.why else ""
    return (
        f"{goal.label} {text(new)} instead of {text(old)} {unit}".rstrip()
        + f" ({gained} by {text(abs(advantage.mean))} +- {half_width} on {advantage.count} fresh "
        f"seeds{push})"
    )
