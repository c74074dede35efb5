"""The queueing delay that an objective or a bound asks for, as a discipline can be told it.

PIE and CoDel are told a delay, not a queue: so many packets are as much delay as they take to
send.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.scenario.quantities import PACKETS, RATE, TIME, format_quantity
from vermilion.scenario.wire import nominal_rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario


@dataclass(frozen=True, slots=True)
class ToldDelay:
    """A delay, and who asks for it.

    Attributes:
        seconds: of waiting.
        why: in words.
    """

    seconds: float
    why: str


def told_delay(
    scenario: Scenario, link: str, objective: Objective, constraints: Sequence[Constraint]
) -> ToldDelay | None:
    """What a discipline that holds a delay would be told at one link.

    - An objective with a target in packets: as long as they take to send at the link's rate.
    - A bound on a link's queueing delay or queue ("links.bottleneck.sojourn_ms.p95 <= 20"): the
      bound itself, the tightest of several. That is generous to a percentile, because the
      discipline holds its mean there; a half of it would be a guess.

    Args:
        scenario: gives the rate and the packets.
        link: whose queue it is.
        objective: whose target counts before any bound.
        constraints: among which there may be bounds.

    Returns:
        ``None`` where nothing asks for a delay.
    """
    for part in _parts(objective):
        target = getattr(part, "target", None)
        if link in part.links and isinstance(target, int | float) and target > 0.0:
            seconds = target * packet_seconds(scenario, link)
            rate = format_quantity(nominal_rate(scenario, link), RATE)
            packets, time = format_quantity(target, PACKETS), format_quantity(seconds, TIME)
            return ToldDelay(seconds, f"the target: {packets} take {time} at {rate}")
    bounds = list(_bounds(scenario, link, constraints))
    return min(bounds, key=lambda told: told.seconds, default=None)


def packet_seconds(scenario: Scenario, link: str) -> float:
    """How long a data packet of mean size takes to be sent on a link, in seconds."""
    return 8.0 * mean_packet_bytes(scenario, link) / nominal_rate(scenario, link)


def mean_packet_bytes(scenario: Scenario, link: str) -> float:
    """The mean size of the data packets that cross a link, over its flows; 1000 if none does."""
    groups = [group for group in scenario.flows.values() if link in group.path]
    flows = sum(group.count for group in groups)
    return sum(group.count * group.packet_size for group in groups) / flows if flows else 1000.0


def _parts(objective: Objective) -> Iterator[Objective]:
    """The objective itself, or those that it is a sum of."""
    parts: Iterable[object] = getattr(objective, "parts", ())
    inner = [each for part in parts if (each := getattr(part, "objective", None)) is not None]
    if not inner:
        yield objective
    for each in inner:
        yield from _parts(each)


def _bounds(
    scenario: Scenario, link: str, constraints: Sequence[Constraint]
) -> Iterator[ToldDelay]:
    for constraint in constraints:
        path = constraint.path
        upper = not (constraint.at_least or constraint.of_reference)
        if not upper or (path.room, path.name) != ("links", link) or constraint.bound <= 0.0:
            continue
        if path.metric.startswith("sojourn_ms."):
            yield ToldDelay(constraint.bound / 1e3, f"the bound: {constraint.text}")
        elif path.metric.startswith("queue_packets."):
            seconds = constraint.bound * packet_seconds(scenario, link)
            yield ToldDelay(seconds, f"the bound: {constraint.text}")
