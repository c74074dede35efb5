"""What it costs the traffic to change a parameter, where the router says that it costs something.

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
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from vermilion.online.plan.goal import HeldQueue
from vermilion.scenario.core_network import CoreChange
from vermilion.simulate import run_many
from vermilion.tuning.measure.simulations import needs_flow_delays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives import Objective
    from vermilion.online.model.prediction import Prediction
    from vermilion.online.model.traffic import Traffic
    from vermilion.online.plan.search import ModelCase
    from vermilion.routers.base import ParameterValue, PushPrice
    from vermilion.scenario import Scenario
    from vermilion.tuning.measure.candidates import Setting
    from vermilion.tuning.measure.remembered_runs import Runner

PUSHES: Final = 6
"""How often a push is simulated in each model."""

_PAYS_IN_THE_MODEL: Final = frozenset({"linux-red"})
"""Disciplines whose model drops and forgets at a change what the router does."""

_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class PushCharge:
    """What a push costs.

    Attributes:
        value: in the objective's unit, never negative.
        why: what the push does, in words; empty where it costs nothing.
    """

    value: float = 0.0
    why: str = ""


def pays_in_the_model(price: PushPrice, disciplines: Sequence[str]) -> bool:
    """Whether a push can be simulated, and need be.

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
        _, link, _, name = path.split(".")
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
    """What a push does."""
    flushes = ["flushes the queue"] if price.flushes_queue else []
    return flushes + (["forgets the average"] if price.forgets_average else [])


def _stands_s(changes_per_minute: int) -> float:
    return _MINUTE_S / max(1, changes_per_minute)


def _recovery_s(
    price: PushPrice, traffic: Traffic, parameters: Mapping[str, ParameterValue]
) -> float:
    """How long the traffic takes to recover."""
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
