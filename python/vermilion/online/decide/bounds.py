"""Check of the operator's constraints on the network, in every state.

Every bound that the network breaks ends in a decision of its own, also while a setting is searched,
settles or is verified. A metric that lies beyond its bound by less than its own noise is said to
lie there too: over a longer time it would be broken, and nobody can tell yet that it is not.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide import entering
from vermilion.online.decide.states import Applying, Blind, Ended, HandsOff, Paused, Proposing
from vermilion.online.decide.verification import BrokenBound
from vermilion.online.entries import DecisionKind
from vermilion.online.policy import carried
from vermilion.online.sense.flow_activity import NEWCOMER_S
from vermilion.online.sense.stretch import FEWEST_BATCHES, STARVED_SHARE

if TYPE_CHECKING:
    from vermilion.objectives import Constraint
    from vermilion.online.decide.controller import Turn
    from vermilion.online.sense.stretch import Stretch

STRETCH_S = 10.0
"""Over which bounds are checked."""

_LOOK_S = 2.0
_LEAST_S = 8.0
_SHORTEST_S = 2.0  # of conditions that come and go
_MOMENTS = 4  # in so many parts
_FORGOTTEN_S = 30.0  # so long a bound must be kept before it counts as broken again
_NOT_THIS_LINK = frozenset({"idle", "outage", "elsewhere"})
_SILENT = (Paused, Blind, HandsOff, Ended)  # nothing is judged in these


def look(turn: Turn) -> None:
    """Say which bounds are broken and not said to be so yet."""
    controller = turn.controller
    watch = controller.alarms.bounds_watch
    if isinstance(controller.state, _SILENT) or controller.senses.link_state.kind in _NOT_THIS_LINK:
        turn.change(bounds_watch=replace(watch, since_s=turn.now_s))
        return
    if turn.now_s - watch.looked_s < _LOOK_S or controller.senses.may_be_silent:
        return
    begun_s = watch.since_s
    if not controller.traffic.fluctuation.lasts:
        # What is broken in other conditions, or under another setting, is another matter.
        begun_s = max(
            begun_s, controller.traffic.conditions_since_s, *controller.budget.changes_s[-1:]
        )
    watch = watch.without_old(max(begun_s, turn.now_s - _FORGOTTEN_S))
    # Measuring is the dearest part of a look: what nobody could judge is not measured.
    judged = [bound for bound in controller.policy.bounds if _can_be_judged(turn, bound)]
    lately = _lately(turn, begun_s) if judged else []
    if judged and not lately:
        return
    found = {
        bound.text: said
        for bound in judged
        if (said := next(filter(None, (_describe_breach(bound, each) for each in lately)), None))
    }
    for text, (words, broken) in found.items():
        if not watch.knows(text):
            turn.decide(DecisionKind.CONSTRAINT_BROKEN, words, **broken.details())
    watch = watch.with_broken(found, turn.now_s)
    turn.change(bounds_watch=replace(watch, looked_s=turn.now_s))


_NEWCOMERS = (3, 0.3)  # starved ones, at least, and of all that came: fewer may be chance
_NEWCOMER_LOOKS = 2  # a second apart
_STARVED = "starved"


def look_at_newcomers(turn: Turn) -> None:
    """Answer a queue that shuts out the flows that have just come."""
    controller = turn.controller
    bound = next((each for each in controller.policy.bounds if each.path.metric == _STARVED), None)
    if bound is None or isinstance(controller.state, (*_SILENT, Applying, Proposing)):
        return
    counted = controller.senses.starved_newcomers()
    if counted is None or controller.senses.may_be_silent:
        return
    starved, came = counted
    if starved < max(_NEWCOMERS[0], _NEWCOMERS[1] * came):
        turn.change(newcomers_starve=0)
        return
    turn.change(newcomers_starve=controller.alarms.newcomers_starve + 1)
    if turn.controller.alarms.newcomers_starve != _NEWCOMER_LOOKS:
        return
    words = (
        f"{starved} of {came} flows that came within {NEWCOMER_S[1]:.0f} s get less than "
        f"{STARVED_SHARE:.0%} of the mean share"
    )
    details: dict[str, object] = {
        "bound": bound.text,
        "starved_flows": [starved],
        "newcomers": came,
        "stretch_s": NEWCOMER_S[0],
        "starved_below_share": STARVED_SHARE,
    }
    if entering.answer_starvation(turn, words, details):
        return
    law = turn.law(turn.picture) if turn.law_stands(turn.picture) else None
    stays = (
        "the setting is not the controller's, so it stays"
        if law is None
        else f"{law.name} stays: it lets the probability follow them sooner than a setting could"
    )
    turn.decide(
        DecisionKind.CONSTRAINT_BROKEN,
        f"newcomers starve: {words}; {stays}",
        **details,
    )


def _lately(turn: Turn, begun_s: float) -> list[Stretch]:
    """Return recent measurements; none where they are too few.

    While conditions come and go there is a second stretch, as long as they last: what is asked for
    in each of them, a mean over several would hide.
    """
    stretches: list[Stretch | None] = []
    if turn.now_s - begun_s > _LEAST_S:
        stretches.append(turn.controller.senses.stretch(max(turn.now_s - STRETCH_S, begun_s)))
    fluctuation = turn.controller.traffic.fluctuation
    if fluctuation.lasts:
        over_s = min(max(fluctuation.usual_s, _SHORTEST_S), STRETCH_S)
        if turn.now_s - begun_s >= over_s:
            stretches.append(turn.controller.senses.moments(turn.now_s - over_s, over_s / _MOMENTS))
    # Where samples were lost there may be too little of them.
    return [each for each in stretches if each is not None and len(each.batches) >= FEWEST_BATCHES]


def _can_be_judged(turn: Turn, bound: Constraint) -> bool:
    """Check that the bound has a fixed value, or refers to a setting that was replaced."""
    if not bound.of_reference:
        return True
    controller = turn.controller
    changed = not controller.held.is_unchanged(controller.in_force, controller.original)
    known = bound.at_least and carried(bound, 1.0) < math.inf and not bound.of_harm
    return known and (changed or bool(controller.budget.changes_s))


def _describe_breach(bound: Constraint, lately: Stretch) -> tuple[str, BrokenBound] | None:
    """Describe a broken bound; ``None`` where it holds or cannot be measured."""
    measured = lately.bounded(bound)
    limit = None if bound.of_reference else bound.bound
    if measured is None or measured.low is None or measured.high is None:
        return None
    broken = BrokenBound(bound, limit, measured)
    words = broken.describe()
    if limit is None:
        # The most that it can have been before a change: no link is used more than wholly, and no
        # flows get more than it carries, whatever stood there.
        most = carried(bound, lately.rate_bit_per_s)
        if most == math.inf or measured.mean >= bound.bound * most + bound.offset:
            return None
        unknown = "nobody knows what it would be under the first setting"
        return f"the network may break {words}; {unknown}", broken
    if (measured.high < limit) if bound.at_least else (measured.low > limit):
        return f"the network breaks {words}", broken
    if (measured.mean < limit) if bound.at_least else (measured.mean > limit):
        words = broken.describe(with_half_width=True)
        return f"the network seems to break {words}, but that may be chance", broken
    return None
