"""Settings: what is searched, what a router can hold, and where a search begins.

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
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.online.policy import DROPS_IN_EARNEST
from vermilion.routers.queue_set import joint_name
from vermilion.scenario import disciplines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vermilion.online.model.traffic import Traffic
    from vermilion.routers.base import HeldValues, ParameterValue


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


@dataclass(frozen=True, slots=True)
class HeldByPath:
    """Values that the router can hold, by path.

    Attributes:
        held: what it makes of the values that it is told.
        name_of: what the router calls the parameter with a path.
    """

    held: HeldValues
    name_of: Callable[[str], str]

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """The nearest setting that it has."""
        near = held_setting(self.held, {self.name_of(path): each for path, each in values.items()})
        return {path: near[self.name_of(path)] for path in values}


def bare_name(path: str) -> str:
    """The name of a parameter of the only queue, from its path."""
    return path.split(".", 3)[-1]


def joint_name_of(path: str) -> str:
    """The joint name of a parameter of one of several queues, from its path."""
    _, link, _, name = path.split(".", 3)
    return joint_name(link, name)


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
