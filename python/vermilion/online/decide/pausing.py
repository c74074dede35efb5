"""Paused: the queue tells nothing now.

There is nothing to carry, nothing gets through, or another link holds the traffic back. Nothing is
judged, learned or tuned in such times.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.decide import entering
from vermilion.online.decide.states import (
    Observing,
    Paused,
    Searching,
    Verifying,
    Waiting,
    Watching,
)
from vermilion.online.kinds import DecisionKind

if TYPE_CHECKING:
    from vermilion.online.decide.states import State
    from vermilion.online.decide.turn import Turn
    from vermilion.online.events import Observed

_TELLING = frozenset({"busy", "unknown"})  # of the second nobody knows that it does not
_BUSY_AGAIN = "the link is busy again"
_WORDS = {
    "idle": "there is nothing to carry",
    "outage": "nothing gets through",
    "elsewhere": "something other than this link limits the traffic",
}


def pause_if_silent(turn: Turn) -> None:
    """Pause where the queue tells nothing."""
    link = turn.controller.senses.link_state
    resume = _to_resume(turn, turn.controller.state)
    if link.kind in _TELLING or resume is None:
        return
    turn.decide(
        DecisionKind.PAUSED,
        f"{_WORDS[link.kind]} ({link.words}); until the link is busy again, nothing is judged or "
        "tuned",
        link_state=link.kind,
        **link.details,
    )
    turn.change(promise=None)
    turn.become(Paused(turn.now_s, resume))


def pause_if_answer_is_late(turn: Turn, state: Searching) -> bool:
    """Pause where the link has just fallen silent: no answer is put in force then."""
    resume = _to_resume(turn, state)
    if not turn.controller.senses.seems_silent or resume is None:
        return False
    turn.decide(
        DecisionKind.PAUSED,
        "an answer has come, but the link has carried next to nothing for a second; the answer is "
        "not used, and nothing is judged or tuned until traffic is back",
        link_state=turn.controller.senses.link_state.kind,
    )
    turn.change(promise=None)
    turn.become(Paused(turn.now_s, resume))
    return True


def on_observed(turn: Turn, state: Paused, _event: Observed) -> None:
    """Go on once the queue tells something again."""
    senses = turn.controller.senses
    if senses.link_state.kind not in _TELLING or senses.seems_silent:
        return
    turn.decide(
        DecisionKind.RESUMED,
        f"the link is busy again after {turn.now_s - state.since_s:.1f} s",
        after_s=turn.now_s - state.since_s,
    )
    match state.resume:
        case Verifying() as verifying:
            entering.verify_from_now(turn, verifying)
        case Watching() as before:
            again = entering.watching(turn, before.predicted_mean, before.noise, before.doubt)
            # The time at which the controller said that it would try again may have passed by now.
            turn.become(replace(again, ask_again_s=before.ask_again_s))
        case Waiting(why=why, cause=cause):
            entering.wait_anew(turn, why, cause)


def _waiting(turn: Turn) -> Waiting:
    """To look at what there is when the link is busy again, as for the first time."""
    return Waiting(turn.now_s, turn.now_s, _BUSY_AGAIN)


def _to_resume(turn: Turn, state: State) -> Verifying | Watching | Waiting | None:
    """What to go on with later; ``None`` for states that do not pause."""
    match state:
        case Watching(owed=None, queue=None, doubt=None, ask_again_s=again_s) if (
            turn.now_s >= again_s
        ):
            return _waiting(turn)  # without a model only a search that is due can be held back
        case Watching(owed=None, queue=queue, doubt=doubt) if queue or doubt:
            return state
        case Verifying():
            return state
        case Observing(unverified=unverified) | Searching(unverified=unverified):
            return unverified or _waiting(turn)
        case Waiting() if turn.controller.modelled is not None:
            return replace(state, why=_BUSY_AGAIN, cause={})
        case _:
            return None
