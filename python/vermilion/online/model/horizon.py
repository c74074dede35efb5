"""How long a model is simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.online.model.traffic import Traffic

GUESSED_PACKETS_PER_S = 1e7
"""What a machine simulates per second, where that is not known yet."""

_WARM_UP_S = 5.0  # a first packet lost costs 3 s (RFC 2988), and slow averages settle
_MEASURED_ROUND_TRIPS = 80.0
_MEASURED_S = (10.0, 16.0)
_EPOCHS = 2.0  # of the longest sawtooth
_LEAST_S = 2.0
_LEAST_ROUND_TRIPS = 30.0
_ENOUGH_SETTINGS = 200


@dataclass(frozen=True, slots=True)
class Horizon:
    """How long a model is simulated.

    Attributes:
        warm_up_s: time left out at the beginning.
        measured_s: time measured after it.
    """

    warm_up_s: float
    measured_s: float


def horizon_for(
    traffic: Traffic, deadline_s: float, packets_per_s: float | None, epoch_s: float = 0.0
) -> Horizon:
    """How long to simulate, so that a search gets enough settings done in its time.

    Long enough for the slowest flows to show their sawtooth; shortened on fast links, whose
    packets take longer to simulate than they take to be sent, but never so far that nothing
    is left to measure.

    Args:
        traffic: what to simulate.
        deadline_s: how long the search may take.
        packets_per_s: how many packets this machine simulates per second of wall time;
            ``None`` for a guess.
        epoch_s: how long large windows take to grow back; 0 where that is within seconds.
    """
    round_trip_s = traffic.longest_round_trip_s
    wanted_s = min(max(_MEASURED_ROUND_TRIPS * round_trip_s, _MEASURED_S[0]), _MEASURED_S[1])
    wanted_s = max(wanted_s, _EPOCHS * epoch_s)
    warm_up_s = max(_WARM_UP_S, epoch_s)
    speed = packets_per_s or GUESSED_PACKETS_PER_S
    affordable_s = deadline_s * speed / (_ENOUGH_SETTINGS * traffic.packets_per_s)
    share = min(1.0, affordable_s / (warm_up_s + wanted_s))
    least_s = max(_LEAST_S, _LEAST_ROUND_TRIPS * round_trip_s)
    return Horizon(
        warm_up_s=round(max(share * warm_up_s, least_s), 3),
        measured_s=round(max(share * wanted_s, least_s), 3),
    )
