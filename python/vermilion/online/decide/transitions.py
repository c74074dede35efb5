"""Every state, every event, and what becomes of the one by the other: the controller in one table.

A pair that is not listed is ignored: the event says nothing to that state (an answer to a question
that nobody asks any more, a person's word where none was asked for). ``docs/online.md`` has the
picture that is drawn from this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from vermilion.online.decide import (
    applying,
    ownership,
    searching,
    silence,
    verifying,
    waiting,
    watching,
)
from vermilion.online.decide.detection import Alarm
from vermilion.online.decide.states import (
    Applying,
    Blind,
    Ended,
    HandsOff,
    Observing,
    Paused,
    Proposing,
    Searching,
    State,
    Verifying,
    Waiting,
    Watching,
)
from vermilion.online.decide.turn import Turn
from vermilion.online.events import (
    Began,
    Command,
    Done,
    Event,
    Found,
    Lost,
    Observed,
    Overtaken,
    Refused,
    SearchFailed,
    Silent,
)

Handler: TypeAlias = Callable[[Turn, Any, Any], None]
"""Takes the turn, the state and the event; both are of the types under which it is listed."""


@dataclass(frozen=True, slots=True)
class Transition:
    """Handler of an event in a state.

    Attributes:
        handle: does it.
        leads_to: the states that may follow, besides staying.
    """

    handle: Handler
    leads_to: frozenset[type[State]]


def _ignore(_turn: Turn, _state: State, _event: Event | Alarm) -> None:
    """The event says nothing to the state."""


def _to(handle: Handler, *leads_to: type[State]) -> Transition:
    return Transition(handle, frozenset(leads_to))


IGNORED = _to(_ignore)
"""The transition of every pair that is not listed."""

STATES: tuple[type[State], ...] = (
    Waiting,
    Searching,
    Proposing,
    Applying,
    Observing,
    Verifying,
    Watching,
    Paused,
    Blind,
    HandsOff,
    Ended,
)
EVENTS: tuple[type[Event | Alarm], ...] = (
    Began,
    Observed,
    Alarm,
    Silent,
    Found,
    SearchFailed,
    Done,
    Refused,
    Lost,
    Overtaken,
    Command,
)
"""What reaches a state; an :class:`Alarm` comes with an observation, from the conditions' watch."""

_CHANGES = (Applying, Proposing, Watching)  # what a wish for a change leads to
_GONE_BLIND = _to(silence.on_silent, Blind)
_CHANGED = _to(waiting.on_alarm, Waiting, Applying)
_STOPPED = _to(ownership.on_command, Applying, Ended)

_LISTED: Mapping[type[State], Mapping[type[Event | Alarm], Transition]] = {
    Waiting: {
        Began: _to(ownership.on_began, Applying, HandsOff),
        Observed: _to(waiting.on_observed, Searching, Applying, Observing, Watching),
        Silent: _GONE_BLIND,
        Command: _STOPPED,
    },
    Searching: {
        Observed: _to(searching.on_observed, Waiting, Verifying, Watching),
        Alarm: _to(searching.on_alarm, Waiting),
        Silent: _GONE_BLIND,
        Found: _to(searching.on_found, Waiting, Observing, Verifying, Paused, *_CHANGES),
        SearchFailed: _to(searching.on_failed, Waiting, Verifying, Watching),
        Command: _STOPPED,
    },
    Proposing: {
        Alarm: _to(applying.on_alarm_while_proposing, Waiting),
        Silent: _GONE_BLIND,
        Command: _to(ownership.on_command_or(applying.on_answer), Applying, Watching, Ended),
    },
    Applying: {
        Observed: _to(
            applying.on_observed, Waiting, Observing, Verifying, Watching, HandsOff, Ended
        ),
        Done: _to(applying.on_done, Waiting, Observing, Verifying, Watching, Ended),
        Refused: _to(applying.on_refused, Waiting, Watching, Ended),
        Lost: _to(applying.on_lost),
        Overtaken: _to(applying.on_overtaken, Waiting, HandsOff, Ended),
        Silent: _to(applying.on_silent, Blind, Ended),
        Command: _STOPPED,
    },
    Observing: {
        Observed: _to(waiting.on_observed_while_observing, Searching, Verifying, Watching),
        Alarm: _CHANGED,
        Silent: _GONE_BLIND,
        Command: _STOPPED,
    },
    Verifying: {
        Observed: _to(verifying.on_observed, Watching, Applying),
        Alarm: _CHANGED,
        Silent: _GONE_BLIND,
        Command: _STOPPED,
    },
    Watching: {
        Observed: _to(watching.on_observed, Searching, Applying, Observing),
        Alarm: _CHANGED,
        Silent: _GONE_BLIND,
        Command: _STOPPED,
    },
    Paused: {
        Observed: _to(silence.on_observed_while_paused, Waiting, Verifying, Watching),
        Alarm: _to(waiting.on_alarm_while_paused),
        Silent: _GONE_BLIND,
        Command: _STOPPED,
    },
    Blind: {
        Observed: _to(silence.on_observed_again, Waiting),
        Done: _to(silence.on_done),
        Refused: _to(silence.on_refused),
        Lost: _to(silence.on_refused),
        Overtaken: _to(silence.on_overtaken),
        Command: _STOPPED,
    },
    HandsOff: {
        Began: _to(ownership.on_began_hands_off),
        Command: _to(ownership.on_command_hands_off, Waiting, Ended),
    },
    Ended: {},
}

TRANSITIONS: Mapping[type[State], Mapping[type[Event | Alarm], Transition]] = {
    state: {event: _LISTED[state].get(event, IGNORED) for event in EVENTS} for state in STATES
}
"""What becomes of every state by every event."""

_JUDGING = (Waiting, Searching, Observing, Verifying, Watching, Paused)  # a blackout is answered

BESIDES: Mapping[type[State], frozenset[type[State]]] = {
    state: frozenset(
        (
            *((Applying, HandsOff, Waiting) if state not in {Applying, HandsOff, Ended} else ()),
            *((Paused,) if state in _JUDGING and state is not Paused else ()),
            *((Proposing,) if state in _JUDGING else ()),
        )
    )
    for state in STATES
}
"""Where an observation may lead before the state makes anything of it: a lost change has arrived in
part, somebody else has changed the queue, the router has restarted, or the queue tells nothing or
drops everything."""
