"""What it costs the traffic to change a parameter, where the router says that it costs something.

Some queues drop all that waits when a parameter is set, and some forget their average. The model
compares two settings that stand; the one in force does, and the candidate has to be pushed first.
So the candidate is charged for the push:

    charge = J x t / T

- t is how long the traffic takes to recover. After a *flush* each of n flows has lost about its
  share of the queue and halves its window W = C R / n (C: the link's rate in packets per second, R:
  the longest round trip with the wanted queue), and gets it back at a packet per round trip:
  t = R W / 2, and at least one round trip. A *forgotten average* is back after about its memory,
  1 / w packets: t = 1 / (w C); one round trip where the discipline has no weight. Where both
  happen, the longer time counts.
- J is what the objective loses meanwhile. A queue that is held at a target is empty after a flush,
  and its cost is that of an empty queue. Of any other objective as much is taken to be lost as the
  setting in force reaches: goodput delivers nothing, a delay is doubled. That is the most that
  makes sense, and a charge should rather be too high than too low.
- T is how long the setting is expected to stand: a minute over the changes per minute that the
  operator allows, the shortest time for which any may.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.online.plan.goal import HeldQueue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.objectives import Objective
    from vermilion.online.model.traffic import Traffic
    from vermilion.routers.base import ParameterValue, PushPrice

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


def push_charge(
    price: PushPrice,
    traffic: Traffic,
    parameters: Mapping[str, ParameterValue],
    goal: Objective,
    in_force: float,
    changes_per_minute: int,
) -> PushCharge:
    """The charge for one push.

    Args:
        price: what the router says of its queue.
        traffic: that has to recover.
        parameters: that are pushed, all of them.
        goal: what is pursued.
        in_force: what the setting in force reaches, in the goal's unit.
        changes_per_minute: that the operator allows.
    """
    recovery_s, done = 0.0, []
    round_trip_s = traffic.longest_round_trip_s
    if price.flushes_queue:
        window = traffic.packets_per_s * round_trip_s / traffic.flows
        recovery_s = max(round_trip_s, round_trip_s * window / 2.0)
        done.append("flushes the queue")
    if price.forgets_average:
        weight = parameters.get("weight")
        known = isinstance(weight, int | float) and weight > 0.0
        memory_s = 1.0 / (float(weight or 1.0) * traffic.packets_per_s) if known else round_trip_s
        recovery_s = max(recovery_s, memory_s)
        done.append("forgets the average")
    if not done:
        return PushCharge()
    lost = abs(in_force)
    if isinstance(goal, HeldQueue) and price.flushes_queue:
        lost = goal.cost(0.0, 0.0)
    stands_s = _MINUTE_S / max(1, changes_per_minute)
    return PushCharge(lost * min(recovery_s / stands_s, 1.0), " and ".join(done))
