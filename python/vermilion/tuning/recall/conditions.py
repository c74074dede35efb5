"""What a scenario asks of a queue, in a few numbers: by which earlier answers are found again.

For each tuned link: its rate, the flows that cross it, their mean base round trip, their mean
packet size, and the share of them that understand marks. Flows count by the part of the measured
time in which they are there, so that a scenario with phases has the mean of its conditions.

The distance of two conditions is, on the mean over the tuned links, |ln(rate / rate')| +
|ln(flows / flows')| + |ln(round trip / round trip')| + |ln(packet / packet')| + |difference of the
shares of ECN|, and |ln(target / target')| where the objective has one: 0.69 for twice the flows. It
is infinite where an answer would not fit: for other parameters, disciplines or objectives.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from vermilion.tuning.recall.answers import times_apart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives import Objective
    from vermilion.scenario import Scenario
    from vermilion.scenario.core_scenario import CoreScenario


@dataclass(frozen=True, slots=True)
class LinkConditions:
    """What one link has to carry.

    Attributes:
        rate_bit_per_s: of the link; its nominal one where it varies.
        flows: that cross it, on average over the measured time.
        round_trip_s: their mean base round trip; 0 if there is none.
        packet_bytes: their mean packet size.
        ecn_share: of the flows that understand marks, 0 to 1.
    """

    rate_bit_per_s: float
    flows: float
    round_trip_s: float
    packet_bytes: float
    ecn_share: float


@dataclass(frozen=True, slots=True)
class ScenarioConditions:
    """What a scenario asks of its tuned queues.

    Attributes:
        parameters: that are tuned, by path, in order.
        disciplines: of the tuned links, by name.
        objective: its label.
        target: of the objective, ``None`` where it has none.
        links: the tuned links' conditions, by name; all links where no link is tuned.
    """

    parameters: tuple[str, ...]
    disciplines: Mapping[str, str]
    objective: str
    target: float | None
    links: Mapping[str, LinkConditions]

    def to_data(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "parameters": list(self.parameters),
            "disciplines": dict(self.disciplines),
            "objective": self.objective,
            "target": self.target,
            "links": {name: asdict(link) for name, link in self.links.items()},
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ScenarioConditions:
        """The inverse of :meth:`to_data`.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: this is none.
        """
        target = data["target"]
        links = {}
        for name, numbers in data["links"].items():
            link = LinkConditions(**{key: float(value) for key, value in numbers.items()})
            if not all(map(math.isfinite, asdict(link).values())) or link.rate_bit_per_s <= 0.0:
                message = f"conditions of link {name} are not numbers that a link can have"
                raise ValueError(message)
            links[str(name)] = link
        return cls(
            parameters=tuple(map(str, data["parameters"])),
            disciplines={str(name): str(kind) for name, kind in data["disciplines"].items()},
            objective=str(data["objective"]),
            target=None if target is None else float(target),
            links=links,
        )


def conditions_of(
    scenario: Scenario, parameters: Sequence[str], objective: Objective
) -> ScenarioConditions:
    """The conditions of a tuning.

    Args:
        scenario: that is tuned.
        parameters: paths of what is tuned.
        objective: what for.
    """
    tuned = dict.fromkeys(path.split(".")[1] for path in parameters if path.startswith("links."))
    core = scenario.core()
    names = list(tuned) or list(scenario.links)
    target = getattr(objective, "target", None)
    return ScenarioConditions(
        parameters=tuple(parameters),
        disciplines={name: scenario.links[name].queue.discipline for name in names},
        objective=objective.label,
        target=None if target is None else float(target),
        links={name: _link(core, name) for name in names},
    )


def distance(one: ScenarioConditions, other: ScenarioConditions) -> float:
    """How far two conditions lie apart: see the head of this module."""
    same = (
        one.parameters == other.parameters
        and dict(one.disciplines) == dict(other.disciplines)
        and one.objective == other.objective
        and one.links.keys() == other.links.keys()
        and (one.target is None) == (other.target is None)
    )
    if not same or not one.links:
        return math.inf
    apart = [_apart(one.links[name], other.links[name]) for name in one.links]
    total = math.fsum(apart) / len(apart)
    if one.target and other.target:
        total += times_apart(one.target, other.target)
    return total


def _apart(one: LinkConditions, other: LinkConditions) -> float:
    pairs = (
        (one.rate_bit_per_s, other.rate_bit_per_s),
        (max(one.flows, 1.0), max(other.flows, 1.0)),
        (one.round_trip_s, other.round_trip_s),
        (one.packet_bytes, other.packet_bytes),
    )
    # A link that nothing crosses has no round trip and no packets to compare.
    logarithms = [times_apart(*pair) for pair in pairs if min(pair) > 0.0]
    return math.fsum(logarithms) + abs(one.ecn_share - other.ecn_share)


def _link(core: CoreScenario, name: str) -> LinkConditions:
    flows, packets, marked = 0.0, 0.0, 0.0
    for group, count in core.flows_across(name):
        flows += count
        packets += count * group.packet_size_bytes
        marked += count * group.understands_marks
    rate = float(core.link(name).rate_bit_per_s)
    trip = core.mean_round_trip(name)
    if trip is None:
        return LinkConditions(rate, 0.0, 0.0, 0.0, 0.0)
    return LinkConditions(rate, flows, trip, packets / flows, marked / flows)
