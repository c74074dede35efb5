"""Problem for a search: the queues of a task, their traffic, and models of them.

Settings: what is searched, what a router can hold, and where a search begins.

A switch is searched only where it matters. Marks alone cannot hold a queue at any length
(:func:`vermilion.online.model.traffic.least_queue_packets`); above that, a queue that drops what it
could mark is what RFC 3168 (section 7) advises, and no number does the same. So
``drop_above_maximum`` is searched where marks leave the queue longer than it is wanted, and from
then on until it is again what it was at the beginning.

A cold search spends most of its second far from anything useful. For disciplines with RED's four
knobs the shape of good settings is known; exhaustive searches over loads of 4 to 128 flows and
round trips of 10 to 300 ms end in variations of two shapes:

- *a step at the target*: an average quick enough to follow the queue within a fraction of a
  round trip, and the maximum threshold at the target. Best for many flows or short round trips.
- *a gentle slope across the target*: the maximum threshold near three times the target and a
  small maximum probability. Best for few flows with long round trips, where a single loss costs a
  large window.

Both nearly are walls to a flow that comes back from a timeout with one packet. Where nobody may
starve a third shape is tried as well:

- *a ramp through the target*: from below it to nearly three times as far, and as steep as makes the
  share dropped at the target what such flows need, 1.5 / W^2 for a mean window of W packets
  (Mathis, Semke, Mahdavi and Ott 1997), and less where flows wait for timeouts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.model.network import build_model, searched
from vermilion.online.model.possibilities import by_turns, other_traffic, possibilities
from vermilion.online.model.scaling import Scaling, scaling_for
from vermilion.online.model.traffic import TooLittleIsKnown, Traffic, least_queue_packets
from vermilion.online.plan.laws import PROBABILITIES, as_modelled
from vermilion.online.policy import DROPS_IN_EARNEST, marks
from vermilion.routers.adaptive_red import MOVED
from vermilion.routers.queue_set import joint_name
from vermilion.scenario import disciplines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.online.model.possibilities import Possibility
    from vermilion.online.model.senders import SenderModel
    from vermilion.online.model.traffic import Horizon
    from vermilion.online.plan.task import Task
    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import HeldValues, ParameterValue
    from vermilion.scenario import Scenario


def searched_values(
    names: Iterable[str], parameters: Mapping[str, ParameterValue]
) -> dict[str, float]:
    """Named parameters that a search can start from: numbers and switches."""
    return {
        name: value if isinstance(value, bool) else float(value)
        for name in names
        if isinstance(value := parameters.get(name), int | float)
    }


def held_setting(held: HeldValues, setting: Mapping[str, float]) -> dict[str, float]:
    """The nearest setting that the router has, by the names of its parameters."""
    return {
        name: value if isinstance(value, bool) else float(value)
        for name, value in held.nearest(setting).items()
        if isinstance(value, int | float)
    }


# Thresholds as shares of the target, the maximum probability, and the number of times the
# average's memory (1 / weight packets) fits into the packets of one round trip.
_SHAPES: tuple[tuple[float, float, float, float], ...] = (
    (0.70, 1.05, 0.010, 3.5),
    (0.30, 1.05, 0.007, 3.0),
    (0.85, 1.00, 0.004, 5.0),
    (0.20, 1.60, 0.020, 4.0),
    (0.20, 2.80, 0.010, 8.0),
    (0.40, 2.20, 0.006, 13.0),
)
_LARGEST_WEIGHT = 0.1  # a quicker average is the queue itself
# Thresholds of ramps, likewise.
_RAMPS: tuple[tuple[float, float], ...] = ((0.60, 2.80), (0.80, 3.20))
_TIMEOUTS = 1.5  # packets by which windows count as larger, as many flows wait for a timeout
# Of what RED's probability is where packets are dropped evenly: every gap up to twice the mean is
# as likely, so that half of it does.
_EVENLY = 0.5


def first_guesses(
    discipline: str, parameters: Sequence[str], traffic: Traffic, target: float
) -> list[dict[str, float]]:
    """Settings to try first; none for a discipline whose knobs are not RED's.

    Args:
        discipline: its name.
        parameters: the names of the parameters that may be changed.
        traffic: what is to be controlled.
        target: where the queue should stand, packets.
    """
    in_flight = traffic.packets_per_s * traffic.longest_round_trip_s
    guesses = []
    window = in_flight / traffic.flows
    needed = _EVENLY * 1.5 / (window + _TIMEOUTS) ** 2
    ramps = tuple(
        (low, high, min(1.0, needed * (high - low) / (1.0 - low)), in_flight)
        for low, high in _RAMPS
    )
    for low, high, probability, memories in (*_SHAPES, *ramps):
        weight = min(memories / in_flight, _LARGEST_WEIGHT)
        guess = {
            "min_threshold": low * target,
            "max_threshold": high * target,
            "max_probability": probability,
            "weight": weight,
            "weight_log": float(round(-math.log2(weight))),
            # Where it is searched, marks alone hold the queue at none of these.
            DROPS_IN_EARNEST: True,
        }
        if not set(parameters) <= set(guess):
            return []
        table = disciplines()[discipline].parameters
        guesses.append(
            {
                name: guess[name] * traffic.packet_bytes
                if table[name].unit == "bytes"
                else guess[name]
                for name in parameters
            }
        )
    return guesses


class Problem:
    """The queues of a task, and their traffic.

    Attributes:
        task: the task, about the parameters that are searched.
        traffic: as observed.
        links: of the queues that can be modelled.
        names: of the parameters that are searched.
        disciplines: of all queues that may be changed.
    """

    def __init__(self, task: Task) -> None:
        """Prepare.

        Raises:
            TooLittleIsKnown: the traffic cannot be modelled.
        """
        self.traffic = traffic = Traffic.of_picture(task.picture, task.policy)
        parameters = searched_parameters(task, traffic)
        self.task = replace(task, policy=replace(task.policy, parameters=parameters))
        self.names = searched(self.task.policy, traffic)
        self.links = tuple(traffic.queues) or (task.policy.link,)
        queues = task.configuration.queues or (task.configuration,)
        self.disciplines = tuple(each.discipline for each in queues)

    def possible(self) -> Sequence[Possibility]:
        """Possible networks: by doubt, or by turns."""
        task = self.task
        if not task.met:
            return possibilities(self.traffic, task.picture, task.belief)
        others: list[Traffic] = []
        for picture in task.met:
            try:
                others.append(Traffic.of_picture(picture, task.policy))
            except TooLittleIsKnown:
                continue
        alike = [each for each in others if each.queues.keys() == self.traffic.queues.keys()]
        return by_turns(self.traffic, alike, task.belief)

    def others(self) -> list[Traffic]:
        """Alternatives to the traffic estimate, where it is doubted or has come and gone."""
        if self.task.met:
            return [each.traffic for each in self.possible()[1:] if each.share > 0.0]
        return list(other_traffic(self.traffic, self.task.picture))

    def build(
        self,
        scaling: Scaling,
        parameters: Mapping[str, ParameterValue],
        traffic: Traffic,
        kind: SenderModel,
        horizon: Horizon,
        joining: float = 0.0,
        *,
        anew: bool = False,
        transitions: bool = False,
    ) -> Scenario:
        """The model of the network with this traffic and these senders, as small as may be."""
        configuration, values = as_modelled(self.task.configuration, parameters)
        return build_model(
            configuration,
            {
                name: scaling.into(MOVED if name in PROBABILITIES else name, value)
                for name, value in values.items()
            },
            scaling.traffic(traffic),
            scaling.senders(kind),
            self.task.policy,
            horizon,
            joining,
            anew=anew,
            turnover=self.task.turnover if transitions else (0.0, 0.0),
        )

    def settled(self) -> dict[str, Sequence[Sample]]:
        """The settled samples of each queue."""
        return {
            link: [each.parts[place] for each in self.task.settled]
            for place, link in enumerate(self.task.policy.links or self.links)
            if link in self.links
        }

    def scale_packets(self, link: str) -> float:
        """The length of queue that counts as long at a link, by the goal."""
        seen = self.traffic.at(link) or self.traffic
        return self.task.policy.of_queue(link).scale_packets(seen.packets_per_s)

    def scaling(self, kinds: Iterable[SenderModel]) -> Scaling:
        """Scale of the model; several queues are modelled whole."""
        if self.task.policy.links:
            return Scaling("")
        wanted = self.scale_packets(self.links[0])
        return scaling_for(self.traffic, self.disciplines[0], wanted, kinds)

    def name_of(self, path: str) -> str:
        """A parameter's name in the policy, from its path in a model."""
        _, link, _, name = path.split(".", 3)
        return joint_name(link, name) if self.task.policy.links else name

    def guesses(self, target: float) -> list[dict[str, float]]:
        """Settings to try first, for one queue with RED's parameters."""
        return first_guesses(self.disciplines[0], self.names, self.traffic, target)


def searched_parameters(task: Task, traffic: Traffic) -> tuple[str, ...]:
    """The names of what a search may change: the policy's, and switches where they matter."""
    policy = task.policy
    in_force = task.in_force
    if not marks(in_force):
        return policy.parameters
    too_long = least_queue_packets(traffic) > policy.scale_packets(traffic.packets_per_s)
    return (
        *policy.parameters,
        *(
            name
            for name in policy.switches
            if name in in_force and (too_long or in_force[name] != task.original.get(name))
        ),
    )
