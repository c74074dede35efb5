"""What the network may be, where what is known leaves a choice.

A setting that is best for the likeliest model may be bad for the next likely. Where the belief in
the senders is split, or the number of flows or their round trips are doubtful, a few samples of
what may be are modelled instead of one: at most three, because each costs as much again.

Doubtful quantities take the values m and m +- sqrt(3/2) s. Three equally likely values at these
places have the mean m and the variance s^2 of what is believed, (1.5 + 0 + 1.5) / 3 = 1. More flows
go with shorter round trips and fewer with longer ones: that way round the load on the queue, which
grows with flows and falls with round trips, spans what both doubts together leave open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.online.model.senders import SenderBelief, SenderModel
    from vermilion.online.model.traffic import Traffic
    from vermilion.online.sense.picture import TrafficPicture

MOST = 3
"""Models of one network at most."""

_SPLIT = 2.0  # log odds within which the second-best kind may as well be the one
_DOUBTFUL_FLOWS = 0.15  # standard deviations from which on a quantity is worth more models
_DOUBTFUL_ROUND_TRIPS = 0.25
_APART = math.sqrt(1.5)
_LARGEST_STEP = 0.8  # no quantity falls by more, or below zero


@dataclass(frozen=True, slots=True)
class Possibility:
    """One thing that the network may be.

    Attributes:
        traffic: the flows, round trips and rate.
        kind: how the senders behave.
        share: how much it counts; those of all add up to 1.
    """

    traffic: Traffic
    kind: SenderModel
    share: float


def possibilities(
    traffic: Traffic, picture: TrafficPicture, belief: SenderBelief
) -> tuple[Possibility, ...]:
    """What the network may be, the likeliest first.

    Of senders of whom nothing has been seen yet the likeliest kind is taken: a first answer is
    wanted soon, and what is seen under it tells more than a wider search.

    Args:
        traffic: as observed.
        picture: what it was made of, with its doubts.
        belief: in the senders.
    """
    kinds = [belief.best]
    if belief.evidence:
        kinds = sorted(belief.within(_SPLIT), key=belief.log_odds, reverse=True)[:MOST]
    flows = picture.flows_doubt if picture.flows_doubt > _DOUBTFUL_FLOWS else 0.0
    trips = picture.rtts_doubt if picture.rtts_doubt > _DOUBTFUL_ROUND_TRIPS else 0.0
    if flows == 0.0 and trips == 0.0:
        odds = [math.exp(belief.log_odds(kind) - belief.log_odds(kinds[0])) for kind in kinds]
        return tuple(
            Possibility(traffic, kind, each / math.fsum(odds))
            for kind, each in zip(kinds, odds, strict=True)
        )
    return tuple(
        Possibility(
            _other(traffic, 1.0 + _step(sign * flows), 1.0 + _step(-sign * trips)),
            kinds[place % len(kinds)],
            1.0 / MOST,
        )
        for place, sign in enumerate((0.0, 1.0, -1.0))
    )


def _step(doubt: float) -> float:
    return max(_APART * doubt, -_LARGEST_STEP)


def _other(traffic: Traffic, flows: float, round_trips: float) -> Traffic:
    """The traffic with so many times the flows, and so many times as long round trips."""
    classes = tuple(
        (max(1, round(flows * count)), round_trips * base_s) for count, base_s in traffic.classes
    )
    return replace(traffic, flows=sum(count for count, _ in classes), classes=classes)
