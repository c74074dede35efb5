"""Possible networks, where the estimate leaves a choice.

A setting that is best for the likeliest model may be bad for the next likely. Where the belief in
the senders is split, or the number of flows or their round trips are doubtful, a few samples of
what may be are modelled instead of one: at most three, because each costs as much again.

Doubtful quantities take the values m and m exp(+-sqrt(3/2) s), with s the standard deviation of
their logarithm, which for small doubts is the share that they may be wrong by. Three equally likely
values at these places have the mean and the variance of the logarithm that is believed, for
(3/2 + 0 + 3/2) / 3 = 1. No value is more than four times m, or less than a quarter: one setting
would serve neither end.

Where flows are counted, more of them go with shorter round trips and fewer with longer ones: the
load on the queue, which grows with flows and falls with round trips, then spans what both doubts
together leave open. Where both are guessed from counters, by the square root law
(:mod:`vermilion.online.sense.queue_senses`), longer round trips mean more flows.

Besides what is believed there is a crowd: twice the flows, of which half come while the others run
already. Those who come meet the setting that was found for fewer, before anybody can answer; a wall
that 16 flows live with locks out half of 32 more for many seconds, because their first timeouts
double. Flows that start together, at an empty queue, show less of it. So a setting has to do no
harm there either. Where windows are large nobody is locked out: a loss is repaired without a
timeout as long as three further packets arrive (R. Morris, "TCP behavior with many flows", ICNP
1997), so there the crowd is left out; and where windows have less than two packets as many as are
there now are a crowd, of which half come while the others run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from vermilion.online.model.senders import SenderModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives import Constraint
    from vermilion.online.model.senders import SenderBelief
    from vermilion.online.model.traffic import Traffic
    from vermilion.online.sense.traffic_estimate import TrafficEstimate

MOST = 3
"""Models of one network at most."""

_SUFFERING = SenderModel("newreno")
_SPLIT = 2.0  # log odds within which the second-best kind may as well be the one
_DOUBTFUL_FLOWS = 0.15  # standard deviations from which on a quantity is worth more models
_DOUBTFUL_ROUND_TRIPS = 0.25
_APART = math.sqrt(1.5)
_FURTHEST = math.log(4.0)
_CROWD = 2.0
_CROWDED = 2.0  # packets of a window; with smaller ones there is a crowd already
_RECOVERS = 8.0  # packets of a window that survives two halvings without a timeout
_CROWD_IN_WORDS = "with twice the flows, half of which join the others"
_JOINING = 0.5  # of a crowd
_JOINING_IN_WORDS = "with half of the flows joining the others"
_LOAD = attrgetter("load")
_SAME_LOAD = 0.1  # difference of logarithms below which conditions load a queue alike


@dataclass(frozen=True, slots=True)
class Possibility:
    """One thing that the network may be, or soon become.

    Attributes:
        traffic: the flows, round trips and rate.
        kind: how the senders behave.
        share: how much it counts; those of all add up to 1. One that counts for nothing is not
            believed: a setting need not be good there, but may do no harm.
        words: how it differs from what is believed; "" where it does not.
        joining: the part of the flows that come while the others run already.
    """

    traffic: Traffic
    kind: SenderModel
    share: float
    words: str = ""
    joining: float = 0.0


def possibilities(
    traffic: Traffic, picture: TrafficEstimate, belief: SenderBelief
) -> tuple[Possibility, ...]:
    """Return the possible networks, likeliest first.

    Of senders of whom nothing has been seen yet the likeliest kind is taken: a first answer is
    wanted soon, and what is seen under it tells more than a wider search. But it must do no harm to
    the next likely kind either. Today's senders lose little by a short queue; those without
    selective acknowledgements lock each other out of it.

    Where selective acknowledgements have been seen, two kinds are left, of which neither is much
    likelier. A setting that is as good as any for the one may be far from that for the other, so
    the first answer is for both.

    Args:
        traffic: as observed.
        picture: what it was made of, with its doubts.
        belief: in the senders.
    """
    kinds = _likeliest(belief)
    crowded = _of_newcomers(belief, kinds[-1] if belief.evidence else kinds[:2][-1])
    if not belief.evidence and not belief.selective:
        kinds = kinds[:1]
    flows, trips = steps(picture)
    if flows == 0.0 and trips == 0.0:
        odds = [math.exp(belief.log_odds(kind) - belief.log_odds(kinds[0])) for kind in kinds]
        believed = tuple(
            Possibility(traffic, kind, each / math.fsum(odds))
            for kind, each in zip(kinds, odds, strict=True)
        )
        if traffic.smallest_window > _CROWD * _RECOVERS:
            return believed
        return (*believed, _crowd(traffic, crowded))
    return tuple(
        Possibility(each, kinds[place % len(kinds)], 1.0 / MOST)
        for place, each in enumerate((traffic, *other_traffic(traffic, picture)))
    )


def by_turns(
    traffic: Traffic, others: Sequence[Traffic], belief: SenderBelief
) -> tuple[Possibility, ...]:
    """Conditions that come and go, each of which the network will be now and then.

    Of many, the present ones stand for the middle, and the two that load the queue most and least
    for the rest: the load grows with the flows and falls with the packets in flight. Besides there
    is a crowd, twice the heaviest load. Where loads come and go too fast for any to be compared
    with a model, the senders stay a guess, so that the crowd has those of the next likely kind.

    Args:
        traffic: as it is now.
        others: as it has been lately.
        belief: in the senders.
    """
    ends = [min(others, key=_LOAD), max(others, key=_LOAD)] if others else []
    chosen = [traffic, *(end for end in ends if _differs(end, traffic))]
    believed = tuple(Possibility(each, belief.best, 1.0 / len(chosen)) for each in chosen)
    newcomers = _of_newcomers(belief, _likeliest(belief)[:2][-1])
    return (*believed, _crowd(max(chosen, key=_LOAD), newcomers))


def applies_to(bound: Constraint, kind: SenderModel, belief: SenderBelief) -> bool:
    """Check whether a bound of harm applies to a model with this kind of senders.

    Newcomers may be of a kind that those who are there are surely not: NewReno, where all are
    acknowledged selectively. They stand for who is locked out most easily, so what flows get is
    asked of them. What the queue drops is not: it depends on the kind as much as on the setting,
    and here nobody is of that kind. Behind standard RED such a crowd stalls. It then drops 8 % of
    its packets where Linux's senders drop 12 to 13, and leaves a tenth of the link idle, so that
    every setting that keeps the link busy would seem to drop too much.

    Args:
        bound: of harm.
        kind: how the senders of a model behave.
        belief: in those who are there.
    """
    return kind in belief.priors or bound.path.room == "flows"


def _crowd(traffic: Traffic, kind: SenderModel) -> Possibility:
    """Add flows that may join: they must not be harmed either."""
    if traffic.smallest_window > _CROWDED:
        traffic, words = traffic.times(_CROWD, 1.0), _CROWD_IN_WORDS
    else:
        words = _JOINING_IN_WORDS
    return Possibility(traffic, kind, 0.0, words, _JOINING)


def _of_newcomers(belief: SenderBelief, likely: SenderModel) -> SenderModel:
    """The kind of those who may join.

    Of those who are there selective acknowledgements may have been seen. Of those who come nothing
    has been, and without them they suffer most.
    """
    return _SUFFERING if belief.selective else likely


def _likeliest(belief: SenderBelief) -> list[SenderModel]:
    """The kinds of senders between which the belief is split, the likeliest first."""
    return sorted(belief.within(_SPLIT), key=belief.log_odds, reverse=True)[:MOST]


def _differs(one: Traffic, other: Traffic) -> bool:
    return abs(math.log(one.load / other.load)) > _SAME_LOAD


def other_traffic(traffic: Traffic, picture: TrafficEstimate) -> tuple[Traffic, ...]:
    """Alternatives to the traffic estimate; none where it is certain."""
    flows, trips = steps(picture)
    if flows == 0.0 and trips == 0.0:
        return ()
    together = 1.0 if picture.knowledge == "counters" else -1.0
    return tuple(
        traffic.times(math.exp(sign * flows), math.exp(together * sign * trips))
        for sign in (1.0, -1.0)
    )


def steps(picture: TrafficEstimate) -> tuple[float, float]:
    """Variation of the logarithms of flows and round trips; 0 for small doubts."""
    flows, trips = picture.flows_doubt, picture.rtts_doubt
    return (
        min(_APART * flows, _FURTHEST) if flows > _DOUBTFUL_FLOWS else 0.0,
        min(_APART * trips, _FURTHEST) if trips > _DOUBTFUL_ROUND_TRIPS else 0.0,
    )
